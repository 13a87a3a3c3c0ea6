"""Facets: properties by which the cases of a split can be filtered, with the count of each value.

Some are visible to any reader (number of pictures), others come from the truth (findings, regions,
modality). The two kinds are never in one list.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cache, partial

from overread.core import Box, Entry, Record, Truth, Volume
from overread.ontology import finding_tree, modalities, xray_regions

MOST_VALUES = 400
"""Values of one facet; rarer ones count as one."""
MOST_COLUMNS = 4
"""Facets that are made of columns the benchmark does not know."""
_MOST_COLUMN_WORDS = 40
_MAX_NAME = 80
_MAX_EXACT = 10
_EDGES = (1, 2, 3, 4, 5, 7, 10, 15, 25, 50)
_UNSTATED = "not stated"
_RARE = "other"


class FacetValue(Record):
    """One value of a facet."""

    key: str
    """Short and stable: good in an address."""
    name: str
    """For people."""
    count: int
    """How many cases have it."""


class Facet(Record):
    """One thing that cases can be sorted by."""

    key: str
    """Good in an address."""
    title: str
    """For people."""
    ordered: bool = False
    """Whether the values have an order of their own, as numbers have."""
    values: list[FacetValue]
    """What there is, in order; else the most frequent first."""
    of: list[list[int]]
    """For each case, in the order of the cases, the places of its values in `values`."""


Values = Mapping[str, str]
"""Key → name of each value that one case has."""
_ValuesOf = Callable[[Entry], Values]


class VisibleFacets:
    """Facets that any reader may see, told case by case."""

    def __init__(self) -> None:
        """No case has been told yet."""
        self._made: list[_WordFacet | _NumberFacet] = [
            _WordFacet("kind", "Kind of pictures", _picture_kinds),
            _NumberFacet("pictures", "Pictures", "picture", lambda e: len(e.case.pictures)),
            _NumberFacet("queries", "Sentences to find", "sentence", lambda e: len(e.case.queries)),
            _WordFacet("asks", "Asks for", lambda e: _single_value(e.case.asks)),
            _NumberFacet("times", "Time points shown", "time point", _times),
        ]

    def add(self, entry: Entry) -> None:
        """Take the next case into account."""
        for facet in self._made:
            facet.add(entry)

    def settle(self) -> list[Facet]:
        """The facets by which cases differ."""
        made = [facet.settle() for facet in self._made]
        return [f for f in made if len(f.values) > 1 or (f.values and f.key == "pictures")]


class TruthFacets:
    """Facets that the truth tells, told case by case."""

    def __init__(self) -> None:
        """No case has been told yet."""
        self._made: list[_WordFacet | _NumberFacet] = [
            _WordFacet("category", "Finding category", _categories),
            _WordFacet("modality", "Modality", _modalities),
            _WordFacet("submodality", "Sub-modality", _sub_modalities),
            _WordFacet("region", "Region", _regions),
            _WordFacet("longitudinal", "Longitudinal", _longitudinal),
            _NumberFacet("timepoints", "Time points", "time point", lambda e: _truth(e).timepoints or 0),
            _WordFacet("chapter", "ICD-10 chapter", lambda e: _truth_field(e, "icd_chapter")),
            _NumberFacet("findings", "Findings", "finding", lambda e: len(_truth(e).findings)),
            _WordFacet("answer", "Right answer", lambda e: _truth_field(e, "answer")),
            _WordFacet("protocol", "Annotated by", lambda e: _truth_field(e, "protocol")),
        ]
        self._columns = _ColumnFacets()

    def add(self, entry: Entry) -> None:
        """Take the next case into account."""
        for facet in self._made:
            facet.add(entry)
        self._columns.add(entry)

    def settle(self) -> list[Facet]:
        """The facets that have any value."""
        made = [*(facet.settle() for facet in self._made), *self._columns.settle()]
        return [facet for facet in made if facet.values]


# ---- what one case has ---------------------------------------------------------------------


def _single_value(word: str | None) -> Values:
    """A mapping of one value, or of none."""
    text = " ".join((word or "").split())
    return {text.casefold()[:_MAX_NAME]: text[:_MAX_NAME]} if text else {}


_NO_TRUTH = Truth()


def _truth(entry: Entry) -> Truth:
    return entry.truth or _NO_TRUTH


def _truth_field(entry: Entry, field: str) -> Values:
    return _single_value(getattr(entry.truth, field, None))


def _picture_kinds(entry: Entry) -> Values:
    kinds = {"volume" if isinstance(p, Volume) else "image" for p in entry.case.pictures}
    names = {"volume": "volumes", "image": "flat pictures"}
    return {kind: names[kind] for kind in sorted(kinds)}


def _times(entry: Entry) -> int:
    return len({p.timepoint for p in entry.case.pictures if p.timepoint is not None})


def _categories(entry: Entry) -> Values:
    codes = {f.category for f in entry.truth.findings if f.category} if entry.truth else set()
    known = finding_tree().categories
    return {
        code: f"{known[code].name} ({code})" if code in known else code[:_MAX_NAME] for code in sorted(codes)
    }


def _modalities(entry: Entry) -> Values:
    found: dict[str, str] = {}
    for word in _note_words(entry, "modality"):
        known = modalities().find(word)
        found |= _single_value(known.name if known else word)
    return found


def _sub_modalities(entry: Entry) -> Values:
    found: dict[str, str] = {}
    for word in _note_words(entry, "sub_modality"):
        found |= _single_value(word)
    return found


def _note_words(entry: Entry, field: str) -> Iterable[str]:
    """What the notes on the pictures say, each word once."""
    notes = entry.truth.notes if entry.truth else ()
    return dict.fromkeys(word for note in notes if (word := getattr(note, field)))


def _regions(entry: Entry) -> Values:
    if entry.truth is None:
        return {}
    places = [region for finding in entry.truth.findings for region in finding.regions]
    for step in entry.truth.trace.steps if entry.truth.trace else ():
        places += step.regions
    found: dict[str, str] = {}
    for place in places:
        if isinstance(place, Box) and place.label:
            for name in _region_names(place.label):
                found |= _single_value(name)
    return found


@cache
def _region_names(label: str) -> tuple[str, ...]:
    """The ontology's names of a place, a major region as itself; else the release's own words."""
    regions = xray_regions()
    for words in (label, label.removesuffix(" region"), label.removesuffix(" regions")):
        found = regions.find(words)
        if found:
            whole = [group.name for group in regions.groups if group.members == found]
            return (whole[0],) if whole and len(found) > 1 else found
    return (label,)


def _longitudinal(entry: Entry) -> Values:
    truth = entry.truth or Truth()
    told = truth.longitudinal
    if told is None and truth.timepoints is not None:
        told = truth.timepoints > 1
    if told is None:
        return {}
    return {"yes": "more than one time point"} if told else {"no": "one time point"}


# ---- facets of all cases -------------------------------------------------------------------


class _WordFacet:
    """A facet of words: the most frequent first, cases without any as a value of their own."""

    def __init__(self, key: str, title: str, of: _ValuesOf, *, before: int = 0) -> None:
        """`of` gives the values of a case; so many cases came before and have none."""
        self.key, self.title, self._of = key, title, of
        self._names: dict[str, str] = {}
        self._known: dict[tuple[str, ...], tuple[str, ...]] = {(): ()}
        # Most cases have the same words as many others: a place in memory each, not the words.
        self._each: list[tuple[str, ...]] = [()] * before

    def add(self, entry: Entry) -> None:
        values = self._of(entry)
        self._names.update(values)
        words = tuple(values)
        self._each.append(self._known.setdefault(words, words))

    def settle(self) -> Facet:
        often = Counter(self._each)
        counts: Counter[str] = Counter()
        for words, times in often.items():
            for word in words:
                counts[word] += times
        names = dict(self._names)
        order = sorted(counts, key=lambda word: (-counts[word], word))
        told = {words: words for words in often}
        if len(order) > MOST_VALUES:
            rare = set(order[MOST_VALUES - 1 :])
            told = {w: tuple(dict.fromkeys("~" if word in rare else word for word in w)) for w in often}
            names["~"] = _RARE
            counts = Counter()
            for words, times in often.items():
                for word in told[words]:
                    counts[word] += times
            order = [*order[: MOST_VALUES - 1], "~"]
        lacking = often[()]
        if order and lacking:
            order.append("-")
            names["-"], counts["-"] = _UNSTATED, lacking
            told[()] = ("-",)
        at = {word: place for place, word in enumerate(order)}
        places = {words: sorted(at[word] for word in told[words]) for words in often}
        # Cases with the same words share one list, which a check of every value would copy.
        return Facet.model_construct(
            key=self.key,
            title=self.title,
            ordered=False,
            values=[FacetValue(key=word, name=names[word], count=counts[word]) for word in order],
            of=[places[words] for words in self._each],
        )


class _NumberFacet:
    """A facet of counts; where there are many different ones, of ranges."""

    def __init__(self, key: str, title: str, noun: str, of: Callable[[Entry], int]) -> None:
        self.key, self.title, self._noun, self._of = key, title, noun, of
        self._numbers = array("q")

    def add(self, entry: Entry) -> None:
        self._numbers.append(self._of(entry))

    def settle(self) -> Facet:
        numbers = Counter(self._numbers)
        there = sorted(number for number in numbers if number > 0)
        if len(there) <= _MAX_EXACT:
            ranges = [(number, number) for number in there]
        else:
            ends = [edge - 1 for edge in _EDGES[1:]] + [there[-1]]
            ranges = [(low, high) for low, high in zip(_EDGES, ends, strict=True) if low <= high]
        place = _make_range_finder(ranges)
        found = {number: place(number) for number in numbers}
        counts: Counter[int | None] = Counter()
        for number, times in numbers.items():
            counts[found[number]] += times
        kept = [at for at in range(len(ranges)) if counts[at]]
        new = {at: number for number, at in enumerate(kept)}
        values = []
        for at in kept:
            low, high = ranges[at]
            noun = self._noun
            word = f"{low}" if low == high else f"{low}-{high}"
            name = f"{low} {noun}{'s' * (low != 1)}" if low == high else f"{low} to {high} {noun}s"
            values.append(FacetValue(key=word, name=name, count=counts[at]))
        places = {number: [] if at is None else [new[at]] for number, at in found.items()}
        return Facet.model_construct(
            key=self.key,
            title=self.title,
            ordered=True,
            values=values,
            of=[places[number] for number in self._numbers],
        )


def _make_range_finder(ranges: Sequence[tuple[int, int]]) -> Callable[[int], int | None]:
    def place(number: int) -> int | None:
        for at, (low, high) in enumerate(ranges):
            if low <= number <= high:
                return at
        return None

    return place


class _ColumnFacets:
    """Columns of few words that are no part of the benchmark; nobody knows what they give away."""

    def __init__(self) -> None:
        self._count = 0
        self._seen: dict[str, set[Hashable]] = {}
        self._facets: dict[str, _WordFacet] = {}

    def add(self, entry: Entry) -> None:
        for column, value in entry.extra.items():
            if len(column) <= 60 and isinstance(value, str | bool):
                if column not in self._seen:
                    self._seen[column] = set()
                    of = partial(_column_value, column)
                    self._facets[column] = _WordFacet("", "", of, before=self._count)
                if column in self._facets:
                    self._seen[column].add(value)
                    if len(self._seen[column]) > _MOST_COLUMN_WORDS:
                        del self._facets[column]
        for facet in self._facets.values():
            facet.add(entry)
        self._count += 1

    def settle(self) -> list[Facet]:
        made = []
        few = sorted(column for column in self._facets if len(self._seen[column]) > 1)
        for number, column in enumerate(few[:MOST_COLUMNS], 1):
            facet = self._facets[column]
            facet.key, facet.title = f"column{number}", column.replace("_", " ")
            made.append(facet.settle())
        return made


def _column_value(column: str, entry: Entry) -> Values:
    value = entry.extra.get(column)
    return _single_value(str(value)) if isinstance(value, str | bool) else {}
