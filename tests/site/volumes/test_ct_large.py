"""The scan over the whole window: what is seen, what can be reached, and how one gets out."""

from __future__ import annotations

from itertools import combinations

import pytest

from tests.site.browser import PageWindow
from tests.site.volumes.ct_page import film, opened, settle, voxel

pytestmark = pytest.mark.slow

PARTS = (".ct-film", ".ct-place", ".ct-sliders", ".ct-stage > p", ".ct-side", ".ct-notice")


def test_the_scan_over_the_whole_window(window: PageWindow) -> None:
    """Large, by key or button: the same scan, nothing else to be reached, the next one large too."""
    opened(window, "test_2_a_1")
    small = film(window).shape
    window.page.keyboard.press("ArrowUp")
    at = voxel(window)
    window.page.keyboard.press("l")
    window.page.wait_for_selector(".ct.large:popover-open")
    large = film(window)
    assert large.shape[0] > small[0]
    assert large.shape[1] > 1.4 * small[1]
    assert (large.max(axis=2) > 200).mean() > 0.02  # the patient, not an empty canvas
    assert voxel(window) == at
    window.page.locator(".ct-notice", has_text="not for patient care").wait_for()
    within = "() => !!document.activeElement.closest('.ct') || document.activeElement === document.body"
    for _ in range(40):
        window.page.keyboard.press("Tab")
        assert window.page.evaluate(within)
    window.check_accessibility()
    window.save_screenshots("ct-large", full=False)
    window.page.locator(".ct-film canvas").focus()
    window.page.keyboard.press("t")
    window.page.locator(".ct-findings").wait_for()
    window.save_screenshots("ct-large-truth", full=False)
    window.page.keyboard.press("j")
    window.page.wait_for_selector('.ct.large .ct-film[data-state="whole"]')
    assert window.page.locator(".ct").count() == 1
    at = voxel(window)
    window.page.keyboard.press("ArrowUp")
    assert voxel(window) != at
    window.page.keyboard.press("Escape")
    window.page.wait_for_selector(".ct:not(.large)")
    assert film(window).shape == small
    assert window.page.locator("[inert]").count() == 0
    window.page.get_by_role("button", name="Large").click()
    window.page.wait_for_selector(".ct.large")
    for key, becomes in {"Escape": ":not(.large)", "l": ".large"}.items():  # whatever has the focus
        window.page.get_by_label("axial slice").focus()
        window.page.keyboard.press(key)
        window.page.wait_for_selector(f".ct{becomes}")
    window.page.get_by_role("button", name="Large").click()
    window.page.get_by_role("button", name="Previous").or_(
        window.page.get_by_role("link", name="Previous")
    ).wait_for()


def test_nothing_lies_over_anything_in_a_small_window(window: PageWindow) -> None:
    """As at 200 %, as on a telephone, and where there is just room."""
    opened(window, "test_2_a_1", truth=True)
    window.page.keyboard.press("l")
    window.page.wait_for_selector(".ct.large")
    for width, height in ((640, 400), (390, 800), (800, 600)):
        window.page.set_viewport_size({"width": width, "height": height})
        settle(window)
        boxes = [window.page.locator(f".ct {part}").bounding_box() for part in PARTS]
        for one, other in combinations([box for box in boxes if box is not None], 2):
            across = min(one["x"] + one["width"], other["x"] + other["width"])
            down = min(one["y"] + one["height"], other["y"] + other["height"])
            apart = across <= max(one["x"], other["x"]) + 1 or down <= max(one["y"], other["y"]) + 1
            assert apart, (width, height, one, other)
        assert None not in boxes
