"""A sweep on the page, in a browser."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from overread import RunPlan
from overread.runs.sweep.axes import parse_axes
from overread.runs.sweep.files import write_sweep
from overread.runs.sweep.runner import sweep
from tests.runs.ablation_cases import Counting, pictured
from tests.site.browser import PageWindow
from tests.site.served_site import serve_site


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a dataset and a sweep; made before the browser, which keeps a loop running."""
    folder = tmp_path_factory.mktemp("swept")
    found = sweep(
        RunPlan("medthinkvqa", pictured(folder / "medthinkvqa"), Counting()),
        parse_axes(["image_ratio=0,40,100"]),
        folder / "sweep",
    )
    write_sweep(found)
    return folder


def test_a_sweep(swept: Path, browser: Browser) -> None:
    """Its curve, its points as the file has them, and the run behind each."""
    written = json.loads((swept / "sweep" / "sweep.json").read_text())
    with serve_site([swept], "--read-only") as site, PageWindow.open(browser, site) as window:
        window.page.get_by_role("link", name="sweep", exact=True).click()
        window.wait_for_text("accuracy by image_ratio")
        table = window.page.get_by_role("region", name="Points of accuracy")
        for point in written["points"]:
            row = table.get_by_role("row").filter(has_text=point["name"]).last
            expect(row).to_contain_text(f"{point['scores']['accuracy']['value']:.3f}")
        window.check_accessibility()
        window.save_screenshots("sweep")
        table.get_by_role("link", name="image_ratio=100", exact=True).click()
        window.page.wait_for_url("**/runs/sweep-image-ratio-100-*")
        window.wait_for_text("complete")


def test_a_damaged_sweep_gets_a_sentence(swept: Path, tmp_path: Path) -> None:
    """What is no table of a sweep is told of, and never a fault."""
    (tmp_path / "sweep").mkdir()
    file = tmp_path / "sweep" / "sweep.json"
    whole = json.loads((swept / "sweep" / "sweep.json").read_text())
    file.write_text(json.dumps(whole))
    with serve_site([tmp_path]) as site:
        name = site.get("/api/shelf")["sweeps"][0]["id"]
        told = site.get(f"/api/sweeps/{name}")
        assert [point["run"] for point in told["points"]] == [None] * 3  # not on the shelf
        whole["axes"]["image_ratio"] = ["0", "nan", "inf"]
        file.write_text(json.dumps(whole))
        assert site.get(f"/api/sweeps/{name}")["axes"][0]["numbers"] is None
        for spoilt in ("{", "[]", json.dumps({**whole, "points": [{}]}), json.dumps({"kind": 1})):
            file.write_text(spoilt)
            answer = site.ask(f"/api/sweeps/{name}")
            assert answer.status == 422
            assert answer.json()["what"]
