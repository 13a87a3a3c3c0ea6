"""Was the patient examined more than once? Only with words that say so, which are quoted.

Several pictures, or several modalities, are no second time point. How long a complaint has lasted
is none either: a marker must speak of an examination, or stand in what is said of the pictures.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import BaseModel

from overread.build.item import Change, Item, Keep, StepResult
from overread.build.medthinkvqa.fields import pictures_of, text_of
from overread.build.medthinkvqa.missing_answer import missing_answer
from overread.build.step import StepContext, answer_or_note
from overread.core import Record
from overread.language.text import split_sentences
from overread.prompts.replies import json_parser

_NUMBER = (
    r"(?:\d{1,3}(?:[.,]\d)?|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|fifteen|eighteen|twenty|several|a few|half a)"
)
_LENGTH = rf"(?P<length>{_NUMBER}(?:[ -](?:to|or|and a half) ?{_NUMBER})?[ -](?:day|week|month|year)s?)"
_EXAM = (
    r"(?:CT|MRI|MR|PET(?:[-/ ]CT)?|X-?rays?|scans?|imaging|images?|films?|radiographs?|ultrasound"
    r"|sonography|examinations?|study|studies|tomography|mammograms?|mammography|scintigraphy"
    r"|examined)"
)
_LATER = re.compile(rf"\b{_LENGTH} (?:later|afterwards|thereafter|apart)\b", re.I)
_AFTER = re.compile(rf"\b(?:after|at|interval of|within|for) (?:an interval of |another )?{_LENGTH}\b", re.I)
_FOLLOW = (
    re.compile(rf"\bfollow[- ]?up\b(?:(?: (?:at|after|of|in))? {_LENGTH})?", re.I),
    re.compile(rf"\b{_LENGTH} follow[- ]?up\b", re.I),
)
_REPEATED = re.compile(
    rf"\b(?:repeat(?:ed)?|control|second|previous|prior|earlier|subsequent|follow[- ]?up) "
    rf"(?:\w+ ){{0,2}}{_EXAM}\b|\b{_EXAM} (?:was|were) (?:repeated|done again|done twice"
    rf"|carried out twice)\b|\bexamined again\b|\btwo (?:dates|days|time points|visits)\b"
    rf"|\b(?:compared|comparison) (?:with|to) (?:the )?(?:previous|prior|earlier)\b"
    rf"|\bno longer (?:seen|visible)\b|\bsince the (?:last|previous|prior|first) {_EXAM}\b",
    re.I,
)
_PLANNED = re.compile(
    r"\b(?:recommend\w*|advis\w+|suggest\w*|should|will be|planned|scheduled|lost to|is needed"
    r"|requires?|without any follow)\b",
    re.I,
)
_FIRST = re.compile(
    r"\b(?:at presentation|at (?:the )?(?:first|initial|baseline) (?:examination|visit|scan|study)"
    r"|baseline|initial (?:CT|MRI|scan|film|radiograph|examination)|on admission|pre-?operative)\b",
    re.I,
)
_DIGITS = {
    "a": "1", "an": "1", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5",
    "six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10", "eleven": "11",
    "twelve": "12",
}  # fmt: skip


class Marker(Record):
    """Words that tell of another time point."""

    where: str
    """Which text: 'history', 'imaging_findings' or 'caption N'."""
    start: int
    """Its first character there."""
    end: int
    """The first character after it."""
    quote: str
    """The words."""
    length: str | None = None
    """The time that they state, as it is written."""


class Times(Record):
    """Whether, how often and how far apart a patient was examined."""

    longitudinal: bool
    """Whether there are two time points or more."""
    timepoints: int
    """How many there are."""
    interval: str | None = None
    """From the first to the last in words; 'unknown' where no text states it, absent with one."""
    markers: tuple[Marker, ...] = ()
    """What says so."""


def find_markers(where: str, text: str) -> list[Marker]:
    """The markers of one text, in its order.

    >>> text = "Fever for 8 days. CT was repeated after 2 weeks."
    >>> [marker.quote for marker in find_markers("history", text)]
    ['CT was repeated', 'after 2 weeks']
    """
    found: list[Marker] = []
    shows = where != "history"
    for sentence in split_sentences(text):
        said = sentence.extract(text)
        if _PLANNED.search(said):
            continue
        again = list(_REPEATED.finditer(said))
        exam = bool(re.search(rf"\b{_EXAM}\b", said, re.I))
        hits = again + [m for m in _LATER.finditer(said) if shows or exam or again]
        follow = [m for one in _FOLLOW for m in one.finditer(said) if shows or exam]
        hits += follow
        leads = shows and re.match(r"\W*after\b", said, re.I)
        once_more = exam and re.search(r"\b(?:followed|again|twice)\b", said, re.I)
        if follow or again or leads or once_more:
            hits += _AFTER.finditer(said)
        for hit in sorted(hits, key=lambda m: m.start()):
            start = sentence.start + hit.start()
            if found and start < found[-1].end:
                continue
            length = hit.groupdict().get("length")
            found.append(
                Marker(
                    where=where, start=start, end=sentence.start + hit.end(), quote=hit.group(), length=length
                )
            )
    return found


def combine_markers(markers: Sequence[Marker], interval: str | None = None) -> Times:
    """What the markers say together; `interval` is what the source itself states."""
    lengths: dict[str, str] = {}
    for marker in markers:
        if marker.length:
            lengths.setdefault(_normalise_length(marker.length), marker.length)
    if not markers and interval is None:
        return Times(longitudinal=False, timepoints=1)
    count = 1 + max(1, len(lengths))
    longest = max(lengths.values(), key=_length_in_days, default=None)
    if interval is not None:
        count = 2 if set(lengths) <= {_normalise_length(interval)} else max(2, 1 + len(lengths))
    return Times(
        longitudinal=True, timepoints=count, interval=interval or longest or "unknown", markers=tuple(markers)
    )


def _normalise_length(length: str) -> str:
    words = re.split(r"[ -]+", length.lower().strip())
    return " ".join(_DIGITS.get(word, word).removesuffix("s") for word in words)


def _length_in_days(length: str) -> float:
    """About how many days a length has, to find the longest."""
    plain = _normalise_length(length)
    number = re.search(r"\d+(?:[.,]\d)?", plain)
    unit = next((days for word, days in _UNITS.items() if word in plain), 1)
    return (float(number[0].replace(",", ".")) if number else 3.0) * unit


_UNITS = {"day": 1, "week": 7, "month": 30, "year": 365}


class SaidTimes(BaseModel):
    """What a model says."""

    longitudinal: bool
    timepoints: int
    interval: str | None = None
    quotes: list[str] = []


async def find_timepoints(item: Item, context: StepContext) -> StepResult:
    """Find out whether there are several time points, by rules or by a model that must quote."""
    texts = {"history": text_of(item, "history"), "imaging_findings": ""}
    texts["imaging_findings"] = text_of(item, "imaging_findings")
    pictures = pictures_of(item)
    for number, picture in enumerate(pictures, 1):
        texts[f"caption {number}"] = picture.caption or ""
    stated = text_of(item, "interval") or None
    times = combine_markers([m for name, text in texts.items() for m in find_markers(name, text)], stated)
    by = "rules"
    changes: list[Change] = []
    if context.has("reader"):
        asking = _ask_model(texts, context)
        said = await answer_or_note(asking, changes, missing_answer(context, "times"))
        if said is not None:
            times, by = said, context.name("reader")
    images = [picture.model_dump(mode="json", exclude_none=True) for picture in pictures]
    if times.longitudinal and times.timepoints == 2:
        for image, picture in zip(images, pictures, strict=True):
            when = _timepoint_of_caption(picture.caption or "")
            if picture.timepoint is None and when is not None:
                image["timepoint"] = when
    told = times.model_dump(mode="json")
    quoted = "; ".join(f"'{m.quote}' in {m.where}" for m in times.markers[:6]) or "the source"
    why = f"said by {quoted}" if times.longitudinal else "no text speaks of a second time point"
    changes.append(Change(what="times", after=told, by=by, why=why))
    return Keep.model_validate({"data": {"times": told, "images": images}, "changes": changes})


def _timepoint_of_caption(caption: str) -> int | None:
    """Which of two time points a caption speaks of: 1, 2, or None where it does not tell."""
    later, first = bool(find_markers("caption", caption)), bool(_FIRST.search(caption))
    if first:
        return 1
    return 2 if later else None


async def _ask_model(texts: dict[str, str], context: StepContext) -> Times:
    def wrong(said: SaidTimes) -> str | None:
        if said.longitudinal != (said.timepoints >= 2):
            return "longitudinal means two time points or more, and only that"
        if said.longitudinal and not said.quotes:
            return "no words are quoted that tell of a second time point"
        for quote in said.quotes:
            if not any(quote and quote in text for text in texts.values()):
                return f"'{quote[:80]}' does not stand in any of the texts"
        return None

    said = await context.ask(
        "build-med-times",
        {
            "history": texts["history"],
            "findings": texts["imaging_findings"] or "(none given)",
            "captions": "\n".join(
                f"- {text}" for name, text in texts.items() if name.startswith("caption") and text
            )
            or "(none given)",
        },
        json_parser(SaidTimes),
        check=wrong,
    )
    if not said.longitudinal:
        return Times(longitudinal=False, timepoints=1)
    markers = []
    for quote in said.quotes:
        where = next(name for name, text in texts.items() if quote in text)
        start = texts[where].index(quote)
        markers.append(Marker(where=where, start=start, end=start + len(quote), quote=quote))
    return Times(
        longitudinal=True,
        timepoints=said.timepoints,
        interval=said.interval or "unknown",
        markers=tuple(markers),
    )
