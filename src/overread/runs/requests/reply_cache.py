"""Replies that were given before: SQLite, one row a reply, shared by every run of the user.

A reply is kept the moment it comes, before anybody makes sense of it, so that a killed run loses
only what was in flight. The key is a hash of everything that may change the answer; pictures count
by their hash, and neither pictures nor questions are stored.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from pydantic import JsonValue, ValidationError

from overread.core import Reply, Request, SentImage
from overread.errors import OverreadError
from overread.runs.scoring.measure_cache import cache_folder
from overread.runs.sqlite_header import is_initialised

_APPLICATION = 0x6F767264  # 'ovrd': tells our file from any other database
_VERSION = 1
_BUSY_SECONDS = 30.0


class CacheUnusable(OverreadError):
    """The reply cache is damaged, locked or full. That ends a run, because it would ask (and pay)
    twice.
    """


def default_cache_path() -> Path:
    """The user's own file of replies."""
    return cache_folder() / "replies.sqlite"


class ReplyKeys:
    """Makes the keys of one reader's questions."""

    def __init__(self, identity: Mapping[str, JsonValue], *, seeded: bool = False) -> None:
        """`seeded` readers hand the seed to their model, so that it is part of the question."""
        told = json.dumps(identity, sort_keys=True, ensure_ascii=True, allow_nan=False)
        self._identity_hash = hashlib.sha256(b"overread reply 1\0" + told.encode())
        self._seeded = seeded
        # A workflow asks with the same schema for every case: worded once.
        self._schema: tuple[object, bytes] = (None, b"")

    def key(self, request: Request) -> bytes:
        """The key of a question: the same for the same question, whoever asks and whenever."""
        digest = self._identity_hash.copy()
        parts: list[bytes] = []
        for message in request.messages:
            parts.append(message.role.encode())
            for part in message.parts:
                if isinstance(part, SentImage):
                    parts += (b"\1picture", part.media.encode(), part.sha256.encode())
                else:
                    parts += (b"\1words", part.encode("utf-8", "surrogatepass"))
            parts.append(b"\2end")
        if request.schema is not None:
            if self._schema[0] is not request.schema:
                told = json.dumps(request.schema, sort_keys=True).encode()
                self._schema = (request.schema, told)
            parts += (b"\3schema", self._schema[1])
        parts.append(b"%d" % request.sample)
        if self._seeded:
            parts.append(b"%d" % request.seed)
        # Lengths first: no two different lists of parts make the same bytes.
        digest.update(b",".join(b"%d" % len(part) for part in parts) + b";")
        digest.update(b"".join(parts))
        return digest.digest()


class ReplyCache:
    """The file of replies, open. Several processes may have it open at the same time."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Open the file, or make it, readable by its owner alone."""
        self.path = path
        try:
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, "it is a folder")
            self._base = _connect(path, read_only=read_only)
        except sqlite3.Error as error:
            raise _unusable_error(path, error) from None
        except OSError as error:
            raise CacheUnusable(
                f"the reply cache cannot be opened ({error.strerror})",
                where=str(path),
                remedy="give another file with --cache, or --no-cache",
            ) from None

    def get(self, key: bytes) -> Reply | None:
        """The reply to that question, where it was given before."""
        try:
            row = self._base.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error as error:
            raise _unusable_error(self.path, error) from None
        if row is None:
            return None
        try:
            return Reply.model_validate_json(row[0])
        except (ValidationError, UnicodeDecodeError):
            return None  # of another version, or damaged: asking again mends it

    def add(self, key: bytes, request: Request, reply: Reply) -> None:
        """Store the reply to a request; it survives a kill from now on.

        The request itself is not stored here (a ledger stores it). The reply is stored with calls 0 and without cost: whoever reads it back asked nobody, and prices
        change.
        """
        usage = reply.usage.model_copy(update={"calls": 0, "cost": None})
        kept = reply.model_copy(update={"usage": usage})
        try:
            self._base.execute(
                "INSERT OR REPLACE INTO replies (key, reply, at) "
                "VALUES (?, ?, strftime('%s', 'now'))",
                (key, kept.model_dump_json(exclude_defaults=True)),
            )
        except sqlite3.Error as error:
            raise _unusable_error(self.path, error) from None

    def count(self) -> int:
        """How many replies there are."""
        try:
            found = self._base.execute("SELECT count(*) FROM replies").fetchone()
        except sqlite3.Error as error:
            raise _unusable_error(self.path, error) from None
        return int(found[0])

    def close(self) -> None:
        """Close the file."""
        with suppress(sqlite3.Error):
            self._base.close()


def _connect(path: Path, *, read_only: bool) -> sqlite3.Connection:
    if read_only:
        address = f"{path.resolve().as_uri()}?mode=ro"
        base = sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
        return _close_on_error(base, lambda: _prepare_read_only(base, path))
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Made here rather than by SQLite, so that it is never readable by others, not even at first.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    # Autocommit: each reply is a transaction. With a WAL that costs no waiting for the disk.
    base = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, cached_statements=8)
    return _close_on_error(base, lambda: _prepare_writable(base, path))


def _close_on_error(base: sqlite3.Connection, ready: Callable[[], None]) -> sqlite3.Connection:
    try:
        ready()
    except BaseException:
        base.close()
        raise
    return base


def _prepare_read_only(base: sqlite3.Connection, path: Path) -> None:
    if not _is_ready(base, path):  # an empty file: nothing was ever asked
        base.execute("CREATE TEMP TABLE replies (key BLOB, reply TEXT, at INTEGER)")


def _prepare_writable(base: sqlite3.Connection, path: Path) -> None:
    base.execute(f"PRAGMA busy_timeout = {int(_BUSY_SECONDS * 1000)}")
    if not _is_ready(base, path):
        base.execute("BEGIN IMMEDIATE")  # of two that come first, one makes the table
        try:
            if not _is_ready(base, path):
                base.execute(
                    "CREATE TABLE replies (key BLOB PRIMARY KEY, reply TEXT NOT NULL, "
                    "at INTEGER NOT NULL) WITHOUT ROWID"
                )
                base.execute(f"PRAGMA application_id = {_APPLICATION}")
                base.execute(f"PRAGMA user_version = {_VERSION}")
            base.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                base.execute("ROLLBACK")
            raise
    with suppress(PermissionError):
        path.chmod(0o600)  # of an empty file that was there; -wal and -shm take theirs from it
    base.execute("PRAGMA journal_mode = WAL")
    base.execute("PRAGMA synchronous = NORMAL")


def _is_ready(base: sqlite3.Connection, path: Path) -> bool:
    """Whether the file is ours and ready; False where it is new, an error where it is neither."""
    return is_initialised(
        base,
        path,
        what="reply cache",
        application=_APPLICATION,
        version=_VERSION,
        remedy="choose another file with --cache; this one was not changed",
    )


def _unusable_error(path: Path, error: sqlite3.Error) -> CacheUnusable:
    told = str(error).rstrip(".")
    if isinstance(error, sqlite3.OperationalError) and "locked" in told:
        remedy = (
            "another program has locked it; run the same command again, or choose another --cache"
        )
    elif isinstance(error, sqlite3.OperationalError) and "full" in told:
        remedy = "make room on the disk and run the same command again"
    else:
        remedy = "delete the file (the model is then asked again), or choose another --cache"
    return CacheUnusable(f"the reply cache cannot be used ({told})", where=str(path), remedy=remedy)
