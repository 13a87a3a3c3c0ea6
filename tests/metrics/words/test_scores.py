"""The word metrics: what they keep of a case, and what the cases of a set come to."""

from __future__ import annotations

import json
import math
import pickle
from typing import Any

import numpy as np
import pytest
from pycocoevalcap.cider.cider import Cider
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenizers import DefaultTokenizer
from sacrebleu.metrics import BLEU

from overread.core import Case, Entry, Finding, Reading, Truth, Whole
from overread.metrics import Metric, Sample, Subject
from overread.metrics.words import scores
from overread.metrics.words.cider_scores import cider_words
from tests.metrics.words.sample_texts import text_pairs_of

METRICS = scores.METRICS
CEILINGS = {name for name in METRICS if name.startswith("ceiling_")}
DEFINITE = sorted(set(METRICS) - CEILINGS)


def subject(truth: dict[str, Any] | None, reading: dict[str, Any] | None) -> Subject:
    case = Case(id="c", benchmark="medthinkvqa", split="test")
    return Subject(
        Entry(case=case, truth=None if truth is None else Truth(**truth)),
        None if reading is None else Reading(case_id="c", reader="r", **reading),
    )


def of_pictures(texts: list[str]) -> dict[str, Any]:
    findings = [Finding(text=t, regions=(Whole(picture=f"p{i}"),)) for i, t in enumerate(texts)]
    return {"findings": tuple(findings)}


def rows_of(metric: Metric, pairs: list[tuple[str, str]]) -> list[Any]:
    part = metric.settings["part"]
    rows: list[Any] = []
    for truth, own in pairs:
        if part == "findings":
            measured = metric.measure(subject(of_pictures([truth]), of_pictures([own])))
        else:
            measured = metric.measure(subject({part: truth}, {part: own}))
        rows += measured.values()
    return json.loads(json.dumps(rows, allow_nan=False))  # type: ignore[no-any-return]


def judged(seed: int, count: int) -> list[tuple[str, str]]:
    """Pairs whose reference has a word."""
    has_words = DefaultTokenizer(use_stemmer=False).tokenize
    return [pair for pair in text_pairs_of(seed, count) if has_words(pair[0])]


def value(metric: Metric, rows: list[Any]) -> float:
    (number,) = metric.combine(Sample(rows)).tolist()
    return float(number)


PAIRS = judged(seed=41, count=300)


def test_there_are_these_metrics() -> None:
    """Names, parts and settings of the catalog; each carries its own name and what it is held to."""
    words = [f"rouge{k}" for k in "12L"] + [f"bleu{n}" for n in range(1, 5)] + ["meteor", "cider"]
    words += [f"findings_{word}" for word in words]
    expected = {*words, *(f"ceiling_{w}" for w in words if w.endswith(("rouge2", "meteor", "cider")))}
    assert set(METRICS) == expected | {"discussion_rougeL"}
    for metric in METRICS.values():
        assert metric.reference
        assert metric.settings["part"] in metric.name or metric.settings["part"] == "report"
        assert metric.ceiling in {"", *CEILINGS}


@pytest.mark.parametrize("name", [name for name in DEFINITE if "rouge" in name])
def test_rouge_is_the_mean_of_rouge_score(name: str) -> None:
    """The number is the mean F-measure that rouge-score, with stems, gives these pairs."""
    metric = METRICS[name]
    scorer = RougeScorer([metric.settings["kind"]], use_stemmer=True)
    each = [scorer.score(*pair)[metric.settings["kind"]].fmeasure for pair in PAIRS]
    rows = rows_of(metric, PAIRS)
    assert value(metric, rows) == pytest.approx(np.mean(each), rel=1e-13)
    assert [value(metric, [row]) for row in rows] == each


@pytest.mark.parametrize("score", ["precision", "recall"])
def test_rouge_as_precision_or_recall_without_stems(score: Any) -> None:
    """Other settings give the other numbers of rouge-score."""
    metric = scores.rouge_metric("report", "rouge2", score=score, stemmed=False, name="mine")
    scorer = RougeScorer(["rouge2"], use_stemmer=False)
    each = [getattr(scorer.score(*pair)["rouge2"], score) for pair in PAIRS]
    assert [value(metric, [row]) for row in rows_of(metric, PAIRS)] == each
    assert metric.name == "mine"
    assert metric.settings["stemmer"] == "none"


@pytest.mark.parametrize("name", [name for name in DEFINITE if "bleu" in name])
def test_bleu_is_sacrebleus(name: str) -> None:
    """The number is sacrebleu's corpus score over 100, of the set and of every draw."""
    metric = METRICS[name]
    theirs = BLEU(max_ngram_order=metric.settings["order"], force=True)
    truth, own = [t for t, _ in PAIRS], [c for _, c in PAIRS]
    rows = rows_of(metric, PAIRS)
    assert value(metric, rows) == theirs.corpus_score(own, [truth]).score / 100
    weights = np.random.default_rng(1).multinomial(len(rows), [1 / len(rows)] * len(rows), 5)
    drawn = metric.combine(Sample(rows, weights))
    for number, often in zip(drawn.tolist(), weights.tolist(), strict=True):
        again = [i for i, n in enumerate(often) for _ in range(n)]
        wanted = theirs.corpus_score([own[i] for i in again], [[truth[i] for i in again]])
        assert number == wanted.score / 100


@pytest.mark.parametrize("tokenizer", ["intl", "none"])
def test_bleu_with_other_settings(tokenizer: Any) -> None:
    """Tokenizer, case and smoothing are settings, and are named in the signature."""
    metric = scores.bleu_metric("report", 4, tokenizer=tokenizer, lowercase=True, smoothing="floor")
    theirs = BLEU(tokenize=tokenizer, lowercase=True, smooth_method="floor", force=True)
    # Of the first set every order has a match; the second is one text, which is smoothed.
    for pairs in (PAIRS, [("No pleural effusion is seen today", "No effusion is seen here")]):
        wanted = theirs.corpus_score([c for _, c in pairs], [[t for t, _ in pairs]]).score / 100
        assert value(metric, rows_of(metric, pairs)) == wanted
    rows = rows_of(metric, PAIRS)
    assert (metric.settings["tok"], metric.settings["case"]) == (tokenizer, "lc")
    ours = scores.cider_metric("report")
    assert value(ours, rows) == value(ours, rows_of(ours, PAIRS))  # its words stay 13a


@pytest.mark.parametrize("name", ["cider", "findings_cider"])
def test_cider_is_pycocoevalcaps_and_draws_keep_the_weights(name: str) -> None:
    """The set scores as there; a draw is the mean over the drawn of the scores in the whole set."""
    words = [[" ".join(cider_words(text)) for text in pair] for pair in PAIRS]
    truth, own = ({i: [pair[k]] for i, pair in enumerate(words)} for k in (0, 1))
    wanted, each = Cider().compute_score(truth, own)
    rows = rows_of(METRICS[name], PAIRS)
    assert value(METRICS[name], rows) == pytest.approx(wanted, rel=1e-12)
    weights = np.random.default_rng(2).multinomial(len(rows), [1 / len(rows)] * len(rows), 20)
    drawn = METRICS[name].combine(Sample(rows, weights))
    np.testing.assert_allclose(drawn, weights @ each / weights.sum(axis=1), rtol=1e-12)
    ceiling = METRICS[METRICS[name].ceiling]
    best, _ = Cider().compute_score(truth, truth)
    assert value(ceiling, rows) == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("name", DEFINITE)
def test_perfect_is_best_and_missing_is_worst(name: str) -> None:
    """The reference itself reaches best or the ceiling; nothing, or a failure, is the worst."""
    metric = METRICS[name]
    truths = [truth for truth, _ in PAIRS]
    perfect = rows_of(metric, [(truth, truth) for truth in truths])
    best = value(METRICS[metric.ceiling], perfect) if metric.ceiling else metric.best
    assert value(metric, perfect) == pytest.approx(best, rel=1e-13)
    assert best <= metric.best
    part = metric.settings["part"]
    told = of_pictures(truths[:1]) if part == "findings" else {part: truths[0]}
    rows = [
        *metric.measure(subject(told, None)).values(),
        *metric.measure(subject(told, {})).values(),
        *metric.measure(subject(told, told | {"error": "gave up"})).values(),
    ]
    assert len(rows) == 3
    assert value(metric, rows) == metric.worst


@pytest.mark.parametrize("name", sorted(METRICS))
def test_nothing_to_judge_is_undefined(name: str) -> None:
    """Without a truth, or with one that has no words, there is no unit and no number."""
    metric = METRICS[name]
    part = metric.settings["part"]
    for text in ("", "  ", "…", "肺炎"):
        told = of_pictures([text]) if part == "findings" else {part: text}
        assert metric.measure(subject(told, told)) == {}
    assert metric.measure(subject(None, {})) == {}
    assert math.isnan(value(metric, []))


def test_one_word_references_lower_the_ceiling_of_rouge2() -> None:
    """A reference of one word has no pair of words: rouge-score gives 0, and the ceiling says so."""
    rows = rows_of(METRICS["rouge2"], [("Normal.", "Normal."), ("No effusion.", "No effusion.")])
    assert value(METRICS["rouge2"], rows) == value(METRICS["ceiling_rouge2"], rows) == 0.5


def test_bleu_is_undefined_where_references_are_too_short() -> None:
    """BLEU-4 of references of three words is no number, BLEU-3 is; sacrebleu's 0 is nobody's fault."""
    rows = rows_of(METRICS["bleu4"], [("No effusion.", "No effusion.")])
    assert math.isnan(value(METRICS["bleu4"], rows))
    assert value(METRICS["bleu3"], rows) == 1.0


def test_pictures_or_cases_count_alike() -> None:
    """Findings are averaged over pictures, or, where so set, over the means of cases."""
    many = of_pictures(["small left effusion", "normal heart", "no mass", "…"])
    good = of_pictures(["small left effusion", "no words shared", "no mass", "…"])
    one = of_pictures(["clear lungs"])
    by_case = scores.rouge_metric("findings", "rouge1", average="cases")
    rows = [*by_case.measure(subject(many, good)).values(), *by_case.measure(subject(one, None)).values()]
    assert value(METRICS["findings_rouge1"], rows) == 2 / 4
    assert value(by_case, rows) == pytest.approx((2 / 3 + 0) / 2)


def test_a_part_is_measured_once() -> None:
    """All metrics of a part share one measure, which survives pickling and keeps little."""
    measures = {m.settings["part"]: m.measure for m in METRICS.values()}
    assert all(m.measure is measures[m.settings["part"]] for m in METRICS.values())
    case = subject({"report": "No effusion. " * 30}, {"report": "Effusion is seen. " * 20})
    row = measures["report"](case)
    assert pickle.loads(pickle.dumps(measures["report"]))(case) == row
    assert len(json.dumps(row)) < 2000
    assert "effusion" not in json.dumps(row).lower()


def test_rouge_does_not_mind_who_is_the_truth() -> None:
    """Truth and reading may change places where the metric says so."""
    pairs = [(t, c) for t, c in PAIRS if DefaultTokenizer().tokenize(c)]
    turned = [(c, t) for t, c in pairs]
    for metric in (m for m in METRICS.values() if m.symmetric):
        assert value(metric, rows_of(metric, pairs)) == value(metric, rows_of(metric, turned))
    assert {m.name for m in METRICS.values() if m.symmetric} >= {"rouge1", "rouge2", "rougeL"}
