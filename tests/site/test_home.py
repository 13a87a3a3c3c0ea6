"""The first view, in a browser."""

from __future__ import annotations

from tests.site.browser import PageWindow


def test_the_shelf_is_shown(window: PageWindow) -> None:
    """Datasets and runs are there, and lead somewhere."""
    window.wait_for_text("Datasets, runs and builds")
    window.wait_for_text("rexgroundingct")
    window.wait_for_text("not for patient care")
    window.save_screenshots("home")
    window.page.get_by_role("link", name="runs/mmrad/atlas").click()
    window.page.wait_for_url("**/runs/runs-mmrad-atlas-*")


def test_the_first_view_is_accessible(window: PageWindow) -> None:
    """axe finds no serious fault."""
    window.wait_for_text("Datasets, runs and builds")
    window.check_accessibility()
