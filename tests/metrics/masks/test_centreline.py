"""Centrelines and clDice, held to scikit-image's skeletonize in the published formula.

The numbers kept here are those of scikit-image 0.26.0; where it is installed it is asked again, voxel by
voxel.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage

from overread.metrics.masks.centreline import CLDICE, centreline_dice
from overread.metrics.masks.thinning import thin
from overread.metrics.sample import Sample
from tests.metrics.masks.surface.lesion_masks import EDGES, blobs
from tests.metrics.masks.test_measure import masks, subject

Array = NDArray[Any]
KEPT: dict[int | str, tuple[int, int, float]] = {
    0: (28, 42, 0.04081632653061224),
    1: (14, 79, 0.0),
    2: (11, 22, 0.4210526315789474),
    3: (5, 10, 0.3),
    4: (277, 48, 0.13166144200626959),
    5: (28, 39, 0.375),
    6: (82, 28, 0.279831045406547),
    7: (152, 349, 0.46759995971396917),
    8: (51, 36, 0.09302325581395347),
    9: (116, 299, 0.41365961565049075),
    10: (51, 50, 0.21024258760107817),
    11: (29, 38, 0.3737864077669903),
    "the same voxel": (1, 1, 1.0),
    "two voxels over a corner": (1, 1, 0.0),
    "voxels in opposite corners of the crop": (1, 1, 0.0),
    "a full block and one voxel of it": (3, 1, 0.0),
    "two full blocks": (3, 3, 1.0),
    "thin sheets, crossed": (2, 5, 0.28571428571428575),
    "thin sheets, side by side": (3, 3, 0.0),
    "a line and a sheet": (7, 3, 0.2),
    "a shell and its filling": (94, 3, 0.0),
    "a chessboard and its other half": (38, 38, 0.0),
    "a crop of one voxel": (1, 1, 1.0),
    "a crop of one row": (3, 4, 0.0),
}
"""Seed or name of the masks → voxels of the two centrelines, and clDice, by scikit-image."""


def pair(key: int | str) -> tuple[Array, Array]:
    return EDGES[key] if isinstance(key, str) else blobs(key)[0]


@pytest.mark.parametrize("key", KEPT)
def test_cldice_is_what_scikit_image_gave(key: int | str) -> None:
    """Lengths of the centrelines, and clDice, of random lesions and of shapes at the edge."""
    truth, predicted = pair(key)
    lines = [thin(mask, keep_pieces=False) for mask in (truth, predicted)]
    assert (int(lines[0].sum()), int(lines[1].sum())) == KEPT[key][:2]
    # Without the pieces that vanish there, the number is the same.
    whole = [_without_vanishing(mask, line) for mask, line in zip((truth, predicted), lines, strict=True)]
    precision = (lines[1] & truth).sum() / lines[1].sum()
    sensitivity = (lines[0] & predicted).sum() / lines[0].sum()
    both = precision + sensitivity
    assert (2 * precision * sensitivity / both if both else 0) == pytest.approx(KEPT[key][2], abs=1e-12)
    if (whole[0] == truth).all() and (whole[1] == predicted).all():
        assert centreline_dice(truth, predicted)["cldice"] == pytest.approx(KEPT[key][2], abs=1e-12)
    for mask, line in zip(whole, lines, strict=True):
        assert (thin(mask) == line).all()


def _without_vanishing(mask: Array, line: Array) -> Array:
    """The mask without the pieces that have no centreline."""
    pieces, _ = ndimage.label(mask, np.ones((3, 3, 3), bool))
    return np.isin(pieces, np.unique(pieces[line])) & mask


@pytest.mark.parametrize("key", [*range(40), *EDGES])
def test_centrelines_are_those_of_scikit_image(key: int | str) -> None:
    """Voxel by voxel, where it is installed."""
    peer = pytest.importorskip("skimage.morphology")
    for mask in pair(key):
        assert (thin(mask, keep_pieces=False) == peer.skeletonize(mask)).all()


@pytest.mark.parametrize("key", [*range(12), *EDGES])
def test_a_centreline_keeps_what_hangs_together(key: int | str) -> None:
    """As many pieces and as many cavities as the mask, inside it, and no thinner when thinned again."""
    around = np.ones((3, 3, 3), bool)
    for mask in pair(key):
        line = thin(mask)
        assert not (line & ~mask).any()
        assert ndimage.label(line, around)[1] == ndimage.label(mask, around)[1]
        outside = [ndimage.label(np.pad(~one, 1, constant_values=True))[1] for one in (line, mask)]
        assert outside[0] == outside[1]
        assert (thin(line) == line).all()


def tube(gap: int = 0) -> Array:
    """A bent tube, with a gap in the middle."""
    mask = np.zeros((7, 40, 24), bool)
    mask[2:5, 3:37, 3:6] = True
    mask[2:5, 34:37, 3:21] = True
    mask[:, 18 : 18 + gap] = False
    return mask


def test_a_broken_tube_costs_more_than_a_thin_one() -> None:
    """Dice is the better of the broken tube, clDice of the thin one, which is whole."""
    whole, broken = tube(), tube(gap=4)
    thinner = ndimage.binary_erosion(whole, ndimage.generate_binary_structure(3, 1))

    def dice(one: Array, other: Array) -> float:
        return float(2 * (one & other).sum() / (one.sum() + other.sum()))

    assert dice(whole, broken) > dice(whole, thinner)
    assert centreline_dice(whole, broken)["cldice"] < centreline_dice(whole, thinner)["cldice"] == 1


def test_empty_masks() -> None:
    """Two empty masks agree, one empty one agrees with nothing, and masks apart have 0."""
    full, empty = tube(), np.zeros((7, 40, 24), bool)
    assert centreline_dice(empty, empty)["cldice"] == 1
    assert centreline_dice(full, empty)["cldice"] == centreline_dice(empty, full)["cldice"] == 0
    assert centreline_dice(full, np.roll(full, 3, axis=0) & ~full)["cldice"] == 0


def test_findings_of_a_case(tmp_path: Path) -> None:
    """From files: the mean over findings, cut to the box around both masks; missing is 0."""
    truth, predicted = masks(1)
    rows = list(CLDICE.measure(subject(tmp_path, truth, predicted)).values())
    expected = [
        centreline_dice(one > 0, other > 0)["cldice"] for one, other in zip(truth, predicted, strict=True)
    ]
    assert [row["cldice"] for row in rows] == pytest.approx(expected, abs=1e-12)
    assert CLDICE.combine(Sample(rows))[0] == pytest.approx(np.mean(expected))
    missing = list(CLDICE.measure(subject(tmp_path, truth, None)).values())
    assert CLDICE.combine(Sample(missing))[0] == 0
