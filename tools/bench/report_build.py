"""How long does a model-free `rexgroundingct` build of real reports take, and is anything lost?

    python -m tools.bench.report_build ../shared/data/reports/ctrate_validation_reports.csv

The whole build is timed, ledger and annotation tasks and all. Afterwards every report is gone
through again, apart from the build's own checks: each sentence must be told by a sorted one or left out
with a reason, each number of the report must stand in the sorted sentences as often as before, and
each number of a sentence that tells a finding must stand in one of its phrases. No sentence is ever printed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from overread.build.rexgroundingct import RECIPE
from overread.build.rexgroundingct.phrase_step import phrase_problems
from overread.build.runner import run_build
from overread.language.numerals import find_numerals

LIMIT = 60.0
"""Seconds for 1,000 reports on two cores."""


def main() -> int:
    """Build, go through it again, print; 1 where something was lost or it took too long."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("reports", type=Path, help="a table as CT-RATE has it")
    parser.add_argument("--limit", type=int, default=1000, help="so many reports")
    told = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:2]))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "build")
        begun = time.monotonic()
        outcome = run_build(RECIPE, told.reports, out, limit=told.limit)
        took = time.monotonic() - begun
        counts, lost = count_losses(out)
    busy = resource.getrusage(resource.RUSAGE_SELF)
    print(f"{counts['reports']} reports in {took:.1f} s ({busy.ru_utime:.0f} s of one core, "
          f"{busy.ru_maxrss / 1024:.0f} MB)")  # fmt: skip
    for step in outcome.steps:
        drops = ", ".join(f"{reason} {count}" for reason, count in step.dropped.most_common())
        print(f"  {step.name:<18} {step.came:>5} came, {step.kept:>5} went on, "
              f"{step.waiting:>4} wait  {drops}")  # fmt: skip
    print(f"{counts['sentences']:,} sentences, {counts['left out']:,} of them left out with a reason, "
          f"{counts['numbers']:,} numbers, {counts['phrases']:,} phrases, "
          f"{counts['positives']:,} positive")  # fmt: skip
    print(f"lost: {dict(lost) or 'nothing'}")
    scale = 1000 / max(counts["reports"], 1)
    return int(bool(lost) or took * scale > LIMIT)


def count_losses(out: Path) -> tuple[Counter[str], Counter[str]]:
    """Counts of what a build holds, and of what was lost on the way."""
    counts: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    for data in _items(out):
        counts["reports"] += 1
        if "coded" not in data:
            continue
        told = set().union(*map(set, data["origins"].values()))
        counts["sentences"] += len(data["sentences"])
        counts["left out"] += len(data["left_out"])
        lost["sentences"] += len(data["sentences"].keys() - told - data["left_out"].keys())
        whole = f"{data['findings']}\n\n{data.get('impressions') or ''}"
        before = Counter(number.meaning for number in find_numerals(whole))
        put_aside = [data["sentences"][code] for code in data["left_out"]]
        kept = [*data["coded"].values(), *put_aside]
        after = Counter(n.meaning for text in kept for n in find_numerals(text))
        counts["numbers"] += before.total()
        lost["numbers"] += (before - after).total()
        rows = {key: tuple(row) for key, row in data["phrases"].items()}
        counts["phrases"] += len(rows)
        counts["positives"] += sum(row[2] == "Y" for row in rows.values())
        lost["in phrases"] += len(phrase_problems(data["coded"], rows))
    return counts, +lost


def _items(out: Path) -> list[dict[str, Any]]:
    """All that a build knows of each report."""
    base = sqlite3.connect(out / "ledger.sqlite")
    found: dict[str, dict[str, Any]] = {}
    for item, data in base.execute("SELECT id, data FROM items"):
        found[item] = json.loads(data)
    query = "SELECT e.item, e.data FROM flow f JOIN entries e ON e.id = f.entry"
    for item, data in base.execute(query):
        found[item] |= json.loads(data) if data else {}
    base.close()
    return list(found.values())


if __name__ == "__main__":
    sys.exit(main())
