"""The dataset browser, in a browser: filters, search, keys, very many cases, hostile texts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from overread.pixels.image_files import read_image, write_image
from tests.site.browser import PageWindow
from tests.site.datasets.many_cases import make_many
from tests.site.served_site import Site, serve_site

MANY = 2000
POISON = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>'


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The page on 2,000 cases that share a few pictures, and on a few with scripts as texts."""
    folder = tmp_path_factory.mktemp("crowd")
    make_many(folder / "many", MANY, pictures=4, side=64)
    _make_hostile(folder / "hostile", folder / "many" / "images" / "p0.jpg")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OVERREAD_CACHE", str(folder / "cache"))
        with serve_site([folder], "--read-only") as site:
            yield site


def _make_hostile(root: Path, picture: Path) -> None:
    file = "<img src=x onerror=window.pwned=1>.jpg"
    (root / "images").mkdir(parents=True)
    write_image(root / "images" / file, read_image(picture))
    rows = []
    for number in range(3):
        row: dict[str, object] = {
            "title": f"{POISON} {number}",
            "CLINICAL_HISTORY": f"{POISON} history {number}",
            "options": {letter: f"{POISON} {letter}" for letter in "ABCDE"},
            "correct_answer": "Z",
            "ICD Chapter": f"{POISON} chapter {number}",
            "image_01_path": f"images/{file}",
            "image_01_modality": f"{POISON} modality",
            "<img src=x onerror=window.pwned=1>": f"{POISON} column {number % 2}",
        }
        rows.append(json.dumps(row))
    (root / "test.jsonl").write_text("\n".join(rows) + "\n{\n", "utf-8")


@pytest.fixture
def looking(browser: Browser, crowd: Site) -> Iterator[PageWindow]:
    """A window on the crowd."""
    with PageWindow.open(browser, crowd) as found:
        yield found


def _opened(window: PageWindow, name: str = "many", rest: str = "") -> Page:
    page = window.go(f"/datasets/{window.site.shelf_id('datasets', name)}/test{rest}")
    page.locator(".card").first.wait_for()
    return page


def _elements(page: Page) -> int:
    return int(page.evaluate("() => document.querySelectorAll('*').length"))


def test_the_page_stays_small_with_many_cases(looking: PageWindow) -> None:
    """Of 2,000 cases a few are drawn, at the top, in the middle and at the end."""
    page = _opened(looking)
    expect(page.locator(".browser-count")).to_have_text("2,000 cases")
    looking.save_screenshots("browser-many", full=False)
    for share in (0, 0.5, 1):
        page.locator(".grid-pane").evaluate(
            "(pane, share) => { pane.scrollTop = share * pane.scrollHeight }", share
        )
        last = page.locator(".card-id", has_text="case02000")
        expect(last).to_have_count(1 if share == 1 else 0)
        assert 10 < page.locator(".card").count() < 80
        assert _elements(page) < 1200
    looking.check_accessibility()


def test_filters_narrow_and_stand_in_the_address(looking: PageWindow) -> None:
    """Values of one facet add up, facets narrow each other, and a link shows the same."""
    page = _opened(looking)
    side = page.get_by_role("complementary", name="Filters")
    counted = page.locator(".browser-count")
    told = side.get_by_role("group", name="Longitudinal")
    expect(told).to_be_hidden()  # the truth tells it, and nobody has asked
    side.get_by_text("From the truth").click()
    told.get_by_role("button", name="more than").click()
    expect(counted).to_have_text("400 of 2,000 cases")
    side.get_by_role("group", name="Pictures").get_by_role("button", name="1 picture:").click()
    expect(counted).not_to_have_text("400 of 2,000 cases")
    narrowed = counted.inner_text()
    assert "longitudinal=yes" in page.url
    assert "pictures=1" in page.url
    page.goto(page.url)
    expect(counted).to_have_text(narrowed)
    page.locator(".card").nth(2).focus()
    third = page.locator(".card-id").nth(2).inner_text()
    page.keyboard.press("Enter")
    page.wait_for_url("**/cases/**")
    page.go_back()
    expect(page.locator(".card:focus .card-id")).to_have_text(third)
    page.get_by_role("button", name="Remove filter Pictures").click()
    expect(counted).to_have_text("400 of 2,000 cases")
    page.get_by_role("button", name="Clear all").click()
    expect(counted).to_have_text("2,000 cases")
    assert "?" not in page.url


def test_the_search_finds_ids_and_texts(looking: PageWindow) -> None:
    """Words and parts of ids are found while one types; nothing found offers a way back."""
    page = _opened(looking)
    page.keyboard.press("/")
    page.keyboard.type("case00017")
    expect(page.locator(".browser-count")).to_have_text("1 of 2,000 cases")
    expect(page.locator(".card-id")).to_have_text(["case00017"])
    page.get_by_role("searchbox").fill("nothing like it")
    looking.wait_for_text("No case matches")
    page.get_by_role("button", name="Clear the search").click()
    expect(page.locator(".browser-count")).to_have_text("2,000 cases")


def test_the_grid_is_walked_with_the_keys(looking: PageWindow) -> None:
    """Arrows, Page Down, Home and End move; Enter opens; going back leads to the same case."""
    page = _opened(looking)
    page.locator(".card").first.focus()
    focused = page.locator(".card:focus .card-id")
    expect(focused).to_have_text("case00001")
    page.keyboard.press("ArrowRight")
    expect(focused).to_have_text("case00002")
    columns = int(page.get_by_role("grid").get_attribute("aria-colcount") or 0)
    page.keyboard.press("ArrowDown")
    expect(focused).to_have_text(f"case{2 + columns:05d}")
    page.keyboard.press("End")
    expect(focused).to_have_text("case02000")
    expect(page.locator(".card:focus")).to_be_in_viewport(ratio=0.95)
    page.keyboard.press("PageUp")
    here = focused.inner_text()
    assert here != "case02000"
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/cases/**/{here}")
    page.go_back()
    expect(focused).to_have_text(here)


def test_thumbnails_come_for_what_is_in_sight(looking: PageWindow) -> None:
    """Cards in sight have their picture; those flung past were not asked for."""
    asked: list[str] = []
    looking.page.on("request", lambda r: asked.append(r.url) if "/thumbs/" in r.url else None)
    page = _opened(looking)
    page.wait_for_load_state("networkidle")
    page.locator(".card img").nth(5).wait_for()
    drawn = page.locator(".card img").first.evaluate("img => img.naturalWidth")
    assert drawn > 0
    pane = page.locator(".grid-pane")
    pane.evaluate(
        """async (pane) => {
          for (let at = 0; at < 40; at++) {
            pane.scrollTop += pane.scrollHeight / 40;
            await new Promise(requestAnimationFrame);
          }
        }"""
    )
    page.locator(".card img").nth(5).wait_for()
    page.wait_for_load_state("networkidle")
    assert 0 < len(set(asked)) < 400


def test_truth_labels_are_shown_when_asked_for(window: PageWindow) -> None:
    """Titles and categories stand on the cards after the box is ticked, not before."""
    page = _opened(window, "medthinkvqa")
    page.get_by_text("From the truth").wait_for()
    assert "Case number" not in page.locator(".browser").inner_text()
    page.get_by_role("checkbox", name="Show truth labels").check()
    expect(page.locator(".card-truth").first).to_contain_text("Case number 00002")
    page.get_by_role("searchbox").fill("number 00007")
    expect(page.locator(".card")).to_have_count(1)
    page.get_by_role("checkbox", name="Show truth labels").uncheck()
    looking_for = page.get_by_text("No case matches")
    looking_for.wait_for()


def test_the_splits_lead_to_each_other(window: PageWindow) -> None:
    """Every split has its own cases, and the one that is open is marked."""
    page = _opened(window, "mmrad")
    page.get_by_role("navigation", name="Splits").get_by_role("link", name="val").click()
    page.wait_for_url("**/val")
    expect(page.locator(".card-id")).to_have_text(["p90000003_1"])
    expect(page.locator(".browser-splits [aria-current=page]")).to_have_text("val")


def test_without_truth_the_page_says_why(browser: Browser, hidden_site: Site) -> None:
    """No facets of the truth, no labels, no defects, and one sentence about it."""
    with PageWindow.open(browser, hidden_site) as window:
        page = _opened(window, "rexgroundingct")
        window.wait_for_text("belong to the truth, which is withheld")
        assert page.get_by_role("checkbox").count() == 0
        assert page.get_by_role("group", name="Finding category").count() == 0
        assert page.get_by_role("link", name="Defects").count() == 0
        dataset = hidden_site.shelf_id("datasets", "rexgroundingct")
        window.go(f"/datasets/{dataset}/test/defects")
        window.wait_for_text("the truth is withheld")


def test_scripts_in_a_dataset_are_texts(looking: PageWindow) -> None:
    """Histories, titles, chapters, columns and file names are shown as written, and run nothing."""
    page = _opened(looking, "hostile")
    page.get_by_text("onerror").locator("visible=true").first.wait_for()
    looking.wait_for_text("1 row skipped")
    page.keyboard.press("t")
    expect(page.locator(".card-truth").first).to_contain_text("<script>")
    facet = page.get_by_role("group", name="ICD-10 chapter").get_by_role("button").first
    expect(facet).to_contain_text("<img src=x")
    facet.click()
    expect(page.locator(".browser-count")).to_contain_text("of 3")
    page.goto(page.url)
    expect(page.locator(".browser-count")).to_contain_text("of 3")
    page.get_by_role("link", name="the defects say why").click()
    looking.wait_for_text("Checked")
    looking.wait_for_text("answer-not-an-option")
    looking.check_accessibility()
    assert page.evaluate("() => window.pwned") is None
    assert page.locator("img[src='x']").count() == 0
    looking.save_screenshots("browser-defects")
    page.get_by_role("link", name="case-").first.click()
    page.wait_for_url("**/cases/**")
