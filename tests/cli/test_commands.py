"""The commands as a person types them: real processes, their words and their exit codes."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from overread import catalog
from overread.cli import main as command
from overread.cli.doctor import find_requirements
from overread.errors import PictureError
from overread.pixels.image_files import read_image
from tests.cli.overread_command import run
from tests.jsonl_rows import read_rows, write_rows

Copy = Callable[[str], Path]


@pytest.mark.parametrize("benchmark", ["medthinkvqa", "rexgroundingct", "mmrad"])
def test_check_of_an_intact_release(sketch: Path, benchmark: str) -> None:
    """Exit 0, in words and in JSON, for one split and for all."""
    code, out, _ = run("check", benchmark, sketch / benchmark)
    assert code == 0
    assert "is intact: 0 error(s), 0 warning(s)" in out
    code, out, err = run("check", benchmark, sketch / benchmark, "--split", "all", "--json")
    told = json.loads(out)
    assert (code, err, told["ok"], told["defects"]) == (0, "", True, [])
    assert set(told["splits"]) == {"train", "test"}


def test_check_names_defects_in_words_and_json(copy: Copy) -> None:
    """File, row, field, expected and found; errors exit 1, warnings alone exit 0."""
    root = copy("medthinkvqa")
    rows = read_rows(root / "test.jsonl")
    rows[1]["image_count"] = 9
    write_rows(root / "test.jsonl", rows)
    code, out, _ = run("check", "medthinkvqa", root)
    assert code == 1
    for word in ("count-mismatch", "test.jsonl, row 2", "image_count", "9", "has errors: 1"):
        assert word in out
    code, out, _ = run("check", "medthinkvqa", root, "--json")
    (defect,) = json.loads(out)["defects"]
    assert code == 1
    assert defect == {
        "severity": "error",
        "code": "count-mismatch",
        "file": "test.jsonl",
        "row": 2,
        "case": "case00004",
        "field": "image_count",
        "expected": "3, the number of filled slots",
        "found": "9",
    }
    rows[1]["image_count"] = 3
    rows[1]["image_01_sub_modality"] = "[red]Tea[/red] leaves"
    write_rows(root / "test.jsonl", rows)
    code, out, _ = run("check", "medthinkvqa", root)
    assert code == 0
    assert "[red]Tea[/red] leaves" in out  # what stands in a file is never taken as markup


def test_check_compares_files_with_the_checksums_of_the_release(copy: Copy) -> None:
    """A picture that was altered after publishing is an error; --no-pixels does not look."""
    root = copy("medthinkvqa")
    assert run("publish", "medthinkvqa", root)[0] == 0
    assert run("check", "medthinkvqa", root)[0] == 0
    picture = next(path for path in sorted(root.rglob("*")) if path.suffix in (".jpg", ".png"))
    picture.write_bytes(picture.read_bytes() + b"\0")
    code, out, _ = run("check", "medthinkvqa", root, "--json")
    (defect,) = json.loads(out)["defects"]
    assert (code, defect["code"]) == (1, "changed-file")
    assert defect["file"] == picture.relative_to(root).as_posix()
    assert run("check", "medthinkvqa", root, "--no-pixels")[0] == 0


def test_check_of_many_defects_stays_readable(copy: Copy) -> None:
    """A long list is cut with the way to see the rest; the counts are whole."""
    root = copy("medthinkvqa")
    rows = read_rows(root / "test.jsonl")[:1] * 300
    write_rows(root / "test.jsonl", rows)
    code, out, _ = run("check", "medthinkvqa", root, "--limit", "5")
    assert code == 1
    assert "294 more" in out
    assert "299  duplicate-id" in out


def test_a_progress_bar_is_shown_to_people_only(sketch: Path) -> None:
    """On a terminal there is a bar; in a pipe there is none."""
    words = [sys.executable, "-m", "overread", "check", "rexgroundingct"]
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*words, str(sketch / "rexgroundingct")], stderr=theirs, stdout=subprocess.DEVNULL
    ) as process:
        os.close(theirs)
        seen = b""
        # A terminal that nobody reads is full soon, and whoever writes to it waits for ever.
        with contextlib.suppress(OSError):
            while chunk := os.read(ours, 4096):
                seen += chunk
    os.close(ours)
    assert process.returncode == 0
    assert b"checking rexgroundingct test" in seen
    assert run("check", "rexgroundingct", sketch / "rexgroundingct")[2] == ""


@pytest.mark.parametrize("benchmark", ["medthinkvqa", "rexgroundingct", "mmrad"])
def test_show_hides_the_truth_until_asked(sketch: Path, tmp_path: Path, benchmark: str) -> None:
    """Without --truth neither words nor JSON nor pictures have it; with --truth all do."""
    root = sketch / benchmark
    code, blind, _ = run("show", benchmark, root, "#1", "--save", tmp_path / "blind")
    assert code == 0
    _, told, _ = run("show", benchmark, root, "#1", "--truth", "--save", tmp_path / "told")
    hidden = {"medthinkvqa": "Parapneumonic effusion is", "rexgroundingct": "1 entity"}
    secret = hidden.get(benchmark, "Normal heart size.")
    assert secret not in blind
    assert secret in told
    as_json = json.loads(run("show", benchmark, root, "#1", "--json")[1])
    assert "truth" not in as_json
    assert secret not in json.dumps(as_json)
    assert json.loads(run("show", benchmark, root, "#1", "--json", "--truth")[1])["truth"]
    pictures = [sorted((tmp_path / name).iterdir()) for name in ("blind", "told")]
    differ = [
        (read_image(a).shape != read_image(b).shape) or (read_image(a) != read_image(b)).any()
        for a, b in zip(*pictures, strict=True)
    ]
    assert any(differ) == (benchmark != "medthinkvqa")


def test_show_of_a_withheld_truth(copy: Copy) -> None:
    """Where there is none, --truth says so."""
    root = copy("mmrad")
    rows = [{"prompt": row["prompt"], "images": row["images"][:1]} for row in read_rows(root / "test.jsonl")]
    write_rows(root / "test.jsonl", rows)
    assert "withheld" in run("show", "mmrad", root, "#1", "--truth")[1]


def test_list_in_words_and_json() -> None:
    """Every kind is listed; regions are 35, categories 62; the user's regions replace ours."""
    code, out, _ = run("list")
    assert code == 0
    kinds = json.loads(run("list", "--json")[1])
    assert {line.split()[0] for line in out.splitlines()} == set(kinds)
    assert len(kinds["regions"]) == 35
    assert len(kinds["categories"]) == 62
    assert [row["name"] for row in kinds["benchmarks"]] == ["medthinkvqa", "rexgroundingct", "mmrad"]
    assert "pulmonary nodules or masses" in run("list", "categories")[1]
    assert json.loads(run("list", "regions", "--json")[1]) == kinds["regions"]


@pytest.mark.parametrize("kind", ["readers", "workflows", "judges", "prompts"])
def test_parts_are_listed_with_a_line_on_each(kind: str) -> None:
    """Every reader, workflow, judge and prompt says what it is, each in words of its own."""
    rows = json.loads(run("list", kind, "--json")[1])
    told = [row["about"] for row in rows]
    assert rows
    assert len(set(told)) == len(told)
    assert all(len(line) > 10 and "\n" not in line for line in told)
    assert rows[0]["name"] in run("list", kind)[1]


def test_regions_of_ones_own(sketch: Path, tmp_path: Path) -> None:
    """A file of the user's is listed, and checked against."""
    file = tmp_path / "mine.toml"
    file.write_text('title="t"\nsource="s"\n[[group]]\nname="lung region"\nsingle=["thorax"]\n')
    assert "thorax" in run("list", "regions", "--regions", file)[1]
    code, out, _ = run("check", "mmrad", sketch / "mmrad", "--regions", file)
    assert code == 0
    assert "unknown-region" in out


def test_doctor_says_what_is_there() -> None:
    """Everything needed is found here; optional parts are named with how to get them."""
    code, out, _ = run("doctor")
    assert code == 0
    assert "has all it needs" in out
    told = json.loads(run("doctor", "--json")[1])
    assert told["ok"]
    assert {"python", "pydicom", "torch"} <= {part["name"] for part in told["parts"]}


def test_doctor_lists_the_weights_of_each_metric(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every metric that asks a model, where its weights are looked for; what is there is found."""
    monkeypatch.setenv("OVERREAD_MODELS", str(tmp_path))
    (tmp_path / "chexbert").mkdir()
    for name in ("chexbert.pth", "vocab.txt"):
        (tmp_path / "chexbert" / name).touch()
    told = {own["model"]: own for own in json.loads(run("doctor", "--json")[1])["weights"]}
    assert told["CheXbert"]["lacking"] is None
    assert told["GREEN"]["folder"] == str(tmp_path / "green")
    assert "prompt.txt" in told["GREEN"]["lacking"]
    named = {metric for own in told.values() for metric in own["metrics"]}
    assert named == set(catalog.metric_names(["clinical.model_scores"]))
    out = run("doctor")[1]
    assert "radcliq_v1" in out
    assert "OVERREAD_MODELS names another folder" in " ".join(out.split())


def test_doctor_looks_for_what_the_package_declares(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each dependency and extra has its line and its purpose; one more of them is looked for too."""
    assert all(part.purpose for part in find_requirements())
    declared = ["numpy>=2.0", "nowhere-to-be-had>=3,<4", "missing[all]; extra == 'dev'"]
    monkeypatch.setattr("importlib.metadata.requires", lambda name: declared)
    parts = {part.name: part for part in find_requirements()}
    assert parts["numpy"].found
    assert (parts["nowhere-to-be-had"].found, parts["nowhere-to-be-had"].needed) == (None, True)
    assert parts["nowhere-to-be-had"].remedy == "pip install 'nowhere-to-be-had>=3,<4'"
    assert not {"missing", "torch"} & parts.keys()


def test_write_brings_a_copy_out_again(sketch: Path, tmp_path: Path) -> None:
    """All splits, another form; what comes out is intact, comes out again, and replaces nothing else."""
    words = ("write", "medthinkvqa", sketch / "medthinkvqa", tmp_path / "out", "--split", "all")
    code, out, _ = run(*words, "--to", "parquet-embedded")
    assert code == 0
    assert out.count("wrote") == 2
    assert run("check", "medthinkvqa", tmp_path / "out", "--split", "all")[0] == 0
    assert run(*words, "--to", "parquet-embedded")[0] == 0
    (tmp_path / "out" / "test.parquet").write_bytes(b"mine")
    code, _, err = run(*words, "--to", "parquet-embedded")
    assert code == 2
    assert "already" in err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["check", "medthink", "."], 2, "did you mean 'medthinkvqa'?"),
        (["check", "mmrad", "nowhere"], 2, "does not exist"),
        (["check", "mmrad", ".", "--split", "dev"], 2, "has no split 'dev'"),
        (["write", "mmrad", ".", "o", "--split", "all"], 1, "is this the folder of the release?"),
        (["show", "mmrad", ".", "x"], 1, "has no split 'test'"),
        (["list", "regoins"], 2, "did you mean 'regions'?"),
        (["list", "regions", "--regions", "none.toml"], 2, "no such vocabulary file"),
        (["chek"], 2, "check"),
        (["get", "mmrad", "--yes"], 1, "GEMeX-ThinkVG"),
        (["get", "medthinkvqa"], 1, "add --yes"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(tmp_path: Path, words: list[str], code: int, said: str) -> None:
    """No traceback: what, where, and what to do instead, with the exit code that says whose fault."""
    got, out, err = run(*words, cwd=tmp_path)
    assert got == code
    assert said in err
    if words[0] not in ("chek", "get"):
        assert err.startswith("overread: ")
        assert err.count("\n") == 1
        assert out == ""


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    """--debug, anywhere on the line, shows what lies behind the sentence."""
    done = subprocess.run(
        [sys.executable, "-m", "overread", "show", "mmrad", str(tmp_path), "x", "--debug"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "overread: the release has no split" in done.stderr


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ZeroDivisionError("x"), 70, "this is a bug in overread (ZeroDivisionError: x)"),
        (KeyboardInterrupt(), 130, "stopped"),
        (MemoryError(), 1, "out of memory"),
        (PermissionError(13, "Permission denied", "a/b"), 1, "Permission denied (in a/b)"),
        (PictureError("broken", where="x.png"), 1, "broken (in x.png)"),
    ],
)
def test_whatever_happens_is_told(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    said: str,
) -> None:
    """Bugs, Ctrl-C, memory and the file system each have their sentence and exit code."""

    def broken(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(command, "app", broken)
    with pytest.raises(SystemExit) as left:
        command.main(["list"])
    assert left.value.code == code
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("words", ["list --json", "list defects", "check medthinkvqa {root}"])
def test_a_pipe_that_closes_is_no_error(sketch: Path, words: str) -> None:
    """`overread … | head -c 1` ends quietly, and not with the code of a broken release."""
    command_line = words.format(root=sketch / "medthinkvqa")
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m overread {command_line} | head -c 0; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("how", ["", "--json"])
def test_a_closed_pipe_hides_no_errors(copy: Copy, how: str) -> None:
    """A broken release exits 1, whether or not anybody reads on."""
    root = copy("medthinkvqa")
    write_rows(root / "test.jsonl", read_rows(root / "test.jsonl")[:1] * 500)
    line = f"{sys.executable} -m overread check medthinkvqa {root} {how} --limit 5000 | head -c 0"
    done = subprocess.run(
        ["bash", "-c", line + "; exit ${PIPESTATUS[0]}"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, "")


def test_terminals_of_other_encodings_get_a_question_mark() -> None:
    """A letter that the terminal has not is no error; neither is a closed stdout."""
    code, out, err = run("list", "benchmarks", PYTHONIOENCODING="latin-1")
    assert (code, err) == (0, "")
    assert "several images" in out
    done = subprocess.run(["bash", "-c", f"{sys.executable} -m overread doctor >&-"], check=False)
    assert done.returncode == 0


def test_control_characters_do_not_reach_the_terminal(copy: Copy) -> None:
    """An escape sequence in a history is shown as what it is: not a letter."""
    root = copy("medthinkvqa")
    rows = read_rows(root / "test.jsonl")
    rows[0]["CLINICAL_HISTORY"] = "A \x1b]0;evil\x07 history"
    rows[0]["correct_answer"] = "\x1b[31mF"
    write_rows(root / "test.jsonl", rows)
    for words in (("show", "medthinkvqa", root, "#1"), ("check", "medthinkvqa", root)):
        assert "\x1b" not in run(*words)[1]


def test_a_title_that_tells_is_no_id(copy: Copy) -> None:
    """Where pictures have no folder and the title is the diagnosis, the id gives nothing away."""
    root = copy("medthinkvqa")
    rows = read_rows(root / "test.jsonl")
    for number, row in enumerate(rows):
        row["title"] = f"Parapneumonic effusion{'!' * number} 1"
        for column in [name for name in row if name.endswith("_path")]:
            row[column] = "parapneumonic.jpg"
    write_rows(root / "test.jsonl", rows)
    for words in (("--json",), ()):
        out = run("show", "medthinkvqa", root, "#1", *words)[1]
        assert out
        assert "parapneumonic.jpg" not in out
        assert "Parapneumonic-effusion" not in out
    assert "duplicate-id" not in run("check", "medthinkvqa", root)[1]


def test_look_at_any_picture(sketch: Path, tmp_path: Path) -> None:
    """A volume, a film and a folder of slices: size, place, what is wrong; saved as PNG."""
    from pydicom.data import get_testdata_file

    scan = sketch / "rexgroundingct" / "images" / "test_3_a_1.nii.gz"
    code, out, _ = run("look", scan, "--save", tmp_path / "scan.png", "--window", "lung")
    assert code == 0
    assert "96×72×64" in out
    assert "stored LPS" in out
    assert read_image(tmp_path / "scan.png").ndim == 3
    film = next((sketch / "mmrad").rglob("problem_image_1.jpg"))
    assert json.loads(run("look", film, "--json")[1])["shape"] == [336, 336]
    small = get_testdata_file("CT_small.dcm")
    assert isinstance(small, str)
    (tmp_path / "series").mkdir()
    (tmp_path / "series" / "a.dcm").write_bytes(Path(small).read_bytes())
    (tmp_path / "series" / "notes.txt").write_text("no slice")
    told = json.loads(run("look", tmp_path / "series", "--json")[1])
    assert told["shape"] == [128, 128, 1]
    assert [defect["code"] for defect in told["defects"]] == ["foreign-file"]
    code, _, err = run("look", tmp_path / "none")
    assert (code, "no such file" in err) == (1, True)
    os.mkfifo(tmp_path / "pipe")
    assert run("look", tmp_path / "pipe")[0] == 1
    assert run("look", film, "--window", "bogus")[0] == 2
    assert run("look", film, "--save", film)[0] == 2
    assert read_image(film).shape == (336, 336)
