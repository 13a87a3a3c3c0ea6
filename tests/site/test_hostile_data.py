"""A hostile dataset: scripts in its texts and file names, links out of it. Nothing comes of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Dialog

import overread
from overread import RunPlan
from tests.site.browser import PageWindow
from tests.site.served_site import Site, serve_site

SCRIPT = "<img src=x onerror=\"window.pwned='%s'\"><script>window.pwned='%s'</script>\"'`${alert(1)}"
SECRET = "a secret that lies outside the dataset"


def poisoned(where: str) -> str:
    """A text that would say where it was run."""
    return SCRIPT % (where, where)


@pytest.fixture(scope="module")
def hostile(shelf_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The page on a dataset of which every text is a script, and on a run over it."""
    import shutil

    folder = tmp_path_factory.mktemp("hostile")
    (folder / "secret.jpg").write_text(SECRET)
    root = folder / "set"
    shutil.copytree(shelf_folder / "medthinkvqa", root)
    lines = (root / "test.jsonl").read_text().splitlines()
    row = json.loads(lines[0])
    for field in ("title", "CLINICAL_HISTORY", "IMAGING_FINDINGS", "discussion"):
        row[field] = poisoned(field)
    row["options"] = {letter: poisoned(letter) for letter in "ABCDE"}
    row["correct_answer_text"] = poisoned("A")
    for number in (1, 2, 3):
        row[f"image_0{number}_caption"] = poisoned(f"caption {number}")
    # A file whose name is markup, and one that is a link out of the dataset.
    first = root / row["image_01_path"]
    named = first.with_name("<img src=x onerror=window.pwned=1>.jpg")
    first.rename(named)
    row["image_01_path"] = str(named.relative_to(root))
    second = root / row["image_02_path"]
    second.unlink()
    second.symlink_to(folder / "secret.jpg")
    (root / "test.jsonl").write_text("\n".join([json.dumps(row), *lines[1:]]) + "\n")
    run = folder / "<img src=x onerror=window.pwned=2>"
    overread.run(RunPlan("medthinkvqa", root, "oracle"), run)
    overread.score(run)
    with serve_site([folder]) as site:
        yield site


@pytest.mark.slow
def test_scripts_in_texts_are_texts(hostile: Site, browser: Browser) -> None:
    """Every view shows them as they are written, and none of them is run."""
    dataset = hostile.shelf_id("datasets", "set")
    (run,) = (one["id"] for one in hostile.get("/api/shelf")["runs"])
    case = hostile.get(f"/api/runs/{run}/cases")["rows"][0]["case"]
    views = (
        "/",
        f"/datasets/{dataset}/test",
        f"/datasets/{dataset}/test/defects",
        f"/cases/{dataset}/test/{case}",
        f"/runs/{run}",
        f"/runs/{run}/cases/{case}",
        f"/compare?runs={run},{run}",
        f"/compare/{case}?runs={run},{run}",
    )
    with PageWindow.open(browser, hostile) as window:
        window.expected = ["Failed to load resource"]  # the link out of the dataset is refused
        dialogs: list[str] = []

        def asked(dialog: Dialog) -> None:
            dialogs.append(dialog.message)
            dialog.dismiss()

        window.page.on("dialog", asked)
        seen = ""
        for view in views:
            window.go(view)
            window.page.wait_for_load_state("networkidle")
            window.page.keyboard.press("t")
            window.page.wait_for_load_state("networkidle")
            seen += window.page.locator("body").inner_text()
            assert window.page.evaluate("() => window.pwned") is None, view
        assert not dialogs
        assert "window.pwned='CLINICAL_HISTORY'" in seen
        assert "window.pwned='discussion'" in seen


def test_a_link_out_of_the_dataset_is_not_followed(hostile: Site) -> None:
    """Neither the picture nor its thumbnail nor a cut-out gives away the file it points at."""
    dataset = hostile.shelf_id("datasets", "set")
    (run,) = (one["id"] for one in hostile.get("/api/shelf")["runs"])
    case = hostile.get(f"/api/runs/{run}/cases")["rows"][0]["case"]
    for path in (
        f"/api/pictures/{dataset}/test/{case}/image-2",
        f"/api/pictures/{dataset}/test/{case}/image-2?box=0,0,10,10",
        f"/api/datasets/{dataset}/test/thumbs/{case}",
        f"/api/cases/{dataset}/test/{case}",
    ):
        answer = hostile.ask(path)
        assert answer.status < 500, path
        assert SECRET.encode() not in answer.body
    assert hostile.ask(f"/api/pictures/{dataset}/test/{case}/image-2").status >= 400
    assert hostile.ask(f"/api/pictures/{dataset}/test/{case}/image-1").status == 200


def test_no_path_of_the_machine_is_told(hostile: Site, tmp_path: Path) -> None:
    """Answers and refusals name nothing by where it lies."""
    dataset = hostile.shelf_id("datasets", "set")
    (run,) = (one["id"] for one in hostile.get("/api/shelf")["runs"])
    case = hostile.get(f"/api/runs/{run}/cases")["rows"][0]["case"]
    for path in (
        "/api/shelf",
        f"/api/pictures/{dataset}/test/{case}/image-2",
        f"/api/cases/{dataset}/test/{case}",
        f"/api/runs/{run}",
        f"/api/runs/{run}/cases/{case}",
        "/api/runs/nothing",
    ):
        assert str(tmp_path.parent).encode() not in hostile.ask(path).body, path
