"""MedThinkVQA: what becomes of a row, the tolerances of the loader, the identity of the writer."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import overread
from overread.errors import NotThere, ReleaseError, UnknownName, UsageError
from tests.benchmarks.medthinkvqa.entries import Copy, codes, entries, errors
from tests.jsonl_rows import read_rows, write_rows

# The published example of a row, its texts replaced by ours.
PUBLISHED: dict[str, Any] = {
    "title": "Case number 19254",
    "CLINICAL_HISTORY": "A worker with hand pain and skin changes for a year.",
    "IMAGING_FINDINGS": "Oedema of the thigh muscles. Ground-glass opacities in both lower lobes.",
    "options": {"A": "RA", "B": "Anti-synthetase", "C": "MCTD", "D": "SSc", "E": "DM / PM"},
    "correct_answer": "B",
    "correct_answer_text": "Anti-synthetase",
    "ICD Chapter": "Chapter XIII - Diseases of the musculoskeletal system",
    "ICD Block": "M30-M36 - Systemic connective tissue disorders",
    "ICD Category": "M33 - Dermatopolymyositis",
    "is_longitudinal": False,
    "timepoint_count": 1,
    "interval_text": "",
    "image_count": 1,
    "image_01_id": "6D-JPs9h",
    "image_01_path": "images/case19254/6D-JPs9h.jpg",
    "image_01_caption": "Coronal STIR image of the thighs.",
    "image_01_modality": "MRI",
    "image_01_sub_modality": "Conventional MRI",
}


def test_the_published_row_becomes_a_case(tmp_path: Path) -> None:
    """Each column of the data card's example lands in its field, seen or hidden."""
    write_rows(tmp_path / "test.jsonl", [PUBLISHED])
    (entry,) = entries(tmp_path)
    case, truth = entry.case, entry.truth
    assert truth is not None
    assert case.id == "case19254"
    assert case.history == PUBLISHED["CLINICAL_HISTORY"]
    assert [option.letter for option in case.options] == list("ABCDE")
    assert (truth.answer, truth.answer_text, truth.timepoints) == ("B", "Anti-synthetase", 1)
    assert truth.findings[0].text == PUBLISHED["image_01_caption"]
    assert truth.notes[0].modality == "MRI"
    assert truth.icd_category == "M33 - Dermatopolymyositis"
    assert truth.longitudinal is False
    assert entry.extra == {}


def padded(row: dict[str, Any], value: Any) -> dict[str, Any]:
    """All 49 slots, the unused ones filled with one value."""
    fields = ("id", "path", "caption", "modality", "sub_modality")
    return {f"image_{n:02d}_{f}": value for n in range(1, 50) for f in fields} | row


@pytest.mark.parametrize(
    "change",
    [
        lambda row: row | {"options": json.dumps(row["options"])},
        lambda row: row | {"options": list(row["options"].values())},
        lambda row: row | {"options": {k.lower(): v for k, v in row["options"].items()}},
        lambda row: padded(row, None),
        lambda row: padded(row, ""),
        lambda row: padded(row, float("nan")),
        lambda row: row | {"image_count": 3.0, "timepoint_count": 1.0, "is_longitudinal": "False"},
        lambda row: row | {"is_longitudinal": 0, "interval_text": None},
        lambda row: dict(sorted(row.items(), reverse=True)),
        lambda row: row | {"correct_answer": f" {row['correct_answer'].lower()} "},
        lambda row: {k.replace("image_03", "image_17"): v for k, v in row.items()},
    ],
    ids=[
        "json-options",
        "list-options",
        "lower-letters",
        "null-slots",
        "empty-slots",
        "nan-slots",
        "floats",
        "numbers",
        "order",
        "spaces",
        "gap",
    ],
)
def test_copies_of_the_wild_are_the_same_cases(
    copy: Copy, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    """What copies do to a row changes neither the case nor its truth, and is no error."""
    root = copy("medthinkvqa")
    before = entries(root)
    write_rows(root / "test.jsonl", [change(row) for row in read_rows(root / "test.jsonl")])
    assert entries(root) == before
    assert errors(root) == []


@pytest.mark.parametrize("form", ["jsonl", "parquet", "parquet-embedded"])
@pytest.mark.parametrize("then", ["jsonl", "parquet", "parquet-embedded"])
def test_load_write_load_is_the_identity(sketch: Path, tmp_path: Path, form: str, then: str) -> None:
    """From jsonl to any form and on to any other: equal entries, equal pixels."""
    first = overread.load("medthinkvqa", sketch / "medthinkvqa")
    overread.write(first, tmp_path / "one", form=form)
    second = overread.load("medthinkvqa", tmp_path / "one")
    overread.write(second, tmp_path / "two", form=then)
    third = overread.load("medthinkvqa", tmp_path / "two")
    assert list(first.entries()) == list(second.entries()) == list(third.entries())
    for case in first:
        for picture in case.pictures:
            assert (first.pictures.pixels(picture) == third.pictures.pixels(picture)).all()
    assert errors(tmp_path / "two") == []


def test_no_pixel_is_read_before_it_is_asked_for(copy: Copy) -> None:
    """Cases load though every picture is gone; only asking for one fails, and tells no file name."""
    root = copy("medthinkvqa")
    shutil.rmtree(root / "images")
    release = overread.load("medthinkvqa", root)
    picture = next(iter(release)).pictures[0]
    with pytest.raises(NotThere, match="the file of image-1 is not there") as told:
        release.pictures.pixels(picture)
    assert "sk000031" not in str(told.value)  # it may come up in a reader, and a name may tell
    with pytest.raises(NotThere, match=r"images/case00003/sk000031\.jpg"):
        release.source(picture.file)
    assert set(errors(root)) == {"missing-file"}


def test_a_release_may_withhold_its_truth(copy: Copy) -> None:
    """Without answers and captions the cases load, the truth is absent, and the check is a warning."""
    root = copy("medthinkvqa")
    seen = ("CLINICAL_HISTORY", "options")
    rows = [
        {k: v for k, v in row.items() if k in seen or k.endswith("_path")}
        for row in read_rows(root / "test.jsonl")
    ]
    before = [entry.case for entry in entries(root)]
    write_rows(root / "test.jsonl", rows)
    assert [entry.truth for entry in entries(root)] == [None, None]
    assert [entry.case for entry in entries(root)] == before
    assert codes(root) == ["withheld-truth"]


def test_questions_that_cannot_be_asked(sketch: Path, tmp_path: Path) -> None:
    """Unknown splits, forms, roots and cases are told with what there is instead."""
    root = sketch / "medthinkvqa"
    with pytest.raises(UsageError, match="train, test"):
        overread.load("medthinkvqa", root, "val")
    with pytest.raises(UsageError, match="--form jsonl"):
        overread.load("medthinkvqa", root, form="parquet")
    with pytest.raises(UsageError, match="does not exist"):
        overread.load("medthinkvqa", tmp_path / "none")
    with pytest.raises(UsageError, match="is a file"):
        overread.load("medthinkvqa", root / "test.jsonl")
    with pytest.raises(ReleaseError, match="no split 'test'"):
        overread.load("medthinkvqa", tmp_path)
    with pytest.raises(UnknownName, match="did you mean 'case00003'"):
        overread.load("medthinkvqa", root).entry("case0003")
    for name in ("#2", "case00004", "Case number 00004", "images/case00004/sk000041.jpg"):
        assert overread.load("medthinkvqa", root).entry(name).case.id == "case00004"
    other = tmp_path / "other"
    other.mkdir()
    (other / "test.jsonl").write_text("{}\n")
    with pytest.raises(UsageError, match="already"):
        overread.write(overread.load("medthinkvqa", root), other)
    assert [path.name for path in other.iterdir()] == ["test.jsonl"]  # and not a picture was copied
    with pytest.raises(UnknownName, match="form"):
        overread.write(overread.load("medthinkvqa", root), tmp_path, form="xml")
