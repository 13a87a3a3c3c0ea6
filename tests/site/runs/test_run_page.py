"""A run on the page, in a browser: its tabs, the cases behind its numbers, its files."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.site.browser import PageWindow
from tests.site.served_site import Site, serve_site

NOTICE = "Research and education only, not for patient care."


def run_of(window: PageWindow, name: str) -> str:
    """The address of a run."""
    return f"/runs/{window.site.shelf_id('runs', name)}"


def saved(window: PageWindow, button: str) -> tuple[str, bytes]:
    """(name, bytes) of the file that a button saves."""
    with window.page.expect_download() as waiting:
        window.page.get_by_role("button", name=button, exact=True).click()
    return waiting.value.suggested_filename, Path(waiting.value.path()).read_bytes()


def test_scores_are_the_cards_and_lead_to_cases(window: PageWindow, shelf_folder: Path) -> None:
    """The number of the card stands on the page; a click on it shows its cases, the worst first."""
    card = json.loads((shelf_folder / "runs" / "medthinkvqa" / "atlas" / "card.json").read_text())
    window.go(run_of(window, "medthinkvqa/atlas"))
    own = card["scores"]["brier"]
    row = window.page.get_by_role("row").filter(has_text="Brier score")
    expect(row).to_contain_text(f"{own['value']:.3f}")
    assert own["low"] is None
    expect(row).to_contain_text(own["note"].partition(":")[0])
    window.check_accessibility()
    window.save_screenshots("run-scores")
    row.get_by_role("link").click()
    window.page.wait_for_url("**tab=cases**metric=brier**")
    values = window.page.get_by_role("region", name="Cases of").locator("tbody tr td:nth-child(5)")
    expect(values).to_have_count(card["cases"])
    shown = [float(text) for text in values.all_inner_texts()]
    assert shown == sorted(shown, reverse=True)  # lower is better, so that the worst is largest
    assert sum(shown) / len(shown) == pytest.approx(own["value"], abs=1e-3)
    window.check_accessibility()


def test_a_breakdown_leads_to_its_cases(window: PageWindow, shelf_folder: Path) -> None:
    """A number of a group leads to the cases of that group, and a click shows all again."""
    card = json.loads((shelf_folder / "runs" / "medthinkvqa" / "atlas" / "card.json").read_text())
    group, own = next(iter(card["breakdowns"]["right option"].items()))
    page = window.go(run_of(window, "medthinkvqa/atlas") + "?tab=breakdowns")
    page.get_by_role("combobox", name="By", exact=True).select_option("right option")
    table = page.get_by_role("region", name="Scores by right option")
    expect(table).to_contain_text(f"{own['scores']['accuracy']['value']:.3f}")
    window.check_accessibility()
    table.get_by_role("link", name=f"accuracy of {group}").click()
    only = page.get_by_role("button", name=f"Only right option: {group}: show all again")
    expect(only).to_be_visible()
    rows = page.get_by_role("region", name="Cases of").locator("tbody tr")
    expect(rows).to_have_count(own["n"])
    only.click()
    expect(rows).to_have_count(card["cases"])


def test_what_is_right_is_hidden_until_asked_for(window: PageWindow) -> None:
    """The table of cases tells neither right nor scores before somebody asks."""
    page = window.go(run_of(window, "medthinkvqa/oracle") + "?tab=cases")
    table = page.get_by_role("region", name="Cases of")
    expect(table.locator("tbody tr")).to_have_count(2)
    assert table.get_by_text("✓ right").count() == 0
    assert table.get_by_role("button", name="accuracy").count() == 0
    page.get_by_role("button", name="Show correctness").click()
    expect(table.get_by_text("✓ right")).to_have_count(2)
    expect(table.get_by_role("button", name="accuracy")).to_be_visible()


def test_tabs_by_keyboard(window: PageWindow) -> None:
    """The arrows lead from tab to tab, and the address tells which is open."""
    page = window.go(run_of(window, "medthinkvqa/atlas"))
    tab = page.get_by_role("tab", name="Scores")
    tab.focus()
    tab.press("ArrowRight")
    page.wait_for_url("**tab=breakdowns**")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Calibration")).to_be_focused()
    window.wait_for_text("Bins of confidence")
    window.check_accessibility()


def test_the_audit(window: PageWindow, shelf_folder: Path) -> None:
    """How many answers rest on what they cite, and each of them."""
    folder = shelf_folder / "runs" / "medthinkvqa" / "atlas" / "audit"
    found = json.loads((folder / "audit.json").read_text())
    page = window.go(run_of(window, "medthinkvqa/atlas") + "?tab=audit")
    window.wait_for_text("rest on the cited evidence")
    rests = found["shares"]["rests"]["value"]
    expect(page.locator(".runs-headline strong")).to_contain_text(f"{rests:.3f}")
    answers = page.get_by_role("region", name="Answers of the audit").locator("tbody tr")
    expect(answers).to_have_count(len({(a["case"], a["query"]) for a in found["answers"]}))
    window.check_accessibility()
    answers.first.get_by_role("link").click()
    page.wait_for_url("**/runs/*/cases/*")


def test_files_carry_the_notice(window: PageWindow, shelf_folder: Path) -> None:
    """CSV, SVG and PNG can be saved; every one says what it may not be used for."""
    window.go(run_of(window, "medthinkvqa/atlas"))
    window.wait_for_text("Those that lie between 0 and 1")
    name, body = saved(window, "Save the scores as CSV")
    rows = list(csv.DictReader(io.StringIO(body.decode())))
    card = json.loads((shelf_folder / "runs" / "medthinkvqa" / "atlas" / "card.json").read_text())
    assert name == "runs-medthinkvqa-atlas-scores.csv"
    assert {r["score"]: float(r["value"]) for r in rows if r["value"]} == {
        key: one["value"] for key, one in card["scores"].items() if one["value"] is not None
    }
    assert all(row["notice"] == NOTICE for row in rows)
    title = "Scores of runs/medthinkvqa/atlas"
    name, body = saved(window, f"Save {title} as SVG")
    assert name.endswith(".svg")
    assert NOTICE.encode() in body
    assert b"var(--" not in body
    name, body = saved(window, f"Save {title} as PNG")
    assert body.startswith(b"\x89PNG")
    width = int.from_bytes(body[16:20], "big")
    assert width > 800


def test_a_chart_is_a_table_too(window: PageWindow) -> None:
    """Whoever cannot see a chart has its numbers."""
    page = window.go(run_of(window, "rexgroundingct/atlas"))
    button = page.get_by_role("button", name="Scores of runs/rexgroundingct/atlas as a table")
    button.click()
    table = page.get_by_role("region", name="Scores of runs/rexgroundingct/atlas")
    expect(table.get_by_role("row").filter(has_text="hit_rate").first).to_be_visible()
    window.check_accessibility()


def test_cells_cannot_be_formulas(own_shelf: Path, browser: Browser) -> None:
    """What a reader says, and why it failed, is defused in files."""
    file = own_shelf / "runs" / "medthinkvqa" / "random" / "readings.jsonl"
    rows: list[dict[str, Any]] = [json.loads(line) for line in file.read_text().splitlines()]
    rows[0] |= {"choice": "=HYPERLINK(1)", "error": '@SUM(1)"<img src=x onerror=alert(1)>'}
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with serve_site([own_shelf], "--read-only") as page, PageWindow.open(browser, page) as window:
        window.go(run_of(window, "medthinkvqa/random") + "?tab=cases")
        window.wait_for_text("@SUM(1)")
        _, body = saved(window, "Save Cases of runs/medthinkvqa/random as CSV")
        found = list(csv.DictReader(io.StringIO(body.decode())))
        assert "'=HYPERLINK(1)" in [row["Choice"] for row in found]
        assert any(row["Why it failed"].startswith("'@SUM") for row in found)


def test_without_truth_nothing_is_right_or_wrong(hidden_site: Site, browser: Browser) -> None:
    """Scores are there, single cases do not tell."""
    with PageWindow.open(browser, hidden_site) as window:
        window.go(run_of(window, "medthinkvqa/atlas"))
        window.wait_for_text("share of cases answered right")
        window.page.get_by_role("tab", name="Cases").click()
        window.wait_for_text("scores of single cases are withheld")
        assert window.page.get_by_text("✓ right").count() == 0
        window.page.get_by_role("tab", name="Calibration").click()
        window.wait_for_text("Calibration needs the truth")


def test_home_tells_how_far_runs_are(window: PageWindow, site: Site) -> None:
    """The first view has the headline of each run, and compares those that are chosen."""
    told = {one["id"]: one for one in site.get("/api/runs")}
    own = told[site.shelf_id("runs", "medthinkvqa/atlas")]
    row = window.page.get_by_role("row").filter(has_text="runs/medthinkvqa/atlas")
    expect(row).to_contain_text(f"{own['score']['value']:.3f}")
    for reader in ("atlas", "oracle"):
        window.page.get_by_label(f"Compare runs/medthinkvqa/{reader}").check()
    window.page.get_by_role("link", name="Compare the 2 chosen").click()
    window.page.wait_for_url("**/compare?runs=**")
    window.wait_for_text("Largest disagreements")
