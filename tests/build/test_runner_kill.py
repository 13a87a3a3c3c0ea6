"""A build survives anything: killed at random it ends as if nobody had touched it."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.build.demo_recipe import standing, table, write_prompts, write_reports
from tests.runs.processes import HeldServer, check_asked, logged

COMMAND = (sys.executable, str(Path(__file__).parent / "demo_command.py"))
AT_ONCE = 4


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
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def check_killed(folder: Path, *, reports: int, kills: int, seed: int) -> None:
    """Kill a build so often, let it end, and hold it against one that nobody touched."""
    dice = random.Random(seed)
    source = write_reports(folder / "source", *(f"report {n} of many" for n in range(reports)))
    server = HeldServer(folder)
    with server.start() as address:
        words = command(source, folder / "out", address)
        # Every fourth dies wherever it is; the others once they have begun to ask.
        times = [server.kill_client(words, dice, anywhere=number % 4 == 3) for number in range(kills)]
        server.allow(100 * reports)
        last = finished(words)
        disturbed = logged(server.log)
        server.log.write_text("")
        finished(command(source, folder / "calm", address))
        calm = logged(server.log)
    assert last["complete"]
    assert standing(folder / "out") == standing(folder / "calm")
    released = [folder / name / "release" / "items.jsonl" for name in ("out", "calm")]
    assert released[0].read_bytes() == released[1].read_bytes()
    raw = "SELECT key, reader, asked, json_extract(reply, '$.text') FROM replies ORDER BY key"
    assert table(folder / "out", raw) == table(folder / "calm", raw)
    check_asked(disturbed, calm, times, AT_ONCE)


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
    server = HeldServer(tmp_path)
    with server.start() as address:
        words = command(source, tmp_path / "out", address)
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        server.wait_for(server.allow(10), process)
        process.send_signal(signal.SIGINT)
        said, wrong = process.communicate()
        told = json.loads(said)
        server.allow(1000)
        last = finished(words)
    assert process.returncode == 130
    assert wrong == ""
    assert not told["complete"]
    assert last["complete"]
    assert last["known"] + sum(step["known"] for step in last["steps"]) > 0
    ends = table(tmp_path / "out", "SELECT became FROM sittings ORDER BY id")
    assert [json.loads(row[0])["stopped"] for row in ends] == [2, None]
