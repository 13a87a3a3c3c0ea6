"""What a synthetic patient costs, on one core: part of `make bench`.

Each patient is made and written in a process of its own. Of five patients the quickest and the
slowest are shown; the limits hold for the quickest, since the machines are shared, and for the
largest memory of all.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

from tools.bench.harness import start_job

PATIENTS = 5
LIMITS = {("small", "ct"): (3.0, 1.0), ("full", "ct"): (60.0, 3.0), ("small", "all"): (6.0, 1.2)}
"""Seconds and GB a patient, by size and exams: the CT alone, or all three."""


def time_patient(size: str, exams: str, number: int) -> None:
    """Make and write one patient here; print seconds and GB as JSON."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    from overread.phantom.exams.patient_exams import EXAMS, write_exams
    from overread.phantom.visit import PatientSettings

    every = exams == "all"
    settings = PatientSettings.model_validate({"size": size, "mix": "illness" if every else "real"})
    with tempfile.TemporaryDirectory(prefix="overread-bench-") as folder:
        begin = time.perf_counter()
        write_exams(number, settings, tuple(EXAMS) if every else ("rexgroundingct",), Path(folder))
        seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    print(json.dumps([seconds, peak]))


def main() -> None:
    """Measure both sizes, print, and leave with 1 where a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", choices=("small", "full"), help="only this one")
    parser.add_argument("--exams", choices=("ct", "all"), help="only these")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        time_patient(options.size, options.exams, options.one)
        return
    over = False
    for (size, exams), (seconds, gigabytes) in LIMITS.items():
        if options.size not in (None, size) or options.exams not in (None, exams):
            continue
        runs = []
        for number in range(1, PATIENTS + 1):
            words = ("--size", size, "--exams", exams, "--one", str(number))
            runs.append(start_job("phantom_patients", *words))
        quick, slow = min(run[0] for run in runs), max(run[0] for run in runs)
        memory = max(run[1] for run in runs)
        verdict = "ok" if quick <= seconds and memory <= gigabytes else "over"
        over |= verdict == "over"
        print(
            f"phantom, one {size} patient, {'all three exams' if exams == 'all' else 'CT'}: "
            f"{quick:.2f} s (slowest of {PATIENTS}: {slow:.2f} s), "
            f"{memory:.2f} GB at most; limit {seconds:g} s, {gigabytes:g} GB  {verdict}",
            flush=True,
        )
    sys.exit(over)


if __name__ == "__main__":
    main()
