"""Where a device lies: what is said of its position, where its tip is, how far above the carina.

Words decide ("in good position", "malpositioned", "should be advanced"). Where there are none, the
place of the tip does, for the few kinds and places on which everybody agrees (device_tips.toml).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from overread.language.parsed_sentence import Modifier, ParsedSentence, StatementDraft
from overread.language.text import Span
from overread.language.thing_words import Range, ThingWords
from overread.language.vocabulary import Observation

DEVICE = "device"
"""The observation that every device is a kind of."""
SATISFACTORY, MALPOSITIONED = "satisfactory", "malpositioned"
_DENIED = frozenset("no not without non never nor neither longer".split())
_REACH = 3
_TIP = frozenset("tip terminate terminating terminus termination end ending".split())
_APPROACH = frozenset("via through by from".split())
"""Words ahead of the vessel that a catheter comes by, where it does not end."""
_ENTERED = frozenset("approach access vein-approach".split())
_STOPS = frozenset(", ; ( with side sidehole sideport".split())
_BELOW = frozenset("below beyond beneath distal caudal inferior past".split())
_CARINA_REACH = 7
_HOLDS = {"below the diaphragm": ("stomach", "duodenum")}
"""Place of a tip → places that it may mean."""


def is_device(item: Observation) -> bool:
    """Whether an observation is a device."""
    return DEVICE in (item.name, item.kind_of)


def add_device_position(reading: ParsedSentence, n: int, item: Observation, told: StatementDraft) -> None:
    """Fill in position, tip and distance from the words of thing `n`, a device."""
    own = reading.thing_words[n]
    _add_said_position(reading, (own.before, own.inside, own.after), told)
    if "position" not in told.fields and _shares_predicate(reading, n):
        _add_said_position(reading, (reading.thing_words[n + 1].after,), told)
    _add_tip(reading, own.after, told)
    _add_distance(reading, own, told)
    if "position" not in told.fields:
        _add_position_by_tip(reading, item, told)


def positions_fit(a: str | None, b: str | None) -> bool:
    """Whether two positions can be told of the same device; malpositioned is any that is not good.

    >>> positions_fit("too high", "malpositioned"), positions_fit("too high", "too low")
    (True, False)
    """
    return a is None or b is None or a == b or (MALPOSITIONED in (a, b) and SATISFACTORY not in (a, b))


def tips_fit(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """Whether the tips of two devices can lie in one place; some names hold others.

    >>> tips_fit(("below the diaphragm",), ("stomach",)), tips_fit(("esophagus",), ("stomach",))
    (True, False)
    """
    one, two = set(a), set(b)
    if one <= two or two <= one:
        return True
    return any(place in one | two and one | two <= {place, *inside} for place, inside in _HOLDS.items())


def _add_said_position(reading: ParsedSentence, ranges: tuple[Range, ...], told: StatementDraft) -> None:
    """The last position that words tell; a fault goes before praise: "in place, but coiled"."""
    for where in ranges:
        for match, value in _said(reading, where, "position"):
            denied = _DENIED.intersection(
                word.word for word in reading.words[max(0, match.first - _REACH) : match.first]
            )
            if denied:
                value = MALPOSITIONED if value == SATISFACTORY else SATISFACTORY
            if value != SATISFACTORY or told.fields.get("position") is None:
                told.add("position", value, reading.span(match.first, match.last))


def _shares_predicate(reading: ParsedSentence, n: int) -> bool:
    """Whether the next thing is a device of the same list: "both tubes", "tube and line are in place"."""
    if n + 1 >= len(reading.things):
        return False
    other = reading.things[n + 1]
    gap = [word.word for word in reading.words[reading.things[n].last : other.first]]
    named = isinstance(other.value, Observation) and is_device(other.value)
    return named and "and" in gap and len(gap) <= _REACH


def _add_tip(reading: ParsedSentence, where: Range, told: StatementDraft) -> None:
    """The places behind the last "tip" or "ends", else the first that the device is not led through."""
    words = reading.words
    first, last = where
    found = list(_said(reading, where, "tip"))
    if not found:
        return
    ends = [n for n in range(first, last) if words[n].word in _TIP]
    for start in reversed(ends):
        stop = next((n for n in range(start + 1, last) if words[n].word in _STOPS), last)
        mine = [(match, value) for match, value in found if start < match.first < stop]
        if mine:
            _set_tip(reading, mine, told)
            return
    stop = next((n for n in range(first, last) if words[n].word in ("side", "sidehole", "sideport")), last)
    mine = [
        (match, value) for match, value in found if match.first < stop and not _is_approach(reading, match)
    ]
    if mine:
        _set_tip(reading, mine, told)


def _set_tip(reading: ParsedSentence, found: list[tuple[Modifier, str]], told: StatementDraft) -> None:
    match = found[0][0]
    told.add(
        "tip",
        tuple(dict.fromkeys(value for _, value in found)),
        reading.span(match.first, found[-1][0].last),
    )


def _is_approach(reading: ParsedSentence, match: Modifier) -> bool:
    """Whether a place is the way of a device: "via the right jugular vein", "subclavian approach"."""
    words = reading.words
    before = {word.word for word in words[max(0, match.first - _REACH) : match.first]}
    behind = {word.word for word in words[match.last : match.last + 2]}
    return bool(before & _APPROACH) or bool(behind & _ENTERED)


def _add_distance(reading: ParsedSentence, own: ThingWords, told: StatementDraft) -> None:
    """How far the tip lies above the carina."""
    words = reading.words
    at = bisect_left(reading.sizes, own.after[0], key=lambda pair: pair[0])
    while at < len(reading.sizes) and reading.sizes[at][0] < own.after[1]:
        start, size = reading.sizes[at]
        at += 1
        if not size.is_distance:
            continue
        row = [word.word for word in words[start + 1 : start + 2 + _CARINA_REACH]]
        if "carina" not in row:
            continue
        row = row[: row.index("carina")]
        below = bool(_BELOW.intersection(row))
        told.add("above_carina_mm", -size.largest if below else size.largest, size.span)
        if not below and told.fields.get("tip") in (None, ("carina",)):
            told.add("tip", ("trachea",), size.span)
        return


def _add_position_by_tip(reading: ParsedSentence, item: Observation, told: StatementDraft) -> None:
    """What the tip's place says of the position, where that is agreed."""
    rule = reading.vocabulary.device_tips.get(item.name)
    if rule is None:
        return
    tips = told.fields.get("tip")
    far = told.fields.get("above_carina_mm")
    value: str | None = None
    span: Span | None = None
    if isinstance(far, float) and rule.above_carina_mm is not None:
        value, span = rule.above_carina_mm.judge(far), told.evidence["above_carina_mm"]
    elif isinstance(tips, tuple):
        value = next((rule.tips[tip] for tip in tips if tip in rule.tips), None)
        span = told.evidence["tip"]
    if value is not None and span is not None:
        told.add("position", value, span)


def _said(reading: ParsedSentence, where: Range, field: str) -> Iterator[tuple[Modifier, str]]:
    """The modifiers of one field that begin among some words, with their values."""
    at = bisect_left(reading.modifiers, where[0], key=lambda match: match.first)
    while at < len(reading.modifiers) and reading.modifiers[at].first < where[1]:
        match = reading.modifiers[at]
        for name, value in match.value:
            if name == field:
                yield match, value
        at += 1
