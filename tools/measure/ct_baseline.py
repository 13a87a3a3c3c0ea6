"""Mean Dice of the plain baseline (HU band in the named lobe) on phantom patients.

.venv/bin/python -m tools.measure.ct_baseline --patients 100
.venv/bin/python -m tools.measure.ct_baseline --patients 40 --difficulty hard --mix even
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

from overread.phantom.baseline import baseline_mask, dice_score
from overread.phantom.patient import PatientSettings, make_patient


def patient_scores(number: int, settings: PatientSettings) -> list[tuple[str, float, int]]:
    """Category, Dice and voxels of each finding of one patient."""
    patient = make_patient(number, settings)
    scores = []
    for n, finding in enumerate(patient.findings):
        said = finding.sentence.said
        guess = baseline_mask(patient.hu, patient.lobes, patient.organs, finding.statement, said)
        truth = patient.labels(n) > 0
        scores.append((finding.statement.category, dice_score(guess, truth), int(truth.sum())))
    return scores


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--patients", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--difficulty", default="medium")
    parser.add_argument("--mix", default="real")
    parser.add_argument("--size", default="small")
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    settings = PatientSettings(seed=args.seed, difficulty=args.difficulty, mix=args.mix, size=args.size)
    by_category: dict[str, list[float]] = defaultdict(list)
    volume: dict[str, list[int]] = defaultdict(list)
    with ProcessPoolExecutor(args.workers) as pool:
        numbers = range(1, args.patients + 1)
        for scores in pool.map(partial(patient_scores, settings=settings), numbers):
            for category, value, voxels in scores:
                by_category[category].append(value)
                volume[category].append(voxels)
    every = [value for values in by_category.values() for value in values]
    spread = 1.96 * np.std(every) / np.sqrt(len(every))
    print(f"{settings.difficulty}, {args.patients} patients, {len(every)} findings")
    print(f"mean Dice {np.mean(every):.3f} ± {spread:.3f}")
    for category in sorted(by_category):
        values = by_category[category]
        print(
            f"  {category}  n {len(values):4d}  Dice {np.mean(values):.3f}"
            f"  median voxels {int(np.median(volume[category]))}"
        )


if __name__ == "__main__":
    main()
