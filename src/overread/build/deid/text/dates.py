"""Dates in a text: found in all their forms, moved, and written again as they stood there."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from datetime import date, timedelta
from importlib.resources import files

from overread.build.deid.text.patterns import pattern, patterns
from overread.build.deid.text.spans import PhiSpan
from overread.build.deid.text.word_lists import fold

_MONTHS: dict[str, str] = tomllib.loads(
    (files("overread.build.deid") / "data" / "months.toml").read_text("utf-8")
)
_MONTH_NUMBERS: dict[str, tuple[str, int]] = {}
for _language, _row in _MONTHS.items():
    for _number, _name in enumerate(_row.split(), 1):
        if _name != "-":
            _MONTH_NUMBERS.setdefault(fold(_name), (_language, _number))
_LETTERS = re.compile(r"[^\W\d_]{3,10}")
# Months in small letters that are other words as well.
_AMBIGUOUS = frozenset("may mar mart mai set dec jan jun march august".split())
_FRACTIONS = {(1, 2), (1, 3), (2, 3), (1, 4), (3, 4), (1, 5), (2, 5), (3, 5), (4, 5), (1, 1)}


def find_dates(text: str, days: int | None, *, day_first: bool | None = None) -> list[PhiSpan]:
    """All dates, each with what is to stand in its place; with `days` None there is a tag instead.

    >>> [found.replacement for found in find_dates("CT of 03/20/2021, prior March 13, 2021.", -7)]
    ['03/13/2021', 'March 6, 2021']
    """
    found: list[PhiSpan] = []
    taken = bytearray(len(text))
    matches = list(_find_matches(text))
    first = day_first if day_first is not None else _is_day_first(matches, text)
    usual = next((int(m["y"]) for _, m in matches if len(m.groupdict().get("y") or "") == 4), 2020)
    for name, match in matches:
        start, end = _date_span(match)
        if any(taken[start:end]):
            continue
        # Once a stretch is a date, no laxer form may read a part of it.
        taken[start:end] = b"\1" * (end - start)
        instead = None if days is None else _shift_date(name, match, days, usual, day_first=first)
        found.append(PhiSpan(start, end, "date", name, instead or "[DATE]"))
    return sorted(found, key=lambda one: one.start)


def _find_matches(text: str) -> Iterator[tuple[str, re.Match[str]]]:
    # Most texts name no month: looking for one is dear, seeing that there is none is cheap.
    months = any(fold(word) in _MONTH_NUMBERS for word in set(_LETTERS.findall(text)))
    for name, form in patterns("date_").items():
        if not months and "(?P<n>" in form.pattern:
            continue
        for match in form.finditer(text):
            if _is_date(name, match, text):
                yield name, match


def _is_date(name: str, match: re.Match[str], text: str) -> bool:
    parts = match.groupdict()
    if "a" in parts:
        one, two = int(parts["a"]), int(parts["b"])
        if not (1 <= min(one, two) <= 12 and 1 <= max(one, two) <= 31):
            return len(parts.get("y") or "") == 4 and min(one, two) > 0 and max(one, two) <= 40
        padded = parts["a"].startswith("0") or parts["b"].startswith("0")
        if "y" not in parts and (one, two) in _FRACTIONS and not padded:
            return False
        # Three numbers with points and no long year are more often something else.
        return len(parts.get("y") or "19") > 1
    if "n" in parts and name in ("date_day_month", "date_month_day", "date_month"):
        word = parts["n"]
        if word[0].islower() and fold(word) in _AMBIGUOUS:
            return False
    if name in ("date_year", "date_year_of"):
        around = text[max(0, match.start() - 45) : match.end() + 45]
        return pattern("edition").search(around) is None
    return True


def _is_day_first(matches: list[tuple[str, re.Match[str]]], text: str) -> bool:
    """Whether the day comes first: by a date that can only be read one way, else by its dots."""
    votes = 0
    for _, match in matches:
        parts = match.groupdict()
        if "a" in parts:
            one, two = int(parts["a"]), int(parts["b"])
            votes += (one > 12) - (two > 12)
    if votes:
        return votes > 0
    dotted = any(m.groupdict().get("s", "") == "." for _, m in matches if "a" in m.groupdict())
    return dotted or re.search(r"[şğıİ]|\b(?:und|der|el|los|les|il)\b", text) is not None


def _date_span(match: re.Match[str]) -> tuple[int, int]:
    """From the first to the last part that tells the date: words before it are left alone."""
    spans = [match.span(name) for name, part in match.groupdict().items() if part and name != "s"]
    return min(start for start, _ in spans), max(end for _, end in spans)


def _shift_date(name: str, match: re.Match[str], days: int, usual: int, *, day_first: bool) -> str | None:
    parts = {key: value for key, value in match.groupdict().items() if value}
    if "a" in parts:
        one, two = int(parts["a"]), int(parts["b"])
        front = one > 12 or (day_first and two <= 12)
        day, month = (one, two) if front else (two, one)
    else:
        month = _MONTH_NUMBERS[fold(parts["n"])][1] if "n" in parts else int(parts.get("m", 7))
        day, front = int(parts.get("d", 15)), True
    year = int(parts.get("y", usual))
    year += (2000 if year <= 40 else 1900) if year < 100 else 0
    try:
        moved = date(year, month, day) + timedelta(days)
    except (ValueError, OverflowError):
        return None
    new = {"y": moved.year, "m": moved.month, "d": moved.day}
    new |= {"a": moved.day, "b": moved.month} if front else {"a": moved.month, "b": moved.day}
    start, end = _date_span(match)
    text = match.string
    made, at = "", start
    pieces = sorted((match.span(key), key) for key in parts if key != "s")
    # 20.12. and 05.12. are written with zeros, 5.12. is not; beside a month's name nobody does.
    zeros = "n" not in parts and all(len(parts[key]) != 1 for key in parts if key != "s")
    for (first, last), key in pieces:
        written = text[first:last]
        made += text[at:first]
        made += (
            _month_name(written, moved.month)
            if key == "n"
            else _format_number(new[key], written, zeros=zeros)
        )
        at = last
    return made + text[at:end]


def _format_number(value: int, like: str, *, zeros: bool) -> str:
    if len(like) == 2 and value > 99:
        return f"{value % 100:02d}"
    return f"{value:0{len(like)}d}" if zeros or like.startswith("0") else str(value)


def _month_name(written: str, month: int) -> str:
    """The name of another month in the language, length and letters of this one."""
    language = _MONTH_NUMBERS[fold(written)][0]
    name = _MONTHS["en-short" if language == "en-sept" else language].split()[month - 1]
    if written.isupper():
        return name.upper()
    return name.lower() if written[0].islower() else name[0].upper() + name[1:]
