"""GREEN: the findings that match, over those and the significant errors that a judge counts.

The judge is a language model that answers in a fixed form; here is its arithmetic and the reading
of its reply. A reply that cannot be read is an error of the judge: it is counted, and is no 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from overread.errors import OverreadError

ERRORS = {
    "a": "reports a finding that is not there",
    "b": "misses a finding",
    "c": "puts a finding in the wrong place",
    "d": "misjudges how severe a finding is",
    "e": "compares where the reference does not",
    "f": "leaves out a change since a prior study",
}
"""The kinds of error that are counted, in our words."""

_SIGNIFICANT = "clinically significant errors"
_INSIGNIFICANT = "clinically insignificant errors"
_MATCHED = "matched findings"
_HEADING = re.compile(rf"\[({_SIGNIFICANT}|{_INSIGNIFICANT}|{_MATCHED})\]\s*:?", re.IGNORECASE)
_LINE = re.compile(r"^[ \t]*\(([a-f]|[1-6])\)(.*)$", re.MULTILINE)
_COUNT = re.compile(r":\s*(\d{1,4})\b(?!\s*(?:mm|cm|%))")
_FIRST = re.compile(r"(\d{1,4})\s*(?:[.:;<]|$)", re.MULTILINE)
_NOTHING = re.compile(
    r"(?:none|n/?a|no (?:clinically|significant|matched|matching|errors?|findings?))\b", re.IGNORECASE
)


@dataclass(frozen=True)
class GreenCounts:
    """What the judge counted in one pair of reports."""

    matched: int
    """Findings that both reports have."""
    significant: Mapping[str, int]
    """Clinically significant errors, by their letter."""
    insignificant: Mapping[str, int]
    """Those that do not matter; they do not enter the score."""

    @property
    def score(self) -> float:
        """Matched over matched and significant errors; 0 where nothing matched."""
        return green(self.matched, sum(self.significant.values()))


def green(matched: int, significant: int) -> float:
    """The score of one report from its counts.

    >>> green(3, 1), green(0, 0)
    (0.75, 0.0)
    """
    return matched / (matched + significant) if matched else 0.0


def parse_green(reply: str) -> GreenCounts:
    """The counts in a judge's reply; raises `OverreadError` where they cannot be read.

    A kind of error that is not listed was not found. A section may say "None".

    >>> counts = parse_green('''[Clinically Significant Errors]:
    ... (b) Missing a finding present in the reference: 1. Effusion.
    ... [Clinically Insignificant Errors]: None.
    ... [Matched Findings]:
    ... 3. Nodule; no pneumothorax; normal heart.''')
    >>> counts.score, counts.significant["b"]
    (0.75, 1)
    """
    sections = _split_sections(reply)
    for name in (_SIGNIFICANT, _MATCHED):
        if name not in sections:
            raise _unreadable_error(f"has no section [{name.title()}]")
    return GreenCounts(
        matched=_parse_matched(sections[_MATCHED]),
        significant=_parse_errors(sections[_SIGNIFICANT], _SIGNIFICANT),
        insignificant=_parse_errors(sections.get(_INSIGNIFICANT, "none"), _INSIGNIFICANT),
    )


def _split_sections(reply: str) -> dict[str, str]:
    """Heading → what stands under it; the first of two equal headings counts."""
    heads = list(_HEADING.finditer(reply))
    found: dict[str, str] = {}
    for n, head in enumerate(heads):
        end = heads[n + 1].start() if n + 1 < len(heads) else len(reply)
        found.setdefault(head.group(1).lower(), reply[head.end() : end].strip())
    return found


def _parse_matched(text: str) -> int:
    first = _FIRST.match(text)
    if first:
        return int(first.group(1))
    if _NOTHING.match(text):
        return 0
    raise _unreadable_error("does not say how many findings matched")


def _parse_errors(text: str, section: str) -> dict[str, int]:
    counts = dict.fromkeys(ERRORS, 0)
    lines = _LINE.findall(text)
    if not lines:
        if _NOTHING.match(text):
            return counts
        raise _unreadable_error(f"counts nothing under [{section.title()}]")
    seen = set()
    for mark, rest in lines:
        letter = mark if mark in ERRORS else list(ERRORS)[int(mark) - 1]
        count = _COUNT.search(rest)
        if count is None:
            raise _unreadable_error(f"gives no number for ({mark}) under [{section.title()}]")
        if letter in seen:
            raise _unreadable_error(f"counts ({mark}) twice under [{section.title()}]")
        seen.add(letter)
        counts[letter] = int(count.group(1))
    return counts


def _unreadable_error(what: str) -> OverreadError:
    return OverreadError(f"the reply of the GREEN judge {what}", remedy="let it judge again")
