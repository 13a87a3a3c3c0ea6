"""The ledger: how items flow, the history of one, the export, and what is refused."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from overread.build.ledger.export import export_ledger
from overread.build.ledger.queries import load_history, load_summary
from overread.build.ledger.store import Ledger
from overread.build.ledger.tables import LedgerUnusable
from overread.build.runner import run_build
from overread.errors import UnknownName, UsageError
from overread.session import SessionSettings
from tests.build.demo_recipe import (
    DEMO,
    scripted_build,
    standing,
    table,
    with_step,
    write_prompts,
    write_reports,
)
from tests.workflows.scripted_model import Asked, js


def answers(asked: Asked) -> str:
    """Letters, one of which is refused at first."""
    if "Audit" in asked.words:
        return js(answer="disagree" if "mass" in asked.words else "fine")
    return js(answer="E" if "nodule" in asked.words and asked.turns == 1 else "B")


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build in which everything happens; not to be changed."""
    folder = tmp_path_factory.mktemp("ledger")
    source = write_reports(
        folder / "source",
        {"id": "c1", "patient": "p1", "text": "a  nodule"},
        {"id": "c2", "text": " "},
        {"id": "c3", "text": "a mass"},
        {"id": "c4", "text": "raise"},
        {"id": "c1", "text": "again"},
    )
    return scripted_build(source, folder / "out", answers, roles=("reader", "auditor")).folder


def test_the_flow_from_step_to_step(build: Path) -> None:
    """What came, went on, was dropped, waits or failed, by reason; and what it cost."""
    found = load_summary(build)
    told = [
        (s.name, s.came, s.kept, dict(s.dropped), dict(s.waiting), dict(s.failed), s.calls, s.refused)
        for s in found.steps
    ]
    assert told == [
        ("tidy", 4, 2, {"empty-report": 1}, {}, {"bug": 1}, 0, 0),
        ("sort", 2, 2, {}, {}, {}, 3, 1),
        ("audit", 2, 1, {}, {"letter": 1}, {}, 2, 0),
        ("rank", 1, 1, {}, {}, {}, 0, 0),
        ("again", 1, 1, {}, {}, {}, 1, 0),
    ]
    assert (found.items, found.left, found.questions, found.released) == (4, 1, 1, 1)
    assert found.defects == {"duplicate-id": 1}
    spent = {one.reader: (one.replies, one.input_tokens) for one in found.spending}
    assert spent == {"openai reader": (4, 480), "openai auditor": (2, 240)}


def test_the_history_of_one_case(build: Path) -> None:
    """Every decision with what it changed, and every question with its answer and its fate."""
    found = load_history(build, "c1")
    assert (found.item, found.patient) == ("c1", "p1")
    assert found.source == {"text": "a  nodule"}
    assert found.now["letter"] == "B"
    assert "duplicate-id" in found.defects[0]
    assert [one.entry.step for one in found.decisions] == [s.name for s in DEMO.steps]
    assert all(one.current for one in found.decisions)
    change = found.decisions[0].entry.changes[0]
    assert (change.what, change.before, change.after) == ("text", "a  nodule", "a nodule")
    first, second = found.decisions[1].asked
    assert first.problem == "E is no category"
    assert second.problem is None
    assert second.reply is not None
    assert second.reply.text == js(answer="B")
    assert "E is no category" in second.asked[-1]["parts"][0]
    assert load_history(build, "#3").item == "c3"


def test_what_is_decided_anew_stays_in_the_history(build: Path, tmp_path: Path) -> None:
    """The old decision outdated and is still told."""
    shutil.copytree(build, tmp_path / "out")
    source = build.parent / "source"
    session = SessionSettings(prompts=str(write_prompts(tmp_path / "p")))
    run_build(with_step("tidy", version=2), source, tmp_path / "out", session=session)
    found = load_history(tmp_path / "out", "c2")
    assert [(one.entry.version, one.current) for one in found.decisions] == [(1, False), (2, True)]


def test_the_parquet_export_holds_every_decision(build: Path, tmp_path: Path) -> None:
    """A row each, with its changes and the answers behind it; what waits is told with its verdict."""
    file = tmp_path / "ledger.parquet"
    count = export_ledger(build, file)
    rows = pq.read_table(file).to_pylist()
    assert count == len(rows) == len(table(build, "SELECT id FROM entries"))
    by = {(row["item"], row["step"]): row for row in rows}
    tidy = by["c1", "tidy"]
    assert tidy["changes"] == [
        {"what": "text", "before": '"a  nodule"', "after": '"a nodule"', "by": "rules", "why": ""}
    ]
    sort = by["c1", "sort"]
    assert [one["problem"] for one in sort["answers"]] == ["E is no category", None]
    assert [json.loads(one["reply"])["answer"] for one in sort["answers"]] == ["E", "B"]
    assert sum(one["input_tokens"] for one in sort["answers"]) == 240
    assert by["c3", "audit"]["outcome"] == "waiting"
    assert by["c3", "audit"]["verdicts"] == [("c3/audit", None)]
    assert by["c2", "tidy"]["reason"] == "empty-report"
    assert all(row["current"] for row in rows)
    with pytest.raises(UsageError, match=r"end it in \.parquet"):
        export_ledger(build, tmp_path / "ledger.csv")


@pytest.mark.parametrize(
    ("table_name", "column", "value"),
    [
        ("entries", "version", '"x"'),
        ("entries", "changes", "{"),
        ("entries", "changes", "1.5"),
        ("entries", "verdicts", "1.5"),
        ("entries", "outcome", b"\xff"),
        ("replies", "reply", "[1"),
        ("replies", "reply", "[1]"),
        ("releases", "items", b"\xff\xfe"),
        ("releases", "at", b"\xff\xfe"),
    ],
)
def test_values_that_no_build_wrote_are_told(
    build: Path, tmp_path: Path, table_name: str, column: str, value: object
) -> None:
    """One sentence, whoever reads them."""
    shutil.copytree(build, tmp_path / "out")
    with sqlite3.connect(tmp_path / "out" / "ledger.sqlite") as base:
        if table_name == "releases":
            base.execute("INSERT INTO releases VALUES (99, '', 1, '', '', 1)")
        base.execute(f"UPDATE {table_name} SET {column} = ?", (value,))
    base.close()

    def read() -> None:
        load_summary(tmp_path / "out")
        export_ledger(tmp_path / "out", tmp_path / "ledger.parquet")

    with pytest.raises(LedgerUnusable, match=r"no build|cannot be used") as told:
        read()
    assert "\n" not in str(told.value)


def test_the_ledger_can_be_read_while_somebody_writes(build: Path, tmp_path: Path) -> None:
    """Looking at it neither waits nor disturbs; nor does a folder that cannot be written."""
    shutil.copytree(build, tmp_path / "out")
    with Ledger(tmp_path / "out") as ledger, ledger.transaction() as base:
        base.execute("DELETE FROM flow")
        assert load_summary(tmp_path / "out").left == 1


def test_the_ledger_is_its_owners_alone(build: Path) -> None:
    """Reports of patients are in it: nobody else may read the file."""
    assert stat.S_IMODE((build / "ledger.sqlite").stat().st_mode) == 0o600


def test_what_is_no_ledger_is_refused(build: Path, tmp_path: Path) -> None:
    """No build, another database, a damaged file, another version, an unknown case."""
    with pytest.raises(UsageError, match="there is no build here"):
        load_summary(tmp_path)
    sqlite3.connect(tmp_path / "ledger.sqlite").execute("CREATE TABLE mine (x)").connection.close()
    with pytest.raises(UsageError, match="no ledger"):
        load_summary(tmp_path)
    with pytest.raises(UsageError, match="no ledger"):
        Ledger(tmp_path)
    (tmp_path / "ledger.sqlite").write_bytes(b"SQLite format 3\0" + os.urandom(5000))
    with pytest.raises(LedgerUnusable, match="cannot be used"):
        load_summary(tmp_path)
    shutil.copy(build / "ledger.sqlite", tmp_path / "ledger.sqlite")
    base = sqlite3.connect(tmp_path / "ledger.sqlite")
    base.execute("PRAGMA user_version = 99")
    base.close()
    with pytest.raises(UsageError, match="another version of overread"):
        Ledger(tmp_path)
    with pytest.raises(UnknownName, match="no case of this build is called 'zz'"):
        load_history(build, "zz")


def test_a_release_that_a_kill_took_away_is_written_again(build: Path, tmp_path: Path) -> None:
    """Whatever state the exchange of two releases was in, the next build ends with the right one."""
    out = tmp_path / "out"
    source = write_reports(tmp_path / "source", "one", "two")
    session = SessionSettings(prompts=str(write_prompts(tmp_path / "p")))

    def build_it(**more: Any) -> str:
        run_build(DEMO, source, out, session=session, **more)
        return (out / "release" / "items.jsonl").read_text()

    whole = build_it()
    (out / "release").rename(out / ".release-old")
    assert build_it() == whole
    assert not list(out.glob(".release-*"))
    with Ledger(out) as ledger:
        ledger.clear_release_key()
    (out / "release" / "items.jsonl").write_text("of another state of the source")
    assert build_it() == whole


def test_a_failing_write_leaves_nothing_half(tmp_path: Path) -> None:
    """A decision and what belongs to it are written together or not at all."""
    source = write_reports(tmp_path / "source", "one")
    session = SessionSettings(prompts=str(write_prompts(tmp_path / "p")))
    run_build(replace(DEMO, steps=DEMO.steps[:1]), source, tmp_path / "out", session=session)
    before = standing(tmp_path / "out")
    with Ledger(tmp_path / "out") as ledger:
        entry = ledger.find_decision("r1", "tidy", before[0][2])
        assert entry is not None
        ledger.connection.execute("DROP TABLE flow")
        with pytest.raises(LedgerUnusable, match="no such table"):
            ledger.write([entry])
        count = ledger.connection.execute("SELECT count(*) FROM entries").fetchone()
    assert count == (1,)


@pytest.mark.parametrize("column", ["outcome", "data", "changes", "verdicts"])
def test_a_build_that_goes_on_with_decisions_that_no_build_wrote_says_so(tmp_path: Path, column: str) -> None:
    """One sentence, not a bug: what it reads of its own ledger is checked too."""
    source = write_reports(tmp_path / "source", "a nodule")
    out = scripted_build(source, tmp_path / "out", answers, roles=("reader", "auditor")).folder
    with closing(sqlite3.connect(out / "ledger.sqlite")) as base:
        base.execute(f"UPDATE entries SET {column} = 'zebra'")
        base.commit()
    with pytest.raises(LedgerUnusable, match="holds something that no build writes"):
        scripted_build(source, out, answers, roles=("reader", "auditor"))
