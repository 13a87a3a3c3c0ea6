"""`overread read-text` as a person types it."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from overread.cli.main import main
from overread.language.labels import CHEXPERT, CTRATE
from overread.language.vocabulary import use_vocabulary
from overread.ontology import finding_tree

REPORT = (
    "Findings: A 5 x 4 mm nodule in the right upper lobe. No pleural effusion. Possible pneumonia.\n"
    "Mild emphysema, unchanged. History of rib fractures.\n"
)


@pytest.fixture(autouse=True)
def _ours() -> Iterator[None]:
    """No test leaves its words behind."""
    yield
    use_vocabulary(None)


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """A report in a file."""
    path = tmp_path / "report.txt"
    path.write_text(REPORT, "utf-8")
    return path


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of `overread read-text …` in this process."""
    with pytest.raises(SystemExit) as left:
        main(["read-text", *map(str, words)])
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    assert "bug" not in err
    return int(left.value.code or 0), out, err


def table(path: Path, rows: list[list[str]], **how: str) -> Path:
    """A CSV file."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, **how).writerows(rows)  # type: ignore[arg-type]
    return path


def rows_of(path: Path) -> list[list[str]]:
    """What was written."""
    return list(csv.reader(io.StringIO(path.read_text("utf-8"))))


def test_marks_and_table(capsys: pytest.CaptureFixture[str], report: Path) -> None:
    """The text with signs that need no colour, and a line for each statement."""
    code, out, err = run(capsys, report)
    assert (code, err) == (0, "")
    for mark in ("[+nodule]", "No [-pleural effusion]", "Possible [?pneumonia]", "[<rib fractures]"):
        assert mark in out
    lines = {line.split("  ")[0]: line for line in out.splitlines()}
    assert "5 × 4 mm" in lines["nodule"]
    assert "RUL" in lines["nodule"]
    assert "absent" in lines["pleural effusion"]
    assert "stable" in lines["emphysema"]
    assert "\x1b" not in out


def test_json(capsys: pytest.CaptureFixture[str], report: Path) -> None:
    """One document; every span points into the text."""
    code, out, err = run(capsys, report, "--json")
    told = json.loads(out)
    assert (code, err, told["characters"]) == (0, "", len(REPORT))
    first = told["statements"][0]
    assert (first["observation"], first["presence"], first["side"]) == ("nodule", "present", "right")
    for one in told["statements"]:
        assert REPORT[one["span"]["start"] : one["span"]["end"]] == one["text"]


def test_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """'-' reads it; what is no UTF-8 is read with a warning, never refused."""
    data = "Small effusion at the left base \xe4.".encode("latin-1")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    code, out, err = run(capsys, "-")
    assert (code, "[+effusion]" in out) == (0, True)
    assert "1 byte(s) of standard input are not UTF-8" in err


def test_colours_on_a_terminal(report: Path) -> None:
    """A real terminal gets colours, and the same signs."""
    master, slave = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "overread", "read-text", str(report)],
        stdout=slave,
        stderr=subprocess.PIPE,
        env={k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}
        | {"TERM": "xterm-256color", "COLUMNS": "160"},
        check=False,
    )
    os.close(slave)
    out = os.read(master, 100_000).decode()
    os.close(master)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "\x1b[1;31m[+nodule]" in out
    assert "\x1b[32m[-pleural effusion]" in out


def test_text_is_not_obeyed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Markup and control characters of a text reach no terminal."""
    path = tmp_path / "text"
    path.write_text("[red]A nodule[/] \x1b[31m \x00 [link=http://x]y[/link].", "utf-8")
    code, out, _ = run(capsys, path)
    assert code == 0
    assert "[red]A [+nodule][/]" in out
    assert "\x1b" not in out
    assert "\x00" not in out


def test_nothing_stated(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A text without findings is no error; one without words is."""
    path = tmp_path / "text"
    path.write_text("Good morning.")
    code, out, _ = run(capsys, path)
    assert (code, "nothing that is in the vocabulary" in out) == (0, True)
    path.write_text(" \n\t")
    code, out, err = run(capsys, path)
    assert (code, out) == (1, "")
    assert err == f"overread: there is no text (in {path}): give one with words\n"


def test_own_vocabulary(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Terms of one's own are read too; a file that is none is said to be none."""
    path, terms = tmp_path / "text", tmp_path / "terms.toml"
    path.write_text("A flurblump is seen.")
    terms.write_text('[[observation]]\nname = "nodule"\ncategory = "2d"\nterms = ["flurblump"]\n')
    assert "nothing" in run(capsys, path)[1]
    assert "[+flurblump]" in run(capsys, path, "--vocabulary", terms)[1]
    terms.write_text("[[observation]")
    assert run(capsys, path, "--vocabulary", terms)[0] == 2
    assert run(capsys, path, "--vocabulary", tmp_path / "none")[0] == 2


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["{}/none.txt"], 2, "there is no such file"),
        (["{}"], 2, "this is a folder"),
        (["a\x00b"], 2, "this cannot be a path"),
        ([], 2, "name a file, '-' or --csv FILE"),
        (["{}/report.txt", "--out", "x"], 2, "give the table with --csv FILE"),
        (["{}/report.txt", "--csv", "{}/report.txt"], 2, "leave out FILE or --csv"),
        (["--csv", "{}/none.csv", "--column", "text", "--id", "id", "--out", "{}/o"], 2, "there is no such file"),
        (["--csv", "{}", "--column", "text", "--id", "id", "--out", "{}/o"], 2, "this is a folder"),
        (["--csv", "{}/report.txt", "--column", "text", "--out", "{}/o"], 2, "--id is missing"),
        (["--csv", "{}/report.txt"], 2, "--column is missing"),
    ],
)  # fmt: skip
def test_bad_arguments(
    capsys: pytest.CaptureFixture[str], report: Path, words: list[str], code: int, told: str
) -> None:
    """One sentence each, and what to do."""
    found, out, err = run(capsys, *(word.format(report.parent) for word in words))
    assert (found, out) == (code, "")
    assert told in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("labels", "names"),
    [("ctrate", CTRATE), ("chexpert", CHEXPERT), ("rexgroundingct", tuple(finding_tree().categories))],
)
def test_label_a_table(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, labels: str, names: tuple[str, ...]
) -> None:
    """One row for one row: the id under its own name, then every label under its own."""
    texts = ["A nodule in the lung.", "No nodule.\nPleural effusion, cardiomegaly.", "Good morning."]
    rows = [["Accession No", "report"], *([f"r{n}", text] for n, text in enumerate(texts))]
    source, out = table(tmp_path / "in.csv", rows), tmp_path / "deep" / "out.csv"
    words = ("--csv", source, "--column", "report", "--id", "Accession No", "--labels", labels)
    code, told, err = run(capsys, *words, "--out", out)
    assert (code, err) == (0, "")
    assert "3 report(s)" in told
    header, *written = rows_of(out)
    assert header == ["Accession No", *names]
    assert [row[0] for row in written] == ["r0", "r1", "r2"]
    marks = [{name for name, mark in zip(names, row[1:], strict=True) if mark == "1"} for row in written]
    assert (
        marks
        == {
            "ctrate": [{"Lung nodule"}, {"Pleural effusion", "Cardiomegaly"}, set()],
            "chexpert": [{"Lung Lesion"}, {"Pleural Effusion", "Cardiomegaly"}, {"No Finding"}],
            "rexgroundingct": [{"2d"}, {"2e", "8d"}, set()],
        }[labels]
    )
    assert all(mark in "01" for row in written for mark in row[1:])
    before = out.read_bytes()
    code, _, err = run(capsys, *words, "--out", out)
    assert (code, "already exists" in err) == (2, True)
    assert out.read_bytes() == before


def test_odd_rows_are_kept_and_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Ids that are missing or come twice, rows too short or too long, no text: all stay, in order."""
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_bytes(
        b"\xef\xbb\xbfid,text,more\r\n"
        b"a,Emphysema.,x\r\n"
        b"\r\n"
        b"a,No emphysema.,x\r\n"
        b",Emphysema.,x\r\n"
        b"b\r\n"
        b"c,Emphysema, and a nodule.,x\r\n"
        b'd,"A ""nodule"" \xff and \x00.",x\r\n'
    )
    code, told, err = run(capsys, "--csv", source, "--column", "text", "--id", "id", "--out", out, "--json")
    summary = json.loads(told)
    assert (code, summary["reports"]) == (0, 6)
    assert [row[0] for row in rows_of(out)] == ["id", "a", "a", "", "b", "c", "d"]
    assert summary["positive"]["Emphysema"] == 3
    assert summary["positive"]["Lung nodule"] == 1
    assert len(summary["notes"]) == 5
    for note in ("not UTF-8", "stood there before", "no id", "no text", "fewer fields", "more fields"):
        assert note in err


@pytest.mark.parametrize(
    ("data", "column", "code", "told"),
    [
        (b"id,report\n1,x\n", "reprt", 2, "did you mean 'report'?"),
        (b"id,report\n1,x\n", "qqqqqq", 2, "there are id, report"),
        (b"id,report,report\n1,x,y\n", "report", 2, "2 columns are called 'report'"),
        (b"", "report", 1, "the table is empty"),
        (b'id,report\n1,"never closed\n2,x\n', "report", 1, "this is not CSV"),
        (b'id,report\n1,"closed" too early\n', "report", 1, "put texts in quotes"),
    ],
)
def test_bad_tables(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, data: bytes, column: str, code: int, told: str
) -> None:
    """One sentence, and nothing is written."""
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_bytes(data)
    found, _, err = run(capsys, "--csv", source, "--column", column, "--id", "id", "--out", out)
    assert found == code
    assert told in err
    assert list(tmp_path.iterdir()) == [source]


def test_unknown_labels_and_an_id_like_a_label(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The nearest name is offered; two columns of one name are not written."""
    source = table(tmp_path / "in.csv", [["Emphysema", "text"], ["1", "x"]])
    words = ("--csv", source, "--column", "text", "--id", "Emphysema", "--out", tmp_path / "o")
    code, _, err = run(capsys, *words, "--labels", "chexprt")
    assert (code, "did you mean 'chexpert'?" in err) == (2, True)
    code, _, err = run(capsys, *words)
    assert (code, "called like a label" in err) == (2, True)


def test_other_tables(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Semicolons, tabs, UTF-16, fields larger than the csv module likes, packed output."""
    long = "Good morning. " * 20_000 + "A nodule in the lung."
    rows = [["id", "text"], ["1", long], ["2", "No nodule; no effusion.\tNo mass."]]
    kinds = [(",", "utf-8"), (";", "utf-8"), ("\t", "utf-8"), (",", "utf-16")]
    for number, (sign, code) in enumerate(kinds):
        source, out = tmp_path / f"{number}.csv", tmp_path / f"{number}.out"
        with source.open("w", encoding=code, newline="") as stream:
            csv.writer(stream, delimiter=sign).writerows(rows)
        limit = csv.field_size_limit()
        done, _, err = run(capsys, "--csv", source, "--column", "text", "--id", "id", "--out", out)
        assert (done, err) == (0, "")
        assert csv.field_size_limit() == limit
        written = [dict(zip(rows_of(out)[0], row, strict=True)) for row in rows_of(out)[1:]]
        assert [row["Lung nodule"] for row in written] == ["1", "0"]
    packed = tmp_path / "out.csv.gz"
    assert run(capsys, "--csv", tmp_path / "0.csv", "--column", "text", "--id", "id", "--out", packed)[0] == 0
    assert packed.read_bytes()[:2] == b"\x1f\x8b"


def test_header_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A table without rows gives one without rows, and a warning."""
    source, out = table(tmp_path / "in.csv", [["id", "text"]]), tmp_path / "out.csv"
    code, _, err = run(capsys, "--csv", source, "--column", "text", "--id", "id", "--out", out)
    assert (code, "has a header and no rows" in err) == (0, True)
    assert len(rows_of(out)) == 1


def test_a_table_that_is_whole_is_refused_and_what_a_kill_left_beside_it_goes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A kill behind the end of the work leaves a second name of the table."""
    table, out, left = tmp_path / "in.csv", tmp_path / "out.csv", tmp_path / f".{'0a' * 16}.part"
    table.write_text("id,report\n1,A nodule.\n", "utf-8")
    words = ["read-text", "--csv", str(table), "--column", "report", "--id", "id", "--out", str(out)]
    with pytest.raises(SystemExit):
        main(words)
    os.link(out, left)
    with pytest.raises(SystemExit):
        main(words)
    assert "already exists" in capsys.readouterr().err
    assert not left.exists()
