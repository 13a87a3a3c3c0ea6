"""A build survives anything: killed at random it ends as if nobody had touched it."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.build.demo_recipe import standing, table, write_prompts, write_reports
from tests.runs.processes import logged, served

COMMAND = (sys.executable, str(Path(__file__).parent / "demo_command.py"))
AT_ONCE = 4
GRACE = 0.2
"""Seconds that a reply may take from the server's hand into the ledger, on a busy machine."""


def command(source: Path, out: Path, address: str) -> list[str]:
    """A build with two models at one server."""
    prompts = write_prompts(out.parent / "prompts")
    return [
        *COMMAND, "build", "demo", str(source), "--out", str(out), "--json",
        "--reader", "openai", "--reader-arg", f"base_url={address}", "--reader-arg", "model=a",
        "--auditor", "openai", "--auditor-arg", f"base_url={address}", "--auditor-arg", "model=b",
        "--prompts", str(prompts), "--concurrency", str(AT_ONCE),
    ]  # fmt: skip


def finished(words: list[str]) -> dict[str, Any]:
    """What a build says that nobody disturbs."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def killed(words: list[str], log: Path, dice: random.Random, number: int) -> float:
    """Kill a build at some moment, mostly while it asks; gives the time of the kill."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    seen = len(logged(log))
    # Every fourth dies wherever it is; the others once they have begun to ask.
    anywhere = number % 4 == 3
    deadline = time.monotonic() + (dice.uniform(0, 1.5) if anywhere else 60)
    while time.monotonic() < deadline and process.poll() is None:
        if not anywhere and len(logged(log)) > seen:
            break
        time.sleep(0.005)
    time.sleep(dice.uniform(0, 0.4))
    assert process.poll() is None, "it was done before it could be killed"
    at = time.monotonic()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return at


def check_killed(folder: Path, *, reports: int, kills: int, seed: int) -> None:
    """Kill a build so often, let it end, and hold it against one that nobody touched."""
    dice = random.Random(seed)
    source = write_reports(folder / "source", *(f"report {n} of many" for n in range(reports)))
    log = folder / "log.jsonl"
    log.touch()
    with served("--delay", "0.1", "--log", str(log)) as address:
        words = command(source, folder / "out", address)
        times = [killed(words, log, dice, number) for number in range(kills)]
        last = finished(words)
        disturbed = logged(log)
        log.write_text("")
        finished(command(source, folder / "calm", address))
        calm = logged(log)
    assert last["complete"]
    assert standing(folder / "out") == standing(folder / "calm")
    released = [folder / name / "release" / "items.jsonl" for name in ("out", "calm")]
    assert released[0].read_bytes() == released[1].read_bytes()
    raw = "SELECT key, reader, asked, json_extract(reply, '$.text') FROM replies ORDER BY key"
    assert table(folder / "out", raw) == table(folder / "calm", raw)
    check_asked(disturbed, calm, times)


def check_asked(
    disturbed: list[dict[str, Any]], calm: list[dict[str, Any]], kills: list[float]
) -> None:
    """The same was asked, and nothing twice but what was in flight at a kill."""
    assert len({row["key"] for row in calm}) == len(calm) / 2
    assert {row["key"] for row in disturbed} == {row["key"] for row in calm}
    came = [row for row in disturbed if row["what"] == "came"]
    assert len(calm) / 2 < len(came) <= len(calm) / 2 + len(kills) * AT_ONCE
    for key in {row["key"] for row in came}:
        rows = [row for row in disturbed if row["key"] == key]
        begins = [row["at"] for row in rows if row["what"] == "came"]
        ends = [row["at"] for row in rows if row["what"] == "answered"]
        for begin, after in pairwise(begins):
            end = min((at for at in ends if at >= begin), default=after)
            assert any(begin <= kill <= min(end + GRACE, after) for kill in kills)


def test_a_killed_build_ends_as_an_undisturbed_one(tmp_path: Path) -> None:
    """Killed twice: equal decisions, answers and release, and no answer asked for twice."""
    check_killed(tmp_path, reports=24, kills=2, seed=9)


@pytest.mark.slow
def test_killed_fifteen_times_a_build_ends_as_an_undisturbed_one(tmp_path: Path) -> None:
    """The same with more kills, some of them before or behind the questions."""
    check_killed(tmp_path, reports=150, kills=15, seed=4)


def test_ctrl_c_stops_cleanly_and_the_same_command_goes_on(tmp_path: Path) -> None:
    """It says what is done, leaves with 130, and what is done is not done again."""
    source = write_reports(tmp_path / "source", *(f"report {n}" for n in range(15)))
    log = tmp_path / "log.jsonl"
    log.touch()
    with served("--delay", "0.1", "--log", str(log)) as address:
        words = command(source, tmp_path / "out", address)
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while len(logged(log)) < 20 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        said, wrong = process.communicate()
        told = json.loads(said)
        last = finished(words)
    assert process.returncode == 130
    assert wrong == ""
    assert not told["complete"]
    assert last["complete"]
    assert last["known"] + sum(step["known"] for step in last["steps"]) > 0
    ends = table(tmp_path / "out", "SELECT became FROM sittings ORDER BY id")
    assert [json.loads(row[0])["stopped"] for row in ends] == [2, None]
