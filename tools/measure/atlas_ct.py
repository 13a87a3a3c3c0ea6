"""Mean Dice of the embedded reader on phantom CTs, beside the plain baseline, by category.

.venv/bin/python -m tools.measure.atlas_ct --patients 100
.venv/bin/python -m tools.measure.atlas_ct --patients 60 --mix even --seed 3

The baseline is handed the true lobes and the true category; the reader gets the CT and the
sentence. Differences are paired, and intervals are of 2,000 draws of patients.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from overread.core import Case, Geometry, Query, Volume
from overread.phantom.baseline import baseline_mask, dice_score
from overread.phantom.patient import PatientSettings, make_patient
from overread.readers.atlas import make


@dataclass(frozen=True)
class OnePicture:
    """The CT of one patient, as a release would open it."""

    voxels: NDArray[np.int16]
    space: Geometry

    def data(self, picture: object) -> bytes:
        """Nobody asks for the file."""
        raise NotImplementedError

    def pixels(self, picture: object) -> NDArray[np.int16]:
        """The voxels in their stored order."""
        return self.voxels

    def geometry(self, picture: object) -> Geometry:
        """Where they lie."""
        return self.space


@dataclass(frozen=True)
class FindingScore:
    """One finding: both Dice values."""

    patient: int
    category: str
    kind: str
    atlas: float
    baseline: float


def patient_scores(number: int, settings: PatientSettings) -> tuple[list[FindingScore], float]:
    """The findings of one patient, and the seconds of a core that the reader took."""
    patient = make_patient(number, settings)
    queries = tuple(
        Query(id=str(n), text=finding.sentence.text) for n, finding in enumerate(patient.findings)
    )
    case = Case(
        id=f"patient_{number}",
        benchmark="rexgroundingct",
        split="test",
        pictures=(Volume(name="ct"),),
        queries=queries,
    )
    # The phantom's arrays are (z, y, x); a file's are (x, y, z).
    ct = OnePicture(np.ascontiguousarray(patient.hu.transpose(2, 1, 0)), patient.geometry)
    start = time.process_time()
    _, masks = make({}).compute_reading(case, ct, seed=0)
    spent = time.process_time() - start
    scores = []
    for n, (finding, mask) in enumerate(zip(patient.findings, masks, strict=True)):
        truth = patient.labels(n) > 0
        plain = baseline_mask(
            patient.hu, patient.lobes, patient.organs, finding.statement, finding.sentence.said
        )
        own = np.zeros(truth.shape, bool) if mask is None else np.asarray(mask).transpose(2, 1, 0)
        state = finding.statement
        scores.append(
            FindingScore(number, state.category, state.kind, dice_score(own, truth), dice_score(plain, truth))
        )
    return scores, spent


def interval(scores: list[FindingScore], seed: int = 0) -> tuple[float, float, float]:
    """The mean paired difference and its 95 % interval, patients drawn whole."""
    by_patient: dict[int, list[float]] = defaultdict(list)
    for score in scores:
        by_patient[score.patient].append(score.atlas - score.baseline)
    sums = np.array([sum(values) for values in by_patient.values()])
    counts = np.array([len(values) for values in by_patient.values()])
    rng = np.random.default_rng(seed)
    draws = rng.integers(0, len(sums), (2000, len(sums)))
    means = sums[draws].sum(axis=1) / counts[draws].sum(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return float(sums.sum() / counts.sum()), float(low), float(high)


def print_table(scores: list[FindingScore]) -> None:
    """Print a line for each category, and one for all."""
    groups: dict[str, list[FindingScore]] = defaultdict(list)
    for score in scores:
        groups[score.category].append(score)
    print("category    n  atlas  baseline  difference (95 %)")
    for name, group in [*sorted(groups.items()), ("all", scores)]:
        atlas = np.mean([score.atlas for score in group])
        plain = np.mean([score.baseline for score in group])
        mean, low, high = interval(group)
        print(
            f"{name:8s} {len(group):4d}  {atlas:.3f}  {plain:.3f}     {mean:+.3f} ({low:+.3f} to {high:+.3f})"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--patients", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--difficulty", default="medium")
    parser.add_argument("--mix", default="real")
    parser.add_argument("--size", default="small")
    parser.add_argument("--wordings", default="common")
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    settings = PatientSettings(
        seed=args.seed, difficulty=args.difficulty, mix=args.mix, size=args.size, wordings=args.wordings
    )
    scores: list[FindingScore] = []
    seconds: list[float] = []
    with ProcessPoolExecutor(args.workers) as pool:
        numbers = range(1, args.patients + 1)
        for found, spent in pool.map(partial(patient_scores, settings=settings), numbers):
            scores += found
            seconds.append(spent)
    print(f"{args.size}, {args.difficulty}, mix {args.mix}, {args.patients} patients, seed {args.seed}")
    print_table(scores)
    print(f"seconds of a core a CT: median {np.median(seconds):.2f}, most {max(seconds):.2f}")


if __name__ == "__main__":
    main()
