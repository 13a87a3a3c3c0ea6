"""The dataset browser, in a browser."""

from __future__ import annotations

from browsing import Eyes


def test_try(eyes: Eyes) -> None:
    """Look."""
    for name, split in (("medthinkvqa", "test"), ("rexgroundingct", "test"), ("mmrad", "test")):
        one = eyes.site.shelf_id("datasets", name)
        eyes.go(f"/datasets/{one}/{split}")
        eyes.page.locator(".card").first.wait_for()
        eyes.page.wait_for_timeout(700)
        eyes.shoot(f"browser-{name}")
        eyes.axe()
        eyes.go(f"/datasets/{one}/{split}/defects")
        eyes.see("Checked")
        eyes.shoot(f"defects-{name}")
        eyes.axe()
