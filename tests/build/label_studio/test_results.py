"""Annotations of Label Studio taken in: what counts, what is left out, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overread
from overread import catalog
from overread.build.label_studio.brush import decode_brush, encode_brush
from overread.build.label_studio.results import take_in_annotations
from overread.build.release.export_formats import export_release
from overread.errors import PictureError, SubmissionError, UsageError
from overread.pixels.masks import read_channel
from tests.build.release.tilted_release import BIG, SHAPE, SMALL, release_of, tilted

# Packed by label_studio_sdk 2.1.2: mask2rle of the 3×2 mask [[0, 255], [255, 255], [0, 0]].
SDK_PACKED = [0, 0, 0, 24, 57, 27, 252, 96, 22, 255, 231, 0, 0]


def annotated(tasks: list[dict[str, Any]], file: Path) -> Path:
    """Tasks of which the first annotation is their prediction, as Label Studio exports them."""
    rows = [
        {"id": n, "data": task["data"], "annotations": [annotation(task["predictions"][0]["result"])]}
        for n, task in enumerate(tasks)
    ]
    file.write_text(json.dumps(rows))
    return file


def annotation(result: list[Any], person: Any = 1, at: str = "2026-01-01T00:00:00Z") -> dict[str, Any]:
    """One annotation of a person."""
    return {"result": result, "completed_by": person, "was_cancelled": False, "updated_at": at}


@pytest.fixture
def scan(tmp_path: Path) -> tuple[Path, list[dict[str, Any]]]:
    """A release of one scan, and its tasks with the truth in them."""
    root = release_of(tmp_path / "release", tilted("PIR"), splits=("train",))
    export_release("label-studio", "rexgroundingct", root, tmp_path / "out", style="prefilled")
    tasks: list[dict[str, Any]] = json.loads((tmp_path / "out/tasks.json").read_text())
    return root, tasks


def test_masks_go_out_and_come_back_voxel_by_voxel(
    scan: tuple[Path, list[dict[str, Any]]], tmp_path: Path
) -> None:
    """The truth as brush masks, taken in again, is the truth; the format is the benchmark's."""
    root, tasks = scan
    file = annotated(tasks, tmp_path / "export.json")
    done = take_in_annotations("rexgroundingct", root, "train", file, tmp_path / "masks")
    assert (done.written, done.notes) == (1, ())
    for number, mask in enumerate((BIG, SMALL)):
        back = read_channel(tmp_path / "masks/train_1_a_1.nii.gz", number, SHAPE, 2)
        assert np.array_equal(back > 0, mask > 0)


def test_blank_tasks_have_no_truth(tmp_path: Path) -> None:
    """Without a style nothing of the masks stands in the tasks; of test never."""
    root = release_of(tmp_path / "release", tilted(), splits=("train", "test"))
    export_release("label-studio", "rexgroundingct", root, tmp_path / "blank")
    tasks = json.loads((tmp_path / "blank/tasks.json").read_text())
    assert [list(task) for task in tasks] == [["data"], ["data"]]
    export_release("label-studio", "rexgroundingct", root, tmp_path / "filled", style="prefilled")
    filled = json.loads((tmp_path / "filled/tasks.json").read_text())
    assert [task["data"]["split"] for task in filled if "predictions" in task] == ["train"]


def test_the_last_annotation_of_one_person_counts(
    scan: tuple[Path, list[dict[str, Any]]], tmp_path: Path
) -> None:
    """Cancelled ones do not; of two people one must be chosen."""
    root, tasks = scan
    whole = tasks[0]["predictions"][0]["result"]
    first = [one for one in whole if one["value"]["brushlabels"] == ["finding 0"]]
    skipped = annotation([], at="2027-01-01T00:00:00Z") | {"was_cancelled": True}
    rows = [{"data": tasks[0]["data"], "annotations": [annotation(first, at="2026-02"), skipped]}]
    rows[0]["annotations"].append(annotation(whole, at="2026-01"))
    file = tmp_path / "export.json"
    file.write_text(json.dumps(rows))
    done = take_in_annotations("rexgroundingct", root, "train", file, tmp_path / "masks")
    assert "the last one counts" in done.notes[0]
    assert "no mask was drawn for finding 1" in done.notes[1]
    assert not read_channel(tmp_path / "masks/train_1_a_1.nii.gz", 1, SHAPE, 2).any()
    rows[0]["annotations"].append(annotation(whole, {"id": 7, "email": "b@example.org"}))
    file.write_text(json.dumps(rows))
    with pytest.raises(UsageError, match=r"by 2 people \(1, b@example.org\).*--annotator"):
        take_in_annotations("rexgroundingct", root, "train", file, tmp_path / "other")
    for person in ("7", "b@example.org"):
        out = tmp_path / f"of-{person}"
        take_in_annotations("rexgroundingct", root, "train", file, out, annotator=person)
        assert read_channel(out / "train_1_a_1.nii.gz", 1, SHAPE, 2).any()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rle": [1, 2, 3]}, "a brush mask is cut off"),
        ({"rle": "abc"}, "a brush mask is cut off"),
        ({"rle": [999] * 40}, "not a list of bytes"),
        ({"rle": encode_brush(np.ones((3, 3)))}, "bytes of 8 bits for a picture of"),
    ],
)
def test_a_damaged_brush_costs_its_case_and_says_so(
    scan: tuple[Path, list[dict[str, Any]]], tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    """With no other case there is nothing to hand in, and the sentence says why."""
    root, tasks = scan
    tasks[0]["predictions"][0]["result"][0]["value"] |= change
    file = annotated(tasks, tmp_path / "export.json")
    with pytest.raises(SubmissionError, match=said):
        take_in_annotations("rexgroundingct", root, "train", file, tmp_path / "masks")
    assert not (tmp_path / "masks").exists()


def test_what_is_no_export_is_refused_in_one_sentence(tmp_path: Path, sketch: Path) -> None:
    """No file, no JSON, another export: each is told what to do."""
    root = sketch / "medthinkvqa"
    for text, said in (
        (None, "there is no file"),
        ("a,b", "this is no JSON"),
        ("{}", "no list of tasks"),
        ('[{"id": 1, "answer": "A"}]', "no task in it has annotations"),
    ):
        file = tmp_path / "export.json"
        if text is not None:
            file.write_text(text)
        with pytest.raises((UsageError, SubmissionError), match=said):
            take_in_annotations("medthinkvqa", root, "test", file, tmp_path / "mine.jsonl")


def test_choices_and_boxes_come_back(tmp_path: Path, sketch: Path) -> None:
    """The truth of train, prefilled and handed in, is read as a submission without a problem."""
    for benchmark in ("medthinkvqa", "mmrad"):
        root, out = sketch / benchmark, tmp_path / benchmark
        export_release("label-studio", benchmark, root, out, split="train", style="prefilled")
        file = annotated(json.loads((out / "tasks.json").read_text()), tmp_path / f"{benchmark}.json")
        mine = tmp_path / f"{benchmark}.jsonl"
        done = take_in_annotations(benchmark, root, "train", file, mine)
        release = overread.load(benchmark, root, "train")
        entries = {entry.case.id: entry for entry in release.entries()}
        assert done.written == len(entries)
        back = catalog.find("benchmarks", benchmark).read_submission(release, mine)
        assert not [one for one in back.problems if one.severity == "error"]
        for case, reading in back.readings.items():
            truth = entries[case].truth
            assert truth is not None
            assert reading.choice == truth.answer
            if truth.trace is not None:
                assert reading.trace is not None
                told, wanted = (
                    {box for step in trace.steps if step.kind == "look" for box in step.regions}
                    for trace in (reading.trace, truth.trace)
                )
                assert told == wanted


def test_rectangles_without_a_place_are_named_and_left_out(tmp_path: Path, sketch: Path) -> None:
    """Of another picture, with no number, without a size; a turned one becomes the upright one around it."""
    root = sketch / "mmrad"
    case = next(iter(overread.load("mmrad", root, "train")))
    whole = {"from_name": "place", "type": "rectanglelabels", "original_width": 100, "original_height": 100}
    value = {"x": 10, "y": 20, "width": 30, "height": 10, "rotation": 0, "rectanglelabels": ["right lung"]}
    results = [
        {**whole, "id": "a", "value": {**value, "rotation": 90}},
        {**whole, "id": "b", "item_index": -1, "value": value},
        {**whole, "id": "c", "value": {**value, "x": float("nan")}},
        {**whole, "id": "d", "value": {**value, "width": "wide"}},
        {"from_name": "place", "id": "e", "value": value},
        "nothing",
        {"from_name": "report", "value": {"text": ["Clear."]}},
    ]
    file = tmp_path / "export.json"
    file.write_text(json.dumps([{"data": {"case": case.id}, "annotations": [annotation(results)]}]))
    done = take_in_annotations("mmrad", root, "train", file, tmp_path / "mine.jsonl")
    assert len([note for note in done.notes if "has no place" in note]) == 4
    assert len([note for note in done.notes if "was turned" in note]) == 1
    assert "[0, 20, 10, 50]" in (tmp_path / "mine.jsonl").read_text()


def test_brush_masks_are_packed_as_label_studio_packs_them() -> None:
    """Its own packing is read; ours is read back for masks of every kind."""
    wanted = np.array([[0, 1], [1, 1], [0, 0]], bool)
    assert np.array_equal(decode_brush(SDK_PACKED, 2, 3), wanted)
    generator = np.random.default_rng(1)
    for density in (0.0, 0.01, 0.5, 1.0):
        mask = generator.random((129, 257)) < density
        assert np.array_equal(decode_brush(encode_brush(mask), 257, 129), mask)
    with pytest.raises(PictureError, match="cut off"):
        decode_brush(encode_brush(mask)[:8], 257, 129)
