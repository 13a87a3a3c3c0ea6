"""`overread export`: what can be typed, what comes back, and what a second time does."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from overread.build.release import chat
from overread.build.release.export_formats import FORMATS, export_release
from overread.build.release.staging import staging_folder
from overread.cli.export import export
from overread.errors import OverreadError, UsageError
from tests.jsonl_rows import read_rows, write_rows

app = typer.Typer()
app.command()(export)


def said(*words: object) -> str:
    """What the command prints; it must end well."""
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_formats_are_listed() -> None:
    """`overread export list` names every format with a line on it."""
    told = said("list")
    assert all(name in told for name in FORMATS)
    rows = json.loads(said("list", "--json"))
    assert [row["name"] for row in rows] == list(FORMATS)


def test_an_export_says_what_it_wrote(sketch: Path, tmp_path: Path) -> None:
    """Counts by split as JSON, and the same in words."""
    root = sketch / "medthinkvqa"
    told = json.loads(said("chat", "medthinkvqa", root, "--out", tmp_path / "a", "--json"))
    assert told["cases"] == {"train": 2, "test": 2}
    assert told["ok"] is True
    words = said("chat", "medthinkvqa", root, "--out", tmp_path / "b", "--limit", "1")
    assert "1 train, 1 test case(s)" in " ".join(words.split())
    page = json.loads((tmp_path / "b/export.json").read_text("utf-8"))
    assert page["limit"] == 1
    assert "not for patient care" in page["use"]
    assert page["test_truth"] is False


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["parket", "mmrad", "X", "--out", "O"], "did you mean 'parquet'"),
        (["chat", "mmrad", "X", "--out", "O"], "X is no folder"),
        (["chat", "mmrat", "X", "--out", "O"], "did you mean 'mmrad'"),
        (["chat", "mmrad", "X"], "no --out"),
        (["chat"], "a benchmark and the folder"),
        (["chat", "mmrad", "X", "--out", "O", "--split", "dev"], "no split 'dev'"),
        (["nifti", "mmrad", "X", "--out", "O"], "no masks in CTs"),
        (["chat", "mmrad", "X", "--out", "O", "--dicom", "D"], "reads no DICOM"),
    ],
)
def test_bad_words_give_one_sentence(words: list[str], sentence: str, tmp_path: Path) -> None:
    """Whatever cannot be asked is told in one sentence, and nothing is written."""
    words = [str(tmp_path / word) if word in ("X", "O") else word for word in words]
    with pytest.raises(UsageError, match=sentence):
        CliRunner().invoke(app, words, catch_exceptions=False)
    assert not list(tmp_path.iterdir())


def test_the_same_again_refuses(sketch: Path, tmp_path: Path) -> None:
    """A folder with something in it is not touched; an empty one will do."""
    root, out = sketch / "mmrad", tmp_path / "out"
    out.mkdir()
    export_release("chat", "mmrad", root, out)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with pytest.raises(UsageError, match="already exists"):
        export_release("chat", "mmrad", root, out)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_stopped_export_leaves_nothing_and_begins_anew(
    sketch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped halfway there is no folder; leftovers of a kill do not get into the next one."""
    root, out = sketch / "mmrad", tmp_path / "out"

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(chat, "write_files", stopped)
        with pytest.raises(KeyboardInterrupt):
            export_release("chat", "mmrad", root, out)
    assert not list(tmp_path.iterdir())
    left = tmp_path / ".out.unfinished" / "out"  # as a kill leaves it
    left.mkdir(parents=True)
    (left / "stale.jsonl").write_text("{}")
    export_release("chat", "mmrad", root, out)
    assert not (out / "stale.jsonl").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_two_at_once_do_not_mix(tmp_path: Path) -> None:
    """While one writes, another for the same place is refused and takes nothing away."""
    with staging_folder(tmp_path / "out") as part:
        (part / "mine").write_text("1")
        with pytest.raises(UsageError, match="just now"), staging_folder(tmp_path / "out"):
            pass
        assert (part / "mine").exists()
    assert (tmp_path / "out/mine").read_text() == "1"
    handle = os.open(tmp_path / "out", os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # nothing stays locked
    finally:
        os.close(handle)


def test_a_broken_row_is_named_and_the_rest_goes_on(copy: Callable[[str], Path], tmp_path: Path) -> None:
    """A row that is no case and a picture that is none are left out, each with its reason."""
    root = copy("medthinkvqa")
    rows = read_rows(root / "train.jsonl")
    write_rows(root / "train.jsonl", [{"options": 3}, *rows])
    (root / rows[0]["image_01_path"]).write_bytes(b"no picture")
    done = export_release("parquet", "medthinkvqa", root, tmp_path / "out", split="train")
    assert set(done.left_out) == {"train row 1", "train case00001"}
    assert done.cases == {"train": 1}
    assert done.as_json()["ok"] is False


def test_nothing_to_write_is_an_error(copy: Callable[[str], Path], tmp_path: Path) -> None:
    """Where no case can be written there is a sentence with the first reason, and no folder."""
    root = copy("medthinkvqa")
    for picture in root.rglob("*.jpg"):
        picture.unlink()
    with pytest.raises(OverreadError, match=r"none of the 4 case\(s\).*image-1"):
        export_release("chat", "medthinkvqa", root, tmp_path / "out")
    assert not (tmp_path / "out").exists()
