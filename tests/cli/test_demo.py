"""The demo, and how a reading is shown: one command from nothing to scores and an audit."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from rich.console import Console

from overread.cli.demo_steps import DemoSteps
from overread.pixels.image_files import read_image
from tests.cli.overread_command import run
from tests.jsonl_rows import read_rows


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A small demo, and what it printed; another package has a benchmark of its own installed."""
    folder = tmp_path_factory.mktemp("demo")
    about = folder / "installed" / "other-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[overread.benchmarks]\nother = other_exam:BENCHMARK\n")
    path = os.pathsep.join((str(about.parent), os.environ.get("PYTHONPATH", "")))
    words = ("demo", "--patients", "2", "--no-serve")
    code, out, err = run(*words, cwd=folder, PYTHONPATH=path)
    assert (code, err) == (0, "")
    return folder / "overread-demo", out


@pytest.mark.slow
def test_demo_reads_scores_and_audits(demo: tuple[Path, str]) -> None:
    """One command from nothing: intact releases, five readers on each, scores, an audit.

    A benchmark that another package brings, which no phantom is made for, does not break it.
    """
    folder, out = demo
    assert out.count("checked: 0 defect(s)") == 3
    for title in ("MedThinkVQA", "ReXGroundingCT", "MMRad-IVL-22K"):
        assert out.count(f"{title} ") >= 3  # checked, scored, audited
    steps = re.findall(r"^(\d/4) .* …$", out, re.M)
    assert steps == ["1/4", "2/4", "3/4", "4/4"]
    assert len(re.findall(r"^    done in .*; about .* to go$", out, re.M)) == 3
    assert "too few (" not in out
    changed = re.findall(r"(\d+) of (\d+)", out.partition("Do atlas's answers")[2])
    assert len(changed) >= 9
    assert all(int(moved) <= int(asked) for moved, asked in changed)
    assert "2 patients are too few for intervals" in out
    for benchmark in ("medthinkvqa", "rexgroundingct", "mmrad"):
        for reader in ("atlas", "majority", "random", "nothing", "oracle"):
            card = json.loads((folder / "runs" / benchmark / reader / "card.json").read_text())
            assert card["reader"] == reader
        assert (folder / "runs" / benchmark / "atlas" / "audit" / "audit.json").exists()


@pytest.mark.slow
def test_demo_saves_pictures(demo: tuple[Path, str]) -> None:
    """Those of the first cases with the truth, and each again with what atlas marked."""
    folder, _ = demo
    pictures = sorted((folder / "pictures").iterdir())
    shown = read_rows(folder / "medthinkvqa/test.jsonl")[0]["image_count"]
    assert len(pictures) == 2 * (shown + 2)
    assert sum("-by-atlas" in path.name for path in pictures) == shown + 2
    assert all(read_image(path).std() > 10 for path in pictures)


@pytest.mark.slow
def test_show_tells_how_a_run_read_a_case(demo: tuple[Path, str], tmp_path: Path) -> None:
    """Steps with their places, choice and marks; a case that was not read is refused."""
    folder, _ = demo
    where = ("medthinkvqa", folder / "medthinkvqa", "#1")
    atlas = folder / "runs" / "medthinkvqa" / "atlas"
    code, out, _ = run("show", *where, "--run", atlas, "--save", tmp_path)
    assert code == 0
    for words in ("as read by atlas", "1 look", "Choice", "-by-atlas.png"):
        assert words in out
    code, out, _ = run("show", *where, "--run", atlas, "--json")
    assert json.loads(out)["reading"]["reader"] == "atlas"
    code, _, err = run("show", *where, "--split", "train", "--run", atlas)
    assert code == 2
    assert "has no reading of" in err


def test_a_demo_keeps_what_is_not_its_own(tmp_path: Path) -> None:
    """Another folder with something in it is refused, and left as it is."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    code, _, err = run("demo", "--out", "mine", cwd=tmp_path)
    assert code == 2
    assert "choose another --out" in err
    assert (tmp_path / "mine" / "thesis.txt").exists()


def test_a_demo_that_cannot_be_written_says_where_it_could(tmp_path: Path) -> None:
    """One sentence with the place, the reason and what to do, before anything is made."""
    (tmp_path / "file").touch()
    code, out, err = run("demo", "--out", "file/demo", cwd=tmp_path)
    assert (code, out) == (2, "")
    assert err == (
        "overread: the demo cannot be written to file/demo (Not a directory): "
        "go to a folder in which you may write, or name one with --out\n"
    )


def test_the_time_to_go_follows_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that took twice as long as the other ones' shares say doubles what is told of them."""
    clock = iter((0.0, 0.0, 40.0, 40.0, 60.0))
    monkeypatch.setattr("overread.cli.demo_steps.time.monotonic", lambda: next(clock))
    told = io.StringIO()
    steps = DemoSteps(Console(file=told, width=80), [20, 10])
    with steps.step("Making"):
        pass
    with steps.step("Reading"):
        pass
    assert told.getvalue().splitlines() == [
        "1/2 Making …",
        "    done in 40 seconds; about 20 seconds to go",
        "2/2 Reading …",
        "    done in 20 seconds",
    ]


@pytest.mark.slow
def test_another_seed_is_another_demo(demo: tuple[Path, str], tmp_path: Path) -> None:
    """The seed goes to the phantom; a demo may be made again in its place, and keeps what is ours."""
    folder, _ = demo
    scan = Path("rexgroundingct/images/test_2_a_1.nii.gz")
    copy = tmp_path / "again"
    shutil.copytree(folder, copy)
    (copy / "mine").mkdir()
    assert run("demo", "--out", copy, "--seed", "4", "--patients", "2")[0] == 0
    assert (copy / scan).read_bytes() != (folder / scan).read_bytes()
    assert (copy / "mine").exists()


@pytest.mark.slow
def test_at_a_terminal_the_demo_ends_with_the_page(tmp_path: Path) -> None:
    """It prints the address, and the page there has the results; Ctrl-C ends it."""
    words = ["demo", "--patients", "2", "--no-browser", "--out", str(tmp_path / "d")]
    person, machine = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "overread", *words], stdin=machine, stdout=machine, stderr=machine
    )
    os.close(machine)
    told = b""
    try:
        while b"Ctrl-C stops it" not in told:
            told += os.read(person, 65536)
        address = re.search(rb"http://\S+", told)
        assert address is not None
        jar = urllib.request.HTTPCookieProcessor()
        opener = urllib.request.build_opener(jar)
        opener.open(address[0].decode(), timeout=300).read()
        base = address[0].decode().partition("/?")[0]
        shelf = json.load(opener.open(f"{base}/api/shelf", timeout=300))
        built = {f"builds/{name}/release" for name in ("medthinkvqa", "mmrad")}
        made = {"medthinkvqa", "mmrad", "rexgroundingct"}
        assert {one["name"] for one in shelf["datasets"]} == made | built
        assert len(shelf["builds"]) == 2
        assert len(shelf["runs"]) == 15
        process.send_signal(signal.SIGINT)
        assert process.wait(300) in (0, 130)
    finally:
        process.kill()
        process.wait()
        os.close(person)
