"""People check a judge on the page: from the run to the questions to the agreement."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from overread.build.adjudication import Queue, verify_log
from tests.build.adjudication.sample_questions import judged_by_owl
from tests.site.browser import PageWindow
from tests.site.served_site import serve_site

pytestmark = pytest.mark.slow


def test_people_check_a_judge(browser: Browser, own_shelf: Path) -> None:
    """The run offers it, the questions show case and pictures and no verdict, agreement is told."""
    run = own_shelf / "runs" / "medthinkvqa" / "atlas"
    cases = judged_by_owl(run)
    with serve_site([own_shelf]) as site, PageWindow.open(browser, site) as window:
        window.go(f"/runs/{site.shelf_id('runs', 'medthinkvqa/atlas')}")
        window.page.get_by_role("button", name="Have people check the judge").click()
        window.wait_for_text("People check the verdicts of a judge")
        window.page.get_by_role("link", name="Adjudicate").click()
        window.page.locator("input:focus").wait_for()
        window.page.keyboard.type("ann")
        window.page.keyboard.press("Enter")
        window.wait_for_text("Does this step of the explanation hold?")
        window.page.locator(".stage-picture").wait_for()
        window.wait_for_text("right answer")
        window.wait_for_text("medical-knowledge")
        assert "zebra" not in window.page.content()
        window.save_screenshots("judge")
        window.check_accessibility()
        folder = run.with_name("atlas-judge-checked")
        for number in range(2 * len(cases)):
            window.wait_for_text(f"{number} done")
            window.page.keyboard.press("1")
            window.page.keyboard.press("Enter")
        window.wait_for_text("No questions left for you")
        assert len(Queue(folder).current_verdicts()) == 2 * len(cases)
        assert verify_log(folder).intact
        window.page.get_by_role("link", name="Back to the build").click()
        window.page.get_by_role("button", name="Show the agreement").click()
        window.wait_for_text("against the judge")
        row = window.page.get_by_role("row", name="ann and owl").inner_text()
        assert "0.500" in row  # it called every step factual, the judge every other one
        window.go(f"/runs/{site.shelf_id('runs', 'medthinkvqa/atlas')}")
        window.page.get_by_role("link", name="People check the judge").wait_for()


def test_a_run_that_nobody_judged_offers_nothing(own_shelf: Path) -> None:
    """There is nothing to check, and asking for it is refused."""
    with serve_site([own_shelf]) as site:
        run = site.shelf_id("runs", "mmrad/atlas")
        told = site.get(f"/api/runs/{run}/judged")
        assert told == {"judges": [], "steps": 0, "sentences": 0, "build": None}
        assert site.ask(f"/api/runs/{run}/judged", method="POST").status == 422
