"""Draws docs/page.jpg: four views of the page on synthetic patients, in a real browser.

    python -m tools.draw.page_views DEMO docs

DEMO is a folder of `overread demo`.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

from PIL import Image

from tests.site.browser import PageWindow, launch_browser
from tests.site.served_site import Site, serve_site

SIZE = (1280, 800)
THUMBNAIL = (880, 550)


def first_case(site: Site, run: str) -> str:
    """The first case of a run."""
    return str(site.get(f"/api/runs/{run}/cases")["rows"][0]["case"])


def views(site: Site) -> list[tuple[str, str, bool]]:
    """(address, key to press, dark) of each view."""
    ct = site.shelf_id("runs", "rexgroundingct/atlas")
    film = site.shelf_id("runs", "mmrad/atlas")
    others = [site.shelf_id("runs", f"medthinkvqa/{who}") for who in ("atlas", "random", "majority")]
    scan = f"/cases/{site.shelf_id('datasets', 'rexgroundingct')}/test/{first_case(site, ct)}"
    cases = f"/cases/{site.shelf_id('datasets', 'medthinkvqa')}/test/{first_case(site, others[0])}"
    return [
        (f"{scan}?runs={ct}", "t", True),
        (f"/runs/{film}/cases/{first_case(site, film)}", "t", False),
        (cases, "", False),
        (f"/compare?runs={','.join(others)}", "", True),
    ]


def main() -> None:
    """Open each view, take its picture, put four on one sheet."""
    demo, out = Path(sys.argv[1]), Path(sys.argv[2])
    shots = []
    with serve_site([demo], "--read-only") as site, launch_browser() as browser:
        for address, key, dark in views(site):
            with PageWindow.open(browser, site, dark=dark) as window:
                window.page.set_viewport_size({"width": SIZE[0], "height": SIZE[1]})
                window.go(address)
                window.page.wait_for_load_state("networkidle")
                window.page.locator("main h1").first.wait_for()
                if key:
                    window.page.keyboard.press(key)
                window.page.wait_for_load_state("networkidle")
                window.page.wait_for_timeout(2500)  # a picture for people: fonts and masks have settled
                shots.append(Image.open(io.BytesIO(window.page.screenshot())).convert("RGB"))
    sheet = Image.new("RGB", (2 * THUMBNAIL[0] + 12, 2 * THUMBNAIL[1] + 12), (128, 136, 144))
    for place, shot in enumerate(shots):
        small = shot.resize(THUMBNAIL, Image.Resampling.LANCZOS)
        sheet.paste(small, ((place % 2) * (THUMBNAIL[0] + 12), (place // 2) * (THUMBNAIL[1] + 12)))
    sheet.save(out / "page.jpg", quality=88, optimize=True)


if __name__ == "__main__":
    main()
