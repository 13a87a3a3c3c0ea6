"""MedThinkVQA broken: every defect named with its place, and no file that crashes the reading."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import overread
from overread.benchmarks.medthinkvqa.release import MedThinkVQARelease
from overread.errors import Refused, ReleaseError
from tests.benchmarks.medthinkvqa.entries import Copy, codes, entries, errors
from tests.jsonl_rows import read_rows, write_rows

BROKEN: dict[str, tuple[Callable[[dict[str, Any]], object], str, str]] = {
    "answer letter": (lambda r: r.update(correct_answer="F"), "answer-not-an-option", "correct_answer"),
    "answer text": (
        lambda r: r.update(correct_answer_text="Gout"),
        "answer-not-an-option",
        "correct_answer_text",
    ),
    "no answer": (lambda r: r.pop("correct_answer"), "missing-field", "correct_answer"),
    "count": (lambda r: r.update(image_count=7), "count-mismatch", "image_count"),
    "four options": (lambda r: r["options"].pop("E"), "bad-options", "options"),
    "twin options": (lambda r: r["options"].update(E=r["options"]["A"]), "bad-options", "options"),
    "no options": (lambda r: r.pop("options"), "missing-field", "options"),
    "odd options": (lambda r: r.update(options="{A"), "wrong-type", "options"),
    "number options": (lambda r: r.update(options={"A": 1}), "bad-options", "options"),
    "no history": (lambda r: r.pop("CLINICAL_HISTORY"), "missing-field", "CLINICAL_HISTORY"),
    "odd history": (lambda r: r.update(CLINICAL_HISTORY=[1]), "wrong-type", "CLINICAL_HISTORY"),
    "no path": (lambda r: r.pop("image_02_path"), "missing-field", "image_02_path"),
    "odd path": (lambda r: r.update(image_02_path=5), "wrong-type", "image_02_path"),
    "lost file": (lambda r: r.update(image_02_path="images/x.jpg"), "missing-file", "image-2"),
    "way out": (lambda r: r.update(image_02_path="../x.jpg"), "refused-file", "image-2"),
    "absolute": (lambda r: r.update(image_02_path="/etc/passwd"), "refused-file", "image-2"),
    "odd caption": (lambda r: r.update(image_01_caption={}), "wrong-type", "image_01_caption"),
    "odd flag": (lambda r: r.update(is_longitudinal="maybe"), "wrong-type", "is_longitudinal"),
    "sub": (lambda r: r.update(image_01_sub_modality="Tea"), "unknown-sub-modality", "image_NN_sub_modality"),
    "modality": (lambda r: r.update(image_01_modality="Tea"), "unknown-modality", "image_NN_modality"),
    "course": (lambda r: r.update(timepoint_count=3), "timepoint-mismatch", "timepoint_count"),
    "twice": (lambda r: r.update(image_02_path=r["image_01_path"]), "doubled-picture", "image_02_path"),
    "id": (lambda r: r.update(image_02_id="other"), "picture-id-mismatch", "image_02_id"),
    "a gap": (lambda r: r.pop("discussion"), "missing-value", "discussion"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_each_defect_is_named_with_its_place(copy: Copy, name: str) -> None:
    """One thing broken in row 2: its code, file, row and field are told, and row 1 is fine."""
    change, code, field = BROKEN[name]
    root = copy("medthinkvqa")
    rows = read_rows(root / "test.jsonl")
    change(rows[1])
    write_rows(root / "test.jsonl", rows)
    found = list(overread.check("medthinkvqa", root))
    assert code in {defect.code for defect in found}
    assert all(defect.row == 2 for defect in found)
    place = next(defect for defect in found if defect.code == code)
    assert place.field == field
    assert place.expected
    assert place.found


def test_duplicates_splits_and_twins(copy: Copy, tmp_path: Path) -> None:
    """Equal ids in a split are an error, across splits a warning; twin files must agree."""
    root = copy("medthinkvqa")
    rows = read_rows(root / "test.jsonl")
    write_rows(root / "test.jsonl", [*rows, rows[0]])
    assert "duplicate-id" in errors(root)
    write_rows(root / "test.jsonl", rows)
    overread.write(overread.load("medthinkvqa", root), tmp_path / "p", form="parquet")
    shutil.copy(tmp_path / "p" / "test.parquet", root)
    assert errors(root) == []
    write_rows(root / "test.jsonl", rows[:1])
    assert errors(root) == ["count-mismatch", "twin-mismatch"]
    picture = root / "images" / "case00003" / "sk000031.jpg"
    shutil.move(picture, tmp_path / "away.jpg")
    assert errors(root).count("missing-file") == 1  # told once, though two forms name it
    shutil.move(tmp_path / "away.jpg", picture)
    (root / "test.parquet").unlink()
    write_rows(root / "test.jsonl", [*rows, read_rows(root / "train.jsonl")[0]])
    assert codes(root) == ["patient-in-two-splits"]


def test_twins_must_tell_the_same(copy: Copy) -> None:
    """The jsonl says A, the parquet B: that is told, with the case."""
    root = copy("medthinkvqa")
    rows = read_rows(root / "test.jsonl")
    rows[1]["correct_answer"], rows[1]["correct_answer_text"] = "A", rows[1]["options"]["A"]
    parquet.write_table(pa.Table.from_pylist(rows), root / "test.parquet")
    (defect,) = overread.check("medthinkvqa", root)
    assert (defect.code, defect.file, defect.row) == ("twin-mismatch", "test.parquet", 2)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "empty-split"),
        (b"\n\n", "empty-split"),
        (b"[1]\n", "bad-row"),
        (b"{broken\n", "bad-row"),
        (b'{"title": "\xe9"}\n', "wrong-encoding"),
        ('{"title": "x"}'.encode("utf-16"), "wrong-encoding"),
        (b'{"title": "\\ud800"}\n', "bad-row"),
        (b"[" * 100_000, "bad-row"),
        (b"\x80\x04\x95\x00pickle", "wrong-encoding"),
    ],
)
def test_files_that_hold_no_rows(tmp_path: Path, content: bytes, code: str) -> None:
    """Whatever stands in the file, the check names it and loading raises our error or nothing."""
    (tmp_path / "test.jsonl").write_bytes(content)
    assert code in codes(tmp_path)
    if code != "empty-split":
        with pytest.raises(ReleaseError):
            entries(tmp_path)


def test_parquet_that_is_none(tmp_path: Path) -> None:
    """A pickle called parquet, and a parquet cut off, are unreadable files."""
    for content in (b"\x80\x04\x95pickle", b"PAR1" + bytes(100), b""):
        (tmp_path / "test.parquet").write_bytes(content)
        assert errors(tmp_path) == ["unreadable-file"]


def test_a_link_out_of_the_release_is_refused(copy: Copy, tmp_path: Path) -> None:
    """A picture that is a link to a file elsewhere is not opened, and the remedy is told."""
    root = copy("medthinkvqa")
    picture = root / "images" / "case00003" / "sk000031.jpg"
    outside = tmp_path / "outside.jpg"
    shutil.move(picture, outside)
    picture.symlink_to(outside)
    release = MedThinkVQARelease(root, "test")
    with pytest.raises(Refused, match="--pictures"):
        release.pictures.pixels(next(iter(release)).pictures[0])
    assert errors(root) == ["refused-file"]


def test_a_pipe_or_folder_beside_the_rows_is_no_crash(copy: Copy) -> None:
    """What is called parquet and is no file does not keep the jsonl from being read."""
    root = copy("medthinkvqa")
    os.mkfifo(root / "test.parquet")
    (root / "train.parquet").mkdir()
    assert errors(root) == []
    assert len(entries(root)) == 2
