"""Replaying submissions: a run whose readings are what somebody handed in."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from overread.core import ReleaseRef
from overread.errors import ReaderError, SubmissionError, UsageError
from overread.runs.submission_export import export_submission
from tests.jsonl_rows import read_rows, write_rows
from tests.runs.sketch_runs import made, ran, readings_in, run_scores, same_scores, submitted_scores


def replayed(benchmark: str, root: Path, file: Path, out: Path, **arguments: str) -> Any:
    """The reader of a submission, after a run of it."""
    reader = made("replay", ReleaseRef(benchmark, root, "test"), file=str(file), **arguments)
    ran(reader, benchmark, root, out)
    return reader


@pytest.fixture
def predictions(sketch: Path, tmp_path: Path) -> Path:
    """MedThinkVQA predictions: one right, with reasons, one that is no letter."""
    rows = read_rows(sketch / "medthinkvqa" / "test.jsonl")
    rows[0] |= {"prediction": rows[0]["correct_answer"], "prediction_rationale": "Round."}
    rows[1] |= {"prediction": "F"}
    write_rows(tmp_path / "their-model.jsonl", rows)
    return tmp_path / "their-model.jsonl"


def test_rows_become_readings(sketch: Path, predictions: Path, tmp_path: Path) -> None:
    """Letters and reasons are kept under the submission's name; what is wrong is told and fails."""
    root = sketch / "medthinkvqa"
    reader = replayed("medthinkvqa", root, predictions, tmp_path / "run")
    one, two = readings_in(tmp_path / "run").values()
    assert (one.reader, one.rationale, one.error) == ("their-model", "Round.", None)
    assert two.error == "the prediction 'F' is none of A, B, C, D, E"
    assert reader.name == "their-model"
    assert len(reader.problems) == 1
    assert reader.problems[0].startswith("the prediction 'F' is none of")
    same_scores(
        run_scores("medthinkvqa", root, test=tmp_path / "run"),
        submitted_scores("medthinkvqa", root, predictions)[0],
    )


def test_a_case_that_was_not_handed_in(sketch: Path, predictions: Path, tmp_path: Path) -> None:
    """It is a failed reading with one sentence, and stays out of a submission of the run."""
    write_rows(predictions, read_rows(predictions)[:1])
    replayed("medthinkvqa", sketch / "medthinkvqa", predictions, tmp_path / "run")
    one, two = readings_in(tmp_path / "run").values()
    assert one.error is None
    assert two.error == "nothing was handed in for this case"
    handed = export_submission(tmp_path / "run", tmp_path / "again.jsonl")
    assert (handed.written, handed.failed) == (1, 1)


@pytest.mark.parametrize("kind", ["zip", "folder"])
def test_masks_come_from_the_submission(sketch: Path, tmp_path: Path, kind: str) -> None:
    """A replayed submission of masks scores what the submission itself does."""
    root = sketch / "rexgroundingct"
    ran("random", "rexgroundingct", root, tmp_path / "first")
    out = tmp_path / ("mine.zip" if kind == "zip" else "mine")
    export_submission(tmp_path / "first", out)
    reader = replayed("rexgroundingct", root, out, tmp_path / "second", name="them")
    assert (reader.name, reader.problems) == ("them", ())
    assert {r.reader for r in readings_in(tmp_path / "second").values()} == {"them"}
    shutil.rmtree(out) if kind == "folder" else out.unlink()
    same_scores(
        run_scores("rexgroundingct", root, test=tmp_path / "first"),
        run_scores("rexgroundingct", root, test=tmp_path / "second"),
    )


def test_a_mask_that_holds_no_labels(sketch: Path, tmp_path: Path) -> None:
    """It is kept as it was handed in, and is worst when it is scored, as in grading."""
    from overread.pixels.nifti import write_volume

    root = sketch / "rexgroundingct"
    shutil.copytree(root / "segmentations", tmp_path / "mine")
    name = "test_3_a_1.nii.gz"
    write_volume(tmp_path / "mine" / name, np.full((1, 96, 72, 64), 0.5, np.float32), np.eye(4))
    replayed("rexgroundingct", root, tmp_path / "mine", tmp_path / "run")
    ours = run_scores("rexgroundingct", root, test=tmp_path / "run")
    theirs, _ = submitted_scores("rexgroundingct", root, tmp_path / "mine")
    same_scores(ours, theirs)
    assert ours["honest_mean_global_dice_per_case"] == pytest.approx(0.5)


def test_traces_and_crops(sketch: Path, tmp_path: Path) -> None:
    """Looks keep their boxes and cut-outs; the official rows of the release are a submission."""
    root = sketch / "mmrad"
    replayed("mmrad", root, root / "test.jsonl", tmp_path / "run")
    for reading in readings_in(tmp_path / "run").values():
        assert reading.trace is not None
        crops = [step.crop for step in reading.trace.steps if step.crop]
        assert len(crops) == 2
        assert all((tmp_path / "run" / crop).is_file() for crop in crops)
    found = run_scores("mmrad", root, test=tmp_path / "run")
    assert found["trace_box_iou"] == pytest.approx(1)
    assert found["trace_crop_agreement"] == found["ceiling_trace_crop_agreement"]


def test_the_identity_tells_submissions_apart(sketch: Path, predictions: Path, tmp_path: Path) -> None:
    """Another content under the same name is another reader; a run of it does not go on."""
    root = sketch / "medthinkvqa"
    reader = replayed("medthinkvqa", root, predictions, tmp_path / "run")
    assert json.loads(json.dumps(reader.identity)) == reader.identity
    place = ReleaseRef("medthinkvqa", root, "test")
    again = made("replay", place, file=str(predictions))
    assert again.identity == reader.identity
    rows = read_rows(predictions)
    write_rows(predictions, [row | {"prediction": "A"} for row in rows])
    other = made("replay", place, file=str(predictions))
    assert other.identity != reader.identity
    with pytest.raises(UsageError, match="another run"):
        ran(other, "medthinkvqa", root, tmp_path / "run")


def test_what_cannot_be_replayed(sketch: Path, predictions: Path, tmp_path: Path) -> None:
    """No file, no argument, no such argument, no release: one sentence each, before any reading."""
    place = ReleaseRef("medthinkvqa", sketch / "medthinkvqa", "test")
    with pytest.raises(UsageError, match="'file'"):
        made("replay", place)
    with pytest.raises(UsageError, match="did you mean 'file'"):
        made("replay", place, fil="x")
    with pytest.raises(SubmissionError):
        made("replay", place, file=str(tmp_path / "nowhere.jsonl"))
    with pytest.raises(UsageError, match="release"):
        made("replay", None, file=str(predictions))
    reader = made("replay", place, file=str(predictions))
    with pytest.raises(ReaderError):
        asyncio.run(reader.read(None))
