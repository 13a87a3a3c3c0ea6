"""The CT view in a browser: what is drawn, where, and what mouse and keys do to it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

from overread.pixels.nifti import write_volume
from tests.site.browser import PageWindow
from tests.site.served_site import Site, serve_site
from tests.site.volumes.ct_page import film, opened, slide, voxel

if TYPE_CHECKING:
    from playwright.sync_api import Browser

COLOURS = {"hit": (0x56, 0xB4, 0xE9), "miss": (0xE6, 0x9F, 0x00), "alarm": (0xCC, 0x79, 0xA7)}
SIDE = 24
SPACING = (2.0, 2.0, 3.0)
LPS = np.array([[-2.0, 0, 0, 24], [0, -2.0, 0, 24], [0, 0, 3.0, -36], [0, 0, 0, 1]])
SIR = np.array([[0, 0, 2.0, -22], [0, -2.0, 0, 24], [-3.0, 0, 0, 33], [0, 0, 0, 1]])
"""The first axis to the feet, the third to the right: files may be stored so."""


def blocks() -> NDArray[np.int16]:
    """A volume that runs right, front, head: blocks of random HU, so that each place is known."""
    coarse = np.random.default_rng(5).integers(0, 256, (6, 6, 6)).astype(np.int16) * 4
    return np.kron(coarse, np.ones((4, 4, 4), np.int16))


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A page on two scans of the same known blocks, stored in two ways."""
    folder = tmp_path_factory.mktemp("ct-view")
    (folder / "images").mkdir()
    ras = blocks()
    write_volume(folder / "images" / "test_1_a_1.nii.gz", ras[::-1, ::-1, :], LPS)
    write_volume(folder / "images" / "test_2_a_1.nii.gz", ras.transpose(2, 1, 0)[::-1, ::-1], SIR)
    rows = [{"name": f"test_{n}_a_1.nii.gz", "findings": {"0": "A nodule"}} for n in (1, 2)]
    (folder / "dataset.json").write_text(json.dumps({"train": [], "val": [], "test": rows}))
    with serve_site([folder], "--read-only") as site:
        yield site


def pixels_a_mm(window: PageWindow) -> float:
    """From the ruler on the film."""
    ruler = window.page.locator(".ct-ruler")
    box = ruler.bounding_box()
    assert box is not None
    return box["width"] / float(ruler.get_attribute("data-mm") or 0)


def greys(window: PageWindow, plane: str) -> NDArray[Any]:
    """The grey at the middle of each block of a known scan, by rows as they are seen."""
    picture = film(window)
    across, down = (SPACING[1] if plane == "sagittal" else SPACING[0], SPACING[2])
    down = SPACING[1] if plane == "axial" else down
    scale = pixels_a_mm(window)
    middle = np.array(picture.shape[:2]) / 2
    places = (np.arange(6) - 2.5) * 4
    rows = np.rint(middle[0] + places * down * scale).astype(int)
    columns = np.rint(middle[1] + places * across * scale).astype(int)
    # The crosshair keeps clear of the middles of blocks.
    found: NDArray[Any] = picture[np.ix_(rows, columns)].max(axis=2)
    return found


def seen(values: NDArray[Any]) -> NDArray[Any]:
    """A slice (right or front, then head or front) as a radiologist sees it, in greys."""
    return np.clip(values[::4, ::4][::-1, ::-1].T / 1024, 0, 1) * 255


@pytest.mark.parametrize("case", ["test_1_a_1", pytest.param("test_2_a_1", marks=pytest.mark.slow)])
def test_planes_are_radiological(browser: Browser, known: Site, case: str) -> None:
    """Each block is where a radiologist expects it: right on the left, front up or left, head up."""
    ras = blocks()
    with PageWindow.open(browser, known) as window:
        opened(window, case)
        window.page.get_by_label("Width").fill("1024")
        window.page.get_by_label("Centre").fill("512")
        window.page.get_by_label("Centre").blur()
        for plane, axis in (("Axial", 2), ("Coronal", 1), ("Sagittal", 0)):
            window.page.get_by_role("button", name=plane, exact=False).first.click()
            for place in (2, 13):
                slide(window, plane.lower(), place)
                expected = seen(np.take(ras, place, axis=axis))
                found = greys(window, plane.lower())
                assert np.abs(found - expected).max() <= 4, (plane, place)
            letters = window.page.locator(".ct-marker").all_inner_texts()
            assert letters == {"Axial": [*"RALP"], "Coronal": [*"RSLI"], "Sagittal": [*"ASPI"]}[plane]


@pytest.mark.slow
def test_keys_of_the_scan_work_from_anywhere(browser: Browser, known: Site) -> None:
    """With nothing focused the keys on the screen act on the scan, and none leaves the case."""
    with PageWindow.open(browser, known) as window:
        opened(window, "test_1_a_1")
        page = window.page
        before = page.url
        page.evaluate("() => document.activeElement?.blur()")
        page.keyboard.press("c")
        page.locator("button[aria-pressed=true]", has_text="Coronal").wait_for()
        page.keyboard.press("n")
        page.keyboard.press("p")
        page.locator("button[aria-pressed=true]", has_text="Three planes").wait_for()
        assert page.url == before
        letters = page.locator(".ct-marker").all_inner_texts()
        assert letters == [*"RALP", *"RSLI", *"ASPI"]
        film = page.locator(".ct-film").bounding_box()
        assert film is not None
        for letter in page.locator(".ct-marker").all():
            box = letter.bounding_box()
            assert box is not None
            assert film["x"] <= box["x"]
            assert box["x"] + box["width"] <= film["x"] + film["width"]


@pytest.mark.slow
def test_a_slab_is_the_greatest_value(browser: Browser, known: Site) -> None:
    """The brightest and the darkest voxel over the slab, as numpy finds them."""
    ras = blocks()
    with PageWindow.open(browser, known) as window:
        opened(window, "test_1_a_1")
        window.page.get_by_label("Width").fill("1024")
        window.page.get_by_label("Centre").fill("512")
        slide(window, "axial", 9)
        single = greys(window, "axial")
        for how, reduce in (("max", np.max), ("min", np.min)):
            window.page.get_by_label("Slab").select_option(how)
            window.page.get_by_label("Thickness").fill("24")  # four slices of 3 mm to either side
            expected = seen(reduce(ras[:, :, 5:14], axis=2))
            found = greys(window, "axial")
            assert np.abs(found - expected).max() <= 4, how
            assert np.abs(found - single).max() > 50


@pytest.mark.slow
def test_scrolling_windows_and_keys(window: PageWindow) -> None:
    """Wheel, keys, presets and the right button change what is seen, and the words say so."""
    opened(window, "test_7_a_1")
    page = window.page
    first = film(window)
    assert (first.max(axis=2) > 60).mean() > 0.1
    start = voxel(window)
    page.locator(".ct-film canvas").hover()
    page.mouse.wheel(0, -120)
    assert voxel(window) == (*start[:2], start[2] + 1)
    assert np.abs(film(window) - first).max() > 30
    page.locator(".ct-film canvas").focus()
    page.keyboard.press("PageDown")
    assert voxel(window)[2] == start[2] - 9
    page.keyboard.press("Home")
    assert voxel(window)[2] == 0
    slide(window, "axial", start[2])
    page.keyboard.press("Escape")
    page.locator(".ct-film canvas").focus()
    page.keyboard.press("2")
    assert page.get_by_label("Centre").input_value() == "40"
    assert page.get_by_role("button", name="Mediastinum").get_attribute("aria-pressed") == "true"
    darker = film(window)
    assert darker.mean() < first.mean() - 5
    box = page.locator(".ct-film canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 100, box["y"] + 100)
    page.mouse.down(button="right")
    page.mouse.move(box["x"] + 180, box["y"] + 60, steps=3)
    page.mouse.up(button="right")
    assert (page.get_by_label("Centre").input_value(), page.get_by_label("Width").input_value()) == (
        "0",
        "480",
    )
    words = page.locator("output[data-voxel]").inner_text()
    assert re.fullmatch(r"[RL] \d+ [AP] \d+ [SI] \d+ mm, -?\d+ HU", words)
    page.get_by_role("button", name="Coronal").click()
    assert "coronal" in (page.locator(".ct-film canvas").get_attribute("aria-label") or "")
    assert page.get_by_label("coronal slice").count() == 1


@pytest.mark.slow
def test_measuring(window: PageWindow) -> None:
    """A line that is drawn has the length that the ruler gives it."""
    opened(window, "test_7_a_1")
    page = window.page
    page.get_by_role("button", name="Measure").click()
    box = page.locator(".ct-film canvas").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2 - 60, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 120, y, steps=4)
    page.mouse.up()
    told = page.get_by_text("Measured").inner_text()
    mm = float(re.search(r"([\d.]+) mm", told)[1])  # type: ignore[index]
    assert mm == pytest.approx(120 / pixels_a_mm(window), rel=0.03)
    page.get_by_role("button", name="Clear").click()
    assert page.get_by_text("Measured").count() == 0


@pytest.mark.slow
def test_findings_over_the_scan(window: PageWindow) -> None:
    """Jumping goes to the finding; hits, misses and false alarms have their colours; axe agrees."""
    opened(window, "test_7_a_1", truth=True)
    page = window.page
    dataset = window.site.shelf_id("datasets", "rexgroundingct")
    run = window.site.shelf_id("runs", "rexgroundingct/atlas")
    page.get_by_label("Masks from").select_option(run)
    page.wait_for_function("() => document.querySelector('.ct-film').dataset.marks === '0 1'")
    facts = window.site.get(f"/api/volumes/{dataset}/test/test_7_a_1/ct/findings?run={run}")
    space = window.site.get(f"/api/volumes/{dataset}/test/test_7_a_1/ct/geometry")["patient"]
    second = facts["findings"][1]
    found: set[str] = set()
    for side, spots in (("truth", second["entities"]), ("made", second["predicted"]["lesions"])):
        row = page.locator('.ct-findings > li[data-query="1"] .ct-jumps').nth(int(side == "made"))
        for spot in spots[:4]:
            row.locator(f'[data-spot="{spot["number"]}"]').click()
            at = np.linalg.solve(np.array(space["affine"]), [*spot["at"], 1.0])[:3]
            assert voxel(window) == tuple(np.rint(at).astype(int))
            found |= coloured(film(window))
    assert found == set(COLOURS)
    assert f"{second['met']['dice']:.3f}" in page.locator('li[data-query="1"]').inner_text()
    window.check_accessibility()
    window.save_screenshots("ct-findings")


def coloured(picture: NDArray[Any]) -> set[str]:
    """Whose colours are on the film: outlines are drawn in full."""
    return {
        name
        for name, colour in COLOURS.items()
        if (np.abs(picture - np.array(colour)).max(axis=2) <= 6).sum() >= 4
    }


@pytest.mark.slow
def test_masks_are_shown_as_asked(window: PageWindow) -> None:
    """Without outline and fill nothing is drawn; findings and modes are chosen one by one."""
    opened(window, "test_2_a_1", truth=True)
    page = window.page
    page.get_by_label("Masks from").select_option(window.site.shelf_id("runs", "rexgroundingct/oracle"))
    page.wait_for_function("() => document.querySelector('.ct-film').dataset.marks === '0'")
    page.locator(".ct-jumps button").first.click()
    assert coloured(film(window)) == {"hit"}  # the oracle misses nothing
    page.get_by_role("button", name="Prediction", exact=True).click()
    page.wait_for_function("() => document.querySelector('.ct-film').dataset.marks === '0'")
    window.wait_for_text("Marked by the run")
    page.get_by_role("button", name="Hits and misses").click()
    page.wait_for_function("() => document.querySelector('.ct-film').dataset.marks === '0'")
    with_masks = film(window)
    page.locator(".ct-film canvas").focus()
    page.keyboard.press("f")
    page.keyboard.press("o")
    bare = film(window)
    assert coloured(bare) == set()
    assert np.abs(bare - with_masks).max() > 40
    page.keyboard.press("o")
    assert coloured(film(window)) == {"hit"}
    page.locator(".ct-finding input").first.uncheck()
    page.wait_for_function("() => document.querySelector('.ct-film').dataset.marks === ''")
    assert coloured(film(window)) == set()


def test_the_truth_stays_hidden(window: PageWindow) -> None:
    """Before it is asked for, the page does not even fetch it."""
    asked: list[str] = []
    window.page.on("request", lambda request: asked.append(request.url))
    opened(window, "test_7_a_1")
    assert any("/ct/geometry" in url for url in asked)
    assert not [url for url in asked if re.search(r"/ct/(findings|truth|compare|distances)", url)]
    assert window.page.locator(".ct-findings").count() == 0


@pytest.mark.slow
def test_planes_and_3d(window: PageWindow) -> None:
    """All planes at once with the 3D view: every part of the film shows something."""
    opened(window, "test_7_a_1", truth=True)
    window.page.get_by_role("button", name="Planes and 3D").click()
    window.page.wait_for_function(
        "() => document.querySelectorAll('.ct-slider').length === 3", timeout=300_000
    )
    picture = film(window)
    height, width = picture.shape[:2]
    for row, column in ((0, 0), (0, 0.66), (0.34, 0.66), (0.67, 0.66)):
        part = picture[int(row * height) :, int(column * width) :][: height // 3, : width // 3]
        assert (part.max(axis=2) > 60).mean() > 0.02, (row, column)
    window.save_screenshots("ct-all")


def test_a_scan_that_is_none_is_told(own_shelf: Path, browser: Browser) -> None:
    """A damaged file is told in one sentence, and the rest of the page stands."""
    scan = own_shelf / "rexgroundingct/images/test_2_a_1.nii.gz"
    scan.unlink()
    scan.write_bytes(b"\x1f\x8bno scan at all")
    with serve_site([own_shelf], "--read-only") as site, PageWindow.open(browser, site) as window:
        window.expected.append("422")
        dataset = site.shelf_id("datasets", "rexgroundingct")
        window.go(f"/cases/{dataset}/test/test_2_a_1")
        window.wait_for_text("the file of ct cannot be read")
