"""Whether masks lie in what the chain of thought said, level by level."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from overread.metrics.contract import Measured, Subject, by_name, stored_as
from overread.metrics.masks.measure import read_marked_findings
from overread.metrics.masks.voxel_runs import VoxelRuns
from overread.metrics.shares import share_metric
from overread.metrics.traces.chain import ct_geometry, judged_places
from overread.metrics.traces.chain_places import Place, VoxelEdges, chain_places
from overread.metrics.traces.looks import trace_pair

HELD = 0.99
"""Share of the true mask that a level of the reference must hold to be asked for."""


@stored_as("traces.chain_masks.measure_chain_masks")
def measure_chain_masks(subject: Subject) -> Measured:
    """One row a finding with a mask whose reference chain has boxes that hold it."""
    truth, own = trace_pair(subject)
    space = ct_geometry(subject)
    rows: dict[str, dict[str, Any]] = {}
    if truth is None:
        return rows
    for finding in read_marked_findings(subject):
        asked = judged_places(chain_places(truth, finding.unit, space))
        levels = [
            level for level, places in asked.items() if share_inside(finding.truth, _boxes(places)) >= HELD
        ]
        if not levels:
            continue
        chain = chain_places(own, finding.unit, space)
        boxes = {level: _boxes(chain.get(level, [])) for level in levels}
        marked = finding.predicted
        inside = {n: share_inside(marked, own) if marked is not None else 0.0 for n, own in boxes.items()}
        found = {level: share_inside(finding.truth, own) for level, own in boxes.items()}
        rows[finding.unit] = {
            "findings": 1,
            "mask_inside": sum(inside.values()) / len(levels),
            "finding_inside": sum(found.values()) / len(levels),
            "inside": inside,
        }
    return rows


def _boxes(places: Sequence[Place]) -> list[VoxelEdges]:
    return [place.box for place in places if place.box is not None]


def share_inside(runs: VoxelRuns, boxes: Sequence[VoxelEdges]) -> float:
    """Share of the voxels that lie in any of the boxes; 0 where there is no voxel or no box.

    >>> runs = VoxelRuns((8, 2, 1), np.array([0, 10]), np.array([4, 12]), np.array([1, 1]))
    >>> share_inside(runs, [((0, 0, 0), (2, 1, 1)), ((1, 0, 0), (3, 2, 1))])
    0.6666666666666666
    """
    if not len(runs) or not boxes:
        return 0.0
    width, height, _ = runs.shape
    start, row = runs.start % width, runs.row
    stop = start + (runs.stop - runs.start)
    j, k = row % height, row // height
    lows, highs = [], []
    for low, high in boxes:
        hit = (j >= low[1]) & (j < high[1]) & (k >= low[2]) & (k < high[2])
        first, last = np.maximum(start, low[0]), np.minimum(stop, high[0])
        hit &= first < last
        lows.append(np.where(hit, first, 0))
        highs.append(np.where(hit, last, 0))
    # The union of the boxes' parts of each run: swept from the left, what was counted is not again.
    begin, end = np.stack(lows).astype(np.int64), np.stack(highs).astype(np.int64)
    order = np.argsort(begin, axis=0, kind="stable")
    begin, end = np.take_along_axis(begin, order, 0), np.take_along_axis(end, order, 0)
    reached = np.zeros_like(end)
    reached[1:] = np.maximum.accumulate(end, axis=0)[:-1]
    covered = np.maximum(0, end - np.maximum(begin, reached)).sum()
    return float(covered) / runs.voxels


_share = partial(
    share_metric,
    needs=("chain", "masks"),
    measure=measure_chain_masks,
    bottom="findings",
    reference="voxels counted one by one in the tests",
    settings={
        "levels": f"of the reference, where {HELD:.0%} of the true mask lie in their boxes",
        "inside": "any of the boxes of a level",
        "mean": "levels of a finding, then findings",
    },
)

METRICS = by_name(
    _share(
        "chain_mask_inside",
        "share of the reader's mask that lies in the boxes of the reader's own chain",
        top="mask_inside",
    ),
    _share(
        "chain_finding_inside",
        "share of the true mask that lies in the boxes of the reader's chain",
        top="finding_inside",
    ),
)
