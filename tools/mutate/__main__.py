"""Damage thousands of files of every kind and see that overread says one clear sentence of each.

    python -m tools.mutate --seed 7 --files 10000 --minutes 20 --save faults --tally tally.jsonl

No traceback, no bug of ours, no word of a library's, nothing skipped in silence, no command over ten
seconds of processor time or a gigabyte. Files that showed a fault are kept under --save with the
command; the same seed makes the same files. With --tally each file is noted as it was tried, and the
same command again goes on behind the last.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import io
import json
import os
import random
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import IO, Any

from tools.mutate.input_file import Input
from tools.mutate.inputs import make_inputs
from tools.mutate.mutators import mutate
from tools.mutate.trial import Ending, Trial, find_fault, run_forked

_WARM = (
    "numpy scipy.stats scipy.ndimage nibabel pydicom PIL.Image pyarrow.parquet zlib_ng.gzip_ng sqlite3 "
    "pydantic rich.console rich.table overread.cli.main overread.benchmarks overread.runs.engine "
    "overread.runs.scoring.from_run overread.build.runner overread.pixels.image_files "
    "overread.build.deid.folder overread.language.statements overread.metrics.statistics "
    "overread.site.report.document"
)
_WRITTEN = ("runs", "builds")
"""Folders of inputs that the commands write into."""
_AT_ONCE = 25
"""Files tried in one process, all of different kinds."""


def main() -> None:
    """Run it, print what was found."""
    asking = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    asking.add_argument("--seed", type=int, default=0)
    asking.add_argument("--files", type=int, default=10_000)
    asking.add_argument("--minutes", type=float, default=20.0)
    asking.add_argument("--save", type=Path, help="folder for files that showed a fault")
    asking.add_argument("--tally", type=Path, help="a line for each file; the same one again goes on")
    asking.add_argument("--kind", default="", help="only inputs whose kind has this in its name")
    asked = asking.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    folder = Path(tempfile.mkdtemp(prefix="overread-mutate-"))
    os.environ["OVERREAD_CACHE"] = str(folder / "cache")
    try:
        inputs = [one for one in make_inputs(folder / "inputs") if asked.kind in one.kind]
        _warm_up(inputs, folder)
        with open_tally(asked.tally) as tally:
            first = 1 + last_number(asked.tally, asked.seed)
            trials = Trials(inputs, folder / "inputs", asked.seed, asked.save, tally)
            trials.run(range(first, asked.files + 1), asked.minutes * 60)
        trials.print_found()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _warm_up(inputs: list[Input], folder: Path) -> None:
    """Do here, once, what every child would do again: imports, the table of commands, vocabularies."""
    import typer.main

    from overread.cli.main import app, main

    for name in _WARM.split():
        importlib.import_module(name)
    command = typer.main.get_command(app)
    typer.main.get_command = lambda typer_instance: command
    seen = set()
    for one in inputs:
        for words in one.commands:
            # What starts threads or processes is left to the children: they would not survive a fork.
            if (one.kind, words[0]) in seen or words[0] in ("run", "grade", "build") or "parquet" in one.kind:
                continue
            seen.add((one.kind, words[0]))
            out = str(folder / f"warm-{len(seen)}")
            said = [out + word.removeprefix("OUT") if word.startswith("OUT") else word for word in words]
            quiet = io.StringIO()
            with (
                contextlib.suppress(SystemExit),
                contextlib.redirect_stdout(quiet),
                contextlib.redirect_stderr(quiet),
            ):
                main(said)
    gc.collect()
    gc.freeze()  # so that no child copies what it only reads


def open_tally(file: Path | None) -> IO[str]:
    """Where trials are noted; nowhere without a file."""
    return Path(os.devnull if file is None else file).open("a", encoding="utf-8")


def last_number(file: Path | None, seed: int) -> int:
    """The last file of this seed that a tally knows, 0 for none."""
    if file is None:
        return 0
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return max((row["number"] for row in rows if row["seed"] == seed), default=0)


class Trials:
    """Damages one input after another, kinds in turn, and counts what became of it."""

    def __init__(
        self, inputs: list[Input], folder: Path, seed: int, save: Path | None, tally: IO[str]
    ) -> None:
        """Inputs under `folder`; what commands write into is kept beside, to be put back."""
        self.inputs, self.folder, self.seed, self.save, self.tally = inputs, folder, seed, save, tally
        self.kinds = sorted({one.kind for one in inputs})
        self.faults: Counter[str] = Counter()
        self.codes: Counter[int] = Counter()
        self.slowest = self.most = 0.0
        for group in _WRITTEN:
            if (folder / group).is_dir():
                shutil.copytree(folder / group, folder / f"{group}-pristine")

    def run(self, numbers: range, seconds: float) -> None:
        """Try these, or as many of them as there is time for."""
        end = time.monotonic() + seconds
        for first in range(numbers.start, numbers.stop, _AT_ONCE):
            made = [self._make(number) for number in range(first, min(first + _AT_ONCE, numbers.stop))]
            for (row, trial), ending in zip(made, run_forked([trial for _, trial in made]), strict=True):
                self._note(row, trial, ending)
            if first // 500 != (first + _AT_ONCE) // 500:
                print(f"{first} files, {self.faults.total()} faults", flush=True)
            if time.monotonic() > end:
                break

    def _make(self, number: int) -> tuple[dict[str, Any], Trial]:
        rng = random.Random(f"{self.seed}/{number}")
        kind = self.kinds[number % len(self.kinds)]
        chosen = rng.choice([one for one in self.inputs if one.kind == kind])
        intact = chosen.file.read_bytes()
        ways, data = mutate(intact, rng)
        words = rng.choice(chosen.commands)
        group = chosen.file.relative_to(self.folder).parts[0]
        pristine = self.folder / f"{group}-pristine" if group in _WRITTEN else None
        row = {"seed": self.seed, "number": number, "kind": kind, "command": words[0], "ways": ways}
        return row, Trial(chosen.file, intact, data, words, pristine)

    def _note(self, row: dict[str, Any], trial: Trial, ending: Ending) -> None:
        fault = find_fault(ending)
        self.codes[ending.code] += 1
        self.slowest, self.most = max(self.slowest, ending.seconds), max(self.most, ending.memory_mb)
        row |= {"code": ending.code, "seconds": round(ending.seconds, 2), "mb": round(ending.memory_mb)}
        self.tally.write(json.dumps(row | {"fault": fault}) + "\n")
        self.tally.flush()
        if fault:
            self.faults[f"{row['kind']} | {row['command']} | {fault}"] += 1
            print(
                f"{row['number']}: {row['kind']} | {' '.join(trial.words)} | {row['ways']} | {fault}",
                flush=True,
            )
            if self.save is not None:
                self.save.mkdir(parents=True, exist_ok=True)
                (self.save / f"{self.seed}-{row['number']}-{trial.file.name}").write_bytes(trial.data)

    def print_found(self) -> None:
        """How many, how they ended, and every kind of fault."""
        print(f"{self.codes.total()} damaged files of {len(self.kinds)} kinds; "
              f"exit codes {dict(sorted(self.codes.items()))}")  # fmt: skip
        print(
            f"slowest {self.slowest:.1f} s of processor time, most memory {self.most:.0f} MB beyond the start"
        )
        print(f"{self.faults.total()} faults of {len(self.faults)} kinds")
        for fault, count in self.faults.most_common():
            print(f"  {count} × {fault}")


if __name__ == "__main__":
    main()
