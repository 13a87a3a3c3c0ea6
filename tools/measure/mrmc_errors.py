"""How often `overread mrmc` finds a difference between groups that are equally good.

Readers differ in skill, cases in difficulty, and each answer has its own luck; what is right follows from
the sum. Prints the table of docs/grading.md: shares of studies with p < .05.
"""

from __future__ import annotations

import argparse

import numpy as np

from overread.metrics.statistics.mrmc import obuchowski_rockette

UNPAIRED = ((2, 1), (3, 1), (5, 1), (10, 1), (2, 2), (3, 3), (5, 3))
PAIRED = (2, 3, 5)


def share_found(first: int, second: int, *, paired: bool, cases: int, studies: int) -> float:
    """The share of studies in which two equal groups of so many readers differ with p < .05."""
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(studies):
        difficulty = rng.normal(0, 1, cases)
        skills = rng.normal(0, 0.3, first)
        if paired:
            others = skills + rng.normal(0, 0.2, first)
        else:
            others = np.zeros(1) if second == 1 else rng.normal(0, 0.3, second)
        everyone = np.append(skills, others)
        right = everyone[:, None] + difficulty + rng.normal(0, 1, (len(everyone), cases)) > 0
        values = right.mean(axis=1).tolist()
        groups = {
            "first": {str(n): value for n, value in enumerate(values[:first])},
            "second": {str(n): value for n, value in enumerate(values[first:])},
        }
        p = obuchowski_rockette(groups, np.cov(right.astype(float)) / cases, paired=paired).p
        found += p is not None and p < 0.05
    return found / studies


def main() -> None:
    """Print one line a design, for 60 and for 20 cases."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--studies", type=int, default=1500)
    studies = parser.parse_args().studies
    designs = [(one, two, False) for one, two in UNPAIRED] + [(count, count, True) for count in PAIRED]
    for first, second, paired in designs:
        shares = [
            share_found(first, second, paired=paired, cases=cases, studies=studies) for cases in (60, 20)
        ]
        kind = "paired" if paired else "unpaired"
        print(f"{first} and {second} readers, {kind}: {shares[0]:.3f} with 60 cases, {shares[1]:.3f} with 20")


if __name__ == "__main__":
    main()
