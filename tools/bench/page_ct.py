"""How fast a CT of full size is on the page: the first slices in a browser, and cuts of it.

A 512×512×300 scan with three findings is made (smooth noise, so that it packs as real ones do),
served with an empty cache, and opened in Chromium; then cuts of the warm volume are asked for.

    python -m tools.bench.page_ct [--rounds 5]
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from overread.pixels.masks import write_mask
from overread.pixels.nifti import write_volume
from tests.site.browser import PageWindow, launch_browser
from tests.site.served_site import Site, serve_site

SHAPE = (512, 512, 300)
AFFINE = np.array([[-0.7, 0, 0, 180], [0, -0.7, 0, 180], [0, 0, 1.0, -150], [0, 0, 0, 1.0]])
CUTS = {
    "64×64×64 voxels": "?bbox=200,264,200,264,100,164",
    "one axial slice": "?bbox=0,512,0,512,150,151",
    "one sagittal slice": "?bbox=256,257,0,512,0,300",
    "100 mm of the patient": "?frame=patient&bbox=-50,50,-50,50,-50,50",
    "every 4th voxel": "?frame=patient&step=4",
    "a slice as PNG": "/slice?plane=axial&index=150&window=lung",
    "a slab of 20 mm as PNG": "/slice?plane=coronal&slab=20",
    "the truth of a finding": "/truth/1?frame=patient",
}
FIRST_GOAL, CUT_GOAL = 3.0, 50.0
"""Seconds to the first slices from a cold cache, milliseconds of a warm crop."""


def make_scan() -> NDArray[np.int16]:
    """A body of soft tissue with two lungs, and the noise of a scanner in it."""
    rng = np.random.default_rng(0)
    i, j = np.ogrid[:512, :512]
    plane = np.full((512, 512), -1000, np.int16)
    plane[((i - 256) / 220) ** 2 + ((j - 256) / 160) ** 2 < 1] = 40
    for middle in (150, 362):
        plane[((i - middle) / 85) ** 2 + ((j - 256) / 115) ** 2 < 1] = -850
    noise = [rng.normal(0, 12, (512, 512)).astype(np.int16) for _ in range(16)]
    made = np.empty(SHAPE, np.int16, order="F")
    for k in range(SHAPE[2]):
        made[:, :, k] = plane + np.roll(noise[k % 16], 7 * k, axis=(k // 16) % 2)
    return made


def make_release(folder: Path) -> float:
    """The release; megabytes of its scan on disk."""
    name = "test_1_a_1.nii.gz"
    for part in ("images", "segmentations"):
        (folder / part).mkdir(parents=True)
    write_volume(folder / "images" / name, make_scan(), AFFINE)
    rng = np.random.default_rng(1)
    channels = [np.zeros(SHAPE, np.uint8) for _ in range(3)]
    for labels in channels:
        for entity in range(1, 6):
            a, b, c = (int(rng.integers(60, size - 100)) for size in SHAPE)
            labels[a : a + 30, b : b + 25, c : c + 15] = entity
    write_mask(folder / "segmentations" / name, channels, AFFINE)
    findings = {str(n): f"Finding number {n}" for n in range(3)}
    row = {"name": name, "findings": findings, "shape": list(SHAPE)}
    (folder / "dataset.json").write_text(json.dumps({"train": [], "val": [], "test": [row]}))
    return (folder / "images" / name).stat().st_size / 1e6


def time_opening(folder: Path) -> tuple[float, float]:
    """Seconds until the first slices and until the whole scan are drawn, from an empty cache."""
    with tempfile.TemporaryDirectory(prefix="overread-bench-") as cache:
        os.environ["OVERREAD_CACHE"] = cache
        with serve_site([folder], "--read-only") as site, launch_browser() as browser:
            dataset = site.get("/api/shelf")["datasets"][0]["id"]
            with PageWindow.open(browser, site) as window:
                window.page.get_by_text("Datasets, runs and builds").wait_for()
                begin = time.perf_counter()
                window.page.goto(f"{site.base}/cases/{dataset}/test/test_1_a_1")
                window.page.wait_for_selector(".ct-ruler", timeout=60_000)  # drawn with the slices
                first = time.perf_counter() - begin
                window.page.wait_for_selector('.ct-film[data-state="whole"]', timeout=120_000)
                return first, time.perf_counter() - begin


def time_cuts(folder: Path) -> dict[str, tuple[float, float]]:
    """Cut → milliseconds (best of five) and megabytes, from a warm cache."""
    with tempfile.TemporaryDirectory(prefix="overread-bench-") as cache:
        os.environ["OVERREAD_CACHE"] = cache
        with serve_site([folder], "--read-only") as site:
            dataset = site.get("/api/shelf")["datasets"][0]["id"]
            base = f"/api/volumes/{dataset}/test/test_1_a_1/ct"
            begin = time.perf_counter()
            site.ask(f"{base}?bbox=0,1,0,1,0,1")
            found = {"first voxel from a cold cache": (1000 * (time.perf_counter() - begin), 0.0)}
            return found | {name: _time_request(site, base + query) for name, query in CUTS.items()}


def _time_request(site: Site, path: str) -> tuple[float, float]:
    best, size = float("inf"), 0
    for _ in range(6):  # the first warms
        begin = time.perf_counter()
        answer = site.ask(path)
        best = min(best, time.perf_counter() - begin)
        assert answer.status == 200, answer.body[:200]
        size = len(answer.body)
    return 1000 * best, size / 1e6


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often the page is opened")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="overread-bench-") as folder:
        release = Path(folder, "release")
        size = make_release(release)
        print(f"a CT of {'×'.join(map(str, SHAPE))} with 3 findings, {size:.0f} MB on disk")
        for number in range(rounds):
            first, whole = time_opening(release)
            print(f"  page opened, cold ({number + 1}): first slices {first:5.2f} s "
                  f"(goal {FIRST_GOAL:g} s), whole scan {whole:5.2f} s")  # fmt: skip
        for name, (ms, megabytes) in time_cuts(release).items():
            print(f"  {name:32s} {ms:8.1f} ms {megabytes:8.2f} MB")
        print(f"  (crops: goal {CUT_GOAL:g} ms)")


if __name__ == "__main__":
    main()
