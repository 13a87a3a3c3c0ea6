"""Cases as MedThinkVQA rows: jsonl, parquet, or parquet with the pictures embedded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from overread.benchmarks.medthinkvqa.release import LETTERS, ROW_FIELDS, SLOT_FIELDS, SLOTS, read_row
from overread.benchmarks.output import copy_file, require_same, watched, write_jsonl, write_list
from overread.benchmarks.row_fields import RowFields
from overread.core import Entry, Image, Progress, Release, Truth
from overread.core.case import captions_of
from overread.errors import UsageError

_INTEGERS = ("timepoint_count", "image_count")


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
    embed = form == "parquet-embedded"
    path = out / f"{release.split}.{'jsonl' if form == 'jsonl' else 'parquet'}"
    copied = pictures and not embed

    def copy() -> None:
        for entry in watched(release, progress):
            for picture in entry.case.pictures:
                copy_file(release, picture.file, out)

    def rows() -> Iterator[tuple[Entry, dict[str, Any]]]:
        for done, entry in enumerate(watched(release, None if copied else progress), 1):
            row = row_of(entry)
            reader = RowFields(dict(row), file=path.name, number=done)
            require_same(entry, read_row(reader, split=release.split, place=done))
            yield entry, row

    def write_rows(target: Path) -> None:
        if form == "jsonl":
            write_jsonl(target, (row for _, row in rows()))
        else:
            _write_parquet(release, target, rows(), embed=embed)

    return write_list(path, write_rows, copy if copied else None)


def row_of(entry: Entry) -> dict[str, Any]:
    """The row of one entry, with the columns in the official order and filled slots only."""
    case, truth = entry.case, entry.truth or Truth()
    row: dict[str, Any] = {
        "title": truth.title,
        "CLINICAL_HISTORY": case.history,
        "IMAGING_FINDINGS": truth.report,
        "discussion": truth.discussion,
        "options": {option.letter: option.text for option in case.options},
        "correct_answer": truth.answer,
        "correct_answer_text": truth.answer_text,
        "ICD Chapter": truth.icd_chapter,
        "ICD Block": truth.icd_block,
        "ICD Category": truth.icd_category,
        "is_longitudinal": truth.longitudinal,
        "timepoint_count": truth.timepoints,
        "interval_text": truth.interval,
        "image_count": truth.image_count,
    }
    row = {column: value for column, value in row.items() if value is not None}
    captions = captions_of(truth)
    notes = {note.picture: note for note in truth.notes}
    for slot, picture in enumerate(case.pictures, 1):
        note = notes.get(picture.name)
        cells = {
            "id": note and note.id,
            "path": picture.file,
            "caption": captions.get(picture.name),
            "modality": note and note.modality,
            "sub_modality": note and note.sub_modality,
            "timepoint": picture.timepoint if isinstance(picture, Image) else None,
        }
        row |= {f"image_{slot:02d}_{k}": v for k, v in cells.items() if v is not None}
    return row | entry.extra


def _write_parquet(
    release: Release, path: Path, rows: Iterator[tuple[Entry, dict[str, Any]]], *, embed: bool
) -> None:
    from overread.benchmarks.parquet_rows import extra_types, write_rows

    def sheet() -> Iterator[dict[str, Any]]:
        for entry, row in rows:
            if not lettered:
                row["options"] = json.dumps(row["options"], ensure_ascii=False)
            for slot, picture in enumerate(entry.case.pictures, 1) if embed else ():
                source = release.source(picture.file)
                data = source if isinstance(source, bytes) else source.read_bytes()
                row[f"image_{slot:02d}"] = {"bytes": data, "path": Path(picture.file).name}
            yield row

    columns, lettered = _columns(release, embed=embed)
    # Columns of nobody's can be anything, so they are looked at once before a row is written.
    extras = extra_types(entry.extra for entry in release.entries())
    for taken in extras.keys() & columns.keys():
        raise UsageError(
            f"the column '{taken}' is taken by a picture here", remedy="write --to parquet or jsonl"
        )
    write_rows(path, sheet(), columns, extras)


def _columns(release: Release, *, embed: bool) -> tuple[dict[str, Any], bool]:
    """The types of the benchmark's own columns, and whether the options fit a struct A to E."""
    import pyarrow as pa

    slots, timed, lettered = SLOTS, False, True
    for case in release:
        slots = max(slots, len(case.pictures))
        timed |= any(picture.timepoint is not None for picture in case.pictures)
        lettered &= {option.letter for option in case.options} <= set(LETTERS)
    text = pa.string()
    columns: dict[str, Any] = dict.fromkeys(ROW_FIELDS, text)
    columns["options"] = pa.struct([(letter, text) for letter in LETTERS]) if lettered else text
    columns["is_longitudinal"] = pa.bool_()
    columns |= dict.fromkeys(_INTEGERS, pa.int64())
    for slot in range(1, slots + 1):
        for field in SLOT_FIELDS:
            if field != "timepoint":
                columns[f"image_{slot:02d}_{field}"] = text
            elif timed:
                columns[f"image_{slot:02d}_{field}"] = pa.int64()
        if embed:
            columns[f"image_{slot:02d}"] = pa.struct([("bytes", pa.binary()), ("path", text)])
    return columns, lettered
