"""A build on the page: the flow, cost, progress, agreement on request, and the chain."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from playwright.sync_api import Browser

from overread.build.adjudication import Queue
from tests.site.browser import PageWindow
from tests.site.builds.question_folders import demo_build
from tests.site.served_site import serve_site


def test_the_flow_and_the_people_are_shown(browser: Browser, tmp_path: Path) -> None:
    """Steps with what was dropped and why, models, progress, agreement on request, the chain."""
    # In a thread of its own: the browser keeps an event loop running in this one.
    with ThreadPoolExecutor() as pool:
        folder = pool.submit(demo_build, tmp_path).result()
    queue = Queue(folder)
    asked = list(queue.questions)
    assert len(asked) == 4
    for id_ in asked[:3]:
        queue.submit("ann", id_, "accept")
        queue.submit("bob", id_, "accept" if id_ != asked[0] else "reject")
    with serve_site([tmp_path / "built"]) as site, PageWindow.open(browser, site) as window:
        build = site.shelf_id("builds", "built")
        told = site.get(f"/api/builds/{build}")["ledger"]
        steps = {step["name"]: step for step in told["steps"]}
        assert (steps["tidy"]["came"], steps["tidy"]["kept"]) == (6, 4)
        assert steps["tidy"]["dropped"] == {"empty-report": 1}
        assert steps["audit"]["waiting"] == {"letter": 4}
        assert sum(steps["tidy"]["failed"].values()) == 1
        assert str(tmp_path) not in str(told)
        window.go(f"/builds/{build}")
        window.wait_for_text("1 empty-report")
        window.wait_for_text("4 waiting: letter")
        window.wait_for_text("4 open questions for people")
        window.wait_for_text("Model usage")
        window.wait_for_text("ann: 3 done, 1 left")
        window.wait_for_text("log intact")
        assert window.page.get_by_text("kappa").count() == 0  # not before it is asked for
        window.page.get_by_role("button", name="Show the agreement").click()
        window.wait_for_text("3, 1 differ")
        window.wait_for_text("Krippendorff")
        window.check_accessibility()
        window.save_screenshots("build")
        wide = window.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        assert wide
        window.page.get_by_role("link", name="Adjudicate").click()
        window.wait_for_text("Who are you?")
        window.check_accessibility()
