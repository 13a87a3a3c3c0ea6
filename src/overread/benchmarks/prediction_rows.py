"""Rows of predictions, hostile until checked: jsonl, JSON lists, parquet, gzip of the first two."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from zlib_ng import zlib_ng

from overread.benchmarks.intake import SUFFIXES, Intake, json_kind, make_printable
from overread.benchmarks.rows import Row, read_rows
from overread.core import Case, Defect, Reading
from overread.errors import SubmissionError
from overread.pixels.bytestream import GZIP_MAGIC
from overread.storage.fence import Fence

MAX_TEXT = 200_000
"""Letters of one text of a reading; the longest chains of thought have a quarter of that."""
MAX_INFLATED = 1 << 30
"""Bytes that a packed file of rows may unpack to."""

_ROWS_REMEDY = "write one JSON object a line"
_REPACK = "pack or copy the file again"
_GZIP_ERRORS: Any = (OSError, ValueError, zlib.error, zlib_ng.error)


def read_prediction_rows(path: Path, intake: Intake) -> Iterator[Row]:
    """The rows of a file of predictions that are JSON objects; the others are noted."""
    seen = False
    with _unpack(path, intake) as (folder, name):
        for row in read_rows(Fence(folder), name):
            if row.data is not None:
                seen = True
                yield row
            elif row.defect is not None:
                intake.error(_format_defect(row.defect), _ROWS_REMEDY, row=row.number or None)
    if not seen:
        if not intake.errors:
            intake.error("the file has no rows", _ROWS_REMEDY)
        first = intake.errors[0]
        raise SubmissionError(
            f"these are no predictions: {first.what}", where=first.where, remedy=first.remedy
        )


def _format_defect(defect: Defect) -> str:
    # A row is one line, and the parser's 'line 1' would be taken for a line of the file.
    found = re.sub(r" at line 1 column (\d+)$", r" at letter \1", make_printable(defect.found))
    return f"expected {defect.expected}, found {found}"


@contextmanager
def _unpack(path: Path, intake: Intake) -> Iterator[tuple[Path, str]]:
    """(folder, name) of the file of rows, unpacked to a scratch folder where it is gzip."""
    magic = _first_bytes(path, intake.file)
    if magic.startswith(b"PK\x03\x04"):
        raise SubmissionError(
            "this is a zip, and predictions of this benchmark are rows",
            where=intake.file,
            remedy="unpack it and give the .jsonl file in it",
        )
    real = path.resolve()
    if not magic.startswith(GZIP_MAGIC):
        yield real.parent, real.name
        return
    with TemporaryDirectory() as scratch:
        # Rows are read from a file, line by line; the name tells how.
        name = "rows.json" if path.name.lower().endswith(".json.gz") else "rows.jsonl"
        _inflate(real, Path(scratch) / name, intake)
        yield Path(scratch), name


def _inflate(packed: Path, target: Path, intake: Intake) -> None:
    """Unpack as far as it goes; what is wrong with the rest is noted."""
    left = MAX_INFLATED
    with target.open("wb") as out, packed.open("rb") as raw:
        stream: Any = None
        rest = b""
        try:
            while rest := rest or raw.read(1 << 16):
                stream = stream or zlib_ng.decompressobj(31)
                chunk = stream.decompress(rest, 1 << 20)
                out.write(chunk[:left])
                left -= len(chunk)
                if left < 0:
                    what = f"the file unpacks to more than {MAX_INFLATED:,} bytes"
                    intake.error(what, "hand in fewer or shorter rows; the rest was not read")
                    return
                rest = stream.unused_data if stream.eof else stream.unconsumed_tail
                stream = None if stream.eof else stream  # several gzip files in a row are one
        except _GZIP_ERRORS as error:
            intake.error(f"the compressed data are damaged ({error})", _REPACK)
            return
        if stream is not None:
            intake.error("the gzip stream is cut off", _REPACK)


def _first_bytes(path: Path, name: str) -> bytes:
    try:
        if path.is_dir():
            inside = sorted(p.name for p in path.iterdir() if SUFFIXES.search(p.name))
            remedy = f"give the file, for instance {make_printable(inside[0])}" if inside else "give it"
            raise SubmissionError(
                "this is a folder, and predictions of this benchmark are one file of rows",
                where=name,
                remedy=remedy,
            )
        if not path.is_file():
            what = "this is no regular file" if path.exists() else "there is no such file"
            raise SubmissionError(what, where=name, remedy="give the file of predictions")
        with path.open("rb") as file:
            return file.read(4)
    except (OSError, ValueError) as error:
        raise SubmissionError(f"the file cannot be opened ({error})", where=name) from None


@dataclass(frozen=True)
class CaseRow:
    """One row of predictions that is about a known case: gives its texts, notes its problems."""

    number: int
    data: dict[str, Any]
    case: Case
    intake: Intake

    def error(self, what: str, remedy: str) -> None:
        """Something that costs a part of the reading."""
        self.intake.error(what, remedy, row=self.number, case=self.case.id)

    def warn(self, what: str, remedy: str) -> None:
        """Something that costs nothing."""
        self.intake.warn(what, remedy, row=self.number, case=self.case.id)

    def fail(self, what: str, remedy: str) -> None:
        """Something that costs the case."""
        self.intake.fail(self.case.id, what, remedy, row=self.number)

    def add_reading(self, **parts: Any) -> None:
        """What the reader made of the case."""
        reading = Reading(case_id=self.case.id, reader=self.intake.reader, **parts)
        self.intake.add_reading(reading, row=self.number)

    def text(self, field: str, within: Mapping[str, Any] | None = None) -> str | None:
        """A text of the row, or of a part of it; empty and absent are the same."""
        return self.as_text((self.data if within is None else within).get(field), field)

    def as_text(self, value: object, field: str) -> str | None:
        """A value that should be a text; where it is none, it was not handed in."""
        if value is None or (isinstance(value, str) and not value.strip()):
            return None
        if not isinstance(value, str):
            what, remedy = f"`{field}` is {json_kind(value)}, not text", "write it as a text"
        elif len(value) > MAX_TEXT:
            what, remedy = f"`{field}` has {len(value):,} letters", f"{MAX_TEXT:,} are the most"
        else:
            return value
        self.error(what, f"{remedy}; it counts as not handed in")
        return None
