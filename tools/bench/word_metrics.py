"""Word metrics beside the packages they are equal to: part of `make bench`.

5,000 pairs of reports, best of five, ours and the peer in turns, one thread; before every round all
that ours remembers of words is forgotten. The pairs are reports of the phantom, the candidate being
another wording of most of the same findings, or, with --reports, neighbours in a file of real ones.
"""

from __future__ import annotations

import argparse
import json
import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from nltk.translate.bleu_score import SmoothingFunction
from nltk.translate.bleu_score import sentence_bleu as nltk_bleu
from pycocoevalcap.cider.cider import Cider
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU

from overread.core import Case, Entry, Reading, Truth
from overread.metrics import Sample, Subject
from overread.metrics.words import corpus_bleu, counting, radcliq_bleu2, rouge, scores, tokens
from overread.metrics.words.cider_scores import cider_of_words
from overread.metrics.words.tokens import radcliq_words
from overread.metrics.words.word_cache import WordCache
from overread.phantom.statement import EXTRAPULMONARY, KINDS, FindingStatement
from overread.phantom.words.ct_report import write_ct_report
from overread.phantom.words.sentences import write_sentence
from tools.bench.harness import Line, Work, best_in_turns, report

PAIRS = 5000
CASES, DRAWS = 720, 1000
ROUGE_AT_LEAST = 20.0
LOBES = {"RUL": "right", "RML": "right", "RLL": "right", "LUL": "left", "LLL": "left"}

Pairs = list[tuple[str, str]]


# ---- pairs of reports ----------------------------------------------------------------------


def phantom_pairs(seed: int, count: int) -> Pairs:
    """Reports of made-up findings, and what another would write who misses one now and then."""
    rng = np.random.default_rng(seed)
    pairs: Pairs = []
    for _ in range(count):
        found = [_statement(rng) for _ in range(rng.integers(1, 5))]
        seen = [one for one in found if rng.random() < 0.85]
        pairs.append((_write_report(found, rng), _write_report(seen, rng)))
    return pairs


def _statement(rng: np.random.Generator) -> FindingStatement:
    if rng.random() < 0.2:
        kind = str(rng.choice(sorted(EXTRAPULMONARY)))
        side = "left" if kind == "rib fracture" else None
        return FindingStatement(category=EXTRAPULMONARY[kind], kind=kind, side=side)
    category = str(rng.choice(sorted(KINDS)))
    kind = str(rng.choice(KINDS[category]))
    lobe = str(rng.choice(list(LOBES)))
    if category in ("2e", "2g"):
        return FindingStatement.model_validate({"category": category, "kind": kind, "side": LOBES[lobe]})
    size = int(rng.integers(4, 40)) if category in ("2d", "2h") else None
    where = {"side": LOBES[lobe], "lobes": (lobe,), "size_mm": size}
    return FindingStatement.model_validate({"category": category, "kind": kind, **where})


def _write_report(statements: list[FindingStatement], rng: np.random.Generator) -> str:
    lung = [write_sentence(one, rng).text for one in statements if one.kind not in EXTRAPULMONARY]
    whole = write_ct_report(statements, lung, rng)
    # Five sentences and the impression: the length of an ordinary report.
    return " ".join([*(f"{part}." for part in whole.findings.split(". ")[:5]), whole.impression])


def real_pairs(path: Path, seed: int, count: int) -> Pairs:
    """Findings and impressions of a file of reports (JSON lines), each beside another's."""
    rng = np.random.default_rng(seed)
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    texts = [f"{row.get('findings') or ''} {row.get('impression') or ''}".strip() for row in rows]
    texts = [text for text in texts if text]
    chosen = rng.integers(0, len(texts), (count, 2))
    return [(texts[one], texts[other]) for one, other in chosen.tolist()]


# ---- ours and the peers' -------------------------------------------------------------------


def clear_caches() -> None:
    """Start as a fresh process does."""
    for module in (tokens, counting):
        for value in vars(module).values():
            if isinstance(value, WordCache):
                value.clear()


def almost_equal(found: Any, wanted: Any) -> bool:
    """Whether two results are the same but for the order of additions."""
    return bool(np.allclose(found, wanted, rtol=1e-12, atol=1e-12))


def exactly_equal(found: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> bool:
    """Whether all scores are the same to the last bit."""
    return found == [{kind: tuple(score) for kind, score in one.items()} for one in wanted]


def compare_with(
    name: str,
    peer_name: str,
    ours: Work,
    peer: Work,
    agree: Callable[[Any, Any], bool] = almost_equal,
    at_least: float = 1.0,
) -> Line:
    """Best of five of each, in turns, after they were seen to agree."""
    if not agree(ours(), peer()):
        raise SystemExit("ours and the peer's result differ")
    mine, theirs = best_in_turns(ours, peer, before=clear_caches)
    return Line(name, mine, "s", peer=theirs, peer_name=peer_name, at_least=at_least)


def compare_peers(pairs: Pairs) -> Iterator[Line]:
    """All comparisons, one by one."""
    truth, own = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    scorer = RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True)
    yield compare_with(
        "ROUGE-1/2/L, stemmed",
        "rouge-score",
        lambda: [rouge(*pair) for pair in pairs],
        lambda: [scorer.score(*pair) for pair in pairs],
        exactly_equal,
        ROUGE_AT_LEAST,
    )
    yield compare_with(
        "corpus BLEU-4",
        "sacrebleu",
        lambda: corpus_bleu(truth, own).score,
        lambda: BLEU(force=True).corpus_score(own, [truth]).score,
    )
    method = SmoothingFunction().method1
    yield compare_with(
        "BLEU-2 of RadCliQ",
        "nltk",
        lambda: [radcliq_bleu2(*pair) for pair in pairs],
        lambda: [
            nltk_bleu([radcliq_words(a)], radcliq_words(b), weights=(0.5, 0.5), smoothing_function=method)
            for a, b in pairs
        ],
    )
    yield compare_with(
        "CIDEr-D",
        "pycocoevalcap",
        lambda: cider_of_words([[t.split()] for t in truth], [t.split() for t in own]),
        lambda: Cider().compute_score(
            {i: [t] for i, t in enumerate(truth)}, {i: [t] for i, t in enumerate(own)}
        )[1],
    )


def measure_all_metrics(pairs: Pairs) -> tuple[float, float, float]:
    """Seconds to measure 720 cases, seconds to draw all report metrics 1,000 times, bytes a row."""
    subjects = [
        Subject(
            Entry(case=Case(id=f"c{i}", benchmark="b", split="test"), truth=Truth(report=truth)),
            Reading(case_id=f"c{i}", reader="r", report=own),
        )
        for i, (truth, own) in enumerate(pairs[:CASES])
    ]
    metrics = [m for m in scores.METRICS.values() if m.settings["part"] == "report"]
    clear_caches()
    begin = time.perf_counter()
    rows = [row for one in subjects for row in metrics[0].measure(one).values()]
    measured = time.perf_counter() - begin
    weights = np.random.default_rng(1).multinomial(len(rows), [1 / len(rows)] * len(rows), DRAWS)
    begin = time.perf_counter()
    for metric in metrics:
        metric.combine(Sample(rows, weights))
    drawn = time.perf_counter() - begin
    return measured, drawn, len(json.dumps(rows)) / len(rows)


def main() -> None:
    """Measure, print, and leave with 1 where a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=7, help="of the pairs")
    parser.add_argument("--reports", type=Path, metavar="JSONL", help="real reports instead")
    options = parser.parse_args()
    logging.disable()
    if options.reports:
        pairs = real_pairs(options.reports, options.seed, PAIRS)
    else:
        pairs = phantom_pairs(options.seed, PAIRS)
    words = np.mean([len(text.split()) for pair in pairs for text in pair])
    print(f"{len(pairs):,} pairs of reports, {words:.0f} words each on average")
    measured, drawn, size = measure_all_metrics(pairs)
    print(
        f"all report metrics, {CASES} cases: measured in {measured:.3f} s, {size:.0f} bytes a row; "
        f"{DRAWS:,} draws in {drawn:.3f} s"
    )
    report(compare_peers(pairs))


if __name__ == "__main__":
    main()
