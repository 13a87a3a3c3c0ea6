"""Checks by its header whether a SQLite file is one of ours, before anything is read from or
written to it.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from overread.errors import UsageError


def is_initialised(
    base: sqlite3.Connection,
    path: Path,
    *,
    what: str,
    application: int,
    version: int,
    remedy: str,
) -> bool:
    """True where the file is a database of this kind and version; False where it is new and empty.

    A file of another version or of another program is refused with `remedy`, and not touched.
    """
    found = base.execute("PRAGMA application_id").fetchone()[0]
    made = base.execute("PRAGMA user_version").fetchone()[0]
    tables = base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if found == application and made == version:
        return True
    if found == application:
        raise UsageError(
            f"this {what} is of another version of overread (format {made})",
            where=str(path),
            remedy=remedy,
        )
    if found == 0 and tables == 0:
        return False
    raise UsageError(f"this database is no {what}", where=str(path), remedy=remedy)
