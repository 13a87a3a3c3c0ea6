"""The cases behind the numbers of a build, and the history of one: the ledger's own words."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect

from overread.build.ledger.queries import load_history, load_item_statuses, load_summary
from overread.errors import UnknownName
from tests.cli.overread_command import run as command
from tests.site.browser import PageWindow
from tests.site.builds.question_folders import demo_build
from tests.site.served_site import Site, serve_site


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six reports: one is empty, one fails, four wait for people."""
    home = tmp_path_factory.mktemp("histories")
    with ThreadPoolExecutor() as pool:  # another test's browser may keep a loop in this thread
        return pool.submit(demo_build, home).result()


@pytest.fixture(scope="module")
def built_site(built: Path) -> Iterator[Site]:
    """The page on that build, read-only."""
    with serve_site([built], "--read-only") as site:
        yield site


def behind(site: Site, **query: str) -> list[dict[str, Any]]:
    """The cases behind a number."""
    build = site.shelf_id("builds", "built")
    words = "&".join(f"{name}={quote(value, safe='')}" for name, value in query.items())
    found: list[dict[str, Any]] = site.get(f"/api/builds/{build}/cases?{words}")
    return found


def test_every_number_has_its_cases(built: Path, built_site: Site) -> None:
    """As many cases as the flow counts, for each step, end and reason; each stands somewhere."""
    for step in load_summary(built).steps:
        assert len(behind(built_site, step=step.name)) == step.came
        assert len(behind(built_site, step=step.name, outcome="kept")) == step.kept
        for outcome in ("dropped", "waiting", "failed"):
            for reason, count in getattr(step, outcome).items():
                told = behind(built_site, step=step.name, outcome=outcome, reason=reason)
                assert len(told) == count
                assert {one["step"] for one in told} == {step.name}
    everyone = {one["case"]: (one["step"], one["outcome"]) for one in behind(built_site)}
    assert len(everyone) == 6
    assert sorted(everyone.values()) == [*[("audit", "waiting")] * 4, ("tidy", "dropped"), ("tidy", "failed")]
    build = built_site.shelf_id("builds", "built")
    assert built_site.ask(f"/api/builds/{build}/cases?step=nope").status == 404
    assert built_site.ask(f"/api/builds/{build}/cases?outcome=nope").status == 422
    assert built_site.ask(f"/api/builds/{build}/history?case=nope").status == 404
    assert built_site.ask(f"/api/builds/{build}/history").status == 422
    with pytest.raises(UnknownName):
        load_item_statuses(built, "nope")


def test_a_history_is_the_ledgers(built: Path, built_site: Site) -> None:
    """Decisions, changes and answers are those of `overread ledger DIR CASE`."""
    build = built_site.shelf_id("builds", "built")
    for one in load_item_statuses(built):
        own = load_history(built, one.item)
        told = built_site.get(f"/api/builds/{build}/history?case={quote(one.item, safe='')}")
        assert [(d["step"], d["outcome"], d["current"]) for d in told["decisions"]] == [
            (d.entry.step, d.entry.outcome, d.current) for d in own.decisions
        ]
        for shown, decided in zip(told["decisions"], own.decisions, strict=True):
            assert [a["reply"] for a in shown["answers"]] == [
                call.reply.text for call in decided.asked if call.reply
            ]
            assert [(c["before"], c["after"]) for c in shown["changes"]] == [
                (c.before, c.after) for c in decided.entry.changes
            ]
        assert str(built.parent) not in str(told)
    waiting = behind(built_site, step="audit")[0]["case"]
    answers = built_site.get(f"/api/builds/{build}/history?case={waiting}")["decisions"][-1]["answers"]
    assert any("Audit" in part for part in answers[0]["asked"][-1]["parts"])


def spoil(folder: Path, *orders: str) -> None:
    """Change a ledger behind the build's back."""
    base = sqlite3.connect(folder / "ledger.sqlite")
    with base:
        for order in orders:
            base.execute(order)
    base.close()


@pytest.fixture
def own(built: Path, tmp_path: Path) -> Path:
    """A build of one's own, to be changed."""
    return Path(shutil.copytree(built, tmp_path / "built"))


def test_a_step_that_decided_anew_undoes_no_later_one(own: Path) -> None:
    """What is known in the end follows the order of the steps, not that of writing."""
    case = next(one.item for one in load_item_statuses(own) if one.step == "audit")
    later = load_history(own, case)
    assert [one.entry.step for one in later.decisions] == ["tidy", "sort", "audit"]
    spoil(
        own,
        "UPDATE entries SET data = '{\"text\": \"after\"}' WHERE step = 'sort'",
        "INSERT INTO entries SELECT 1000 + id, item, step, key || 'x', version + 1, outcome, reason, "
        'why, by, \'{"text": "before"}\', changes, verdicts, at, sitting FROM entries '
        "WHERE step = 'tidy'",
        "UPDATE flow SET entry = 1000 + entry WHERE step = 'tidy'",
    )
    again = load_history(own, case)
    steps = [(one.entry.step, one.current) for one in again.decisions]
    assert steps == [("tidy", False), ("tidy", True), ("sort", True), ("audit", True)]
    assert again.now["text"] == "after"


def test_cases_that_no_step_has_come_to_are_told(own: Path) -> None:
    """A build that was stopped: some have not begun, some were kept so far."""
    spoil(own, "DELETE FROM flow WHERE item = 'r1'", "DELETE FROM flow WHERE item = 'r2' AND step = 'audit'")
    with serve_site([own], "--read-only") as site:
        told = {one["case"]: one for one in behind(site)}
        assert len(told) == 6
        assert (told["r1"]["step"], told["r1"]["outcome"]) == ("", "")
        assert (told["r2"]["step"], told["r2"]["outcome"], told["r2"]["goes_on"]) == (*("sort", "kept"), True)
        assert not told["r3"]["goes_on"]
        assert len(behind(site, outcome="waiting")) == 2


def test_names_that_look_like_paths_lead_to_their_history(own: Path) -> None:
    """The id of a case is free text, and is asked for as it was told."""
    spoil(
        own,
        *(f"UPDATE {table} SET item = '/p10/s1/' || item" for table in ("flow", "entries")),
        "UPDATE items SET id = '/p10/s1/' || id",
    )
    with serve_site([own], "--read-only") as site:
        build = site.shelf_id("builds", "built")
        cases = [one["case"] for one in behind(site)]
        assert sorted(cases)[0] == "/p10/s1/r1"
        for case in cases:
            told = site.get(f"/api/builds/{build}/history?case={quote(case, safe='')}")
            assert told["case"] == case


def test_what_people_put_in_its_place_is_told_with_their_verdict(own: Path) -> None:
    """A correction is no question of its own."""
    key = {"r1/audit": "accept", "r1/audit\ncorrected": "[1, 2]", "x": None, "x\ncorrected": None}
    spoil(own, f"UPDATE entries SET verdicts = '{json.dumps(key)}' WHERE step = 'audit'")
    with serve_site([own], "--read-only") as site:
        build = site.shelf_id("builds", "built")
        told = site.get(f"/api/builds/{build}/history?case=r1")["decisions"][-1]["people"]
    assert told == [
        {"question": "r1/audit", "verdict": "accept", "corrected": "[1, 2]"},
        {"question": "x", "verdict": None, "corrected": None},
    ]
    out = command("ledger", own, "r1")[1]
    assert "people on r1/audit: accept, in its place [1, 2]" in out
    assert "people on x: not yet" in out
    assert out.count("people on") == 2


def test_withheld_truth_shows_no_cases(built: Path) -> None:
    """What will be the truth of a benchmark is not sent, and no link leads there."""
    with serve_site([built], "--hide-truth") as site:
        build = site.shelf_id("builds", "built")
        assert site.ask(f"/api/builds/{build}/cases").status == 403
        assert site.ask(f"/api/builds/{build}/history?case=r1").status == 403


SPOILT = {
    "items": "UPDATE items SET data = '[1'",
    "a list": "UPDATE items SET data = '[1]'",
    "nan": """UPDATE items SET data = '{"text": NaN, "half": "\\ud800", "x": 1e999}'""",
    "changes": "UPDATE entries SET changes = '[{\"what\": 5}]'",
    "outcome": "UPDATE entries SET outcome = 'version'",
    "steps": "DELETE FROM steps",
    "asked": "UPDATE replies SET asked = '[5]'",
    "parts": 'UPDATE replies SET asked = \'[{"role": 7, "parts": [{}, 3]}, {"parts": 9}]\'',
    "reply": "UPDATE replies SET reply = 'no'",
    "deep": f"UPDATE items SET data = '{'[' * 90_000}'",
    "verdicts": "UPDATE entries SET verdicts = '7'",
    "no fields": "UPDATE items SET data = '[]'",
    "pairs": "UPDATE items SET data = '[[\"a\", 1]]'",
    "nested": f"UPDATE items SET data = '{{\"a\": {'[' * 500}{']' * 500}}}'",
    "bytes of why": "UPDATE entries SET why = x'6869', reason = x'6869'",
    "bytes of patient": "UPDATE items SET patient = x'6869'",
    "bytes of defects": "INSERT INTO defects SELECT 1, 'x', id, x'6869', '{}' FROM items",
    "bytes of attempts": "UPDATE attempts SET role = x'6869', problem = 7",
}


@pytest.fixture(scope="module")
def spoilt_site(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A page on copies of the build, each of them spoilt in another way."""
    home = tmp_path_factory.mktemp("spoilt")
    for number, order in enumerate(SPOILT.values()):
        spoil(Path(shutil.copytree(built, home / f"build{number:02}")), order)
    with serve_site([home]) as site:
        site.home = home
        yield site


@pytest.mark.parametrize("spoilt", SPOILT)
def test_a_ledger_that_no_build_wrote_is_told(built: Path, spoilt_site: Site, spoilt: str) -> None:
    """Whatever stands in the file: an answer or one sentence, on the page and at the terminal."""
    case = load_item_statuses(built)[0].item
    name = f"build{list(SPOILT).index(spoilt):02}"
    assert spoilt_site.home is not None
    own, build = spoilt_site.home / name, spoilt_site.shelf_id("builds", name)
    for part in ("", "/cases", "/cases?step=tidy", f"/history?case={case}"):
        answer = spoilt_site.ask(f"/api/builds/{build}{part}")
        assert answer.status in (200, 404, 422), (part, answer.body[:300])
        assert str(own.parent) not in answer.body.decode()
    for words in ((own,), (own, case)):
        code, _, err = command("ledger", *words)
        assert code in (0, 1, 2)
        assert len(err.splitlines()) <= 6


def test_from_a_number_to_the_history(browser: Browser, built_site: Site) -> None:
    """The flow's numbers lead to their cases, and a case to what was decided on it, and why."""
    with PageWindow.open(browser, built_site) as window:
        build = built_site.shelf_id("builds", "built")
        window.go(f"/builds/{build}")
        window.page.get_by_role("link", name="1 empty-report at tidy: the cases").click()
        window.page.get_by_role("heading", name="Cases that were dropped at tidy").wait_for()
        expect(window.page.locator(".rows tbody tr")).to_have_count(1)
        window.wait_for_text("the report has no words")
        window.page.go_back()
        window.page.get_by_role("link", name="Status of every case").click()
        expect(window.page.locator(".rows tbody tr")).to_have_count(6)
        window.check_accessibility()
        window.save_screenshots("build-cases")
        first = behind(built_site, step="audit")[0]["case"]
        window.page.get_by_role("link", name=first, exact=True).click()
        window.page.get_by_role("heading", name=first, exact=True).wait_for()
        steps = window.page.locator(".history-steps > li")
        expect(steps.last).to_contain_text("waiting")
        asked = steps.last.locator("details").first
        asked.locator("summary").click()
        expect(asked).to_contain_text(re.compile("Audit"))
        window.check_accessibility()
        window.save_screenshots("build-history")
        wide = window.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        assert wide
        window.page.get_by_role("link", name="Cases").click()
        expect(window.page.locator(".rows tbody tr")).to_have_count(6)
