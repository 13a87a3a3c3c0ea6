"""The ledger as one Parquet file: a row a decision, with its changes and the answers behind it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from overread.build.ledger.tables import LEDGER_FILE, LedgerUnusable, open_for_reading, sqlite_errors
from overread.errors import UsageError
from overread.storage.system_errors import remedy_for

_BATCH_ROWS = 2000


def export_ledger(folder: Path, file: Path) -> int:
    """Write every decision of a build, those that were decided anew too; gives their number.

    `current` tells which of them make up the build as it stands. Values before and after a change
    are JSON texts, since they may be of any kind.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from overread.storage.atomic import open_atomic

    if file.suffix != ".parquet":
        raise UsageError(f"{file.name} is no name of a Parquet file", remedy="end it in .parquet")
    schema = _schema(pa)
    count = 0
    try:
        with (
            open_atomic(file, compress=False, tidy=True) as stream,
            pq.ParquetWriter(stream, schema) as writer,
        ):
            decisions = _rows(folder)
            while rows := list(islice(decisions, _BATCH_ROWS)):
                writer.write_table(pa.Table.from_pylist(rows, schema=schema))
                count += len(rows)
    except OSError as error:
        raise UsageError(
            f"it cannot be written ({error.strerror})",
            where=str(file),
            remedy=remedy_for(error, "choose another place"),
        ) from None
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        # pyarrow holds every value against its column, and JSON against its form.
        raise LedgerUnusable(
            f"the ledger holds something that no build wrote ({str(error).splitlines()[0][:120]})",
            where=str(folder / LEDGER_FILE),
            remedy="if it is damaged, move it away and build again",
        ) from None
    return count


def _schema(pa: Any) -> Any:
    text = pa.string()
    change = pa.struct([(name, text) for name in ("what", "before", "after", "by", "why")])
    answer = pa.struct(
        [
            *((name, text) for name in ("role", "reader", "model", "prompt", "reply", "problem",
                                        "repaired")),
            *((name, pa.int64()) for name in ("input_tokens", "output_tokens", "pictures")),
            ("cost", pa.float64()),
        ]
    )  # fmt: skip
    return pa.schema(
        [
            ("item", text),
            ("patient", text),
            ("place", pa.int64()),
            ("step", text),
            ("step_place", pa.int64()),
            ("version", pa.int64()),
            ("key", text),
            ("current", pa.bool_()),
            ("outcome", text),
            ("reason", text),
            ("why", text),
            ("by", text),
            ("data", text),
            ("changes", pa.list_(change)),
            ("verdicts", pa.map_(text, text)),
            ("answers", pa.list_(answer)),
            ("at", text),
        ]
    )


def _rows(folder: Path) -> Iterator[dict[str, Any]]:
    base = open_for_reading(folder)
    try:
        with sqlite_errors(folder):
            decisions = base.execute(
                "SELECT e.id, e.item, i.patient, i.place, e.step, s.place, e.version, e.key, "
                "f.entry IS NOT NULL, e.outcome, e.reason, e.why, e.by, e.data, e.changes, "
                "e.verdicts, e.at FROM entries e LEFT JOIN items i ON i.id = e.item "
                "LEFT JOIN steps s ON s.name = e.step "
                "LEFT JOIN flow f ON f.item = e.item AND f.step = e.step AND f.entry = e.id "
                "ORDER BY i.place, s.place, e.id"
            )
            names = (
                *("item", "patient", "place", "step", "step_place", "version", "key", "current"),
                *("outcome", "reason", "why", "by", "data", "changes", "verdicts", "at"),
            )
            for number, *values in decisions:
                row = dict(zip(names, values, strict=True))
                row["current"] = bool(row["current"])
                row["changes"] = [_change_row(one) for one in json.loads(row["changes"])]
                row["verdicts"] = list(json.loads(row["verdicts"]).items())
                row["answers"] = _load_answers(base, number)
                yield row
    finally:
        base.close()


def _change_row(one: dict[str, Any]) -> dict[str, str | None]:
    return {
        name: value
        if name not in ("before", "after")
        else None
        if value is None
        else json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()
        for name, value in one.items()
    }


def _load_answers(base: Any, entry: int) -> list[dict[str, Any]]:
    rows = base.execute(
        "SELECT a.role, a.reader, r.model, a.prompt, r.reply, a.problem, a.repaired, "
        "r.input_tokens, r.output_tokens, r.pictures, r.cost FROM attempts a "
        "LEFT JOIN replies r ON r.key = a.reply WHERE a.entry = ? ORDER BY a.number",
        (entry,),
    )
    names = ("role", "reader", "model", "prompt", "reply", "problem", "repaired", "input_tokens",
             "output_tokens", "pictures", "cost")  # fmt: skip
    found = [dict(zip(names, row, strict=True)) for row in rows]
    for one in found:
        one["reply"] = json.loads(one["reply"]).get("text", "") if one["reply"] else None
    return found
