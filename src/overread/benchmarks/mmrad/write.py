"""Cases as interleaved MMRad records, or as GEMeX-ThinkVG question rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from overread.benchmarks.mmrad.release import THINKVG, read_question, read_trace
from overread.benchmarks.output import copy_file, require_same, watched, write_jsonl, write_list
from overread.benchmarks.row_fields import RowFields
from overread.core import Entry, Progress, Release, Trace, Truth
from overread.errors import UsageError
from overread.prompts.interleaved import IMAGE, join_response
from overread.storage.atomic import open_atomic

_RECORD = ("prompt", "response", "images")
_QUESTION = ("image_path", "question", "response")


def write(
    release: Release,
    out: Path,
    *,
    form: str | None = None,
    pictures: bool = True,
    progress: Progress | None = None,
) -> Path:
    """Write one split to `out` and return its file of rows."""
    form = form or release.form or "jsonl"
    stored = form.removeprefix(THINKVG)
    if release.form is not None and release.form.startswith(THINKVG) != form.startswith(THINKVG):
        raise UsageError(
            "question rows and interleaved records are not made from each other here",
            remedy=f"use --to {release.form}, or build traces from questions",
        )
    asked = form.startswith(THINKVG)
    row_of = question_row if asked else trace_row
    path = out / f"{release.split}.{stored}"

    def copy() -> None:
        for entry in watched(release, progress):
            for file in _entry_files(entry):
                copy_file(release, file, out)

    def rows() -> Iterator[dict[str, Any]]:
        for done, entry in enumerate(watched(release, None if pictures else progress), 1):
            row = row_of(entry)
            reader = RowFields(dict(row), file=path.name, number=done)
            if asked:
                require_same(entry, read_question(reader, split=release.split, place=done))
            else:
                again = read_trace(reader, split=release.split, place=done)
                require_same(_align_steps(entry, again), again)
            yield row

    def write_stored(target: Path) -> None:
        if stored == "jsonl":
            write_jsonl(target, rows())
        elif stored == "json":
            with open_atomic(target, exclusive=True) as stream:
                stream.write(json.dumps(list(rows()), ensure_ascii=False).encode("utf-8"))
        else:
            _write_parquet(release, target, rows(), _QUESTION if asked else _RECORD)

    return write_list(path, write_stored, copy if pictures else None)


def _write_parquet(
    release: Release, path: Path, rows: Iterator[dict[str, Any]], names: Iterable[str]
) -> None:
    import pyarrow as pa

    from overread.benchmarks.parquet_rows import extra_types, write_rows

    columns: dict[str, Any] = dict.fromkeys(names, pa.string())
    if "images" in columns:
        columns["images"] = pa.list_(pa.string())
    extras = extra_types(entry.extra for entry in release.entries())
    own = {name: kind for name, kind in extras.items() if name not in columns}
    write_rows(path, rows, columns, own)


def _align_steps(entry: Entry, again: Entry | None) -> Entry:
    """The entry with its trace cut into steps as in `again`, if only white space differs.

    The same moves with the same words, boxes and crops count as the same trace.
    """
    one, other = (e.truth.trace if e and e.truth else None for e in (entry, again))
    if one is None or other is None or join_response(one, None) != join_response(other, None):
        return entry
    moves = [
        [(s.kind, s.text.strip(), s.regions, s.crop) for s in t.steps if s.text.strip()] for t in (one, other)
    ]
    if moves[0] != moves[1] or entry.truth is None:
        return entry
    truth = entry.truth.model_copy(update={"trace": other})
    return entry.model_copy(update={"truth": truth})


def trace_row(entry: Entry) -> dict[str, Any]:
    """The interleaved record of one entry."""
    truth = entry.truth or Truth()
    row: dict[str, Any] = {"prompt": f"{entry.case.instruction or ''} {IMAGE}"}
    if entry.truth is not None:
        row["response"] = join_response(truth.trace or Trace(), truth.report)
    row["images"] = _entry_files(entry)
    return row | entry.extra


def question_row(entry: Entry) -> dict[str, Any]:
    """The question row of one entry."""
    row: dict[str, Any] = {"image_path": entry.case.pictures[0].file, "question": entry.case.instruction}
    if entry.truth is not None:
        row["response"] = join_response(entry.truth.trace or Trace(), None)
    return row | entry.extra


def _entry_files(entry: Entry) -> list[str]:
    steps = entry.truth.trace.steps if entry.truth and entry.truth.trace else ()
    crops = [step.crop for step in steps if step.crop is not None]
    return [picture.file for picture in entry.case.pictures] + crops
