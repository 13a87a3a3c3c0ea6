"""The anatomical chain of thought against the reference's: names, boxes, and whether levels fit together.

Each finding whose reference has a chain is judged on the levels that this chain has. A chain that is
missing, and a level that was passed over, score 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from overread.core import Geometry
from overread.errors import PictureError
from overread.language.lung_structures import holds_structure
from overread.metrics.boxes.matching import best_pairs
from overread.metrics.contract import Measured, Metric, Subject, by_name, stored_as
from overread.metrics.shares import share_metric
from overread.metrics.traces.chain_places import (
    LEVELS,
    Place,
    Places,
    box_iou,
    chain_places,
    enclose,
    intersect,
    volume,
)
from overread.metrics.traces.looks import trace_pair

SAME_BOX = 0.5
"""IoU from which a box counts as that of the structure."""
INSIDE = 0.9
"""Share of a box that must lie in those of the level before."""


@stored_as("traces.chain.measure_chain")
def measure_chain(subject: Subject, *, same_box: float = SAME_BOX) -> Measured:
    """One row a finding whose reference has a chain that can be judged."""
    truth, own = trace_pair(subject)
    space = ct_geometry(subject)
    rows: dict[str, dict[str, Any]] = {}
    for query in subject.entry.case.queries:
        asked = judged_places(chain_places(truth, query.id, space))
        if asked:
            rows[query.id] = _row(asked, chain_places(own, query.id, space), same_box)
    return rows


def judged_places(places: Places) -> Places:
    """The levels of a reference that say something: a name, or a box."""
    told = {level: [p for p in own if p.name or p.box is not None] for level, own in places.items()}
    return {level: told[level] for level in LEVELS if told.get(level)}


def ct_geometry(subject: Subject) -> Geometry | None:
    """The geometry of the CT; None where it is not there."""
    if subject.truth_files is None or not subject.entry.case.pictures:
        return None
    try:
        return subject.geometry(subject.entry.case.pictures[0])
    except PictureError:
        return None


def _row(asked: Places, own: Places, same_box: float) -> dict[str, Any]:
    row: dict[str, Any] = {"findings": 1}
    rights, ious = [], []
    for level, places in asked.items():
        found = own.get(level, [])
        right, overlaps = judge_level(places, found, same_box)
        rights.append(right)
        row |= {f"{level}_asked": 1, f"{level}_right": right}
        row[f"{level}_named"] = [place.name for place in found if place.name]
        if overlaps:
            mean = sum(overlaps) / len(overlaps)
            row |= {f"{level}_boxed": 1, f"{level}_iou": mean}
            ious.append(mean)
    row["levels"] = sum(rights) / len(rights)
    if ious:
        row |= {"boxed": 1, "iou": sum(ious) / len(ious)}
    pairs = [pair for pair in pairwise(asked) if fits_within(asked[pair[0]], asked[pair[1]])]
    if pairs:
        kept = [fits_within(own.get(outer, []), own.get(inner, [])) is True for outer, inner in pairs]
        row |= {"joined": 1, "adjacent": sum(kept) / len(pairs)}
        row["apart"] = [f"{a} → {b}" for (a, b), ok in zip(pairs, kept, strict=True) if not ok]
    return row


def judge_level(
    asked: Sequence[Place], found: Sequence[Place], same_box: float = SAME_BOX
) -> tuple[float, list[float]]:
    """F1 of the places of a level, and the IoU of each asked place that has a box.

    Places are paired one to one, those of the same name first, then by IoU. A pair is right where the
    names are the same or the IoU reaches `same_box`.

    >>> right = Place("right lung", ((0, 0, 0), (4, 4, 4)))
    >>> judge_level([right], [Place("right lung", None), Place("left lung", None)])
    (0.6666666666666666, [0.0])
    """
    overlap = np.array([[box_iou(one.box, other.box) for other in found] for one in asked])
    named = np.array([[bool(one.name) and one.name == other.name for other in found] for one in asked])
    pairs = dict(best_pairs(2.0 * named + overlap)) if found else {}
    right = sum(bool(named[a, b]) or overlap[a, b] >= same_box for a, b in pairs.items())
    ious = [
        float(overlap[n, pairs[n]]) if n in pairs else 0.0
        for n, one in enumerate(asked)
        if one.box is not None
    ]
    return 2 * right / (len(asked) + len(found)), ious


def fits_within(outer: Sequence[Place], inner: Sequence[Place]) -> bool | None:
    """Whether all places of a level lie in those of the level before; None where that is not told.

    Names of the anatomy count where both are known, else boxes.

    >>> lung, lobe = Place("left lung", None), Place("right upper lobe", None)
    >>> fits_within([lung], [lobe]), fits_within([], [lobe])
    (False, None)
    """
    if not outer or not inner:
        return None
    boxes = [place.box for place in outer if place.box is not None]
    around = enclose(boxes) if boxes else None
    verdicts: list[bool | None] = []
    for place in inner:
        told = [holds_structure(one.name, place.name) for one in outer if one.name and place.name]
        if any(told):
            verdicts.append(True)
        elif told and all(verdict is False for verdict in told):
            verdicts.append(False)
        elif around is not None and place.box is not None and volume(place.box):
            share = volume(intersect(around, place.box)) / volume(place.box)
            verdicts.append(share >= INSIDE)
        else:
            verdicts.append(None)
    return None if None in verdicts else all(verdicts)


def chain_metrics(settings: Mapping[str, Any]) -> tuple[Metric, ...]:
    """All of them, with other settings."""
    same_box = float(settings["same_box"])
    common: dict[str, Any] = {
        "same_box": same_box,
        "pleural spaces": "on the level of the lungs",
        "lesion": "one box around all that is marked",
        "mean": "findings",
    }
    share = partial(
        share_metric,
        needs=("chain",),
        measure=partial(measure_chain, same_box=same_box),
        bottom="findings",
        reference="chains judged by hand in the tests",
        settings=common,
    )
    made = [
        share(
            "chain_levels",
            "mean over the levels of a finding of whether the reader's names or boxes are right",
            top="levels",
        )
    ]
    for level in LEVELS:
        what = (
            "whether the box of the lesion is right"
            if level == "lesion"
            else f"F1 of the {level}s that hold the finding, by name or box"
        )
        made.append(share(f"chain_{level}", what, top=f"{level}_right", bottom=f"{level}_asked"))
    made.append(
        share(
            "chain_box_iou",
            "IoU of the boxes of a chain with the reference's, level by level",
            top="iou",
            bottom="boxed",
        )
    )
    made += [
        share(
            f"chain_{level}_iou",
            f"IoU of the boxes on the level of the {level}; none scores 0",
            top=f"{level}_iou",
            bottom=f"{level}_boxed",
        )
        for level in LEVELS
    ]
    made.append(
        share(
            "chain_adjacency",
            "share of neighbouring levels of which the inner one lies in the outer one",
            top="adjacent",
            bottom="joined",
            settings={**common, "inside": INSIDE, "judged": "pairs of levels that fit in the reference"},
        )
    )
    return tuple(replace(metric, retune=chain_metrics) for metric in made)


METRICS = by_name(*chain_metrics({"same_box": SAME_BOX}))
