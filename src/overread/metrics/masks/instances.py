"""The official rule: which predicted lesions count, and which of them meet which entity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.metrics.masks.components import Instances, components, overlap
from overread.metrics.masks.settings import MaskSettings
from overread.metrics.masks.voxel_runs import Ints, VoxelRuns

Matches = tuple[tuple[int, int, float], ...]
"""(entity, predicted lesion, their Dice or distance), each by its place; best first."""


@dataclass(frozen=True)
class MaskMatch:
    """One finding by the official rule."""

    truth: Instances
    """The entities as the annotator drew them."""
    predicted: Instances
    """The predicted lesions that count: large enough, and among the largest."""
    shared: Ints
    """Voxels that each entity shares with each predicted lesion."""
    dice: float
    """Global Dice in full mode: of what is left of the prediction."""
    raw_dice: float
    """Global Dice in global-only mode: of the prediction as it is."""
    raw_shared: int
    """Voxels in both masks as they are."""
    matches: Matches


def select_components(runs: VoxelRuns, settings: MaskSettings) -> tuple[Instances, Instances]:
    """All components of a prediction, and those that count: not too small, not too many."""
    everything = components(runs, settings.connectivity)
    large = np.flatnonzero(everything.sizes >= settings.min_voxels)
    # A stable sort leaves equal ones in scan order, so the first of them are kept.
    by_size = large[np.argsort(-everything.sizes[large], kind="stable")]
    return everything, everything.select(np.sort(by_size[: settings.max_instances]))


def match_finding(truth: Instances, predicted: VoxelRuns, settings: MaskSettings) -> MaskMatch:
    """Match the entities of one finding with the predicted lesions, by the official rule."""
    everything, kept = select_components(predicted, settings)
    # One table for both modes: what does not count is put into a column of its own.
    place = np.full(len(everything), len(kept), dtype=np.int64)
    place[kept.numbers - 1] = np.arange(len(kept))
    numbers = np.arange(len(kept) + 1)
    pooled = Instances(predicted, place[everything.of_run], numbers, numbers)
    table = overlap(truth, pooled)
    shared = table[:, :-1]
    entities = int(truth.sizes.sum())
    sizes = (entities, int(kept.sizes.sum()))
    raw = (entities, int(everything.sizes.sum()))
    dice = pair_dice(shared, truth.sizes, kept.sizes, settings)
    large = np.cumsum(everything.sizes >= settings.min_voxels)  # the scorer numbers these anew
    order = np.ix_(scorer_order(truth.numbers), scorer_order(large[kept.numbers - 1]))
    in_order = dice[order]
    pairs = match_greedily(-in_order, in_order >= settings.match_threshold, values=in_order)
    return MaskMatch(
        truth=truth,
        predicted=kept,
        shared=shared,
        dice=settings.dice(int(shared.sum()), *sizes),
        raw_dice=settings.dice(int(table.sum()), *raw),
        raw_shared=int(table.sum()),
        matches=tuple((int(order[0][i, 0]), int(order[1][0, j]), value) for i, j, value in pairs),
    )


def scorer_order(numbers: Ints) -> Ints:
    """The places of lesions in the order in which the official scorer goes through them.

    It decides between pairs of exactly the same Dice. The scorer walks a Python set of the
    lesions' numbers, which is their order as long as they are small, and not beyond.

    >>> scorer_order(np.array([1, 2, 3])).tolist(), scorer_order(np.array([5, 200])).tolist()
    ([0, 1, 2], [1, 0])
    """
    place = {number: i for i, number in enumerate(numbers.tolist())}
    return np.array([place[number] for number in set(place)], dtype=np.int64)


def pair_dice(shared: Ints, truth: Ints, predicted: Ints, settings: MaskSettings) -> NDArray[np.float64]:
    """The Dice coefficient of every entity with every predicted lesion."""
    above = settings.eps if settings.eps_place == "both" else 0.0
    below = settings.eps if settings.eps_place != "none" else 0.0
    return (2.0 * shared + above) / (truth[:, None] + predicted[None, :] + below)


def match_greedily(cost: NDArray[Any], allowed: NDArray[np.bool_], *, values: NDArray[Any]) -> Matches:
    """One to one, the cheapest pair first; of equal ones the lower entity, then the lower lesion.

    >>> cost = np.array([[0.2, 0.1], [0.1, 0.5]])
    >>> match_greedily(cost, cost < 0.4, values=cost)
    ((0, 1, 0.1), (1, 0, 0.1))
    """
    one, other = np.nonzero(allowed)
    order = np.argsort(cost[one, other], kind="stable")  # nonzero gives them row by row
    free = [set(range(size)) for size in cost.shape]
    found: list[tuple[int, int, float]] = []
    for i, j in zip(one[order].tolist(), other[order].tolist(), strict=True):
        if i in free[0] and j in free[1]:
            free[0].remove(i)
            free[1].remove(j)
            found.append((i, j, float(values[i, j])))
    return tuple(found)
