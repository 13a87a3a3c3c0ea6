"""The stage in a browser: zoom, pan, window, and boxes drawn by pointer and by keys."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from overread.core import ReleaseRef
from tests.site.browser import PageWindow
from tests.site.served_site import Site, serve_site

DEEP = "p90000002_1"
"""A case whose picture is made one of 16 bits."""


def _faint() -> NDArray[np.uint16]:
    """Two halves that differ by 40 of 65,536 greys: no difference in 8 bits."""
    greys = np.full((200, 300), 32650, dtype=np.uint16)
    greys[:, 150:] += 40
    greys[0, 0], greys[0, 1] = 0, 65535
    return greys


@pytest.fixture(scope="module")
def writable_site(
    shelf_folder: Path, tmp_path_factory: pytest.TempPathFactory, browser: Browser
) -> Iterator[Site]:
    """The page with the right to write, on a copy of its own."""
    own = tmp_path_factory.mktemp("stage") / "mmrad"
    shutil.copytree(shelf_folder / "mmrad", own)
    (deep,) = [e for e in ReleaseRef("mmrad", own, "test").open().entries() if e.case.id == DEEP]
    Image.fromarray(_faint()).save(own / deep.case.pictures[0].file, "PNG")
    with serve_site([own]) as site:
        yield site


@pytest.fixture
def film(writable_site: Site, browser: Browser) -> Iterator[PageWindow]:
    """A radiograph on the stage, ready."""
    dataset = writable_site.get("/api/shelf")["datasets"][0]["id"]
    with PageWindow.open(browser, writable_site) as window:
        window.go(f"/cases/{dataset}/test/p90000007_1")
        window.page.locator(".stage-picture").wait_for()
        yield window


def _zoom(page: Page) -> float:
    return float(page.locator(".stage-surface").get_attribute("data-zoom") or 0)


def _transform(page: Page) -> str:
    return str(page.locator(".stage-picture").evaluate("e => e.style.transform"))


def _greys(page: Page) -> NDArray[np.float64]:
    shot = page.locator(".stage-surface").screenshot()
    return np.asarray(Image.open(io.BytesIO(shot)).convert("L"), dtype=float)


def _pointed(page: Page) -> list[int]:
    words = page.locator(".stage-readout").inner_text().split("x ")[1].split(" y ")
    return [int(word) for word in words]


def _places(page: Page) -> list[list[int]]:
    """The boxes that the form lists, in pixels of the picture."""
    texts = page.locator(".case-places button.quiet").all_inner_texts()
    return [[int(n) for n in t.split("[")[1].rstrip("]").split(",")] for t in texts if "[" in t]


def test_the_wheel_zooms_around_the_pointer(film: PageWindow) -> None:
    """What lies under the pointer stays there; 0 shows all again."""
    page = film.page
    area = page.locator(".stage-surface").bounding_box()
    assert area is not None
    page.mouse.move(area["x"] + area["width"] * 0.7, area["y"] + area["height"] * 0.3)
    before = _pointed(page)
    for _ in range(4):
        page.mouse.wheel(0, -200)
    expect(page.locator(".stage-readout")).not_to_contain_text("122 %")
    page.mouse.move(area["x"] + area["width"] * 0.7 + 1, area["y"] + area["height"] * 0.3)
    assert _zoom(page) > 3
    assert np.allclose(_pointed(page), before, atol=3)
    page.locator(".stage-surface").focus()
    page.keyboard.press("0")
    expect(page.locator(".stage-surface")).to_have_attribute("data-zoom", "1.000")


def test_keys_zoom_and_pan(film: PageWindow) -> None:
    """Everything works without a pointer."""
    page = film.page
    surface = page.locator(".stage-surface")
    surface.focus()
    page.keyboard.press("1")
    expect(page.locator(".stage-readout")).to_contain_text("100 %")
    for _ in range(4):
        page.keyboard.press("+")
    expect(page.locator(".stage-readout")).to_contain_text("244 %")
    before = _transform(page)
    page.keyboard.press("ArrowRight")
    page.wait_for_function(
        "old => document.querySelector('.stage-picture').style.transform !== old", arg=before
    )
    page.keyboard.press("-")
    page.keyboard.press("0")
    expect(surface).to_have_attribute("data-zoom", "1.000")


def test_window_and_level_change_the_greys(film: PageWindow) -> None:
    """A preset, inversion, keys and a drag with the right button change what is seen."""
    page = film.page
    stored = _greys(page)
    page.get_by_label("Window preset", exact=True).select_option("contrast")
    assert _greys(page).std() > stored.std() * 1.2
    page.get_by_label("Window preset", exact=True).select_option("stored")
    page.locator(".stage-surface").focus()
    page.keyboard.press("i")
    # Toolbars and readouts lie over a corner; the middle is the picture alone.
    middle = np.s_[100:-100, 100:-100]
    assert np.allclose(_greys(page)[middle], 255 - stored[middle], atol=3)
    page.keyboard.press("i")
    for _ in range(5):
        page.keyboard.press(".")
    assert _greys(page)[middle].mean() > stored[middle].mean() + 15
    page.keyboard.press("Home")
    area = page.locator(".stage-surface").bounding_box()
    assert area is not None
    page.mouse.move(area["x"] + 200, area["y"] + 200)
    page.mouse.down(button="right")
    page.mouse.move(area["x"] + 200, area["y"] + 260, steps=3)
    page.mouse.up(button="right")
    expect(page.locator(".stage-readout")).to_contain_text("L 188")
    film.save_screenshots("stage-window", full=False)


@pytest.mark.slow
def test_a_narrow_window_shows_what_eight_bits_have_lost(writable_site: Site, browser: Browser) -> None:
    """A picture of 16 bits is windowed by its own values."""
    dataset = writable_site.get("/api/shelf")["datasets"][0]["id"]
    address = f"/api/pictures/{dataset}/test/{DEEP}/xray/values"
    answer = writable_site.ask(address)
    told = {name: answer.headers[f"x-{name}"] for name in ("width", "height", "low", "high")}
    assert told == {"width": "300", "height": "200", "low": "0", "high": "65535"}
    assert np.array_equal(np.frombuffer(answer.body, "<u2").reshape(200, 300), _faint())
    assert writable_site.ask(address.replace(DEEP, "p90000007_1")).status == 422
    with PageWindow.open(browser, writable_site) as window:
        page = window.page
        window.go(f"/cases/{dataset}/test/{DEEP}")
        page.locator("img.stage-picture").wait_for()
        greys = _greys(page)
        left, right = greys[200:300, 100:200], greys[200:300, -200:-100]
        assert left.mean() == right.mean()
        page.locator(".stage-surface").focus()
        for _ in range(80):
            page.keyboard.press("]")
        page.locator("canvas.stage-picture").wait_for()
        expect(page.locator(".stage-readout")).to_contain_text("(values)")
        greys = _greys(page)
        left, right = greys[200:300, 100:200], greys[200:300, -200:-100]
        assert right.mean() > left.mean() + 10


def test_a_box_is_drawn_moved_and_resized_by_pointer(film: PageWindow) -> None:
    """Its numbers are pixels of the picture, whatever the zoom."""
    page = film.page
    page.get_by_role("button", name="Mark a box").click()
    area = page.locator(".stage-surface").bounding_box()
    assert area is not None
    scale = min(area["width"] / 667, area["height"] / 560)
    left = area["x"] + (area["width"] - 667 * scale) / 2
    top = area["y"] + (area["height"] - 560 * scale) / 2

    def at(x: float, y: float) -> tuple[float, float]:
        return left + x * scale, top + y * scale

    page.mouse.move(*at(100, 120))
    page.mouse.down()
    page.mouse.move(*at(250, 300), steps=4)
    page.mouse.up()
    page.locator(".stage-box[data-kind=reader]").wait_for()
    assert np.allclose(_places(page), [[100, 120, 250, 300]], atol=1)
    page.mouse.move(*at(175, 200))
    page.mouse.down()
    page.mouse.move(*at(225, 180), steps=4)
    page.mouse.up()
    expect(page.locator(".case-places")).to_contain_text("100, 3")
    assert np.allclose(_places(page), [[150, 100, 300, 280]], atol=2)
    page.mouse.move(*at(300, 280))
    page.mouse.down()
    page.mouse.move(*at(400, 330), steps=4)
    page.mouse.up()
    page.wait_for_function("() => !document.querySelector('[data-kind=draft]')")
    assert np.allclose(_places(page), [[150, 100, 400, 330]], atol=3)


def test_a_box_is_drawn_and_changed_by_keys_alone(film: PageWindow) -> None:
    """m, arrows, Shift with arrows, Enter; Escape drops it."""
    page = film.page
    page.locator(".stage-surface").focus()
    page.keyboard.press("m")
    page.locator(".stage-box[data-kind=draft]").wait_for()
    page.keyboard.press("Escape")
    expect(page.locator(".stage-box")).to_have_count(0)
    page.keyboard.press("m")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Enter")
    box = page.locator(".stage-box[data-kind=reader]")
    box.wait_for()
    (drawn,) = _places(page)
    box.focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Shift+ArrowRight")
    (moved,) = _places(page)
    assert moved[0] == drawn[0]
    assert moved[1] < drawn[1]
    assert moved[2] > drawn[2]
    film.check_accessibility()
