"""Where the regions of the frontal film lie: each a part of the body, boxed as the film shows it.

A region is a set of voxels of the body as it was built, whatever findings it has. Its box is the
smallest one that holds the projection of these voxels, cut at the edge of the film.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from overread.ontology import xray_regions
from overread.phantom.body.anatomy import Body
from overread.phantom.body.boxes import nested
from overread.phantom.body.canvas import Canvas
from overread.phantom.film.region_rules import PAIRED, SINGLE, Definition, Part
from overread.phantom.film.room import FilmRoom
from overread.phantom.film.sign import Corners, View
from overread.phantom.findings.scan import Entity, Mask, box_of


def definition_of(name: str) -> tuple[Definition, int] | None:
    """What a region is and its side: 1 right, -1 left, 0 neither; None for an unknown one."""
    if name in SINGLE:
        return SINGLE[name], 0
    side, _, rest = name.partition(" ")
    if rest in PAIRED and side in ("right", "left"):
        return PAIRED[rest], 1 if side == "right" else -1
    return None


def region_mask(canvas: Canvas, body: Body, name: str) -> Entity | None:
    """The voxels of a region; None for an unknown one, and where the grid holds none of it."""
    known = definition_of(name)
    return None if known is None else defined(canvas, body, *known)


def defined(canvas: Canvas, body: Body, what: Definition, side: int = 0) -> Entity | None:
    """The voxels that a definition names; None where the grid holds none of them."""
    sign = -1 if side < 0 else 1
    ends = [
        (what.low[0] * sign, what.high[0] * sign),
        *zip(what.low[1:], what.high[1:], strict=True),
    ]
    corners = body.habitus.patient(np.array(list(product(*ends))))
    cut = canvas.grid.cut(corners.min(axis=0), corners.max(axis=0))
    if cut is None:
        return None
    x, y, z = body.habitus.template(*canvas.grid.at(cut))
    part = Part(body, canvas.organs[cut], canvas.lobes[cut], sign, x * sign, y, z)
    mask = what.voxels(part)
    inner = box_of(mask)
    return None if inner is None else Entity(nested(cut, inner), mask[inner])


def region_masks(canvas: Canvas, body: Body) -> Iterator[tuple[str, Entity]]:
    """Every region of the ontology that the body has, as its voxels."""
    for name in xray_regions().names:
        mask = region_mask(canvas, body, name)
        if mask is not None:
            yield name, mask


def edges_on_film(room: FilmRoom, entity: Entity, view: View) -> tuple[float, float, float, float]:
    """Left, top, right and bottom edge of voxels of the room's grid on a frontal film, in pixels.

    At each depth only the outermost voxels count, so no picture of them is needed.
    """
    grid, beam = room.canvas.grid, room.beam(view)
    x, y, z = (
        axis[part].astype(float) for axis, part in zip(grid.axes, entity.cut[::-1], strict=True)
    )
    across: Mask = np.any(entity.mask, axis=0)
    up: Mask = np.any(entity.mask, axis=2).T
    deep: Mask = np.any(across, axis=1)
    ends = []
    for line, half, hit in ((x, -grid.step[0] / 2, across[deep]), (z, grid.step[2] / 2, up[deep])):
        first, last = hit.argmax(axis=1), hit.shape[1] - 1 - hit[:, ::-1].argmax(axis=1)
        ends.append((line[first] - half, line[last] + half))
    (right, left), (low, high) = ends
    corners = np.stack([(right, y[deep], high), (left, y[deep], low)])
    columns, rows = beam.place(np.moveaxis(corners, 1, -1))
    # Places are counted from the middle of the first pixel, edges from its edge.
    return (
        float(columns[0].min()) + 0.5,
        float(rows[0].min()) + 0.5,
        float(columns[1].max()) + 0.5,
        float(rows[1].max()) + 0.5,
    )


def box_on_film(room: FilmRoom, entity: Entity, view: View) -> Corners | None:
    """The smallest box that holds voxels of the room's grid on a frontal film, cut at its edge."""
    beam = room.beam(view)
    left, top, right, bottom = edges_on_film(room, entity, view)
    box = (
        max(0, int(np.floor(left))),
        max(0, int(np.floor(top))),
        min(beam.columns, int(np.ceil(right))),
        min(beam.rows, int(np.ceil(bottom))),
    )
    return box if box[0] < box[2] and box[1] < box[3] else None


def region_boxes(room: FilmRoom, view: View) -> dict[str, Corners]:
    """The box of each region on a frontal film; a region that the film does not show has none."""
    boxes = {
        name: box_on_film(room, mask, view)
        for name, mask in region_masks(room.canvas, room.visit.body)
    }
    return {name: box for name, box in boxes.items() if box is not None}
