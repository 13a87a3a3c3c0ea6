"""Readers compared on the page, in a browser: differences, ranks, one case side by side, sweeps."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import Browser, expect

from ablation_making import Counting, pictured
from browsing import Eyes
from overread import Plan
from overread.runs.sweep import sweep
from overread.runs.sweep_axes import parsed_axes
from overread.runs.sweep_files import write_sweep
from site_making import READERS, Site, served


def ids(site: Site, benchmark: str) -> list[str]:
    """The three runs of a benchmark."""
    return [site.shelf_id("runs", f"{benchmark}/{reader}") for reader in READERS]


def test_differences_and_ranks(eyes: Eyes) -> None:
    """The numbers of the API stand on the page, and another baseline gives other ones."""
    runs = ids(eyes.site, "rexgroundingct")
    page = eyes.go(f"/compare?runs={','.join(runs)}")
    told = eyes.site.get(f"/api/compare?runs={','.join(runs)}")
    table = page.get_by_role("region", name="Differences")
    own = told["differences"][runs[2]]["difference"]["value"]
    expect(table.get_by_role("row").filter(has_text="oracle")).to_contain_text(f"{own:+.3f}")
    eyes.see(f"Ranks by {told['metric']}")
    eyes.axe()
    eyes.shoot("compare")
    page.get_by_label("Set against").select_option(runs[2])
    expect(table.get_by_role("row").filter(has_text="atlas")).to_contain_text(f"−{own:.3f}")
    page.get_by_label("Score", exact=True).select_option("hit_rate")
    eyes.see("Ranks by hit_rate")
    page.wait_for_url("**metric=hit_rate**")


def test_from_disagreement_to_one_case(eyes: Eyes) -> None:
    """The case on which two differ most is one click away, both readings beside each other."""
    runs = ids(eyes.site, "mmrad")[1:]
    page = eyes.go(f"/compare?runs={','.join(runs)}")
    rows = eyes.site.get(f"/api/disagreement?runs={','.join(runs)}")["rows"]
    first = max(rows, key=lambda row: row["apart"])["case"]
    link = page.get_by_role("region", name="Where they disagree").get_by_role("link").first
    expect(link).to_have_text(first)
    link.click()
    page.wait_for_url(f"**/compare/{first}?runs=*")
    for reader in READERS[1:]:
        expect(page.get_by_role("region", name=f"runs/mmrad/{reader}", exact=True)).to_be_visible()
    assert page.get_by_role("region", name="The truth").count() == 0
    page.get_by_role("button", name="Show the truth").click()
    expect(page.get_by_role("region", name="The truth")).to_be_visible()
    eyes.axe()
    eyes.shoot("side-by-side")
    page.get_by_role("link", name="The trace of runs/mmrad/random").click()
    page.wait_for_url(f"**/runs/*/cases/{first}")


def test_choosing_runs(eyes: Eyes) -> None:
    """Without runs one chooses; the last but one that is left asks for another."""
    runs = ids(eyes.site, "medthinkvqa")
    page = eyes.go("/compare")
    page.get_by_role("link", name="medthinkvqa").click()
    eyes.see("Where they disagree most")
    for run in ("oracle", "random"):
        page.get_by_label(f"runs/medthinkvqa/{run}").uncheck()
    eyes.see("Choose another run to compare with")
    assert page.url.endswith(runs[0])


def test_a_sweep(tmp_path: Path, browser: Browser) -> None:
    """Its curve, its points as the file has them, and the run behind each."""
    root = pictured(tmp_path / "medthinkvqa")
    found = sweep(
        Plan("medthinkvqa", root, Counting()),
        parsed_axes(["image_ratio=0,40,100"]),
        tmp_path / "sweep",
    )
    write_sweep(found)
    written = json.loads((tmp_path / "sweep" / "sweep.json").read_text())
    with served([tmp_path], "--read-only") as site, Eyes.on(browser, site) as eyes:
        eyes.page.get_by_role("link", name="sweep", exact=True).click()
        eyes.see("accuracy by image_ratio")
        table = eyes.page.get_by_role("region", name="Points of accuracy")
        for point in written["points"]:
            row = table.get_by_role("row").filter(has_text=point["name"]).last
            expect(row).to_contain_text(f"{point['scores']['accuracy']['value']:.3f}")
        eyes.axe()
        eyes.shoot("sweep")
        table.get_by_role("link", name="image_ratio=100", exact=True).click()
        eyes.page.wait_for_url("**/runs/sweep-image-ratio-100-*")
        eyes.see("complete")
