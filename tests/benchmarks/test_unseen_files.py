"""Official files as nobody has seen them yet: written by other tools, the same cases all the same."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import overread
from overread.core import Case

Copy = Callable[[str], Path]


def reordered(row: dict[str, Any]) -> dict[str, Any]:
    """The same row with its keys in another order, and more of them."""
    keys = list(row)
    random.Random(3).shuffle(keys)
    return {"added_since": {"by": ["somebody"]}, **{key: row[key] for key in keys}, "notes_": "new"}


def cases(benchmark: str, root: Path) -> list[Case]:
    """All cases of test."""
    return list(overread.load(benchmark, root, "test"))


REWRITTEN: dict[str, Callable[[bytes], bytes]] = {
    "a byte order mark": lambda raw: b"\xef\xbb\xbf" + raw,
    "line ends of Windows": lambda raw: raw.replace(b"\n", b"\r\n"),
    "blank lines": lambda raw: raw.replace(b"\n", b"\n\n"),
    "no last line end": lambda raw: raw.rstrip(b"\n"),
    "escaped letters": lambda raw: b"".join(
        json.dumps(json.loads(line)).encode() + b"\n" for line in raw.splitlines()
    ),
    "other keys in another order": lambda raw: b"".join(
        json.dumps(reordered(json.loads(line))).encode() + b"\n" for line in raw.splitlines()
    ),
}


@pytest.mark.parametrize("benchmark", ["medthinkvqa", "mmrad"])
@pytest.mark.parametrize("how", REWRITTEN)
def test_rows_written_by_other_tools_are_the_same_cases(copy: Copy, benchmark: str, how: str) -> None:
    """Nothing is lost, and `check` finds no error."""
    root = copy(benchmark)
    wanted = cases(benchmark, root)
    file = root / "test.jsonl"
    file.write_bytes(REWRITTEN[how](file.read_bytes()))
    assert cases(benchmark, root) == wanted
    assert [d for d in overread.check(benchmark, root, "test") if d.severity == "error"] == []


@pytest.mark.parametrize("benchmark", ["medthinkvqa", "mmrad"])
@pytest.mark.parametrize(
    "name", ["test.jsonl.gz", "release_test.jsonl.gz", "data/test-00000-of-00001.jsonl.gz"]
)
def test_packed_rows_are_read(copy: Copy, benchmark: str, name: str) -> None:
    """gzip, whole or as a shard; cut off, it is one defect."""
    root = copy(benchmark)
    wanted = cases(benchmark, root)
    plain = root / "test.jsonl"
    packed = gzip.compress(plain.read_bytes(), mtime=0)
    plain.unlink()
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).write_bytes(packed)
    assert cases(benchmark, root) == wanted
    (root / name).write_bytes(packed[: len(packed) // 2])
    codes = [d.code for d in overread.check(benchmark, root, "test") if d.severity == "error"]
    assert "truncated-file" in codes


@pytest.mark.parametrize("benchmark", ["medthinkvqa", "mmrad"])
@pytest.mark.parametrize("compression", ["zstd", "gzip", "brotli", "lz4", "none"])
def test_parquet_in_any_compression_is_read(copy: Copy, benchmark: str, compression: str) -> None:
    """Columns in another order, with more of them."""
    root = copy(benchmark)
    wanted = cases(benchmark, root)
    file = root / "test.jsonl"
    rows = [reordered(json.loads(line)) for line in file.read_bytes().splitlines()]
    file.unlink()
    parquet.write_table(pa.Table.from_pylist(rows), root / "test.parquet", compression=compression)
    assert cases(benchmark, root) == wanted


def test_a_list_of_scans_may_tell_more(copy: Copy) -> None:
    """Keys that nobody knows, a byte order mark, line ends of Windows."""
    root = copy("rexgroundingct")
    wanted = cases("rexgroundingct", root)
    file = root / "dataset.json"
    told = json.loads(file.read_bytes())
    more = {
        "version": 9,
        **{k: [reordered(s) for s in v] if isinstance(v, list) else v for k, v in told.items()},
    }
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps(more, indent=2).replace("\n", "\r\n").encode())
    assert cases("rexgroundingct", root) == wanted
