"""Rows of a file, one at a time, from jsonl, JSON, parquet or CSV; each a mapping or a defect.

All problems of the row files themselves are reported here, so that the benchmarks only interpret
columns.
"""

from __future__ import annotations

import gzip
import math
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pydantic_core import from_json

from overread.core import Defect
from overread.errors import NotThere, OverreadError, PictureError, ReleaseError
from overread.storage.fence import Fence
from overread.storage.tables import find_bad_byte, open_text, read_csv

MAX_LINE = 4 << 20
"""A row is a few kilobytes of text; parsed, hostile JSON takes fifty times its size."""
MAX_JSON = 128 << 20
"""The largest list of cases; the official ones are a few megabytes."""

_ASK_ENCODING = "is it Latin-1 or Windows-1254?"


@dataclass(frozen=True)
class Row:
    """One row: its number, counted from 1, and either its columns or what is wrong with it."""

    number: int
    data: dict[str, Any] | None
    defect: Defect | None = None


def split_files(fence: Fence, split: str) -> dict[str, list[str]]:
    """Form → files of a split, as they are named in the wild: by split, or in numbered shards."""
    found: dict[str, list[str]] = {}
    for form in ("jsonl", "parquet", "json"):
        whole = [name for name in (f"{split}.{form}", *_packed_names(split, form)) if fence.has(name)]
        if whole:
            found[form] = whole[:1]
            continue
        for folder in (fence.root, fence.root / "data"):
            files = sorted(folder.iterdir()) if folder.is_dir() else []
            shards = [p for p in files if _is_split_file(p.name, split, form) and p.is_file()]
            if shards:
                found[form] = [str(path.relative_to(fence.root)) for path in shards]
                break
    return found


def _packed_names(split: str, form: str) -> list[str]:
    return [f"{split}.{form}.gz"] if form == "jsonl" else []


def _is_split_file(name: str, split: str, form: str) -> bool:
    """'test-00000-of-00003.parquet', 'mmrad_test.jsonl'; not 'latest.jsonl', not 'train-test.…'."""
    plain = name.lower().removesuffix(".gz") if form == "jsonl" else name.lower()
    words = re.findall(r"[a-z]+", plain.removesuffix(f".{form}"))
    others = {"train", "val", "test", "valid", "dev"} - {split}
    mine = plain.endswith(f".{form}") and not name.startswith(".")
    return mine and split in words and not others & set(words)


def missing_shards(files: list[str]) -> list[str]:
    """Shards that the names of the others speak of: 'test-00001-of-00003.parquet'."""
    missing = []
    numbered = re.compile(r"(.*-)(\d+)(-of-)(\d+)(\..*)")
    for match in filter(None, (numbered.fullmatch(file) for file in files[:1])):
        for number in range(min(int(match[4]), 10_000)):
            name = f"{match[1]}{number:0{len(match[2])}d}{match[3]}{match[4]}{match[5]}"
            if name not in files:
                missing.append(name)
    return missing


def missing_split_error(fence: Fence, split: str, known: tuple[str, ...]) -> ReleaseError:
    """The error for a split that has no file, naming the splits that have."""
    there = [name for name in known if split_files(fence, name)]
    remedy = f"use --split {there[0]}" if there else "is this the folder of the release?"
    return ReleaseError(
        f"the release has no split '{split}' (no {split}.jsonl, no {split}.parquet)",
        where=str(fence.root),
        remedy=remedy,
    )


def read_rows(fence: Fence, file: str) -> Iterator[Row]:
    """All rows of one file."""
    try:
        path = fence.path(file)
    except NotThere:
        yield Row(0, None, _defect("missing-file", file, "the file", "nothing"))
        return
    except PictureError as error:
        yield Row(0, None, _defect("refused-file", file, "a file of the release", str(error)))
        return
    reader = {".parquet": _read_parquet, ".json": _read_json_list}.get(path_suffix(file), _read_jsonl)
    yield from reader(path, file)


def row_count(fence: Fence, files: Sequence[str]) -> int | None:
    """How many rows some files have, without parsing them; None where that cannot be told."""
    counts = [_file_row_count(fence, file) for file in files]
    return None if None in counts else sum(count or 0 for count in counts)


def _file_row_count(fence: Fence, file: str) -> int | None:
    try:
        path = fence.path(file)
        if path_suffix(file) == ".parquet":
            from overread.benchmarks.parquet_rows import count_rows

            return count_rows(path)
        if path_suffix(file) in (".json", ".gz"):
            return None
        count, last = 0, b"\n"
        with path.open("rb") as lines:
            for chunk in iter(lambda: lines.read(1 << 20), b""):
                count += chunk.count(b"\n")
                last = chunk[-1:]
        return count + (last != b"\n")
    except (PictureError, OSError, ValueError):
        return None


def path_suffix(file: str) -> str:
    """The last suffix of a name, in lower case."""
    return Path(file).suffix.lower()


def parse_json(raw: bytes) -> Any:
    """JSON of bytes, with NaN read as null, as data frames write empty cells."""
    return _replace_nan(from_json(raw, allow_inf_nan=True))


def read_json(path: Path, file: str) -> tuple[Any, Defect | None]:
    """A whole JSON file, or what is wrong with it."""
    if path.stat().st_size > MAX_JSON:
        return None, _defect("refused-file", file, f"at most {MAX_JSON:,} bytes", "more")
    try:
        raw = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except OSError as error:
        return None, _defect("unreadable-file", file, "a readable file", str(error.strerror))
    try:
        return parse_json(raw), None
    except ValueError as error:
        return None, _json_defect(file, None, raw, error)


def _read_jsonl(path: Path, file: str) -> Iterator[Row]:
    number = 0
    try:
        with _open_lines(path) as lines:
            while line := lines.readline(MAX_LINE):
                number += 1
                if len(line) >= MAX_LINE and not line.endswith(b"\n"):
                    found = f"a line of over {MAX_LINE:,} bytes"
                    yield Row(number, None, _defect("refused-file", file, "rows", found, number))
                    return
                text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
                if text.isspace():
                    continue
                yield _parse_row(text, file, number)
    except OSError as error:
        defect = _defect("unreadable-file", file, "a readable file", str(error.strerror or error))
        yield Row(0, None, defect)
    except (EOFError, zlib.error) as error:
        yield Row(number, None, _defect("truncated-file", file, "a whole gzip file", str(error)))


def _open_lines(path: Path) -> IO[bytes] | gzip.GzipFile:
    """The bytes of a file, unpacked on the way where it is gzip, whatever it is called."""
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if packed else path.open("rb")


def read_csv_rows(path: Path, file: str) -> Iterator[Row]:
    """Rows of a CSV or TSV file; one that is no CSV ends it."""
    try:
        with open_text(path) as stream:
            sign = "\t" if path_suffix(file) == ".tsv" else None
            table = read_csv(stream, file, delimiter=sign)
            header = [name.strip() for name in next(table, (0, []))[1]]
            for number, (_, cells) in enumerate(table, 1):
                yield parse_cells(header, cells, file, number)
    except OverreadError as error:
        yield Row(0, None, _defect("bad-row", file, "a table", str(error)[:200]))
    except OSError as error:
        defect = _defect("unreadable-file", file, "a readable file", str(error.strerror or error))
        yield Row(0, None, defect)


def parse_cells(header: Sequence[str], cells: Sequence[str], file: str, number: int) -> Row:
    """A row of a table by its header; a defect where cells are missing, too many or no text."""
    if len(cells) != len(header):
        found = f"{len(cells)} cells; is a text with commas not in quotes?"
        return Row(number, None, _defect("bad-row", file, f"{len(header)} cells", found, number))
    bad = find_bad_byte("".join(cells))
    if bad is not None:
        found = f"{bad}; {_ASK_ENCODING}"
        return Row(number, None, _defect("wrong-encoding", file, "UTF-8", found, number))
    return Row(number, dict(zip(header, cells, strict=True)))


def _parse_row(text: bytes, file: str, number: int) -> Row:
    try:
        data = parse_json(text)
    except ValueError as error:
        return Row(number, None, _json_defect(file, number, text, error))
    if not isinstance(data, dict):
        found = f"a {type(data).__name__}"
        return Row(number, None, _defect("bad-row", file, "a JSON object", found, number))
    return Row(number, data)


def _read_json_list(path: Path, file: str) -> Iterator[Row]:
    data, defect = read_json(path, file)
    if defect is not None:
        yield Row(0, None, defect)
        return
    if not isinstance(data, list):
        yield Row(0, None, _defect("bad-row", file, "a JSON list of rows", type(data).__name__))
        return
    for number, item in enumerate(data, 1):
        if isinstance(item, dict):
            yield Row(number, item)
        else:
            found = f"a {type(item).__name__}"
            yield Row(number, None, _defect("bad-row", file, "a JSON object", found, number))


def _read_parquet(path: Path, file: str) -> Iterator[Row]:
    from overread.benchmarks.parquet_rows import read_parquet_rows

    number = 0
    try:
        for number, data in enumerate(read_parquet_rows(path), 1):
            yield Row(number, data)
    except UnicodeDecodeError as error:
        bad = f"byte 0x{error.object[error.start]:02x}; {_ASK_ENCODING}"
        yield Row(number, None, _defect("wrong-encoding", file, "UTF-8", bad))
    except ValueError as error:
        kind = "truncated-file" if number else "unreadable-file"
        yield Row(number, None, _defect(kind, file, "a parquet file", str(error)))


_NESTED_TYPES = frozenset((float, dict, list))


def _replace_nan(value: Any) -> Any:
    """The value with NaN and infinities as None, changed in place."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        for key, item in value.items():
            if item.__class__ in _NESTED_TYPES:  # most cells are null or text, and there are many
                value[key] = _replace_nan(item)
    elif isinstance(value, list):
        value[:] = [_replace_nan(item) for item in value]
    return value


def _json_defect(file: str, number: int | None, raw: bytes, error: ValueError) -> Defect:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as wrong:
        found = f"byte 0x{raw[wrong.start]:02x} at {wrong.start}; {_ASK_ENCODING}"
        return _defect("wrong-encoding", file, "UTF-8", found, number)
    return _defect("bad-row", file, "JSON", f"{error}"[:200], number)


def _defect(code: str, file: str, expected: str, found: str, row: int | None = None) -> Defect:
    return Defect(code=code, file=file, row=row, expected=expected, found=found)
