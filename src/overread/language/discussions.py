"""A teaching discussion cut into sections, by their headings, and these into sentences."""

from __future__ import annotations

import re

from overread.core.verdicts import SECTIONS, UNSECTIONED
from overread.language.text import bare_words, one_line, split_sentences

_OTHER_NAMES = {
    "introduction": "background",
    "clinical perspectives": "clinical perspective",
    "clinical presentation": "clinical perspective",
    "imaging perspectives": "imaging perspective",
    "imaging findings": "imaging perspective",
    "outcomes": "outcome",
    "therapy and outcome": "outcome",
    "treatment and outcome": "outcome",
    "take home point": "take-home points",
    "take home points": "take-home points",
    "take home message": "take-home points",
    "take home messages": "take-home points",
    "teaching points": "take-home points",
    "learning points": "take-home points",
}
_HEADING = re.compile(
    r"^[#>*_ \t-]*(?:\(?\d{1,2}[.)][ \t]*)?[*_]*"
    r"(?P<name>[A-Za-z][A-Za-z\u2010-\u2013 /&-]{2,40}?)"
    r"[ \t]*[*_]*(?P<end>[ \t]*[:：][*_]*|[ \t]*#*[ \t]*$)",
    re.MULTILINE,
)


def split_discussion(text: str) -> list[tuple[str, str]]:
    """(section, sentence) of a discussion, in order; headings are no sentences.

    >>> split_discussion("Background: It is rare.\\n\\nOutcome\\nShe did well.")
    [('background', 'It is rare.'), ('outcome', 'She did well.')]
    """
    found: list[tuple[str, str]] = []
    begin, section = 0, UNSECTIONED
    for mark in _HEADING.finditer(text):
        name = find_section(mark["name"])
        if name is None:
            continue
        found += _section_sentences(text[begin : mark.start()], section)
        begin, section = mark.end(), name
    found += _section_sentences(text[begin:], section)
    return found or [(UNSECTIONED, one_line(text))]


def find_section(heading: str) -> str | None:
    """The section that a heading names; None where it names none.

    >>> find_section("Take-Home Message"), find_section("Conclusion")
    ('take-home points', None)
    """
    words = bare_words(heading)
    own = {bare_words(section): section for section in SECTIONS}
    return own.get(words) or _OTHER_NAMES.get(words)


def _section_sentences(text: str, section: str) -> list[tuple[str, str]]:
    return [(section, one_line(sentence.extract(text))) for sentence in split_sentences(text)]
