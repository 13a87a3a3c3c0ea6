"""Sizes in a text, in millimetres, each with its characters.

A length is a size unless it is said of something else: how far away, how thick the slices. Numbers
that count images, grades, vertebrae, years or days are none, as they have no unit of length.
"""

from __future__ import annotations

import re
from typing import Literal

from overread.core import Record
from overread.language.text import Span

Bound = Literal["", "under", "over"]

_NUMBER = r"\d{1,4}(?:[.,]\d{1,2})?"
_UNIT = r"(?:mm|cm|millimet(?:er|re)s?|centimet(?:er|re)s?)"
_GAP = r"\s{0,2}"
_BY = rf"{_GAP}(?:x|×|\*|by){_GAP}"
_TO = rf"{_GAP}(?:-|–|—|to){_GAP}"
# Of an axis but the last, the unit may be told or left out: "12 mm x 9 mm", "1.2 x 0.9 cm".
_SIZE = re.compile(
    rf"(?<![\w.,/])(?P<first>{_NUMBER})\.?(?P<own>{_GAP}{_UNIT})?"
    rf"(?:(?P<axes>(?:{_BY}{_NUMBER}\.?(?:{_GAP}{_UNIT})?){{1,2}})"
    rf"|(?P<range>{_TO}{_NUMBER}(?:{_GAP}{_UNIT})))?"
    r"(?:\s?-?\s{0,3}(?P<unit>" + _UNIT + r"))?(?![a-z0-9²³])",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")
_EACH = re.compile(rf"({_NUMBER})\.?{_GAP}({_UNIT})?", re.IGNORECASE)
# "3 and 5 mm": the first has its unit from the second, unless it numbers something else.
_SHARED = re.compile(rf"\s{{1,2}}(?:and|or)\s{{1,2}}({_NUMBER}){_GAP}({_UNIT})\b", re.IGNORECASE)
_NUMBERED = re.compile(
    r"(?:segments?|series|images?|sections?|slices?|grade|stage|levels?|station|type|no\.?)\W{0,2}$",
    re.IGNORECASE,
)
_MERCURY = re.compile(r"\s{0,2}(?:hg|/)", re.IGNORECASE)
# "5 mm from the carina", "2 cm above the …"; "slice thickness 1.5 mm", "3 mm thick sections".
_AWAY = re.compile(
    r"\s{1,2}(?:(?:above|below|from|proximal|distal|away|cranial|caudal|deep|beneath|superior to"
    r"|inferior to)\b|(?:thick\s|slice|section|interval|thickness (?:slice|section|axial)))",
    re.IGNORECASE,
)
_SLICES = re.compile(
    r"(?:slices?|sections?|collimation|cuts?|interval)(?: thickness)?"
    r"(?: (?:of|is|was|with|at|:))?\W{0,3}$",
    re.IGNORECASE,
)
_UNDER = re.compile(
    r"(?:less than|smaller than|under|below|up to|not exceeding|no larger than|maximum|<|≤)"
    r"\W{0,2}$",
    re.IGNORECASE,
)
_OVER = re.compile(
    r"(?:more than|greater than|larger than|over|exceeding|at least|>|≥)\W{0,2}$", re.IGNORECASE
)
_BETWEEN = re.compile(r"\bbetween\s$", re.IGNORECASE)
_MEASURED = re.compile(
    r"(?:measur\w*|sizes?|sized|dimensions?|diameters?|axis|approximately|about|approx\.?"
    r"|around)(?: (?:of|is|was|are|approximately|about|up to))?\W{0,3}$",
    re.IGNORECASE,
)
_CONTEXT = 24
"""Characters before a number that are examined."""


class Size(Record):
    """One size that is told."""

    span: Span
    """Its characters."""
    mm: tuple[float, ...]
    """Millimetres along each axis that is told, as told."""
    is_range: bool = False
    """Whether two numbers are a range ('3-5 mm') rather than two axes."""
    is_distance: bool = False
    """Whether it is how far something is from something, or how thick the slices are."""
    bound: Bound = ""
    """Under: it is at most so much ('up to 8 mm'). Over: at least."""

    @property
    def largest(self) -> float:
        """The longest of them."""
        return max(self.mm)


def find_sizes(text: str, start: int = 0, end: int | None = None) -> list[Size]:
    """All sizes of a stretch of text, in order.

    >>> [size.mm for size in find_sizes("nodules of 1.2 cm and 5x4x5. mm, 3-5 mm")]
    [(12.0,), (5.0, 4.0, 5.0), (3.0, 5.0)]
    """
    stop = len(text) if end is None else end
    found: list[Size] = []
    if _DIGIT.search(text, start, stop) is None:
        return found  # most sentences
    for match in _SIZE.finditer(text, start, stop):
        size = _parse_size(text, start, match, stop)
        if size is not None and (not found or found[-1].span.end <= size.span.start):
            found.append(size)
    return found


def _parse_size(text: str, start: int, match: re.Match[str], stop: int) -> Size | None:
    """What a number with its axes says; None where it is no length."""
    first, unit = (match["first"], match["own"]), match["unit"]
    rest = [(m[1], m[2]) for m in _EACH.finditer(match["axes"] or match["range"] or "")]
    told = [first, *rest]
    last = unit or next((own for _, own in reversed(told) if own), None)
    before = text[max(start, match.start() - _CONTEXT) : match.start()]
    if last is None and not rest:
        return _parse_shared_unit(text, match, before, stop)
    if last is None:
        # No unit: three axes are millimetres, two only where they are said to be a size.
        if len(told) == 2 and not _MEASURED.search(before):
            return None
        last = "mm"
    if _MERCURY.match(text, match.end(), stop):
        return None
    end = match.end() if unit or told[-1][1] else match.end("axes" if rest else "own")
    span = Span(start=match.start(), end=end)
    away = bool(_AWAY.match(text, match.end(), stop)) or bool(_SLICES.search(before))
    bound: Bound = "under" if _UNDER.search(before) else "over" if _OVER.search(before) else ""
    return Size(
        span=span,
        mm=tuple(_millimetres(number, own or last) for number, own in told),
        is_range=match["range"] is not None,
        is_distance=away,
        bound=bound,
    )


def _parse_shared_unit(text: str, match: re.Match[str], before: str, stop: int) -> Size | None:
    """A number whose unit stands behind the next one."""
    other = _SHARED.match(text, match.end("first"), stop)
    if other is None or _NUMBERED.search(before):
        return None
    mm = _millimetres(match["first"], other[2])
    if not _BETWEEN.search(before):
        return Size(span=Span(start=match.start(), end=match.end("first")), mm=(mm,))
    both = (mm, _millimetres(other[1], other[2]))
    return Size(span=Span(start=match.start(), end=other.end()), mm=both, is_range=True)


def _millimetres(number: str, unit: str) -> float:
    scale = 10.0 if unit.strip().lower().startswith("c") else 1.0
    return round(float(number.replace(",", ".")) * scale, 2)
