"""The distances of the challenge page: lesions that meet because they are near, not by Dice.

Focal findings meet by their centroids, the others by their surfaces, within twice the largest
voxel spacing. One to one, nearest first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.metrics.masks.assd import SurfacePair, box_distance_bounds, mean_distance
from overread.metrics.masks.components import Floats, Instances
from overread.metrics.masks.instances import match_greedily
from overread.metrics.masks.outlines import Spacing, draw_outlines
from overread.metrics.masks.settings import MaskSettings
from overread.metrics.masks.voxel_runs import Ints

SLACK = 1e-9
"""Distances that differ by less are the same: sums of square roots are rounded."""


def match_by_distance(
    truth: Instances,
    predicted: Instances,
    shared: Ints,
    spacing: Spacing,
    settings: MaskSettings,
    *,
    focal: bool,
) -> tuple[tuple[int, int], ...]:
    """Which entity meets which predicted lesion, each by its place, nearest first."""
    limit = settings.distance_factor * max(spacing) + SLACK
    if not len(truth) or not len(predicted):
        return ()
    if focal:
        gaps = truth.centroids[:, None] - predicted.centroids[None, :]
        distances = np.sqrt(((gaps * spacing) ** 2).sum(axis=2))
    else:
        distances = _surface_distances(truth, predicted, shared, spacing, settings, limit)
    found = match_greedily(np.round(distances, 9), distances <= limit, values=distances)
    return tuple((one, other) for one, other, _ in found)


def _surface_distances(
    truth: Instances,
    predicted: Instances,
    shared: Ints,
    spacing: Spacing,
    settings: MaskSettings,
    limit: float,
) -> Floats:
    """The average symmetric surface distance of all pairs, as far as the matching needs it.

    Infinite where it exceeds the limit. Where neither lesion of a pair has another partner
    within reach, only that it is within the limit matters, and then the limit stands for it.
    """
    distances = np.full(shared.shape, np.inf)
    same = (shared == truth.sizes[:, None]) & (shared == predicted.sizes[None, :])
    distances[same] = 0.0
    meetings = _near_pairs(truth, predicted, same, spacing, settings, limit)
    near = {pair: meeting.is_near() for pair, meeting in meetings.items()}
    possible = [pair for pair, is_near in near.items() if is_near is not False]
    rows = np.bincount([i for i, _ in possible], minlength=len(truth)) + same.sum(axis=1)
    columns = np.bincount([j for _, j in possible], minlength=len(predicted)) + same.sum(axis=0)
    for i, j in possible:
        if near[i, j] and rows[i] == columns[j] == 1:
            distances[i, j] = limit
        else:
            found = meetings[i, j].distance()
            distances[i, j] = np.inf if found is None else found
    return distances


def _near_pairs(
    truth: Instances,
    predicted: Instances,
    same: NDArray[np.bool_],
    spacing: Spacing,
    settings: MaskSettings,
    limit: float,
) -> dict[tuple[int, int], SurfacePair]:
    """The pairs that may be within the limit; surfaces are made only of what may be near."""
    (low, high), (other_low, other_high) = truth.boxes, predicted.boxes
    gap = np.maximum(low[:, None] - other_high[None, :], other_low[None, :] - high[:, None])
    apart = np.sqrt(((np.maximum(gap, 0) * spacing) ** 2).sum(axis=2))
    pairs = np.argwhere((apart <= limit) & ~same)
    ours = draw_outlines(truth, np.unique(pairs[:, 0]))
    near: list[tuple[int, int]] = []
    for i, surface in ours.items():
        others = pairs[pairs[:, 0] == i, 1]
        sums = box_distance_bounds(surface, other_low[others], other_high[others], spacing)
        for j, least in zip(others.tolist(), sums.tolist(), strict=True):
            # A lesion has no more surface voxels than voxels: a bound before it is drawn.
            sizes = (surface.size, int(predicted.sizes[j]))
            if mean_distance(least, 0.0, *sizes, settings.assd) <= limit:
                near.append((i, j))
    theirs = draw_outlines(predicted, np.unique([j for _, j in near]).astype(np.int64))
    found = {}
    for i, j in near:
        meeting = SurfacePair(ours[i], theirs[j], spacing, variant=settings.assd, limit=limit)
        if meeting.may_be_near:
            found[i, j] = meeting
    return found
