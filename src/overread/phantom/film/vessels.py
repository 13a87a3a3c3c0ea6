"""The vessels of the lungs on a film: projected as rows of points, finer than any voxel.

Each vessel is cut into small portions of blood. A portion is projected along the beam and blurred
to the vessel's width, so that a vessel seen end on becomes a dense dot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from overread.phantom.body.anatomy import Body
from overread.phantom.body.shapes import Floats
from overread.phantom.body.trees import Branch
from overread.phantom.film.beam import Beam

_PORTION_MM = 0.8
"""Millimetres between two portions along a vessel."""
_WIDTH_FACTOR = 1.1
"""How much wider than on the scan vessels are: each stands for the small ones along it."""
_GRAIN_HU_MM = 75.0
"""HU·mm by which the smallest vessels vary, for a millimetre of lung."""
_HILAR_VESSELS = (
    # Arteries of the lobes, which the trees begin beyond: from, to, radii.
    ((38, -8, -16), (48, -18, -36), 8.0, 7.0),
    ((48, -18, -36), (53, -28, -62), 7.0, 5.0),
    ((53, -28, -62), (60, -38, -88), 4.6, 3.2),
    ((34, -4, -8), (46, -8, 10), 6.0, 4.4),
    ((46, -8, 10), (54, -10, 30), 4.0, 2.8),
    ((-42, -20, -10), (-52, -30, -32), 8.0, 6.8),
    ((-52, -30, -32), (-57, -36, -60), 6.6, 4.6),
    ((-57, -36, -60), (-62, -42, -86), 4.4, 3.0),
    ((-40, -8, 0), (-50, -8, 16), 5.6, 4.2),
    ((-50, -8, 16), (-58, -10, 36), 3.8, 2.6),
    # Veins of the upper lobes in front of them.
    ((36, 2, -34), (48, 2, -6), 5.0, 4.0),
    ((-38, 2, -32), (-50, 2, -4), 5.0, 4.0),
)


@dataclass(frozen=True)
class VesselPortions:
    """Portions of blood: where they are in the patient, how wide, and how much."""

    points: NDArray[np.float64]
    radii: NDArray[np.float64]
    volumes: NDArray[np.float64]
    """Cubic millimetres."""

    def __getitem__(self, kept: NDArray[np.bool_]) -> VesselPortions:
        return VesselPortions(self.points[kept], self.radii[kept], self.volumes[kept])


def cut_into_portions(body: Body) -> VesselPortions:
    """All vessels of the lungs, cut into portions."""
    pieces = [
        (b.start, b.end, _WIDTH_FACTOR * b.radius, _WIDTH_FACTOR * b.radius) for b in _vessel_branches(body)
    ]
    pieces.extend(_HILAR_VESSELS)
    ends = body.habitus.to_patient(np.array([(s, e) for s, e, _, _ in pieces]))
    width = np.array([(a, b) for _, _, a, b in pieces])
    length = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
    count = np.maximum(1, np.ceil(length / _PORTION_MM)).astype(int)
    owner = np.repeat(np.arange(len(pieces)), count)
    first = np.cumsum(count) - count
    along = (np.arange(len(owner)) - first[owner] + 0.5) / count[owner]
    points = ends[owner, 0] + (ends[owner, 1] - ends[owner, 0]) * along[:, None]
    radii = width[owner, 0] + (width[owner, 1] - width[owner, 0]) * along
    volumes = np.pi * radii**2 * (length / count)[owner]
    return VesselPortions(points, radii, volumes)


def _vessel_branches(body: Body) -> Sequence[Branch]:
    return (*body.trees.arteries, *body.trees.veins)


def project_vessels(beam: Beam, blood: VesselPortions, hu: float) -> Floats:
    """HU·mm that portions of blood add on the film, `hu` being how much denser than lung it is."""
    total = np.zeros((beam.rows, beam.columns), np.float32)
    column, row = beam.project_points(blood.points)
    depth = blood.points[:, 1 if beam.direction == "front" else 0]
    larger = beam.magnification(depth)
    mass = blood.volumes * hu * larger**2 / beam.spacing**2
    wide = blood.radii * larger / beam.spacing
    # Half-octaves of width, each spread at once.
    kind = np.rint(2 * np.log2(np.maximum(wide, 0.35))).astype(int)
    for n in np.unique(kind):
        own = kind == n
        sheet = _deposit_masses(row[own], column[own], mass[own], total.shape)
        radius = float(2.0 ** (n / 2))
        # A ball seen as a disc deviates by its radius over the root of five.
        total += ndimage.gaussian_filter(sheet, max(radius / 5**0.5, 0.4), truncate=3)
    return total


def draw_vessel_grain(beam: Beam, lung_mm: Floats, rng: np.random.Generator) -> Floats:
    """HU·mm of the smallest vessels, as a grain that is stronger where more lung is crossed."""
    total = np.zeros((beam.rows, beam.columns), np.float32)
    for size, strength in ((0.7, 0.55), (1.6, 0.7), (3.6, 0.6)):
        coarse = max(1, int(size / beam.spacing / 1.5))
        shape = tuple(-(-n // coarse) + 1 for n in total.shape)
        grain = ndimage.gaussian_filter(rng.standard_normal(shape, np.float32), size / beam.spacing / coarse)
        grain /= grain.std()
        if coarse > 1:
            grain = ndimage.zoom(grain, coarse, order=1)
        total += np.float32(strength) * grain[: beam.rows, : beam.columns]
    # So many small things in a row vary as the root of their number.
    return total * np.float32(_GRAIN_HU_MM) * np.sqrt(np.maximum(lung_mm, 0))


def _deposit_masses(
    row: NDArray[np.float64], column: NDArray[np.float64], mass: NDArray[np.float64], shape: tuple[int, int]
) -> Floats:
    """Masses at places between pixels, each shared by the four around it."""
    rows, columns = shape
    r, c = np.floor(row).astype(int), np.floor(column).astype(int)
    out = np.zeros(rows * columns)
    for dr in (0, 1):
        for dc in (0, 1):
            share = np.abs(1 - dr - (row - r)) * np.abs(1 - dc - (column - c)) * mass
            at_r, at_c = r + dr, c + dc
            held = (at_r >= 0) & (at_r < rows) & (at_c >= 0) & (at_c < columns)
            index = at_r[held] * columns + at_c[held]
            out += np.bincount(index, share[held], minlength=rows * columns)
    return out.reshape(shape).astype(np.float32)
