"""A text cut into sections and sentences, each with its place in the original.

Nothing is rewritten: a sentence is a span, and whatever is concluded later points into the text
that was given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from overread.core import Record


class Span(Record):
    """A stretch of the text, in characters."""

    start: int
    """First character."""
    end: int
    """First character after it."""

    def extract(self, text: str) -> str:
        """The characters themselves."""
        return text[self.start : self.end]


class Sentence(Span):
    """One sentence."""

    section: str = ""
    """Heading that it stands under, in lower case ('findings'); empty where there is none."""


_HEADINGS = (
    "findings", "finding", "impression", "impressions", "conclusion", "conclusions", "result",
    "results", "technique", "procedure", "comparison", "comparisons", "history", "indication",
    "indications", "clinical history", "clinical information", "clinical indication", "opinion",
    "recommendation", "recommendations", "exam", "examination", "report", "summary", "discussion",
)  # fmt: skip
_ONE_SENTENCE = ("comparison", "comparisons")
"""Headings of a single sentence: "Comparison: yesterday. Small effusion." """
_ORGANS = (
    "lungs", "heart", "mediastinum", "pleura", "bones", "abdomen", "upper abdomen", "chest wall",
    "airways", "lungs and airways", "lungs and pleura", "heart and vessels", "soft tissues",
)  # fmt: skip
"""Headings only in capitals: in "Heart: enlarged." it is the heart that is enlarged."""
_HEADING = re.compile(
    r"(?:^|(?<=[.\n;•]))[ \t\"*#-]*("
    + "|".join(sorted(map(re.escape, (*_HEADINGS, *_ORGANS)), key=len, reverse=True))
    + r")[ \t]*(?:[:：](?=\s|$|[A-Z])|(?=\n))",
    re.IGNORECASE | re.MULTILINE,
)
# What may end a sentence. Each candidate is then looked at by `_is_sentence_end`.
_STOP = re.compile(r"[.!?]+[\"')\]]*|[;•‣▪·]|\n+|(?<=\s)\"(?=\s)")
_ABBREVIATIONS = frozenset(
    (
        "approx ca cf dr e.g eg et al fig figs i.e ie incl max min mr mrs ms no nr prof resp "
        "sec ser st vs vol diam dim im seg lat med ant post sup inf"
    ).split()
)
_REASONS = frozenset(
    ("history", "indication", "indications", "clinical history", "clinical information",
     "clinical indication")
)  # fmt: skip
"""Headings of why it was examined."""
_UNIT = re.compile(r"\s{0,3}(?:\d{1,2}\s?)?(?:mm|cm|ml|cc|hu|x\s?\d)\b", re.IGNORECASE)
_BULLET = re.compile(r"\s*(?:[-*•–—]|\(?\d{1,2}[.)])\s+\S")
_BULLET_MARK = re.compile(r"(?:[-–—]|\(?\d{1,2}[.)])\s+(?=[A-Za-z0-9?])")
_LONGEST = 2000
"""Characters of a sentence; what is longer is none, and is cut."""
_AROUND = '"•*‣▪·\x00'
_JOINING = frozenset(
    (
        "a an and are as at by for from in into is its of on or than that the to was were "
        "which with approximately about measuring measures"
    ).split()
)


def one_line(text: str) -> str:
    """A text on one line, so that it cannot pass itself off as several items of a list.

    >>> one_line("No mass.\\n2. Approved.")
    'No mass. 2. Approved.'
    """
    return " ".join(text.split())


def bare_words(text: str) -> str:
    """The Latin letters of a text as words, by which names are compared.

    >>> bare_words("Take-Home Points:") == bare_words("take home points")
    True
    """
    return " ".join(re.findall(r"[a-z]+", text.casefold()))


def split_sections(text: str) -> list[tuple[str, Span]]:
    """Headings in lower case and the stretches that stand under them, in order."""
    marks = [
        (m.group(1).lower(), m.start(), m.end())
        for m in _HEADING.finditer(text)
        # Without a colon it is a heading only on a line of its own, in capitals.
        if _is_heading(text, m)
    ]
    found: list[tuple[str, Span]] = []
    first = marks[0][1] if marks else len(text)
    if text[:first].strip():
        found.append(("", Span(start=0, end=first)))
    for n, (name, _, end) in enumerate(marks):
        stop = marks[n + 1][1] if n + 1 < len(marks) else len(text)
        found.append((name, Span(start=end, end=stop)))
    return found


def _is_heading(text: str, match: re.Match[str]) -> bool:
    """Whether what could be a heading is one."""
    capitals = match.group(1).isupper()
    if match.group(1).lower() in _ORGANS and not capitals:
        return False
    return match.group().rstrip()[-1] in ":：" or (capitals and _starts_line(text, match.start()))


def _starts_line(text: str, start: int) -> bool:
    """Whether nothing stands before it on its line."""
    return not text[text.rfind("\n", 0, start) + 1 : start].strip()


def split_sentences(text: str) -> list[Sentence]:
    """The sentences of a text, in order.

    >>> text = "A 5 mm nodule. No effusion."
    >>> [sentence.extract(text) for sentence in split_sentences(text)]
    ['A 5 mm nodule.', 'No effusion.']
    """
    found: list[Sentence] = []
    parts = split_sections(text)
    for n, (name, part) in enumerate(parts):
        section = name
        # "Indication: cough. Mass in the …": where no heading follows, the findings do.
        alone = name in _REASONS and n + 1 == len(parts)
        for start, end in _sentence_bounds(text, part.start, part.end):
            found.append(Sentence(start=start, end=end, section=section))
            if name in _ONE_SENTENCE or alone:
                section = ""
    return found


def _sentence_bounds(text: str, begin: int, stop: int) -> Iterator[tuple[int, int]]:
    """Starts and ends of the sentences of one section, without the blanks around them."""
    start = begin
    for mark in _STOP.finditer(text, begin, stop):
        if mark.start() < start or not _is_sentence_end(text, start, mark, stop):
            continue
        # A bullet or a quotation mark that opens the next sentence is part of neither.
        end = mark.start() + len(re.match(r"[.!?;]*", mark.group())[0])  # type: ignore[index]
        yield from _split_long(text, start, end)
        start = mark.end()
    yield from _split_long(text, start, stop)


def _is_sentence_end(text: str, start: int, mark: re.Match[str], stop: int) -> bool:
    """Whether a mark ends the sentence that began at `start`."""
    sign = mark.group()
    after = text[mark.end() : mark.end() + 24]
    if sign[0] == "\n":
        return _is_line_end(text, start, mark, stop)
    if sign[0] == ";":
        # Translated reports open a new sentence after it; elsewhere it parts two clauses.
        return bool(re.match(r"\s+[A-Z]", after)) or not after.strip()
    if sign[0] == "?" and text[mark.start() - 1 : mark.start()] in ("", " ", "\n", "("):
        return False  # "? nodule" asks of what follows
    if sign[0] == "?" and ")" in sign and re.match(r"\s+[a-z]", after):
        return False  # "a lesion (cyst?) in the liver"
    if sign[0] in '•‣▪·"!?':
        return True
    before = text[max(start, mark.start() - 16) : mark.start()]
    if sign.startswith("."):
        if before[-1:].isdigit() and (after[:1].isdigit() or _UNIT.match(after)):
            return False
        word = re.search(r"[A-Za-z.]+$", before)
        said = word.group().lower().strip(".") if word is not None else ""
        if said == "no":
            # "No." before a number is one, and else how a sentence ends.
            return not re.match(r"\s*\d", after)
        if said in _ABBREVIATIONS:
            return bool(re.match(r"\s*(?:\n|$)", after))
        if "." in said and re.match(r"\s+[a-z]", after):
            return False  # "8 a.m. without contrast"
        if after[:1] and not after[0].isspace() and not after[0].isupper():
            return False
        if len(before) == 1 and before.isalpha():
            return False
    return True


def _is_line_end(text: str, start: int, mark: re.Match[str], stop: int) -> bool:
    """Whether a line break ends a sentence, or only its line."""
    if mark.end() - mark.start() > 1:
        return True
    if _BULLET.match(text, mark.end(), stop):
        return True
    line = text[max(start, mark.start() - 40) : mark.start()].rstrip()
    if not line:
        return False
    last = re.search(r"[A-Za-z]+$", line)
    if line[-1] in ",-–:(" or line[-1].isdigit() or (last and last.group().lower() in _JOINING):
        return False
    following = text[mark.end() : mark.end() + 12].lstrip()
    return following[:1].isupper() or not following


def _split_long(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A stretch, cut between words where it is longer than any sentence: reading stays linear."""
    while end - start > _LONGEST:
        at = text.rfind(" ", start + _LONGEST // 2, start + _LONGEST) + 1 or start + _LONGEST
        yield from _trim(text, start, at)
        start = at
    yield from _trim(text, start, end)


def _trim(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A stretch without blanks, bullets and quotation marks around it, if it says anything."""
    while start < end and (text[start].isspace() or text[start] in _AROUND):
        start += 1
    bullet = _BULLET_MARK.match(text, start, end)
    if bullet is not None:
        start = bullet.end()
    while start < end and (text[end - 1].isspace() or text[end - 1] == '"'):
        end -= 1
    if _has_letter(text, start, end):
        yield start, end


def _has_letter(text: str, start: int, end: int) -> bool:
    """Whether there is a letter in it; a line of dots says nothing."""
    return any(text[n].isalpha() for n in range(start, end))
