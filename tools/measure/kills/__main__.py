"""Kills every command that writes at random moments, gives it again, and compares the bytes.

    python -m tools.measure.kills --kills 200 --seed 1 --tally tally.jsonl
    python -m tools.measure.kills --kills 20 --only write-mmrad,deidentify

Each command is first run undisturbed. Then it is started again and again into a fresh place, killed
(SIGKILL, with all its workers) one to four times, and run to its end: everything in its place, hidden files
too, must be what the undisturbed run left. What may differ is in `compare.py`.
A command that refuses to write a target once more passes where the target is whole.

Kills fall into the work and not into its start. Half of them come just before a change of a file, a
random one of all that the command makes (an open for writing, a rename, a removal); half at a random moment
between the first of these and the end. With --tally every kill is noted, and the same command goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from tests.runs.processes import served
from tools.measure.kills.commands import COMMANDS, make_material
from tools.measure.kills.compare import describe, differences

COUNTED = Path(__file__).parent / "counted"
"""The folder that makes Python count changes of files, on its path."""


@dataclass(frozen=True)
class Calm:
    """An undisturbed run: what it left, how many changes it made, and how long it took from the first."""

    left: dict[str, Any]
    changes: int
    seconds: float


def main() -> None:
    """Kill, run again, compare, and print a line a command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, help="so many kills altogether (200)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e9, help="begin nothing after so long")
    parser.add_argument("--only", default="", help="names of commands, with commas")
    parser.add_argument("--tally", type=Path, help="a line for each place; the same one again goes on")
    told = parser.parse_args()
    chosen = [name for name in COMMANDS if name in (told.only.split(",") if told.only else COMMANDS)]
    before = told.tally.read_text("utf-8").splitlines() if told.tally and told.tally.exists() else []
    with (
        TemporaryDirectory(prefix="overread-kills-") as scratch,
        served("--delay", "0.02", "--judge") as server,
        Path(told.tally or os.devnull).open("a", encoding="utf-8") as tally,
    ):
        bench = Bench(Path(scratch), server, [json.loads(line) for line in before], tally)
        bench.kill_all(chosen, told.kills, told.seed, time.monotonic() + 60 * told.minutes)
    failures = [row for row in bench.rows if row["wrong"]]
    for name in chosen:
        rows = [row for row in bench.rows if row["command"] == name]
        print(f"{name:24} {sum(len(row['kills']) for row in rows):4} kills in {len(rows):3} places")
    print(f"{bench.done.total()} kills; {len(failures)} places were not as undisturbed")
    for row in failures:
        print(f"  {row['command']} killed {'; '.join(row['kills'])}: {row['wrong']}")
    sys.exit(1 if failures else 0)


class Bench:
    """The material, the undisturbed results, and what became of each place."""

    def __init__(self, scratch: Path, server: str, rows: list[dict[str, Any]], tally: IO[str]) -> None:
        """Make the material; `rows` is what the tally knows from before."""
        self.scratch, self.rows, self.tally = scratch, rows, tally
        self.place = scratch / "place"  # one name for all: what is written may name its own place
        self.count = scratch / "count"
        self.material: dict[str, str] = {}
        self.material = make_material(scratch / "material", server, self._give)
        self.calm: dict[str, Calm] = {}
        self.done: Counter[str] = Counter()
        for row in rows:
            self.done[row["command"]] += len(row["kills"])

    def kill_all(self, names: list[str], kills: int, seed: int, end: float) -> None:
        """Kill commands until there were enough kills or no time is left; those with few kills first."""
        while self.done.total() < kills and time.monotonic() < end and names:
            name = min(names, key=lambda one: (self.done[one], names.index(one)))
            dice = random.Random(f"{seed}/{name}/{self.done[name]}/{len(self.rows)}")
            if name not in self.calm:
                try:
                    self.calm[name] = self._run_calm(name)
                except subprocess.CalledProcessError as error:
                    print(f"{name} cannot be tried: {error.stderr.strip().splitlines()[-1]}", flush=True)
                    names = [one for one in names if one != name]
                    continue
            self._kill_and_compare(name, dice)

    def _run_calm(self, name: str) -> Calm:
        """What an undisturbed run leaves."""
        self._make_place(name)
        process = self._start(name)
        first = self._wait_for_change(process)
        self._end(process)
        return Calm(describe(self.place), self.count.stat().st_size, time.monotonic() - first)

    def _kill_and_compare(self, name: str, dice: random.Random) -> None:
        """Kill one to four times, run to the end, compare, note it."""
        calm = self.calm[name]
        self._make_place(name)
        kills: list[str] = []
        for _ in range(dice.choice((1, 2, 2, 3, 4))):
            at = dice.randint(1, calm.changes) if calm.changes and dice.random() < 0.5 else 0
            told = f"before change {at} of {calm.changes}"
            process = self._start(name, at)
            if not at:
                moment = dice.random() * calm.seconds
                told = f"{moment:.2f} s after the first change"
                self._wait_for_change(process)
                try:
                    process.wait(moment)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            if process.returncode != -signal.SIGKILL:
                break  # it was done before its time
            kills.append(told)
        wrong = ""
        process = self._start(name)
        try:
            self._end(process)
        except subprocess.CalledProcessError as error:
            wrong = error.stderr.strip().splitlines()[-1]
        left = describe(self.place)
        # Some commands refuse a target that is whole: it is, where the kill came behind its end.
        if left == calm.left and "already" in wrong:
            wrong = ""
        wrong = wrong or differences(calm.left, left)
        row = {"command": name, "kills": kills, "wrong": wrong}
        self.rows.append(row)
        self.done[name] += len(kills)
        self.tally.write(json.dumps(row) + "\n")
        self.tally.flush()
        if wrong:
            print(f"{name} killed {'; '.join(kills)}: {wrong}", flush=True)

    # ---- places and processes ------------------------------------------------------------------

    def _make_place(self, name: str) -> None:
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.rmtree(self.scratch / "cache", ignore_errors=True)
        self.place.mkdir()
        before = COMMANDS[name].before
        if before:
            shutil.copytree(self.material[before], self.place / "out")

    def _words(self, words: str) -> list[str]:
        filled = [word.format(place=self.place, **self.material) for word in words.split()]
        return [sys.executable, "-m", "overread", *filled]

    def _start(self, name: str, at: int = 0) -> subprocess.Popen[str]:
        self.count.unlink(missing_ok=True)
        self.count.touch()
        paths = os.pathsep.join((str(COUNTED), os.environ.get("PYTHONPATH", "")))
        counting = {"KILLS_WITHIN": str(self.place), "KILLS_COUNT": str(self.count), "KILLS_AT": str(at)}
        typed = self.scratch / "typed"
        typed.write_text(COMMANDS[name].typed, "utf-8")
        with typed.open("rb") as source:
            return subprocess.Popen(
                self._words(COMMANDS[name].words),
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**self._environment(), **counting, "PYTHONPATH": paths},
                start_new_session=True,
            )

    def _wait_for_change(self, process: subprocess.Popen[str]) -> float:
        """When the command first changes a file of its place, or ends."""
        while process.poll() is None and not self.count.stat().st_size:
            time.sleep(0.005)
        return time.monotonic()

    def _end(self, process: subprocess.Popen[str]) -> None:
        out, err = process.communicate()
        if process.returncode:
            told = err or out or f"exit code {process.returncode}"
            raise subprocess.CalledProcessError(process.returncode, process.args, out, told)

    def _give(self, words: str, typed: str) -> None:
        done = subprocess.run(
            self._words(words),
            input=typed,
            capture_output=True,
            text=True,
            check=False,
            env=self._environment(),
        )
        if done.returncode:
            raise SystemExit(f"overread {words}: {done.stderr or done.stdout}")

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "OVERREAD_CACHE": str(self.scratch / "cache"), "PYTHONWARNINGS": "ignore"}


if __name__ == "__main__":
    main()
