"""A run survives anything: killed twenty times it ends as if nobody had touched it."""

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

from tests.runs.medthinkvqa_cases import write_cases
from tests.runs.processes import COMMAND, commanded, logged, served

CASES = 200
QUESTIONS = 3 * CASES
KILLS = 20
AT_ONCE = 4
GRACE = 0.2
"""Seconds that a reply may take from the server's hand into the cache, on a busy machine."""


def command(root: Path, out: Path, cache: Path, address: str) -> list[str]:
    return [
        "run", "medthinkvqa", str(root), "--reader", "openai", "--workflow", "test-thrice",
        "--reader-arg", f"base_url={address}", "--reader-arg", "model=served",
        "--json", "--concurrency", str(AT_ONCE), "--cache", str(cache), "--out", str(out),
    ]  # fmt: skip


def readings(folder: Path) -> dict[str, dict[str, Any]]:
    """Case → its reading, less what tells how and when it was asked."""
    found = {}
    for line in (folder / "readings.jsonl").read_text().splitlines():
        row = json.loads(line)
        row.pop("usage")
        for exchange in row["exchanges"]:
            exchange.pop("from_cache")
            for name in ("calls", "seconds"):
                exchange["reply"]["usage"].pop(name)
        assert row["case_id"] not in found
        found[row["case_id"]] = row
    return found


@pytest.mark.slow
def test_killed_twenty_times_a_run_ends_as_an_undisturbed_one(tmp_path: Path) -> None:
    """The readings are equal, and only what was in flight at a kill was asked twice."""
    dice = random.Random(6)
    root = write_cases(tmp_path / "release", CASES)
    log = tmp_path / "log.jsonl"
    kills: list[float] = []
    with served("--delay", "0.1", "--log", str(log)) as address:
        told = command(root, tmp_path / "run", tmp_path / "c.sqlite", address)
        for number in range(KILLS):
            process = subprocess.Popen(
                [*COMMAND, *told], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
            )
            seen = len(logged(log))
            # Every fifth dies wherever it is; the others once they have begun to ask.
            deadline = time.monotonic() + (dice.uniform(0, 2) if number % 5 == 4 else 60)
            while time.monotonic() < deadline and process.poll() is None:
                if number % 5 != 4 and len(logged(log)) > seen:
                    break
                time.sleep(0.005)
            time.sleep(dice.uniform(0, 0.5))
            assert process.poll() is None, "it was done before it could be killed"
            kills.append(time.monotonic())
            process.send_signal(signal.SIGKILL)
            process.communicate()
        last = json.loads(commanded(*told).stdout)
        disturbed = logged(log)
        log.write_text("")
        commanded(*command(root, tmp_path / "calm", tmp_path / "d.sqlite", address))
        calm = logged(log)
    assert last["complete"]
    assert last["failed"] == 0
    assert len(readings(tmp_path / "run")) == CASES
    assert readings(tmp_path / "run") == readings(tmp_path / "calm")
    assert len({row["key"] for row in calm}) == len(calm) / 2 == QUESTIONS
    assert {row["key"] for row in disturbed} == {row["key"] for row in calm}
    came = [row for row in disturbed if row["what"] == "came"]
    assert QUESTIONS < len(came) <= QUESTIONS + KILLS * AT_ONCE
    for key in {row["key"] for row in came}:
        rows = [row for row in disturbed if row["key"] == key]
        begins = [row["at"] for row in rows if row["what"] == "came"]
        ends = [row["at"] for row in rows if row["what"] == "answered"]
        for begin, after in pairwise(begins):
            end = min((at for at in ends if at >= begin), default=after)
            assert any(begin <= kill <= min(end + GRACE, after) for kill in kills)


GROWTH = """
import asyncio, gc, resource, sys
from pathlib import Path
from tests.runs.fake_readers import Echo, plain
from overread.runs.engine import Plan, run

class Instant(Echo):
    async def read(self, request):
        reply = await super().read(request)
        self.asked.clear()
        return reply

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

root, out = Path(sys.argv[1]), Path(sys.argv[2])
peaks = []
for count in (2000, 20000):
    plan = Plan("medthinkvqa", root, Instant(), workflow=plain, limit=count, concurrency=32,
                cache=out / f"{count}.sqlite")
    outcome = run(plan, out / str(count))
    assert (outcome.tally.done, outcome.tally.failed) == (count, 0)
    peaks.append(peak())
print(*peaks)
"""


@pytest.mark.slow
def test_memory_is_flat_from_2000_to_20000_cases(tmp_path: Path) -> None:
    """Ten times the cases take a few megabytes more: their names, and nothing else of them."""
    root = write_cases(tmp_path / "release", 20_000)
    done = subprocess.run(
        [sys.executable, "-c", GROWTH, str(root), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    few, many = map(float, done.stdout.split())
    assert many - few < 15
