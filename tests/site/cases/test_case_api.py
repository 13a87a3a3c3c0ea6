"""Cases, pictures and own readings by the API: what is sent, what is refused, what is kept."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from overread.core import ReleaseRef, Truth
from overread.site.shelf import Shelf
from tests.site.served_site import BENCHMARKS, Site, serve_site

ASKED = ("", "/readers", "/own")


def _entries(folder: Path, benchmark: str, split: str = "test") -> list[Any]:
    return list(ReleaseRef(benchmark, folder / benchmark, split).open().entries())


@pytest.fixture(scope="module")
def writable_site(
    shelf_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Site, Path]]:
    """The page with the right to write, on copies of two datasets."""
    folder = tmp_path_factory.mktemp("writable_site")
    for name in ("medthinkvqa", "mmrad"):
        shutil.copytree(shelf_folder / name, folder / name)
    with serve_site([folder]) as site:
        yield site, folder


def test_a_case_is_told_without_its_truth(site: Site, shelf_folder: Path) -> None:
    """Pictures have sizes, neighbours are right, and no file is named."""
    dataset = site.shelf_id("datasets", "medthinkvqa")
    first, second = _entries(shelf_folder, "medthinkvqa")
    told = site.get(f"/api/cases/{dataset}/test/{first.case.id}")
    assert (told["place"], told["count"], told["previous"]) == (1, 2, None)
    assert told["next"] == second.case.id
    assert told["truth"] == "there"
    assert [p["name"] for p in told["pictures"]] == [p.name for p in first.case.pictures]
    assert all(p["width"] > 0 and p["problem"] is None for p in told["pictures"])
    body = json.dumps(told)
    assert not any(p.file in body or Path(p.file).name in body for p in first.case.pictures)


def test_the_truth_is_told_apart(site: Site, shelf_folder: Path) -> None:
    """Answer, captions, boxes, categories by name; masks without their file."""
    (entry, _) = _entries(shelf_folder, "medthinkvqa")
    dataset = site.shelf_id("datasets", "medthinkvqa")
    told = site.get(f"/api/cases/{dataset}/test/{entry.case.id}/truth")
    assert told["answer"] == entry.truth.answer
    assert told["captions"]["image-1"] == entry.truth.findings[0].text
    films = site.get(f"/api/cases/{site.shelf_id('datasets', 'mmrad')}/test/p90000007_1/truth")
    assert films["findings"][0]["places"][0]["kind"] == "box"
    assert films["steps"]
    scans = site.ask(f"/api/cases/{site.shelf_id('datasets', 'rexgroundingct')}/test/test_2_a_1/truth")
    assert scans.json()["findings"][0]["category_name"] == "ground-glass opacity"
    assert b".nii" not in scans.body


def test_who_read_the_case(site: Site) -> None:
    """The runs on the shelf that hold a reading, and no word of theirs."""
    dataset = site.shelf_id("datasets", "medthinkvqa")
    told = site.get(f"/api/cases/{dataset}/test/case00007/readers")
    assert {one["who"] for one in told} == {"atlas", "oracle", "random"}
    assert set(told[0]) == {"run", "name", "reader", "who"}


def _strings(truth: Truth) -> set[str]:
    """Every text of a truth that could be told from chance."""
    found: set[str] = set()

    def walk(value: Any) -> None:
        if isinstance(value, str) and len(value) > 8:
            found.add(value)
        elif isinstance(value, dict):
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    walk(truth.model_dump(mode="json"))
    return found


def test_without_the_right_nothing_of_the_truth_is_sent(shelf_folder: Path, hidden_site: Site) -> None:
    """Every text of every truth is looked for in every answer of these routes."""
    looked = 0
    for name in BENCHMARKS:
        dataset = hidden_site.shelf_id("datasets", name)
        for entry in _entries(shelf_folder, name):
            seen = entry.case.model_dump_json()
            hidden = {s for s in _strings(entry.truth) if json.dumps(s)[1:-1] not in seen}
            hidden -= {p.name for p in entry.case.pictures}
            base = f"/api/cases/{dataset}/test/{entry.case.id}"
            answers = [hidden_site.ask(base + end) for end in (*ASKED, "/truth")]
            assert [a.status for a in answers] == [200, 200, 200, 403]
            flat = [p.name for p in entry.case.pictures if p.kind == "image"]
            answers += [hidden_site.ask(f"/api/pictures/{dataset}/test/{entry.case.id}/{p}") for p in flat]
            assert answers[0].json()["truth"] == "withheld"
            for answer in answers:
                headers = json.dumps(answer.headers).encode()
                for text in hidden:
                    looked += 1
                    assert json.dumps(text, ensure_ascii=False)[1:-1].encode() not in answer.body
                    assert text.encode() not in answer.body + headers
    assert looked > 100


def _small_dataset(folder: Path, shelf_folder: Path) -> Path:
    """One case of one picture file that a test writes itself: image-1 of case00002."""
    root = folder / "medthinkvqa"
    shutil.copytree(shelf_folder / "medthinkvqa", root)
    return root


def test_pictures_hold_pixels_only_and_stand_upright(shelf_folder: Path, tmp_path: Path) -> None:
    """A turned JPEG is turned, its words stay here; 16 bits become 8; damage is one sentence."""
    root = _small_dataset(tmp_path, shelf_folder)
    entry = _entries(tmp_path, "medthinkvqa")[0]
    files = [root / p.file if (root / p.file).is_file() else None for p in entry.case.pictures]
    found = [file for file in files if file is not None]
    assert len(found) >= 4, "the release keeps its pictures where this test looks for them"
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010E] = "SECRET diagnosis"
    grey = Image.new("L", (60, 40), 0)
    grey.paste(255, (0, 0, 30, 40))  # the left half is white
    grey.save(found[0], "JPEG", exif=exif, comment=b"SECRET diagnosis", quality=95)
    Image.new("I;16", (50, 30), 4000).save(found[1], "PNG")
    found[2].write_bytes(found[2].read_bytes()[:2000])
    found[3].unlink()
    with serve_site([tmp_path]) as site:
        dataset = site.shelf_id("datasets", "medthinkvqa")
        told = site.get(f"/api/cases/{dataset}/test/{entry.case.id}")["pictures"]
        address = f"/api/pictures/{dataset}/test/{entry.case.id}"
        turned = site.ask(f"{address}/image-1")
        assert turned.status == 200
        assert (told[0]["width"], told[0]["height"]) == (60, 40)
        assert turned.headers["x-turned"] == "6"
        assert b"SECRET" not in turned.body
        with Image.open(io.BytesIO(turned.body)) as shown:
            assert shown.size == (40, 60)
            greys = np.asarray(shown.convert("L"))
            assert greys[5, 20] > 200  # left went to the top
            assert greys[55, 20] < 50
        # A box of the stored picture is cut out before it is turned.
        part = site.ask(f"{address}/image-1?box=0,0,30,20")
        with Image.open(io.BytesIO(part.body)) as shown:
            assert shown.size == (20, 30)
            assert np.asarray(shown.convert("L")).min() > 200
        deep = site.ask(f"{address}/image-2")
        with Image.open(io.BytesIO(deep.body)) as shown:
            assert (shown.mode, shown.size) == ("L", (50, 30))
        for number in (3, 4):
            assert told[number - 1]["problem"]
            assert str(root) not in told[number - 1]["problem"]
            refused = site.ask(f"{address}/image-{number}?box=0,0,9,9")
            assert 400 <= refused.status < 500
            assert refused.json()["what"]


def test_pictures_are_kept_by_the_browser_and_bounded(site: Site) -> None:
    """An unchanged picture is not sent again; odd questions get a sentence."""
    dataset = site.shelf_id("datasets", "mmrad")
    address = f"/api/pictures/{dataset}/test/p90000007_1/xray"
    first = site.ask(address)
    assert first.status == 200
    assert first.headers["cache-control"].startswith("private")
    again = site.ask(address, headers={"if-none-match": first.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    part = site.ask(f"{address}?box=100,50,200,150&margin=0.5")
    with Image.open(io.BytesIO(part.body)) as shown:
        assert shown.size == (200, 200)
    small = site.ask(f"{address}?longest=64")
    with Image.open(io.BytesIO(small.body)) as shown:
        assert max(shown.size) == 64
    assert site.ask(f"{address}?box=1e308,-1e308,1e308,1e308").status == 200
    far = site.ask(f"{address}?box=1e300,1e300,-5,9e299&margin=10")
    assert far.status == 200  # bounded by the picture
    for bad in ("box=1,2,3", "box=nan,0,1,1", "box=a,b,c,d", "longest=9999999", "margin=1e9"):
        assert site.ask(f"{address}?{bad}").status == 422, bad
    assert site.ask(f"/api/pictures/{dataset}/test/p90000007_1/other").status == 404
    assert site.ask(f"/api/pictures/{dataset}/test/..%2f..%2fetc/xray").status in (404, 422)
    scans = site.shelf_id("datasets", "rexgroundingct")
    assert site.ask(f"/api/pictures/{scans}/test/test_2_a_1/ct").status == 422


def test_a_saved_reading_is_a_run_that_can_be_scored(writable_site: tuple[Site, Path]) -> None:
    """It lies where the server chose, comes back as it was, and `overread score` takes it."""
    site, folder = writable_site
    dataset = site.shelf_id("datasets", "medthinkvqa")
    right = _entries(folder, "medthinkvqa")[1]
    base = f"/api/cases/{dataset}/test/{right.case.id}/own"
    own = {
        "name": "Anna B.",
        "choice": right.truth.answer,
        "confidence": 0.8,
        "findings": [
            {
                "text": "A shadow.",
                "places": [
                    {"kind": "box", "picture": "image-1", "x1": 9, "y1": 8, "x2": 1, "y2": 2},
                    {"kind": "whole", "picture": "image-1"},
                ],
            }
        ],
        "report": "As seen.",
    }
    first = site.ask(base, method="POST", body={**own, "choice": "A" if own["choice"] != "A" else "B"})
    assert first.status == 200, first.body
    kept = site.ask(base, method="POST", body=own).json()
    assert kept["count"] == 1
    back = site.get(f"{base}?name=Anna%20B.")
    assert back["reading"]["choice"] == right.truth.answer
    assert back["reading"]["findings"][0]["places"][0]["x1"] == 1
    assert site.get(f"{base}?name=Bert")["reading"] is None
    (run,) = [one for one in site.get("/api/shelf")["runs"] if one["id"] == kept["run"]]
    assert (run["reader"], run["dataset"]) == ("person", dataset)
    assert "Anna B." in [one["who"] for one in site.get(base.replace("/own", "/readers"))]
    (where,) = folder.glob("readings-by-anna-b-*/*")
    done = subprocess.run(
        [sys.executable, "-m", "overread", "score", str(where), "--json"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    card = json.loads((where / "card.json").read_text("utf-8"))
    accuracy = card["scores"]["accuracy"]
    assert (accuracy["value"], accuracy["n"]) == (1.0, 1)  # the first answer was replaced
    assert card["scores"]["brier"]["value"] == pytest.approx(0.05)
    assert card["scores"]["findings_rouge1"]["n"] > 0  # said of a picture, it is held against it


def test_readings_saved_at_once_are_all_kept(writable_site: tuple[Site, Path]) -> None:
    """Two windows and two persons lose nothing."""
    site, folder = writable_site
    dataset = site.shelf_id("datasets", "mmrad")
    site.get("/api/shelf")
    cases = [entry.case.id for entry in _entries(folder, "mmrad")]

    def save(number: int) -> int:
        body = {"name": f"p{number % 2}", "report": f"report {number}"}
        case = cases[(number // 2) % len(cases)]
        answer = site.ask(f"/api/cases/{dataset}/test/{case}/own", method="POST", body=body)
        return int(answer.status)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(save, range(16))) == {200}
    for who in ("p0", "p1"):
        (run,) = folder.glob(f"readings-by-{who}/*")
        lines = (run / "readings.jsonl").read_text("utf-8").splitlines()
        assert len(lines) == 8
        assert set(json.loads((run / "spec.json").read_text("utf-8"))["cases"]) == set(cases)


@pytest.mark.parametrize(
    "wrong",
    [
        {"choice": "Z"},
        {"name": "../../etc", "report": "r"},
        {"name": "a\nb", "report": "r"},
        {"report": "   "},
        {"confidence": 7, "choice": "A"},
        {"report": "\ud800"},
        {"report": "x" * 60_000},
        {"findings": [{"text": "t", "query": "9"}]},
        {"findings": [{"text": "t", "places": [{"kind": "mask", "picture": "image-1"}]}]},
        {"findings": [{"text": "t", "places": [{"kind": "box", "picture": "nothing"}]}]},
        {"findings": [{"text": "t", "places": [{"kind": "box", "picture": "image-1"}]}]},
        {"findings": [{"text": "t", "places": [{"kind": "slices", "picture": "image-1"}]}]},
        {"findings": [{"text": "t"}] * 500},
        {"surprise": 1},
    ],
)
def test_a_wrong_reading_is_refused(writable_site: tuple[Site, Path], wrong: dict[str, Any]) -> None:
    """Each gets a sentence and leaves nothing behind."""
    site, folder = writable_site
    dataset = site.shelf_id("datasets", "medthinkvqa")
    before = set(folder.glob("readings-by-*"))
    answer = site.ask(f"/api/cases/{dataset}/test/case00002/own", method="POST", body=wrong)
    assert 400 <= answer.status < 500, answer.body
    assert answer.json()["what"]
    assert set(folder.glob("readings-by-*")) == before


def test_a_read_only_page_keeps_nothing(site: Site) -> None:
    """Saving is refused, and what was saved may be asked for."""
    dataset = site.shelf_id("datasets", "mmrad")
    base = f"/api/cases/{dataset}/test/p90000007_1/own"
    assert site.ask(base, method="POST", body={"report": "r"}).status == 403
    assert site.get(base)["reading"] is None


def test_readings_of_a_dataset_that_was_given_itself_lie_beside_it(
    shelf_folder: Path, tmp_path: Path
) -> None:
    """Nothing is written into a release; the next start finds the run again."""
    root = tmp_path / "mmrad"
    shutil.copytree(shelf_folder / "mmrad", root)
    before = {file.name for file in root.iterdir()}
    with serve_site([root]) as site:
        dataset = site.shelf_id("datasets", "mmrad")
        base = f"/api/cases/{dataset}/test/p90000007_1/own"
        kept = site.ask(base, method="POST", body={"report": "r"}).json()
        assert kept["run"] in [one["id"] for one in site.get("/api/shelf")["runs"]]
    assert {file.name for file in root.iterdir()} == before
    assert list((tmp_path / "overread-readings").glob("readings-by-person/*/spec.json"))
    assert kept["run"] in Shelf([root]).runs


def test_nothing_is_written_through_a_link(shelf_folder: Path, tmp_path: Path) -> None:
    """A link in the place of a person's folder, or of its file, leads nobody's reading out."""
    home, outside = tmp_path / "home", tmp_path / "outside"
    shutil.copytree(shelf_folder / "medthinkvqa", home / "medthinkvqa")
    outside.mkdir()
    (outside / "notes").write_text("mine")
    with serve_site([home]) as site:
        dataset = site.shelf_id("datasets", "medthinkvqa")
        own = f"/api/cases/{dataset}/test/case00002/own"
        (home / "readings-by-eve").symlink_to(outside)
        inner = home / "readings-by-mallory" / f"{dataset}-test"
        inner.mkdir(parents=True)
        (inner / "readings.jsonl").symlink_to(outside / "notes")
        for name in ("eve", "mallory"):
            answer = site.ask(own, method="POST", body={"name": name, "choice": "A"})
            assert answer.status == 422
            assert "is a link" in answer.json()["what"]
        assert site.ask(own, method="POST", body={"name": "ada", "choice": "A"}).status == 200
    assert [file.name for file in outside.iterdir()] == ["notes"]
    assert (outside / "notes").read_text() == "mine"
