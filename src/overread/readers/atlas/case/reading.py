"""Reads a case of several pictures with options: describes each picture, weighs the options.

What kind of picture each is, and what it shows, is measured from its pixels; names, ids and the
order of the options play no part. Every sign that was seen is a finding with its box and a step
with the measurement; every option gets a step that says what speaks for and against it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from overread.core import Case, Finding, Pictures, Reading, Step, Trace
from overread.core.pictures import Image, Picture
from overread.core.regions import Box, Region, Whole
from overread.errors import OverreadError
from overread.readers.atlas.case.film_signs import measure_film_signs
from overread.readers.atlas.case.option_weights import Reason, surest_signs, weigh_options
from overread.readers.atlas.case.picture_kinds import PictureKind, recognise_kind
from overread.readers.atlas.case.wording import (
    format_discussion,
    format_reasons,
    format_sign,
    format_summary,
    join_words,
    sign_name,
)
from overread.readers.atlas.identity import NAME
from overread.readers.atlas.slice.lung_window import lung_signs
from overread.readers.atlas.slice.mediastinal_window import mediastinal_signs
from overread.readers.atlas.slice.signs import PictureSign

MIN_REASON_WEIGHT = 0.15
"""What a sign must weigh for or against an option to be named as a reason."""
MOST_SIGNS = 6
"""Findings that are written down of one picture, the surest first."""


@dataclass(frozen=True)
class MeasuredPicture:
    """One picture and what was measured in it."""

    picture: Picture
    kind: PictureKind
    signs: tuple[PictureSign, ...]
    """All signs that were looked for, those that are not there too."""

    def region(self, sign: PictureSign) -> Region:
        """Where a sign lies in the picture's own pixels."""
        if sign.box is None or self.kind.grey is None:
            return Whole(picture=self.picture.name)
        x1, y1, x2, y2 = self.kind.grey.to_picture(sign.box)
        if x2 - x1 < 1 or y2 - y1 < 1:
            return Whole(picture=self.picture.name)
        return Box(picture=self.picture.name, x1=x1, y1=y1, x2=x2, y2=y2)


def measure_picture(picture: Picture, pictures: Pictures) -> MeasuredPicture:
    """Recognise one picture and measure what its kind allows."""
    if not isinstance(picture, Image):
        return MeasuredPicture(picture, PictureKind("other", "a volume", "it is no flat picture"), ())
    try:
        pixels = pictures.pixels(picture)
    except OverreadError:
        unread = PictureKind("other", "a picture that could not be opened", "its file is not readable")
        return MeasuredPicture(picture, unread, ())
    kind = recognise_kind(pixels)
    return MeasuredPicture(picture, kind, tuple(_measure_signs(kind, pixels)))


def _measure_signs(kind: PictureKind, pixels: NDArray[Any]) -> Sequence[PictureSign]:
    if kind.name == "ct" and kind.cut is not None and kind.plane is not None:
        if kind.window == "lung":
            return lung_signs(kind.cut, kind.plane)
        if kind.window == "mediastinum":
            return mediastinal_signs(kind.cut, kind.plane)
    if kind.name == "frontal" and kind.grey is not None:
        return measure_film_signs(pixels, kind.grey)
    return ()


def read_case(case: Case, pictures: Pictures) -> Reading:
    """The reading of one case: choice, probabilities, findings, summary, reasons, steps."""
    seen = [measure_picture(picture, pictures) for picture in case.pictures]
    steps: list[Step] = []
    findings: list[Finding] = []
    for one in seen:
        _describe_picture(one, steps, findings)
    signs = [sign for one in seen for sign in one.signs]
    best = surest_signs(signs)
    there = sorted((s for s in best.values() if s.present), key=lambda s: (-s.confidence, s.name))
    summary = format_summary([one.kind.words for one in seen], there)
    weighed = weigh_options(case.options, signs)
    ranked = sorted(weighed, key=lambda entry: (-entry.probability, entry.option.text))
    top = ranked[0]
    where = {
        name: one.region(sign) for name in best for one in seen for sign in one.signs if sign is best[name]
    }
    for entry in ranked:
        cited = [r.sign for r in entry.reasons if r.present and abs(r.weight) > MIN_REASON_WEIGHT]
        steps.append(
            Step(
                kind="conclude",
                text=format_reasons(entry),
                regions=tuple(dict.fromkeys(where[name] for name in cited if name in where)),
            )
        )
    seen_names = join_words([sign_name(sign.name) for sign in there[:4]]) if there else "nothing abnormal"
    verdict = f"Measured: {seen_names}. Chosen: {top.option.text}."
    steps.append(Step(kind="conclude", text=verdict, regions=_supporting_regions(top.reasons, seen)))
    return Reading(
        case_id=case.id,
        reader=NAME,
        choice=top.option.letter,
        probabilities={entry.option.letter: entry.probability for entry in weighed},
        rationale=" ".join([verdict, *(format_reasons(entry) for entry in ranked)]),
        findings=tuple(findings),
        report=summary,
        discussion=format_discussion(top, ranked[1:]),
        trace=Trace(steps=tuple(steps)),
    )


def _supporting_regions(reasons: Sequence[Reason], seen: Sequence[MeasuredPicture]) -> tuple[Region, ...]:
    """Wherever a sign was seen that speaks for the choice: any of these places would carry it."""
    names = {reason.sign for reason in reasons if reason.present and reason.weight > MIN_REASON_WEIGHT}
    places = (
        one.region(sign)
        for one in seen
        for sign in one.signs
        if sign.present and sign.name in names and sign.box is not None
    )
    return tuple(dict.fromkeys(places))


def _describe_picture(one: MeasuredPicture, steps: list[Step], findings: list[Finding]) -> None:
    """The steps and findings of one picture."""
    whole = Whole(picture=one.picture.name)
    kind = one.kind
    if kind.name == "other":
        steps.append(Step(kind="say", text=f"Not understood: {kind.why}.", regions=(whole,)))
        return
    words = kind.words[:1].upper() + kind.words[1:]
    steps.append(Step(kind="look", text=f"{words}: {kind.why}.", regions=(whole,)))
    there = sorted((s for s in one.signs if s.present), key=lambda s: (-s.confidence, s.name))
    for sign in there[:MOST_SIGNS]:
        region = one.region(sign)
        text = format_sign(sign)
        findings.append(Finding(text=text, regions=(region,)))
        steps.append(Step(kind="conclude", text=text, regions=(region,)))
    if one.signs and not there:
        text = f"{words}: nothing abnormal was measured."
        findings.append(Finding(text=text, regions=(whole,)))
        steps.append(Step(kind="conclude", text=text, regions=(whole,)))
