"""Lists of an exam: rows through the benchmark's own writer, and plain text files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from overread.benchmarks import write
from overread.benchmarks.memory_release import MemoryRelease
from overread.core import Entry
from overread.errors import OverreadError
from overread.storage.atomic import open_atomic


def write_entries(
    root: Path, benchmark: str, splits: Mapping[str, Sequence[Entry]], *, form: str | None = None
) -> None:
    """Write the rows of all splits; the writer reads each one again. Pictures are there already."""
    # It adds to a list and never replaces one, so the lists are made elsewhere and moved.
    scratch = root / ".list"
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        for split, entries in splits.items():
            made = MemoryRelease(benchmark, split, entries, _refuse_file, form=form, count=len(entries))
            write(made, scratch, pictures=False)
        for path in sorted(scratch.iterdir()):
            path.replace(root / path.name)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file; what is there is replaced at once."""
    with open_atomic(path) as stream:
        stream.write(text.encode("utf-8"))


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write one JSON object a line; what is there is replaced at once."""
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def _refuse_file(file: str) -> bytes:
    raise OverreadError(f"{file} was written before, and is not copied")
