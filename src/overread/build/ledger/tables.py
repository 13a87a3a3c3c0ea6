"""The file of a ledger: its tables, and how it is opened, by one builder or by many readers."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from overread.errors import OverreadError, UsageError
from overread.storage.sqlite import DatabaseKind
from overread.storage.system_errors import remedy_for

LEDGER_FILE = "ledger.sqlite"

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
    at TEXT NOT NULL, sitting INTEGER NOT NULL)
"""
"""An entry is what became of one item in one step, and is never changed; `flow` says which entries
make up the build as it stands. Replies are raw, by the hash of the question; attempts say what
was made of them."""


class LedgerUnusable(OverreadError):
    """The ledger is damaged, locked or full: that ends a build, and what is in it is kept."""

    fatal = True


_LEDGER = DatabaseKind(
    what="ledger",
    application=0x6F766C64,  # 'ovld'
    version=1,
    tables=TABLES,
    error=LedgerUnusable,
    remedy_other="give another --out",
    remedy_damaged="if it is damaged, move it away and build again",
)


def open_for_writing(folder: Path) -> sqlite3.Connection:
    """The ledger of a build, open for writing, made where there is none."""
    path = folder / LEDGER_FILE
    try:
        return _LEDGER.open(path)
    except OSError as error:
        raise LedgerUnusable(
            f"the ledger cannot be opened ({error.strerror})",
            where=str(path),
            remedy=remedy_for(error, "give another --out"),
        ) from None


def copy_to_memory(folder: Path) -> sqlite3.Connection:
    """The ledger of a build as it stands, in memory: whatever is written to it is forgotten."""
    path = folder / LEDGER_FILE
    if not path.is_file() or not path.stat().st_size:
        return _LEDGER.open_in_memory()
    memory = sqlite3.connect(":memory:", isolation_level=None)
    try:
        base = open_for_reading(folder)
        try:
            with sqlite_errors(path):
                base.backup(memory)
        finally:
            base.close()
    except BaseException:
        memory.close()
        raise
    return memory


def open_for_reading(folder: Path) -> sqlite3.Connection:
    """The ledger of a build, open for reading, while somebody may be writing it."""
    path = folder / LEDGER_FILE
    if not path.is_file():
        raise UsageError(
            "there is no build here", where=str(folder), remedy="give a folder that `overread build` wrote"
        )
    base = _LEDGER.open_read_only(path)
    if base is None:
        raise UsageError("this build has not begun yet", where=str(folder))
    return base


def sqlite_errors(path: Path) -> AbstractContextManager[None]:
    """Turn SQLite errors of the block into `LedgerUnusable` with a readable message."""
    return _LEDGER.errors(path)


@contextmanager
def content_errors(path: Path) -> Iterator[None]:
    """Turn what a block meets that no build writes into `LedgerUnusable`: what is read is checked."""
    try:
        yield
    except (ValueError, TypeError, RecursionError) as error:
        raise LedgerUnusable(
            f"the ledger holds something that no build writes ({type(error).__name__})",
            where=str(path),
            remedy="move it away and build again",
        ) from error
