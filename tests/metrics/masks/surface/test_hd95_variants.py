"""HD95 between surface voxels by the rules of MONAI and medpy, held to both.

The numbers kept here are those of MONAI 1.6.1 (which computes in 32 bits) and medpy 0.5.2; where the
packages are installed they are asked again, on more masks.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from overread.metrics.masks.surface.statistics import surface_statistics, worst_statistics
from tests.metrics.masks.surface.lesion_masks import EDGES, SPACINGS, Masks, Spacing, blobs
from tests.metrics.masks.surface.test_statistics import border

KEPT: dict[int | str, tuple[float, float]] = {
    0: (8.181580543518066, 7.924210152034392),
    1: (16.407251358032227, 15.747564896677078),
    2: (5.702587604522705, 5.060858106407564),
    3: (4.887197494506836, 4.68947701042708),
    4: (5.319549083709717, 5.176147848709898),
    5: (9.480371475219727, 7.081865607741915),
    6: (5.307493686676025, 5.27517401029514),
    7: (6.406283855438232, 5.848055630892585),
    8: (8.017067909240723, 7.883847199804634),
    9: (6.052428245544434, 5.2944478947532625),
    10: (6.983821392059326, 6.494822101035004),
    11: (1.4341918230056763, 1.4252972217775945),
    "the same voxel": (0.0, 0.0),
    "two voxels over a corner": (3.137674331665039, 3.137674297947446),
    "voxels in opposite corners of the crop": (24.736865997314453, 24.736865201556967),
    "a full block and one voxel of it": (12.347064018249512, 12.34706442843804),
    "two full blocks": (0.0, 0.0),
    "thin sheets, crossed": (12.0, 12.0),
    "thin sheets, side by side": (0.6499999761581421, 0.65),
    "a line and a sheet": (12.157404899597168, 12.157405150771279),
    "a shell and its filling": (3.1070449352264404, 3.0696090956341653),
    "a chessboard and its other half": (0.6499999761581421, 0.65),
    "a crop of one voxel": (0.0, 0.0),
    "a crop of one row": (3.802500009536743, 3.7049999999999996),
}
"""Seed or name of the masks → HD95 by MONAI and by medpy."""


def masks_of(key: int | str) -> tuple[Masks, Spacing]:
    return (EDGES[key], SPACINGS[2]) if isinstance(key, str) else blobs(key)


def ours(masks: Masks, spacing: Spacing) -> tuple[float, float]:
    found = surface_statistics(*masks, spacing)
    return found["hd95_monai"], found["hd95_medpy"]


@pytest.mark.parametrize("key", KEPT)
def test_hd95_is_what_the_peers_gave(key: int | str) -> None:
    """Random lesions and shapes at the edge, with spacings that differ by axis."""
    monai, medpy = ours(*masks_of(key))
    assert monai == pytest.approx(KEPT[key][0], rel=1e-6)
    assert medpy == pytest.approx(KEPT[key][1], rel=1e-12)


@pytest.mark.parametrize("key", [*range(40), *EDGES])
def test_hd95_is_that_of_medpy(key: int | str) -> None:
    """The same by medpy itself, where it is installed."""
    peer = pytest.importorskip("medpy.metric.binary")
    masks, spacing = masks_of(key)
    assert ours(masks, spacing)[1] == pytest.approx(peer.hd95(*masks, voxelspacing=spacing), rel=1e-12)


@pytest.mark.parametrize("key", [*range(40), *EDGES])
def test_hd95_is_that_of_monai(key: int | str) -> None:
    """The same by MONAI itself, where it is installed."""
    peer: Any = pytest.importorskip("monai.metrics")
    masks, spacing = masks_of(key)
    one, other = (mask[None, None].astype(np.float32) for mask in masks)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = peer.compute_hausdorff_distance(
            other, one, include_background=True, percentile=95, spacing=list(spacing)
        )
    assert ours(masks, spacing)[0] == pytest.approx(float(theirs[0, 0]), rel=1e-6)


@pytest.mark.parametrize("seed", range(20, 32))
def test_hd95_is_that_of_all_pairs(seed: int) -> None:
    """The same from all pairs of surface voxels, sorted, and a line drawn between two of them."""
    masks, spacing = blobs(seed)
    pairs = cdist(*(np.argwhere(border(mask)) * spacing for mask in masks))
    sides = [pairs.min(axis=1), pairs.min(axis=0)]

    def percentile(distances: Any) -> float:
        ordered = sorted(distances.tolist())
        place = 0.95 * (len(ordered) - 1)
        low = int(place)
        high = min(low + 1, len(ordered) - 1)
        return float(ordered[low] + (ordered[high] - ordered[low]) * (place - low))

    monai, medpy = ours(masks, spacing)
    assert monai == pytest.approx(max(map(percentile, sides)), abs=1e-9)
    assert medpy == pytest.approx(percentile(np.concatenate(sides)), abs=1e-9)


def test_empty_masks_have_the_stated_rule() -> None:
    """Two empty masks agree; one empty, or nothing handed in, is the diagonal of the scan."""
    (truth, _), spacing = blobs(1)
    empty = np.zeros_like(truth)
    names = ("hd95_monai", "hd95_medpy")
    both = surface_statistics(empty, empty, spacing, diagonal=400.0)
    assert [both[name] for name in names] == [0, 0]
    for one, other in ((truth, empty), (empty, truth)):
        lone = surface_statistics(one, other, spacing, diagonal=400.0)
        assert [lone[name] for name in names] == [400, 400]
    assert [worst_statistics(400.0)[name] for name in names] == [400, 400]
