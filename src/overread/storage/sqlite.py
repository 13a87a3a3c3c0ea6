"""SQLite files of ours: private, told from those of other programs, errors in one sentence."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from overread.errors import OverreadError, UsageError

_BUSY_SECONDS = 30.0


@dataclass(frozen=True)
class DatabaseKind:
    """One kind of file: what tells it from others, its tables, and what is said when it fails."""

    what: str
    """What it is called in messages."""
    application: int
    """The application id in its header."""
    version: int
    """Of the format."""
    tables: str
    """The statements that make its tables."""
    error: type[OverreadError]
    """Raised where SQLite cannot use the file."""
    remedy_other: str
    """What to do where the file is another program's or another version's; it is not touched."""
    remedy_damaged: str
    """What to do where it is damaged."""

    def open(self, path: Path) -> sqlite3.Connection:
        """The file, open for writing, each statement a transaction; made where there is none."""
        with self.errors(path):
            # Made here rather than by SQLite, so that others can never read it, not even at first.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            base = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
            try:
                if not self.check_ownership(base, path):
                    self._create_tables(base, path)
                with suppress(PermissionError):
                    path.chmod(0o600)  # -wal and -shm take theirs from it
                # With a WAL, a transaction costs no waiting for the disk.
                base.execute("PRAGMA journal_mode = WAL")
                base.execute("PRAGMA synchronous = NORMAL")
            except BaseException:
                base.close()
                raise
            return base

    def open_read_only(self, path: Path) -> sqlite3.Connection | None:
        """The file, open for reading while others may write it; None where it is new and empty."""
        address = f"{path.resolve().as_uri()}?mode=ro"
        with self.errors(path):
            try:
                return self._connect_read_only(address, path)
            except sqlite3.OperationalError:
                # A read-only folder has no place for the shared memory of a WAL.
                return self._connect_read_only(f"{address}&immutable=1", path)

    def open_in_memory(self) -> sqlite3.Connection:
        """An empty one that is forgotten when it is closed."""
        base = sqlite3.connect(":memory:", isolation_level=None)
        self._create_tables(base, Path(":memory:"))
        return base

    def check_ownership(self, base: sqlite3.Connection, path: Path) -> bool:
        """True where the file is of this kind and version, False where it is new and empty.

        A file of another version or of another program is refused.
        """
        found = base.execute("PRAGMA application_id").fetchone()[0]
        made = base.execute("PRAGMA user_version").fetchone()[0]
        tables = base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if found == self.application and made == self.version:
            return True
        if found == 0 and tables == 0:
            return False
        raise UsageError(
            f"this {self.what} is of another version of overread (format {made})"
            if found == self.application
            else f"this database is no {self.what}",
            where=str(path),
            remedy=self.remedy_other,
        )

    @contextmanager
    def errors(self, path: Path) -> Iterator[None]:
        """Turn SQLite errors of the block into one sentence."""
        try:
            yield
        except sqlite3.Error as error:
            words = str(error).rstrip(".")
            remedy = _system_remedy(error) or self.remedy_damaged
            raise self.error(
                f"the {self.what} cannot be used ({words})", where=str(path), remedy=remedy
            ) from None

    def _connect_read_only(self, address: str, path: Path) -> sqlite3.Connection | None:
        base = sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
        try:
            if self.check_ownership(base, path):
                return base
        except BaseException:
            base.close()
            raise
        base.close()
        return None

    def _create_tables(self, base: sqlite3.Connection, path: Path) -> None:
        base.execute("BEGIN IMMEDIATE")  # of two that come first, one makes the tables
        try:
            if not self.check_ownership(base, path):
                for statement in self.tables.split(";"):
                    base.execute(statement)
                base.execute(f"PRAGMA application_id = {self.application}")
                base.execute(f"PRAGMA user_version = {self.version}")
            base.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                base.execute("ROLLBACK")
            raise


def _system_remedy(error: sqlite3.Error) -> str:
    """What to do where the system is at fault, not the file; '' where the file is."""
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return "another program has locked it; run the same command again"
    if name == "SQLITE_FULL":
        return "make room on the disk, or choose another place, and run the same command again"
    if name.startswith("SQLITE_READONLY"):
        return "nothing may be written there: choose another place"
    if name.startswith("SQLITE_NOMEM"):
        return "close other programs, or use a smaller --concurrency"
    if name.startswith(("SQLITE_IOERR", "SQLITE_PROTOCOL")):
        if any(word in name for word in ("LOCK", "SHM", "PROTOCOL")):
            return "its file system cannot lock files: choose a place on a local disk"
        return (
            "the disk is full or failed: make room, or choose another place on a local disk, and run the "
            "same command again"
        )
    return ""
