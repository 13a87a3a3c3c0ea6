"""How sure a reader is of its boxes, as `confidences` of a row: one number a box, in the order told.

The words of a response have no place for them, and scores that rank boxes want them. A box that is
told twice is one; a box of which the reader does not say how sure it is has null.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from overread.benchmarks.prediction_rows import CaseRow
from overread.core import Box, Finding, Step, Trace

Edges = tuple[str, float, float, float, float]
_REMEDY = "write a number from 0 to 1, or null, for each box in the order of the response"


def read_confidences(
    row: CaseRow, trace: Trace, findings: tuple[Finding, ...]
) -> tuple[Trace, tuple[Finding, ...]]:
    """The trace and the findings with the confidences of the row on their boxes."""
    told = row.data.get("confidences")
    if told is None:
        return trace, findings
    boxes = list(dict.fromkeys(_edges(box) for box in _boxes(trace.steps)))
    if not isinstance(told, list) or len(told) != len(boxes):
        count = len(told) if isinstance(told, list) else "no list"
        row.error(
            f"`confidences` is {count}, and the response has {len(boxes)} box(es); it was left out", _REMEDY
        )
        return trace, findings
    if any(not _is_confidence(value) for value in told):
        row.error("`confidences` has what is no number from 0 to 1; it was left out", _REMEDY)
        return trace, findings
    sure = dict(zip(boxes, told, strict=True))
    steps = tuple(step.model_copy(update={"regions": _with(step.regions, sure)}) for step in trace.steps)
    return Trace(steps=steps), tuple(
        finding.model_copy(update={"regions": _with(finding.regions, sure)}) for finding in findings
    )


def list_confidences(trace: Trace) -> list[float | None] | None:
    """What a row says of the boxes of a trace; None where the reader said nothing.

    >>> box = Box(picture="xray", x1=0, y1=0, x2=4, y2=4, confidence=0.8)
    >>> look = Step(kind="look", regions=(box, box.model_copy(update={"x2": 8, "confidence": None})))
    >>> list_confidences(Trace(steps=(look, look)))
    [0.8, None]
    """
    sure: dict[Edges, float | None] = {}
    for box in _boxes(trace.steps):
        sure[_edges(box)] = box.confidence if sure.get(_edges(box)) is None else sure[_edges(box)]
    return list(sure.values()) if any(value is not None for value in sure.values()) else None


def without_confidences(step: Step) -> Step:
    """A step as the words of a response can tell it."""
    return step.model_copy(update={"regions": _with(step.regions, {})})


def _boxes(steps: Iterable[Step]) -> Iterable[Box]:
    return (region for step in steps for region in step.regions if isinstance(region, Box))


def _edges(box: Box) -> Edges:
    return box.picture, box.x1, box.y1, box.x2, box.y2


def _with(regions: tuple[Any, ...], sure: dict[Edges, float | None]) -> tuple[Any, ...]:
    return tuple(
        region.model_copy(update={"confidence": sure.get(_edges(region))})
        if isinstance(region, Box)
        else region
        for region in regions
    )


def _is_confidence(value: object) -> bool:
    if value is None:
        return True
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
