"""How many planted leaks and clues rules alone find in the phantom's raw cases.

.venv/bin/python -m tools.measure.text_leaks --seed 101
.venv/bin/python -m tools.measure.text_leaks --seed 101 --without-synonyms

Two thousand raw cases are drawn as text, and what is planted in them is held against what the steps
`leaks` and `probes` of the recipe `medthinkvqa` find, without any model. A case counts as found if
the planted place is among those found; a case without a planted leak in which one is found counts
against the precision. `--without-synonyms` takes the recipe's list of diagnoses away: it shows what
is left for a diagnosis that the list does not know.

Who wrote the list of diagnoses had read the phantom's synonyms and clues, and another seed draws
from the same ones. So L2 and clues measure here that known names and signs are found wherever they
stand, and that nothing else is; not how many of the world's the list knows. For that, the figure
without synonyms is the honest lower bound.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from overread.build.medthinkvqa.fields import DifferentialDiagnoses
from overread.build.medthinkvqa.leaks import Leak, find_leaks
from overread.build.medthinkvqa.probes import answer_by_rules, find_clues
from overread.language.diagnoses.names import DiagnosisNames, bundled_names
from overread.phantom.illness.entries import make_text_entry
from overread.phantom.illness.raw_cases import PlantedHint, make_raw_case
from overread.phantom.illness.sampler import draw_draft
from overread.phantom.visit import PatientSettings

LEVELS = ("L3", "L2", "L1")


def raw_cases(number: int, seed: int) -> Iterator[tuple[dict[str, Any], PlantedHint]]:
    """Raw cases as text, and what is planted in each."""
    settings = PatientSettings(seed=seed, mix="illness")
    for patient in range(1, number + 1):
        draft = draw_draft(patient, settings)
        yield make_raw_case(draft, make_text_entry(draft, settings), settings)


def measure(number: int, seed: int, names: DiagnosisNames) -> dict[str, float]:
    """Shares: recall by level, how often level and diagnosis are right, precision, clues."""
    counts: Counter[str] = Counter()
    for row, planted in raw_cases(number, seed):
        listed = DifferentialDiagnoses(key=row["final_diagnosis"], listed=tuple(row["differential"]))
        leaks = find_leaks(row["history"], listed, names)
        clues = find_clues(row["history"], listed, names)
        answer, _ = answer_by_rules(row["history"], listed, clues)
        solved = answer == listed.key
        proof = any(clue.kind == "proof" for clue in clues)
        counts[planted.kind] += 1
        counts["flagged"] += bool(leaks)
        if planted.level is not None:
            _count_leak(counts, planted, leaks)
        elif planted.kind == "clue":
            counts["clue solved"] += solved
            counts["clue found"] += solved or proof
        else:
            counts["unplanted"] += 1
            counts["solved without a clue"] += solved or proof
    found = {f"recall {level}": counts[f"{level} found"] / counts[level] for level in LEVELS}
    hits = sum(counts[f"{level} found"] for level in LEVELS)
    planted_leaks = sum(counts[level] for level in LEVELS)
    return found | {
        "precision of leaks": hits / max(1, counts["flagged"]),
        "level as planted": counts["level right"] / planted_leaks,
        "diagnosis as planted": counts["about right"] / planted_leaks,
        "place as planted": counts["place right"] / planted_leaks,
        "clues: key chosen by rules": counts["clue solved"] / counts["clue"],
        "clues: found (chosen or proof)": counts["clue found"] / counts["clue"],
        "clues: precision": counts["clue found"]
        / max(1, counts["clue found"] + counts["solved without a clue"]),
    }


def _count_leak(counts: Counter[str], planted: PlantedHint, leaks: list[Leak]) -> None:
    assert planted.span is not None
    first, last = planted.span
    here = [leak for leak in leaks if leak.start < last and first < leak.end]
    counts[f"{planted.level} found"] += bool(here)
    counts["level right"] += any(leak.level == planted.level for leak in here)
    counts["about right"] += any(leak.about == planted.diagnosis for leak in here)
    counts["place right"] += any((leak.start, leak.end) == planted.span for leak in here)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=101)
    parser.add_argument("--without-synonyms", action="store_true")
    args = parser.parse_args()
    begun = time.perf_counter()
    names = DiagnosisNames([]) if args.without_synonyms else bundled_names()
    shares = measure(args.cases, args.seed, names)
    took = time.perf_counter() - begun
    print(f"{args.cases} raw cases as text, seed {args.seed}, {took:.1f} s")
    for name, share in shares.items():
        print(f"  {name:32s} {share:6.1%}")


if __name__ == "__main__":
    main()
