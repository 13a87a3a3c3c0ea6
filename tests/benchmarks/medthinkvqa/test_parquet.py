"""MedThinkVQA in parquet: embedded pictures, extra columns, odd columns and shards are all read."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import overread
from overread.benchmarks.parquet_rows import read_parquet_rows
from overread.errors import NotThere, PictureError
from tests.benchmarks.medthinkvqa.entries import Copy, entries, errors
from tests.jsonl_rows import read_rows, write_rows


def embedded(root: Path, rows: list[dict[str, Any]], **cells: Any) -> None:
    """Rows as a parquet file whose first slot holds a picture, and nothing else does."""
    kept = [{k: v for k, v in row.items() if not k.startswith("image_")} for row in rows]
    for number, row in enumerate(kept):
        row |= {name: values[number] for name, values in cells.items()}
    parquet.write_table(pa.Table.from_pylist(kept), root / "test.parquet")


def test_embedded_pictures_are_read_in_any_order(sketch: Path, tmp_path: Path) -> None:
    """Going back to an earlier row reads it again; no image folder is needed."""
    source = overread.load("medthinkvqa", sketch / "medthinkvqa")
    overread.write(source, tmp_path, form="parquet-embedded")
    assert not (tmp_path / "images").exists()
    release = overread.load("medthinkvqa", tmp_path)
    pictures = [picture for case in release for picture in case.pictures]
    for picture in (*reversed(pictures), *pictures):
        assert (release.pictures.pixels(picture) == source.pictures.pixels(picture)).all()
    with pytest.raises(NotThere):
        release.source("images/none/x.jpg")


def test_one_name_for_two_embedded_pictures_is_never_guessed(sketch: Path, tmp_path: Path) -> None:
    """Different pictures of one name are an error; the same picture in two rows is not."""
    rows = read_rows(sketch / "medthinkvqa" / "test.jsonl")
    one, two = (sorted((sketch / "medthinkvqa").rglob("*.jpg"))[n].read_bytes() for n in (0, 1))
    cells = [{"bytes": one, "path": "1.jpg"}, {"bytes": two, "path": "1.jpg"}]
    embedded(tmp_path, rows, image_01=cells, image_01_path=["1.jpg"] * 2, image_count=[1, 1])
    release = overread.load("medthinkvqa", tmp_path)
    with pytest.raises(PictureError, match="2 different embedded pictures"):
        release.source("1.jpg")
    with pytest.raises(PictureError, match="image-1 cannot be read"):
        release.pictures.pixels(next(iter(release)).pictures[0])
    assert errors(tmp_path) == ["unreadable-file"] * 2
    embedded(tmp_path, rows, image_01=cells[:1] * 2, image_01_path=["1.jpg"] * 2, image_count=[1, 1])
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


def test_extra_columns_are_kept_and_hidden(copy: Copy, tmp_path: Path) -> None:
    """Columns of nobody come back out, nested ones too, and no reader sees them."""
    root = copy("medthinkvqa")
    rows = [row | {"hint": "B!", "meta": {"x": [1, None]}} for row in read_rows(root / "test.jsonl")]
    write_rows(root / "test.jsonl", rows)
    assert entries(root)[0].extra == {"hint": "B!", "meta": {"x": [1, None]}}
    assert "B!" not in next(iter(overread.load("medthinkvqa", root))).model_dump_json()
    for form in ("jsonl", "parquet"):
        overread.write(overread.load("medthinkvqa", root), tmp_path / form, form=form)
        again = entries(tmp_path / form)
        assert again == entries(root), form


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


def test_a_gap_in_a_later_shard_is_named_there(sketch: Path, tmp_path: Path) -> None:
    """The file and the row of a value that is missing are those of its own shard."""
    rows = read_rows(sketch / "medthinkvqa" / "test.jsonl")
    rows[1]["discussion"] = None
    shutil.copytree(sketch / "medthinkvqa" / "images", tmp_path / "images")
    for number, row in enumerate(rows):
        name = f"test-0000{number}-of-00002.parquet"
        parquet.write_table(pa.Table.from_pylist([row]), tmp_path / name)
    (defect,) = overread.check("medthinkvqa", tmp_path)
    assert (defect.code, defect.file, defect.row) == ("missing-value", "test-00001-of-00002.parquet", 1)


def test_shards_are_one_split(sketch: Path, tmp_path: Path) -> None:
    """An id in two shards is a duplicate; a shard that the names speak of must be there."""
    table = pa.Table.from_pylist(read_rows(sketch / "medthinkvqa" / "test.jsonl"))
    shutil.copytree(sketch / "medthinkvqa" / "images", tmp_path / "images")
    for number in (0, 1):
        parquet.write_table(table, tmp_path / f"test-0000{number}-of-00003.parquet")
    (tmp_path / "._test-00002-of-00003.parquet").write_bytes(b"a mac's shadow")
    assert sorted(errors(tmp_path)) == ["duplicate-id", "duplicate-id", "missing-file"]


@pytest.mark.parametrize("kind", ["struct", "binary"])
def test_empty_slots_of_embedded_pictures_are_empty(sketch: Path, tmp_path: Path, kind: str) -> None:
    """Without path columns, a null cell, or a struct of nulls, is no picture."""
    rows = read_rows(sketch / "medthinkvqa" / "test.jsonl")
    data = next((sketch / "medthinkvqa").rglob("*.jpg")).read_bytes()
    full: Any = {"bytes": data, "path": None} if kind == "struct" else data
    none: Any = {"bytes": None, "path": None} if kind == "struct" else None
    embedded(tmp_path, rows, image_01=[full, full], image_02=[full, none], image_count=[2, 1])
    assert [len(entry.case.pictures) for entry in entries(tmp_path)] == [2, 1]
    assert errors(tmp_path) == []


@pytest.mark.parametrize("text", ["[" * 100_000, '"\\ud800"', "{"])
def test_packed_columns_of_others_are_not_trusted(sketch: Path, tmp_path: Path, text: str) -> None:
    """A column that claims to hold our JSON is parsed as rows are, and broken JSON is a defect."""
    table = pa.Table.from_pylist(read_rows(sketch / "medthinkvqa" / "test.jsonl"))
    field = pa.field("x", pa.string(), metadata={b"overread": b"json"})
    parquet.write_table(table.append_column(field, [[text] * 2]), tmp_path / "test.parquet")
    assert errors(tmp_path) == ["unreadable-file"]


@pytest.mark.parametrize("nested", [False, True])
def test_a_dictionary_that_repeats_a_huge_text_is_refused(tmp_path: Path, nested: bool) -> None:
    """A file of a few kilobytes whose rows would take 26 GB: one sentence, and memory for a few texts."""
    huge = "x" * (40 << 20)
    told: Any = pa.DictionaryArray.from_arrays(pa.array([0] * 640, pa.int32()), pa.array([huge]))
    if nested:
        told = pa.ListArray.from_arrays(pa.array(range(0, 641, 40), pa.int32()), told)
    table = pa.table({"title": told})
    parquet.write_table(
        table,
        tmp_path / "test.parquet",
        compression="zstd",
        dictionary_pagesize_limit=1 << 30,
        store_schema=False,
    )
    del table, told, huge
    assert (tmp_path / "test.parquet").stat().st_size < 100_000
    program = (
        "import re, sys; from pathlib import Path; "
        "from overread.benchmarks.parquet_rows import read_parquet_rows\n"
        "try: list(read_parquet_rows(Path(sys.argv[1])))\n"
        "except ValueError as error: print(error)\n"
        "print(re.search(r'VmHWM:\\s*(\\d+)', Path('/proc/self/status').read_text())[1])"
    )
    words = [sys.executable, "-c", program, str(tmp_path / "test.parquet")]
    said, kilobytes = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    assert said == "a text of 41,943,040 bytes in the column title; 4,194,304 are the most"
    assert int(kilobytes) < 500_000
    (defect,) = overread.check("medthinkvqa", tmp_path)
    assert "41,943,040 bytes" in defect.found


def test_dictionaries_of_sound_files_are_read_as_they_are(tmp_path: Path) -> None:
    """Nested lists in several row groups, dictionaries that overflow into plain pages: the same rows."""
    generator = np.random.default_rng(0)
    letters = np.array(list("abcdefgh "))

    def words() -> str:
        return "".join(generator.choice(letters, 700))

    rows = [
        {"title": words(), "captions": [{"text": words(), "n": n} for n in range(number % 5)], "same": "yes"}
        for number in range(900)
    ]
    table = pa.Table.from_pylist(rows)
    for group in (900, 130):
        parquet.write_table(table, tmp_path / "a.parquet", row_group_size=group)
        assert list(read_parquet_rows(tmp_path / "a.parquet")) == rows


@pytest.mark.slow
def test_a_column_that_unpacks_to_gigabytes_is_refused(sketch: Path, tmp_path: Path) -> None:
    """What the file's own metadata says of its size is looked at before anything is unpacked."""
    rows = read_rows(sketch / "medthinkvqa" / "test.jsonl")
    for row in rows:
        row["discussion"] = "x" * 150_000_000
    table = pa.Table.from_pylist(rows)
    parquet.write_table(table, tmp_path / "test.parquet", compression="zstd", use_dictionary=False)
    assert (tmp_path / "test.parquet").stat().st_size < 200_000
    (defect,) = overread.check("medthinkvqa", tmp_path)
    assert "unpacks to" in defect.found


def test_a_page_that_asks_for_gigabytes_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """A header read from other bytes may state any size; room is made for it before it is found out."""
    path = tmp_path / "test.parquet"
    parquet.write_table(pa.table({"id": ["a", "b"]}), path)
    start = parquet.read_metadata(path).row_group(0).column(0).dictionary_page_offset
    data = bytearray(path.read_bytes())
    # The kind of the page, then its size unpacked: two billion, as Thrift writes it.
    assert data[start : start + 3] == bytes([0x15, 0x04, 0x15])
    data[start + 3 : start + 4] = bytes([0x80, 0xD0, 0xAC, 0xF3, 0x0E])
    path.write_bytes(data)
    with pytest.raises(ValueError, match="a page of id says it holds 2,000 MB"):
        list(read_parquet_rows(path))
