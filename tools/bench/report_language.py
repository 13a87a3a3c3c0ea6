"""How fast reports are read by the rules: part of `make bench`.

Sentences a second that are read into statements, and pairs of reports a second that are scored by the
clinical rules, one thread, the best of five rounds over texts that were not seen before. The reports are
the phantom's and, where they lie beside the checkout, real ones: those of Open-i, or with --reports of
another file of JSON lines.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from overread.core import Case, Entry, Reading, Truth
from overread.language.unread import read_statements
from overread.metrics import Subject
from overread.runs.scoring.metric_selection import find_metric
from tools.bench.harness import ROOT, ROUNDS, Line, report
from tools.bench.word_metrics import Pairs, phantom_pairs, real_pairs

PAIRS = 200
"""Pairs of one round."""
REAL = ROOT.parent / "shared" / "data" / "reports" / "openi_reports.jsonl"
FEWEST_SENTENCES = 2000.0
FEWEST_PAIRS = 100.0


def best_seconds(pairs: Pairs, work: Callable[[Pairs], float]) -> float:
    """The fewest seconds that one of what `work` counts takes, over rounds of other pairs."""
    found = []
    for first in range(0, len(pairs), PAIRS):
        begin = time.process_time()
        count = work(pairs[first : first + PAIRS])
        found.append((time.process_time() - begin) / count)
    return min(found)


def read_sentences(pairs: Pairs) -> float:
    """Read the first of each pair; how many sentences they have."""
    return sum(read_statements(truth).sentences for truth, _ in pairs)


def score_pairs(pairs: Pairs) -> float:
    """Hold each pair's second to its first; how many there are."""
    measure = find_metric("clinical_score").measure
    for number, (truth, own) in enumerate(pairs):
        case = Case(id=f"c{number}", benchmark="mmrad", split="test")
        entry = Entry(case=case, truth=Truth(report=truth))
        row: Any = measure(Subject(entry, Reading(case_id=case.id, reader="r", report=own)))
        assert row, "nothing was measured"
    return len(pairs)


def measure_language(sources: Sequence[tuple[str, Pairs]]) -> Iterator[Line]:
    """Both speeds of each source, as milliseconds of one sentence and one pair."""
    for name, pairs in sources:
        read_sentences(pairs[:1])  # what is loaded once is not what is measured
        score_pairs(pairs[:1])
        one, two = (1000 * best_seconds(pairs, work) for work in (read_sentences, score_pairs))
        note = f"{1000 / one:,.0f} a second"
        yield Line(f"{name}: a sentence read", one, "ms", limit=1000 / FEWEST_SENTENCES, note=note)
        note = f"{1000 / two:,.0f} a second"
        yield Line(f"{name}: a pair of reports scored", two, "ms", limit=1000 / FEWEST_PAIRS, note=note)


def main() -> None:
    """Measure, print, and leave with 1 where it is slower than promised."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=7, help="of the pairs")
    parser.add_argument("--reports", type=Path, default=REAL, metavar="JSONL", help="real reports")
    options = parser.parse_args()
    sources = [("phantom reports", phantom_pairs(options.seed, ROUNDS * PAIRS))]
    if options.reports.is_file():
        sources.append(("real reports", real_pairs(options.reports, options.seed, ROUNDS * PAIRS)))
    else:
        print(f"no real reports here ({options.reports.name}): those lines are left out")
    report(measure_language(sources))


if __name__ == "__main__":
    main()
