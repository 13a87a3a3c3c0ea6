"""The first view, in a browser."""

from __future__ import annotations

from tests.site.browser import Eyes


def test_the_shelf_is_shown(eyes: Eyes) -> None:
    """Datasets and runs are there, and lead somewhere."""
    eyes.see("Datasets, runs and builds")
    eyes.see("rexgroundingct")
    eyes.see("not for patient care")
    eyes.shoot("home")
    eyes.page.get_by_role("link", name="runs/mmrad/atlas").click()
    eyes.page.wait_for_url("**/runs/runs-mmrad-atlas-*")


def test_the_first_view_is_accessible(eyes: Eyes) -> None:
    """axe finds no serious fault."""
    eyes.see("Datasets, runs and builds")
    eyes.axe()
