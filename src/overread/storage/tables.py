"""Texts and tables that users bring: one encoding policy, one delimiter rule, one CSV reader.

A text is UTF-8, with or without a byte order mark, or UTF-16 where a mark says so. A byte that is
neither is never replaced in silence: it is kept apart as a lone surrogate, and `find_bad_byte`
tells its line.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, NamedTuple

from overread.errors import OverreadError

DELIMITERS = ",;\t|"
"""What may stand between cells: some spreadsheets write semicolons, some tools tabs or bars."""
BAD_BYTE = re.compile("[\udc00-\udcff]")
"""A byte that is no text, as `decode_text` keeps it."""
_MAX_FIELD = 2**31 - 1
"""Characters that one cell may have: as many as the csv module can be told on any system."""
_field_limit = threading.Lock()


class BadByte(NamedTuple):
    """The first byte of a text that is not in its encoding."""

    line: int
    value: int

    def __str__(self) -> str:
        return f"byte 0x{self.value:02x}"


def decode_text(raw: bytes) -> str:
    """Bytes as text; those that are none are kept apart."""
    encoding, errors = _encoding_of(raw)
    return raw.decode(encoding, errors)


def open_text(path: Path) -> IO[str]:
    """A file as text, in the same way, without reading it whole; line ends stay as they are."""
    with path.open("rb") as file:
        encoding, errors = _encoding_of(file.read(2))
    return path.open(encoding=encoding, errors=errors, newline="")


def find_bad_byte(text: str) -> BadByte | None:
    """The first byte that was kept apart, with its line."""
    found = None if text.isascii() else BAD_BYTE.search(text)
    if found is None:
        return None
    return BadByte(text.count("\n", 0, found.start()) + 1, ord(found[0]) - 0xDC00)


def require_text(raw: bytes, where: str = "") -> str:
    """Bytes as text; refused where one of them is none."""
    text = decode_text(raw)
    bad = find_bad_byte(text)
    if bad is not None:
        raise OverreadError(
            f"line {bad.line} holds {bad}, which is not UTF-8",
            where=where,
            remedy="save it as UTF-8 (in a spreadsheet, 'CSV UTF-8')",
        )
    return text


def read_user_file(path: Path, what: str, *, max_bytes: int = 1 << 26) -> str:
    """The text of a file; `what` it holds stands in the error where it cannot be read."""
    try:
        if path.stat().st_size > max_bytes:
            raise OverreadError(f"the file is too large for {what}", where=str(path))
        raw = path.read_bytes()
    except OSError as error:
        raise OverreadError(
            f"the {what} cannot be read ({error.strerror})", where=str(path), remedy="look at the path again"
        ) from None
    return require_text(raw, str(path))


def guess_delimiter(header: str, known: Collection[str] = ()) -> str:
    """What stands between the cells of a header.

    It is what gives most columns that are `known`, then what gives most columns at all.

    >>> guess_delimiter("id;findings, impression"), guess_delimiter("id;a, b, c", {"id"})
    (',', ';')
    """
    wanted = {name.casefold() for name in known}
    # A carriage return alone ends a line as well, for those who write one.
    first = next(iter(header.lstrip("\r\n").splitlines()), "")[: 1 << 16]

    def columns(sign: str) -> tuple[int, int]:
        cells = next(csv.reader([first], delimiter=sign), [])
        return sum(cell.strip().casefold() in wanted for cell in cells), len(cells)

    return max(DELIMITERS, key=columns)


def read_csv(
    source: str | IO[str],
    where: str,
    *,
    known: Collection[str] = (),
    delimiter: str | None = None,
    strict: bool = True,
) -> Iterator[tuple[int, list[str]]]:
    """Every row of a table with the line that it ends on, the header first; blank lines are none.

    The delimiter is guessed from the header, where it is not given. What is no CSV ends it with an
    error; without `strict` quotes in the wrong place are taken as they come.
    """
    lines = io.StringIO(source, newline="") if isinstance(source, str) else source
    head = []
    while line := lines.readline():
        head.append(line)
        if line.strip():
            break
    sign = delimiter or guess_delimiter(line, known)
    reader = csv.reader(chain(head, lines), delimiter=sign, strict=strict)
    while True:
        # The limit is one for the whole process: others must find it as it was.
        with _field_limit:
            limit = csv.field_size_limit(_MAX_FIELD)
            try:
                cells = next(reader, None)
            except csv.Error as error:
                raise OverreadError(
                    f"this is not CSV ({error})",
                    where=f"{where}, line {max(1, reader.line_num)}".removeprefix(", "),
                    remedy="put texts in quotes, and write a quotation mark inside them twice",
                ) from None
            finally:
                csv.field_size_limit(limit)
        if cells is None:
            return
        if cells:
            yield reader.line_num, cells


def read_sheet(
    text: str, where: str, known: Collection[str], check_header: Callable[[Sequence[str]], None]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Rows of a table that people filled in: line, and cells by column in small letters.

    Rows without a word are left out; one with more cells than columns is an error.
    """
    rows = read_csv(text, where, known=known)
    header = [cell.strip().lower() for cell in next(rows, (1, []))[1]]
    check_header(header)
    for line, cells in rows:
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) > len(header):
            raise OverreadError(
                f"there are {len(cells)} cells under {len(header)} columns",
                where=f"{where}, line {line}",
                remedy="put quotation marks around a cell that holds the separator",
            )
        yield line, dict(zip(header, cells, strict=False))


def split_jsonl(text: str) -> Iterator[tuple[int, str]]:
    r"""The lines of JSON lines with their numbers, blank ones left out.

    Only a newline ends a line: JSON may hold U+2028, U+0085 and the like as they are.

    >>> list(split_jsonl('{"a": "x\u2028y"}\n\n{"b": 1}\n'))
    [(1, '{"a": "x\u2028y"}'), (3, '{"b": 1}')]
    """
    return ((n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip())


def _encoding_of(raw: bytes) -> tuple[str, str]:
    if raw[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16", "overread-keep-bytes"
    return "utf-8-sig", "surrogateescape"


def _keep_bytes(error: UnicodeError) -> tuple[str, int]:
    """As 'surrogateescape', which knows no bytes below 0x80; in UTF-16 they may be wrong too."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    kept = error.object[error.start : error.end]
    return "".join(chr(0xDC00 + byte) for byte in kept), error.end


codecs.register_error("overread-keep-bytes", _keep_bytes)
