"""What the benches share: a line of the table, best of five, jobs in processes of their own."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 5
TIE = 1.05
"""Up to this ratio two times are the same: less cannot be told apart on a busy machine."""
MEGABYTE = 1 << 20

Work = Callable[[], Any]


@dataclass(frozen=True)
class Line:
    """One measurement, beside a limit or beside another program."""

    name: str
    value: float | None
    """None where it could not be measured."""
    unit: str
    limit: float | None = None
    """What it must stay under."""
    peer: float | None = None
    """What another program needs for the same."""
    peer_name: str = ""
    at_least: float | None = None
    """How many times faster than the peer it must be; None where it is only shown beside it."""
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """Times the peer's value; under 1 is better than it."""
        return None if self.peer is None or self.value is None else self.value / self.peer

    @property
    def verdict(self) -> str:
        """'ok' or 'over'; nothing where there is nothing to compare with."""
        if self.limit is not None and self.value is not None:
            return "over" if self.value > self.limit else "ok"
        if self.ratio is None:
            return ""
        return "over" if self.ratio > (1 / self.at_least if self.at_least else TIE) else "ok"

    @property
    def is_missed(self) -> bool:
        """Whether a promise is broken; being slower than a peer alone is none."""
        return self.verdict == "over" and (self.limit is not None or self.at_least is not None)

    def __str__(self) -> str:
        value = " " * 13 if self.value is None else f"{self.value:>9.4f} {self.unit:<3}"
        beside = "" if self.limit is None else f"limit {self.limit:.3g} {self.unit}"
        if self.ratio is not None:
            beside = f"{self.peer_name} {self.peer:.4f} {self.unit}, ratio {self.ratio:.2f}"
            beside += f" (limit {1 / self.at_least:.2f})" if self.at_least else ""
        return f"{self.name:<50}{value} {beside:<50}{self.verdict:<5}{self.note}".rstrip()


def report(lines: Iterable[Line], file: Path | None = None) -> NoReturn:
    """Print lines as they come, write them as JSON too, leave with 1 where a promise is broken."""
    made: list[Line] = []
    for line in lines:
        made.append(line)
        print(line, flush=True)
    if file:
        table = [asdict(line) | {"ratio": line.ratio, "verdict": line.verdict} for line in made]
        file.write_text(json.dumps(table, ensure_ascii=False, indent=2) + "\n", "utf-8")
    sys.exit(any(line.is_missed for line in made))


def time_once(work: Work) -> float:
    """Seconds of one run."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def best_in_turns(*works: Work, rounds: int = ROUNDS, before: Work | None = None) -> list[float]:
    """The best seconds of each, taken in turns, since machines are shared."""
    times = []
    for _ in range(rounds):
        if before:
            before()
        times.append([time_once(work) for work in works])
    return [min(column) for column in zip(*times, strict=True)]


def time_process(*words: str, expected: str = "") -> float:
    """Best of five seconds of a whole process, which must succeed and say what is expected."""

    def run() -> None:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode or expected not in done.stdout:
            raise SystemExit(f"{' '.join(words)} failed:\n{done.stdout}{done.stderr}")

    return min(time_once(run) for _ in range(ROUNDS))


def peak_memory() -> float:
    """Megabytes that this process has held at most."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (MEGABYTE if sys.platform == "darwin" else 1024)


def memory_growth(work: Work) -> float:
    """Megabytes by which the peak of this process grows while it works."""
    before = peak_memory()
    work()
    return peak_memory() - before


def start_job(bench: str, *words: str, python: str = sys.executable) -> Any:
    """One job of a bench in a process of its own: the JSON of the last line that it prints."""
    command = [python, "-m", f"tools.bench.{bench}", *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)
    return json.loads(done.stdout.strip().splitlines()[-1])
