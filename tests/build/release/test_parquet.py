"""Parquet exports, loaded by the real package `datasets`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overread
from overread.build.release import parquet
from overread.build.release.export_formats import export_release
from overread.core import Mask
from overread.pixels.masks import read_channel

datasets = pytest.importorskip("datasets")

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`datasets.load_dataset`, without a network and with a cache of its own."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    datasets.disable_progress_bars()

    def loaded(folder: Path) -> Any:
        return datasets.load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))

    return loaded


def test_diagnosis_cases_load_with_their_pictures(sketch: Path, tmp_path: Path, load: Any) -> None:
    """Pictures decode to the release's pixels, options and answers are those of the entries."""
    export_release("parquet", "medthinkvqa", sketch / "medthinkvqa", tmp_path / "out")
    data = load(tmp_path / "out")
    assert set(data) == {"train", "test"}
    assert isinstance(data["train"].features["images"].feature, datasets.Image)
    release = overread.load("medthinkvqa", sketch / "medthinkvqa", "train")
    for row, entry in zip(data["train"], release.entries(), strict=True):
        assert entry.truth is not None
        assert row["id"] == entry.case.id
        assert row["answer"] == entry.truth.answer
        assert [o["text"] for o in row["options"]] == [o.text for o in entry.case.options]
        assert row["image_modalities"] == ["CT", "CT", "X-ray"]
        for picture, image in zip(entry.case.pictures, row["images"], strict=True):
            assert np.array_equal(np.asarray(image), release.pictures.pixels(picture))


def test_the_truth_of_test_is_null(sketch: Path, tmp_path: Path, load: Any) -> None:
    """Every column of the truth is null in test; asked for, it is there."""
    root = sketch / "medthinkvqa"
    export_release("parquet", "medthinkvqa", root, tmp_path / "hidden")
    hidden = load(tmp_path / "hidden")["test"]
    truth = ("title", "answer", "answer_text", "report", "discussion", "findings", "icd_category")
    assert all(hidden[column] == [None, None] for column in truth)
    assert all(history for history in hidden["history"])
    export_release("parquet", "medthinkvqa", root, tmp_path / "shown", with_test_truth=True)
    shown = load(tmp_path / "shown")["test"]
    assert all(letter in "ABCDE" for letter in shown["answer"])


def test_traces_load_with_their_crops(sketch: Path, tmp_path: Path, load: Any) -> None:
    """A step names its crop by number, and boxes and words are those of the trace."""
    export_release("parquet", "mmrad", sketch / "mmrad", tmp_path / "out")
    release = overread.load("mmrad", sketch / "mmrad", "train")
    for row, entry in zip(load(tmp_path / "out")["train"], release.entries(), strict=True):
        assert entry.truth is not None
        assert entry.truth.trace is not None
        steps = entry.truth.trace.steps
        assert [step["text"] for step in row["trace"]] == [step.text for step in steps]
        looks = [step for step in row["trace"] if step["crop"] is not None]
        assert [look["crop"] for look in looks] == list(range(len(row["crops"])))
        box = looks[0]["boxes"][0]
        width, height = row["crops"][0].size
        assert (width, height) == (box["x2"] - box["x1"], box["y2"] - box["y1"])


def test_scans_and_masks_load_as_nifti(sketch: Path, tmp_path: Path, load: Any) -> None:
    """The CT is itself, each finding a 3D mask with the CT's affine; a montage is among images."""
    root = sketch / "rexgroundingct"
    export_release("parquet", "rexgroundingct", root, tmp_path / "out")
    data = load(tmp_path / "out")
    release = overread.load("rexgroundingct", root, "train")
    for row, entry in zip(data["train"], release.entries(), strict=True):
        assert entry.truth is not None
        picture = entry.case.pictures[0]
        space = release.pictures.geometry(picture)
        assert np.array_equal(np.asarray(row["volume"].dataobj), release.pictures.pixels(picture))
        assert len(row["images"]) == 1
        for mask, finding in zip(row["masks"], entry.truth.findings, strict=True):
            region = finding.regions[0]
            assert isinstance(region, Mask)
            wanted = read_channel(release.source(region.file), region.channel, space.shape, region.channels)
            assert np.array_equal(np.asarray(mask.dataobj), wanted)
            assert np.allclose(mask.affine, np.asarray(space.affine), atol=1e-4)
    assert data["test"]["masks"] == [None, None]
    assert all(volume is not None for volume in data["test"]["volume"])


def test_large_splits_are_cut_into_shards(
    sketch: Path, tmp_path: Path, load: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a small limit each row has its own file, and all of them are the split."""
    monkeypatch.setattr(parquet, "_SHARD_BYTES", 1)
    monkeypatch.setattr(parquet, "_BATCH_BYTES", 1)
    export_release("parquet", "medthinkvqa", sketch / "medthinkvqa", tmp_path / "out")
    names = sorted(path.name for path in (tmp_path / "out/data").iterdir())
    assert names == [f"{s}-{n:05d}.parquet" for s in ("test", "train") for n in (0, 1)]
    assert len(load(tmp_path / "out")["train"]) == 2
