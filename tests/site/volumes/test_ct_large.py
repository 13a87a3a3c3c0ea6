"""The scan over the whole window: what is seen, what can be reached, and how one gets out."""

from __future__ import annotations

from itertools import combinations

from tests.site.browser import Eyes
from tests.site.volumes.ct_page import film, opened, settle, voxel

PARTS = (".ct-film", ".ct-place", ".ct-sliders", ".ct-stage > p", ".ct-side", ".ct-notice")


def test_the_scan_over_the_whole_window(eyes: Eyes) -> None:
    """Large, by key or button: the same scan, nothing else to be reached, the next one large too."""
    opened(eyes, "test_2_a_1")
    small = film(eyes).shape
    eyes.page.keyboard.press("ArrowUp")
    at = voxel(eyes)
    eyes.page.keyboard.press("l")
    eyes.page.wait_for_selector(".ct.large:popover-open")
    large = film(eyes)
    assert large.shape[0] > small[0]
    assert large.shape[1] > 1.4 * small[1]
    assert (large.max(axis=2) > 200).mean() > 0.02  # the patient, not an empty canvas
    assert voxel(eyes) == at
    eyes.page.locator(".ct-notice", has_text="not for patient care").wait_for()
    within = (
        "() => !!document.activeElement.closest('.ct') || document.activeElement === document.body"
    )
    for _ in range(40):
        eyes.page.keyboard.press("Tab")
        assert eyes.page.evaluate(within)
    eyes.axe()
    eyes.shoot("ct-large", full=False)
    eyes.page.locator(".ct-film canvas").focus()
    eyes.page.keyboard.press("t")
    eyes.page.locator(".ct-findings").wait_for()
    eyes.shoot("ct-large-truth", full=False)
    eyes.page.keyboard.press("j")
    eyes.page.wait_for_selector('.ct.large .ct-film[data-state="whole"]')
    assert eyes.page.locator(".ct").count() == 1
    at = voxel(eyes)
    eyes.page.keyboard.press("ArrowUp")
    assert voxel(eyes) != at
    eyes.page.keyboard.press("Escape")
    eyes.page.wait_for_selector(".ct:not(.large)")
    assert film(eyes).shape == small
    assert eyes.page.locator("[inert]").count() == 0
    eyes.page.get_by_role("button", name="Large").click()
    eyes.page.wait_for_selector(".ct.large")
    for key, becomes in {"Escape": ":not(.large)", "l": ".large"}.items():  # whatever has the focus
        eyes.page.get_by_label("axial slice").focus()
        eyes.page.keyboard.press(key)
        eyes.page.wait_for_selector(f".ct{becomes}")
    eyes.page.get_by_role("button", name="Large").click()
    eyes.page.get_by_role("button", name="Previous").or_(
        eyes.page.get_by_role("link", name="Previous")
    ).wait_for()


def test_nothing_lies_over_anything_in_a_small_window(eyes: Eyes) -> None:
    """As at 200 %, as on a telephone, and where there is just room."""
    opened(eyes, "test_2_a_1", truth=True)
    eyes.page.keyboard.press("l")
    eyes.page.wait_for_selector(".ct.large")
    for width, height in ((640, 400), (390, 800), (800, 600)):
        eyes.page.set_viewport_size({"width": width, "height": height})
        settle(eyes)
        boxes = [eyes.page.locator(f".ct {part}").bounding_box() for part in PARTS]
        for one, other in combinations([box for box in boxes if box is not None], 2):
            across = min(one["x"] + one["width"], other["x"] + other["width"])
            down = min(one["y"] + one["height"], other["y"] + other["height"])
            apart = across <= max(one["x"], other["x"]) + 1 or down <= max(one["y"], other["y"]) + 1
            assert apart, (width, height, one, other)
        assert None not in boxes
