"""What holds of every view: no console error, accessible, by keyboard, narrow and wide, the notice."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser

from tests.site.browser import PageWindow
from tests.site.served_site import Site

# Whatever has a handler for clicks must be reachable: itself, or something in or around it.
UNREACHABLE = """() => {
  const named = (el) => el.outerHTML.slice(0, 160);
  const reachable = (el) => el.tabIndex >= 0 || el.getAttribute('role') === 'tab' ||
    el.closest('[role=grid],[role=listbox],[role=radiogroup]') !== null;
  return [...document.querySelectorAll('#page *')].filter((el) => {
    const heard = Object.keys(el.l ?? {}).some((name) => /^(click|mousedown|pointerdown)/i.test(name));
    if (!heard || el.disabled) return false;
    if (el.getBoundingClientRect().width === 0) return false;
    return !reachable(el) && !el.querySelector('button,a[href],input,[tabindex]') &&
      !el.closest('a[href],button,label,[tabindex="0"]') && !el.closest('figure')?.querySelector('button');
  }).map(named);
}"""
WIDER = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


def _first_case(site: Site, run: str) -> str:
    return str(site.get(f"/api/runs/{run}/cases")["rows"][0]["case"])


def _dataset(name: str, rest: str = "") -> Callable[[Site], str]:
    return lambda site: f"/datasets/{site.shelf_id('datasets', name)}/test{rest}"


def _case(name: str) -> Callable[[Site], str]:
    def found(site: Site) -> str:
        run = site.shelf_id("runs", f"{name}/atlas")
        return f"/cases/{site.shelf_id('datasets', name)}/test/{_first_case(site, run)}"

    return found


def _run(name: str) -> Callable[[Site], str]:
    return lambda site: f"/runs/{site.shelf_id('runs', f'{name}/atlas')}"


def _trace(name: str) -> Callable[[Site], str]:
    def found(site: Site) -> str:
        run = site.shelf_id("runs", f"{name}/atlas")
        return f"/runs/{run}/cases/{_first_case(site, run)}"

    return found


def _pair(site: Site, name: str) -> tuple[str, str]:
    return site.shelf_id("runs", f"{name}/atlas"), site.shelf_id("runs", f"{name}/random")


def _compare(name: str) -> Callable[[Site], str]:
    return lambda site: f"/compare?runs={','.join(_pair(site, name))}"


def _beside(name: str) -> Callable[[Site], str]:
    def found(site: Site) -> str:
        pair = _pair(site, name)
        return f"/compare/{_first_case(site, pair[0])}?runs={','.join(pair)}"

    return found


VIEWS: dict[str, Callable[[Site], str]] = {
    "home": lambda _: "/",
    "nothing": lambda _: "/no/such/view",
    "browser-cases": _dataset("medthinkvqa"),
    "browser-films": _dataset("mmrad"),
    "browser-cts": _dataset("rexgroundingct"),
    "defects": _dataset("mmrad", "/defects"),
    "description-cases": _dataset("medthinkvqa", "/description"),
    "description-cts": _dataset("rexgroundingct", "/description"),
    "description-films": _dataset("mmrad", "/description"),
    "case": _case("medthinkvqa"),
    "film": _case("mmrad"),
    "ct": _case("rexgroundingct"),
    "run-cases": _run("medthinkvqa"),
    "run-films": _run("mmrad"),
    "run-cts": _run("rexgroundingct"),
    "trace-case": _trace("medthinkvqa"),
    "trace-film": _trace("mmrad"),
    "trace-ct": _trace("rexgroundingct"),
    "compare": _compare("medthinkvqa"),
    "compare-cts": _compare("rexgroundingct"),
    "beside-case": _beside("medthinkvqa"),
    "beside-film": _beside("mmrad"),
    "beside-ct": _beside("rexgroundingct"),
}


@pytest.fixture(scope="module")
def window(browser: Browser, site: Site) -> Iterator[PageWindow]:
    """One window for all views: the console must stay without errors over all of them."""
    with PageWindow.open(browser, site) as window:
        yield window


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_holds(window: PageWindow, site: Site, view: str) -> None:
    """It opens, is accessible in light and dark, reachable by keyboard and fits 900 pixels."""
    page = window.go(VIEWS[view](site))
    page.wait_for_load_state("networkidle")
    page.locator("main h1, main .empty").first.wait_for()
    assert "not for patient care" in page.locator("footer").inner_text()
    page.keyboard.press("t")  # the truth too, where the view has it
    page.wait_for_load_state("networkidle")
    assert page.evaluate(UNREACHABLE) == []
    for width in (1440, 900):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(100)
        assert page.evaluate(WIDER) <= 0, width
    page.set_viewport_size({"width": 1440, "height": 900})
    window.check_accessibility()
    assert not window.errors
    window.save_screenshots(f"every-{view}")
