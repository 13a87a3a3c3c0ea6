"""Chains of thought: names, boxes, neighbouring levels, masks in what was said; oracle and nothing."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overread
from overread import catalog
from overread.core import (
    Box,
    Case,
    ChainLevel,
    ChainLink,
    Entry,
    Query,
    Reading,
    Region,
    Slices,
    Step,
    Trace,
    Truth,
    VoxelBox,
)
from overread.metrics import Subject
from overread.metrics.masks.voxel_runs import VoxelRuns
from overread.metrics.traces.chain import fits_within, judge_level, measure_chain
from overread.metrics.traces.chain_masks import share_inside
from overread.metrics.traces.chain_places import Place
from overread.pixels.voxel_boxes import to_share, to_shown
from overread.runs.scoring.from_run import score
from overread.workflows.blocks import make_block
from tests.runs.sketch_runs import ran
from tests.workflows.scripted_model import Asked, js, scripted

CHAIN = catalog.metric_names(["traces.chain", "traces.chain_masks"])
Corners = tuple[tuple[int, int, int], tuple[int, int, int]]


def cube(size: int, at: int = 0) -> Corners:
    return (at, at, at), (at + size, at + size, at + size)


def link(level: ChainLevel, name: str, box: Corners | None, **more: Any) -> Step:
    regions: tuple[Region, ...] = ()
    if box is not None:
        regions = (VoxelBox(picture="ct", low=box[0], high=box[1], label=name),)
    own = ChainLink(query="0", level=level, structures=(name,))
    return Step(kind="look", text=name, regions=regions, link=own, **more)


TRUE = (
    link("scan", "whole scan", cube(100)),
    link("lung", "right lung", cube(60)),
    link("lobe", "right upper lobe", cube(40)),
    link("segment", "apical segment of the right upper lobe", cube(20)),
    link("lesion", "lesion", cube(10)),
)


def measure(*own: Step, truth: tuple[Step, ...] = TRUE) -> dict[str, Any]:
    case = Case(id="c", benchmark="rexgroundingct", split="test", queries=(Query(id="0", text="A nodule"),))
    reading = Reading(case_id="c", reader="me", trace=Trace(steps=own))
    (row,) = measure_chain(Subject(Entry(case=case, truth=Truth(trace=Trace(steps=truth))), reading)).values()
    return dict(row)


def test_the_reference_is_perfect_and_silence_is_worst() -> None:
    """Every level right, every box 1, every level in the one before; none of it without a chain."""
    for row, value in ((measure(*TRUE), 1.0), (measure(), 0.0)):
        told = ["levels", "iou", "adjacent", *(f"{n}_right" for n in ("lung", "lobe", "segment", "lesion"))]
        assert [row[name] for name in told] == [value] * len(told)


def test_a_wrong_turn_costs_its_level_and_those_after_it() -> None:
    """The right lung, then the left upper lobe: a lobe that is not in that lung, with no box there."""
    wrong = (
        TRUE[1],
        link("lobe", "LUL", cube(40, at=60)),
        link("segment", "apical segment of the right upper lobe", None),
        link("lesion", "lesion", cube(10, at=5)),
    )
    row = measure(*wrong)
    assert [row[f"{n}_right"] for n in ("lung", "lobe", "segment", "lesion")] == [1, 0, 1, 0]
    assert row["levels"] == 0.5
    # Cubes of 10, moved by 5 on each axis: 125 of 1,875 voxels in common.
    assert row["lesion_iou"] == pytest.approx(125 / 1875)
    assert [row["lung_iou"], row["lobe_iou"], row["segment_iou"]] == [1, 0, 0]
    assert row["apart"] == ["lung → lobe", "lobe → segment", "segment → lesion"]


def test_a_level_is_right_by_name_or_by_box() -> None:
    """Other words for a structure are the same name; a box is enough; naming all lobes is not."""
    lobe = Place("right upper lobe", cube(40))
    right, ious = judge_level([lobe], [Place("", cube(36))])
    assert right == 1
    assert ious == pytest.approx([36**3 / 40**3])
    assert judge_level([lobe], [Place("", cube(20))])[0] == 0
    every = [Place(f"lobe {n}", None) for n in range(4)] + [Place("right upper lobe", None)]
    assert judge_level([lobe], every)[0] == pytest.approx(2 / 6)
    row = measure(*TRUE[:2], link("lobe", "upper lobe of the right lung", None), *TRUE[3:])
    assert row["lobe_right"] == 1


def test_neighbours_fit_by_name_or_by_box() -> None:
    """A lesion has no name: its box counts; what tells neither is not judged of the reference."""
    assert fits_within([Place("right lung", None)], [Place("right upper lobe", None)]) is True
    assert fits_within([Place("right lung", cube(50))], [Place("", cube(50, at=2))]) is False
    assert fits_within([Place("right lung", cube(50))], [Place("", cube(40, at=2))]) is True
    assert fits_within([Place("carina", None)], [Place("", cube(4))]) is None
    words = tuple(step.model_copy(update={"regions": ()}) for step in TRUE[:-1])
    row = measure(*words, truth=words)
    assert (row["adjacent"], row["apart"], "iou" in row) == (1, [], False)


def test_pleural_spaces_stand_on_the_level_of_the_lungs() -> None:
    """An effusion in the pleural space that a reader puts in the lung of that side is right by its box."""
    truth = (link("pleura", "right pleural space", cube(50)), TRUE[-1])
    assert measure(link("lung", "right lung", cube(45)), truth=truth)["lung_right"] == 1
    assert measure(link("lung", "right lung", None), truth=truth)["lung_right"] == 0
    assert measure(link("lung", "right pleura", None), truth=truth)["lung_right"] == 1


def test_voxels_inside_are_those_counted_one_by_one() -> None:
    """Runs and boxes at random, overlapping ones too, against a volume that is filled."""
    rng = np.random.default_rng(3)
    shape = (11, 7, 5)
    for _ in range(50):
        volume = rng.random(shape) < 0.4
        flat = np.concatenate([[0], volume.reshape(-1, order="F").astype(int), [0]])
        starts = np.flatnonzero(np.diff(flat) == 1)
        stops = np.flatnonzero(np.diff(flat) == -1)
        ends = [
            (a, b) for s, e in zip(starts, stops, strict=True) for a, b in _rows(int(s), int(e), shape[0])
        ]
        start, stop = (np.array(column, np.int32) for column in zip(*ends, strict=True))
        runs = VoxelRuns(shape, start, stop, np.ones_like(start))
        filled = np.zeros(shape, bool)
        boxes = []
        for _ in range(int(rng.integers(1, 4))):
            low = rng.integers(0, 5, 3)
            high = np.minimum(low + rng.integers(1, 8, 3), shape)
            filled[tuple(slice(a, b) for a, b in zip(low, high, strict=True))] = True
            boxes.append((tuple(low.tolist()), tuple(high.tolist())))
        assert share_inside(runs, boxes) == pytest.approx((volume & filled).sum() / volume.sum())


def _rows(start: int, stop: int, width: int) -> list[tuple[int, int]]:
    """A stretch of voxels cut where a row ends."""
    cuts = [start, *range((start // width + 1) * width, stop, width), stop]
    return list(pairwise(cuts))


def test_oracle_is_one_and_nothing_is_zero_on_the_phantom(patients: Path, tmp_path: Path) -> None:
    """Through `run` and `score`, every chain metric, every patient of the test split."""
    root = patients / "rexgroundingct"
    for reader, value in (("oracle", 1.0), ("nothing", 0.0)):
        ran(reader, "rexgroundingct", root, tmp_path / reader)
        card = score(tmp_path / reader, metrics=CHAIN)
        scores = {name: one.value for name, one in card.scores.items()}
        judged = {name: one for name, one in scores.items() if one is not None}  # not all have segments
        assert len(judged) >= len(CHAIN) - 2
        assert judged == dict.fromkeys(judged, pytest.approx(value)), reader


def test_a_ground_cot_reading_is_scored(sketch: Path, tmp_path: Path) -> None:
    """A model that answers with the true chain, level by level, in shares of what it is shown."""
    root = sketch / "rexgroundingct"
    release = overread.load("rexgroundingct", root, "test")
    entry = next(iter(release.entries()))
    space = release.pictures.geometry(entry.case.pictures[0])
    assert entry.truth is not None
    assert entry.truth.trace is not None
    true = {step.link.level: step for step in entry.truth.trace.steps if step.link and step.link.query == "0"}
    wholes: list[Any] = [None]

    def answer(asked: Asked) -> str:
        found = re.search(r'Now the level "(\w+)"', asked.words)
        level: Any = found[1] if found else "lesion"
        (box,) = true[level].regions
        assert isinstance(box, VoxelBox)
        shown = to_shown(box, space)
        part, around = to_share(shown, space), wholes[-1]
        if around is not None:  # in shares of the close-up
            width, height = around.right - around.left, around.bottom - around.top
            part = type(part)(
                (part.left - around.left) / width, (part.top - around.top) / height,
                (part.right - around.left) / width, (part.bottom - around.top) / height,
            )  # fmt: skip
        block = make_block((shown.first, shown.last), part).model_dump()
        if level == "lesion":
            return js(thought="There.", blocks=[block])
        wholes.append(to_share(shown, space).widen(0.1).at_least(0.1))
        return js(thought="There.", places=[{"structure": box.label, **block}])

    run = tmp_path / "run"
    done = scripted(
        "rexgroundingct", root, run, answer, "ground-cot", limit=1, settings={"slices": 8, "longest": 512}
    )
    assert done.reading.trace is not None
    first = done.reading.trace.steps[1]
    assert first.link is not None
    assert (first.link.query, first.link.level) == ("0", "lung")
    assert [type(region) for region in first.regions] == [Slices, Box]
    card = score(run, metrics=CHAIN)
    scores = {name: one.value for name, one in card.scores.items()}
    exact = {
        "chain_levels",
        "chain_lung",
        "chain_lobe",
        "chain_segment",
        "chain_adjacency",
        "chain_mask_inside",
    }
    assert {name: scores[name] for name in exact} == dict.fromkeys(exact, pytest.approx(1))
    # Edges go through shares of close-ups and are rounded outwards to voxels.
    assert (scores["chain_box_iou"] or 0) > 0.7
    assert scores["chain_finding_inside"] == pytest.approx(1)
