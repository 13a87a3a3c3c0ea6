"""MedThinkVQA: the tolerances of the loader, the identity of the writer, every defect named."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import overread
from conftest import read_rows, write_rows
from overread.benchmarks.medthinkvqa.release import MedThinkVQARelease
from overread.core import Entry
from overread.errors import (
    NotThere,
    PictureError,
    Refused,
    ReleaseError,
    UnknownName,
    UsageError,
)

Copy = Callable[[str], Path]

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


def entries(root: Path, **options: Any) -> list[Entry]:
    return list(overread.load("medthinkvqa", root, **options).entries())


def codes(root: Path, **options: Any) -> list[str]:
    return [defect.code for defect in overread.check("medthinkvqa", root, **options)]


def errors(root: Path, **options: Any) -> list[str]:
    found = overread.check("medthinkvqa", root, **options)
    return [defect.code for defect in found if defect.severity == "error"]


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


def test_extra_columns_are_kept_and_hidden(copy: Copy, tmp_path: Path) -> None:
    """Columns of nobody come back out, nested ones too, and no reader sees them."""
    root = copy("medthinkvqa")
    rows = [
        row | {"hint": "B!", "meta": {"x": [1, None]}} for row in read_rows(root / "test.jsonl")
    ]
    write_rows(root / "test.jsonl", rows)
    assert entries(root)[0].extra == {"hint": "B!", "meta": {"x": [1, None]}}
    assert "B!" not in next(iter(overread.load("medthinkvqa", root))).model_dump_json()
    for form in ("jsonl", "parquet"):
        overread.write(overread.load("medthinkvqa", root), tmp_path / form, form=form)
        again = entries(tmp_path / form)
        assert again == entries(root), form


@pytest.mark.parametrize("form", ["jsonl", "parquet", "parquet-embedded"])
@pytest.mark.parametrize("then", ["jsonl", "parquet", "parquet-embedded"])
def test_load_write_load_is_the_identity(
    sketch: Path, tmp_path: Path, form: str, then: str
) -> None:
    """From jsonl to any form and on to any other: equal entries, equal pixels."""
    first = overread.load("medthinkvqa", sketch / "medthinkvqa")
    overread.write(first, tmp_path / "one", form=form)
    second = overread.load("medthinkvqa", tmp_path / "one")
    overread.write(second, tmp_path / "two", form=then)
    third = overread.load("medthinkvqa", tmp_path / "two")
    assert list(first.entries()) == list(second.entries()) == list(third.entries())
    for case in first:
        for picture in case.pictures:
            assert (first.pixels(picture) == third.pixels(picture)).all()
    assert errors(tmp_path / "two") == []


def test_embedded_pictures_are_read_in_any_order(sketch: Path, tmp_path: Path) -> None:
    """Going back to an earlier row reads it again; no image folder is needed."""
    source = overread.load("medthinkvqa", sketch / "medthinkvqa")
    overread.write(source, tmp_path, form="parquet-embedded")
    assert not (tmp_path / "images").exists()
    release = overread.load("medthinkvqa", tmp_path)
    pictures = [picture for case in release for picture in case.pictures]
    for picture in (*reversed(pictures), *pictures):
        assert (release.pixels(picture) == source.pixels(picture)).all()
    with pytest.raises(NotThere):
        release.source("images/none/x.jpg")


def test_options_as_a_struct_with_nulls_and_shards(sketch: Path, tmp_path: Path) -> None:
    """Hub-style shards under data/, options as a struct with an unused letter."""
    rows = read_rows(sketch / "medthinkvqa" / "test.jsonl")
    for row in rows:
        row["options"]["F"] = None
    (tmp_path / "data").mkdir()
    for number, row in enumerate(rows):
        name = f"test-{number:05d}-of-00002.parquet"
        parquet.write_table(pa.Table.from_pylist([row]), tmp_path / "data" / name)
    shutil.copytree(sketch / "medthinkvqa" / "images", tmp_path / "images")
    assert entries(tmp_path) == entries(sketch / "medthinkvqa")
    assert errors(tmp_path) == []


def test_no_pixel_is_read_before_it_is_asked_for(copy: Copy) -> None:
    """Cases load though every picture is gone; only asking for one fails, and says which."""
    root = copy("medthinkvqa")
    shutil.rmtree(root / "images")
    release = overread.load("medthinkvqa", root)
    picture = next(iter(release)).pictures[0]
    with pytest.raises(NotThere, match=r"images/case00003/sk000031\.jpg"):
        release.pixels(picture)
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


BROKEN: dict[str, tuple[Callable[[dict[str, Any]], object], str, str]] = {
    "answer letter": (
        lambda r: r.update(correct_answer="F"),
        "answer-not-an-option",
        "correct_answer",
    ),
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
    "sub": (
        lambda r: r.update(image_01_sub_modality="Tea"),
        "unknown-sub-modality",
        "image_NN_sub_modality",
    ),
    "modality": (
        lambda r: r.update(image_01_modality="Tea"),
        "unknown-modality",
        "image_NN_modality",
    ),
    "course": (lambda r: r.update(timepoint_count=3), "timepoint-mismatch", "timepoint_count"),
    "twice": (
        lambda r: r.update(image_02_path=r["image_01_path"]),
        "doubled-picture",
        "image_02_path",
    ),
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
    assert errors(root) == ["count-mismatch"]
    (root / "test.parquet").unlink()
    write_rows(root / "test.jsonl", [*rows, read_rows(root / "train.jsonl")[0]])
    assert codes(root) == ["patient-in-two-splits"]


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
    assert overread.load("medthinkvqa", root).entry("#2").case.id == "case00004"
    with pytest.raises(UsageError, match="already"):
        overread.write(overread.load("medthinkvqa", root), root)
    with pytest.raises(UnknownName, match="form"):
        overread.write(overread.load("medthinkvqa", root), tmp_path, form="xml")


def test_a_link_out_of_the_release_is_refused(copy: Copy, tmp_path: Path) -> None:
    """A picture that is a link to a file elsewhere is not opened, and the remedy is told."""
    root = copy("medthinkvqa")
    picture = root / "images" / "case00003" / "sk000031.jpg"
    outside = tmp_path / "outside.jpg"
    shutil.move(picture, outside)
    picture.symlink_to(outside)
    release = MedThinkVQARelease(root, "test")
    with pytest.raises(Refused, match="--pictures"):
        release.pixels(next(iter(release)).pictures[0])
    assert errors(root) == ["refused-file"]


def embedded(root: Path, rows: list[dict[str, Any]], **cells: Any) -> None:
    """Rows as a parquet file whose first slot holds a picture, and nothing else does."""
    kept = [{k: v for k, v in row.items() if not k.startswith("image_")} for row in rows]
    for number, row in enumerate(kept):
        row |= {name: values[number] for name, values in cells.items()}
    parquet.write_table(pa.Table.from_pylist(kept), root / "test.parquet")


def test_one_name_for_two_embedded_pictures_is_never_guessed(sketch: Path, tmp_path: Path) -> None:
    """Different pictures of one name are an error; the same picture in two rows is not."""
    rows = read_rows(sketch / "medthinkvqa" / "test.jsonl")
    one, two = (sorted((sketch / "medthinkvqa").rglob("*.jpg"))[n].read_bytes() for n in (0, 1))
    cells = [{"bytes": one, "path": "1.jpg"}, {"bytes": two, "path": "1.jpg"}]
    embedded(tmp_path, rows, image_01=cells, image_01_path=["1.jpg"] * 2, image_count=[1, 1])
    release = overread.load("medthinkvqa", tmp_path)
    with pytest.raises(PictureError, match="2 different embedded pictures"):
        release.pixels(next(iter(release)).pictures[0])
    assert errors(tmp_path) == ["unreadable-file"] * 2
    embedded(
        tmp_path, rows, image_01=cells[:1] * 2, image_01_path=["1.jpg"] * 2, image_count=[1, 1]
    )
    assert errors(tmp_path) == []


@pytest.mark.parametrize("kind", ["struct", "binary"])
def test_embedded_pictures_without_path_columns(sketch: Path, tmp_path: Path, kind: str) -> None:
    """A copy that kept only the image features still has its pictures, each its own."""
    rows = read_rows(sketch / "medthinkvqa" / "test.jsonl")
    data = [path.read_bytes() for path in sorted((sketch / "medthinkvqa").rglob("*.jpg"))[:2]]
    cells = [{"bytes": d, "path": "x.jpg"} for d in data] if kind == "struct" else data
    embedded(tmp_path, rows, image_01=cells, image_count=[1, 1])
    release = overread.load("medthinkvqa", tmp_path)
    assert [release.source(case.pictures[0].file) for case in release] == data
    assert errors(tmp_path) == []
    overread.write(release, tmp_path / "out", form="parquet-embedded")
    assert entries(tmp_path / "out") == list(release.entries())


def test_extras_of_any_kind_survive_parquet(copy: Copy, tmp_path: Path) -> None:
    """Mixed types, huge numbers, empty and deep values, columns of one row: all come back."""
    root = copy("medthinkvqa")
    rows = read_rows(root / "test.jsonl")
    deep: Any = []
    for _ in range(120):
        deep = [deep]
    rows[0] |= {"a": "s", "b": 2**70, "c": {}, "d": [1, "x"], "e": 1, "f": deep, "g": None}
    rows[1] |= {"a": 1, "only": True, "e": 2.5}
    write_rows(root / "test.jsonl", rows)
    overread.write(overread.load("medthinkvqa", root), tmp_path / "out", form="parquet")
    assert entries(tmp_path / "out") == entries(root)
    assert entries(root)[0].extra["b"] == 2**70
    assert "g" not in entries(root)[0].extra


def test_odd_parquet_columns_are_read(sketch: Path, tmp_path: Path) -> None:
    """Nanoseconds, dates beyond Python's, durations and bytes are columns of nobody's, as text."""
    table = pa.Table.from_pylist(read_rows(sketch / "medthinkvqa" / "test.jsonl"))
    for name, values in {
        "ns": pa.array([1, 2], pa.timestamp("ns")),
        "far": pa.array([2**30, 2], pa.date32()),
        "span": pa.array([2**62, 2], pa.duration("us")),
        "raw": pa.array([b"x", b"y"]),
    }.items():
        table = table.append_column(name, values)
    parquet.write_table(table, tmp_path / "test.parquet")
    assert set(entries(tmp_path)[0].extra) == {"ns", "far", "span", "raw"}
    assert [e.case for e in entries(tmp_path)] == [e.case for e in entries(sketch / "medthinkvqa")]


def test_shards_are_one_split(sketch: Path, tmp_path: Path) -> None:
    """An id in two shards is a duplicate; a shard that the names speak of must be there."""
    table = pa.Table.from_pylist(read_rows(sketch / "medthinkvqa" / "test.jsonl"))
    shutil.copytree(sketch / "medthinkvqa" / "images", tmp_path / "images")
    for number in (0, 1):
        parquet.write_table(table, tmp_path / f"test-0000{number}-of-00003.parquet")
    (tmp_path / "._test-00002-of-00003.parquet").write_bytes(b"a mac's shadow")
    assert sorted(errors(tmp_path)) == ["duplicate-id", "duplicate-id", "missing-file"]


def test_twins_must_tell_the_same(copy: Copy) -> None:
    """The jsonl says A, the parquet B: that is told, with the case."""
    root = copy("medthinkvqa")
    rows = read_rows(root / "test.jsonl")
    rows[1]["correct_answer"], rows[1]["correct_answer_text"] = "A", rows[1]["options"]["A"]
    parquet.write_table(pa.Table.from_pylist(rows), root / "test.parquet")
    (defect,) = overread.check("medthinkvqa", root)
    assert (defect.code, defect.file, defect.row) == ("twin-mismatch", "test.parquet", 2)


def test_a_pipe_or_folder_beside_the_rows_is_no_crash(copy: Copy) -> None:
    """What is called parquet and is no file does not keep the jsonl from being read."""
    root = copy("medthinkvqa")
    os.mkfifo(root / "test.parquet")
    (root / "train.parquet").mkdir()
    assert errors(root) == []
    assert len(entries(root)) == 2
