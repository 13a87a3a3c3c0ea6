"""How long grading takes: 720 MedThinkVQA predictions with 1,000 draws, the whole command."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.bench.harness import Line, report, time_process
from tools.bench.loading import make_rows

CASES = 720
LIMIT = 2.0


def make_files(folder: Path, seed: int) -> Path:
    """A test split of the published size and predictions of it, some of them right."""
    make_rows(folder, seed, rows=CASES, split="test")
    dice = random.Random(seed)
    out = folder / "predictions.jsonl"
    with out.open("w", encoding="utf-8") as lines:
        for line in (folder / "test.jsonl").open(encoding="utf-8"):
            row = json.loads(line)
            row["prediction"] = row["correct_answer"] if dice.random() < 0.5 else dice.choice("ACDE")
            lines.write(json.dumps(row) + "\n")
    return out


def main() -> None:
    """Make the files, grade them five times, print the best."""
    overread = str(Path(sys.executable).with_name("overread"))
    with tempfile.TemporaryDirectory(prefix="overread-bench-") as made:
        folder = Path(made)
        predictions = make_files(folder, seed=7)
        words = (overread, "grade", "medthinkvqa", str(folder), str(predictions))
        best = time_process(*words, "--draws", "1000", expected="accuracy")
        told = subprocess.run([*words, "--json"], capture_output=True, text=True, check=True)
    right = json.loads(told.stdout)["accuracy"] * CASES
    if abs(right - round(right)) > 1e-9:
        raise SystemExit(f"accuracy × {CASES} is {right}, no whole number")
    report([Line(f"{CASES} predictions graded, 1,000 draws", best, "s", limit=LIMIT)])


if __name__ == "__main__":
    main()
