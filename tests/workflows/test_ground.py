"""The workflow `ground`: which slices, then where in them; a mask for every sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overread
from overread.core import Box, Case, Mask, Reading, Slices, Whole
from overread.pixels.masks import read_channel
from overread.pixels.montages import slice_montage
from overread.runs.engine import RunPlan, run
from overread.runs.estimate import estimate
from overread.runs.store import last_readings
from overread.workflows.ground import widen_spans
from tests.runs.fake_readers import Drawer, draw_all
from tests.workflows.scripted_model import (
    Asked,
    Record,
    in_turn,
    js,
    kinds,
    same_pixels,
    scripted,
    shown_regions,
)

RANGES = js(ranges=[{"first_slice": 20, "last_slice": 24}])
BLOCK = {"first_slice": 21, "last_slice": 22, "left": 0, "top": 0, "right": 0.5, "bottom": 1}
BLOCKS = js(blocks=[BLOCK])
SETTINGS = {"slices": 8, "longest": 512}


def read(root: Path, out: Path, script: Any, **more: Any) -> Record:
    more = {"limit": 1, "settings": SETTINGS, **more}
    return scripted("rexgroundingct", root, out, script, "ground", **more)


def answered(asked: Asked) -> str:
    return RANGES if "in which slices it lies" in asked.words else BLOCKS


def voxels(reading: Reading, folder: Path, case: Case, release: Any) -> list[Any]:
    """The masks that a reading hands in."""
    shape = release.pictures.geometry(case.pictures[0]).shape
    found = []
    for finding in reading.findings or ():
        (region,) = finding.regions
        assert isinstance(region, Mask)
        found.append(read_channel(folder / region.file, region.channel, shape, region.channels))
    return found


def test_two_looks_and_a_mask(sketch: Path, tmp_path: Path) -> None:
    """The whole scan, then the slices that were named, larger; what is marked is filled."""
    root = sketch / "rexgroundingct"
    release = overread.load("rexgroundingct", root)
    case = next(iter(release))
    done = read(root, tmp_path / "run", answered)
    volume = release.pictures.pixels(case.pictures[0])
    space = release.pictures.geometry(case.pictures[0])
    whole = slice_montage(
        volume, space, Whole(picture="ct"), windows=("lung", "mediastinum"), count=8, longest=512
    )
    first, last = widen_spans([(20, 24)], 63, 8)[0]
    near = Slices(picture="ct", first=first, last=last)
    close = slice_montage(
        volume, space, near, windows=("lung", "mediastinum"), count=4, longest=512, largest=512
    )
    assert (first, last) == (11, 33)  # one gap between shown slices on either side
    assert [len(asked.pictures) for asked in done.asked] == [1, 1]
    assert same_pixels(done.asked[0].pictures[0], whole)
    assert same_pixels(done.asked[1].pictures[0], close)
    assert case.queries[0].text in done.asked[0].words
    assert case.queries[0].text in done.asked[1].words
    assert f"from slice {first} to slice {last}" in done.asked[1].words
    reading = done.reading
    assert shown_regions(reading) == [[Whole(picture="ct")], [near]]
    assert kinds(reading) == ["look", "look", "conclude"]
    assert reading.trace is not None
    asked_for, marked, drawn = reading.trace.steps
    assert asked_for.regions == (Slices(picture="ct", first=20, last=24),)
    width, height = np.shape(volume)[0], np.shape(volume)[1]
    edges = Box(picture="ct", x1=0, y1=0, x2=width / 2, y2=height)
    assert marked.regions == (near, Slices(picture="ct", first=21, last=22), edges)
    assert [step.exchange for step in reading.trace.steps] == [0, 1, None]
    assert reading.findings is not None
    assert drawn.regions == reading.findings[0].regions
    (mask,) = voxels(reading, tmp_path / "run", case, release)
    assert int(mask.sum()) == width // 2 * height * 2


def test_tiles_are_larger_in_the_second_look(sketch: Path, tmp_path: Path) -> None:
    """Half as many slices on a sheet of the same size: 16 tiles in 4 rows, then 8 in 3."""
    done = read(sketch / "rexgroundingct", tmp_path / "run", answered)
    one, two = (asked.pictures[0].shape[0] for asked in done.asked)
    assert two / 3 > 1.3 * one / 4


def test_each_place_is_looked_at(sketch: Path, tmp_path: Path) -> None:
    """Two ranges are two looks, and the boxes of both are in the mask; none is an empty mask."""
    root = sketch / "rexgroundingct"
    two = js(ranges=[{"first_slice": 60, "last_slice": 62}, {"first_slice": 3, "last_slice": 1}])
    low, high = (js(blocks=[BLOCK | {"first_slice": n, "last_slice": n}]) for n in (2, 61))
    done = read(root, tmp_path / "two", in_turn(two, low, high))
    release = overread.load("rexgroundingct", root)
    case = next(iter(release))
    spans = [(r.first, r.last) for (r,) in shown_regions(done.reading)[1:]]
    assert spans == widen_spans([(1, 3), (60, 62)], 63, 8)
    (mask,) = voxels(done.reading, tmp_path / "two", case, release)
    from overread.pixels.geometry import to_ras

    there = to_ras(mask, release.pictures.geometry(case.pictures[0])).any(axis=(0, 1))
    assert np.flatnonzero(there).tolist() == [2, 61]
    none = read(root, tmp_path / "none", in_turn(js(ranges=[])))
    assert len(none.asked) == 1
    (mask,) = voxels(none.reading, tmp_path / "none", case, release)
    assert not mask.any()


def test_one_sentence_at_a_time(sketch: Path, tmp_path: Path) -> None:
    """Each sentence has its own looks and its own channel."""
    root = sketch / "rexgroundingct"
    case = list(overread.load("rexgroundingct", root))[1]
    done = read(root, tmp_path / "run", answered, limit=None, cases=[case.id])
    assert len(case.queries) == 2
    for number, asked in enumerate(done.asked):
        told = [query.text in asked.words for query in case.queries]
        assert told == [number < 2, number >= 2]
    masks = [region for f in done.reading.findings or () for region in f.regions]
    assert [mask.channel for mask in masks if isinstance(mask, Mask)] == [0, 1]


@pytest.mark.parametrize(
    ("step", "bad", "why"),
    [
        (0, "I see it in the middle.", "no JSON object"),
        (0, js(ranges=[{"first_slice": 3, "last_slice": 64}]), "0 to 63"),
        (1, js(blocks=[BLOCK | {"last_slice": 99}]), "0 to 63"),
        (1, js(blocks=[BLOCK | {"right": 120}]), "less than or equal to 1"),
    ],
)
def test_a_bad_answer_is_asked_for_again(sketch: Path, tmp_path: Path, step: int, bad: str, why: str) -> None:
    """Slices that are not there and edges in pixels are told, with the same picture."""
    good = [RANGES, BLOCKS]
    root = sketch / "rexgroundingct"
    done = read(root, tmp_path / "run", in_turn(*good[:step], bad, *good[step:]))
    assert done.reading.error is None
    again = done.asked[step + 1]
    assert why in again.last
    assert same_pixels(again.pictures[0], done.asked[step].pictures[0])
    failed = read(root, tmp_path / "not", in_turn(*good[:step], bad))
    assert why in (failed.reading.error or "")
    assert failed.reading.findings is None
    assert len(failed.asked) == step + 2


@pytest.mark.parametrize("workflow", ["ground", "ground-cot"])
def test_who_draws_draws(sketch: Path, tmp_path: Path, workflow: str) -> None:
    """A reader with masks is asked once a sentence, and its masks are those of any other way."""
    masks = {}
    for name, way in (("other", draw_all), ("this", workflow)):
        reader = Drawer({})
        out = tmp_path / name
        run(RunPlan("rexgroundingct", sketch / "rexgroundingct", reader, workflow=way), out)
        found = last_readings(out)
        assert all(reading.error is None for reading in found.values())
        masks[name] = {p.name: p.read_bytes() for p in (out / "arrays").iterdir()}
    assert masks["this"] == masks["other"]
    assert len(masks["this"]) == 2


def test_cases_of_another_kind_fail_alone(sketch: Path, tmp_path: Path) -> None:
    """Where there is no sentence to be found the reading says so."""
    done = scripted("mmrad", sketch / "mmrad", tmp_path / "run", answered, "ground")
    assert {r.error for r in done.readings.values()} == {"the case has no sentences to locate"}


@pytest.mark.parametrize(("workflow", "calls"), [("ground", 6), ("ground-cot", 12), ("explore", 39)])
def test_what_it_would_take(sketch: Path, workflow: str, calls: int) -> None:
    """A dry run follows each way to its end: the most that it can take for three sentences."""
    arguments = {"model": "m", "base_url": "http://127.0.0.1:1/v1"}
    root = sketch / "rexgroundingct"
    plan = RunPlan("rexgroundingct", root, "openai", arguments=arguments, workflow=workflow, use_cache=False)
    found = estimate(plan)
    assert (found.calls, found.at_least, found.failing) == (calls, False, [])


def test_answers_are_held_to_a_closed_schema(sketch: Path, tmp_path: Path) -> None:
    """Endpoints that hold a model to a schema are told one that allows nothing else."""
    done = read(sketch / "rexgroundingct", tmp_path / "run", answered)
    for asked, name in zip(done.asked, ("ranges", "blocks"), strict=True):
        assert asked.schema is not None
        assert list(asked.schema["properties"]) == asked.schema["required"] == [name]
        assert json.dumps(asked.schema).count('"additionalProperties": false') == 2
