"""Queries over a ledger: how items flow from step to step, and the history of one item."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter

from overread.build.item import Data
from overread.build.ledger.store import LedgerEntry, OutcomeName, parse_entry
from overread.build.ledger.tables import content_errors, open_for_reading, sqlite_errors
from overread.catalog import unknown_name
from overread.core import Reply


@dataclass
class StepFlow:
    """What became of the items that came to one step."""

    name: str
    kind: str
    """'step' for one that is done to each item, 'gather' for one that takes all together."""
    version: int
    about: str
    came: int = 0
    kept: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    """Reason → items."""
    waiting: Counter[str] = field(default_factory=Counter)
    """Kind of question → items."""
    failed: Counter[str] = field(default_factory=Counter)
    """Kind of failure → items."""
    changes: int = 0
    """Alterations that it made."""
    calls: int = 0
    """Answers of models that its decisions rest on, those that were no good among them."""
    refused: int = 0
    """Those of them that could not be used."""


@dataclass
class LedgerSpending:
    """What the answers of one reader came to, over all sittings."""

    reader: str
    replies: int
    calls: int
    input_tokens: int
    output_tokens: int
    pictures: int
    cost: float | None
    currency: str


@dataclass
class BuildSummary:
    """A build as it stands."""

    folder: Path
    recipe: str
    items: int
    """Items of the source."""
    left: int
    """Items that went through every step."""
    steps: list[StepFlow]
    defects: Counter[str]
    """Kind of defect → rows of the source."""
    defects_told: list[str]
    """The first few of them, in words."""
    questions: int
    """Questions that wait for people."""
    spending: list[LedgerSpending]
    sittings: int
    """How often somebody built here."""
    released: int | None
    """Items of the release that was written last."""
    released_at: str | None


@dataclass
class ItemStatus:
    """The status of one item: what a step decided on it."""

    item: str
    patient: str | None
    step: str = ""
    """Empty where no step has come to it yet; so are the others, then."""
    outcome: str = ""
    reason: str = ""
    why: str = ""
    by: str = ""
    changes: int = 0
    """Alterations that the step made."""
    goes_on: bool = False
    """Whether this is where it stands now, and more steps follow."""


@dataclass
class ModelAnswer:
    """One answer of a model in the history of an item."""

    role: str
    reader: str
    prompt: str
    problem: str | None
    repaired: str | None
    known: bool
    """Whether it was there already when the decision was made."""
    asked: list[dict[str, Any]]
    """The messages that it answers."""
    reply: Reply | None


@dataclass
class HistoryEntry:
    """One decision in the history of an item."""

    entry: LedgerEntry
    current: bool
    """Whether the build as it stands rests on it."""
    asked: list[ModelAnswer]


@dataclass
class ItemHistory:
    """All that is on record of one item."""

    item: str
    patient: str | None
    source: dict[str, Any]
    """The fields with which it came."""
    defects: list[str]
    decisions: list[HistoryEntry]
    now: dict[str, Any]
    """What is known of it in the end."""


# SQLite keeps whatever it is given in any column, and a ledger may come from anybody.
_STRICT = ConfigDict(strict=True)
_ITEM = TypeAdapter(tuple[str, str | None], config=_STRICT)
_STANDING = TypeAdapter(tuple[str, str | None, str, OutcomeName, str, str, str, int], config=_STRICT)
_SPENT = TypeAdapter(tuple[str, int, int, int, int, int, float | None, str], config=_STRICT)
_FLOW = TypeAdapter(tuple[str, OutcomeName, str, int, int | None], config=_STRICT)
_CALL = TypeAdapter(tuple[str, str, str, str | None, str | None, int, str | None, str | None], config=_STRICT)
_DATA: TypeAdapter[Data] = TypeAdapter(Data, config=_STRICT)
_TEXT: TypeAdapter[str | None] = TypeAdapter(str | None, config=_STRICT)
_TEXTS = TypeAdapter(list[str], config=_STRICT)
_COUNT = TypeAdapter(int, config=_STRICT)
_COUNTS = TypeAdapter(dict[str, int], config=_STRICT)
_MESSAGES = TypeAdapter(list[dict[str, Any]])


@contextmanager
def _open_ledger(folder: Path) -> Iterator[sqlite3.Connection]:
    """Open the ledger of a folder for reading; content that no build writes raises an error."""
    base = open_for_reading(folder)
    try:
        with content_errors(folder), sqlite_errors(folder):
            yield base
    finally:
        base.close()


def load_summary(folder: Path) -> BuildSummary:
    """The build in a folder as it stands."""
    with _open_ledger(folder) as base:
        return _query_summary(folder, base)


def _query_summary(folder: Path, base: sqlite3.Connection) -> BuildSummary:
    steps = {
        name: StepFlow(name, kind, version, about)
        for name, kind, version, about in base.execute(
            "SELECT name, kind, version, about FROM steps ORDER BY place"
        )
    }
    rows = base.execute(
        "SELECT f.step, e.outcome, e.reason, count(*), sum(json_array_length(e.changes)) "
        "FROM flow f JOIN entries e ON e.id = f.entry JOIN steps s ON s.name = f.step "
        "GROUP BY f.step, e.outcome, e.reason"
    )
    for name, outcome, reason, count, changes in map(_FLOW.validate_python, rows):
        flow = steps[name]
        flow.came += count
        flow.changes += changes or 0
        if outcome == "kept":
            flow.kept += count
        else:
            getattr(flow, outcome)[reason] += count
    asked = base.execute(
        "SELECT f.step, count(*), count(a.problem) FROM flow f JOIN steps s ON s.name = f.step "
        "JOIN attempts a ON a.entry = f.entry GROUP BY f.step"
    )
    for name, calls, refused in asked:
        steps[name].calls, steps[name].refused = calls, refused
    items = base.execute("SELECT count(*) FROM items").fetchone()[0]
    last = base.execute("SELECT items, at FROM releases ORDER BY id DESC LIMIT 1").fetchone()
    recipe = base.execute("SELECT value FROM about WHERE name = 'recipe'").fetchone()
    flows = list(steps.values())
    defects = base.execute("SELECT code, count(*) FROM defects GROUP BY code ORDER BY code")
    return BuildSummary(
        folder=folder,
        recipe=recipe[0] if recipe else "",
        items=items,
        left=flows[-1].kept if flows else items,
        steps=flows,
        defects=Counter(_COUNTS.validate_python(dict(defects.fetchall()))),
        defects_told=_TEXTS.validate_python(
            [row[0] for row in base.execute("SELECT told FROM defects ORDER BY place LIMIT 20")]
        ),
        questions=base.execute(
            "SELECT count(DISTINCT q.id) FROM questions q JOIN flow f ON f.entry = q.entry"
        ).fetchone()[0],
        spending=_query_spending(base),
        sittings=base.execute("SELECT count(*) FROM sittings").fetchone()[0],
        released=_COUNT.validate_python(last[0]) if last else None,
        released_at=_TEXT.validate_python(last[1]) if last else None,
    )


def _query_spending(base: sqlite3.Connection) -> list[LedgerSpending]:
    rows = base.execute(
        "SELECT reader, count(*), sum(calls), sum(input_tokens), sum(output_tokens), "
        "sum(pictures), sum(cost), max(currency) FROM replies GROUP BY reader ORDER BY reader"
    )
    return [LedgerSpending(*_SPENT.validate_python(row)) for row in rows]


def load_item_statuses(folder: Path, step: str | None = None) -> list[ItemStatus]:
    """What a step decided on each item that came to it; without one, where each item stands now."""
    with _open_ledger(folder) as base:
        steps = [row[0] for row in base.execute("SELECT name FROM steps ORDER BY place")]
        if step is not None and step not in steps:
            raise unknown_name("step of this build", step, steps)
        rows = base.execute(
            "SELECT f.item, i.patient, f.step, e.outcome, e.reason, e.why, e.by, "
            "json_array_length(e.changes), max(s.place) "
            "FROM flow f JOIN entries e ON e.id = f.entry JOIN steps s ON s.name = f.step "
            "LEFT JOIN items i ON i.id = f.item WHERE ? IS NULL OR f.step = ? "
            "GROUP BY f.item ORDER BY i.place, f.item",
            (step, step),
        )
        found = [ItemStatus(*_STANDING.validate_python(row[:-1])) for row in rows]
        if step is None:
            for one in found:
                one.goes_on = one.outcome == "kept" and one.step != steps[-1]
            begun = {one.item for one in found}
            every = base.execute("SELECT id, patient FROM items ORDER BY place")
            items = map(_ITEM.validate_python, every)
            found += [ItemStatus(item, patient) for item, patient in items if item not in begun]
        return found


def load_item_data(folder: Path) -> dict[str, Data]:
    """Item → all that is known of it: the source's fields, and what its steps added, as it stands."""
    with _open_ledger(folder) as base:
        found = {name: _DATA.validate_json(data) for name, data in base.execute("SELECT id, data FROM items")}
        steps = "SELECT e.item, e.data FROM flow f JOIN entries e ON e.id = f.entry ORDER BY e.id"
        for name, data in base.execute(steps):
            if data and name in found:
                found[name] |= _DATA.validate_json(data)
    return found


def load_history(folder: Path, item: str) -> ItemHistory:
    """All that is on record of one item, by its id or its place in the source ('#3')."""
    with _open_ledger(folder) as base:
        return _query_history(base, item)


def _query_history(base: sqlite3.Connection, name: str) -> ItemHistory:
    ids = {row[0]: row[1] for row in base.execute("SELECT id, place FROM items ORDER BY place")}
    if name not in ids and name.startswith("#"):
        name = next((one for one, place in ids.items() if f"#{place}" == name), name)
    entries = base.execute("SELECT * FROM entries WHERE item = ? ORDER BY id", (name,)).fetchall()
    if name not in ids and not entries:
        raise unknown_name("case of this build", name, ids)
    current = {row[0] for row in base.execute("SELECT entry FROM flow WHERE item = ?", (name,))}
    row = base.execute("SELECT patient, data FROM items WHERE id = ?", (name,)).fetchone()
    source = _DATA.validate_python(json.loads(row[1])) if row else {}
    places = dict(base.execute("SELECT name, place FROM steps").fetchall())
    decisions = [
        HistoryEntry(entry, entry.id in current, _query_answers(base, entry.id))
        for entry in map(parse_entry, entries)
    ]
    # As the steps follow each other: one that decided anew, and the same, comes before those that
    # did not have to, whatever was written last.
    decisions.sort(key=lambda one: (places.get(one.entry.step, len(places)), one.entry.id))
    known = dict(source)
    for decided in decisions:
        if decided.current:
            known.update(decided.entry.data)
    return ItemHistory(
        item=name,
        patient=_TEXT.validate_python(row[0]) if row else None,
        source=source,
        defects=_TEXTS.validate_python(
            [r[0] for r in base.execute("SELECT told FROM defects WHERE item = ?", (name,))]
        ),
        decisions=decisions,
        now=known,
    )


def _query_answers(base: sqlite3.Connection, entry: int) -> list[ModelAnswer]:
    rows = base.execute(
        "SELECT a.role, a.reader, a.prompt, a.problem, a.repaired, a.known, r.asked, r.reply "
        "FROM attempts a LEFT JOIN replies r ON r.key = a.reply WHERE a.entry = ? "
        "ORDER BY a.number",
        (entry,),
    )
    return [
        ModelAnswer(
            role=role,
            reader=reader,
            prompt=prompt,
            problem=problem,
            repaired=repaired,
            known=bool(known),
            asked=_MESSAGES.validate_python(json.loads(asked)) if asked else [],
            reply=Reply.model_validate_json(reply) if reply else None,
        )
        for role, reader, prompt, problem, repaired, known, asked, reply in map(_CALL.validate_python, rows)
    ]
