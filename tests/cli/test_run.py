"""`overread run` as a process of its own: what it prints, its exit codes, and being stopped."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.runs.medthinkvqa_cases import write_cases
from tests.runs.processes import COMMAND, commanded, logged, served
from tests.timing import PATIENCE, wait_until


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A release of 30 cases."""
    return write_cases(tmp_path / "release", 30)


def words(root: Path, **more: str) -> list[str]:
    """The command for a plain run."""
    told = {
        "--reader": "test-echo",
        "--workflow": "test-plain",
        "--cache": str(root.parent / "replies.sqlite"),
        "--out": str(root.parent / "run"),
        **{f"--{name.replace('_', '-')}": value for name, value in more.items()},
    }
    return ["run", "medthinkvqa", str(root), *(w for pair in told.items() for w in pair)]


def lines(root: Path) -> list[dict[str, Any]]:
    file = root.parent / "run" / "readings.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def test_a_run_and_the_same_again(root: Path) -> None:
    """The summary says what came of it and what to do next; again, that it is complete."""
    first = commanded(*words(root))
    assert "complete" in first.stdout
    assert "overread score" in first.stdout
    assert first.stderr == ""  # no bar where nobody watches
    again = commanded(*words(root))
    assert "there was nothing left to read" in again.stdout
    told = json.loads(commanded(*words(root), "--json").stdout)
    assert told["complete"] is True
    assert (told["readings"], told["read_now"], told["failed"]) == (30, 0, 0)


def test_cost_is_told_where_prices_are_given(root: Path) -> None:
    """100 tokens read and 10 written a case, at the prices of the command line."""
    told = json.loads(commanded(*words(root, price_in="10", price_out="100"), "--json").stdout)
    assert (told["input_tokens"], told["output_tokens"]) == (3000, 300)
    assert told["cost"] == pytest.approx(0.06)


def test_the_currency_of_a_price_list_is_told(root: Path) -> None:
    """Cost and what known answers saved are in the currency that the list names."""
    prices = root.parent / "prices.toml"
    prices.write_text('currency = "EUR"\n["echo"]\ninput = 10\noutput = 100\n')
    told = words(root, prices=str(prices))
    assert "EUR for what is read" in commanded(*told, "--dry-run").stdout
    assert "0.0600 EUR" in commanded(*told).stdout
    again = words(root, prices=str(prices), out=str(root.parent / "again"))
    assert "0.0600 EUR saved by cached answers" in commanded(*again).stdout


def test_a_dry_run_makes_no_folder(root: Path) -> None:
    """It tells calls and tokens, with the rule they were counted by."""
    done = commanded(*words(root), "--dry-run")
    assert "30" in done.stdout
    assert "a token for 4 characters" in done.stdout
    assert not (root.parent / "run").exists()
    assert not (root.parent / "replies.sqlite").exists()


def test_failures_are_told_and_strict_minds_them(root: Path) -> None:
    """A failed case leaves exit code 0 and is named; --strict makes it 1; it can be retried."""
    failing = [*words(root), "--reader-arg", "fails=case7"]
    done = commanded(*failing)
    assert "failed: case7: it would not: ask nicely" in done.stdout
    assert "--retry-failed" in done.stdout
    done = commanded(*failing, "--strict", "--json", code=1)
    assert json.loads(done.stdout)["reasons"] == [{"case": "case7", "why": "it would not: ask nicely"}]
    told = json.loads(commanded(*words(root), "--retry-failed", "--strict", "--json").stdout)
    assert (told["read_now"], told["failed"], told["readings"]) == (1, 0, 30)


def test_what_cannot_be_asked_is_one_sentence(root: Path) -> None:
    """An unknown reader or setting gets the nearest one; what is no pair is not repeated."""
    done = commanded(*words(root, reader="test-eccho"), code=2)
    assert "did you mean 'test-echo'" in done.stderr
    done = commanded(*words(root), "--reader-arg", "oops", code=2)
    assert "lacks its '='" in done.stderr
    done = commanded(*words(root), "--setting", "longst=3", code=2)
    assert "did you mean 'longest'" in done.stderr
    done = commanded(*words(root), "--setting", "longest=wide", code=2)
    assert "'longest'" in done.stderr
    assert "Traceback" not in done.stderr


def started(root: Path, *options: str) -> subprocess.Popen[str]:
    """A run that has read four cases and waits for the answer to the fifth."""
    process = subprocess.Popen(
        [*COMMAND, *words(root, concurrency="2"), "--reader-arg=answers=4", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: len(lines(root)) == 4)
    return process


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_being_stopped_keeps_what_is_done(root: Path, number: int, code: int) -> None:
    """Ctrl-C and SIGTERM end the run cleanly at once, and the same command goes on."""
    process = started(root)
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == code, out + err
    assert "stopped; what is done is kept" in out
    assert "Traceback" not in err
    kept = lines(root)
    assert len(kept) == 4
    assert not any(row.get("error") for row in kept)
    told = json.loads(commanded(*words(root), "--json").stdout)
    assert told["readings"] == 30
    assert lines(root)[: len(kept)] == kept
    assert len({row["case_id"] for row in lines(root)}) == len(lines(root)) == 30


def test_stopped_twice_it_ends_at_once(root: Path) -> None:
    """A reader that does not stop is left behind by the second Ctrl-C; its run goes on later."""
    process = started(root, "--reader-arg=stubborn=yes")
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert process.poll() is None
    # Two signals that a busy machine delivers together would be one.
    for _ in range(int(PATIENCE)):
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=1)
            break
    assert process.returncode == 130
    assert json.loads(commanded(*words(root), "--json").stdout)["readings"] == 30


def test_two_cannot_write_one_run(root: Path) -> None:
    """While one runs, the same command again is refused."""
    process = started(root)
    try:
        done = commanded(*words(root), code=2)
        assert "another process is writing this run" in done.stderr
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)


def test_a_run_over_http_with_the_real_reader(root: Path) -> None:
    """The openai reader and the workflow `direct`: one request a case, and none from the cache."""
    log = root.parent / "log.jsonl"
    with served("--log", str(log)) as address:
        told = ["--reader-arg", f"base_url={address}", "--reader-arg", "model=served", "--json"]
        asked = {"reader": "openai", "workflow": "direct"}
        first = json.loads(commanded(*words(root, **asked), *told).stdout)
        other = words(root, **asked, out=str(root.parent / "other"))
        second = json.loads(commanded(*other, *told).stdout)
    assert (first["calls"], first["cached"], first["failed"]) == (30, 0, 0)
    assert (second["calls"], second["cached"], second["failed"]) == (0, 30, 0)
    came = [row["key"] for row in logged(log) if row["what"] == "came"]
    assert len(came) == len(set(came)) == 30
    assert {row["choice"] for row in lines(root)} <= set("ABCDE")


def test_what_would_end_a_run_is_told_before_its_folder_is_made(root: Path) -> None:
    """An argument given twice, a price list without the model, an unknown workflow, no cases."""
    prices = root.parent / "prices.toml"
    prices.write_text('["other"]\ninput = 1\noutput = 2\n')
    empty = root.parent / "empty"
    empty.mkdir()
    (empty / "test.jsonl").write_text("")
    for wrong, told in (
        ([*words(root), "--reader-arg", "delay=0", "--reader-arg", "delay=1"], "given twice"),
        ([*words(root), "--setting", "longest=99", "--setting", "longest=98"], "given twice"),
        ([*words(root), "--setting", "windows=lnug"], "did you mean 'lung'"),
        (words(root, prices=str(prices)), "no model in prices.toml"),
        (words(root, reader="longest", workflow="drect"), "did you mean 'direct'"),
    ):
        assert told in commanded(*wrong, code=2).stderr
        assert not (root.parent / "run").exists()
    assert "has no cases" in commanded(*words(empty), code=1).stderr
    assert not (root.parent / "run").exists()
