"""Facets: properties by which the cases of a split can be filtered, with the count of each value.

Some are visible to any reader (number of pictures), others come from the truth (findings, regions,
modality). The two kinds are never in one list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cache

from overread.core import Box, Entry, Record, Truth, Volume
from overread.ontology import finding_tree, modalities, xray_regions

MOST_VALUES = 400
"""Values of one facet; rarer ones count as one."""
MOST_COLUMNS = 4
"""Facets that are made of columns the benchmark does not know."""
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


def visible_facets(entries: Sequence[Entry]) -> list[Facet]:
    """Facets that any reader may see."""
    cases = [entry.case for entry in entries]
    made = [
        _word_facet("kind", "Kind of pictures", entries, _picture_kinds),
        _number_facet("pictures", "Pictures", [len(case.pictures) for case in cases], "picture"),
        _number_facet("queries", "Sentences to find", [len(case.queries) for case in cases], "sentence"),
        _word_facet("asks", "Asks for", entries, lambda e: _single_value(e.case.asks)),
        _number_facet("times", "Time points shown", [_times(entry) for entry in entries], "time point"),
    ]
    return [f for f in made if len(f.values) > 1 or (f.values and f.key == "pictures")]


def truth_facets(entries: Sequence[Entry]) -> list[Facet]:
    """Facets that the truth tells."""
    truths = [entry.truth or Truth() for entry in entries]
    made = [
        _word_facet("category", "Finding category", entries, _categories),
        _word_facet("modality", "Modality", entries, _modalities),
        _word_facet("submodality", "Sub-modality", entries, _sub_modalities),
        _word_facet("region", "Region", entries, _regions),
        _word_facet("longitudinal", "Longitudinal", entries, _longitudinal),
        _number_facet("timepoints", "Time points", [t.timepoints or 0 for t in truths], "time point"),
        _word_facet("chapter", "ICD-10 chapter", entries, lambda e: _truth_field(e, "icd_chapter")),
        _number_facet("findings", "Findings", [len(t.findings) for t in truths], "finding"),
        _word_facet("answer", "Right answer", entries, lambda e: _truth_field(e, "answer")),
        _word_facet("protocol", "Annotated by", entries, lambda e: _truth_field(e, "protocol")),
        *_column_facets(entries),
    ]
    return [facet for facet in made if facet.values]


# ---- what one case has ---------------------------------------------------------------------


def _single_value(word: str | None) -> Values:
    """A mapping of one value, or of none."""
    text = " ".join((word or "").split())
    return {text.casefold()[:_MAX_NAME]: text[:_MAX_NAME]} if text else {}


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


def _word_facet(key: str, title: str, entries: Iterable[Entry], of: _ValuesOf) -> Facet:
    """A facet of words: the most frequent first, cases without any as a value of their own."""
    each = [of(entry) for entry in entries]
    counts: Counter[str] = Counter(word for values in each for word in values)
    names = {word: name for values in each for word, name in values.items()}
    order = sorted(counts, key=lambda word: (-counts[word], word))
    if len(order) > MOST_VALUES:
        rare = set(order[MOST_VALUES - 1 :])
        each = [{("~" if w in rare else w): name for w, name in v.items()} for v in each]
        names["~"] = _RARE
        counts = Counter(word for values in each for word in values)
        order = [*order[: MOST_VALUES - 1], "~"]
    lacking = sum(not values for values in each)
    if order and lacking:
        order.append("-")
        names["-"], counts["-"] = _UNSTATED, lacking
        each = [values or {"-": _UNSTATED} for values in each]
    at = {word: place for place, word in enumerate(order)}
    return Facet(
        key=key,
        title=title,
        values=[FacetValue(key=word, name=names[word], count=counts[word]) for word in order],
        of=[sorted(at[word] for word in values) for values in each],
    )


def _number_facet(key: str, title: str, numbers: Sequence[int], noun: str) -> Facet:
    """A facet of counts; where there are many different ones, of ranges."""
    there = sorted({number for number in numbers if number > 0})
    if len(there) <= _MAX_EXACT:
        ranges = [(number, number) for number in there]
    else:
        ends = [edge - 1 for edge in _EDGES[1:]] + [there[-1]]
        ranges = [(low, high) for low, high in zip(_EDGES, ends, strict=True) if low <= high]
    place = _make_range_finder(ranges)
    found = [place(number) for number in numbers]
    counts = Counter(found)
    kept = [at for at in range(len(ranges)) if counts[at]]
    new = {at: number for number, at in enumerate(kept)}
    values = []
    for at in kept:
        low, high = ranges[at]
        word = f"{low}" if low == high else f"{low}-{high}"
        name = f"{low} {noun}{'s' * (low != 1)}" if low == high else f"{low} to {high} {noun}s"
        values.append(FacetValue(key=word, name=name, count=counts[at]))
    of = [[] if at is None else [new[at]] for at in found]
    return Facet(key=key, title=title, ordered=True, values=values, of=of)


def _make_range_finder(ranges: Sequence[tuple[int, int]]) -> Callable[[int], int | None]:
    def place(number: int) -> int | None:
        for at, (low, high) in enumerate(ranges):
            if low <= number <= high:
                return at
        return None

    return place


def _column_facets(entries: Sequence[Entry]) -> list[Facet]:
    """Columns of few words that are no part of the benchmark; nobody knows what they give away."""
    seen: dict[str, set[Hashable]] = {}
    for entry in entries:
        for column, value in entry.extra.items():
            if len(column) <= 60 and isinstance(value, str | bool):
                seen.setdefault(column, set()).add(value)
    few = [column for column, words in seen.items() if 1 < len(words) <= 40]
    made = []
    for number, column in enumerate(sorted(few)[:MOST_COLUMNS], 1):

        def of(entry: Entry, column: str = column) -> Values:
            value = entry.extra.get(column)
            return _single_value(str(value)) if isinstance(value, str | bool) else {}

        made.append(_word_facet(f"column{number}", column.replace("_", " "), entries, of))
    return made
