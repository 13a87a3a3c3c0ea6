"""Moves fluid and gas as gravity does in a standing patient: fluid sinks, free air rises, gas has a
level.

The scan shows fluid behind the lung and air in front of it, since the patient lies on the back.
Here the same volumes are placed anew, side by side: fluid fills each pleural space from below and
climbs along the wall, air takes the apex and the side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from overread.phantom.body.anatomy import Body
from overread.phantom.body.boxes import bounding_box
from overread.phantom.body.canvas import ORGAN_NUMBERS, Canvas, Cut
from overread.phantom.body.shapes import Floats, soft_cover
from overread.phantom.film.shadows import BeamDirection, Slabs, sum_change
from overread.phantom.findings.scan import DrawnFinding
from overread.phantom.visit import Visit

FLUID_HU, AIR_HU = 8.0, -1000.0
_LOBES = {"right": (1, 2, 3), "left": (4, 5)}
"""Numbers of the lobes of a side."""
_CLIMB, _FADE, _TILT = 52.0, 16.0, 0.2
"""Millimetres that fluid climbs along the wall, over which it does so, and how much it stands
higher for each millimetre to the side: the lung's elasticity holds it there."""


@dataclass(frozen=True)
class PleuralContent:
    """Fluid or air that a finding has in one pleural space."""

    key: str
    side: str
    kind: str
    """'fluid' or 'air'."""
    volume: float
    """Cubic millimetres."""


@dataclass(frozen=True)
class SettledContent:
    """Fluid or air as it lies in a standing patient: a part of the film's grid."""

    content: PleuralContent
    cut: Cut
    mask: NDArray[np.bool_]


def find_pleural_content(visit: Visit) -> tuple[PleuralContent, ...]:
    """The fluid and air of a patient's pleural spaces, with their volumes on the scan."""
    found = []
    grid = visit.scan.canvas.grid
    voxel = float(np.prod(grid.step))
    for n, drawn in enumerate(visit.drawn_findings):
        kind = _content_kind(drawn)
        for entity in drawn.entities if kind else ():
            _, _, columns = np.nonzero(entity.mask)
            middle = float(grid.axes[0][entity.cut[2]][columns].mean())
            side = "right" if middle > 0 else "left"
            found.append(PleuralContent(f"finding-{n}", side, kind, entity.voxels * voxel))
    return tuple(found)


def _content_kind(drawn: DrawnFinding) -> str:
    if drawn.category == "2g":
        return "air"
    return "fluid" if drawn.kind == "effusion" else ""


@dataclass(frozen=True)
class PleuralSpace:
    """A pleural space after fluid and air were laid in it: a part of the film's grid."""

    cut: Cut
    hu: Floats
    settled: tuple[SettledContent, ...]


def settle_pleural_content(
    body: Body, canvas: Canvas, things: Sequence[PleuralContent]
) -> list[PleuralSpace]:
    """Lay fluid and air in the pleural spaces of a standing patient."""
    spaces = []
    for side in ("right", "left"):
        own = [free for free in things if free.side == side]
        lung = np.isin(canvas.lobes, _LOBES[side]) if own else None
        cut = None if lung is None else bounding_box(lung)
        if lung is None or cut is None:
            continue
        hu, lung = canvas.hu[cut].copy(), lung[cut]
        # Voxels at the edge that are lung only in part would show as a seam.
        near = ndimage.binary_dilation(lung, iterations=2) & (lung | (hu < 0))
        own_lung, values = lung[near], hu[near]
        axes = body.habitus.to_template(*canvas.grid.coordinates(cut))
        x, z = (np.broadcast_to(axes[n], near.shape)[near] for n in (0, 2))
        wall = body.lungs.cavity_depth(*axes)[0][near]
        level = any(free.kind == "air" for free in own)
        laid = []
        for free in sorted(own, key=lambda one: one.kind, reverse=True):
            voxels = free.volume / float(np.prod(canvas.grid.step))
            if free.kind == "fluid":
                # Under free air nothing holds the fluid up: its level is flat, or as good as.
                hold = np.float32(0.02 if level else 1.0)
                climb = _CLIMB * np.exp(-np.maximum(wall, 0) / np.float32(_FADE))
                climb = climb + _TILT * np.abs(x)
                surface = z * np.float32(body.habitus.tall) - hold * climb.astype(np.float32)
                depth = _depth_under_level(surface, own_lung, voxels)
                _paint_fluid(values, depth, own_lung, canvas.grid.blur)
            else:
                wide = np.asarray(0.12 + 2.4 * np.clip((z + 25) / 130, 0, 1) ** 1.2, np.float32)
                depth = _depth_under_level(wall / wide, own_lung, voxels) * wide
                _paint_air(values, depth, own_lung, canvas.grid.blur)
            mask = np.zeros(near.shape, bool)
            mask[near] = own_lung & (depth > 0)
            own_lung = own_lung & (depth <= 0)
            laid.append(SettledContent(free, cut, mask))
        hu[near] = values
        spaces.append(PleuralSpace(cut, hu, tuple(laid)))
    return spaces


def _depth_under_level(measure: Floats, lung: NDArray[np.bool_], voxels: float) -> Floats:
    """Depth below the level of `measure` under which so many voxels of the lung lie."""
    values = measure[lung]
    count = int(np.clip(round(voxels), 1, len(values) - 1))
    level = np.partition(values, count)[count]
    depth: Floats = level - measure
    return depth


def _paint_fluid(hu: Floats, depth: Floats, lung: NDArray[np.bool_], blur: float) -> None:
    """Fluid, also at the rim of the lung, and the lung above it a little squeezed."""
    cover = soft_cover(depth, blur)
    # Lung that floats on the fluid holds less air.
    squeezed = np.float32(0.22) * np.exp(np.minimum(depth, 0) / np.float32(9))
    hu += (FLUID_HU - hu) * np.where(lung, np.maximum(cover, squeezed), cover)


def _paint_air(hu: Floats, depth: Floats, lung: NDArray[np.bool_], blur: float) -> None:
    """Air, the line of the pleura along it, and the lung that is left denser than before."""
    share = min(0.5, float((lung & (depth > 0)).sum()) / max(int(lung.sum()), 1))
    left = lung & (depth <= 0)
    hu += np.where(left & (hu < -300), (hu + 1000) * np.float32(share / (1 - share)), 0)
    line = soft_cover(np.float32(0.7) - np.abs(depth + np.float32(0.7)), blur)
    hu += np.where(lung & (hu < -100), (-60 - hu) * line, 0)
    # A voxel of the rim is lung only as far as it is lighter than tissue.
    rim = np.clip(-hu / 850, 0, 1) * np.float32(-150)
    hu += np.where(lung, AIR_HU - hu, rim) * soft_cover(depth, blur)


def settle_stomach(canvas: Canvas, hu: Floats) -> None:
    """The gas of the stomach rises to the top of it, under the left dome, over a level."""
    organ = canvas.organs == ORGAN_NUMBERS["stomach"]
    cut = bounding_box(organ)
    if cut is None:
        return
    view, organ = hu[cut], organ[cut]
    gas = organ & (view < -500)
    inside = ndimage.binary_erosion(organ, iterations=2, border_value=1) | gas
    count = int(gas.sum())
    if not count:
        return
    x, _, z = canvas.grid.coordinates(cut)
    # A trace of a slope, so that a part of a layer of voxels can be gas.
    z = z + np.float32(1e-4) * x + np.zeros(view.shape, np.float32)
    heights = np.sort(z[inside])[::-1]
    level = heights[min(count, len(heights) - 1)]
    view[gas] = 24.0
    bubble = (inside & (z > level)).astype(np.float32)
    # Rounded above, where the wall of a stomach has no corners; level below.
    round_off = [4 / step for step in (canvas.grid.step[2], canvas.grid.step[1], canvas.grid.step[0])]
    cover = np.clip(2.5 * ndimage.gaussian_filter(bubble, round_off) - 0.75, 0, 1) * (z > level)
    view += (-985 - view) * cover.astype(np.float32)


def settle_hernia(visit: Visit, way: BeamDirection) -> Slabs | None:
    """What changes when the gas of a hernia rises in it, as a pile of slabs of the scan."""
    places = [b.centre for b in visit.extrapulmonary if b.statement.kind == "hiatal hernia"]
    canvas = visit.scan.canvas
    cut = visit.scan.box_around(places[0], 42.0) if places else None
    if cut is None:
        return None
    h = visit.body.habitus
    x, _, z = canvas.grid.coordinates(cut)
    # The pouch is stomach that lies above the stomach's own place.
    pouch = (canvas.organs[cut] == ORGAN_NUMBERS["stomach"]) & (z > (-136 - h.breath) * h.tall)
    pouch &= x > -30 * h.wide
    hu = canvas.hu[cut]
    gas = pouch & (hu < -500)
    count = int(gas.sum())
    inside = ndimage.binary_erosion(pouch, iterations=1, border_value=1) | gas
    if not count:
        return None
    # A trace of a slope, so that a part of a layer of voxels can be gas.
    heights = z + np.float32(1e-4) * x + np.zeros(hu.shape, np.float32)
    ranked = np.sort(heights[inside])[::-1]
    change = np.zeros(canvas.grid.shape, np.float32)
    over = inside & (heights > ranked[min(count, len(ranked) - 1)])
    change[cut] += np.where(gas & ~over, 22 - hu, 0)
    change[cut] += np.where(over & ~gas, -960 - hu, 0)
    return sum_change(change, canvas.grid, way)
