"""Read and write rows of parquet files without changing any value.

Extra columns can hold anything. A value that parquet has no exact type for is stored as JSON text,
and the column's metadata says so, so that it is read back unchanged.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet
from pydantic_core import from_json

from overread.benchmarks.parquet_pages import check_pages
from overread.storage.atomic import open_atomic

UNREADABLE = (pa.ArrowException, OSError, ArithmeticError, KeyError, TypeError, ValueError)
"""Whatever reading a damaged parquet file raises."""

_SLOT = re.compile(r"image_(\d{1,4})")
_JSON_METADATA = {b"overread": b"json"}
_BATCH = 16
_MAX_BATCH = 256 << 20
MAX_TEXT = 4 << 20
"""Bytes of one cell of text, as of a line of jsonl; a case's longest has some thousands."""
MAX_TEXTS = 8 << 30
"""Bytes of all cells of a file but its pictures; the largest collections of reports have one eighth of it."""


def open_parquet(path: Path, *, keep_dictionaries: Iterable[str] = ()) -> Any:
    """A parquet file, read as a stream, its page checksums verified where it has them.

    Columns in `keep_dictionaries` come as their dictionary and numbers into it, however often a text repeats.
    """
    file = parquet.ParquetFile(
        path,
        buffer_size=1 << 20,
        pre_buffer=False,
        page_checksum_verification=True,
        read_dictionary=list(keep_dictionaries),
    )
    try:
        check_pages(path, file.metadata)
    except BaseException:
        file.close()
        raise
    return file


def count_rows(path: Path) -> int:
    """How many rows a file says it has; raises ValueError where it cannot say."""
    try:
        return int(parquet.read_metadata(path).num_rows)
    except UNREADABLE as error:
        raise ValueError(str(error)) from None


def embedded_columns(schema: Any) -> dict[str, bool]:
    """Columns that hold pictures → whether they are structs, with the bytes in one of the parts."""
    found = {}
    for field in schema:
        if not _SLOT.fullmatch(field.name):
            continue
        if pa.types.is_struct(field.type):
            parts = {part.name for part in field.type}
            if "bytes" in parts:
                found[field.name] = True
        elif pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type):
            found[field.name] = False
    return found


def embedded_file(stem: str, row: int, column: str, name: str | None) -> str:
    """The name of an embedded picture in a row that gives it none: file, row, slot.

    >>> embedded_file("test", 3, "image_02", "b.jpg")
    'embedded/test/3/02-b.jpg'
    """
    last = re.sub(r"[^\w.-]", "_", (name or "").rpartition("/")[2])[:80]
    return f"embedded/{stem}/{row}/{column.removeprefix('image_')}" + (f"-{last}" if last else "")


def read_parquet_rows(path: Path) -> Iterator[dict[str, Any]]:
    """All rows as JSON has them; pictures stay in the file, and only their names are given.

    Raises ValueError where the file cannot be read on, UnicodeDecodeError at a text that is none.
    """
    try:
        with open_parquet(path) as table:
            schema = table.schema_arrow
            pictures = embedded_columns(schema)
            plain = [field.name for field in schema if field.name not in pictures]
            _refuse_large_columns(table.metadata, set(plain))
            # A copy that has lost its path columns still has its pictures; which slots are filled
            # can only be told from the bytes then, a few rows at a time.
            nameless = [column for column in pictures if f"{column}_path" not in plain]
            packed = {f.name for f in schema if (f.metadata or {}).get(b"overread") == b"json"}
            rows = 2 if nameless else _BATCH
            repeating = _repeating_columns(table.metadata, {*plain, *nameless}, rows)
        number = told_bytes = 0
        with open_parquet(path, keep_dictionaries=repeating) as table:
            for batch in _iter_batches(table, rows, plain + nameless):
                size = _expanded_size(batch)
                told_bytes += 0 if nameless else size
                if size > _MAX_BATCH or told_bytes > MAX_TEXTS:
                    limit = _MAX_BATCH if size > _MAX_BATCH else MAX_TEXTS
                    first = number + 1 if size > _MAX_BATCH else 1
                    raise ValueError(f"rows {first} to {number + len(batch)} take more than {limit:,} bytes")
                for row in _dates_to_text(_without_dictionaries(batch, schema)).to_pylist():
                    number += 1
                    told = _row_to_json(row, packed, skip=nameless)
                    for column in nameless:
                        name = _embedded_name(row.get(column))
                        if name is not None:
                            file = embedded_file(path.stem, number, column, name)
                            told[f"{column}_path"] = file
                    yield told
    except UnicodeDecodeError:
        raise  # the file is whole, and a text in it is in another encoding
    except UNREADABLE as error:
        raise ValueError(" ".join(str(error).split())[:200]) from None


def _refuse_large_columns(metadata: Any, columns: set[str]) -> None:
    """Refuse columns of text that would unpack to more than a batch may take."""
    for group in range(metadata.num_row_groups):
        part = metadata.row_group(group)
        for number in range(part.num_columns):
            chunk = part.column(number)
            own = chunk.path_in_schema.partition(".")[0] in columns
            if own and chunk.total_uncompressed_size > _MAX_BATCH:
                size = f"{chunk.total_uncompressed_size:,} bytes"
                raise ValueError(f"the column {chunk.path_in_schema} unpacks to {size}")


def _repeating_columns(metadata: Any, columns: set[str], rows: int) -> list[str]:
    """Columns of which a batch could take too much, because a text that is stored once may repeat.

    No text is larger than all that its column stores, and a column that is no list has one a row.
    """
    found: dict[str, None] = {}
    for group in range(metadata.num_row_groups):
        part = metadata.row_group(group)
        for number in range(part.num_columns):
            chunk = part.column(number)
            name, _, deeper = chunk.path_in_schema.partition(".")
            if name not in columns or chunk.physical_type != "BYTE_ARRAY":
                continue
            texts = chunk.num_values if deeper else rows
            if chunk.has_dictionary_page and chunk.total_uncompressed_size * texts > _MAX_BATCH:
                found[chunk.path_in_schema] = None
    return list(found)


def _iter_batches(table: Any, size: int, columns: list[str]) -> Iterator[Any]:
    """Batches that do not reach from one row group into the next, since each has its own dictionaries."""
    for group in range(table.num_row_groups):
        yield from table.iter_batches(batch_size=size, row_groups=[group], columns=columns)


def _expanded_size(batch: Any) -> int:
    """Bytes that a batch takes when texts that repeat are told each time; a text too large is refused."""
    return sum(_array_size(column, name) for name, column in zip(batch.schema.names, batch, strict=True))


def _array_size(array: Any, name: str) -> int:
    kind = array.type
    if pa.types.is_dictionary(kind):
        lengths = pc.binary_length(array.dictionary).take(array.indices)
        _refuse_long_text(lengths, kind.value_type, name)
        return int(pc.sum(lengths).as_py() or 0)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return int(array.nbytes) if not _has_dictionary(kind) else _array_size(array.flatten(), name)
    if pa.types.is_struct(kind) and _has_dictionary(kind):
        return sum(_array_size(part, name) for part in array.flatten())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        _refuse_long_text(pc.binary_length(array), kind, name)
    return int(array.nbytes)


def _refuse_long_text(lengths: Any, kind: Any, name: str) -> None:
    longest = pc.max(lengths).as_py() or 0
    if longest > MAX_TEXT and (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise ValueError(f"a text of {longest:,} bytes in the column {name}; {MAX_TEXT:,} are the most")


def _has_dictionary(kind: Any) -> bool:
    parts = [kind.field(number).type for number in range(kind.num_fields)]
    return pa.types.is_dictionary(kind) or any(_has_dictionary(part) for part in parts)


def _without_dictionaries(batch: Any, schema: Any) -> Any:
    """The batch with texts in place of numbers into dictionaries."""
    for index, field in enumerate(batch.schema):
        if _has_dictionary(field.type):
            plain = schema.field(field.name)
            batch = batch.set_column(index, plain, batch.column(index).cast(plain.type))
    return batch


def _embedded_name(cell: Any) -> str | None:
    """The name of an embedded picture, '' where it has none; None where there is no picture."""
    if isinstance(cell, dict):
        return str(cell.get("path") or "") if cell.get("bytes") else None
    return "" if cell else None


def _dates_to_text(batch: Any) -> Any:
    """The batch with dates and durations as text: Python has no room for all of them."""
    for index, field in enumerate(batch.schema):
        if pa.types.is_temporal(field.type):
            texts = pc.cast(batch.column(index), pa.string())
            batch = batch.set_column(index, field.name, texts)
    return batch


def _row_to_json(row: dict[str, Any], packed: set[str], *, skip: list[str]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for column, value in row.items():
        if column in packed and isinstance(value, str):
            value = from_json(value)
        if column not in skip:
            told[column] = _to_json_value(value)
    return told


def _to_json_value(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _to_json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json_value(item) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return str(value)


def write_rows(
    path: Path, rows: Iterable[dict[str, Any]], columns: dict[str, Any], extras: dict[str, Any]
) -> None:
    """Write rows with these column types; `extras` (from `extra_types`) come after them."""
    fields = [pa.field(name, kind) for name, kind in columns.items()]
    packed = {name for name, kind in extras.items() if kind is None}
    for name, kind in extras.items():
        fields.append(
            pa.field(name, pa.string(), metadata=_JSON_METADATA) if kind is None else pa.field(name, kind)
        )
    schema = pa.schema(fields)
    with (
        open_atomic(path, exclusive=True) as stream,
        parquet.ParquetWriter(stream, schema, write_page_checksum=True) as writer,
    ):
        batch: list[dict[str, Any]] = []
        for row in rows:
            for name in packed & row.keys():
                row[name] = json.dumps(row[name], ensure_ascii=False)
            batch.append(row)
            if len(batch) == _BATCH:
                writer.write_table(pa.Table.from_pylist(batch, schema=schema))
                batch.clear()
        if batch:
            writer.write_table(pa.Table.from_pylist(batch, schema=schema))


def extra_types(extras: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """A parquet type for each extra column that holds its values exactly, or None."""
    kinds: dict[str, set[Any]] = {}
    for extra in extras:
        for column, value in extra.items():
            kinds.setdefault(column, set()).add(_exact_type(value))
    exact = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    return {
        column: exact.get(next(iter(found))) if len(found) == 1 else None for column, found in kinds.items()
    }


def _exact_type(value: Any) -> Any:
    if type(value) is int and not -(2**63) <= value < 2**63:
        return None
    return type(value)
