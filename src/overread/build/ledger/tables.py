"""The file of a ledger: its tables, and how it is opened, by one builder or by many readers."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from overread.errors import OverreadError, UsageError
from overread.runs.sqlite_header import is_initialised

LEDGER_FILE = "ledger.sqlite"
APPLICATION_ID = 0x6F766C64  # 'ovld': tells our file from any other database
VERSION = 1
_BUSY_SECONDS = 30.0

TABLES = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sittings (
    id INTEGER PRIMARY KEY, began TEXT NOT NULL, ended TEXT, told TEXT NOT NULL, became TEXT);
CREATE TABLE steps (
    name TEXT PRIMARY KEY, place INTEGER NOT NULL, kind TEXT NOT NULL, version INTEGER NOT NULL,
    about TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE items (
    id TEXT PRIMARY KEY, place INTEGER NOT NULL, patient TEXT, data TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE defects (
    place INTEGER NOT NULL, code TEXT NOT NULL, item TEXT, told TEXT NOT NULL,
    defect TEXT NOT NULL);
CREATE TABLE entries (
    id INTEGER PRIMARY KEY, item TEXT NOT NULL, step TEXT NOT NULL, key TEXT NOT NULL,
    version INTEGER NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL, why TEXT NOT NULL,
    by TEXT NOT NULL, data TEXT NOT NULL, changes TEXT NOT NULL, verdicts TEXT NOT NULL,
    at TEXT NOT NULL, sitting INTEGER NOT NULL);
CREATE INDEX entries_known ON entries (item, step, key);
CREATE TABLE flow (
    item TEXT NOT NULL, step TEXT NOT NULL, entry INTEGER NOT NULL, PRIMARY KEY (item, step)
    ) WITHOUT ROWID;
CREATE TABLE questions (
    entry INTEGER NOT NULL, id TEXT NOT NULL, item TEXT NOT NULL, kind TEXT NOT NULL,
    question TEXT NOT NULL, PRIMARY KEY (entry, id)) WITHOUT ROWID;
CREATE TABLE replies (
    key BLOB PRIMARY KEY, reader TEXT NOT NULL, model TEXT NOT NULL, asked TEXT NOT NULL,
    reply TEXT NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
    pictures INTEGER NOT NULL, calls INTEGER NOT NULL, cost REAL, currency TEXT NOT NULL,
    at TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE attempts (
    entry INTEGER NOT NULL, number INTEGER NOT NULL, role TEXT NOT NULL, reader TEXT NOT NULL,
    prompt TEXT NOT NULL, reply BLOB NOT NULL, known INTEGER NOT NULL, problem TEXT,
    repaired TEXT, PRIMARY KEY (entry, number)) WITHOUT ROWID;
CREATE TABLE releases (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL, items INTEGER NOT NULL, changes TEXT NOT NULL,
    at TEXT NOT NULL, sitting INTEGER NOT NULL);
"""
"""An entry is what became of one item in one step, and is never changed; `flow` says which entries
make up the build as it stands. Replies are raw, by the hash of the question; attempts say what
was made of them."""


class LedgerUnusable(OverreadError):
    """The ledger is damaged, locked or full: that ends a build, and what is in it is kept."""


def open_for_writing(folder: Path) -> sqlite3.Connection:
    """The ledger of a build, open for writing, made where there is none."""
    path = folder / LEDGER_FILE
    try:
        # Made here rather than by SQLite, so that others can never read it, not even at first.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        base = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    except OSError as error:
        raise LedgerUnusable(
            f"the ledger cannot be opened ({error.strerror})",
            where=str(path),
            remedy="give another --out",
        ) from None
    try:
        with sqlite_errors(path):
            _prepare(base, path)
    except BaseException:
        base.close()
        raise
    return base


def copy_to_memory(folder: Path) -> sqlite3.Connection:
    """The ledger of a build as it stands, in memory: whatever is written to it is forgotten."""
    memory = sqlite3.connect(":memory:", isolation_level=None)
    path = folder / LEDGER_FILE
    try:
        if path.is_file() and path.stat().st_size:
            base = open_for_reading(folder)
            try:
                with sqlite_errors(path):
                    base.backup(memory)
            finally:
                base.close()
        else:
            _create_tables(memory)
    except BaseException:
        memory.close()
        raise
    return memory


def open_for_reading(folder: Path) -> sqlite3.Connection:
    """The ledger of a build, open for reading, while somebody may be writing it."""
    path = folder / LEDGER_FILE
    if not path.is_file():
        raise UsageError(
            "there is no build here",
            where=str(folder),
            remedy="give a folder that `overread build` wrote",
        )
    with sqlite_errors(path):
        address = f"{path.resolve().as_uri()}?mode=ro"
        base = sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
        try:
            if not _is_ledger(base, path):
                raise UsageError("this build has not begun yet", where=str(folder))
        except sqlite3.OperationalError:
            # A read-only folder has no place for the shared memory of a WAL.
            base.close()
            base = sqlite3.connect(f"{address}&immutable=1", uri=True, isolation_level=None)
            _is_ledger(base, path)
        except BaseException:
            base.close()
            raise
        return base


def _prepare(base: sqlite3.Connection, path: Path) -> None:
    if not _is_ledger(base, path):
        _create_tables(base)
    with suppress(PermissionError):
        path.chmod(0o600)
    base.execute("PRAGMA journal_mode = WAL")
    base.execute("PRAGMA synchronous = NORMAL")


def _create_tables(base: sqlite3.Connection) -> None:
    base.executescript(
        f"BEGIN; {TABLES} PRAGMA application_id = {APPLICATION_ID}; "
        f"PRAGMA user_version = {VERSION}; COMMIT;"
    )


def _is_ledger(base: sqlite3.Connection, path: Path) -> bool:
    """Whether the file is a ledger and ready; False where it is new, an error where neither."""
    return is_initialised(
        base,
        path,
        what="ledger",
        application=APPLICATION_ID,
        version=VERSION,
        remedy="give another --out",
    )


@contextmanager
def sqlite_errors(path: Path | str) -> Iterator[None]:
    """Turn SQLite errors of the block into `LedgerUnusable` with a readable message."""
    try:
        yield
    except sqlite3.Error as error:
        words = str(error).rstrip(".")
        if "locked" in words:
            remedy = "another program holds it; give the same command again"
        elif "full" in words:
            remedy = "make room on the disk and give the same command again"
        else:
            remedy = "if it is damaged, move it away and build again"
        raise LedgerUnusable(
            f"the ledger cannot be used ({words})", where=str(path), remedy=remedy
        ) from None
