"""Replies that were given before: SQLite, one row a reply, shared by every run of the user.

A reply is kept the moment it comes, before anybody makes sense of it, so that a killed run loses
only what was in flight. The key is a hash of everything that may change the answer; pictures count
by their hash, and neither pictures nor questions are stored.
"""

from __future__ import annotations

import errno
import hashlib
import json
import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from pydantic import JsonValue, ValidationError

from overread.core import Reply, Request, SentImage
from overread.errors import OverreadError
from overread.storage.cache_folder import cache_folder
from overread.storage.sqlite import DatabaseKind


class CacheUnusable(OverreadError):
    """The reply cache is damaged, locked or full. That ends a run, because it would ask (and pay)
    twice.
    """

    fatal = True


_REPLIES = DatabaseKind(
    what="reply cache",
    application=0x6F767264,  # 'ovrd'
    version=1,
    tables="CREATE TABLE replies (key BLOB PRIMARY KEY, reply TEXT NOT NULL, "
    "at INTEGER NOT NULL) WITHOUT ROWID",
    error=CacheUnusable,
    remedy_other="choose another file with --cache; this one was not changed",
    remedy_damaged="delete the file (the model is then asked again), or choose another --cache",
)


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
            if read_only:
                self._base = _REPLIES.open_read_only(path) or _REPLIES.open_in_memory()
            else:
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                self._base = _REPLIES.open(path)
        except OSError as error:
            raise CacheUnusable(
                f"the reply cache cannot be opened ({error.strerror})",
                where=str(path),
                remedy="give another file with --cache, or --no-cache",
            ) from None

    def get(self, key: bytes) -> Reply | None:
        """The reply to that question, where it was given before."""
        with _REPLIES.errors(self.path):
            row = self._base.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        try:
            return Reply.model_validate_json(row[0])
        except (ValidationError, UnicodeDecodeError):
            return None  # of another version, or damaged: asking again mends it

    def add(self, key: bytes, request: Request, reply: Reply) -> None:
        """Store the reply to a request; it survives a kill from now on.

        The request itself is not stored here (a ledger stores it). The reply is stored with calls 0
        and without cost: whoever reads it back asked nobody, and prices change.
        """
        usage = reply.usage.model_copy(update={"calls": 0, "cost": None})
        kept = reply.model_copy(update={"usage": usage})
        with _REPLIES.errors(self.path):
            self._base.execute(
                "INSERT OR REPLACE INTO replies (key, reply, at) VALUES (?, ?, strftime('%s', 'now'))",
                (key, kept.model_dump_json(exclude_defaults=True)),
            )

    def count(self) -> int:
        """How many replies there are."""
        with _REPLIES.errors(self.path):
            found = self._base.execute("SELECT count(*) FROM replies").fetchone()
        return int(found[0])

    def close(self) -> None:
        """Close the file."""
        with suppress(sqlite3.Error):
            self._base.close()
