"""Would radiologists sign the clinical score? RadPref's errors and ratings against ours, in tables.

    .venv/bin/python -m tools.measure.clinical.radpref ../shared/data/reports/radpref_half.json
    .venv/bin/python -m tools.measure.clinical.radpref FILE --search

Each case has one reference and two candidates; three radiologists marked the errors of each and gave
it 1 to 5 points. Correlations are over all candidates, intervals from cases drawn again (both
candidates of a case go together). `--search` also chooses the form of the score by cross-validation
over cases: what is chosen on nine tenths is held to the tenth that it has not seen. No sentence of a
report is ever printed.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau, pearsonr

from overread.core import Case, Entry, Reading, Truth
from overread.metrics import Metric, Sample, Subject
from overread.metrics.clinical.rules import rule_metrics
from overread.metrics.clinical.significance import Significance, load_significance
from overread.metrics.words.scores import bleu_metric, rouge_metric

RESAMPLES = 1000
SEED = 19
FOLDS = 10
CANDIDATES = ("C1", "C2")
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Candidate:
    """One candidate report, and what radiologists made of it."""

    case: int
    reference: str
    report: str
    errors: float
    """Errors that a radiologist marked, mean of the readers."""
    rating: float
    """Points from 1 to 5, mean of the readers."""
    each_errors: tuple[float, ...]
    each_rating: tuple[float, ...]


def load_candidates(file: Path) -> list[Candidate]:
    """Both candidates of every case, one after the other."""
    told = json.loads(file.read_text("utf-8"))
    found = []
    for number, case in enumerate(told["cases"]):
        for name in CANDIDATES:
            marks = [reader[case["id"]][name] for reader in told["annotations"].values()]
            errors = tuple(float(len(m["finding_errors"]) + len(m["missing_findings"])) for m in marks)
            rating = tuple(float(m["rating"]) for m in marks)
            found.append(
                Candidate(
                    case=number,
                    reference=case["ground_truth_report"],
                    report=case[f"{name}_report"],
                    errors=float(np.mean(errors)),
                    rating=float(np.mean(rating)),
                    each_errors=errors,
                    each_rating=rating,
                )
            )
    return found


def measure(metric: Metric, candidates: Sequence[Candidate]) -> list[dict[str, Any]]:
    """The statistics of every candidate."""
    rows = []
    for one in candidates:
        case = Case(id="c", benchmark="mmrad", split="test")
        subject = Subject(
            Entry(case=case, truth=Truth(report=one.reference)),
            Reading(case_id="c", reader="r", report=one.report),
        )
        rows.append(dict(metric.measure(subject)[""]))
    return rows


def values(metric: Metric, rows: Sequence[Mapping[str, Any]]) -> Numbers:
    """One number a candidate, more of it being worse; where there is nothing to score, perfect."""
    found = np.array([metric.combine(Sample([row]))[0] for row in rows])
    found = np.where(np.isnan(found), metric.best, found)
    return found if metric.better == "lower" else -found


# ---- agreement with radiologists -----------------------------------------------------------


COLUMNS = ("errors: tau", "r", "in pairs", "rating: tau", "r", "in pairs")


def agreement(ours: Numbers, errors: Numbers, points: Numbers) -> list[float]:
    """Kendall's tau-b, Pearson's r and the share of pairs in the right order, with both targets."""
    told = []
    for target in (errors, -points):
        told += [
            float(kendalltau(ours, target).statistic),
            float(pearsonr(ours, target).statistic),
            in_pairs(ours, target),
        ]
    return told


def in_pairs(ours: Numbers, target: Numbers) -> float:
    """Share of the pairs of one reference that are in the right order; a tie of ours is half."""
    mine, theirs = (np.sign(found[0::2] - found[1::2]) for found in (ours, target))
    judged = theirs != 0
    right = np.where(mine == 0, 0.5, mine == theirs)
    return float(right[judged].mean())


def interval(ours: Numbers, errors: Numbers, points: Numbers) -> Numbers:
    """2.5 and 97.5 % of every column over cases drawn again."""
    rng = np.random.default_rng(SEED)
    cases = len(ours) // 2
    drawn = []
    for _ in range(RESAMPLES):
        chosen = rng.integers(0, cases, cases)
        rows = np.stack((2 * chosen, 2 * chosen + 1), axis=1).ravel()
        drawn.append(agreement(ours[rows], errors[rows], points[rows]))
    ends: Numbers = np.nanquantile(drawn, (0.025, 0.975), axis=0)
    return ends


def print_table(found: Mapping[str, Numbers], candidates: Sequence[Candidate]) -> None:
    """One line a metric."""
    errors = np.array([one.errors for one in candidates])
    points = np.array([one.rating for one in candidates])
    print("| metric | " + " | ".join(COLUMNS) + " |")
    print("|---" * (len(COLUMNS) + 1) + "|")
    for name, ours in found.items():
        told = agreement(ours, errors, points)
        ends = interval(ours, errors, points)
        cells = [f"{v:.2f} [{a:.2f}, {b:.2f}]" for v, a, b in zip(told, *ends, strict=True)]
        print(f"| {name} | " + " | ".join(cells).replace("0.", ".") + " |")
    each = (
        np.array([one.each_errors for one in candidates]),
        np.array([one.each_rating for one in candidates]),
    )
    ranks = [
        np.mean(
            [kendalltau(marks[:, n], np.delete(marks, n, axis=1).mean(axis=1)).statistic for n in range(3)]
        )
        for marks in each
    ]
    print(
        f"\nOne radiologist against the mean of the others: tau {ranks[0]:.2f} errors, {ranks[1]:.2f} rating."
    )


def metric_values(candidates: Sequence[Candidate]) -> tuple[dict[str, Numbers], list[dict[str, Any]]]:
    """Ours and the usual ones, and the statistics of the rules."""
    ours = rule_metrics("report")
    rows = measure(ours["clinical_score"], candidates)
    found = {
        name: values(ours[name], rows)
        for name in ("clinical_errors", "clinical_score", "clinical_f1", "chexpert_f1_rules_14")
    }
    found["omissions, additions, contradictions"] = np.array(
        [
            sum(sum(row["errors"].get(k, {}).values()) for k in ("omission", "addition", "presence"))
            for row in rows
        ]
    )
    for metric in (rouge_metric("report", "rougeL"), bleu_metric("report", 4)):
        found[metric.name] = values(metric, measure(metric, candidates))
    return found, rows


# ---- choosing the form ---------------------------------------------------------------------


LEVELS = {
    "flat": (1, 1, 1),
    "1.25, 1, .85": (1.25, 1, 0.85),
    "1.5, 1, .75": (1.5, 1, 0.75),
    "2, 1, .5": (2, 1, 0.5),
    "4, 1, .25": (4, 1, 0.25),
}
PRIORS = (0.5, 1.0, 2.0, 4.0)
DENIALS = (0.0, 0.1, 0.2)
Form = tuple[str, float, float]


def forms(base: Significance) -> dict[Form, Significance]:
    """What is tried: how far the levels lie apart, the prior, and what a lone denial weighs."""
    made = {}
    for (name, levels), prior, denial in itertools.product(LEVELS.items(), PRIORS, DENIALS):
        made[name, prior, denial] = replace(
            base,
            levels=dict(zip(("urgent", "significant", "minor"), levels, strict=True)),
            kinds={**base.kinds, "denial": denial},
            prior=prior,
        )
    return made


def search(rows: Sequence[Mapping[str, Any]], candidates: Sequence[Candidate]) -> None:
    """Choose the form on nine tenths of the cases, and say how it does on the rest."""
    errors = np.array([one.errors for one in candidates])
    points = np.array([one.rating for one in candidates])
    made = forms(load_significance())
    scored = {form: -np.array([weights.score(row) for row in rows]) for form, weights in made.items()}
    cases = np.array([one.case for one in candidates])
    fold = np.random.default_rng(SEED).permutation(cases.max() + 1) % FOLDS

    def quality(ours: Numbers, part: NDArray[np.bool_]) -> float:
        told = agreement(ours[part], errors[part], points[part])
        return float(np.mean([told[0], told[3], told[2], told[5]]))

    held = np.zeros(len(rows))
    chosen = []
    for n in range(FOLDS):
        out = np.isin(cases, np.flatnonzero(fold == n))
        best = max(scored, key=lambda form: quality(scored[form], ~out))
        chosen.append(best)
        held[out] = scored[best][out]
    every = np.ones(len(rows), bool)
    print("\nForm (levels, prior, denial), chosen by the mean of the taus and shares of pairs:")
    for form in sorted(set(chosen), key=chosen.count, reverse=True):
        print(f"  {form}: {chosen.count(form)} of {FOLDS} folds")
    ranked = sorted(scored, key=lambda form: -quality(scored[form], every))
    for form in ranked[:5]:
        print(f"  {form}: {quality(scored[form], every):.3f} on all")
    told = agreement(held, errors, points)
    print(
        "  chosen and scored on other cases: "
        + ", ".join(f"{c} {v:.2f}" for c, v in zip(COLUMNS, told, strict=True))
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="radpref_half.json")
    parser.add_argument("--search", action="store_true", help="choose the form of the score too")
    told = parser.parse_args(arguments)
    candidates = load_candidates(told.file)
    found, rows = metric_values(candidates)
    print(f"{len(candidates) // 2} cases, {len(candidates)} candidates\n")
    print_table(found, candidates)
    unread = sum(row["unread_reference"] + row["unread_other"] for row in rows)
    every = sum(row["sentences_reference"] + row["sentences_other"] for row in rows)
    print(f"\n{unread} of {every} sentences were not read.")
    if told.search:
        search(rows, candidates)


if __name__ == "__main__":
    main()
