"""How soon the page shows a run of 720 cases: first paint, and until it answers clicks.

.venv/bin/python -m tools.bench.page_run

Each round is a fresh browser without a cache, on a server that has been asked nothing yet.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import Browser

import overread
from overread import RunPlan
from tests.site.browser import launch_browser
from tests.site.served_site import Site, serve_site
from tools.bench.harness import ROUNDS, Line, report
from tools.bench.loading import make_rows

CASES = 720
FIRST_PAINT = 1.5
READY = 3.0
_PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def make_run(folder: Path, seed: int) -> Path:
    """A split of the published size, read by lot and scored with 1,000 draws."""
    (folder / "medthinkvqa").mkdir()
    make_rows(folder / "medthinkvqa", seed, rows=CASES, split="test")
    out = folder / "runs" / "random"
    overread.run(RunPlan("medthinkvqa", folder / "medthinkvqa", "random", seed=seed), out)
    overread.score(out)
    return folder


def time_page(browser: Browser, site: Site) -> tuple[float, float]:
    """Seconds until something is painted, and until a tab answers with all cases."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    try:
        context.request.get(site.address)  # lets the browser in, and loads nothing into it
        page = context.new_page()
        page.goto(f"{site.base}/runs/{site.shelf_id('runs', 'random')}", wait_until="commit")
        page.locator(".runs-scores tbody tr").first.wait_for()
        page.get_by_role("tab", name="Cases").click()
        page.locator(f'.rows-view table[aria-rowcount="{CASES + 1}"] tbody tr').first.wait_for()
        ready = page.evaluate("() => performance.now()")
        painted = page.wait_for_function(_PAINTED).json_value()
    finally:
        context.close()
    return painted / 1000, ready / 1000


def main() -> None:
    """Make the run, open it five times, print the best; exit code 1 where it is too slow."""
    with tempfile.TemporaryDirectory(prefix="overread-bench-") as made:
        folder = make_run(Path(made), seed=7)
        found = []
        with launch_browser() as browser:
            for _ in range(ROUNDS):
                with serve_site([folder], "--read-only") as site:
                    found.append(time_page(browser, site))
    lines = [
        Line(f"a run of {CASES} cases: first paint", min(f[0] for f in found), "s", FIRST_PAINT),
        Line(f"a run of {CASES} cases: ready, cases shown", min(f[1] for f in found), "s", READY),
    ]
    report(lines)


if __name__ == "__main__":
    main()
