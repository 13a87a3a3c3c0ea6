"""The log of verdicts: lines that are only ever appended, each sealed and tied to the one before.

A line of `adjudication.jsonl` is JSON with the hash of the line before (`before`) and, at its end,
the hash of everything that stands before it (`hash`). So no byte can be altered, and no line taken
out, without `verify` naming the first line that no longer fits. What a file cannot prove by itself
is that nothing was cut off at its end: note the last hash elsewhere and hand it to `verify`.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from overread.build.adjudication.reads import PersonVerdict, Reads, Retraction
from overread.core import Record
from overread.errors import OverreadError, UsageError
from overread.storage.append_log import log_path, write_all
from overread.storage.locks import lock_file
from overread.storage.system import open_binary, sync_folder
from overread.storage.system_errors import remedy_for

VERDICT_LOG = "adjudication.jsonl"
OLD_VERDICT_LOG = "verdicts.jsonl"
"""What it was called before; where it is there, it is the one that is read and written."""
_SEAL = re.compile(rb',"hash":"([0-9a-f]{64})"\}')
_SEAL_LENGTH = 75


class LogLine(Record):
    """One line of the log, less its seal."""

    n: int
    """Counted from 1."""
    before: str
    """Hash of the line before; empty on the first."""
    at: str
    """When it was written, in UTC."""
    way: Literal["given", "imported", "undone"]
    """How it came."""
    given: tuple[PersonVerdict, ...] = ()
    """Verdicts: one, or all of an import, which so comes whole or not at all."""
    retracted: Retraction | None = None
    """The verdict that was taken back."""


@dataclass(frozen=True)
class LogCheck:
    """What there is to say about a log."""

    lines: int
    """Lines that fit."""
    head: str
    """Hash of the last of them: note it elsewhere to find out later whether an end was cut off."""
    broken: int | None = None
    """The first line that does not fit; None where all do."""
    why: str = ""
    """What is wrong with it."""
    torn: str = ""
    """What a kill did to the last line, where it did; the next verdict mends that."""

    @property
    def intact(self) -> bool:
        """Whether every whole line is as it was written."""
        return self.broken is None


@dataclass(frozen=True)
class _Position:
    """How far a log was read."""

    offset: int = 0
    lines: int = 0
    head: str = ""


def verify_log(folder: Path, *, head: str | None = None) -> LogCheck:
    """Go through the whole log of a folder; `head` is a hash noted earlier, which must occur."""
    log = VerdictLog(folder)
    with log.lock() as handle:
        log.read(handle)
    found = log.check()
    if head and found.intact and head not in log.heads:
        why = f"no line has the hash {head[:16]}…: lines were cut off, or it is another log's"
        return LogCheck(found.lines, found.head, found.lines + 1, why, found.torn)
    return found


class VerdictLog:
    """One log, followed as it grows: by this process and by others."""

    def __init__(self, folder: Path) -> None:
        """The log of a folder; it need not be there yet."""
        self._folder = folder
        self.reads = Reads()
        self.heads: dict[str, None] = {}
        """Hashes of all lines."""
        self.notes: list[str] = []
        """What was mended on the way."""
        self._mark = _Position()
        self._file: tuple[int, int] | None = None
        self._broken: tuple[int, str] | None = None
        self._torn = ""
        self._lacks_end = False
        self._turn = threading.RLock()

    @property
    def path(self) -> Path:
        """The file of the log."""
        return log_path(self._folder, VERDICT_LOG, OLD_VERDICT_LOG)

    def check(self) -> LogCheck:
        """What there is to say about it, as far as it was read."""
        line, why = self._broken or (None, "")
        return LogCheck(self._mark.lines, self._mark.head, line, why, self._torn)

    def refresh(self) -> Reads:
        """The verdicts that stand now; raises where the log was altered."""
        with self.lock() as handle:
            self._read_or_raise(handle)
        return self.reads

    def append(self, decide: Callable[[Reads], LogLine], at: str) -> LogLine:
        """Write a line, while nobody else does.

        `decide` sees all verdicts that stand and makes the line, or raises, and then nothing is
        written. From the return on, a kill does not lose it.
        """
        with self.lock(writes=True) as handle:
            assert handle is not None
            self._read_or_raise(handle)
            draft = decide(self.reads)
            update = {"n": self._mark.lines + 1, "before": self._mark.head, "at": at}
            line = draft.model_copy(update=update)
            sealed, seal = _seal_line(line)
            self._truncate_torn_line(handle)
            start = b"\n" if self._lacks_end else b""
            self._write(handle, start + sealed + b"\n")
            self._apply(line)
            self._lacks_end = False
            offset = self._mark.offset + len(start) + len(sealed) + 1
            self._advance(_Position(offset, line.n, seal))
            return line

    # ---- the file --------------------------------------------------------------------------

    @contextmanager
    def lock(self, *, writes: bool = False) -> Iterator[int | None]:
        """The open and locked log file; None where there is none and it is only to be read."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT if writes else os.O_RDONLY
        with self._turn:
            try:
                handle = open_binary(self.path, flags, 0o664)
            except FileNotFoundError:
                if writes:
                    raise OverreadError("there is no such folder", where=str(self._folder)) from None
                yield None
                return
            except OSError as error:
                raise self._file_error(error, "written" if writes else "read") from None
            try:
                lock_file(handle, self.path, shared=not writes)
                if _was_replaced(self.path, handle):
                    raise OverreadError(
                        "the verdict log was replaced while waiting for its lock",
                        where=str(self.path),
                        remedy="try again",
                    )
                yield handle
            finally:
                os.close(handle)

    def read(self, handle: int | None) -> None:
        """Follow the log from where it was left to its end; what does not fit is remembered."""
        if handle is None:
            if self._mark.offset:
                self._reset()
            return
        state = os.fstat(handle)
        file = (state.st_dev, state.st_ino)
        if self._file not in (None, file) or state.st_size < self._mark.offset:
            self._reset()  # another file, or a shorter one: somebody put back a copy
        self._file = file
        self._torn = self._torn if self._lacks_end else ""
        tail = self._read_whole_lines(_read_from(handle, self._mark.offset))
        if tail and self._broken is None:
            self._check_tail(tail)

    def _read_or_raise(self, handle: int | None) -> None:
        self.read(handle)
        if self._broken is not None and handle is not None:
            self._reset()  # it may be another copy of the log than we knew
            self.read(handle)
        if self._broken is not None:
            line, why = self._broken
            raise OverreadError(
                f"the verdict log is damaged from line {line} on ({why})",
                where=str(self.path),
                remedy="restore an intact copy; `overread adjudicate DIR --verify` gives details",
            )

    def _reset(self) -> None:
        self.reads, self.heads = Reads(), {}
        self._mark, self._file, self._broken = _Position(), None, None
        self._torn, self._lacks_end = "", False

    def _truncate_torn_line(self, handle: int) -> None:
        """Remove what is left of a last line that a kill cut off."""
        if self._torn and not self._lacks_end:
            os.ftruncate(handle, self._mark.offset)
        if self._torn:
            self.notes.append(self._torn)
            self._torn = ""

    def _write(self, handle: int, data: bytes) -> None:
        try:
            write_all(handle, data)
            os.fsync(handle)
            if not self._mark.lines:
                sync_folder(self._folder)
        except BaseException as error:
            os.ftruncate(handle, self._mark.offset)
            if isinstance(error, OSError):
                raise self._file_error(error, "written") from None
            raise

    def _file_error(self, error: OSError, done: str) -> OverreadError:
        return OverreadError(
            f"the verdict log cannot be {done} ({error.strerror})",
            where=str(self.path),
            remedy=remedy_for(error, "fix that and try again: every accepted verdict is saved"),
        )

    # ---- the chain -------------------------------------------------------------------------

    def _read_whole_lines(self, data: bytes) -> bytes:
        """Take every whole line; the rest is given back."""
        at = 0
        if self._lacks_end and data:
            if not data.startswith(b"\n"):
                self._broken = (self._mark.lines, "it does not end where it did")
                return data
            self._lacks_end, self._torn, at = False, "", 1  # somebody else has ended the line
            self._advance(_Position(self._mark.offset + 1, self._mark.lines, self._mark.head))
        while self._broken is None and (end := data.find(b"\n", at)) >= 0:
            self._read_line(data[at:end])
            at = end + 1
        return data[at:]

    def _read_line(self, raw: bytes, *, ended: bool = True) -> None:
        number = self._mark.lines + 1
        try:
            line, seal = _parse_line(raw, number, self._mark.head)
            self._apply(line)
        except (ValueError, UsageError) as error:
            why = error.what if isinstance(error, UsageError) else str(error)
            self._broken = (number, why)
            return
        self._advance(_Position(self._mark.offset + len(raw) + ended, number, seal))

    def _check_tail(self, tail: bytes) -> None:
        """Check bytes after the last complete line: cut off by a kill, or edited by hand."""
        number = self._mark.lines + 1
        if _SEAL.fullmatch(tail[-_SEAL_LENGTH:]):
            self._read_line(tail, ended=False)
            if self._broken is None:
                self._lacks_end = True
                self._torn = f"line {number} lacked its end after a kill; nothing was lost"
            return
        start = _line_prefix(number, self._mark.head)
        fits = tail.startswith(start) or start.startswith(tail)
        if not fits or _holds_whole_line(tail):
            self._broken = (number, "it is not the beginning of a line that fits here")
            return
        self._torn = f"line {number} was cut off by a kill; the verdict in it was lost"

    def _apply(self, line: LogLine) -> None:
        for given in line.given:
            self.reads.add(given)
        if line.retracted is not None:
            self.reads.retract(line.retracted)

    def _advance(self, mark: _Position) -> None:
        self._mark = mark
        self.heads[mark.head] = None


def _line_prefix(number: int, head: str) -> bytes:
    return f'{{"n":{number},"before":"{head}",'.encode()


def _seal_line(line: LogLine) -> tuple[bytes, str]:
    """A line as it is stored, without its end, and its hash."""
    try:
        body = line.model_dump_json(exclude_defaults=True).encode()[:-1]
    except ValueError:
        raise UsageError("the verdict holds text that cannot be stored") from None
    seal = hashlib.sha256(body).hexdigest()
    return body + f',"hash":"{seal}"}}'.encode(), seal


def _parse_line(raw: bytes, number: int, head: str) -> tuple[LogLine, str]:
    """A stored line and its hash; a `ValueError` says what does not fit."""
    found = _SEAL.fullmatch(raw[-_SEAL_LENGTH:])
    if found is None:
        raise ValueError("it has no hash at its end")
    body, seal = raw[:-_SEAL_LENGTH], found.group(1).decode()
    if hashlib.sha256(body).hexdigest() != seal:
        raise ValueError("its hash is not that of its words")
    if not body.startswith(_line_prefix(number, head)):
        raise ValueError(f"it does not follow line {number - 1}")
    try:
        return LogLine.model_validate_json(body + b"}"), seal
    except ValidationError:
        raise ValueError("it is no verdict of this program") from None


def _holds_whole_line(tail: bytes) -> bool:
    """Whether a line stands there whole with something behind it: no kill does that."""
    return any(
        hashlib.sha256(tail[: found.start()]).hexdigest().encode() == found.group(1)
        for found in _SEAL.finditer(tail)
    )


def _was_replaced(path: Path, handle: int) -> bool:
    """Whether another file has the name by now."""
    try:
        return not os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return True


def _read_from(handle: int, offset: int) -> bytes:
    os.lseek(handle, offset, os.SEEK_SET)
    blocks = []
    while block := os.read(handle, 1 << 20):
        blocks.append(block)
    return b"".join(blocks)
