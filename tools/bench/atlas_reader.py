"""The embedded reader beside the bounds and a plain baseline, on phantom patients.

.venv/bin/python -m tools.bench.atlas_reader [--out DIR] [--patients 100] [--even 60] [--cases 500]

Makes the patients, has every reader read them, scores, and compares in pairs; prints the tables of
docs/atlas.md. With --out the patients and runs stay, and the same command goes on where it was
stopped. `majority` counts in 20 further patients. Takes an hour of two cores.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Sequence
from itertools import count, islice
from pathlib import Path

import numpy as np

from overread import Card, RunPlan, compare, grade, run, score
from overread.phantom.baseline import baseline_mask
from overread.phantom.generator import make_population
from overread.phantom.population import Mix, split_of
from overread.phantom.statement import FindingStatement
from overread.phantom.visit import PatientSettings
from overread.pixels.masks import write_mask
from overread.pixels.nifti import read_volume
from overread.runs.scoring.comparison import CardComparison

TRAIN = 20
"""Patients for `majority` to count in."""
MIN_FINDINGS = 10
"""Findings that each category must have in the two populations of CTs together."""
BOUNDS = ("atlas", "random", "majority", "nothing", "oracle")
DICE = "honest_global_only_mean_global_dice_per_finding"
"""Of the mask as it was drawn; what is missing counts 0."""


def patient_numbers(split: str) -> Iterable[int]:
    """The numbers of the patients of a split."""
    return (number for number in count(1) if split_of(number) == split)


def make_patients(out: Path, patients: int, mix: Mix, seed: int, exams: Sequence[str]) -> Path:
    """So many patients in test, and a few in train."""
    chosen = [*islice(patient_numbers("test"), patients), *islice(patient_numbers("train"), TRAIN)]
    done = make_population(out, chosen, PatientSettings(seed=seed, mix=mix), exams=exams)
    if done.failed:
        raise SystemExit(f"{len(done.failed)} patients could not be made: {done.failed}")
    return out


def run_readers(benchmark: str, root: Path, runs: Path, readers: Sequence[str]) -> dict[str, Card]:
    """The scorecards of several readers."""
    cards = {}
    for reader in readers:
        folder = runs / reader
        outcome = run(RunPlan(benchmark, root, reader), folder)
        if outcome.tally.failed:
            raise SystemExit(f"{reader} failed on {outcome.tally.failed} cases of {benchmark}")
        cards[reader] = score(folder, workers=2)
    return cards


def grade_baseline(root: Path, out: Path) -> Card:
    """Scorecard of the baseline: an HU range inside the true lobes that the sentence names."""
    out.mkdir(parents=True, exist_ok=True)
    for line in (root / "phantom.jsonl").read_text().splitlines():
        row = json.loads(line)
        if row["split"] != "test":
            continue
        hu, space = read_volume(root / "images" / row["name"])
        lobes, organs = (
            np.asarray(read_volume(root / "anatomy" / part / row["name"])[0], np.uint8)
            for part in ("lobes", "organs")
        )
        channels = [
            baseline_mask(
                np.asarray(hu, np.int16),
                lobes,
                organs,
                FindingStatement.model_validate(one["statement"]),
                tuple(one["said"]),
            ).astype(np.uint8)
            for one in row["findings"]
        ]
        write_mask(out / row["name"], channels, np.asarray(space.affine))
    return grade("rexgroundingct", root, out, reader="baseline", workers=2)


def atlas_lead(found: CardComparison, metric: str, name: str) -> tuple[float, float, float]:
    """What atlas has more than another reader, and the interval of that.

    `compare` takes the others minus the baseline, which here is atlas.
    """
    less = found.metrics[metric].differences[name].difference
    assert less.value is not None
    assert less.low is not None
    assert less.high is not None
    return -less.value, -less.high, -less.low


def beats(found: CardComparison, metric: str) -> bool:
    """Whether atlas is above everybody but the oracle, all intervals above 0."""
    others = (name for name in found.cards if name not in ("atlas", "oracle"))
    return all(atlas_lead(found, metric, name)[1] > 0 for name in others)


def format_rows(found: CardComparison, metric: str) -> list[str]:
    """The rows of a table: each reader, and what atlas has more than it."""
    lines = []
    for name in found.cards:
        own = found.cards[name].scores[metric]
        line = f"| {name} | {own.value:.3f} ({own.low:.3f} to {own.high:.3f}) |"
        if name != "atlas":
            value, low, high = atlas_lead(found, metric, name)
            line += f" {value:+.3f} ({low:+.3f} to {high:+.3f}) |"
        lines.append(line if name != "atlas" else f"{line} |")
    return lines


def print_comparison(title: str, cards: dict[str, Card], metric: str) -> CardComparison:
    """Compare and print."""
    found = compare(list(cards.values()), names=list(cards), baseline="atlas", metrics=[metric])
    print(f"\n{title}: {metric}, n = {cards['atlas'].scores[metric].n}\n")
    print("| reader | score (95 %) | atlas has more (95 %, paired) |\n|---|---|---|")
    print("\n".join(format_rows(found, metric)), flush=True)
    return found


def print_by_category(populations: dict[str, dict[str, Card]]) -> None:
    """Mean Dice by category, for each population; every category must be met often enough."""
    met: dict[str, int] = {}
    for title, cards in populations.items():
        groups = {name: card.breakdowns["category"] for name, card in cards.items()}
        print(f"\nBy category, {title}:\n")
        print(f"| category | n | {' | '.join(groups)} |\n|---|---|{'---|' * len(groups)}")
        for category in sorted(groups["atlas"]):
            many = groups["atlas"][category].n
            met[category] = met.get(category, 0) + many
            values = [own[category].scores[DICE].value or 0.0 for own in groups.values()]
            print(f"| {category} | {many} | {' | '.join(f'{v:.3f}' for v in values)} |")
    few = [name for name, many in met.items() if many < MIN_FINDINGS]
    print(f"\n{len(met)} categories; fewer than {MIN_FINDINGS} findings: {', '.join(few) or 'none'}")


def compare_ct(out: Path, given: argparse.Namespace) -> bool:
    """Both populations of CTs, and the table by category."""
    populations, kept = {}, True
    plans: tuple[tuple[Mix, int, tuple[str, ...]], ...] = (
        ("real", given.patients, ("rexgroundingct", "mmrad")),
        ("even", given.even, ("rexgroundingct",)),
    )
    for mix, patients, exams in plans:
        root = make_patients(out / mix, patients, mix, given.seed, exams) / "rexgroundingct"
        cards = run_readers("rexgroundingct", root, out / f"{mix}-runs", BOUNDS)
        cards["baseline"] = grade_baseline(root, out / f"{mix}-baseline")
        found = print_comparison(f"CT, mix {mix}", cards, DICE)
        populations[f"mix {mix}"] = cards
        kept &= atlas_lead(found, DICE, "baseline")[0] >= 0.10 and beats(found, DICE)
    print_by_category(populations)
    return kept


def compare_films(out: Path, given: argparse.Namespace) -> bool:
    """The reports of the radiographs of the real mix."""
    root = make_patients(out / "real", given.patients, "real", given.seed, ("rexgroundingct", "mmrad"))
    cards = run_readers("mmrad", root / "mmrad", out / "film-runs", BOUNDS)
    return beats(print_comparison("Radiographs", cards, "clinical_score"), "clinical_score")


def compare_cases(out: Path, given: argparse.Namespace) -> bool:
    """The choices among diagnoses."""
    root = make_patients(out / "cases", given.cases, "illness", given.seed, ("medthinkvqa",))
    cards = run_readers("medthinkvqa", root / "medthinkvqa", out / "case-runs", (*BOUNDS, "longest"))
    return beats(print_comparison("Cases", cards, "accuracy"), "accuracy")


PARTS = {"ct": compare_ct, "films": compare_films, "cases": compare_cases}


def main() -> None:
    """Make, read, score, compare; exit code 1 where a promise is not kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--patients", type=int, default=100)
    parser.add_argument("--even", type=int, default=60)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", choices=PARTS, action="append")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="overread-atlas-") as folder:
        out = given.out or Path(folder)
        kept = [PARTS[name](out, given) for name in given.part or PARTS]
    print("\nkept" if all(kept) else "\nNOT KEPT: see above")
    sys.exit(not all(kept))


if __name__ == "__main__":
    main()
