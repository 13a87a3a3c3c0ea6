"""The mask scores beside inflating alone, nibabel and panoptica: ratios, best of five.

Truth and prediction are .nii.gz files of full size (`synthetic_masks`). Every job runs in a process
of its own and this one only collects. panoptica pins an older numpy, so it is asked in an
environment of its own (`--peers`), where it times itself.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.bench.harness import (
    ROUNDS,
    Line,
    Work,
    best_in_turns,
    memory_growth,
    peak_memory,
    report,
    start_job,
    time_once,
)

CHUNK = 3 << 20
SEEDS = {"usual": 3, "diffuse": 12}


# ---- the work ------------------------------------------------------------------------------


def make_files(folder: Path) -> None:
    """The files of all jobs."""
    from tools.bench import synthetic_masks

    for name, plans in (("usual", synthetic_masks.USUAL), ("diffuse", synthetic_masks.DIFFUSE)):
        (folder / name).mkdir()
        synthetic_masks.make_pair(folder / name, SEEDS[name], plans)


def make_subject(folder: Path) -> Any:
    """One case whose masks lie in the folder, its findings categorised as they were planned."""
    from overread.core import Case, Entry, Finding, Geometry, Mask, Query, Reading, Truth, Volume
    from overread.metrics.contract import Subject
    from tools.bench import synthetic_masks

    plans = synthetic_masks.DIFFUSE if folder.name == "diffuse" else synthetic_masks.USUAL
    count = len(plans)

    def findings(file: str) -> tuple[Finding, ...]:
        return tuple(
            Finding(
                text="opacity",
                query=str(n),
                category=plan.category,
                regions=(Mask(picture="ct", file=file, channel=n, channels=count),),
            )
            for n, plan in enumerate(plans)
        )

    sides = synthetic_masks.SPACING
    rows = [[side if i == j else 0.0 for j in range(4)] for i, side in enumerate((*sides, 1.0))]
    space = Geometry.model_validate(
        {"shape": synthetic_masks.SHAPE, "spacing": sides, "affine": rows, "axes": "RAS"}
    )

    class Here:
        pictures: Any

        def source(self, file: str) -> Path:
            return folder / file

        def geometry(self, picture: Any) -> Geometry:
            return space

    here = Here()
    here.pictures = here
    case = Case(
        id="c",
        benchmark="rexgroundingct",
        split="test",
        pictures=(Volume(name="ct", shape=synthetic_masks.SHAPE),),
        queries=tuple(Query(id=str(n), text="opacity") for n in range(count)),
    )
    entry = Entry(case=case, truth=Truth(findings=findings("truth.nii.gz")))
    reading = Reading(case_id="c", reader="r", findings=findings("predicted.nii.gz"))
    return Subject(entry, reading, here, here)


def score_with_overread(folder: Path) -> Work:
    """The official suite, its ceiling and the challenge's distances, from the files."""
    from overread.metrics.masks.measure import measure_masks

    case = make_subject(folder)
    return lambda: measure_masks(case)


def inflate_only(folder: Path) -> Work:
    """Both files inflated with zlib-ng into a buffer that is used again."""
    from zlib_ng import gzip_ng

    view = memoryview(bytearray(CHUNK))

    def work() -> None:
        for name in ("truth.nii.gz", "predicted.nii.gz"):
            inflated: Any = gzip_ng.GzipNGFile
            with inflated(folder / name) as stream:
                while stream.readinto(view):
                    pass

    return work


def nibabel_dice(folder: Path) -> Work:
    """Dice alone, with nibabel and a contiguous copy of each finding."""
    import nibabel as nib
    import numpy as np

    def work() -> list[float]:
        truth, predicted = (
            np.asarray(nib.load(folder / name).dataobj) for name in ("truth.nii.gz", "predicted.nii.gz")
        )
        scores = []
        for n in range(len(truth)):
            one = np.ascontiguousarray(truth[n]) > 0
            other = np.ascontiguousarray(predicted[n]) > 0
            both = np.logical_and(one, other).sum()
            scores.append(float((2 * both + 1e-6) / (one.sum() + other.sum() + 1e-6)))
        return scores

    return work


def panoptica_scores(folder: Path) -> Work:
    """Components, matching and Dice with panoptica, from the files."""
    import nibabel as nib
    import numpy as np
    from panoptica import (  # type: ignore[import-not-found]
        ConnectedComponentsInstanceApproximator,
        InputType,
        NaiveThresholdMatching,
        Panoptica_Evaluator,
    )
    from panoptica.metrics import Metric  # type: ignore[import-not-found]

    def work() -> None:
        truth, predicted = (
            np.asarray(nib.load(folder / name).dataobj) for name in ("truth.nii.gz", "predicted.nii.gz")
        )
        evaluator = Panoptica_Evaluator(
            expected_input=InputType.SEMANTIC,
            instance_approximator=ConnectedComponentsInstanceApproximator(),
            instance_matcher=NaiveThresholdMatching(matching_metric=Metric.DSC, matching_threshold=0.2),
            instance_metrics=[Metric.DSC],
            global_metrics=[Metric.DSC],
            log_times=False,
        )
        for n in range(len(truth)):
            one = np.ascontiguousarray(truth[n] > 0).astype(np.uint8)
            other = np.ascontiguousarray(predicted[n] > 0).astype(np.uint8)
            evaluator.evaluate(other, one, verbose=False)

    return work


# ---- jobs, each in a process of its own ----------------------------------------------------


def measure_memory(folder: Path) -> list[float]:
    """Megabytes by which the peak grows while one case is scored, and in all."""
    return [memory_growth(score_with_overread(folder)), peak_memory()]


def time_in_turns(folder: Path, rounds: int) -> list[float]:
    """Best seconds of ours and of inflating alone, in turns, after one run to warm up."""
    works = [score_with_overread(folder), inflate_only(folder)]
    for work in works:
        work()
    return best_in_turns(*works, rounds=rounds)


def run_job(kind: str, folder: Path, rounds: int) -> Any:
    """One job, in this process."""
    if kind == "make":
        return make_files(folder)
    if kind == "memory":
        return measure_memory(folder)
    if kind == "turns":
        return time_in_turns(folder, rounds)
    work = {"nibabel": nibabel_dice, "panoptica": panoptica_scores}[kind](folder)
    return min(time_once(work) for _ in range(rounds))


# ---- the table -----------------------------------------------------------------------------


def measure(folder: Path, rounds: int, peers: Path) -> Iterator[Line]:
    """All measurements, one by one."""

    def job(kind: str, part: str, **where: str) -> Any:
        words = ("--rounds", str(rounds), "--job", kind, str(folder / part))
        return start_job("mask_scores", *words, **where)

    job("make", "")
    best, floor = job("turns", "usual")
    yield Line("both files inflated with zlib-ng", floor, "s")
    yield Line("official suite, ceiling and distances", best, "s")
    yield Line("  times inflating", best / floor, "×", limit=5)
    slow = job("nibabel", "usual")
    yield Line("nibabel, contiguous copies, numpy Dice alone", slow, "s")
    yield Line("  ours to it", best / slow, "×", limit=1 / 25, note=f"{slow / best:.0f}× faster")
    if peers.exists():
        slow = job("panoptica", "usual", python=str(peers.absolute()))
        yield Line("panoptica, Dice and matching", slow, "s")
        faster = f"{slow / best:.0f}× faster"
        yield Line("  ours to it", best / slow, "×", limit=1 / 30, note=faster)
    else:
        yield Line("panoptica", None, "s", note=f"not there: no interpreter at {peers}")
    growth, total = job("memory", "usual")
    yield Line("peak memory, growth while scoring", growth, "MB", limit=200)
    yield Line("peak memory, the whole process", total, "MB", limit=200)
    best, _ = job("turns", "diffuse")
    yield Line("a diffuse finding of 300 specks", best, "s", limit=2)


def main() -> None:
    """Measure, print, and leave with 1 where a stated limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of which the best counts")
    parser.add_argument(
        "--peers", type=Path, default=Path(".venv-peers/bin/python"), help="where panoptica is"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers there too")
    parser.add_argument("--job", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        kind, folder = options.job
        print(json.dumps(run_job(kind, Path(folder), options.rounds)))
        return
    with tempfile.TemporaryDirectory(prefix="overread-bench-") as made:
        report(measure(Path(made), options.rounds, options.peers), options.json)


if __name__ == "__main__":
    main()
