"""The workflow `ground-cot`: whole scan → lung → lobe → segment → lesion, the chain recorded."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overread
from overread.core import Box, Mask, Slices, Whole
from overread.pixels.geometry import to_ras
from overread.pixels.masks import read_channel
from overread.pixels.montages import slice_montage
from overread.pixels.relative_boxes import RelativeBox
from overread.workflows.ground_cot import structure_names
from tests.workflows.scripted_model import Asked, Record, js, kinds, same_pixels, scripted, shown_regions

WINDOWS = ("lung", "mediastinum")
LUNG = {"structure": "right lung", "first_slice": 10, "last_slice": 49}
LUNG |= {"left": 0.0, "top": 0.2, "right": 0.5, "bottom": 0.8}
HALF = {"first_slice": 30, "last_slice": 39, "left": 0.0, "top": 0.0, "right": 0.5, "bottom": 0.5}


def level_of(asked: Asked) -> str:
    """Which level a question asks for."""
    found = re.search(r'Now the level "(\w+)"', asked.words)
    return found[1] if found else "lesion"


def answered(asked: Asked) -> str:
    """A finding in the right lung, and each time in the upper left quarter of what is shown."""
    level = level_of(asked)
    if level == "lung":
        return js(thought="It is on the right.", places=[LUNG])
    if level == "lesion":
        return js(thought="A nodule.", blocks=[HALF])
    named = {"lobe": "right upper lobe", "segment": "apical segment of the right upper lobe"}
    return js(thought=f"In the {level}.", places=[{"structure": named[level], **HALF}])


def read(root: Path, out: Path, script: Any = answered, **more: Any) -> Record:
    settings = {"slices": 8, "longest": 512}
    more = {"limit": 1, "settings": settings, **more}
    return scripted("rexgroundingct", root, out, script, "ground-cot", **more)


def test_the_chain(sketch: Path, tmp_path: Path) -> None:
    """Each level is a step with its slices and the edges of its structure, in whole slices."""
    done = read(sketch / "rexgroundingct", tmp_path / "run")
    reading = done.reading
    assert reading.trace is not None
    assert kinds(reading) == ["look"] * 5 + ["conclude"]
    levels = [step.text.partition(":")[0] for step in reading.trace.steps[:-1]]
    assert levels == ["scan", "lung", "lobe", "segment", "lesion"]
    assert [step.exchange for step in reading.trace.steps] == [None, 0, 1, 2, 3, None]
    scan, lung, lobe, segment, lesion, drawn = reading.trace.steps
    assert scan.regions == (Whole(picture="ct"),)
    slices, edges = lung.regions
    assert slices == Slices(picture="ct", first=10, last=49)
    release = overread.load("rexgroundingct", sketch / "rexgroundingct")
    case = next(iter(release))
    width, height = release.pictures.geometry(case.pictures[0]).shape[:2]
    assert edges == Box(
        picture="ct", x1=0, y1=int(0.2 * height), x2=width / 2, y2=np.ceil(0.8 * height),
        label="right lung",
    )  # fmt: skip
    # What was shown of the lung had a rim; its upper left quarter is the lobe.
    shown = RelativeBox(0.0, 0.2, 0.5, 0.8).widen(0.1)
    quarter = RelativeBox(0, 0, 0.5, 0.5).within(shown)
    x1, y1, x2, y2 = quarter.to_pixels(width, height)
    assert lobe.regions[1] == Box(picture="ct", x1=x1, y1=y1, x2=x2, y2=y2, label="right upper lobe")
    boxes = [step.regions[1] for step in (lung, lobe, segment, lesion)]
    areas = [(b.x2 - b.x1) * (b.y2 - b.y1) for b in boxes if isinstance(b, Box)]
    assert areas == sorted(areas, reverse=True)
    (mask,) = drawn.regions
    assert isinstance(mask, Mask)
    voxels = read_channel(tmp_path / "run" / mask.file, 0, _shape(release), 1)
    there = np.argwhere(to_ras(voxels, release.pictures.geometry(case.pictures[0])))
    assert (there[:, 2].min(), there[:, 2].max()) == (30, 39)
    # Shown slices begin at the patient's right, where RAS ends.
    assert there[:, 0].max() == width - 1


def _shape(release: Any) -> Any:
    return release.pictures.geometry(next(iter(release)).pictures[0]).shape


def test_each_level_sees_what_the_last_one_left(sketch: Path, tmp_path: Path) -> None:
    """The pixels are those of the slices and the part that were found, with a rim."""
    release = overread.load("rexgroundingct", sketch / "rexgroundingct")
    case = next(iter(release))
    volume = release.pictures.pixels(case.pictures[0])
    space = release.pictures.geometry(case.pictures[0])
    done = read(sketch / "rexgroundingct", tmp_path / "run")
    assert [level_of(asked) for asked in done.asked] == ["lung", "lobe", "segment", "lesion"]

    def sheet(region: Any, part: RelativeBox | None, count: int, largest: int) -> Any:
        return slice_montage(
            volume, space, region,
            windows=WINDOWS, count=count, longest=512, part=part, largest=largest,
        )  # fmt: skip

    whole = sheet(Whole(picture="ct"), None, 8, 320)
    near = Slices(picture="ct", first=6, last=53)
    part = RelativeBox(0.0, 0.2, 0.5, 0.8).widen(0.1)
    lung = sheet(near, part, 4, 512)
    nearer = Slices(picture="ct", first=29, last=40)
    lobe = sheet(nearer, RelativeBox(0, 0, 0.5, 0.5).within(part).widen(0.1), 4, 512)
    for asked, wanted in zip(done.asked, (whole, lung, lobe), strict=False):
        (sent,) = asked.pictures
        assert same_pixels(sent, wanted)
    assert [r for (r,) in shown_regions(done.reading)][:3] == [Whole(picture="ct"), near, nearer]


def test_each_level_is_told_the_chain(sketch: Path, tmp_path: Path) -> None:
    """What was found before, and only the segments of the lobe that was named."""
    lung, lobe, segment, lesion = read(sketch / "rexgroundingct", tmp_path / "run").asked
    assert "nothing yet" in lung.words
    assert "- lung: right lung (slices 10 to 49). It is on the right." in lobe.words
    assert "right middle lobe" in lobe.words
    assert "- lobe: right upper lobe" in segment.words
    assert "anterior segment of the right upper lobe" in segment.words
    assert "right middle lobe" not in segment.words
    assert lesion.words.count("\n- ") == 3


def test_a_level_that_does_not_apply(sketch: Path, tmp_path: Path) -> None:
    """An effusion has no lobe: the level is passed over, and the search stays where it was."""

    def pleural(asked: Asked) -> str:
        level = level_of(asked)
        if level == "lung":
            return js(thought="Fluid.", places=[LUNG | {"structure": "right pleural space"}])
        if level == "lesion":
            return js(thought="", blocks=[])
        return js(thought="Fluid lies outside of the lung.", places=[])

    done = read(sketch / "rexgroundingct", tmp_path / "run", pleural)
    assert done.reading.trace is not None
    lobe = done.reading.trace.steps[2]
    assert lobe.text == "lobe: Fluid lies outside of the lung."
    assert lobe.regions == (Slices(picture="ct", first=6, last=53),)
    assert same_pixels(done.asked[1].pictures[0], done.asked[3].pictures[0])
    assert "- lobe: does not apply." in done.asked[3].words
    release = overread.load("rexgroundingct", sketch / "rexgroundingct")
    mask = (done.reading.findings or ())[0].regions[0]
    assert isinstance(mask, Mask)
    assert not read_channel(tmp_path / "run" / mask.file, 0, _shape(release), 1).any()


@pytest.mark.parametrize("level", ["lung", "lobe", "segment", "lesion"])
def test_a_bad_answer_at_any_level(sketch: Path, tmp_path: Path, level: str) -> None:
    """It is asked for again; a reader that cannot fails the case with one sentence."""
    beyond = HALF | {"last_slice": 64, "structure": "somewhere"}
    bad = js(places=[beyond], blocks=[beyond])

    def once(asked: Asked) -> str:
        return bad if level_of(asked) == level and asked.turns == 1 else answered(asked)

    def never(asked: Asked) -> str:
        return bad if level_of(asked) == level else answered(asked)

    done = read(sketch / "rexgroundingct", tmp_path / "run", once)
    assert done.reading.error is None
    assert len(done.asked) == 5
    assert "0 to 63" in next(asked for asked in done.asked if asked.turns == 3).last
    failed = read(sketch / "rexgroundingct", tmp_path / "not", never).reading
    assert failed.error == "the answer could not be used: the slices of this CT are 0 to 63"
    before = ["scan", "lung", "lobe", "segment", "lesion"].index(level)
    assert len(failed.trace.steps if failed.trace else ()) == before


def test_segments_of_an_unknown_lobe() -> None:
    """Where no lobe was named, all eighteen segments are offered."""
    assert len(structure_names("segment", ["lingula"]).split(", ")) == 18
