"""Crops against boxes: cut here in known frames, resized, shifted, missing; and whole releases."""

from __future__ import annotations

import io
import json
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image as Pillow

import overread
from overread.core import Box, Case, Entry, Image, Reading, Step, Trace, Truth
from overread.errors import NotThere, PictureError
from overread.metrics.boxes import scores as boxes
from overread.metrics.contract import Metric, Subject
from overread.metrics.sample import Sample
from overread.metrics.traces import consistency, crops, findings, path, words
from overread.metrics.traces.crops import (
    CEILING_TRACE_CROP_AGREEMENT,
    TRACE_CROP_AGREEMENT,
    crop_metrics,
    judge_crop,
    likeness,
)
from overread.pixels.image_files import read_image


def film(width: int = 300, height: int = 200, seed: int = 0) -> NDArray[np.uint8]:
    """A smooth random picture, as unlike itself elsewhere as a radiograph."""
    coarse = np.random.default_rng(seed).integers(0, 256, (12, 16)).astype(np.uint8)
    image = Pillow.fromarray(coarse).resize((width, height), Pillow.Resampling.BICUBIC)
    return np.asarray(image)


def resized(picture: NDArray[Any], width: int, height: int) -> NDArray[Any]:
    image = Pillow.fromarray(picture)
    return np.asarray(image.resize((width, height), Pillow.Resampling.BICUBIC))


def jpeg(picture: NDArray[Any], quality: int = 80) -> bytes:
    out = io.BytesIO()
    Pillow.fromarray(picture).save(out, "JPEG", quality=quality)
    return out.getvalue()


def box(x1: float, y1: float, x2: float, y2: float, picture: str = "xray") -> Box:
    return Box(picture=picture, x1=x1, y1=y1, x2=x2, y2=y2, label="heart")


class Folder:
    """Files of a release or a submission, and its radiograph."""

    def __init__(self, pixels: NDArray[Any] | None = None, **files: bytes) -> None:
        self.files = files
        self._pixels = pixels

    @property
    def pictures(self) -> Any:
        return self

    def pixels(self, picture: Image) -> NDArray[Any]:
        if self._pixels is None:
            raise PictureError("the film is not there")
        return self._pixels

    def source(self, file: str) -> bytes:
        if file not in self.files:
            raise NotThere("there is no such file", where=file)
        return self.files[file]


def trace(*looks: tuple[Box | None, str | None]) -> Trace:
    return Trace(
        steps=tuple(Step(kind="look", regions=(place,) if place else (), crop=crop) for place, crop in looks)
    )


def subject(truth: Trace | None, own: Trace | None, release: Folder, files: Folder | None) -> Subject:
    pictures = (Image(name="xray", file="x.png"),)
    case = Case(id="c", benchmark="mmrad", split="test", pictures=pictures)
    entry = Entry(case=case, truth=Truth(trace=truth))
    reading = None if own is None else Reading(case_id="c", reader="r", trace=own)
    return Subject(entry, reading, release, files)


def value(metric: Metric, *subjects: Subject) -> float:
    rows = [row for one in subjects for row in metric.measure(one).values()]
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows
    return float(metric.combine(Sample(rows))[0])


@pytest.mark.parametrize("seed", range(4))
def test_likeness_is_numpys_correlation(seed: int) -> None:
    """For pictures of 64 × 64, grey or coloured, it is the correlation coefficient."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 256, (64, 64)).astype(np.uint8)
    b = rng.integers(0, 4000, (64, 64, 3)).astype(np.uint16)
    expected = np.corrcoef(a.ravel(), b.mean(axis=2).ravel())[0, 1]
    assert likeness(a, b) == pytest.approx(expected, abs=1e-6)
    assert likeness(a, a) == pytest.approx(1)
    assert likeness(a, 255 - a) == pytest.approx(-1)


def test_flat_pictures_are_alike_only_to_each_other() -> None:
    """A flat picture has no correlation: 1 with another flat one, 0 with any other."""
    flat = np.full((30, 40), 7, np.uint8)
    assert likeness(flat, flat + 90) == 1
    assert likeness(flat, film()) == 0


@pytest.mark.parametrize("stored", ["own", "small", "frame", "stretched"])
def test_true_crops_agree_in_their_frame(stored: str) -> None:
    """Cut from the film, made smaller, cut from a 336 frame of the film, or given in that frame."""
    picture = film(900, 600)
    place = box(300, 100, 750, 500) if stored in ("own", "small") else box(112, 56, 280, 280)
    frame: Any = "own" if stored in ("own", "small") else 336
    whole = picture[100:500, 300:750]
    cutouts = {
        "own": whole,
        "small": resized(whole, 90, 80),
        "frame": resized(picture, 336, 336)[56:280, 112:280],
        "stretched": whole,
    }
    told = judge_crop(picture, place, cutouts[stored], frame)
    assert told.agrees
    assert told.likeness is not None
    assert told.likeness > 0.99
    assert told.same_size == (stored != "small")
    other: Any = "own" if frame == 336 else 336
    assert not judge_crop(picture, place, cutouts[stored], other).agrees


@pytest.mark.parametrize("shift", [(150, 0), (0, 80), (-60, -60)])
def test_crops_of_elsewhere_do_not_agree(shift: tuple[int, int]) -> None:
    """A crop of another part of the film, of another film, mirrored or squeezed is not the box."""
    picture = film()
    place = box(80, 70, 160, 110)
    x, y = shift
    moved = picture[70 + y : 110 + y, 80 + x : 160 + x]
    right = picture[70:110, 80:160]
    assert judge_crop(picture, place, right, "own").agrees
    assert not judge_crop(picture, place, moved, "own").agrees
    assert not judge_crop(picture, place, film(seed=1)[70:110, 80:160], "own").agrees
    assert not judge_crop(picture, place, right[:, ::-1], "own").agrees
    squeezed = judge_crop(picture, place, resized(right, 60, 60), "own")
    assert (squeezed.agrees, squeezed.proportions) == (False, False)
    assert squeezed.likeness is not None
    assert squeezed.likeness > 0.95


def test_boxes_beyond_the_film_are_cut_at_its_edge() -> None:
    """A box that reaches over the edge is held to what is left of it; one outside, or inverted, fails."""
    picture = film()
    assert judge_crop(picture, box(200, 120, 400, 1e300), picture[120:, 200:], "own").agrees
    for place in (box(400, 10, 500, 50), box(50, 50, 10, 10), box(20, 20, 20, 90)):
        told = judge_crop(picture, place, picture[:50, :50], "own")
        assert not told.agrees
        assert told.why == "the box holds no pixel of the film"


def test_rounding_of_small_boxes_is_no_disagreement() -> None:
    """Boxes with fractions, cut at the nearest pixel, keep their proportions."""
    picture = film(60, 60)
    place = box(10.4, 10.4, 25.6, 40.6)
    assert judge_crop(picture, place, resized(picture[10:41, 10:26], 15, 30), "own").agrees


def test_a_trace_is_read_in_one_frame() -> None:
    """The frame in which more looks agree holds for all of them, and a setting can fix it."""
    picture = film(900, 600)
    stretched = jpeg(picture[100:500, 300:750])
    own = jpeg(picture[56:280, 112:280])
    release = Folder(picture, a=stretched, b=jpeg(resized(picture, 336, 336)[10:99, 9:88]), c=own)
    mixed = trace((box(112, 56, 280, 280), "a"), (box(9, 10, 88, 99), "b"), (box(112, 56, 280, 280), "c"))
    one = subject(mixed, mixed, release, release)
    row = TRACE_CROP_AGREEMENT.measure(one)[""]
    assert (row["frame"], row["crops"]) == ("336", 3)
    assert [look["agrees"] for look in row["looks"]] == [True, True, False]
    assert value(TRACE_CROP_AGREEMENT, one) == pytest.approx(2 / 3)
    fixed, ceiling = crop_metrics(("own",))
    assert fixed.settings["frames"] == ["own"]
    assert value(fixed, one) == value(ceiling, one) == pytest.approx(1 / 3)
    assert pickle.loads(pickle.dumps(fixed)).measure.keywords == {"frames": ("own",)}


def test_crops_that_cannot_be_judged_do_not_agree() -> None:
    """No box, no such file, no files at all, no picture, another picture: each says why, and is 0."""
    picture = film()
    place = box(80, 70, 160, 110)
    release = Folder(picture, a=jpeg(picture[70:110, 80:160]), junk=b"\xff\xd8\xffnothing")
    truth = trace((place, "a"))
    looks: tuple[tuple[Box | None, str, str], ...] = (
        (None, "a", "the look has no box"),
        (place, "lost", "the crop cannot be read"),
        (place, "junk", "the crop cannot be read"),
        (box(80, 70, 160, 110, "ct"), "a", "the box lies in no picture of the case"),
    )
    for at, crop, why in looks:
        one = subject(truth, trace((at, crop), (place, "a")), release, release)
        row = TRACE_CROP_AGREEMENT.measure(one)[""]
        assert (row["agree"], row["looks"][0]["why"]) == (0.5, why)
    assert value(TRACE_CROP_AGREEMENT, subject(truth, truth, release, None)) == 0
    with pytest.raises(ValueError, match="without the files of its release"):
        TRACE_CROP_AGREEMENT.measure(
            Subject(subject(truth, truth, release, None).entry, Reading(case_id="c", reader="r", trace=truth))
        )
    with pytest.raises(PictureError):
        TRACE_CROP_AGREEMENT.measure(subject(truth, truth, Folder(), release))


def test_missing_crops_are_worst_and_the_reference_is_the_ceiling() -> None:
    """A reading without trace or crops scores 0; the reference gets its ceiling, here a half."""
    picture = film()
    release = Folder(picture, a=jpeg(picture[70:110, 80:160]))
    place = box(80, 70, 160, 110)
    truth = trace((place, "a"), (box(10, 10, 60, 60), "a"))
    ceiling = value(CEILING_TRACE_CROP_AGREEMENT, subject(truth, None, release, None))
    assert ceiling == 0.5
    assert TRACE_CROP_AGREEMENT.ceiling == CEILING_TRACE_CROP_AGREEMENT.name
    assert value(TRACE_CROP_AGREEMENT, subject(truth, truth, release, release)) == ceiling
    better = trace((place, "a"), (place, None))
    assert value(TRACE_CROP_AGREEMENT, subject(truth, better, release, release)) == 1
    for own in (None, Trace(), trace((place, None))):
        one = subject(truth, own, release, release)
        assert value(TRACE_CROP_AGREEMENT, one) == TRACE_CROP_AGREEMENT.worst == 0
    for none in (trace((place, None)), None):
        one = subject(none, truth, release, release)
        assert TRACE_CROP_AGREEMENT.measure(one) == {}
        assert CEILING_TRACE_CROP_AGREEMENT.measure(one) == {}
    assert math.isnan(CEILING_TRACE_CROP_AGREEMENT.worst)


ALL = [
    thing
    for module in (boxes, path, crops, words, consistency, findings)
    for thing in vars(module).values()
    if isinstance(thing, Metric)
]


@pytest.mark.parametrize("metric", ALL, ids=lambda m: m.name)
def test_a_sketched_release_scores_its_own_truth_best(metric: Metric, sketch: Path) -> None:
    """The traces of a release, handed in as readings, reach the best value; nothing the worst."""
    release = overread.load("mmrad", sketch / "mmrad", "test")
    perfect, missing = [], []
    for entry in release.entries():
        assert entry.truth is not None
        reading = Reading(
            case_id=entry.case.id,
            reader="itself",
            trace=entry.truth.trace,
            report=entry.truth.report,
            findings=entry.truth.findings,
        )
        perfect.append(Subject(entry, reading, release, release))
        missing.append(Subject(entry, None, release, None))
    assert len(perfect) == 2
    assert value(metric, *perfect) == pytest.approx(metric.best)
    if metric.name.startswith("ceiling_"):
        assert value(metric, *missing) == pytest.approx(metric.best)
    else:
        assert value(metric, *missing) == metric.worst == 0


def test_names_and_settings_are_complete() -> None:
    """Every metric has its own name, a reference and settings; ceilings that are named exist."""
    names = [metric.name for metric in ALL]
    assert len(set(names)) == len(names) == 24
    for metric in ALL:
        assert metric.reference
        assert metric.settings
        assert not metric.ceiling or metric.ceiling in names
        json.dumps(dict(metric.settings))


def test_thinking_rows_are_scored_without_crops_and_report(copy: Any) -> None:
    """Question rows have looks in their thinking and an answer's box: path and boxes are judged."""
    root = copy("mmrad")
    response = (
        "The right lung ([10, 10, 90, 120]) is clear. The heart (cardiac silhouette "
        "[80, 90, 140, 150]) is enlarged. <answer>Cardiomegaly</answer><location><ref>heart</ref>"
        "<box>[80, 90, 140, 150]</box></location>"
    )
    row = {"image_path": "/a.jpg", "question": "What?", "question_type": "open", "response": response}
    (root / "test.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    release = overread.load("mmrad", root, "test")
    (entry,) = release.entries()
    assert entry.truth is not None
    reading = Reading(case_id=entry.case.id, reader="itself", trace=entry.truth.trace)
    one = Subject(entry, reading, release, release)
    told = boxes.BOX_IOU.measure(one)[""]
    assert (told["true_boxes"], told["iou"]) == (1, 1)
    assert path.measure_path(one)[""]["asked"] == 2
    assert value(path.TRACE_ORDER, one) == 1
    assert TRACE_CROP_AGREEMENT.measure(one) == {}
    assert consistency.measure_consistency(one) == {}


@pytest.mark.shared
def test_crops_of_real_films_agree_with_their_boxes_only(shared: Path) -> None:
    """Cut from a stretched film and stored as JPEG, a crop agrees with its box, not with others."""
    rng = np.random.default_rng(0)
    right, wrong = 0, 0
    films = sorted((shared / "cxr" / "images").iterdir())[::6]
    for file in films:
        picture = read_image(file)
        small = resized(picture, 336, 336)
        x, y = rng.integers(0, 150, 2).tolist()
        place, other = box(x, y, x + 150, y + 120), box(150 - x, 200 - y, 300 - x, 320 - y)
        cutout = read_image(jpeg(small[y : y + 120, x : x + 150], 75))
        right += judge_crop(picture, place, cutout, 336).agrees
        wrong += judge_crop(picture, other, cutout, 336).agrees
    assert (right, wrong) == (len(films), 0)
    assert len(films) > 5
