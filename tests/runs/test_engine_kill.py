"""A run survives anything: killed twenty times it ends as if nobody had touched it."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.runs.medthinkvqa_cases import write_cases
from tests.runs.processes import COMMAND, HeldServer, check_asked, commanded, logged

CASES = 200
QUESTIONS = 3 * CASES
KILLS = 20
AT_ONCE = 4


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
    server = HeldServer(tmp_path)
    with server.start() as address:
        told = command(root, tmp_path / "run", tmp_path / "c.sqlite", address)
        # Every fifth dies wherever it is; the others once they have begun to ask.
        kills = [
            server.kill_client([*COMMAND, *told], dice, anywhere=number % 5 == 4) for number in range(KILLS)
        ]
        server.allow(10 * QUESTIONS)
        last = json.loads(commanded(*told).stdout)
        disturbed = logged(server.log)
        server.log.write_text("")
        commanded(*command(root, tmp_path / "calm", tmp_path / "d.sqlite", address))
        calm = logged(server.log)
    assert last["complete"]
    assert last["failed"] == 0
    assert len(readings(tmp_path / "run")) == CASES
    assert readings(tmp_path / "run") == readings(tmp_path / "calm")
    assert len(calm) == 2 * QUESTIONS
    check_asked(disturbed, calm, kills, AT_ONCE)


GROWTH = """
import asyncio, gc, resource, sys
from pathlib import Path
from tests.runs.fake_readers import Echo, plain
from overread.runs.engine import RunPlan, run

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
    plan = RunPlan("medthinkvqa", root, Instant(), workflow=plain, limit=count, concurrency=32,
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
