"""Readers compared on the page, in a browser: differences, ranks, one case side by side."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.site.browser import PageWindow
from tests.site.served_site import READERS, Site


def ids(site: Site, benchmark: str) -> list[str]:
    """The three runs of a benchmark."""
    return [site.shelf_id("runs", f"{benchmark}/{reader}") for reader in READERS]


def test_differences_and_ranks(window: PageWindow) -> None:
    """The numbers of the API stand on the page, and another baseline gives other ones."""
    runs = ids(window.site, "rexgroundingct")
    page = window.go(f"/compare?runs={','.join(runs)}")
    told = window.site.get(f"/api/compare?runs={','.join(runs)}")
    table = page.get_by_role("region", name="Differences")
    own = told["differences"][runs[2]]["difference"]["value"]
    expect(table.get_by_role("row").filter(has_text="oracle")).to_contain_text(f"{own:+.3f}")
    window.wait_for_text(f"Ranks by {told['metric']}")
    window.check_accessibility()
    window.save_screenshots("compare")
    page.get_by_role("combobox", name="Baseline").select_option(runs[2])
    expect(table.get_by_role("row").filter(has_text="atlas")).to_contain_text(f"−{own:.3f}")
    page.get_by_role("combobox", name="Score", exact=True).select_option("hit_rate")
    window.wait_for_text("Ranks by hit_rate")
    page.wait_for_url("**metric=hit_rate**")


def test_from_disagreement_to_one_case(window: PageWindow) -> None:
    """The case on which two differ most is one click away, both readings beside each other."""
    runs = ids(window.site, "mmrad")[1:]
    page = window.go(f"/compare?runs={','.join(runs)}")
    rows = window.site.get(f"/api/disagreement?runs={','.join(runs)}")["rows"]
    first = max(rows, key=lambda row: row["apart"])["case"]
    link = page.get_by_role("region", name="Disagreements").get_by_role("link").first
    expect(link).to_have_text(first)
    link.click()
    page.wait_for_url(f"**/compare/{first}?runs=*")
    for reader in READERS[1:]:
        expect(page.get_by_role("region", name=f"runs/mmrad/{reader}", exact=True)).to_be_visible()
    assert page.get_by_role("region", name="The truth").count() == 0
    page.get_by_role("button", name="Show the truth").click()
    expect(page.get_by_role("region", name="The truth")).to_be_visible()
    window.check_accessibility()
    window.save_screenshots("side-by-side")
    page.get_by_role("link", name="The trace of runs/mmrad/random").click()
    page.wait_for_url(f"**/runs/*/cases/{first}")


def test_choosing_runs(window: PageWindow) -> None:
    """Without runs one chooses; the last but one that is left asks for another."""
    runs = ids(window.site, "medthinkvqa")
    page = window.go("/compare")
    page.get_by_role("link", name="medthinkvqa").click()
    window.wait_for_text("Largest disagreements")
    for run in ("oracle", "random"):
        page.get_by_role("checkbox", name=f"runs/medthinkvqa/{run}").uncheck()
    window.wait_for_text("Choose another run to compare with")
    assert page.url.endswith(runs[0])
