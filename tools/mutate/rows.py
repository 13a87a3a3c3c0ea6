"""How many rows a damaged file has, and how many a command made of them: what is lost in silence."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

_WRITERS = {"deidentify": "--out", "read-text": "--out", "submit": "--out"}


def count_rows(words: list[str], file: Path) -> tuple[int, int] | None:
    """(rows of the file, rows made of it) behind a command that ended well; None where one is not known."""
    try:
        there = rows_of(file)
        made = _rows_made(words, file)
    except Exception:  # a damaged file that nobody can count
        return None
    return None if there is None or made is None else (there, made)


def rows_of(file: Path) -> int | None:
    """The rows of a list, counted in the plainest way; None of other files."""
    data = file.read_bytes()
    if data[:2] == b"\x1f\x8b" and ".nii" not in file.name:
        data = gzip.decompress(data)
    kind = file.name.removesuffix(".gz").rpartition(".")[2]
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        data = data.decode("utf-16").encode("utf-8")
    if kind == "jsonl":
        return sum(1 for line in data.split(b"\n") if line.strip())
    if kind in ("csv", "tsv"):
        split = csv.reader(io.StringIO(data.decode("utf-8-sig")), delimiter="," if kind == "csv" else "\t")
        return max(0, sum(1 for row in split if any(row)) - 1)
    if kind == "json":
        return _entries(json.loads(data))
    if kind == "parquet":
        from pyarrow import parquet

        return int(parquet.read_metadata(io.BytesIO(data)).num_rows)
    return None


def _entries(told: Any) -> int | None:
    """Rows of a JSON file: a list, or the test split of an object of lists."""
    if isinstance(told, dict):
        told = told.get("test")
    return len(told) if isinstance(told, list) else None


def _rows_made(words: list[str], file: Path) -> int | None:
    if words[0] == "check":
        import overread

        split = words[words.index("--split") + 1] if "--split" in words else "test"
        return sum(1 for _ in overread.load(words[1], Path(words[2]), split))
    if words[0] == "write":
        return rows_of(Path(words[3]) / file.name)
    if words[0] in _WRITERS:
        out = Path(words[words.index(_WRITERS[words[0]]) + 1])
        written = out / file.name if out.is_dir() else out
        return rows_of(written) if written.is_file() else None
    return None
