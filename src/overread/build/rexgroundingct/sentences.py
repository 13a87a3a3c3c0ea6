"""The first step: cuts a report into sentences F0, F1, … and I0, I1, …, or drops it.

No text may fall between two sentences: a number that the cutting left outside goes with the
sentence before it.
"""

from __future__ import annotations

import re

from overread.build.item import Change, Drop, Item, Keep, StepResult
from overread.build.step import StepContext
from overread.language.numerals import find_numerals
from overread.language.text import Sentence, split_sentences

MAX_REPORT = 60_000
"""Characters of findings and impressions together; the longest real reports have about 7,000."""
_FEWEST_WORDS = 8
"""Words below which nothing is concluded from the absence of English ones."""
_ENGLISH = frozenset(
    (
        "the of and in is are was were no not with to a an at on right left there lung lungs both "
        "normal within from for by as which that this or be has have been observed seen detected "
        "without upper lower lobe effusion heart nodule nodules bilateral"
    ).split()
)
_SHARE = 0.15
"""Share of such words below which a text is not English."""


async def split_report(item: Item, context: StepContext) -> StepResult:
    """Cut findings and impressions into sentences, or say why this is no report to work on."""
    findings, impressions = str(item.data["findings"]), str(item.data.get("impressions") or "")
    refused = _refuse_report(findings, impressions)
    if refused is not None:
        return refused
    found: dict[str, str] = {}
    changes: list[Change] = []
    for letter, text in (("F", findings), ("I", impressions)):
        spans, mended = sentence_spans(text)
        for number, (start, end) in enumerate(spans):
            code = f"{letter}{number}"
            found[code] = " ".join(text[start:end].split())
            if number in mended:
                why = "a number stood between two sentences and goes with the one before it"
                changes.append(Change(what=code, after=found[code], why=why))
    if not found:
        why = "no sentence was found in the report"
        return Drop(reason="empty-report", why=why)
    return Keep(data={"sentences": dict(found)}, changes=tuple(changes))


def sentence_spans(text: str) -> tuple[list[tuple[int, int]], set[int]]:
    """Starts and ends of the sentences, and which of them were widened to keep a number.

    >>> sentence_spans("A nodule of 5. Next: 7.")[0]
    [(0, 14), (15, 23)]
    """
    parts: list[Sentence] = split_sentences(text)
    spans = [(part.start, part.end) for part in parts]
    mended: set[int] = set()
    if not spans:
        return spans, mended
    at = 0
    for number in find_numerals(text):
        start, end = number.span.start, number.span.end
        while at + 1 < len(spans) and spans[at + 1][0] <= start:
            at += 1
        low, high = spans[at]
        if start < low or end > high:
            spans[at] = (min(low, start), max(high, end))
            mended.add(at)
    # A widened sentence may have grown into the next: these two were one.
    whole: list[tuple[int, int]] = []
    grown: set[int] = set()
    for n, (start, end) in enumerate(spans):
        if whole and start < whole[-1][1]:
            whole[-1] = (whole[-1][0], max(end, whole[-1][1]))
            grown.add(len(whole) - 1)
        else:
            whole.append((start, end))
            if n in mended:
                grown.add(len(whole) - 1)
    return whole, grown


def _refuse_report(findings: str, impressions: str) -> Drop | None:
    """Why a report cannot be worked on; None where it can."""
    text = f"{findings}\n{impressions}"
    if not any(sign.isalnum() for sign in findings):
        return Drop(reason="empty-report", why="the report has no findings")
    if len(text) > MAX_REPORT:
        why = f"the report has {len(text):,} characters, and at most {MAX_REPORT:,} are a report"
        return Drop(reason="too-long", why=why)
    strange = sum(not (sign.isprintable() or sign in "\n\r\t\x0b\x0c\u2028\u2029") for sign in text)
    if strange:
        why = f"{strange} characters of the report are no text (NUL bytes, control characters)"
        return Drop(reason="unreadable-text", why=why)
    if not is_english(text):
        why = "the report is not in English, which the rules and prompts are for"
        return Drop(reason="not-english", why=why)
    return None


def is_english(text: str) -> bool:
    """Whether a text is English, as far as its commonest words tell.

    >>> is_english("No nodule is seen in the right lung and the heart is normal.")
    True
    >>> is_english("Her iki akciğerde nodül saptanmadı, kalp boyutları doğal sınırlardadır.")
    False
    """
    words = re.findall(r"[^\W\d_]+", text[:20_000].lower())
    if len(words) < _FEWEST_WORDS:
        return not re.search("[ğışİ]", text)
    return sum(word in _ENGLISH for word in words) >= _SHARE * len(words)
