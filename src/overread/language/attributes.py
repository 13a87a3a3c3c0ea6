"""What is said of a thing: where it is, how large, how many, how much, what it looks like."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TypeVar

from overread.language.device_position import add_device_position, is_device
from overread.language.parsed_sentence import Modifier, ParsedSentence, StatementDraft
from overread.language.places import SIDES, PlaceMention, combine_places
from overread.language.sizes import Size
from overread.language.text import Span
from overread.language.thing_words import Range, ThingWords
from overread.language.vocabulary import Head, Observation

Placed = TypeVar("Placed", PlaceMention, Modifier)

_SHARED_GAP = 6
"""Words between two things of a list that share a place: "consolidation and mild effusion on …"."""
_LONGEST_LIST = 12
"""Things of one list, of which one tells the place of the others."""
_LUNG = "L"
_MIDLINE = "midline"
"""Family of what moves to a side: its side is the direction."""
_THINGS = ("2d", "2h", "3a")
"""Categories of things that one counts: "small" is their size, and not how much there is."""
_SIZE_WORDS = frozenset("small large tiny massive sizable limited minor little".split())
_EXTENTS = {"mild": "small", "moderate": "medium", "severe": "large"}
"""What a word of severity says of a thing that one counts."""
# What an observation is by its name is no trait of it.
_BY_NAME = {"calcified": "calcif", "thick-walled": "thicken", "cavitary": "cavity"}
_COUNTED = frozenset(
    "nodule mass cyst cavity bulla bleb lesion node fracture plug band granuloma tumor abscess"
    " pneumatocele aspergilloma rib scar diverticulum stone calculus"
    " osteophyte catheter stent area airspace bronchus".split()
)
"""Nouns that one counts: in the singular they mean one, which "opacity" does not."""
_ENDS_NOUN = frozenset("of with compatible consistent measuring".split())
_LESION = frozenset("lesion area focus structure image appearance view density".split())
"""Nouns that stand for what follows: "a lesion with cavitation", "lesions of mass character"."""
_NOT_ONE = frozenset("no any without every each all".split())
_UNITS = frozenset(("mm", "cm", "x", "×", ".", "of", "%", "th", "nd", "rd", "st", "/"))
_NUMBERED = frozenset(
    "grade stage image section slice level type segment t l c station zone score"
    " category rads ct no number".split()
)
_BREAKS_NOUN = frozenset("with in at on to by for from than compatible consistent is are was".split())
_CONTINUES = frozenset(
    "formation area change airspace lesion opacity density space pattern appearance rib band view"
    " image".split()
)
"""Nouns that may follow a name and then are the noun: "cavitation areas"."""
_UNCOUNTED = frozenset(
    "pattern appearance formation attenuation increase distribution amount view thickening image"
    " pneumothorax effusion".split()
)
"""Nouns of which one is not one thing."""
_MOVED = frozenset("by approximately about another".split())
_DENIALS = frozenset("no not without non".split())
EARLIER = frozenset("previously previous prior formerly earlier".split())
"""Words that make a thing that is not there one that is there no more."""


def fill_attributes(
    reading: ParsedSentence, n: int, item: Observation, told: StatementDraft, *, there: bool, normal: bool
) -> None:
    """Fill `told` with everything that the sentence says of thing `n`, an observation `item`.

    What is `normal` is not there at all: it has a place and no size or number.
    """
    own = reading.thing_words[n]
    told.fields["finding"] = reading.span(*own.inside)
    _add_place(reading, n, item, own, told)
    _add_modifiers(reading, n, item, told)
    if normal:
        return
    _add_size(reading, own, told, moved=is_device(item))
    _add_count(reading, own, told, there=there)
    if is_device(item):
        add_device_position(reading, n, item, told)


def _add_place(
    reading: ParsedSentence, n: int, item: Observation, own: ThingWords, told: StatementDraft
) -> None:
    """The side and the lobes that it lies in: its own, or those that a list shares."""
    mine = [*_places_in(reading.places, own.before), *_places_in(reading.places, own.inside)]
    mine += [place for place in _places_in(reading.places, own.after) if own.is_own(place.first)]
    if not mine and item.region == _LUNG:
        mine = _shared_place(reading, n, own)
    if not mine:
        return
    if item.family == _MIDLINE:
        mine = _direction(reading, mine)
    codes = combine_places(mine)
    spot = reading.span(mine[0].first, mine[0].last)
    if codes.side is not None:
        first = next((p for p in mine if p.side is not None), mine[0])
        told.add("side", codes.side, reading.span(first.first, first.last))
    if item.region != _LUNG:
        return
    for name in ("lobes", "segments", "zones"):
        if getattr(codes, name):
            place = next((p for p in mine if getattr(p, name)), None)
            where = spot if place is None else reading.span(place.first, place.last)
            told.add(name, getattr(codes, name), where)


def _direction(reading: ParsedSentence, places: list[PlaceMention]) -> list[PlaceMention]:
    """Where something goes: "from right to left", "by a left effusion to the right"."""
    for place in reversed(places):
        for n in range(place.last - 1, place.first - 1, -1):
            side = SIDES.get(reading.words[n].word)
            ahead = reading.words[max(0, n - 2) : n]
            if side is not None and any(word.word in ("to", "toward") for word in ahead):
                return [PlaceMention(n, n + 1, side)]
    return places


def _shared_place(reading: ParsedSentence, n: int, own: ThingWords) -> list[PlaceMention]:
    """The place of the things that it stands in a list with, before or behind it."""
    things, count = reading.things, len(reading.things)
    at = n
    while at + 1 < min(count, n + _LONGEST_LIST) and _is_one_list(reading, at):
        at += 1
        if found := _places_in(reading.places, reading.thing_words[at].after):
            return found[:1]
    at = n
    while at > max(0, n - _LONGEST_LIST) and _is_one_list(reading, at - 1):
        at -= 1
        mine = reading.thing_words[at]
        if found := _places_in(reading.places, mine.before):
            return found[-1:]
    # "In the right lung, … and …": a place that opens the sentence holds for all of it.
    ahead = bisect_left(reading.places, things[0].first, key=lambda place: place.first)
    if ahead == 0 or reading.clause(0) != reading.clause(own.inside[0]):
        return []
    return [reading.places[ahead - 1]]


def _is_one_list(reading: ParsedSentence, n: int) -> bool:
    """Whether a thing and the next are members of one list, with nothing but adjectives between."""
    one, other = reading.things[n], reading.things[n + 1]
    gap = reading.words[one.last : other.first]
    if len(gap) > _SHARED_GAP or any(reading.in_place[one.last : other.first]):
        return False
    return any(word.word in ("and", ",", "or", "with") for word in gap) and not any(
        word.word in ("in", "at", "on", "is", "are", "was", "were") for word in gap
    )


def _places_in(places: list[PlaceMention], where: Range) -> list[PlaceMention]:
    """The places that begin among these words."""
    return list(_starting_in(places, where))


def _starting_in(items: Sequence[Placed], where: Range) -> Iterator[Placed]:
    """Those of ordered items that begin among these words."""
    at = bisect_left(items, where[0], key=lambda item: item.first)
    while at < len(items) and items[at].first < where[1]:
        yield items[at]
        at += 1


def _add_size(reading: ParsedSentence, own: ThingWords, told: StatementDraft, *, moved: bool) -> None:
    """Its size: the largest that is said among its words; an earlier one only for want of a new.

    Of what can be `moved`, "by 2 cm" is how far.
    """
    found: list[tuple[int, Size]] = []
    for where in (own.before, own.inside, own.after):
        at = bisect_left(reading.sizes, where[0], key=lambda pair: pair[0])
        while at < len(reading.sizes) and reading.sizes[at][0] < where[1]:
            found.append(reading.sizes[at])
            at += 1
    found = [(at, size) for at, size in found if not size.is_distance and own.is_own(at)]
    if moved:
        found = [(at, size) for at, size in found if at == 0 or reading.words[at - 1].word not in _MOVED]
    new = [(at, size) for at, size in found if not _is_earlier(reading, at)]
    if not found:
        return
    at, largest = max(new or found, key=lambda pair: pair[1].largest)
    # "From 11 to 8 mm" is no range: it is 8 mm now.
    changed = largest.is_range and at > 0 and reading.words[at - 1].word == "from"
    told.add("size_mm", largest.mm[-1] if changed else largest.largest, largest.span)
    told.fields["axes_mm"] = largest.mm


def _is_earlier(reading: ParsedSentence, at: int) -> bool:
    """Whether a size is that of an earlier examination."""
    before = [word.word for word in reading.words[max(0, at - 3) : at]]
    if any(word in EARLIER or word == "was" for word in before):
        return True
    # "… decreased from 11 to 8 mm", "20 mm on the previous scan"; but "8 mm (previously 11 mm)".
    behind = [word.word for word in reading.words[at : at + 7]]
    if "from" in before or "->" in "".join(behind[2:4]):
        return True
    stop = next((n for n, word in enumerate(behind) if word in ("(", ",", ";", "now")), len(behind))
    return any(word in EARLIER or word == "before" for word in behind[:stop])


_LITTLE = frozenset(("slightly", "mildly", "minimally", "somewhat", "little", "minimal"))
"""Words that take back the degree of the next: "a little prominent"."""


def _add_modifiers(reading: ParsedSentence, n: int, item: Observation, told: StatementDraft) -> None:
    """Severity, distribution, traits and change."""
    own, thing = reading.thing_words[n], reading.things[n]
    by_head = isinstance(thing.value, Head)
    found: dict[str, list[str]] = {"spread": [], "traits": [], "landmarks": []}
    for where in (own.before, own.inside, own.after):
        for match in _starting_in(reading.modifiers, where):
            span = reading.span(match.first, match.last)
            for name, value in match.value:
                if name != "traits" and not own.is_own(match.first):
                    continue
                if name == "landmark":
                    found["landmarks"].append(value)
                    told.evidence.setdefault("landmarks", span)
                elif name in found:
                    if name == "traits" and _is_denied(reading, match.first):
                        continue
                    if _BY_NAME.get(value, "\0") not in item.name:
                        found[name].append(value)
                        told.evidence.setdefault(name, span)
                elif name == "severity":
                    if by_head and thing.first <= match.first < thing.last:
                        continue  # "prominent" is what the hilum is, and not how much
                    _add_severity(reading, item, own, match, value, told)
                elif name == "comparison":
                    told.add(name, value, span)
                elif name == "size":
                    told.add("small", value=True, span=span)
    for name, values in found.items():
        if values:
            told.fields[name] = tuple(dict.fromkeys(values))


def _is_denied(reading: ParsedSentence, at: int) -> bool:
    """Whether a trait is said not to be there: "without calcification", "not enlarged"."""
    return any(word.word in _DENIALS for word in reading.words[max(0, at - 2) : at])


def _add_severity(
    reading: ParsedSentence,
    item: Observation,
    own: ThingWords,
    match: Modifier,
    value: str,
    told: StatementDraft,
) -> None:
    """How much; the nearest word ahead of it, else the first behind it."""
    name = "severity"
    if item.category in _THINGS and reading.words[match.first].word in _SIZE_WORDS:
        name, value = "extent", _EXTENTS[value]
    if match.first and value == "severe" and reading.words[match.first - 1].word in _LITTLE:
        return  # "slightly prominent" is slight
    ahead = match.first < own.inside[1]
    if name not in told.fields or ahead:
        told.add(name, value, reading.span(match.first, match.last))


def _add_count(reading: ParsedSentence, own: ThingWords, told: StatementDraft, *, there: bool) -> None:
    """How many: a number ahead of the noun, or one, by its form."""
    words = reading.words
    start, end = _counted_noun(reading, own)
    noun = words[end - 1]
    plural = noun.raw != noun.word and noun.raw.endswith(("s", "i", "ae"))
    first = start
    while first > own.before[0] and words[first - 1].word not in _BREAKS_NOUN:
        first -= 1
    for match in _starting_in(reading.modifiers, (first, start)):
        span = reading.span(match.first, match.last)
        for name, value in match.value:
            if name == "many":
                told.add("many", value=True, span=span)
                return
            if name == "count" and _is_number(reading, match) and (value == "1") != plural:
                told.add("count", int(value), span)
    if "count" in told.fields:
        if noun.word in _UNCOUNTED and told.fields["count"] == 1:
            del told.fields["count"], told.evidence["count"]
        return
    none = any(words[n].word in _NOT_ONE for n in range(first, start))
    if there and not plural and not none and noun.word in _COUNTED:
        told.add("count", 1, Span(start=noun.start, end=noun.end))


def _counted_noun(reading: ParsedSentence, own: ThingWords) -> Range:
    """The words of the noun that is counted: its last is in the singular or the plural."""
    words, (start, end) = reading.words, own.inside
    told = start - own.before[0] >= 2 and words[start - 1].word in ("of", "with")
    if told and words[start - 2].word in _LESION:
        return start - 2, start - 1
    for n in range(start + 1, end):
        if words[n].word in _ENDS_NOUN:
            return start, n
    more = end < len(words) and words[end].word in _CONTINUES
    return start, end + more


def _is_number(reading: ParsedSentence, match: Modifier) -> bool:
    """Whether a number counts; that of a size, a grade or an image does not."""
    words = reading.words
    following = words[match.last].word if match.last < len(words) else ""
    before = words[match.first - 1] if match.first > 0 else None
    numbered = before is not None and (before.word in _NUMBERED or before.raw == "series")
    return following not in _UNITS and not numbered
