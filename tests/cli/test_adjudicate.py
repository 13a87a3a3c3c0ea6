"""`overread adjudicate` as a person types it, through pipes and at a real terminal."""

from __future__ import annotations

import asyncio
import io
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import IO

import pytest

from overread.build.adjudication import Queue, final_verdicts, write_questions
from overread.build.adjudication.terminal_ui import TerminalSummary, run_terminal
from overread.build.adjudication.typed_lines import keys_for, parse_command, parse_correction, parse_verdict
from overread.errors import UsageError
from overread.readers.terminal import Terminal
from tests.build.adjudication.sample_questions import question, queue_of

COMMAND = """
from overread.cli.adjudicate import adjudicate
from overread.cli.main import app, main
if "adjudicate" not in {command.name for command in app.registered_commands}:
    app.command("adjudicate")(adjudicate)
main()
"""
QUESTIONS = [question(n) for n in range(3)]


def run(*words: str | Path, typed: str = "") -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of the command, with this typed into it, in this process."""
    from overread.cli.adjudicate import adjudicate
    from overread.cli.main import app, main

    if "adjudicate" not in {command.name for command in app.registered_commands}:
        app.command("adjudicate")(adjudicate)
    before, out, err = signal.getsignal(signal.SIGTERM), io.StringIO(), io.StringIO()
    with piped(typed) as source, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", source)
        patch.delenv("COLUMNS", raising=False)
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as left:
            main(["adjudicate", *map(str, words)])
    signal.signal(signal.SIGTERM, before)
    code = left.value.code
    assert code is None or isinstance(code, int)
    return code or 0, out.getvalue(), err.getvalue()


@contextmanager
def piped(typed: str) -> Iterator[IO[str]]:
    """A pipe into which this was typed."""
    back, front = os.pipe()
    os.write(front, typed.encode())
    os.close(front)
    with os.fdopen(back, "r") as source:
        yield source


def sat(
    queue: Queue, typed: str, person: str | None = "ann", kind: str | None = None
) -> tuple[TerminalSummary, str]:
    """What a person did who typed this, and what was on the screen."""
    screen = io.StringIO()
    with piped(typed) as source:
        found = asyncio.run(run_terminal(queue, Terminal(source, screen), person, kind=kind))
    return found, screen.getvalue()


def test_two_people_and_a_third_through_pipes(tmp_path: Path) -> None:
    """The whole way: read, undo, differ, a third, verify, agreement, export, import."""
    write_questions(tmp_path, QUESTIONS)
    code, out, err = run(tmp_path, "--as", "ann", typed="a\nr 1: too low\nu\na\nq\n")
    assert (code, out) == (0, "ann: 3 given, 1 taken back, 1 left\n")
    assert "Does trace 0 hold?" in err
    assert "a  accept" in err
    assert "u undo · s later · h help · q quit" in err
    code, out, err = run(tmp_path, "--json", typed="bob\na\nr\nc\n")
    assert json.loads(out) == {"person": "bob", "given": 3, "undone": 0, "left": 0, "notes": []}
    assert "No questions are left for you." in err
    assert "too low" not in err
    code, out, _ = run(tmp_path, "--as", "cem", "--kind", "verify-trace", typed="r\n")
    assert (code, out) == (0, "cem: 1 given, 1 left\n")
    assert final_verdicts(tmp_path) == {QUESTIONS[0].id: "accept", QUESTIONS[1].id: "reject"}

    code, out, _ = run(tmp_path, "--verify", "--json")
    checked = json.loads(out)
    assert (code, checked["intact"], checked["lines"]) == (0, True, 8)
    code, out, _ = run(tmp_path, "--agreement", "--draws", "50")
    assert code == 0
    assert "verify-trace: 2 questions read twice, 1 differ" in out
    code, out, _ = run(tmp_path, "--agreement", "--json", "--draws", "0")
    assert json.loads(out)[0]["share"]["value"] == 0.5
    code, out, _ = run(tmp_path, "--progress")
    assert "ann: 3 given, 0 left" not in out
    assert "bob: 3 given, 0 left" in out
    code, out, _ = run(tmp_path, "--progress", "--json")
    assert json.loads(out)["all"]["settled"] == 2

    code, out, _ = run(tmp_path, "--export", tmp_path / "all.csv")
    assert out.startswith("6 verdicts written to ")
    other = tmp_path / "other"
    other.mkdir()
    write_questions(other, QUESTIONS)
    code, out, _ = run(other, "--import", tmp_path / "all.csv")
    assert (code, out) == (0, "6 verdicts taken\n")
    assert final_verdicts(other) == final_verdicts(tmp_path)
    code, out, _ = run(other, "--import", tmp_path / "all.csv", "--json")
    assert json.loads(out) == {"new": 0, "known": 6, "empty": 0}


def test_a_broken_log_ends_with_1_and_names_the_line(tmp_path: Path) -> None:
    """--verify says where; nobody can read on."""
    write_questions(tmp_path, QUESTIONS)
    run(tmp_path, "--as", "ann", typed="a\na\na\n")
    head = json.loads(run(tmp_path, "--verify", "--json")[1])["head"]
    log = tmp_path / "adjudication.jsonl"
    whole = log.read_bytes()
    log.write_bytes(whole.replace(b"accept", b"reject", 1))
    code, out, _ = run(tmp_path, "--verify")
    assert code == 1
    assert "line 1 does not fit: its hash is not that of its words" in out
    code, _, err = run(tmp_path, "--as", "bob", typed="a\n")
    assert code == 1
    assert "is damaged from line 1 on" in err
    log.write_bytes(b"".join(whole.splitlines(keepends=True)[:2]))
    assert run(tmp_path, "--verify")[0] == 0
    assert run(tmp_path, "--verify", "--head", head)[0] == 1


def test_a_torn_line_is_told_at_the_end_of_the_sitting(tmp_path: Path) -> None:
    """Who reads on after a kill is told that a verdict was lost."""
    write_questions(tmp_path, QUESTIONS)
    run(tmp_path, "--as", "ann", typed="a\na\n")
    log = tmp_path / "adjudication.jsonl"
    log.write_bytes(log.read_bytes()[:-40])
    code, out, _ = run(tmp_path, "--verify")
    assert (code, "line 2 was cut off by a kill" in out) == (0, True)
    code, out, _ = run(tmp_path, "--as", "ann", typed="r\n")
    assert "note: line 2 was cut off by a kill; the verdict in it was lost" in out
    assert "ann: 1 given, 1 left" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--export", "x.csv", "--verify"), "--export and --verify were both given"),
        (("--head", "ab"), "--head goes with --verify"),
        (("--kind", "leek", "--as", "ann"), "did you mean 'leak'"),
        (("--as", "=ann"), "no name of a person"),
        (("--export", "x.txt"), "neither .csv nor .jsonl"),
        (("--import", "none.csv"), "cannot be read"),
    ],
)
def test_what_cannot_be_asked_is_told_in_one_sentence(
    tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    """No traceback, an exit code, and what to do."""
    write_questions(tmp_path, [question(0, "leak")])
    code, out, err = run(tmp_path, *words)
    assert code in (1, 2)
    assert out == ""
    assert message in err
    assert err.count("\n") == 1 or "--as" in words


def test_folders_without_questions(tmp_path: Path) -> None:
    """No folder, and a folder without questions, are told."""
    code, _, err = run(tmp_path / "none", "--as", "ann")
    assert (code, "there is no folder" in err) == (2, True)
    code, _, err = run(tmp_path, "--as", "ann")
    assert (code, "this folder has no adjudication questions" in err) == (1, True)
    code, _, err = run(tmp_path, typed="")
    assert code == 1


def test_at_a_real_terminal(tmp_path: Path) -> None:
    """With somebody at a terminal: the name is asked for, Ctrl-D leaves, the verdict is kept."""
    write_questions(tmp_path, QUESTIONS)
    main, seat = pty.openpty()
    words = [sys.executable, "-c", COMMAND, "adjudicate", str(tmp_path)]
    with subprocess.Popen(words, stdin=seat, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as done:
        os.close(seat)
        os.write(main, b"Ann B.\nr 2: too large\n\x04")
        out, err = done.communicate(timeout=300)
    os.close(main)
    assert done.returncode == 0
    assert out.decode() == "Ann B.: 1 given, 2 left\n"
    assert b"Type your name or initials" in err
    (given,) = Queue(tmp_path).current_verdicts()
    assert (given.person, given.verdict, given.reasons, given.note) == (
        "Ann B.", "reject", ("wrong-extent",), "too large",
    )  # fmt: skip


def test_corrections_go_with_the_verdict_and_not_with_the_next(tmp_path: Path) -> None:
    """A box and slices are noted, shown, cleared, and kept with the one verdict."""
    queue = queue_of(tmp_path, QUESTIONS)
    typed = ":box 9 9 1 1\n:box 1 2 30 40\n:slices 3-5 9\nr\n:box 1 1 2 2\n:clear\na\n:data {\nq\n"
    found, screen = sat(queue, typed)
    assert found == TerminalSummary("ann", 2, 0, 1)
    first, second = queue.current_verdicts()
    assert first.corrected == {"box": [1, 2, 30, 40], "slices": [3, 4, 5, 9]}
    assert second.corrected is None
    assert "[9, 9, 1, 1] is no box" in screen
    assert "':data {' corrects nothing" in screen


def test_undo_brings_the_question_back_and_skipped_ones_come_last(tmp_path: Path) -> None:
    """s puts a question off until the others are done; u shows the last one again."""
    queue = queue_of(tmp_path, QUESTIONS)
    found, screen = sat(queue, "u\ns\na\nu\nr\na\nc\n")
    assert "nothing to undo by ann" in screen
    assert "Only skipped questions are left; showing them again." in screen
    assert "Undone: accept, on item1. Showing it again." in screen
    assert found == TerminalSummary("ann", 4, 1, 0)
    assert [(one.item, one.verdict) for one in queue.current_verdicts()] == [
        ("item1", "reject"), ("item2", "accept"), ("item0", "cannot judge"),
    ]  # fmt: skip


def test_what_was_typed_wrong_costs_nothing(tmp_path: Path) -> None:
    """Unknown keys, reasons and commands are told, and the same question waits."""
    queue = queue_of(tmp_path, QUESTIONS[:1])
    found, screen = sat(queue, "\nz\nr 99\nr too low\n:nothing\nh\n:question\nr 13\nr 13: odd\n")
    assert found.given == 1
    assert screen.count("Not accepted: ") == 5
    assert screen.count("Does trace 0 hold?") == 2
    assert "wrong-side: left and right are exchanged" in screen


def test_the_screen_shows_everything_and_obeys_nothing(tmp_path: Path) -> None:
    """Nested data, long texts and control characters of a report are shown as text."""
    shown = {
        "report": "A mass.\n\x1b[31mred" + " word" * 100,
        "steps": [{"text": "look", "box": [1, 2, 3, 4]}, {"text": "say", "box": None}],
        "pictures": ["films/1.png"],
        "huge": "x" * 2_000_000,
        "none": {},
    }
    _, screen = sat(queue_of(tmp_path, [question(0, shown=shown)]), "q\n")
    assert "\x1b" not in screen
    for words in ("A mass.", "box: [1, 2, 3, 4]", "films/1.png", "1,980,000 more characters"):
        assert words in screen
    assert max(map(len, screen.splitlines())) <= 96
    assert len(screen) < 40_000


def test_the_person_must_be_somebody(tmp_path: Path) -> None:
    """A name that is none is asked for again; where nobody says it, that ends it."""
    queue = queue_of(tmp_path, QUESTIONS)
    found, screen = sat(queue, "  \n=x\nann\nq\n", None)
    assert found.person == "ann"
    assert screen.count("no name of a person") == 2
    with pytest.raises(UsageError, match="no name was given for the reader"):
        sat(queue, "", None)


def test_keys_are_unique_and_letters_of_options_are_their_own() -> None:
    """Every choice has its own key; options A to E keep theirs, and commands stay reachable."""
    options = ("A", "B", "C", "D", "E")
    assert keys_for(options) == {
        "a": "A", "b": "B", "c": "C", "d": "D", "e": "E", "?": "cannot judge",
    }  # fmt: skip
    assert parse_verdict("c: clear", options, {}).verdict == "C"
    assert parse_verdict("?", options, {}).verdict == "cannot judge"
    many = tuple(f"unsure squash {n}" for n in range(30))
    keys = keys_for(many)
    assert not {"u", "s", "h", "q"} & keys.keys()
    assert keys["c"] == "cannot judge"
    assert len(set(keys.values())) == len(keys)
    assert parse_verdict("unsure squash 29", many, {}).verdict == "unsure squash 29"
    assert parse_verdict("cannot judge: dark", many, {}).note == "dark"
    assert parse_command("s", ("S", "T")) is None
    assert parse_command(":later", ("S", "T")) == "later"
    assert parse_verdict("yes: 3 mm: too low", ("yes", "no"), {}).note == "3 mm: too low"
    assert parse_verdict("leak: yes 1", ("leak: yes", "leak: no"), {"why": ""}).reasons == ("why",)


@pytest.mark.parametrize("line", [":box", ":box a b c d", ":slices", ":slices 9-3", ":slices 1-9999999", ":data [1]", ":data " + "[" * 99_999, ":x"])  # fmt: skip
def test_what_corrects_nothing_is_refused(line: str) -> None:
    """A correction that cannot be read is told."""
    with pytest.raises(UsageError, match="corrects nothing"):
        parse_correction(line, {})
