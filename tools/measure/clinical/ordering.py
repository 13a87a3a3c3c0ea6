"""Are graver changes of a report scored lower? Rewritten references in their order, in a table.

    .venv/bin/python -m tools.measure.clinical.ordering tests/metrics/clinical/data/ordering.jsonl

Each line has a reference and six rewrites of it: a paraphrase, another size, another severity, a
finding left out, another side, a finding denied. Each must score higher than the next; a tie is told
apart from a wrong order. The file was written by somebody who did not write the score.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from overread.core import Case, Entry, Reading, Truth
from overread.metrics import Metric, Sample, Statistics, Subject
from overread.metrics.clinical.rules import METRICS
from overread.metrics.words.scores import bleu_metric, rouge_metric

ORDER = ("paraphrase", "size", "severity", "omission", "side", "presence")
"""The rewrites, the least change first."""
TIED = 1e-9


def load_ordering(file: Path) -> list[dict[str, str]]:
    """The references with their rewrites."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]


def measure_rewrites(metric: Metric, row: Mapping[str, str]) -> dict[str, Statistics]:
    """Rewrite → what is measured of it against the reference."""
    found = {}
    for name in ORDER:
        case = Case(id="c", benchmark="mmrad", split="test")
        reading = Reading(case_id="c", reader="r", report=row[name])
        subject = Subject(Entry(case=case, truth=Truth(report=row["reference"])), reading)
        found[name] = metric.measure(subject)[""]
    return found


def score_rewrites(metric: Metric, measured: Mapping[str, Statistics]) -> dict[str, float]:
    """Rewrite → its score, more being better."""
    found = {}
    for name, row in measured.items():
        (number,) = metric.combine(Sample([row]))
        found[name] = float(number if metric.better == "higher" else -number)
    return found


def judge_steps(scores: Mapping[str, float]) -> dict[tuple[str, str], str]:
    """Adjacent rewrites → whether the first is scored higher: right, tie or wrong."""
    told = {}
    for one, two in itertools.pairwise(ORDER):
        apart = scores[one] - scores[two]
        told[one, two] = "right" if apart > TIED else "tie" if apart >= -TIED else "wrong"
    return told


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="lines of JSON, each with a reference and its rewrites")
    parser.add_argument("--ids", action="store_true", help="name the lines that are not in order")
    told = parser.parse_args(arguments)
    rows = load_ordering(told.file)
    metrics = [METRICS[name] for name in ("clinical_score", "clinical_errors", "clinical_f1")]
    metrics += [rouge_metric("report", "rougeL"), bleu_metric("report", 4)]
    steps = list(itertools.pairwise(ORDER))
    print(f"{len(rows)} references, {len(rows) * len(steps)} adjacent comparisons; wrong (tied)\n")
    print("| metric | all | " + " | ".join(f"{one} > {two}" for one, two in steps) + " |")
    print("|---" * (len(steps) + 2) + "|")
    for metric in metrics:
        measured = {row["id"]: measure_rewrites(metric, row) for row in rows}
        judged = {name: judge_steps(score_rewrites(metric, own)) for name, own in measured.items()}
        each = [[found[step] for found in judged.values()] for step in steps]
        every = [one for column in each for one in column]
        cells = [f"{c.count('wrong')} ({c.count('tie')})" for c in each]
        share = (
            f"{100 * every.count('wrong') / len(every):.1f} % ({100 * every.count('tie') / len(every):.1f} %)"
        )
        print(f"| {metric.name} | {share} | " + " | ".join(cells) + " |")
        if told.ids and metric.name == "clinical_score":
            for name, found in judged.items():
                for (one, two), verdict in found.items():
                    if verdict != "right":
                        print(f"  {name}: {one} > {two}: {verdict}")


if __name__ == "__main__":
    main()
