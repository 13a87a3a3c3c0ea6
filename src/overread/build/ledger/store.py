"""The ledger of a build: what became of every item in every step, and every answer of a model.

Each decision is a row, written in one transaction the moment it is made, and no row is ever
changed: what is decided anew is a new row, and `flow` says which rows make up the build as it
stands. Raw replies lie apart from what was made of them, by the hash of the question.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, JsonValue, TypeAdapter

from overread.build.item import Change, Data, Item, Question
from overread.build.ledger.tables import (
    LEDGER_FILE,
    LedgerUnusable,
    content_errors,
    copy_to_memory,
    open_for_writing,
    sqlite_errors,
)
from overread.core import Defect, Record, Reply, Request
from overread.errors import UsageError
from overread.runs.requests.prices import Prices
from overread.runs.requests.reply_cache import ReplyCache
from overread.storage.locks import lock_file
from overread.storage.system_errors import remedy_for

OutcomeName = Literal["kept", "dropped", "waiting", "failed"]
CHANGES: TypeAdapter[tuple[Change, ...]] = TypeAdapter(tuple[Change, ...])


class ReplyAttempt(Record):
    """One answer of a model, and what was made of it."""

    role: str
    """Whom the step asked: 'reader', 'auditor', 'probe-1'."""
    reader: str
    """What the ledger calls who answered."""
    prompt: str
    """Name and digest of the prompt."""
    reply: bytes
    """Key of the raw reply."""
    known: bool = False
    """Whether the answer was there already."""
    problem: str | None = None
    """Why it could not be used; then the next attempt asks again with this reason."""
    repaired: str | None = None
    """What had to be mended before it could be read."""


class LedgerEntry(Record):
    """What became of one item in one step."""

    item: str
    """Which item."""
    step: str
    """Which step."""
    key: str
    """Hash of all that the decision rests on."""
    version: int = 1
    """Of the step."""
    outcome: OutcomeName
    """Whether it goes on, ends here, waits for people, or the step failed."""
    reason: str = ""
    """A short code: why it was dropped, or what kind of failure it was."""
    why: str = ""
    """The same in one sentence."""
    by: str = ""
    """Who decided, where it was dropped."""
    data: Data = Field(default_factory=dict)
    """Fields that are new or replace earlier ones."""
    changes: tuple[Change, ...] = ()
    """What was altered."""
    verdicts: dict[str, str | None] = Field(default_factory=dict)
    """Questions that were looked up → what people had decided by then."""
    at: str = ""
    """When, in UTC."""
    id: int = 0
    """Number of the row."""


def utc_timestamp() -> str:
    """The time as the ledger writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Ledger:
    """The ledger of one build, open for writing by nobody else."""

    def __init__(self, folder: Path, *, forgetful: bool = False) -> None:
        """Open or create it; a `forgetful` one is a copy in memory, for dry runs."""
        self.folder = folder
        self.path = folder / LEDGER_FILE
        self.run_id = 0
        self._lock = None if forgetful else _lock_folder(folder)
        try:
            self.connection = copy_to_memory(folder) if forgetful else open_for_writing(folder)
        except BaseException:
            self._unlock()
            raise

    def close(self) -> None:
        """Let go of the file."""
        with suppress(sqlite3.Error):
            self.connection.close()
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """One transaction: commit all that the block writes, or roll it back."""
        with sqlite_errors(self.path):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self.connection.execute("ROLLBACK")
                raise

    # ---- the build -----------------------------------------------------------------------------

    def begin_run(self, recipe: str, told_: Mapping[str, JsonValue]) -> None:
        """Start a run of the build; a folder holds the builds of one recipe only."""
        with self.transaction() as base:
            row = base.execute("SELECT value FROM about WHERE name = 'recipe'").fetchone()
            if row is None:
                base.execute("INSERT INTO about VALUES ('recipe', ?)", (recipe,))
            elif row[0] != recipe:
                raise UsageError(
                    f"this folder holds a build by the recipe '{row[0]}'",
                    where=str(self.folder),
                    remedy="give another --out",
                )
            found = base.execute(
                "INSERT INTO sittings (began, told) VALUES (?, ?)", (utc_timestamp(), _to_json(told_))
            )
            self.run_id = found.lastrowid or 0

    def end_run(self, became: Mapping[str, JsonValue]) -> None:
        """End the run, and store how it ended."""
        with self.transaction() as base:
            base.execute(
                "UPDATE sittings SET ended = ?, became = ? WHERE id = ?",
                (utc_timestamp(), _to_json(became), self.run_id),
            )

    def has_build(self) -> bool:
        """Whether there is a build in it already, beside previews."""
        with sqlite_errors(self.path):
            return self.connection.execute("SELECT 1 FROM flow LIMIT 1").fetchone() is not None

    def replace_steps(self, steps: Sequence[tuple[str, str, int, str]]) -> None:
        """The steps as they are now: name, kind, version, about."""
        with self.transaction() as base:
            base.execute("DELETE FROM steps")
            base.executemany(
                "INSERT INTO steps (name, place, kind, version, about) VALUES (?, ?, ?, ?, ?)",
                [(name, n, kind, version, about) for n, (name, kind, version, about) in
                 enumerate(steps, 1)],
            )  # fmt: skip

    def replace_items(self, items: Sequence[Item], defects: Sequence[Defect]) -> None:
        """The source as it is now, as far as it is built."""
        with self.transaction() as base:
            base.execute("DELETE FROM items")
            base.execute("DELETE FROM defects")
            base.executemany(
                "INSERT INTO items VALUES (?, ?, ?, ?)",
                [(item.id, n, item.patient, _to_json(item.data)) for n, item in
                 enumerate(items, 1)],
            )  # fmt: skip
            base.executemany(
                "INSERT INTO defects VALUES (?, ?, ?, ?, ?)",
                [(n, one.code, one.case, str(one), one.model_dump_json(exclude_none=True))
                 for n, one in enumerate(defects, 1)],
            )  # fmt: skip
            base.execute(
                "DELETE FROM flow WHERE item NOT IN (SELECT id FROM items) "
                "OR step NOT IN (SELECT name FROM steps)"
            )

    # ---- decisions -----------------------------------------------------------------------------

    def find_decision(self, item: str, step: str, key: str) -> LedgerEntry | None:
        """The latest decision on an item in a step with exactly this key, or None."""
        with sqlite_errors(self.path):
            row = self.connection.execute(
                "SELECT * FROM entries WHERE item = ? AND step = ? AND key = ? ORDER BY id DESC LIMIT 1",
                (item, step, key),
            ).fetchone()
        with content_errors(self.path):
            return None if row is None else parse_entry(row)

    def write(
        self,
        entries: Sequence[LedgerEntry],
        *,
        attempts: Sequence[ReplyAttempt] = (),
        questions: Sequence[Question] = (),
        later: Sequence[str] = (),
        flowing: bool = True,
    ) -> None:
        """Write decisions, all of them or none, and have them make up the build.

        `attempts` belong to the first of them. `later` are the steps behind: items that do not go
        on have nothing to do with those any more.
        """
        with self.transaction() as base:
            for number, entry in enumerate(entries):
                row = base.execute(
                    "INSERT INTO entries VALUES (NULL,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                    (entry.item, entry.step, entry.key, entry.version, entry.outcome, entry.reason,
                     entry.why, entry.by, _to_json(entry.data),
                     CHANGES.dump_json(entry.changes).decode(), _to_json(entry.verdicts),
                     utc_timestamp(), self.run_id),
                ).lastrowid  # fmt: skip
                if number == 0:
                    base.executemany(
                        "INSERT INTO attempts VALUES (?,?,?,?,?,?,?,?,?)",
                        [(row, n, a.role, a.reader, a.prompt, a.reply, a.known, a.problem,
                          a.repaired) for n, a in enumerate(attempts, 1)],
                    )  # fmt: skip
                base.executemany(
                    "INSERT OR REPLACE INTO questions VALUES (?, ?, ?, ?, ?)",
                    [(row, q.id, q.item, q.kind, q.model_dump_json()) for q in questions
                     if q.item == entry.item],
                )  # fmt: skip
                if flowing:
                    _set_current(base, entry, row or 0, later)

    def make_current(self, entries: Sequence[LedgerEntry], later: Sequence[str]) -> None:
        """Mark earlier decisions as current in the build, where they are not yet."""
        rows = [
            (entry, self.connection.execute(
                "SELECT entry FROM flow WHERE item = ? AND step = ?", (entry.item, entry.step)
            ).fetchone())
            for entry in entries
        ]  # fmt: skip
        moved = [entry for entry, row in rows if row is None or row[0] != entry.id]
        if moved:
            with self.transaction() as base:
                for entry in moved:
                    _set_current(base, entry, entry.id, later)

    def unusable_replies(self, entry: int) -> frozenset[bytes]:
        """Replies that a decision could not use: who decides anew must ask again."""
        with sqlite_errors(self.path):
            rows = self.connection.execute(
                "SELECT reply FROM attempts WHERE entry = ? AND problem IS NOT NULL", (entry,)
            )
            return frozenset(row[0] for row in rows)

    # ---- releases ------------------------------------------------------------------------------

    def current_release_key(self) -> str:
        """The key of the release that stands; empty where that is not certain."""
        with sqlite_errors(self.path):
            row = self.connection.execute("SELECT value FROM about WHERE name = 'release'").fetchone()
        return "" if row is None else str(row[0])

    def clear_release_key(self) -> None:
        """Clear the stored release key, before a new release replaces the old one."""
        with self.transaction() as base:
            base.execute("INSERT OR REPLACE INTO about VALUES ('release', '')")

    def record_release(self, key: str, items: int, changes: Sequence[Change]) -> None:
        """Note that a release was written."""
        with self.transaction() as base:
            base.execute("INSERT OR REPLACE INTO about VALUES ('release', ?)", (key,))
            base.execute(
                "INSERT INTO releases (key, items, changes, at, sitting) VALUES (?,?,?,?,?)",
                (key, items, CHANGES.dump_json(tuple(changes)).decode(), utc_timestamp(), self.run_id),
            )


class LedgerReplies(ReplyCache):
    """Raw replies in the ledger, in place of the user's cache: kept the moment they come."""

    def __init__(self, ledger: Ledger, reader: str, prices: Prices | None = None) -> None:
        """`reader` is the name under which replies are stored."""
        self.path = ledger.path
        self._base = ledger.connection
        self._reader = reader
        self._prices = prices

    def get(self, key: bytes) -> Reply | None:
        """The reply to that question, where it was given before."""
        with sqlite_errors(self.path):
            row = self._base.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        with content_errors(self.path):
            return None if row is None else Reply.model_validate_json(row[0])

    def add(self, key: bytes, request: Request, reply: Reply) -> None:
        """Store a reply with what was asked; it survives a kill from now on."""
        usage = reply.usage
        asked = [message.model_dump(mode="json") for message in request.messages]
        kept = reply.model_copy(update={"usage": usage.model_copy(update={"calls": 0})})
        with sqlite_errors(self.path):
            self._base.execute(
                "INSERT OR REPLACE INTO replies VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
                (key, self._reader, reply.model, json.dumps(asked, ensure_ascii=True),
                 kept.model_dump_json(exclude_defaults=True), usage.input_tokens,
                 usage.output_tokens, usage.pictures, usage.calls, usage.cost,
                 self._prices.currency if self._prices else "", utc_timestamp()),
            )  # fmt: skip

    def close(self) -> None:
        """The ledger closes itself."""


def parse_entry(row: Sequence[Any]) -> LedgerEntry:
    """An entry from its row."""
    return LedgerEntry(
        id=row[0], item=row[1], step=row[2], key=row[3], version=row[4], outcome=row[5],
        reason=row[6], why=row[7], by=row[8], data=json.loads(row[9]),
        changes=CHANGES.validate_json(row[10]), verdicts=json.loads(row[11]), at=row[12],
    )  # fmt: skip


def _set_current(base: sqlite3.Connection, entry: LedgerEntry, row: int, later: Sequence[str]) -> None:
    base.execute("INSERT OR REPLACE INTO flow VALUES (?, ?, ?)", (entry.item, entry.step, row))
    if entry.outcome != "kept":
        base.executemany(
            "DELETE FROM flow WHERE item = ? AND step = ?", [(entry.item, name) for name in later]
        )


def _to_json(value: Any) -> str:
    # In ASCII: no letter that a text may hold, half a surrogate pair among them, breaks a row.
    return json.dumps(value, ensure_ascii=True, allow_nan=False)


def _lock_folder(folder: Path) -> int:
    """Lock the build's folder against other processes until we are done."""
    busy = UsageError(
        "another process is building here",
        where=str(folder),
        remedy="wait until it is done, or give another --out",
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        number = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise LedgerUnusable(
            f"the build cannot be written ({error.strerror})",
            where=str(folder),
            remedy=remedy_for(error, "give another --out"),
        ) from None
    try:
        lock_file(number, folder, busy=busy)
    except BaseException:
        os.close(number)
        raise
    return number
