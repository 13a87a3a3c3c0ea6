"""Synthetic mask files of full size: lesions with rough edges, and a reader that gets them wrong.

A lesion is where a smooth random field on an ellipsoid is positive, with a jitter from slice to
slice as a hand drawing contours leaves it. The reader draws the same field with an error of its
own, misses a lesion here and there, sees some that are not there, and leaves specks behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SHAPE = (512, 512, 300)
SPACING = (0.7, 0.7, 1.0)
CHEST = 0.46
"""The part of the scan that the chest fills: an ellipse of 90 by 65 per cent in each slice."""

Labels = NDArray[np.uint8]


@dataclass(frozen=True)
class FindingPlan:
    """What one finding is made of."""

    instances: int
    """How many lesions the annotator drew."""
    chest_part: float
    """How much of the chest they fill together."""
    category: str
    """Code in the finding ontology."""


USUAL = (FindingPlan(3, 0.0004, "2d"), FindingPlan(8, 0.01, "2c"), FindingPlan(12, 0.03, "1c"))
"""Three findings that fill about .04, 1 and 3 per cent of the chest."""
DIFFUSE = (FindingPlan(300, 0.0015, "1e"),)
"""One finding of 300 specks."""


def make_pair(
    folder: Path, seed: int, plans: tuple[FindingPlan, ...] = USUAL, *, shape: tuple[int, int, int] = SHAPE
) -> tuple[Path, Path]:
    """Write truth.nii.gz and predicted.nii.gz, both (findings, H, W, D) uint8, with nibabel."""
    import nibabel as nib

    dice = np.random.default_rng(seed)
    truth = np.zeros((len(plans), *shape), np.uint8, order="F")
    predicted = np.zeros((len(plans), *shape), np.uint8, order="F")
    for channel, plan in enumerate(plans):
        draw_finding(truth[channel], predicted[channel], plan, dice)
    affine = np.diag([-SPACING[0], -SPACING[1], SPACING[2], 1.0])
    paths = (folder / "truth.nii.gz", folder / "predicted.nii.gz")
    for path, array in zip(paths, (truth, predicted), strict=True):
        nib.save(nib.Nifti1Image(array, affine), path)
    return paths


def draw_finding(truth: Labels, predicted: Labels, plan: FindingPlan, dice: np.random.Generator) -> None:
    """Draw the lesions of one finding, and what a reader makes of them."""
    voxels = plan.chest_part * CHEST * truth.size
    sizes = dice.dirichlet(np.full(plan.instances, 2.0)) * voxels
    for number, size in enumerate(sizes):
        # Few annotators number beyond a byte; the last numbers are shared by several lesions.
        label = min(number + 1, 250)
        centre = _random_voxel(truth.shape, dice)
        field, corner, radius = _make_field(float(size), dice)
        missed = dice.random() < 0.12
        _paint(truth, field, corner, centre, label)
        if not missed:
            # Off by one to four voxels, inwards here and outwards there, and a little all over.
            off = min(dice.uniform(1, 4) / radius, 0.5)
            error = _smooth_noise(field.shape, float(dice.uniform(3, 6)), dice) + dice.normal(0, 0.5)
            slip = np.rint(dice.normal(0, 0.6, 3)).astype(int)
            _paint(predicted, field + off * error, corner, centre + slip, 1)
        if dice.random() < 0.15:
            field, corner, _ = _make_field(float(size) * 0.5, dice)
            _paint(predicted, field, corner, _random_voxel(truth.shape, dice), 1)
        if dice.random() < 0.3:
            i, j, k = _random_voxel(truth.shape, dice)
            predicted[i : i + 2, j : j + 2, k] = 1


def _random_voxel(shape: tuple[int, ...], dice: np.random.Generator) -> NDArray[np.int_]:
    """A voxel of the chest."""
    angle, radius = dice.uniform(0, 2 * np.pi), 0.85 * np.sqrt(dice.uniform())
    place = (0.5 + 0.45 * radius * np.cos(angle), 0.5 + 0.325 * radius * np.sin(angle))
    return (np.array([*place, dice.uniform(0.1, 0.9)]) * shape).astype(int)


def _make_field(size: float, dice: np.random.Generator) -> tuple[NDArray[Any], NDArray[np.int_], float]:
    """A field that is positive in about `size` voxels; its corner from its centre; its radius."""
    axes = dice.uniform(0.7, 1.5, 3) * np.array([1.0, 1.0, 0.7])
    axes *= (max(size, 6.0) / (4 / 3 * np.pi * axes.prod())) ** (1 / 3)
    half = np.ceil(axes * 1.5 + 1).astype(int)
    grids = np.ogrid[tuple(slice(-n, n + 1) for n in half)]
    radius = np.sqrt(sum((grid / axis) ** 2 for grid, axis in zip(grids, axes, strict=True)))
    rough = _smooth_noise(radius.shape, float(np.clip(axes.mean() / 3, 0.8, 6)), dice) * 0.22
    rough += dice.normal(0, 0.03, (1, 1, radius.shape[2]))
    return (1.0 - radius + rough).astype(np.float32), -half, float(axes.mean())


def _smooth_noise(shape: tuple[int, ...], width: float, dice: np.random.Generator) -> NDArray[Any]:
    from scipy import ndimage

    noise = ndimage.gaussian_filter(dice.standard_normal(shape, np.float32), width, mode="wrap")
    return noise / max(float(noise.std()), 1e-6)  # type: ignore[no-any-return]


def _paint(
    mask: Labels, field: NDArray[Any], corner: NDArray[np.int_], centre: NDArray[np.int_], label: int
) -> None:
    """Write the label where the field is positive, as far as it lies in the scan."""
    low = centre + corner
    high = low + field.shape
    begin, end = np.maximum(low, 0), np.minimum(high, mask.shape)
    if (begin >= end).any():
        return
    part = mask[tuple(slice(a, b) for a, b in zip(begin, end, strict=True))]
    inside = field[tuple(slice(a - n, b - n) for a, b, n in zip(begin, end, low, strict=True))] > 0
    part[inside] = label
