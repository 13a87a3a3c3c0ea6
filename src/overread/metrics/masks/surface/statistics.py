"""How the surfaces, volumes and centres of two masks of one finding differ, in millimetres.

There are two notions of a surface, and numbers of the one are not numbers of the other:

- **surface elements** sit on the grid points between voxels, wherever the eight voxels around one
  are neither all inside nor all outside, and count by their area (`surface_areas`). This is the
  package surface-distance; NSD, HD and HD95 are taken from it, and `assd_surfels`.
- **surface voxels** are voxels of the mask with one of their six neighbours outside, each counting
  once. The distances that others call ASSD are taken between them.

Outside the arrays is background, so a mask may touch the edge of its crop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.errors import UsageError
from overread.metrics.masks.surface.areas import surface_areas
from overread.metrics.masks.surface.search import Indices, Numbers, Points, Spacing, nearest_distances

Mask = NDArray[np.bool_]

TOLERANCES = (1.0, 2.0, 5.0)
"""Millimetres within which a surface is good enough."""
ROUNDING = 1e-12
"""Relative: what comes this close to a tolerance or to 95 % has reached it.

Without it the last bit of a product decides, and a mask turned by 90 degrees scores otherwise."""
BINS = 1000
"""Into which distances are sorted to find their quantile."""
CHUNK = 1 << 18
"""Voxels whose surface is looked for at a time: as many as a core keeps close."""


def surface_statistics(
    truth: NDArray[Any],
    predicted: NDArray[Any],
    spacing: Sequence[float],
    *,
    tolerances: Sequence[float] = TOLERANCES,
    diagonal: float | None = None,
) -> dict[str, float]:
    """Everything that is measured between two masks of one finding, on the same grid.

    Lengths are in mm, volumes in ml; `spacing` is mm a voxel, one an axis.

    - `nsd_1mm`, …: the share of both surfaces' area that is within the tolerance of the other;
    - `hd`, `hd95`: the distance within which all, or 95 % of the area, of each surface is from the
      other, the larger of the two;
    - `asd_truth_to_predicted`, `asd_predicted_to_truth`: the mean distance by area; `assd_surfels`
      is the mean of these two;
    - `assd_pooled`, `assd_mean_of_means`: the mean distance between surface voxels, over those of
      both masks at once, or the mean of the two directed means; `hd_voxels`: the largest;
      `hd95_monai`, `hd95_medpy`: the 95th percentile, the larger of the two directed ones, or that
      of both at once;
    - `volume_error`, `volume_bias`: the difference of the volumes by that of the truth, without and
      with sign (too large is positive); `volume_error_ml`, `volume_bias_ml`: in ml; and the two
      volumes, `volume_truth_ml`, `volume_predicted_ml`;
    - `centroid_error`: between the two centres of mass;
    - `surface_count`: 1, for means over findings.

    Two empty masks agree: every distance and error is 0, NSD is 1. Where only one is empty every
    distance is `diagonal` (that of the scan; by default that of the arrays), NSD is 0 and the
    volume error is 1.

    >>> truth, predicted = np.zeros((2, 100, 100, 100), bool)
    >>> truth[:50], predicted[:51] = True, True
    >>> found = surface_statistics(truth, predicted, (2.0, 1.0, 1.0))
    >>> {name: round(found[name], 3) for name in ("nsd_1mm", "hd95", "asd_truth_to_predicted")}
    {'nsd_1mm': 0.836, 'hd95': 2.0, 'asd_truth_to_predicted': 0.322}
    """
    sides = _check_arguments(truth, predicted, spacing, tolerances)
    if diagonal is None:
        diagonal = float(np.linalg.norm(np.multiply(truth.shape, sides)))
    # Along the memory, whichever way round the arrays lie: no number depends on the order of axes.
    order = sorted(range(3), key=lambda axis: -abs(truth.strides[axis]))
    masks = [np.asarray(mask, dtype=bool).transpose(order) for mask in (truth, predicted)]
    sides = (sides[order[0]], sides[order[1]], sides[order[2]])
    counts = [int(np.count_nonzero(mask)) for mask in masks]
    millilitres = float(np.prod(sides)) / 1000.0
    volumes = _volumes(counts[0] * millilitres, counts[1] * millilitres)
    if not all(counts):
        agree = not any(counts)
        return _uniform_statistics(0.0 if agree else diagonal, 1.0 if agree else 0.0, tolerances) | volumes
    areas = surface_areas(sides)
    one, other = (_Surface.of(mask, areas) for mask in masks)
    there, back, voxels_there, voxels_back = nearest_distances(
        [
            (one.points, other.points),
            (other.points, one.points),
            (one.voxels, other.voxels),
            (other.voxels, one.voxels),
        ],
        sides,
    )
    centres = [_centre(mask, count) for mask, count in zip(masks, counts, strict=True)]
    return {
        "surface_count": 1,
        **_between_elements(there, back, one.areas, other.areas, tolerances),
        **_between_voxels(voxels_there, voxels_back),
        "centroid_error": float(np.linalg.norm((centres[0] - centres[1]) * sides)),
        **volumes,
    }


def worst_statistics(
    diagonal: float, *, truth_ml: float = 0.0, tolerances: Sequence[float] = TOLERANCES
) -> dict[str, float]:
    """The same statistics where nothing was predicted, or nothing that can be used.

    `diagonal` is that of the scan in mm, `truth_ml` the volume of the finding.

    >>> worst = worst_statistics(600.0, truth_ml=2.0)
    >>> worst["nsd_2mm"], worst["hd95"], worst["volume_error"], worst["volume_bias_ml"]
    (0.0, 600.0, 1.0, -2.0)
    """
    volumes = _volumes(truth_ml, 0.0)
    # Nothing handed in is not right even where there is nothing to find.
    volumes["volume_error"], volumes["volume_bias"] = 1.0, -1.0
    return _uniform_statistics(float(diagonal), 0.0, tolerances) | volumes


def _check_arguments(
    truth: NDArray[Any], predicted: NDArray[Any], spacing: Sequence[float], tolerances: Sequence[float]
) -> Spacing:
    """The spacing, unless the arguments do not fit together."""
    if truth.ndim != 3 or truth.shape != predicted.shape:
        raise UsageError(
            f"surfaces of masks of shapes {truth.shape} and {predicted.shape} cannot be compared",
            remedy="give two arrays (H, W, D) of one grid",
        )
    sides = [float(side) for side in spacing]
    if len(sides) != 3 or not all(0 < side < np.inf for side in sides):
        raise UsageError(
            f"spacing {tuple(sides)} is not three lengths",
            remedy="give mm per voxel along each axis, from the header of the scan",
        )
    if not all(0 <= tolerance < np.inf for tolerance in tolerances):
        raise UsageError(f"tolerances {tuple(tolerances)} are not lengths", remedy="give millimetres")
    return sides[0], sides[1], sides[2]


# ---- the numbers ---------------------------------------------------------------------------


def nsd_name(tolerance: float) -> str:
    """What the normalised surface distance at a tolerance is called.

    >>> nsd_name(1.0), nsd_name(2.5)
    ('nsd_1mm', 'nsd_2.5mm')
    """
    return f"nsd_{tolerance:g}mm"


DISTANCES = (
    "hd95",
    "hd",
    "asd_truth_to_predicted",
    "asd_predicted_to_truth",
    "assd_surfels",
    "assd_pooled",
    "assd_mean_of_means",
    "hd_voxels",
    "hd95_monai",
    "hd95_medpy",
    "centroid_error",
)


def _uniform_statistics(distance: float, nsd: float, tolerances: Sequence[float]) -> dict[str, float]:
    """Statistics of which all distances are the same."""
    return (
        {"surface_count": 1}
        | {nsd_name(tolerance): nsd for tolerance in tolerances}
        | dict.fromkeys(DISTANCES, distance)
    )


def _volumes(truth: float, predicted: float) -> dict[str, float]:
    """What is said of two volumes in ml."""
    bias = predicted - truth
    relative = bias / truth if truth else float(predicted > 0)
    return {
        "volume_error": abs(relative),
        "volume_bias": relative,
        "volume_error_ml": abs(bias),
        "volume_bias_ml": bias,
        "volume_truth_ml": truth,
        "volume_predicted_ml": predicted,
    }


def _between_elements(
    there: Numbers, back: Numbers, truth_areas: Numbers, predicted_areas: Numbers, tolerances: Sequence[float]
) -> dict[str, float]:
    """NSD, Hausdorff and mean distances, each surface element counting by its area."""
    both = ((there, truth_areas), (back, predicted_areas))
    totals = [float(areas.sum()) for _, areas in both]
    found: dict[str, float] = {}
    for tolerance in tolerances:
        limit = tolerance * (1 + ROUNDING)
        within = sum(float(areas[distances <= limit].sum()) for distances, areas in both)
        found[nsd_name(tolerance)] = min(1.0, within / sum(totals))
    # No matrix products here or below: they start threads, and scans already run in parallel.
    means = [
        float((areas * distances).sum()) / total
        for (distances, areas), total in zip(both, totals, strict=True)
    ]
    return found | {
        "hd95": max(_quantile(distances, areas, 0.95) for distances, areas in both),
        "hd": max(float(there.max()), float(back.max())),
        "asd_truth_to_predicted": means[0],
        "asd_predicted_to_truth": means[1],
        "assd_surfels": sum(means) / 2,
    }


def _between_voxels(there: Numbers, back: Numbers) -> dict[str, float]:
    """Mean, largest and nearly largest distances between surface voxels."""
    return {
        "assd_pooled": float(there.sum() + back.sum()) / (len(there) + len(back)),
        "assd_mean_of_means": float(there.mean() + back.mean()) / 2,
        "hd_voxels": max(float(there.max()), float(back.max())),
        "hd95_monai": max(_percentile_95(there), _percentile_95(back)),
        "hd95_medpy": _percentile_95(np.concatenate((there, back))),
    }


def _percentile_95(values: Numbers) -> float:
    """The 95th percentile, between two values on a straight line, as numpy and torch have it.

    `numpy.percentile` itself takes longer than everything else that is done with few voxels.

    >>> _percentile_95(np.arange(11.0)), float(np.percentile(np.arange(11.0), 95))
    (9.5, 9.5)
    """
    place = 0.95 * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    ordered = np.partition(values, (low, high))
    return float(ordered[low] + (ordered[high] - ordered[low]) * (place - low))


def _quantile(values: Numbers, weights: Numbers, share: float) -> float:
    """The least value at or below which at least this share of the weight lies."""
    goal = share * float(weights.sum()) * (1 - ROUNDING)
    largest = float(values.max())
    if not largest:
        return 0.0
    # Sorted into bins, of which only the one with the quantile need be put in order.
    bins = (values * (BINS / largest)).astype(np.intp)
    reached = np.cumsum(np.bincount(bins, weights))
    chosen = min(int(np.searchsorted(reached, goal)), len(reached) - 1)
    inside = bins == chosen
    values, weights = values[inside], weights[inside]
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) + (reached[chosen - 1] if chosen else 0.0)
    return float(values[order[min(int(np.searchsorted(reached, goal)), len(order) - 1)]])


def _centre(mask: Mask, count: int) -> Numbers:
    """The mean index of the voxels of a mask that has some."""
    flat = np.add.reduce(mask.view(np.uint8), axis=0, dtype=np.uint32)
    profiles = (np.array([np.count_nonzero(plane) for plane in mask]), flat.sum(axis=1), flat.sum(axis=0))
    return np.array([(profile * np.arange(len(profile))).sum() / count for profile in profiles])


# ---- finding the surface -------------------------------------------------------------------


@dataclass(frozen=True)
class _Surface:
    """The surface of a mask, in both notions."""

    points: Points
    """Grid points with a surface element; the voxel (i, j, k) lies between (i, j, k) and the
    next."""
    areas: Numbers
    """mm² of each element."""
    voxels: Points
    """Voxels with one of six neighbours outside."""

    @classmethod
    def of(cls, mask: Mask, areas: Numbers) -> _Surface:
        found = list(_iter_slabs(mask))
        codes = np.concatenate([piece[1] for piece in found])
        _, rows, columns = mask.shape
        places, voxels = (
            _points(np.concatenate([piece[part] for piece in found]), rows + 1, columns + 1)
            for part in (0, 2)
        )
        return cls(places, areas[codes], voxels)


def _points(places: Indices, rows: int, columns: int) -> Points:
    """Places in a flattened grid as indices along each axis."""
    lines = places // columns
    planes = lines // rows
    return planes, lines - planes * rows, places - lines * columns


def _iter_slabs(mask: Mask) -> Iterator[tuple[Indices, NDArray[np.uint8], Indices]]:
    """Slab by slab: places of surface elements, codes of their neighbourhoods, surface voxels.

    A slab is laid out with one empty column after each row and one empty row after each plane, so
    that the neighbours of all its voxels are the same flat array, shifted.
    """
    planes, rows, columns = mask.shape
    row = columns + 1
    plane = (rows + 1) * row
    height = max(1, min(planes + 1, CHUNK // plane))
    # Before the first plane lies one more empty row, for the neighbours of its first voxels.
    begin = row + 1
    flat = np.zeros(begin + (height + 2) * plane, np.uint8)
    slab = flat[begin:].reshape(height + 2, rows + 1, row)[:, :rows, :columns]
    for start in range(0, planes + 1, height):
        # The slab holds the voxels from the plane before `start` to the plane at `stop`.
        stop = min(start + height, planes + 1)
        part = mask[max(start - 1, 0) : stop + 1]
        if not part.any():
            continue
        skipped = 1 if start == 0 else 0
        slab[skipped : skipped + len(part)] = part
        slab[skipped + len(part) :] = 0
        cells = (stop - start) * plane
        lower, end = begin - row, begin + plane + cells
        # Times 2, 4 and 16 rather than shifted: numpy has no fast shift of bytes.
        code = flat[lower:end] | flat[lower - 1 : end - 1] * 2
        code = code[row:] | code[:-row] * 4
        code = code[plane:] | code[:-plane] * 16
        # Neither 0 (all outside) nor 255 (all inside), which is 0 again one further.
        places = np.flatnonzero(code + np.uint8(1) > 1)
        first = begin + plane
        centre = flat[first : first + cells]
        inner = centre.copy()
        for away in (1, row, plane):
            inner &= flat[first - away : first - away + cells]
            inner &= flat[first + away : first + away + cells]
        edge = np.flatnonzero(centre > inner)
        yield places + start * plane, code[places], edge + start * plane
