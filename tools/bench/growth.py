"""How time and memory grow with the number of cases: part of `make bench`.

.venv/bin/python -m tools.bench.growth --cases 8000 80000 400000 --folder growth

Text cases: those of phantom patients, again and again under other names, all with the same small
picture, which nobody opens. They are loaded, checked, read by a bound (`random`), scored with all
metrics and 1,000 draws, and listed by the page. Each is a process of its own; time is its processor
time, since machines are shared. With --folder the cases and what was measured stay there, and the same
command goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tools.bench.harness import ROOT, Line, peak_memory, report

FEW = 8_000
CASES = (FEW, 80_000)
"""What `make bench` measures; the third size of the table in docs/runs.md takes an hour."""
PATIENTS = 200
PICTURE: dict[str, Any] = {
    "image_count": 1,
    "image_01_id": "picture",
    "image_01_path": "images/picture.jpg",
    "image_01_caption": "Frontal radiograph of the chest.",
    "image_01_modality": "X-ray",
    "image_01_sub_modality": "Chest radiography",
}
"""The only picture, of every case."""
SLOWER = 1.5
"""Times the time of a case among 8,000 that one among more may take."""
BYTES = {"load": 500, "check": 1500, "run": 1000, "score": 4000, "page": 6000}
"""Bytes that one more case may cost: ids and numbers, never its text."""
DOCUMENTS = {
    "load": "loaded, none kept",
    "check": "checked",
    "run": "read by a bound",
    "score": "scored, 1,000 draws",
    "page": "listed by the page",
}


def make_cases(folder: Path, count: int) -> None:
    """So many text cases, from those of a few phantom patients."""
    made = folder.parent / "patients"
    if not made.exists():
        words = ["phantom", str(made), "--patients", str(PATIENTS), "--text-only"]
        run_overread(*words, "--exams", "medthinkvqa", "--workers", "1")
    rows = []
    for split in ("test", "train"):
        for line in (made / "medthinkvqa" / f"{split}.jsonl").open(encoding="utf-8"):
            row = json.loads(line)
            rows.append({name: value for name, value in row.items() if not name.startswith("image_")})
    (folder / "images").mkdir(parents=True, exist_ok=True)
    (folder / PICTURE["image_01_path"]).write_bytes(b"\xff\xd8\xff\xd9")
    part = folder / "test.part"
    with part.open("w", encoding="utf-8") as out:
        for number in range(1, count + 1):
            row = rows[number % len(rows)] | {"title": f"Case number {number}"} | PICTURE
            out.write(json.dumps(row) + "\n")
    part.rename(folder / "test.jsonl")


def run_overread(*words: str) -> dict[str, float]:
    """Seconds of processor time and the most megabytes of a command, which must not fail."""
    command = [sys.executable, "-m", "overread", *words]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{said.decode()}")
    return {"seconds": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss / 1024}


# ---- jobs ----------------------------------------------------------------------------------


def load(folder: Path) -> dict[str, float]:
    """Every case, and none kept."""
    return run_job("load", folder)


def check(folder: Path) -> dict[str, float]:
    """`overread check` of a copy without defects."""
    return run_overread("check", "medthinkvqa", str(folder), "--no-pixels")


def run(folder: Path) -> dict[str, float]:
    """`overread run` with a reader that only draws a letter."""
    out = folder / "run"
    words = ("medthinkvqa", str(folder), "--reader", "random", "--out", str(out))
    for left in out.glob("*"):
        left.unlink()
    return run_overread("run", *words)


def score(folder: Path) -> dict[str, float]:
    """`overread score` with every metric and 1,000 draws."""
    return run_overread("score", str(folder / "run"))


def page(folder: Path) -> dict[str, float]:
    """The page's list of the cases of a dataset, and what the truth tells of them."""
    return run_job("page", folder)


def run_job(name: str, folder: Path) -> dict[str, float]:
    """One of the jobs that no command does, in a process of its own."""
    command = [sys.executable, "-m", "tools.bench.growth", "--job", name, str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def count_cases(folder: Path) -> None:
    """Iterate the cases and keep none."""
    import overread

    sum(1 for _ in overread.load("medthinkvqa", folder, "test"))


def list_cases(folder: Path) -> None:
    """What the page asks for to show the cases of a dataset."""
    from starlette.testclient import TestClient

    from overread.site.access import Access
    from overread.site.app import make_api
    from overread.site.shelf import Shelf

    shelf = Shelf([folder])
    client = TestClient(make_api(shelf, Access()))
    (dataset,) = shelf.datasets
    for part in ("cases", "labels"):
        answer = client.get(f"/api/datasets/{dataset}/test/{part}")
        assert answer.status_code == 200, answer.text[:500]


JOBS: dict[str, Callable[[Path], dict[str, float]]] = {
    "load": load,
    "check": check,
    "run": run,
    "score": score,
    "page": page,
}


# ---- the table -----------------------------------------------------------------------------


class Measurements:
    """What was measured, kept in a file so that a bench which was stopped goes on."""

    def __init__(self, folder: Path) -> None:
        """`folder` is where the cases lie too."""
        self.folder = folder
        self._file = folder / "measured.json"
        self._found: dict[str, Any] = json.loads(self._file.read_text()) if self._file.exists() else {}

    def get(self, job: str, count: int) -> dict[str, float]:
        """One job with so many cases; measured now, or before."""
        name = f"{job} {count}"
        if name not in self._found:
            place = self.folder / str(count)
            if not (place / "test.jsonl").exists():
                make_cases(place, count)
            self._found[name] = JOBS[job](place)
            self._file.write_text(json.dumps(self._found, indent=1))
        found: dict[str, float] = self._found[name]
        return found


def compare_sizes(kept: Measurements, counts: list[int]) -> Iterator[Line]:
    """Time a case, and the most memory, beside those of the fewest cases."""
    for job, about in DOCUMENTS.items():
        few = counts[0]
        base = kept.get(job, few)
        for count in counts:
            now = kept.get(job, count)
            name = f"{count:,} cases {about}"
            each, least = (1000 * one["seconds"] / n for one, n in ((now, count), (base, few)))
            if count == few:
                yield Line(f"{name}: a case", each, "ms")
                yield Line(f"{name}: memory", now["peak"], "MB")
                continue
            yield Line(f"{name}: a case", each, "ms", peer=least, peer_name=f"{few:,}", at_least=1 / SLOWER)
            most = base["peak"] + (count - few) * BYTES[job] / 1e6
            more = f"{now['peak'] / base['peak']:.2f} times that of {few:,}"
            yield Line(f"{name}: memory", now["peak"], "MB", limit=most, note=more)


def main() -> None:
    """Measure, print, and leave with 1 where something grows faster than the cases."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, nargs="+", default=list(CASES), help="how many, fewest first")
    parser.add_argument("--folder", type=Path, help="keep cases and measurements there, and go on from it")
    parser.add_argument("--out", type=Path, help="write the table there as JSON too")
    parser.add_argument("--job", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        name, folder = options.job
        {"load": count_cases, "page": list_cases}[name](Path(folder))
        used = resource.getrusage(resource.RUSAGE_SELF)
        print(json.dumps({"seconds": used.ru_utime + used.ru_stime, "peak": peak_memory()}))
        return
    with tempfile.TemporaryDirectory(prefix="overread-bench-") as made:
        folder = (options.folder or Path(made)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        report(compare_sizes(Measurements(folder), sorted(options.cases)), options.out)


if __name__ == "__main__":
    main()
