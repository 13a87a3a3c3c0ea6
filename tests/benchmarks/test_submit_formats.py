"""What each official format holds of a reading, and what it cannot."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest

import overread
from overread.core import Box, Finding, Reading, Step, Trace, Whole
from overread.errors import ReleaseError, UsageError
from overread.runs.submission_export import export_submission
from tests.jsonl_rows import read_rows, write_rows
from tests.runs.sketch_runs import ran, readings_in, rewritten, run_scores, same_scores, submitted_scores

ONE, TWO = "test_3_a_1.nii.gz", "test_4_a_1.nii.gz"


# ---- MedThinkVQA ---------------------------------------------------------------------------


def twi(reading: Reading) -> Reading:
    """A reading with everything that the format holds."""
    findings = tuple(
        Finding(text=f"Seen in picture {n}.", regions=(Whole(picture=f"image-{n}"),)) for n in (1, 3)
    )
    return reading.model_copy(
        update={
            "rationale": "It is round.",
            "findings": findings,
            "report": "Two nodules.",
            "discussion": "Nodules are round.",
            "trace": Trace(steps=(Step(kind="conclude", text="Others are not round."),)),
            "probabilities": {"A": 2.0, "B": 1.0, "D": 1.0},
        }
    )


def test_original_rows_are_unchanged(copy: Any, tmp_path: Path) -> None:
    """Every field of the row stays as it lies in the file, also those of nobody's, nulls, quirks."""
    root = copy("medthinkvqa")
    rows = read_rows(root / "test.jsonl")
    rows[0] |= {"interval_text": "", "note": {"k": [1, None]}, "image_09_path": None}
    rows[0]["options"] = json.dumps(rows[0]["options"])
    rows[1] |= {"prediction": "E", "prediction_rationale": "somebody else's"}
    write_rows(root / "test.jsonl", rows)
    ran("oracle", "medthinkvqa", root, tmp_path / "run")
    export_submission(tmp_path / "run", tmp_path / "mine.jsonl")
    for row, sent in zip(rows, read_rows(tmp_path / "mine.jsonl"), strict=True):
        added = {k: v for k, v in sent.items() if k.startswith("prediction")}
        own = {k: v for k, v in row.items() if not k.startswith("prediction")}
        assert {k: v for k, v in sent.items() if k not in added} == own
        assert list(sent)[: len(own)] == list(own)
        assert added["prediction"] == row["correct_answer"]
        assert added["prediction_rationale"] == row["IMAGING_FINDINGS"]


def test_rows_of_parquet_go_out_as_the_layout_has_them(sketch: Path, tmp_path: Path) -> None:
    """A parquet release is handed in as jsonl rows that are read back without a warning."""
    release = overread.load("medthinkvqa", sketch / "medthinkvqa")
    overread.write(release, tmp_path / "parquet", form="parquet")
    ran("oracle", "medthinkvqa", tmp_path / "parquet", tmp_path / "run")
    export_submission(tmp_path / "run", tmp_path / "mine.jsonl")
    found, submission = submitted_scores("medthinkvqa", sketch / "medthinkvqa", tmp_path / "mine.jsonl")
    assert submission.problems == []
    assert found["accuracy"] == 1


def test_everything_that_a_row_can_say(sketch: Path, tmp_path: Path) -> None:
    """Steps, reasons, discussion and probabilities go out and come back."""
    run, root = tmp_path / "run", sketch / "medthinkvqa"
    ran("oracle", "medthinkvqa", root, run)
    rewritten(run, twi)
    export_submission(run, tmp_path / "mine.jsonl")
    row = read_rows(tmp_path / "mine.jsonl")[0]
    assert row["prediction_rationale"] == "It is round."
    assert row["prediction_discussion"] == "Nodules are round."
    assert row["prediction_probabilities"] == {"A": 0.5, "B": 0.25, "C": 0, "D": 0.25, "E": 0}
    first, *_ = row["prediction_twi"].values()
    assert first[:3] == ["Seen in picture 1.", "", "Seen in picture 3."]
    assert row["prediction_twi"]["step2_integrated_summary"] == "Two nodules."
    assert row["prediction_twi"]["step3_differential_reasoning"] == "Others are not round."
    found, submission = submitted_scores("medthinkvqa", root, tmp_path / "mine.jsonl")
    same_scores(run_scores("medthinkvqa", root, test=run), found)
    back = next(iter(submission.readings.values()))
    assert [f.text for f in back.findings or ()] == ["Seen in picture 1.", "Seen in picture 3."]
    assert (back.rationale, back.report, back.discussion) == (
        "It is round.",
        "Two nodules.",
        "Nodules are round.",
    )


def test_a_model_s_json_is_handed_in_as_words(sketch: Path, tmp_path: Path) -> None:
    """Where the reasons are a JSON answer, its explanation goes out, and judges see the same."""
    run, root = tmp_path / "run", sketch / "medthinkvqa"
    ran("oracle", "medthinkvqa", root, run)
    said = json.dumps({"answer": "A", "explanation": "It is round."})
    steps = Trace(steps=(Step(kind="conclude", text=said),))
    rewritten(run, lambda r: r.model_copy(update={"rationale": said, "trace": steps}))
    export_submission(run, tmp_path / "mine.jsonl")
    for row in read_rows(tmp_path / "mine.jsonl"):
        assert row["prediction_rationale"] == "It is round."
        assert row["prediction_twi"]["step3_differential_reasoning"] == "It is round."
    found, _ = submitted_scores("medthinkvqa", root, tmp_path / "mine.jsonl")
    same_scores(run_scores("medthinkvqa", root, test=run), found)


@pytest.mark.parametrize("wrong", [{"A": 0.0}, {"A": -1.0, "B": 3.0}, {}])
def test_impossible_probabilities_stay_here(sketch: Path, tmp_path: Path, wrong: Any) -> None:
    """Numbers that are no probabilities are not handed in; the letter is."""
    run = tmp_path / "run"
    ran("oracle", "medthinkvqa", sketch / "medthinkvqa", run)
    rewritten(run, lambda r: r.model_copy(update={"probabilities": wrong}))
    export_submission(run, tmp_path / "mine.jsonl")
    for row in read_rows(tmp_path / "mine.jsonl"):
        assert row["prediction"] == row["correct_answer"]
        assert "prediction_probabilities" not in row


@pytest.mark.parametrize("choice", [None, "F", "Sarcoidosis"])
def test_no_letter_is_no_prediction(sketch: Path, tmp_path: Path, choice: str | None) -> None:
    """A reading that chose none of the options is left out and named."""
    run = tmp_path / "run"
    ran("oracle", "medthinkvqa", sketch / "medthinkvqa", run)
    first = next(iter(readings_in(run)))
    rewritten(run, lambda r: r.model_copy(update={"choice": choice}) if r.case_id == first else r)
    handed = export_submission(run, tmp_path / "mine.jsonl")
    assert (handed.written, handed.failed) == (1, 1)
    assert handed.notes == (f"{first} is left out: no option was chosen",)


def test_a_damaged_release_is_told(copy: Any, tmp_path: Path) -> None:
    """A row that is no case ends the writing with a sentence, and no file appears."""
    root = copy("medthinkvqa")
    ran("oracle", "medthinkvqa", root, tmp_path / "run")
    with (root / "test.jsonl").open("a") as rows:
        rows.write("{\n")
    with pytest.raises(ReleaseError):
        export_submission(tmp_path / "run", tmp_path / "mine.jsonl")
    assert not (tmp_path / "mine.jsonl").exists()


# ---- ReXGroundingCT ------------------------------------------------------------------------


@pytest.mark.parametrize("out", ["mine.zip", "masks"])
def test_masks_are_flat_and_official(sketch: Path, tmp_path: Path, out: str) -> None:
    """One uint8 file a scan, (F, H, W, D), with the CT's affine, in a zip or a folder."""
    root = sketch / "rexgroundingct"
    ran("random", "rexgroundingct", root, tmp_path / "run")
    export_submission(tmp_path / "run", tmp_path / out)
    folder = tmp_path / out
    if out == "mine.zip":
        with zipfile.ZipFile(folder) as archive:
            assert archive.namelist() == [ONE, TWO]
            assert archive.testzip() is None
            archive.extractall(tmp_path / "unpacked")
        folder = tmp_path / "unpacked"
    assert sorted(path.name for path in folder.iterdir()) == [ONE, TWO]
    for entry in overread.load("rexgroundingct", root).entries():
        mask: Any = nibabel.load(folder / entry.case.pictures[0].file)
        scan: Any = nibabel.load(root / "images" / entry.case.pictures[0].file)
        assert mask.shape == (len(entry.case.queries), *scan.shape)
        assert mask.get_data_dtype() == np.uint8
        assert np.allclose(mask.affine, scan.affine)


def test_masks_of_other_files_are_put_together(sketch: Path, tmp_path: Path) -> None:
    """Channels in another order, and single entities, come out in the order of the list."""
    root, run = sketch / "rexgroundingct", tmp_path / "run"
    ran("oracle", "rexgroundingct", root, run)
    truth = nibabel.load(root / "segmentations" / TWO).get_fdata()

    def turned(reading: Reading) -> Reading:
        """Each finding has the mask of the other one, and of its first entity alone."""
        findings = reading.findings or ()
        regions = [f.regions[0].model_copy(update={"entity": 1}) for f in reversed(findings)]
        pairs = zip(findings, regions, strict=True)
        changed = tuple(f.model_copy(update={"regions": (r,)}) for f, r in pairs)
        return reading.model_copy(update={"findings": changed})

    rewritten(run, turned)
    assert export_submission(run, tmp_path / "masks").notes == ()
    found: Any = nibabel.load(tmp_path / "masks" / TWO)
    assert np.array_equal(found.get_fdata(), truth[::-1] == 1)
    same_scores(
        run_scores("rexgroundingct", root, test=run),
        submitted_scores("rexgroundingct", root, tmp_path / "masks")[0],
    )


def test_a_finding_without_a_mask_is_empty(sketch: Path, tmp_path: Path) -> None:
    """The format cannot say that one finding was not attempted: its channel is empty, and told."""
    root, run = sketch / "rexgroundingct", tmp_path / "run"
    ran("oracle", "rexgroundingct", root, run)

    def short(reading: Reading) -> Reading:
        last = len(reading.findings or ()) - 1
        return reading.model_copy(update={"findings": (reading.findings or ())[last:]})

    rewritten(run, short)
    handed = export_submission(run, tmp_path / "masks")
    told = "test_4_a_1: no mask was drawn for finding 0; it is handed in as empty"
    assert handed.notes == (told,)
    found: Any = nibabel.load(tmp_path / "masks" / TWO)
    assert [bool(channel.any()) for channel in found.get_fdata()] == [False, True]


def test_a_lost_mask_costs_its_scan(sketch: Path, tmp_path: Path) -> None:
    """A file of the run that is gone, or is none of its own, leaves that scan out by name."""
    root, run = sketch / "rexgroundingct", tmp_path / "run"
    ran("oracle", "rexgroundingct", root, run)
    (run / "arrays" / ONE).unlink()
    handed = export_submission(run, tmp_path / "mine.zip")
    assert (handed.written, handed.failed) == (1, 1)
    assert "test_3_a_1 is left out: its mask cannot be used (there is no file" in handed.notes[0]
    (run / "arrays" / ONE).symlink_to(root / "segmentations" / ONE)
    assert "link" in export_submission(run, tmp_path / "two.zip").notes[0]


def test_no_cts_are_needed_for_masks_that_are_official(copy: Any, tmp_path: Path) -> None:
    """Where the CTs are not here, shape and affine come from the list and the mask itself."""
    root = copy("rexgroundingct")
    ran("random", "rexgroundingct", root, tmp_path / "run")
    export_submission(tmp_path / "run", tmp_path / "with.zip")
    shutil.rmtree(root / "images")
    assert export_submission(tmp_path / "run", tmp_path / "without.zip").notes == ()
    assert (tmp_path / "with.zip").read_bytes() == (tmp_path / "without.zip").read_bytes()


def test_a_folder_of_something_else_is_never_replaced(sketch: Path, tmp_path: Path) -> None:
    """--force replaces a folder of masks, and no other."""
    root = sketch / "rexgroundingct"
    ran("oracle", "rexgroundingct", root, tmp_path / "run")
    thesis = tmp_path / "thesis"
    thesis.mkdir()
    (thesis / "thesis.tex").write_text("...")
    with pytest.raises(UsageError, match="something else than what is to be written"):
        export_submission(tmp_path / "run", thesis, force=True)
    assert (thesis / "thesis.tex").exists()
    export_submission(tmp_path / "run", tmp_path / "masks")
    (tmp_path / "masks" / "old_scan.nii.gz").write_bytes(b"")
    export_submission(tmp_path / "run", tmp_path / "masks", force=True)
    assert sorted(p.name for p in (tmp_path / "masks").iterdir()) == [ONE, TWO]


# ---- MMRad ---------------------------------------------------------------------------------


def test_oracle_rows_are_the_release_again(sketch: Path, tmp_path: Path) -> None:
    """The truth handed in has the responses of the release, letter by letter, and its crops."""
    root = sketch / "mmrad"
    ran("oracle", "mmrad", root, tmp_path / "run")
    export_submission(tmp_path / "run", tmp_path / "mine.jsonl")
    for row, sent in zip(read_rows(root / "test.jsonl"), read_rows(tmp_path / "mine.jsonl"), strict=True):
        assert (sent["prompt"], sent["response"]) == (row["prompt"], row["response"])
        assert "report" not in sent
        film, *crops = sent["images"]
        assert film == row["images"][0]
        for ours, theirs in zip(crops, row["images"][1:], strict=True):
            assert (tmp_path / ours).read_bytes() == (root / theirs).read_bytes()


def looks(reading: Reading) -> Reading:
    """A reading whose steps are worded in their own way, two looks and a report."""
    boxes = [
        Box(picture="xray", x1=10.25, y1=20, x2=90, y2=280, label="right lung"),
        Box(picture="xray", x1=120, y1=100, x2=200, y2=260.5, label="cardiac silhouette"),
    ]
    old = [s.crop for s in reading.trace.steps if s.crop] if reading.trace else []
    steps = (
        Step(kind="ask", text="Where do you look first?"),
        Step(kind="look", text="", regions=(boxes[0],), exchange=0),
        Step(kind="say", text="Clear, see [1] <image>.", exchange=0),
        Step(kind="look", text="", regions=(boxes[1],), crop=old[1]),
        Step(kind="say", text="Normal heart size."),
        Step(kind="conclude", text="{...}"),
    )
    return reading.model_copy(
        update={"trace": Trace(steps=steps), "findings": None, "report": "In short: normal."}
    )


def test_looks_in_ones_own_words(sketch: Path, tmp_path: Path) -> None:
    """Looks of any workflow come back with the same places, boxes, cut-outs and report."""
    root, run = sketch / "mmrad", tmp_path / "run"
    ran("oracle", "mmrad", root, run)
    rewritten(run, looks)
    export_submission(run, tmp_path / "mine.jsonl")
    found, submission = submitted_scores("mmrad", root, tmp_path / "mine.jsonl")
    assert not [p for p in submission.problems if p.severity == "error"]
    for case, mine in readings_in(run).items():
        back = submission.readings[case]
        assert back.report == mine.report
        assert mine.trace is not None
        assert back.trace is not None
        ours, theirs = ([s for s in trace.steps if s.kind == "look"] for trace in (mine.trace, back.trace))
        assert [s.regions for s in ours] == [s.regions for s in theirs]
        assert [bool(s.crop) for s in ours] == [bool(s.crop) for s in theirs] == [False, True]
    direct = run_scores("mmrad", root, test=run)
    kept = [name for name in direct if name.startswith(("box_", "map_", "trace_box", "trace_cov"))]
    assert len(kept) > 8
    same_scores({n: direct[n] for n in kept}, {n: found[n] for n in kept})


@pytest.mark.parametrize("own_words", [False, True])
def test_confidences_go_out_and_come_back(sketch: Path, tmp_path: Path, own_words: bool) -> None:
    """How sure a reader is of its boxes is in the row, and in the reading made of it."""
    root, run = sketch / "mmrad", tmp_path / "run"
    ran("oracle", "mmrad", root, run)

    def unsure(reading: Reading) -> Reading:
        reading = looks(reading) if own_words else reading
        assert reading.trace is not None
        steps = [
            s.model_copy(
                update={
                    "regions": tuple(
                        r.model_copy(update={"confidence": r.x1 % 7 / 7}) if isinstance(r, Box) else r
                        for r in s.regions
                    )
                }
            )
            for s in reading.trace.steps
        ]
        return reading.model_copy(update={"trace": Trace(steps=tuple(steps))})

    rewritten(run, unsure)
    export_submission(run, tmp_path / "mine.jsonl")
    found, submission = submitted_scores("mmrad", root, tmp_path / "mine.jsonl")
    assert not [p for p in submission.problems if p.severity == "error"]
    for case, mine in readings_in(run).items():
        back = submission.readings[case]
        assert mine.trace is not None
        assert back.trace is not None
        ours, theirs = ([s for s in trace.steps if s.kind == "look"] for trace in (mine.trace, back.trace))
        assert [s.regions for s in ours] == [s.regions for s in theirs]
        assert any(r.confidence for s in theirs for r in s.regions if isinstance(r, Box))
    direct = run_scores("mmrad", root, test=run)
    kept = [name for name in direct if name.startswith(("map_", "box_"))]
    same_scores({n: direct[n] for n in kept}, {n: found[n] for n in kept})


def test_findings_with_boxes_become_looks(sketch: Path, tmp_path: Path) -> None:
    """A reading without a trace, but with boxes, keeps them."""
    root, run = sketch / "mmrad", tmp_path / "run"
    ran("oracle", "mmrad", root, run)
    rewritten(run, lambda r: r.model_copy(update={"trace": None}))
    export_submission(run, tmp_path / "mine.jsonl")
    _, submission = submitted_scores("mmrad", root, tmp_path / "mine.jsonl")
    for case, mine in readings_in(run).items():
        back = submission.readings[case]
        assert mine.findings
        assert back.findings
        assert [f.regions for f in back.findings] == [f.regions for f in mine.findings]
        assert [f.text for f in back.findings] == [f.text for f in mine.findings]


def test_a_report_alone_is_a_report(copy: Any, tmp_path: Path) -> None:
    """A reading without a look goes out as its report, and the truth of a stray column does not."""
    root, run = copy("mmrad"), tmp_path / "run"
    rows = read_rows(root / "test.jsonl")
    write_rows(root / "test.jsonl", [row | {"report": "the truth"} for row in rows])
    ran("oracle", "mmrad", root, run)

    def told(reading: Reading) -> Reading:
        said = Trace(steps=(Step(kind="conclude", text="Clear lungs."),))
        parts = {"trace": said, "findings": None, "report": "Clear lungs."}
        return Reading(case_id=reading.case_id, reader="r", **parts)

    rewritten(run, told)
    export_submission(run, tmp_path / "mine.jsonl")
    for row, sent in zip(rows, read_rows(tmp_path / "mine.jsonl"), strict=True):
        assert sent["report"] == "Clear lungs."
        assert "response" not in sent
        assert sent["images"] == row["images"][:1]
    assert not (tmp_path / "mine-crops").exists()


def test_a_folder_of_crops_that_is_not_ours(sketch: Path, tmp_path: Path) -> None:
    """A folder that has the name already is not touched."""
    ran("oracle", "mmrad", sketch / "mmrad", tmp_path / "run")
    (tmp_path / "mine-crops").mkdir()
    (tmp_path / "mine-crops" / "holiday.jpg").write_bytes(b"")
    with pytest.raises(UsageError, match="already exists"):
        export_submission(tmp_path / "run", tmp_path / "mine.jsonl")
    assert (tmp_path / "mine-crops" / "holiday.jpg").exists()
    assert not (tmp_path / "mine.jsonl").exists()
