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
from overread.phantom.body.boxes import to_outer
from overread.phantom.body.canvas import Canvas
from overread.phantom.film.region_rules import PAIRED_REGIONS, SINGLE_REGIONS, BodyPart, RegionDefinition
from overread.phantom.film.renderer import FilmRenderer
from overread.phantom.film.sign import FilmBox, View
from overread.phantom.findings.scan import BoolArray, Entity, bounding_box


def find_definition(name: str) -> tuple[RegionDefinition, int] | None:
    """What a region is and its side: 1 right, -1 left, 0 neither; None for an unknown one."""
    if name in SINGLE_REGIONS:
        return SINGLE_REGIONS[name], 0
    side, _, rest = name.partition(" ")
    if rest in PAIRED_REGIONS and side in ("right", "left"):
        return PAIRED_REGIONS[rest], 1 if side == "right" else -1
    return None


def find_region(canvas: Canvas, body: Body, name: str) -> Entity | None:
    """The voxels of a region; None for an unknown one, and where the grid holds none of it."""
    known = find_definition(name)
    return None if known is None else find_defined(canvas, body, *known)


def find_defined(canvas: Canvas, body: Body, what: RegionDefinition, side: int = 0) -> Entity | None:
    """The voxels that a region's definition selects; None where the grid holds none of them."""
    sign = -1 if side < 0 else 1
    ends = [(what.low[0] * sign, what.high[0] * sign), *zip(what.low[1:], what.high[1:], strict=True)]
    corners = body.habitus.to_patient(np.array(list(product(*ends))))
    cut = canvas.grid.box_between(corners.min(axis=0), corners.max(axis=0))
    if cut is None:
        return None
    x, y, z = body.habitus.to_template(*canvas.grid.coordinates(cut))
    part = BodyPart(body, canvas.organs[cut], canvas.lobes[cut], sign, x * sign, y, z)
    mask = what.voxels(part)
    inner = bounding_box(mask)
    return None if inner is None else Entity(to_outer(cut, inner), mask[inner])


def find_all_regions(canvas: Canvas, body: Body) -> Iterator[tuple[str, Entity]]:
    """Every region of the ontology that the body has, as its voxels."""
    for name in xray_regions().names:
        mask = find_region(canvas, body, name)
        if mask is not None:
            yield name, mask


def project_edges(room: FilmRenderer, entity: Entity, view: View) -> tuple[float, float, float, float]:
    """Left, top, right and bottom edge of voxels of the room's grid on a frontal film, in pixels.

    At each depth only the outermost voxels count, so no picture of them is needed.
    """
    grid, beam = room.canvas.grid, room.beam(view)
    x, y, z = (axis[part].astype(float) for axis, part in zip(grid.axes, entity.cut[::-1], strict=True))
    across: BoolArray = np.any(entity.mask, axis=0)
    up: BoolArray = np.any(entity.mask, axis=2).T
    deep: BoolArray = np.any(across, axis=1)
    ends = []
    for line, half, hit in ((x, -grid.step[0] / 2, across[deep]), (z, grid.step[2] / 2, up[deep])):
        first, last = hit.argmax(axis=1), hit.shape[1] - 1 - hit[:, ::-1].argmax(axis=1)
        ends.append((line[first] - half, line[last] + half))
    (right, left), (low, high) = ends
    corners = np.stack([(right, y[deep], high), (left, y[deep], low)])
    columns, rows = beam.project_points(np.moveaxis(corners, 1, -1))
    # Places are counted from the middle of the first pixel, edges from its edge.
    return (
        float(columns[0].min()) + 0.5,
        float(rows[0].min()) + 0.5,
        float(columns[1].max()) + 0.5,
        float(rows[1].max()) + 0.5,
    )


def project_box(room: FilmRenderer, entity: Entity, view: View) -> FilmBox | None:
    """The smallest box that holds voxels of the room's grid on a frontal film, cut at its edge."""
    beam = room.beam(view)
    left, top, right, bottom = project_edges(room, entity, view)
    box = (
        max(0, int(np.floor(left))),
        max(0, int(np.floor(top))),
        min(beam.columns, int(np.ceil(right))),
        min(beam.rows, int(np.ceil(bottom))),
    )
    return box if box[0] < box[2] and box[1] < box[3] else None


def project_region_boxes(room: FilmRenderer, view: View) -> dict[str, FilmBox]:
    """The box of each region on a frontal film; a region that the film does not show has none."""
    boxes = {
        name: project_box(room, mask, view) for name, mask in find_all_regions(room.canvas, room.visit.body)
    }
    return {name: box for name, box in boxes.items() if box is not None}
