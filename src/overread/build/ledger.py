"""The ledger of a build: what became of every item in every step, and every answer of a model.

Each decision is a row, written in one transaction the moment it is made, and no row is ever
changed: what is decided anew is a new row, and `flow` says which rows make up the build as it
stands. Raw replies lie apart from what was made of them, by the hash of the question.
"""

from __future__ import annotations

import fcntl
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
from overread.build.ledger_tables import FILE, LedgerUnusable, connected, copied, told
from overread.core import Defect, Record, Reply, Request
from overread.errors import UsageError
from overread.runs.cache import ReplyCache
from overread.runs.prices import Prices

Became = Literal["kept", "dropped", "waiting", "failed"]
CHANGES: TypeAdapter[tuple[Change, ...]] = TypeAdapter(tuple[Change, ...])


class Attempt(Record):
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
    outcome: Became
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


def now() -> str:
    """The time as the ledger writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Ledger:
    """The ledger of one build, open for writing by nobody else."""

    def __init__(self, folder: Path, *, forgetful: bool = False) -> None:
        """Open or make it; a `forgetful` one is a copy in memory, for looking ahead."""
        self.folder = folder
        self.path = folder / FILE
        self.sitting = 0
        self._lock = None if forgetful else _locked(folder)
        try:
            self.base = copied(folder) if forgetful else connected(folder)
        except BaseException:
            self._unlock()
            raise

    def close(self) -> None:
        """Let go of the file."""
        with suppress(sqlite3.Error):
            self.base.close()
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
    def writing(self) -> Iterator[sqlite3.Connection]:
        """All that the block writes, or nothing of it."""
        with told(self.path):
            self.base.execute("BEGIN IMMEDIATE")
            try:
                yield self.base
                self.base.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self.base.execute("ROLLBACK")
                raise

    # ---- the build -----------------------------------------------------------------------------

    def begin(self, recipe: str, told_: Mapping[str, JsonValue]) -> None:
        """Begin a sitting; a folder holds the builds of one recipe."""
        with self.writing() as base:
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
                "INSERT INTO sittings (began, told) VALUES (?, ?)", (now(), _json(told_))
            )
            self.sitting = found.lastrowid or 0

    def end(self, became: Mapping[str, JsonValue]) -> None:
        """End the sitting, and say what became of it."""
        with self.writing() as base:
            base.execute(
                "UPDATE sittings SET ended = ?, became = ? WHERE id = ?",
                (now(), _json(became), self.sitting),
            )

    def begun(self) -> bool:
        """Whether there is a build in it already, beside previews."""
        with told(self.path):
            return self.base.execute("SELECT 1 FROM flow LIMIT 1").fetchone() is not None

    def put_steps(self, steps: Sequence[tuple[str, str, int, str]]) -> None:
        """The steps as they are now: name, kind, version, about."""
        with self.writing() as base:
            base.execute("DELETE FROM steps")
            base.executemany(
                "INSERT INTO steps (name, place, kind, version, about) VALUES (?, ?, ?, ?, ?)",
                [(name, n, kind, version, about) for n, (name, kind, version, about) in
                 enumerate(steps, 1)],
            )  # fmt: skip

    def put_items(self, items: Sequence[Item], defects: Sequence[Defect]) -> None:
        """The source as it is now, as far as it is built."""
        with self.writing() as base:
            base.execute("DELETE FROM items")
            base.execute("DELETE FROM defects")
            base.executemany(
                "INSERT INTO items VALUES (?, ?, ?, ?)",
                [(item.id, n, item.patient, _json(item.data)) for n, item in
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

    def known(self, item: str, step: str, key: str) -> LedgerEntry | None:
        """The last decision on an item in a step that rests on the very same things."""
        with told(self.path):
            row = self.base.execute(
                "SELECT * FROM entries WHERE item = ? AND step = ? AND key = ? "
                "ORDER BY id DESC LIMIT 1",
                (item, step, key),
            ).fetchone()
        return None if row is None else entry_of(row)

    def write(
        self,
        entries: Sequence[LedgerEntry],
        *,
        attempts: Sequence[Attempt] = (),
        questions: Sequence[Question] = (),
        later: Sequence[str] = (),
        flowing: bool = True,
    ) -> None:
        """Write decisions, all of them or none, and have them make up the build.

        `attempts` belong to the first of them. `later` are the steps behind: items that do not go
        on have nothing to do with those any more.
        """
        with self.writing() as base:
            for number, entry in enumerate(entries):
                row = base.execute(
                    "INSERT INTO entries VALUES (NULL,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                    (entry.item, entry.step, entry.key, entry.version, entry.outcome, entry.reason,
                     entry.why, entry.by, _json(entry.data),
                     CHANGES.dump_json(entry.changes).decode(), _json(entry.verdicts), now(),
                     self.sitting),
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
                    _flow(base, entry, row or 0, later)

    def settle(self, entries: Sequence[LedgerEntry], later: Sequence[str]) -> None:
        """Have decisions of earlier make up the build, where they do not yet."""
        rows = [
            (entry, self.base.execute(
                "SELECT entry FROM flow WHERE item = ? AND step = ?", (entry.item, entry.step)
            ).fetchone())
            for entry in entries
        ]  # fmt: skip
        moved = [entry for entry, row in rows if row is None or row[0] != entry.id]
        if moved:
            with self.writing() as base:
                for entry in moved:
                    _flow(base, entry, entry.id, later)

    def unusable(self, entry: int) -> frozenset[bytes]:
        """Replies that a decision could not use: who decides anew must ask again."""
        with told(self.path):
            rows = self.base.execute(
                "SELECT reply FROM attempts WHERE entry = ? AND problem IS NOT NULL", (entry,)
            )
            return frozenset(row[0] for row in rows)

    # ---- releases ------------------------------------------------------------------------------

    def released(self) -> str:
        """The key of the release that stands; empty where that is not certain."""
        with told(self.path):
            row = self.base.execute("SELECT value FROM about WHERE name = 'release'").fetchone()
        return "" if row is None else str(row[0])

    def exchange_release(self) -> None:
        """Note that one release is about to take the place of another."""
        with self.writing() as base:
            base.execute("INSERT OR REPLACE INTO about VALUES ('release', '')")

    def write_release(self, key: str, items: int, changes: Sequence[Change]) -> None:
        """Note that a release was written."""
        with self.writing() as base:
            base.execute("INSERT OR REPLACE INTO about VALUES ('release', ?)", (key,))
            base.execute(
                "INSERT INTO releases (key, items, changes, at, sitting) VALUES (?,?,?,?,?)",
                (key, items, CHANGES.dump_json(tuple(changes)).decode(), now(), self.sitting),
            )


class LedgerReplies(ReplyCache):
    """Raw replies in the ledger, in place of the user's cache: kept the moment they come."""

    def __init__(self, ledger: Ledger, reader: str, prices: Prices | None = None) -> None:
        """`reader` is what the ledger calls who answers."""
        self.path = ledger.path
        self._base = ledger.base
        self._reader = reader
        self._prices = prices
        self._asked: dict[bytes, str] = {}

    def ask(self, key: bytes, request: Request) -> None:
        """Note what is about to be asked; it is written together with the reply."""
        messages = [message.model_dump(mode="json") for message in request.messages]
        self._asked[key] = json.dumps(messages, ensure_ascii=True)

    def forget(self, key: bytes) -> None:
        """Nobody had to be asked after all."""
        self._asked.pop(key, None)

    def get(self, key: bytes) -> Reply | None:
        """The reply to that question, where it was given before."""
        with told(self.path):
            row = self._base.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        return None if row is None else Reply.model_validate_json(row[0])

    def add(self, key: bytes, reply: Reply) -> None:
        """Keep a reply; it outlives a kill from now on."""
        usage = reply.usage
        kept = reply.model_copy(update={"usage": usage.model_copy(update={"calls": 0})})
        with told(self.path):
            self._base.execute(
                "INSERT OR REPLACE INTO replies VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
                (key, self._reader, reply.model, self._asked.pop(key, "[]"),
                 kept.model_dump_json(exclude_defaults=True), usage.input_tokens,
                 usage.output_tokens, usage.pictures, usage.calls, usage.cost,
                 self._prices.currency if self._prices else "", now()),
            )  # fmt: skip

    def close(self) -> None:
        """The ledger closes itself."""


def entry_of(row: Sequence[Any]) -> LedgerEntry:
    """An entry from its row."""
    return LedgerEntry(
        id=row[0], item=row[1], step=row[2], key=row[3], version=row[4], outcome=row[5],
        reason=row[6], why=row[7], by=row[8], data=json.loads(row[9]),
        changes=CHANGES.validate_json(row[10]), verdicts=json.loads(row[11]), at=row[12],
    )  # fmt: skip


def _flow(base: sqlite3.Connection, entry: LedgerEntry, row: int, later: Sequence[str]) -> None:
    base.execute("INSERT OR REPLACE INTO flow VALUES (?, ?, ?)", (entry.item, entry.step, row))
    if entry.outcome != "kept":
        base.executemany(
            "DELETE FROM flow WHERE item = ? AND step = ?", [(entry.item, name) for name in later]
        )


def _json(value: Any) -> str:
    # In ASCII: no letter that a text may hold, half a surrogate pair among them, breaks a row.
    return json.dumps(value, ensure_ascii=True, allow_nan=False)


def _locked(folder: Path) -> int:
    """Keep everybody else from building in this folder until we are done."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        number = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise LedgerUnusable(
            f"the build cannot be written ({error.strerror})",
            where=str(folder),
            remedy="give another --out",
        ) from None
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(number)
        raise UsageError(
            "another process is building here",
            where=str(folder),
            remedy="wait until it is done, or give another --out",
        ) from None
    return number
