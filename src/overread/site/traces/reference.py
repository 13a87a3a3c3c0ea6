"""The reference reading in the same shape as a reader's, and which of its steps correspond."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from overread.core import (
    Box,
    Case,
    ChainLink,
    Mask,
    Reading,
    Record,
    Region,
    Step,
    Truth,
    Whole,
    reference_steps,
)
from overread.metrics.boxes.overlap import corners, iou
from overread.site.traces.steps import RegionChecker, TraceFinding, TraceStep

SAME_PLACE = 0.5
"""IoU from which two boxes are taken for the same place."""


class Counterpart(Record):
    """Which step of the reference corresponds to a step of the reading."""

    step: int
    """Index of the step of the reading."""
    reference: int | None
    """Index of the step of the reference; absent where there is none."""
    why: str
    """What they have in common: a name, a place, a sentence, a picture."""
    overlap: float | None
    """IoU of their boxes, where both have one in the same picture."""


class Reference(Record):
    """What is true of the case, step by step."""

    released: bool
    """Whether the release tells the truth of this case at all."""
    answer: str | None
    answer_text: str | None
    steps: list[TraceStep]
    """The reference trace; where there is none, each finding is a step."""
    is_trace: bool
    """Whether the steps are a released trace; else they are findings."""
    findings: list[TraceFinding]
    report: str | None
    discussion: str | None
    counterparts: list[Counterpart]
    """For each step of the reading that looks somewhere, which step of the reference does too."""


def build_reference(
    truth: Truth | None, case: Case, reading: Reading | None, eye: RegionChecker
) -> Reference:
    """The truth of a case beside a reading of it."""
    released = truth is not None
    truth = truth or Truth()
    steps = truth_steps(truth)
    own = reading.trace.steps if reading is not None and reading.trace else ()
    return Reference(
        released=released,
        answer=truth.answer,
        answer_text=truth.answer_text,
        steps=eye.steps(steps),
        is_trace=truth.trace is not None,
        findings=eye.findings(truth.findings),
        report=truth.report,
        discussion=truth.discussion,
        counterparts=match_steps(own, steps, case, truth),
    )


def truth_steps(truth: Truth) -> tuple[Step, ...]:
    """The reference trace; where there is none, one step a finding."""
    if truth.trace is not None:
        return reference_steps(truth)
    return tuple(Step(kind="say", text=f.text, regions=f.regions) for f in truth.findings)


class _Match(NamedTuple):
    """How much two steps have in common; more is better."""

    weight: float
    why: str
    overlap: float | None = None


def match_steps(
    own: Sequence[Step], reference: Sequence[Step], case: Case, truth: Truth
) -> list[Counterpart]:
    """For each step with regions, the reference step that matches best.

    Boxes match by label, or by an IoU of 0.5 or more; masks by the query they answer; whole
    pictures by the picture; links of a chain by their finding and level. Nothing else matches.
    """
    found: list[Counterpart] = []
    for number, step in enumerate(own):
        several = len(step.regions) > 1 and all(isinstance(r, Whole) for r in step.regions)
        if not step.regions or several:
            continue  # who speaks of all pictures at once looks nowhere
        best: tuple[_Match, int] | None = None
        for place, other in enumerate(reference):
            match = _best_match(step, other, case, truth)
            # The same kind of move first: a look with a look.
            if match is not None and step.kind == other.kind:
                match = match._replace(weight=match.weight + 0.01)
            if match is not None and (best is None or match.weight > best[0].weight):
                best = match, place
        if best is None:
            found.append(Counterpart(step=number, reference=None, why="no counterpart", overlap=None))
        else:
            match, place = best
            overlap = None if match.overlap is None else round(match.overlap, 3)
            found.append(Counterpart(step=number, reference=place, why=match.why, overlap=overlap))
    return found


def _best_match(step: Step, other: Step, case: Case, truth: Truth) -> _Match | None:
    if step.link is not None and other.link is not None:
        return _match_links(step.link, other.link)
    matches = [
        match
        for one in step.regions
        for two in other.regions
        if one.picture == two.picture
        for match in [_match_regions(one, two, case, truth)]
        if match is not None
    ]
    return max(matches, key=lambda match: match.weight, default=None)


def _match_links(one: ChainLink, two: ChainLink) -> _Match | None:
    lungs = ("lung", "pleura")  # an effusion is looked for in either
    near = one.level == two.level or (one.level in lungs and two.level in lungs)
    if one.query != two.query or not near:
        return None
    own, theirs = ({_normalize_label(name) for name in link.structures} for link in (one, two))
    return _Match(2, "the same name") if own & theirs else _Match(1, "the same level")


def _match_regions(one: Region, two: Region, case: Case, truth: Truth) -> _Match | None:
    if isinstance(one, Box) and isinstance(two, Box):
        overlap = float(iou(corners([one]), corners([two]))[0, 0])
        if one.label and two.label and _normalize_label(one.label) == _normalize_label(two.label):
            return _Match(2 + overlap, "the same name", overlap)
        if overlap >= SAME_PLACE:
            return _Match(1 + overlap, "the same place", overlap)
        return None
    if isinstance(one, Mask) and isinstance(two, Mask):
        mine, theirs = _query_of_mask(one, case), _query_of_truth_mask(two, case, truth)
        return _Match(2, "the same sentence") if mine is not None and mine == theirs else None
    if isinstance(one, Whole) and isinstance(two, Whole):
        return _Match(1, "the same picture")
    if isinstance(one, Box) and isinstance(two, Whole):
        return _Match(0.5, "the same picture")
    return None


def _normalize_label(label: str) -> str:
    return " ".join(label.casefold().split())


def _query_of_mask(mask: Mask, case: Case) -> str | None:
    """The query that a channel of a run's mask file answers: they are in the same order."""
    return case.queries[mask.channel].id if mask.channel < len(case.queries) else None


def _query_of_truth_mask(mask: Mask, case: Case, truth: Truth) -> str | None:
    for finding in truth.findings:
        if finding.query is not None and mask in finding.regions:
            return finding.query
    return _query_of_mask(mask, case)
