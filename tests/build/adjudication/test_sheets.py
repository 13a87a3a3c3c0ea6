"""Verdicts as CSV and JSONL: there and back, and files that must not come in."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.build.adjudication import Queue, export_verdicts, final_verdicts, import_verdicts, verify_log
from overread.build.adjudication.verdict_sheets import COLUMNS, escape_formula, unescape_formula
from overread.errors import OverreadError
from tests.build.adjudication.sample_questions import question, queue_of

QUESTIONS = [
    question(0),
    question(1, shown={"report": '=HYPERLINK("x")', "long": "word " * 20_000}),
    question(2, "leak", id="=item2;leak,|", text="+Does it\ngive it away?", choices=("leak", "none")),
]
FORMATS = ("csv", "jsonl")
HEADER = "question,person,verdict\n"


def filled(folder: Path) -> Queue:
    """A queue with verdicts that are hard to write down."""
    folder.mkdir(exist_ok=True)
    queue = queue_of(folder, QUESTIONS)
    queue.submit("Ann", QUESTIONS[0].id, "accept", reasons=["wrong-side", "other"], note="=1+1")
    queue.submit("bob", QUESTIONS[2].id, "leak", note='a "b", c;\n\td \'e ü \u2028 \U0001f9e0')
    queue.submit("bob", QUESTIONS[0].id, "reject", corrected={"box": [1, 2.5, 3, 4], "was": "ü"})
    queue.submit("Ann", QUESTIONS[1].id, "accept", note="'-minus")
    queue.undo("Ann")
    queue.submit("cem", QUESTIONS[0].id, "cannot judge", corrected={"slices": [3, 4]})
    return queue


@pytest.mark.parametrize("ending", FORMATS)
def test_verdicts_go_out_and_come_back(tmp_path: Path, ending: str) -> None:
    """Exported and imported elsewhere, every verdict is the same, in the same order."""
    queue = filled(tmp_path / "here")
    file = tmp_path / f"verdicts.{ending}"
    assert export_verdicts(queue, file) == 4
    (tmp_path / "there").mkdir()
    other = queue_of(tmp_path / "there", QUESTIONS)
    found = import_verdicts(other, file)
    assert (found.new, found.known, found.empty) == (4, 0, 0)
    assert other.current_verdicts() == queue.current_verdicts()
    assert other.decisions() == queue.decisions() != {}
    assert verify_log(tmp_path / "there").lines == 1
    again = tmp_path / f"again.{ending}"
    export_verdicts(other, again)
    assert again.read_bytes() == file.read_bytes()
    found = import_verdicts(other, again)
    assert (found.new, found.known) == (0, 4)
    assert verify_log(tmp_path / "there").lines == 1


@pytest.mark.parametrize("ending", FORMATS)
def test_a_persons_sheet_is_blinded_and_can_be_filled_in(tmp_path: Path, ending: str) -> None:
    """A sheet has own verdicts and what is left, nothing of others; filled in it comes back."""
    queue = filled(tmp_path)
    file = tmp_path / f"ann.{ending}"
    assert export_verdicts(queue, file, person="ann") == 3
    text = file.read_text("utf-8-sig")
    assert "bob" not in text
    assert "cem" not in text
    rows: list[dict[str, Any]]
    if ending == "csv":
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
    else:
        rows = [json.loads(line) for line in text.splitlines()]
    assert [bool(row["verdict"]) for row in rows] == [True, False, False]
    assert len(rows[1]["shown"]) < 32_767 or ending == "jsonl"
    rows[1]["verdict"] = "accept"
    filled_in = tmp_path / f"filled.{ending}"
    if ending == "csv":
        with filled_in.open("w", encoding="utf-8", newline="") as out:
            sheet = csv.DictWriter(out, COLUMNS, delimiter=";")  # as in other countries
            sheet.writeheader()
            sheet.writerows(rows)
    else:
        filled_in.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    found = import_verdicts(queue, filled_in, person="Ann")
    assert (found.new, found.known, found.empty) == (1, 1, 1)
    assert [v.verdict for v in queue.current_verdicts() if v.question == QUESTIONS[1].id] == ["accept"]


def test_no_cell_of_an_export_is_a_formula(tmp_path: Path) -> None:
    """Ids, texts and notes that begin like formulas are written so that no spreadsheet obeys."""
    file = tmp_path / "x.csv"
    export_verdicts(filled(tmp_path), file)
    rows = list(csv.reader(io.StringIO(file.read_text("utf-8-sig"), newline="")))
    assert not [cell for row in rows for cell in row if cell[:1] in "=+-@\t\r" and cell]
    assert any(cell.startswith("'=1+1") for row in rows for cell in row)


@given(st.text(alphabet="'=+-@a\t", max_size=6))
@settings(max_examples=200, deadline=None)
def test_guarded_cells_come_back(text: str) -> None:
    """Whatever apostrophes and signs a text begins with, it comes back as it was."""
    assert unescape_formula(escape_formula(text)) == text
    assert escape_formula(text)[:1] not in set("=+-@\t")


GOOD = f"{QUESTIONS[0].id},dan,accept\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "there is no column 'question'; there is no column 'verdict'"),
        ("case,step,factual\nc1,1,1\n", "unknown columns: 'case', 'step', 'factual'"),
        ("question,verdict,verdict\n", "there are two columns 'verdict'"),
        (f"question,person,verdict,diagnosis\n{GOOD}", "unknown columns: 'diagnosis'"),
        (f"{HEADER}{GOOD}nothing,dan,accept\n", "x.csv, line 3): there are item0/verify-trace"),
        (f"{HEADER}{GOOD}item1/verify-trace,dan,maybe\n", "'maybe' is no verdict"),
        (f"{HEADER}{GOOD}item1/verify-trace,dan,=1+1\n", "the cell 'verdict' is a formula"),
        (f"{HEADER}{GOOD}item1/verify-trace,@SUM(A1),accept\n", "the cell 'person' is a formula"),
        (f"{HEADER}{GOOD}#NAME?,dan,accept\n", "the cell 'question' is a formula"),
        (f"{HEADER}{GOOD}item1/verify-trace,,accept\n", "the row does not name the person"),
        (f"{HEADER}{GOOD}{GOOD.replace('accept', 'reject')}", "dan has read question"),
        (f"{HEADER}{GOOD}a,b,c,d\n", "4 cells under 3 columns"),
        (f"{HEADER}{GOOD}\"open,dan,accept\n", "this is not CSV"),
        (f"{HEADER}{GOOD}a,\0b,c\n", "NUL"),
        (HEADER, "no line has a verdict"),
        (f"{HEADER}{QUESTIONS[0].id},dan,\n", "no line has a verdict"),
        (f"question,verdict,note,person\n{QUESTIONS[0].id},,but why,dan\n", "and no verdict"),
        (f"question,verdict,note,person\n{QUESTIONS[0].id},accept,=1+1,dan\n", "'note' is a formula"),
        (f"question,verdict,reasons,person\n{QUESTIONS[0].id},accept,bored,dan\n", "no reason of"),
        (f"question,verdict,corrected,person\n{QUESTIONS[0].id},accept,box,dan\n", "is no JSON"),
        (f"question,verdict,corrected,person\n{QUESTIONS[0].id},accept,[1],dan\n", "no JSON object"),
        (f"question,verdict,at,person\n{QUESTIONS[0].id},accept,1.2.26,dan\n", "is no time"),
        (f"question,verdict,asked,person\n{QUESTIONS[0].id},accept,abc,dan\n", "has changed since"),
        (f"question,verdict,corrected,person\n{QUESTIONS[0].id},accept,{'[' * 9000},dan\n", "is no JSON"),
    ],
)  # fmt: skip
def test_a_hostile_csv_is_told_and_nothing_of_it_comes_in(tmp_path: Path, text: str, words: str) -> None:
    """One sentence with the line, and the log is as it was: good lines before it too."""
    queue = filled(tmp_path)
    before = (tmp_path / "adjudication.jsonl").read_bytes()
    file = tmp_path / "x.csv"
    file.write_text(text, "utf-8")
    with pytest.raises(OverreadError) as caught:
        import_verdicts(queue, file)
    assert words in str(caught.value)
    assert (tmp_path / "adjudication.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("[]", "no JSON object"),
        ("{", "no JSON object"),
        ("[" * 100_000, "no JSON object"),
        ('{"question": "item0/verify-trace"}', "no column 'verdict'"),
        ('{"question": 7, "verdict": "accept", "person": "ann"}', "'question' is no text"),
        ('{"question": "a", "verdict": "b", "mine": 1}', "unknown columns: 'mine'"),
        ('{"question": "item0/verify-trace", "verdict": ["accept"], "person": "a"}', "'verdict'"),
        ('{"question": "item0/verify-trace", "verdict": "accept", "person": "a", "reasons": "b"}', "'reasons'"),
        ('{"question": "item0/verify-trace", "verdict": "accept", "person": "a", "reasons": [1]}', "'reasons'"),
        ('{"question": "item0/verify-trace", "verdict": "accept", "person": "a", "corrected": {"x": NaN}}', "no JSON"),
        ('{"question": "item0/verify-trace", "verdict": "accept", "person": "a", "note": "\\u0007"}', "control"),
        ('{"question": "item0/verify-trace", "verdict": "accept", "person": "a", "note": "\\ud800"}', "control"),
        ('{"question": "\\ud800", "verdict": "accept", "person": "a"}', "no question is called"),
    ],
)  # fmt: skip
def test_a_hostile_jsonl_is_told_and_nothing_of_it_comes_in(tmp_path: Path, line: str, words: str) -> None:
    """The same for lines of JSON."""
    queue = queue_of(tmp_path, QUESTIONS)
    file = tmp_path / "x.jsonl"
    good = json.dumps({"question": QUESTIONS[1].id, "verdict": "accept", "person": "ann"})
    file.write_text(f"{good}\n{line}\n", "utf-8")
    with pytest.raises(OverreadError) as caught:
        import_verdicts(queue, file)
    assert words in str(caught.value)
    assert "line 2" in str(caught.value)
    assert queue.current_verdicts() == []


def test_files_that_cannot_be_used_at_all(tmp_path: Path) -> None:
    """Another ending, another encoding, no file, a file that already exists."""
    queue = filled(tmp_path)
    (tmp_path / "x.csv").write_bytes("question;verdict\nä;accept".encode("latin-1"))
    for name, words in (
        ("x.csv", "line 2 holds byte 0xe4, which is not UTF-8"),
        ("y.csv", "cannot be read"),
        ("x.xlsx", "neither"),
    ):
        with pytest.raises(OverreadError, match=words):
            import_verdicts(queue, tmp_path / name)
    for name, words in (("x.csv", "already"), ("x.xlsx", "neither .csv nor .jsonl")):
        with pytest.raises(OverreadError, match=words):
            export_verdicts(queue, tmp_path / name)


def test_with_a_name_only_that_persons_verdicts_come_in(tmp_path: Path) -> None:
    """--as says whose verdicts they are; a line of somebody else is refused."""
    queue = queue_of(tmp_path, QUESTIONS)
    file = tmp_path / "x.csv"
    file.write_text(f"question,verdict\n{QUESTIONS[0].id},accept\n", "utf-8")
    assert import_verdicts(queue, file, person="ann").new == 1
    file.write_text(f"{HEADER}{QUESTIONS[1].id},bob,accept\n", "utf-8")
    with pytest.raises(OverreadError, match="a verdict of bob, not of ann"):
        import_verdicts(queue, file, person="ann")


def test_an_import_is_one_line_and_so_comes_whole_or_not_at_all(tmp_path: Path) -> None:
    """Cut anywhere by a kill, an import leaves nothing of itself."""
    queue = filled(tmp_path / "here")
    export_verdicts(queue, tmp_path / "x.jsonl")
    there = tmp_path / "there"
    there.mkdir()
    import_verdicts(queue_of(there, QUESTIONS), tmp_path / "x.jsonl")
    whole = (there / "adjudication.jsonl").read_bytes()
    for keep in range(0, len(whole) - 1, 50):
        (there / "adjudication.jsonl").write_bytes(whole[:keep])
        assert queue_of(there, QUESTIONS).current_verdicts() == []
        assert final_verdicts(there, QUESTIONS) == {}


def test_a_row_that_ends_before_its_verdict_has_none(tmp_path: Path) -> None:
    """Programs leave out empty cells at the end of a row; such a row is counted as empty."""
    queue = queue_of(tmp_path, QUESTIONS)
    file = tmp_path / "ann.csv"
    file.write_text(f"{HEADER}{QUESTIONS[0].id},ann\n{QUESTIONS[1].id},ann,accept\n", "utf-8")
    found = import_verdicts(queue, file)
    assert (found.new, found.empty) == (1, 1)
