"""The results of a scoring as one long table, for pandas, polars and whoever reads Parquet or CSV.

One row is one number: a metric over the whole split, over a group of it, or of a single case. Columns
have the same types whatever is undefined, and an absent value is absent, never NaN or an empty text.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from overread.errors import UsageError
from overread.runs.scoring.card import Card, Score
from overread.storage.atomic import open_atomic

if TYPE_CHECKING:
    import pyarrow as pa

ENDINGS = (".parquet", ".csv", ".jsonl", ".arrow")
"""How the name of a table may end; each says what is written."""
_ROWS_AT_ONCE = 10_000
_TEXTS = tuple("benchmark split reader level breakdown group case patient metric better".split())


def check_table_path(file: Path) -> Path:
    """The path for a table; raises before anything is scored where it cannot become one."""
    target = file.resolve()  # a link is followed, and never replaced by a file
    if target.suffix.lower() not in ENDINGS:
        raise UsageError(
            f"the table {file.name} does not say what it is to be",
            remedy=f"end its name in one of {', '.join(ENDINGS)}",
        )
    if target.is_dir():
        raise UsageError(f"the table {file} is a folder", remedy="name a file")
    folder = next(place for place in target.parents if place.exists())
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        raise UsageError(f"nothing can be written to {folder}", remedy="choose another --table FILE")
    return target


def write_table(card: Card, cases: Iterable[Mapping[str, Any]], file: Path) -> int:
    """Write the table; the number of its rows.

    `cases` are lines as in `scores.jsonl`: case, metric, better, value, and a reason where there is
    no value. They may be as many as one likes: no more than a few thousand are held at once.
    """
    rows = chain(_split_rows(card), _case_rows(card, cases))
    count = 0
    with open_atomic(check_table_path(file), compress=False) as out:
        add, finish = _WRITERS[file.suffix.lower()](out, _schema())
        for batch in _batches(rows):
            count += batch.num_rows
            add(batch)
        finish()
    return count


def read_case_lines(file: Path) -> Iterator[dict[str, Any]]:
    """The lines of a `scores.jsonl`."""
    with file.open("rb") as lines:
        for line in lines:
            yield json.loads(line)


def _schema() -> pa.Schema:
    import pyarrow as pa

    numbers = [(name, pa.float64()) for name in ("value", "low", "high")]
    texts = [(name, pa.string()) for name in _TEXTS]
    return pa.schema([*texts, *numbers, ("n", pa.int64()), ("note", pa.string())])


def _split_rows(card: Card) -> Iterator[dict[str, Any]]:
    """The rows of the whole split, and of its groups."""
    for name, score in card.scores.items():
        yield {**_of_card(card), "level": "split", "metric": name, "better": score.better, **_numbers(score)}
    for breakdown, groups in card.breakdowns.items():
        for group, found in groups.items():
            for name, part in found.scores.items():
                better = card.scores[name].better if name in card.scores else None
                place = {"level": "group", "breakdown": breakdown, "group": group}
                yield {**_of_card(card), **place, "metric": name, "better": better, **_numbers(part)}


def _case_rows(card: Card, cases: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for line in cases:
        known = card.statistics.get(line["case"])
        value = line.get("value")
        yield {
            **_of_card(card),
            "level": "case",
            "case": line["case"],
            "patient": known.patient if known else None,
            "metric": line["metric"],
            "better": line["better"],
            "value": value,
            "n": int(value is not None),
            "note": line.get("reason"),
        }


def _of_card(card: Card) -> dict[str, Any]:
    return {"benchmark": card.benchmark, "split": card.split, "reader": card.reader}


def _numbers(score: Score) -> dict[str, Any]:
    ends = {"value": score.value, "low": score.low, "high": score.high}
    return {**ends, "n": score.n, "note": score.note or None}


def _batches(rows: Iterator[dict[str, Any]]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    schema = _schema()
    while some := list(islice(rows, _ROWS_AT_ONCE)):
        yield pa.RecordBatch.from_pylist(some, schema=schema)


# ---- the kinds of files --------------------------------------------------------------------

Writer = tuple[Callable[[Any], None], Callable[[], None]]


def _parquet(out: BinaryIO, schema: pa.Schema) -> Writer:
    import pyarrow.parquet as pq

    writer = pq.ParquetWriter(out, schema, compression="zstd")
    return writer.write_batch, writer.close


def _arrow(out: BinaryIO, schema: pa.Schema) -> Writer:
    import pyarrow as pa

    writer = pa.ipc.new_file(out, schema)
    return writer.write_batch, writer.close


def _csv(out: BinaryIO, schema: pa.Schema) -> Writer:
    # By hand: Arrow writes 0.0 as 0, and who guesses types by the first lines then takes whole numbers.
    def line(values: Iterable[object]) -> None:
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerow("" if value is None else value for value in values)
        out.write(text.getvalue().encode())

    def add(batch: Any) -> None:
        for row in batch.to_pylist():
            line(row.values())

    line(schema.names)
    return add, out.flush


def _jsonl(out: BinaryIO, schema: pa.Schema) -> Writer:
    def add(batch: Any) -> None:
        for row in batch.to_pylist():
            out.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")

    return add, out.flush


_WRITERS: dict[str, Callable[[BinaryIO, Any], Writer]] = {
    ".parquet": _parquet,
    ".csv": _csv,
    ".jsonl": _jsonl,
    ".arrow": _arrow,
}
