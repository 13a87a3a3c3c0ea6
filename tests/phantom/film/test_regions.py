"""The regions of the frontal film: their voxels, and the boxes that hold them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from overread.ontology import xray_regions
from overread.phantom.film.region_rules import PAIRED_REGIONS, SINGLE_REGIONS
from overread.phantom.film.regions import find_all_regions, find_definition, find_region, project_region_boxes
from overread.phantom.film.renderer import FilmRenderer
from overread.phantom.film.sign import FRONTAL, FilmBox, View
from overread.phantom.findings.scan import Entity
from tests.phantom.film.made_up_visits import visit_with


class Examined(NamedTuple):
    """One patient in the film room, with his regions and their boxes on both frontal films."""

    room: FilmRenderer
    masks: dict[str, Entity]
    boxes: dict[View, dict[str, FilmBox]]


@pytest.fixture(scope="module", params=[1, 2])
def examined(request: pytest.FixtureRequest) -> Examined:
    """Two patients of different build."""
    room = FilmRenderer(visit_with(request.param, step=8.0))
    masks = dict(find_all_regions(room.canvas, room.visit.body))
    return Examined(room, masks, {view: project_region_boxes(room, view) for view in FRONTAL})


def whole(room: FilmRenderer, entity: Entity) -> NDArray[np.bool_]:
    """Voxels of a region on the whole grid."""
    mask = np.zeros(room.canvas.grid.shape, bool)
    mask[entity.cut] = entity.mask
    return mask


@pytest.mark.parametrize("view", FRONTAL)
def test_all_regions_of_the_ontology_have_a_box(examined: Examined, view: View) -> None:
    """Both frontal films show all 35 regions, each within the film."""
    beam = examined.room.beam(view)
    assert set(examined.boxes[view]) == set(xray_regions().names)
    for left, top, right, bottom in examined.boxes[view].values():
        assert 0 <= left < right <= beam.columns
        assert 0 <= top < bottom <= beam.rows


@pytest.mark.parametrize("view", FRONTAL)
def test_boxes_are_the_smallest_that_hold_every_voxel(examined: Examined, view: View) -> None:
    """Each edge of a box is the first whole pixel beyond the region's outermost voxel."""
    grid, beam = examined.room.canvas.grid, examined.room.beam(view)
    x, y, z = grid.axes
    for name, entity in examined.masks.items():
        k, j, i = np.nonzero(entity.mask)
        up, deep, across = (axis[part] for axis, part in zip((z, y, x), entity.cut, strict=True))
        middle = np.stack([across[i], deep[j], up[k]], axis=-1)
        half = np.array([grid.step[0] / 2, 0, grid.step[2] / 2], np.float32)
        # The corners to the patient's right above, and to the left below.
        left, top = examined.room.project_points(middle + half, view)
        right, low = examined.room.project_points(middle - half, view)
        exact = (left.min() + 0.5, top.min() + 0.5, right.max() + 0.5, low.max() + 0.5)
        frame = (0, 0, beam.columns, beam.rows)
        box = examined.boxes[view][name]
        for n in range(4):
            wanted = exact[n] if n < 2 else -exact[n]
            edge = box[n] if n < 2 else -box[n]
            cut = frame[n] if n < 2 else -frame[n]
            assert edge == max(np.floor(wanted + 1e-4), cut), (name, n)


@pytest.mark.parametrize("view", FRONTAL)
def test_boxes_hold_the_projected_mask(examined: Examined, view: View) -> None:
    """A region's outline, as the film room projects it, lies in its box and nearly fills it."""
    for name, entity in examined.masks.items():
        outline = examined.room.project_mask(whole(examined.room, entity), view)
        rows, columns = np.nonzero(outline)
        drawn = np.array((columns.min(), rows.min(), -columns.max() - 1, -rows.max() - 1))
        left, top, right, bottom = examined.boxes[view][name]
        inside = drawn - np.array((left, top, -right, -bottom))
        assert (inside >= -1).all(), name
        # The room rounds off corners of single voxels.
        assert (inside <= 3).all(), name


def test_right_is_on_the_left_of_the_picture(examined: Examined) -> None:
    """The patient's right is shown on the left, for every pair of regions."""
    for view in FRONTAL:
        boxes = examined.boxes[view]
        for name in PAIRED_REGIONS:
            right, left = boxes[f"right {name}"], boxes[f"left {name}"]
            assert right[0] + right[2] < left[0] + left[2], name


def test_zones_part_the_lung(examined: Examined) -> None:
    """Upper, mid and lower zone share no voxel and make up the lung; the apex is in the upper."""
    for side in ("right", "left"):
        parts = [
            whole(examined.room, examined.masks[f"{side} {level} lung zone"])
            for level in ("upper", "mid", "lower")
        ]
        lung = whole(examined.room, examined.masks[f"{side} lung"])
        apex = whole(examined.room, examined.masks[f"{side} apical zone"])
        assert (np.sum(parts, axis=0) == lung).all()
        assert (apex <= parts[0]).all()
        assert 0 < apex.sum() < 0.3 * parts[0].sum()
        assert all(0.15 * lung.sum() < part.sum() < 0.6 * lung.sum() for part in parts)


def test_the_apex_lies_above_the_collar_bone(examined: Examined) -> None:
    """On the film the apical zone ends above the middle of the collar bone's box."""
    for side in ("right", "left"):
        boxes = examined.boxes["PA"]
        bone = boxes[f"{side} clavicle"]
        assert boxes[f"{side} apical zone"][3] < (bone[1] + bone[3]) / 2
        assert boxes[f"{side} apical zone"][1] < bone[1]


def test_neighbours_lie_as_a_radiologist_knows_them(examined: Examined) -> None:
    """Borders that two regions share coincide, and parts lie within their wholes."""
    for view in FRONTAL:
        boxes = examined.boxes[view]
        heart, atrium = boxes["cardiac silhouette"], boxes["right atrium"]
        assert abs(heart[0] - atrium[0]) <= 1
        assert abs(heart[0] - boxes["right cardiac silhouette"][0]) <= 1
        assert abs(heart[2] - boxes["left cardiac silhouette"][2]) <= 1
        assert within(boxes["cavoatrial junction"], boxes["svc"])
        assert within(boxes["carina"], boxes["mediastinum"])
        assert within(boxes["upper mediastinum"], boxes["mediastinum"])
        assert boxes["upper mediastinum"][3] < boxes["mediastinum"][3]
        # The carina ends the windpipe, and the arch passes to its left.
        assert boxes["trachea"][1] < boxes["carina"][1] < boxes["trachea"][3] < boxes["carina"][3]
        assert boxes["aortic arch"][2] > boxes["trachea"][2] + 10
        for side in ("right", "left"):
            angle, lung = boxes[f"{side} costophrenic angle"], boxes[f"{side} lung"]
            outer = 0 if side == "right" else 2
            assert within(angle, lung)
            assert abs(angle[outer] - lung[outer]) <= 8
            assert boxes[f"{side} cardiophrenic angle"][1] > boxes[f"{side} hilar structures"][1]
            assert boxes[f"{side} hemidiaphragm"][1] > boxes[f"{side} mid lung zone"][3]
            assert boxes[f"{side} upper abdomen"][1] >= boxes[f"{side} hemidiaphragm"][1]


def within(inner: FilmBox, outer: FilmBox) -> bool:
    """Whether a box lies in another one, a pixel more or less."""
    return bool((np.array(inner[:2]) >= np.array(outer[:2]) - 1).all()) and bool(
        (np.array(inner[2:]) <= np.array(outer[2:]) + 1).all()
    )


def test_every_region_of_ours_is_defined() -> None:
    """The ontology's 35 regions are those that have a definition, with words."""
    defined = {f"{side} {name}" for name in PAIRED_REGIONS for side in ("right", "left")} | set(
        SINGLE_REGIONS
    )
    assert defined == set(xray_regions().names)
    assert all(len(one.words) > 5 for one in (*PAIRED_REGIONS.values(), *SINGLE_REGIONS.values()))
    assert find_definition("left kidney") is None


def test_unknown_regions_have_no_box(
    examined: Examined, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With regions of the user's own only those that we know are boxed."""
    own = tmp_path / "regions.toml"
    own.write_text(
        'title = "Ours"\nsource = "test"\n[[group]]\nname = "some"\n'
        'pairs = ["lung", "kidney"]\nsingle = ["carina", "left ventricle"]\n'
    )
    monkeypatch.setenv("OVERREAD_REGIONS", str(own))
    room = examined.room
    assert set(project_region_boxes(room, "PA")) == {"right lung", "left lung", "carina"}
    assert find_region(room.canvas, room.visit.body, "left ventricle") is None
