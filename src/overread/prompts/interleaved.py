"""The grammar of interleaved responses: words, looks with their boxes, at last the report.

Responses are parsed into traces, and traces joined into responses; the round trip is exact: the
joined step texts plus the report are the response, letter by letter. Who writes a trace takes its
words from here, so that it can be read back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from overread.core import Box, Finding, Step, Trace
from overread.ontology import xray_regions

IMAGE = "<image>"
"""Stands where a cut-out is shown."""
ANALYZE = "{ordinal}, I need to analyze the {region}. "
HIGHLIGHT = "I will highlight the {region} of this X-ray. "
BOX_SENTENCE = " The bounding box of this area is [{box}] . "
REPORT_CUE = "Summarizing the previous analysis, I will generate the following report: "

_ORDINALS = (
    *("First", "Second", "Third", "Fourth", "Fifth", "Sixth"),
    *("Seventh", "Eighth", "Ninth", "Tenth", "Next"),
)
_NUMBER = r"\s*(-?\d{1,7}(?:\.\d{1,6})?)\s*"
_BOX = re.compile(rf"\[{_NUMBER},{_NUMBER},{_NUMBER},{_NUMBER}\]")
# Brackets with numbers that should perhaps be a box: separators, signs, exponents, NaN.
_BRACKET = re.compile(r"\[[\d\s.,;:+\-eEnNaAiIfF]{2,80}\]")
_MENTION = re.compile(rf"\(([^()\[\]]{{0,120}})\[{_NUMBER},{_NUMBER},{_NUMBER},{_NUMBER}\]\s*\)")
# What announces a look: "I will highlight the lung region of this X-ray."
_ANNOUNCEMENTS = (
    re.compile(r"\bhighlight(?:ing)? (?:the )?(.{2,80}?) (?:of|in|on) (?:this|the) ", re.I),
    re.compile(r"\banaly[sz]e (?:the )?(.{2,80}?)[.,\n]", re.I),
)
# Where the announcement of the next look begins, after what was said of the last one.
_NEXT_LOOK = re.compile(
    r"(?:\b\w{1,12},? )?\bI (?:now )?(?:need to|will|shall) (?:next )?(?:analy|highlight)", re.I
)
# What announces the report: a clause that sums up, or speaks of the report, and ends in a colon.
_SUMS_UP = r"\b(?:summari[sz]\w*|in summary|to sum up|in conclusion|report)\b[^.:\n]{0,200}"
_REPORT_CUE = re.compile(rf"(?:^|(?<=[.\n]))[^.:\n]{{0,200}}?{_SUMS_UP}:\s*", re.I)
_CUE_IN_WORDS = re.compile(rf"({_SUMS_UP}):", re.I)


@dataclass(frozen=True)
class ParsedResponse:
    """A response taken apart, and what was odd about it as (code, expected, found)."""

    trace: Trace
    findings: tuple[Finding, ...]
    report: str | None
    answer: str | None
    oddities: tuple[tuple[str, str, str], ...]


def ordinal(number: int) -> str:
    """The word that begins a round; rounds are counted from 0.

    >>> ordinal(0), ordinal(9), ordinal(40)
    ('First', 'Tenth', 'Next')
    """
    return _ORDINALS[min(number, len(_ORDINALS) - 1)]


def box_sentence(box: Box) -> str:
    """The sentence that follows a look, in whole pixels."""
    edges = ", ".join(f"{edge:.0f}" for edge in (box.x1, box.y1, box.x2, box.y2))
    return BOX_SENTENCE.format(box=edges)


def escape_marks(words: str) -> str:
    """Words on one line that cannot be taken for a look or for a box."""
    return " ".join(words.replace(IMAGE, " ").replace("[", "(").replace("]", ")").split())


def neutralise_marks(words: str) -> str:
    """Words that cannot be taken for a look, for a box, or for the beginning of the report.

    >>> neutralise_marks("In summary: a <image> mass [1, 2, 3, 4].")
    'In summary, a mass (1, 2, 3, 4).'
    """
    return _CUE_IN_WORDS.sub(r"\1,", escape_marks(words))


def drop_marks(words: str) -> str:
    """Words without boxes and without the marks of looks."""
    return _BOX.sub(" ", words).replace(IMAGE, " ")


def join_response(trace: Trace, report: str | None) -> str:
    """The response that a trace and its report came from."""
    return "".join(step.text for step in trace.steps) + (report or "")


def parse_interleaved(response: str, crops: Sequence[str], *, picture: str) -> ParsedResponse:
    """A response with `<image>` where each crop was looked at, and a report at its end."""
    steps: list[Step] = []
    findings: list[Finding] = []
    odd: list[tuple[str, str, str]] = []
    *looked, last = response.split(IMAGE)
    said, cue, report = _split_report(last)
    parts = [*looked, said]
    for number, words in enumerate(parts):
        odd += [("bad-box", "four numbers [x1, y1, x2, y2]", bad) for bad in _find_bad_boxes(words)]
        if not number:
            steps += _say_steps(words, *_find_boxes(words, picture, None))
            continue
        following = _NEXT_LOOK.search(words) if number < len(parts) - 1 else None
        about = words[: following.start()] if following else words
        places = _find_boxes(about, picture, _find_announced_region(parts[number - 1]))
        if not places and not _find_bad_boxes(about):
            odd.append(("no-box", f"a box [x1, y1, x2, y2] after look {number}", "none"))
        steps.append(Step(kind="look", text=IMAGE, regions=places[:1], crop=crops[number - 1]))
        steps += _say_steps(about, *places)
        steps += _say_steps(words[len(about) :], *_find_boxes(words[len(about) :], picture, None))
        finding = text_after_box(about)
        if finding:
            findings.append(Finding(text=finding, regions=places))
    if cue:
        steps.append(Step(kind="conclude", text=cue))
    if report is None:
        odd.append(("no-report", "a summing-up clause with a colon, then the report", "none"))
    return ParsedResponse(Trace(steps=tuple(steps)), tuple(findings), report, None, tuple(odd))


def parse_thinking(response: str, *, picture: str) -> ParsedResponse:
    """A response with boxes in its thinking, `(region [x1, y1, x2, y2])`, and tags at its end."""
    steps: list[Step] = []
    odd = [("bad-box", "four numbers [x1, y1, x2, y2]", bad) for bad in _find_bad_boxes(response)]
    answer = _find_tag(response, "answer")
    if answer is None:
        odd.append(("no-answer", "an <answer>", "none"))
    body, tail = _split_thinking(response)
    at = 0
    for mention in _MENTION.finditer(body):
        between = body[at : mention.start()]
        steps += _say_steps(between, *_find_boxes(between, picture, None))
        label = mention[1].strip(" :;,") or _region_before(body[: mention.start()])
        box = _make_box(mention.groups()[1:], picture, label or None)
        steps.append(Step(kind="look", text=mention[0], regions=(box,)))
        at = mention.end()
    steps += _say_steps(body[at:], *_find_boxes(body[at:], picture, None))
    if tail:
        place = (_find_tag(tail, "ref") or "").strip() or None
        boxes = tuple(_make_box(match.groups(), picture, place) for match in _BOX.finditer(tail))
        steps.append(Step(kind="conclude", text=tail, regions=boxes))
    return ParsedResponse(Trace(steps=tuple(steps)), (), None, answer, tuple(odd))


def _find_announced_region(words: str) -> str | None:
    for pattern in _ANNOUNCEMENTS:
        found = pattern.findall(words)
        if found:
            return str(found[-1]).strip()
    return None


def _find_boxes(words: str, picture: str, label: str | None) -> tuple[Box, ...]:
    """Every box in the words; the first one bears the label."""
    found = [_make_box(match.groups(), picture, None) for match in _BOX.finditer(words)]
    return (found[0].model_copy(update={"label": label}), *found[1:]) if found else ()


def _make_box(numbers: Sequence[str], picture: str, label: str | None) -> Box:
    x1, y1, x2, y2 = (float(number) for number in numbers)
    return Box(picture=picture, x1=x1, y1=y1, x2=x2, y2=y2, label=label)


def _find_bad_boxes(words: str) -> list[str]:
    """Brackets with several numbers in them that are not four plain numbers."""
    return [
        match[0]
        for match in _BRACKET.finditer(words)
        if re.search(r"\d.*[,;]|[,;].*\d", match[0]) and not _BOX.fullmatch(match[0])
    ]


def _say_steps(words: str, *places: Box) -> list[Step]:
    return [Step(kind="say", text=words, regions=places)] if words else []


def text_after_box(words: str) -> str:
    """What is said of a region, without the sentence that gives its box."""
    match = _BOX.search(words)
    return words[match.end() if match else 0 :].lstrip(" .\n").rstrip()


def _split_report(words: str) -> tuple[str, str, str | None]:
    """The last part of a response: findings, the cue, the report."""
    for cue in _REPORT_CUE.finditer(words):
        if words[cue.end() :].strip():
            return words[: cue.start()], cue[0], words[cue.end() :]
    return words, "", None


def _split_thinking(response: str) -> tuple[str, str]:
    """The thinking, and from the first tag of the answer on the rest."""
    starts = [response.find(tag) for tag in ("<response>", "<answer>", "<location>")]
    first = min((start for start in starts if start >= 0), default=len(response))
    return response[:first], response[first:]


def _find_tag(text: str, tag: str) -> str | None:
    before, _, inside = text.partition(f"<{tag}>")
    inside, closing, _ = inside.partition(f"</{tag}>")
    return inside.strip() if closing and before != text else None


def _region_before(words: str) -> str | None:
    """The longest known region name that ends the words: 'hilar structures ([…])'."""
    tail = re.findall(r"[\w/-]+", words[-120:])[-5:]
    for first in range(len(tail)):
        if xray_regions().find(" ".join(tail[first:])):
            return " ".join(tail[first:])
    return None
