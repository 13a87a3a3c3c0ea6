"""Every number of a text, in digits or in words, with its unit: sizes, dates, series, ordinals.

A number is known by what it means: 1.5 cm and 15 mm are the same, so are 4.0 and 4, "three" and 3,
"sixth" and 6th, 12.03.2021 and March 12, 2021 (day and month may change places: nobody can tell
03/04 from 04/03). The numbers of a list ("1.", "2)") and a plain one ("one", "1") tell nothing.
"""

from __future__ import annotations

import re

from overread.core import Record
from overread.language.text import Span

# Unit as written, in lower case → unit it is counted in, and how many of them it is.
_UNITS = {
    "mm": ("mm", 1.0), "cm": ("mm", 10.0), "millimeter": ("mm", 1.0), "centimeter": ("mm", 10.0),
    "mm2": ("mm2", 1.0), "cm2": ("mm2", 100.0), "mm3": ("ml", 0.001), "cm3": ("ml", 1.0),
    "ml": ("ml", 1.0), "cc": ("ml", 1.0), "l": ("ml", 1000.0), "liter": ("ml", 1000.0),
    "hu": ("HU", 1.0), "%": ("%", 1.0), "percent": ("%", 1.0), "per cent": ("%", 1.0),
    "kg": ("g", 1000.0), "g": ("g", 1.0), "mg": ("g", 0.001), "mgy": ("mGy", 1.0),
    "msv": ("mSv", 1.0), "mbq": ("MBq", 1.0), "kv": ("kV", 1.0), "kvp": ("kV", 1.0),
    "mas": ("mAs", 1.0), "mmhg": ("mmHg", 1.0), "year": ("year", 1.0), "yr": ("year", 1.0),
    "month": ("month", 1.0), "week": ("week", 1.0), "day": ("day", 1.0), "hour": ("hour", 1.0),
    "minute": ("minute", 1.0), "second": ("second", 1.0),
}  # fmt: skip
_SQUARES = str.maketrans({"²": "2", "³": "3"})
_LABELS = {
    "series": "series", "ser": "series", "se": "series", "image": "image", "images": "image",
    "img": "image", "im": "image", "slice": "slice", "slices": "slice", "frame": "frame",
}  # fmt: skip
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_CARDINALS = (
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
_ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth",
)  # fmt: skip
_WORDS = {word: n for n, word in enumerate(_CARDINALS, 2)}
_WORDS |= {word: n for n, word in enumerate(_ORDINALS, 1)}

_MONTH = rf"(?:{'|'.join(_MONTHS)})[a-z]{{0,6}}\.?"
_UNIT = (
    r"(?:(?:\s{0,3}|\.\s{0,3})(?:mm|cm)(?:[23²³](?!\d))?|\s{0,2}%|\s{0,3}-?(?:"
    r"millimet(?:er|re)s?|centimet(?:er|re)s?|ml|cc|lit(?:er|re)s?|l|hu|per\s?cent|kg|mgy|mg|g|msv|"
    r"mbq|kvp?|mas|mmhg|years?|yrs?|months?|weeks?|days?|hours?|minutes?|seconds?))(?![a-z])"
)
_NUMERAL = re.compile(
    # What is no number: a name with digits behind a hyphen.
    r"(?P<name>\b(?:covid|cov)-?\s?\d{1,4}\b)"
    r"|(?P<date>(?<![\d.,/])(?:\d{4}([-./])\d{1,2}\3\d{1,2}|\d{1,2}([./])\d{1,2}\4\d{2}(?:\d{2})?"
    r"|\d{1,2}-\d{1,2}-\d{4})(?![\w])"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?{_MONTH},?\s\d{{4}}\b"
    rf"|\b{_MONTH}\s(?:\d{{1,2}}(?:st|nd|rd|th)?,?\s)?\d{{4}}\b)"
    r"|(?P<time>(?<![\d:])\d{1,2}:\d{2}(?::\d{2})?(?![\d:]))"
    rf"|\b(?P<label>{'|'.join(_LABELS)})\b\.?\s{{0,2}}(?:no\.?|number|\#|:)?\s{{0,2}}(?P<index>\d{{1,6}})\b"
    r"|\b(?P<level>(?:th|[a-wyz])\d{1,2})(?!\w|\.\d)"
    rf"|(?P<sign>(?<=[\s(])[-−](?=\d))?(?<![a-wyz_\d])(?P<number>\d+(?:[.,]\d+)*)"
    rf"(?:(?P<nth>st|nd|rd|th)\b|(?P<unit>{_UNIT}))?"
    rf"|\b(?P<word>{'|'.join(_WORDS)})\b(?P<its>{_UNIT})?",
    re.IGNORECASE,
)
# What stands between two numbers that share the unit of the second.
_SHARED = re.compile(r"\s{0,2}(?:x|×|\*|by|-|–|to|and|or)\s{0,2}", re.IGNORECASE)


class Numeral(Record):
    """One number that a text tells."""

    span: Span
    """Its characters, with those of its unit."""
    value: str
    """The number in its unit, as it is compared."""
    unit: str = ""
    """What it counts: mm, ml, HU, %, year, date, series, image, level…, or nothing."""
    figure: str = ""
    """The digits alone, as they stand there."""

    @property
    def meaning(self) -> str:
        """Value and unit.

        >>> [numeral.meaning for numeral in find_numerals("1.5 x 2 cm, series 3, the sixth rib")]
        ['15 mm', '20 mm', 'series 3', '6']
        """
        if self.unit in ("series", "image", "slice", "frame"):
            return f"{self.unit} {self.value}"
        return self.value if self.unit in ("", "date", "time", "level") else f"{self.value} {self.unit}"


def find_numerals(text: str) -> list[Numeral]:
    """All numbers of a text, in order."""
    found: list[Numeral] = []
    for match in _NUMERAL.finditer(text):
        read = _parse_match(text, match)
        if read is not None:
            found.append(read)
    # From behind: the numbers of "5 x 4 x 5 mm" take the unit of the last.
    for n in range(len(found) - 2, -1, -1):
        one, two = found[n], found[n + 1]
        between = text[one.span.end : two.span.start]
        if one.unit == "" and two.unit in ("mm", "ml", "HU", "%") and _SHARED.fullmatch(between):
            scale = _unit_factor(two)
            value = _format_number(_parse_number(one.figure) * scale) if len(one.figure) < 16 else one.figure
            found[n] = one.model_copy(update={"unit": two.unit, "value": value})
    return [one for one in found if (one.unit, one.value, one.figure) != ("", "1", "1")]


def _parse_match(text: str, match: re.Match[str]) -> Numeral | None:
    span = Span(start=match.start(), end=match.end())
    if match["name"]:
        return None
    if match["date"]:
        return _parse_date(match["date"], span)
    if match["time"]:
        return Numeral(span=span, value=match["time"].zfill(5), unit="time")
    if match["label"]:
        label = _LABELS[match["label"].lower()]
        return Numeral(span=span, value=match["index"].lstrip("0") or "0", unit=label)
    if match["level"]:
        level = match["level"].upper()
        thoracic = level[0] in "TD"  # T12, Th12 and D12 are one vertebra
        value = "T" + level.lstrip("THD") if thoracic else level
        return Numeral(span=span, value=value, unit="level")
    if match["word"]:
        value = str(_WORDS[match["word"].lower()])
        return _make_numeral(span, value, value, match["its"])
    number = match["number"]
    if match["nth"]:
        return Numeral(span=span, value=number.lstrip("0") or "0", figure=f"{number}.")
    if not match["unit"] and _is_list_number(text, match):
        return None
    unit = _parse_unit(match["unit"])[0] if match["unit"] else ""
    if match["sign"] and unit == "HU":
        made = _make_numeral(span, number, number, match["unit"])
        return made.model_copy(update={"value": f"-{made.value}"})
    if match["sign"]:
        span = Span(start=match.start("number"), end=match.end())
    return _make_numeral(span, number, number, match["unit"])


def _make_numeral(span: Span, number: str, figure: str, unit: str | None) -> Numeral:
    name, scale = _parse_unit(unit) if unit else ("", 1.0)
    # Beyond what a float holds, the digits speak for themselves.
    value = _format_number(_parse_number(number) * scale) if len(number) < 16 else number
    return Numeral(span=span, value=value, unit=name, figure=figure)


def _parse_unit(written: str) -> tuple[str, float]:
    plain = re.sub(r"[\s.-]+", " ", written.lower()).strip().translate(_SQUARES)
    plain = plain.replace("metre", "meter").replace("litre", "liter")
    return _UNITS.get(plain) or _UNITS[plain.removesuffix("s")]


def _unit_factor(numeral: Numeral) -> float:
    """How many of its units one of its figures is."""
    figure = _parse_number(numeral.figure)
    return round(float(numeral.value) / figure, 6) if figure and len(numeral.figure) < 16 else 1.0


def _parse_number(number: str) -> float:
    """1,5 is one and a half, 1,500 is fifteen hundred."""
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+", number) and not number.startswith("0"):
        return float(number.replace(",", ""))
    whole, _, part = number.replace(",", ".").rpartition(".")
    return float(f"{whole.replace('.', '')}.{part}") if whole else float(part)


def _format_number(value: float) -> str:
    return repr(round(value, 4)).removesuffix(".0")


def _parse_date(written: str, span: Span) -> Numeral:
    """Year, and the other two in rising order: 03/04 and 04/03 cannot be told apart."""
    parts = [int(part) for part in re.findall(r"\d+", written)]
    named = re.search(r"[a-z]{3}(?<!of)", re.sub(r"\d+(?:st|nd|rd|th)|\bof\b", "", written.lower()))
    if named is not None:
        parts.append(_MONTHS.index(named.group()) + 1)
    year = next((part for part in parts if part > 31), parts[2] if len(parts) > 2 else parts[-1])
    parts.remove(year)
    year += 2000 if year < 100 else 0
    told = "-".join(f"{part:02d}" for part in (year, *sorted(parts)))
    return Numeral(span=span, value=told, unit="date")


def _is_list_number(text: str, match: re.Match[str]) -> bool:
    """Whether a number only counts the points of a list: '2. No effusion', '(3) Emphysema'."""
    if len(match["number"]) > 2 or not re.match(
        r"[.)]\s+[A-Z]|[.)]\s*$", text[match.end() : match.end() + 8]
    ):
        return False
    before = text[max(0, match.start() - 12) : match.start()].rstrip(" \t(")
    return not before or before[-1] in "\n.;:"
