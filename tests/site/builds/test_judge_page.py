"""People check a judge on the page: from the run to the questions to the agreement."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser

from overread.build.adjudication import Queue, verify_log
from tests.build.adjudication.sample_questions import judged_by_owl
from tests.site.browser import Eyes
from tests.site.served_site import served


def test_people_check_a_judge(browser: Browser, own_shelf: Path) -> None:
    """The run offers it, the questions show case and pictures and no verdict, agreement is told."""
    run = own_shelf / "runs" / "medthinkvqa" / "atlas"
    cases = judged_by_owl(run)
    with served([own_shelf]) as site, Eyes.on(browser, site) as eyes:
        eyes.go(f"/runs/{site.shelf_id('runs', 'medthinkvqa/atlas')}")
        eyes.page.get_by_role("button", name="Have people check the judge").click()
        eyes.see("People check here what a judge said")
        eyes.page.get_by_role("link", name="Adjudicate").click()
        eyes.page.locator("input:focus").wait_for()
        eyes.page.keyboard.type("ann")
        eyes.page.keyboard.press("Enter")
        eyes.see("Does this step of the explanation hold?")
        eyes.page.locator(".stage-picture").wait_for()
        eyes.see("right answer")
        eyes.see("medical-knowledge")
        assert "zebra" not in eyes.page.content()
        eyes.shoot("judge")
        eyes.axe()
        folder = run.with_name("atlas-judge-checked")
        for number in range(2 * len(cases)):
            eyes.see(f"{number} given")
            eyes.page.keyboard.press("1")
            eyes.page.keyboard.press("Enter")
        eyes.see("No questions left for you")
        assert len(Queue(folder).current_verdicts()) == 2 * len(cases)
        assert verify_log(folder).intact
        eyes.page.get_by_role("link", name="Back to the build").click()
        eyes.page.get_by_role("button", name="Show the agreement").click()
        eyes.see("against the judge")
        row = eyes.page.get_by_role("row", name="ann and owl").inner_text()
        assert "0.500" in row  # it called every step factual, the judge every other one
        eyes.go(f"/runs/{site.shelf_id('runs', 'medthinkvqa/atlas')}")
        eyes.page.get_by_role("link", name="People check the judge").wait_for()


def test_a_run_that_nobody_judged_offers_nothing(own_shelf: Path) -> None:
    """There is nothing to check, and asking for it is refused."""
    with served([own_shelf]) as site:
        run = site.shelf_id("runs", "mmrad/atlas")
        told = site.get(f"/api/runs/{run}/judged")
        assert told == {"judges": [], "steps": 0, "sentences": 0, "build": None}
        assert site.ask(f"/api/runs/{run}/judged", method="POST").status == 422
