"""The cases behind the numbers of a build, and the history of one: the ledger's own words."""

from __future__ import annotations

import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect

from browsing import Eyes
from commands import run as command
from overread.build.ledger_reading import history, standings, summary
from overread.errors import UnknownName
from question_folders import demo_build
from site_making import Site, served


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six reports: one is empty, one fails, four wait for people."""
    home = tmp_path_factory.mktemp("histories")
    with ThreadPoolExecutor() as pool:  # another test's browser may keep a loop in this thread
        return pool.submit(demo_build, home).result()


def behind(site: Site, **query: str) -> list[dict[str, Any]]:
    """The cases behind a number."""
    build = site.shelf_id("builds", "built")
    words = "&".join(f"{name}={quote(value, safe='')}" for name, value in query.items())
    found: list[dict[str, Any]] = site.get(f"/api/builds/{build}/cases?{words}")
    return found


def test_every_number_has_its_cases(built: Path) -> None:
    """As many cases as the flow counts, for each step, end and reason; each stands somewhere."""
    with served([built], "--read-only") as site:
        for step in summary(built).steps:
            assert len(behind(site, step=step.name)) == step.came
            assert len(behind(site, step=step.name, outcome="kept")) == step.kept
            for outcome in ("dropped", "waiting", "failed"):
                for reason, count in getattr(step, outcome).items():
                    told = behind(site, step=step.name, outcome=outcome, reason=reason)
                    assert len(told) == count
                    assert {one["step"] for one in told} == {step.name}
        everyone = {one["case"]: (one["step"], one["outcome"]) for one in behind(site)}
        assert len(everyone) == 6
        assert sorted(everyone.values()) == [
            *[("audit", "waiting")] * 4,
            ("tidy", "dropped"),
            ("tidy", "failed"),
        ]
        build = site.shelf_id("builds", "built")
        assert site.ask(f"/api/builds/{build}/cases?step=nope").status == 404
        assert site.ask(f"/api/builds/{build}/cases?outcome=nope").status == 422
        assert site.ask(f"/api/builds/{build}/history?case=nope").status == 404
        assert site.ask(f"/api/builds/{build}/history").status == 422
    with pytest.raises(UnknownName):
        standings(built, "nope")


def test_a_history_is_the_ledgers(built: Path) -> None:
    """Decisions, changes and answers are those of `overread ledger DIR CASE`."""
    with served([built], "--read-only") as site:
        build = site.shelf_id("builds", "built")
        for one in standings(built):
            own = history(built, one.item)
            told = site.get(f"/api/builds/{build}/history?case={quote(one.item, safe='')}")
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
        waiting = behind(site, step="audit")[0]["case"]
        answers = site.get(f"/api/builds/{build}/history?case={waiting}")["decisions"][-1][
            "answers"
        ]
        assert any("Audit" in part for part in answers[0]["asked"][-1]["parts"])


def test_withheld_truth_shows_no_cases(built: Path) -> None:
    """What will be the truth of a benchmark is not sent, and no link leads there."""
    with served([built], "--hide-truth") as site:
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
}


@pytest.mark.parametrize("spoilt", SPOILT)
def test_a_ledger_that_no_build_wrote_is_told(tmp_path: Path, spoilt: str) -> None:
    """Whatever stands in the file: an answer or one sentence, on the page and at the terminal."""
    with ThreadPoolExecutor() as pool:
        folder = pool.submit(demo_build, tmp_path).result()
    case = standings(folder)[-1].item
    base = sqlite3.connect(folder / "ledger.sqlite")
    with base:
        base.execute(SPOILT[spoilt])
    base.close()
    with served([folder]) as site:
        build = site.shelf_id("builds", "built")
        for part in ("", "/cases", "/cases?step=tidy", f"/history?case={case}"):
            answer = site.ask(f"/api/builds/{build}{part}")
            assert answer.status in (200, 404, 422), (part, answer.body[:300])
            assert str(tmp_path) not in answer.body.decode()
    for words in ((folder,), (folder, case)):
        code, _, err = command("ledger", *words)
        assert code in (0, 1, 2)
        assert len(err.splitlines()) <= 6


def test_from_a_number_to_the_history(browser: Browser, built: Path) -> None:
    """The flow's numbers lead to their cases, and a case to what was decided on it, and why."""
    with served([built], "--read-only") as site, Eyes.on(browser, site) as eyes:
        build = site.shelf_id("builds", "built")
        eyes.go(f"/builds/{build}")
        eyes.page.get_by_role("link", name="1 empty-report at tidy: the cases").click()
        eyes.page.get_by_role("heading", name="Cases that were dropped at tidy").wait_for()
        expect(eyes.page.locator(".rows tbody tr")).to_have_count(1)
        eyes.see("the report has no words")
        eyes.page.go_back()
        eyes.page.get_by_role("link", name="Where every case stands").click()
        expect(eyes.page.locator(".rows tbody tr")).to_have_count(6)
        eyes.axe()
        eyes.shoot("build-cases")
        first = behind(site, step="audit")[0]["case"]
        eyes.page.get_by_role("link", name=first, exact=True).click()
        eyes.page.get_by_role("heading", name=first, exact=True).wait_for()
        steps = eyes.page.locator(".history-steps > li")
        expect(steps.last).to_contain_text("waiting")
        asked = steps.last.locator("details").first
        asked.locator("summary").click()
        expect(asked).to_contain_text(re.compile("Audit"))
        eyes.axe()
        eyes.shoot("build-history")
        wide = eyes.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        assert wide
        eyes.page.get_by_role("link", name="Cases").click()
        expect(eyes.page.locator(".rows tbody tr")).to_have_count(6)
