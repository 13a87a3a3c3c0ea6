"""The case view in a browser: reading a case oneself, the truth on request, saving."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from overread.core import ReleaseRef
from overread.runs.store import last_readings
from tests.site.browser import PageWindow
from tests.site.served_site import Site, serve_site

HOSTILE = '<img src=x onerror="window.hurt=1"><script>window.hurt=1</script> & "quoted"'


@pytest.fixture(scope="module")
def writable_site(
    shelf_folder: Path, tmp_path_factory: pytest.TempPathFactory, browser: Browser
) -> Iterator[tuple[Site, Path]]:
    """A page to write on: hostile words, two time points, and a picture that is not there."""
    folder = tmp_path_factory.mktemp("view")
    for name in ("medthinkvqa", "mmrad", "rexgroundingct"):
        shutil.copytree(shelf_folder / name, folder / name)
    rows = folder / "medthinkvqa" / "test.jsonl"
    first, second = (json.loads(line) for line in rows.read_text("utf-8").splitlines())
    first["CLINICAL_HISTORY"] = HOSTILE
    first["discussion"] = HOSTILE
    first["title"] = HOSTILE
    for number in range(1, 10):
        first[f"image_{number:02d}_timepoint"] = 1 if number < 5 else 2
    (folder / "medthinkvqa" / first["image_09_path"]).unlink()
    rows.write_text(json.dumps(first) + "\n" + json.dumps(second) + "\n", "utf-8")
    with serve_site([folder]) as site:
        yield site, folder


@pytest.fixture
def window(writable_site: tuple[Site, Path], browser: Browser) -> Iterator[PageWindow]:
    """A window on the page that may be written on."""
    with PageWindow.open(browser, writable_site[0]) as window:
        yield window


def _case(window: PageWindow, benchmark: str, case: str) -> str:
    dataset = window.site.shelf_id("datasets", benchmark)
    return f"/cases/{dataset}/test/{case}"


def test_the_truth_is_hidden_until_asked_for(window: PageWindow) -> None:
    """t shows answer, captions and discussion; the next case hides it again."""
    page = window.page
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    window.go(_case(window, "medthinkvqa", "case00002"))
    window.wait_for_text("Which diagnosis is it?")
    page.locator(".stage-picture").first.wait_for()
    expect(page.locator(".case-caption")).to_have_count(0)
    assert not [url for url in asked if url.endswith("/truth")]
    page.keyboard.press("t")
    window.wait_for_text("Discussion")
    expect(page.locator(".case-caption").first).to_contain_text("CT")
    expect(page.locator(".case-option").first).to_contain_text("right")
    window.check_accessibility()
    page.keyboard.press("j")
    page.wait_for_url("**/case00007")
    page.get_by_role("button", name="Show the truth").wait_for()
    expect(page.locator(".case-truth")).to_have_count(0)
    page.keyboard.press("k")
    page.wait_for_url("**/case00002")


def test_a_finding_shows_its_boxes(window: PageWindow) -> None:
    """Pointing at a finding, or reaching it by Tab, leaves only its boxes."""
    page = window.page
    window.go(_case(window, "mmrad", "p90000007_1"))
    page.get_by_role("button", name="Show the truth").click()
    window.wait_for_text("Central trachea.")
    expect(page.locator(".stage-box[data-kind=truth]")).to_have_count(5)
    page.get_by_role("button", name="Central trachea.").focus()
    boxes = page.locator(".stage-box[data-kind=truth]")
    expect(boxes).to_have_count(1)
    expect(boxes).to_have_attribute("aria-label", "truth: airway region")
    page.get_by_role("button", name="Hide the truth").focus()
    expect(page.locator(".stage-box[data-kind=truth]")).to_have_count(5)
    page.get_by_role("button", name="Hide the truth").click()
    expect(page.locator(".stage-box")).to_have_count(0)


def test_pictures_full_size_and_two_side_by_side(window: PageWindow) -> None:
    """f opens, n and p go through the pictures, two move together, Escape closes."""
    page = window.page
    window.go(_case(window, "medthinkvqa", "case00002"))
    page.locator(".stage-picture").first.wait_for()
    page.keyboard.press("f")
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("1 of 9").wait_for()
    page.keyboard.press("n")
    dialog.get_by_text("2 of 9").wait_for()
    dialog.get_by_label("Compare with").select_option("image-4")
    surfaces = dialog.locator(".stage-surface")
    expect(surfaces).to_have_count(2)
    dialog.locator(".stage-picture").nth(1).wait_for()
    surfaces.first.focus()
    page.keyboard.press("+")
    page.keyboard.press("i")
    expect(surfaces.nth(1)).to_have_attribute("data-zoom", "1.250")
    expect(dialog.locator(".stage-readout").nth(1)).to_contain_text("inverted")
    window.save_screenshots("case-beside", full=False)
    window.check_accessibility()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_hostile_words_two_times_and_a_missing_picture(window: PageWindow) -> None:
    """Words stay words; examinations stand in columns; what is missing is a sentence."""
    page = window.page
    window.go(_case(window, "medthinkvqa", "case00002"))
    expect(page.locator(".long-text").first).to_have_text(HOSTILE)
    columns = page.locator(".case-time")
    expect(columns).to_have_count(2)
    expect(columns.nth(0).get_by_role("heading")).to_have_text("Time point 1")
    expect(columns.nth(0).locator("figure")).to_have_count(4)
    missing = page.locator("figure[data-picture=image-9]")
    expect(missing).to_contain_text("The file of image-9 is not there.")
    page.keyboard.press("t")
    expect(page.locator(".case-truth")).to_contain_text(HOSTILE)
    assert page.evaluate("() => window.hurt") is None
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    window.save_screenshots("case-times", full=False)


def test_a_reading_is_written_kept_and_saved(window: PageWindow, writable_site: tuple[Site, Path]) -> None:
    """Choice by key, finding with a box, a draft that survives a reload, a run in the end."""
    page, folder = window.page, writable_site[1]
    window.go(_case(window, "medthinkvqa", "case00007"))
    page.locator(".stage-picture").first.wait_for()
    page.keyboard.press("b")
    expect(page.get_by_role("radio").nth(1)).to_be_checked()
    page.get_by_label("How sure are you").select_option("80")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Full size of image-3").click()
    page.get_by_role("dialog").locator(".stage-picture").wait_for()
    page.keyboard.press("m")
    page.keyboard.press("Enter")
    note = page.get_by_role("dialog").get_by_role("textbox", name="Finding 1")
    note.fill("n and p are letters here")
    note.blur()
    page.keyboard.press("f")
    expect(page.get_by_role("textbox", name="Finding 1")).to_have_value("n and p are letters here")
    page.get_by_role("textbox", name="Finding 1").fill(HOSTILE)
    page.get_by_label("Summary of the pictures").fill("t n j: keys do nothing while one types")
    page.get_by_label("Your name").fill("Dr. Ö")
    page.get_by_label("Your name").blur()
    window.wait_for_text("unsaved draft")
    page.reload()
    expect(page.get_by_role("textbox", name="Finding 1")).to_have_value(HOSTILE)
    expect(page.get_by_label("Your name")).to_have_value("Dr. Ö")
    expect(page.locator(".stage-box[data-kind=reader]")).to_have_count(1)
    window.save_screenshots("case-writing")
    window.check_accessibility()
    page.get_by_role("button", name="Save my reading").click()
    window.wait_for_text("Dr. Ö has read 1 case of this split")
    page.get_by_role("button", name="Compare with the truth").click()
    window.wait_for_text("you chose B")
    page.get_by_role("link", name="Open the trace of your reading").wait_for()
    (run,) = folder.glob("readings-by-dr-*/*")
    reading = last_readings(run)["case00007", 0]
    assert (reading.choice, reading.reader) == ("B", "Dr. Ö")
    assert reading.probabilities is not None
    assert reading.probabilities["B"] == 0.8
    assert reading.findings is not None
    assert [region.kind for region in reading.findings[0].regions] == ["whole", "box"]
    # Another window finds what was saved, and says what is done after the truth was seen.
    page.reload()
    window.wait_for_text("Save again")
    expect(page.get_by_role("textbox", name="Finding 1")).to_have_value(HOSTILE)
    page.get_by_label("Discussion").fill("More.")
    window.wait_for_text("the reading will record that")
    page.get_by_role("button", name="Save again").click()
    window.wait_for_text("has read 1 case")
    again = last_readings(run)["case00007", 0]
    assert again.trace is not None
    assert "truth had been shown" in again.trace.steps[0].text


def test_a_ct_is_read_by_its_sentences(window: PageWindow, writable_site: tuple[Site, Path]) -> None:
    """A finding on a query, with slices and without a mask, is saved."""
    page, folder = window.page, writable_site[1]
    (entry, *_) = ReleaseRef("rexgroundingct", folder / "rexgroundingct", "test").open().entries()
    window.go(_case(window, "rexgroundingct", entry.case.id))
    page.get_by_role("button", name="Found:").first.click()
    page.get_by_role("textbox", name="Finding 1").fill("There.")
    page.get_by_label("First slice").fill("40")
    page.get_by_label("Last slice").fill("52")
    page.get_by_role("button", name="Save my reading").click()
    window.wait_for_text("person has read 1 case")
    (run,) = folder.glob("readings-by-person/rexgroundingct-*")
    finding = (last_readings(run)[entry.case.id, 0].findings or ())[0]
    assert finding.query == entry.case.queries[0].id
    assert finding.regions[0].model_dump()["first"] == 40


def test_a_page_without_the_truth_says_so(hidden_site: Site, browser: Browser) -> None:
    """There is no button, the key does nothing, and nobody asks for it."""
    with PageWindow.open(browser, hidden_site) as window:
        window.go(_case(window, "mmrad", "p90000007_1"))
        window.wait_for_text("The truth is withheld on this page")
        window.wait_for_text("This page is read-only")
        window.page.keyboard.press("t")
        expect(window.page.get_by_role("button", name="Show the truth")).to_have_count(0)
        expect(window.page.locator(".case-truth")).to_have_count(0)
