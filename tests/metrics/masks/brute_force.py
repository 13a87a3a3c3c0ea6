"""The mask scores once more, by brute force on whole arrays: plain, slow, and independent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.spatial.distance import cdist

Array = NDArray[Any]
RANK = {6: 1, 18: 2, 26: 3}


def save(path: Path, array: Array) -> Path:
    """Write with nibabel, which stores arrays in Fortran order."""
    affine = np.diag([-0.7, -0.7, 1.0, 1.0])
    nib.save(nib.Nifti1Image(array, affine, dtype=array.dtype), path)
    return path


def blobs(dice: np.random.Generator, shape: tuple[int, int, int], *, part: float, width: float) -> Array:
    """A random mask that fills about that part, in blobs of about that width."""
    noise = dice.normal(size=shape)
    noise = ndimage.gaussian_filter(noise, width) if width else noise
    mask: Array = noise > np.quantile(noise, 1 - part)
    return mask


def drawn(dice: np.random.Generator, mask: Array, entities: int) -> Array:
    """Labels as an annotator may draw them: neither components, nor apart from each other."""
    places = dice.uniform(size=(entities, 3)) * mask.shape
    grid = np.indices(mask.shape).reshape(3, -1).T
    nearest = cdist(grid, places).argmin(axis=1).reshape(mask.shape)
    numbers = dice.permutation(np.arange(1, entities + 9))[:entities]
    return np.where(mask, numbers[nearest], 0).astype(np.uint8)


def dice_of(both: float, one: float, other: float, eps: float, place: str) -> float:
    """The Dice coefficient with eps where it is said to stand."""
    if place == "both":
        return (2 * both + eps) / (one + other + eps)
    if place == "denominator":
        return 2 * both / (one + other + eps)
    return 2 * both / (one + other) if one + other else 1.0


def kept_components(predicted: Array, connectivity: int = 18, least: int = 10, most: int = 50) -> list[Array]:
    """The predicted lesions that count, each as a mask, in scan order."""
    structure = ndimage.generate_binary_structure(3, RANK[connectivity])
    numbers, count = ndimage.label(predicted > 0, structure)
    lesions = [numbers == n for n in range(1, count + 1)]
    sizes = [int(lesion.sum()) for lesion in lesions]
    large = [n for n in range(count) if sizes[n] >= least]
    chosen = sorted(large, key=lambda n: (-sizes[n], n))[:most]
    return [lesions[n] for n in sorted(chosen)]


def matched(values: list[list[float]], wanted: Any, sign: int) -> list[float]:
    """Greedy, one to one: the values of the pairs that were taken."""
    pairs = sorted(
        (sign * round(value, 9), i, j)
        for i, row in enumerate(values)
        for j, value in enumerate(row)
        if wanted(value)
    )
    taken_i: set[int] = set()
    taken_j: set[int] = set()
    found = []
    for _, i, j in pairs:
        if i not in taken_i and j not in taken_j:
            taken_i.add(i)
            taken_j.add(j)
            found.append(values[i][j])
    return found


def scored(
    truth: Array,
    predicted: Array,
    *,
    eps: float = 1e-6,
    eps_place: str = "both",
    hit_threshold: float = 0.1,
    connectivity: int = 18,
    min_voxels: int = 10,
    max_instances: int = 50,
    match_threshold: float = 0.2,
) -> dict[str, float]:
    """The official rule for one finding."""
    lesions = kept_components(predicted, connectivity, min_voxels, max_instances)
    kept = np.zeros(truth.shape, bool)
    for lesion in lesions:
        kept |= lesion
    entities = [truth == label for label in np.unique(truth[truth > 0])]

    def dice(one: Array, other: Array) -> float:
        both = int((one & other).sum())
        return dice_of(both, int(one.sum()), int(other.sum()), eps, eps_place)

    table = [[dice(entity, lesion) for lesion in lesions] for entity in entities]
    pairs = matched(table, lambda value: value >= match_threshold, -1)
    full, raw = dice(truth > 0, kept), dice(truth > 0, predicted > 0)
    return {
        "dice": full,
        "hit": int(full >= hit_threshold),
        "raw_dice": raw,
        "raw_hit": int(raw >= hit_threshold),
        "tp": len(pairs),
        "fp": len(lesions) - len(pairs),
        "fn": len(entities) - len(pairs),
        "matched_dice_sum": sum(pairs),
    }


def outline(mask: Array) -> Array:
    """Voxel indices of the surface: one of six neighbours is outside."""
    inner = ndimage.binary_erosion(mask, ndimage.generate_binary_structure(3, 1), border_value=0)
    points: Array = np.argwhere(mask & ~inner)
    return points


def surface_distance(one: Array, other: Array, spacing: Any, variant: str = "pooled") -> float:
    """The average symmetric surface distance, from all pairs of surface voxels."""
    table = cdist(outline(one) * spacing, outline(other) * spacing)
    there, back = table.min(axis=1), table.min(axis=0)
    if variant == "pooled":
        return float((there.sum() + back.sum()) / (len(there) + len(back)))
    return float((there.mean() + back.mean()) / 2)


def near(
    truth: Array,
    predicted: Array,
    spacing: tuple[float, float, float],
    *,
    focal: bool,
    variant: str = "pooled",
    factor: float = 2.0,
) -> dict[str, float]:
    """The challenge's distance rule for one finding."""
    lesions = kept_components(predicted)
    entities = [truth == label for label in np.unique(truth[truth > 0])]

    def distance(one: Array, other: Array) -> float:
        if not focal:
            return surface_distance(one, other, np.array(spacing), variant)
        gap = np.argwhere(one).mean(axis=0) - np.argwhere(other).mean(axis=0)
        return float(np.linalg.norm(gap * spacing))

    table = [[distance(entity, lesion) for lesion in lesions] for entity in entities]
    limit = factor * max(spacing) + 1e-9
    pairs = matched(table, lambda value: value <= limit, 1)
    return {
        "distance_tp": len(pairs),
        "distance_fp": len(lesions) - len(pairs),
        "distance_fn": len(entities) - len(pairs),
    }
