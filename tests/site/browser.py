"""Looking at the page in a real Chromium: windows, console errors, accessibility, screenshots."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests.site.served_site import Site

AXE = Path(__file__).resolve().parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
WIDTHS = (1440, 900)
FLAGS = (
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-gl=angle",
    "--use-angle=swiftshader",  # WebGL in software: the machine has no graphics card
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
)


TIMEOUT = 120_000
"""Milliseconds that the page may take; a quick machine waits for none of them."""
expect.set_options(timeout=TIMEOUT)


@contextmanager
def launch_browser() -> Iterator[Browser]:
    """A headless Chromium, the system's."""
    found = os.environ.get("OVERREAD_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        pytest.fail("there is no Chromium: apt-get install chromium, or set OVERREAD_CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class PageWindow:
    """One window on the page."""

    page: Page
    site: Site
    errors: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    """Parts of console errors that the test brings about on purpose."""

    @classmethod
    @contextmanager
    def open(
        cls, browser: Browser, site: Site, *, dark: bool = False, width: int = 1440
    ) -> Iterator[PageWindow]:
        """A window, let in by the token; afterwards the console must be without errors."""
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
        )
        window = cls(context.new_page(), site)
        window.page.set_default_timeout(TIMEOUT)

        def note_error(message: ConsoleMessage) -> None:
            if message.type == "error":
                window.errors.append(message.text)

        window.page.on("console", note_error)
        window.page.on("pageerror", lambda error: window.errors.append(str(error)))
        window.page.goto(site.address)
        try:
            yield window
            wrong = [e for e in window.errors if not any(part in e for part in window.expected)]
            assert not wrong, f"errors in the console: {wrong}"
        finally:
            context.close()

    def go(self, path: str) -> Page:
        """Open an address of the page."""
        self.page.goto(self.site.base + path)
        return self.page

    def wait_for_text(self, text: str) -> None:
        """Wait until some text stands on the page."""
        self.page.get_by_text(text).first.wait_for()

    def check_accessibility(self) -> None:
        """No serious fault of accessibility on what is shown, in light and in dark."""
        for scheme in ("light", "dark"):
            self.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            if not self.page.evaluate("() => 'axe' in window"):
                self.page.evaluate(AXE.read_text("utf-8"))  # the page's own policy forbids a tag
            found: dict[str, Any] = self.page.evaluate("() => axe.run({resultTypes: ['violations']})")
            bad = [
                (rule["id"], rule["help"], [node["html"][:160] for node in rule["nodes"][:3]])
                for rule in found["violations"]
                if rule["impact"] in ("serious", "critical")
            ]
            assert not bad, (scheme, bad)
        self.page.emulate_media(color_scheme="light")

    def save_screenshots(self, name: str, *, full: bool = True) -> None:
        """Screenshots in light and dark at both widths, where OVERREAD_SHOTS names a folder."""
        folder = os.environ.get("OVERREAD_SHOTS")
        if not folder:
            return
        for width in WIDTHS:
            self.page.set_viewport_size({"width": width, "height": 900})
            for scheme in ("light", "dark"):
                self.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
                self.page.wait_for_timeout(250)
                self.page.screenshot(path=Path(folder) / f"{name}-{width}-{scheme}.png", full_page=full)
        self.page.set_viewport_size({"width": WIDTHS[0], "height": 900})
        self.page.emulate_media(color_scheme="light")
