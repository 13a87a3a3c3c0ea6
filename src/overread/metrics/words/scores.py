"""The word metrics of the catalog, and the factories for those with other settings."""

from __future__ import annotations

from functools import partial

from overread.metrics.contract import Metric, by_name
from overread.metrics.texts import Part, part_metric_name
from overread.metrics.words.bleu_scores import Smoothing
from overread.metrics.words.cider_scores import ORDER, SIGMA
from overread.metrics.words.counting import (
    Average,
    Cutting,
    RougeScore,
    combine_bleu,
    combine_cider,
    combine_meteor,
    combine_rouge,
    combine_rouge2_ceiling,
    make_measure,
)
from overread.metrics.words.meteor_scores import ALPHA, BETA, GAMMA
from overread.metrics.words.tokens import Tokenizer

_WHAT = {
    "rouge1": "Words in common with the reference",
    "rouge2": "Pairs of neighbouring words in common with the reference",
    "rougeL": "Longest sequence of words in common with the reference",
}
_OF: dict[Part, str] = {
    "report": "report",
    "findings": "findings of each picture",
    "discussion": "teaching discussion",
}


def rouge_metric(
    part: Part,
    kind: str,
    *,
    score: RougeScore = "fmeasure",
    average: Average = "units",
    stemmed: bool = True,
    name: str = "",
) -> Metric:
    """One ROUGE of one part of a reading, averaged.

    >>> rouge_metric("report", "rougeL").name
    'rougeL'
    """
    return Metric(
        name=name or part_metric_name(part, kind),
        about=f"{_WHAT[kind]}: {_OF[part]}, mean",
        better="higher",
        needs=(part,),
        measure=make_measure(Cutting(part, stemmed=stemmed)),
        combine=partial(combine_rouge, kind=kind, score=score, average=average),
        best=1.0,
        worst=0.0,
        reference="rouge-score 0.1.2",
        settings={
            "part": part,
            "kind": kind,
            "score": score,
            "average": average,
            "stemmer": "porter (nltk)" if stemmed else "none",
            "wordless_reference": "not judged",
        },
        ceiling=f"ceiling_{part_metric_name(part, 'rouge2')}" if kind == "rouge2" else "",
        symmetric=score == "fmeasure",
    )


def bleu_metric(
    part: Part,
    order: int,
    *,
    tokenizer: Tokenizer = "13a",
    lowercase: bool = False,
    smoothing: Smoothing = "exp",
    name: str = "",
) -> Metric:
    """Corpus BLEU of one part of a reading with runs of up to `order` words.

    >>> bleu_metric("findings", 4).name
    'findings_bleu4'
    """
    return Metric(
        name=name or part_metric_name(part, f"bleu{order}"),
        about=f"Corpus BLEU, runs of up to {order} word{'s' * (order > 1)}: {_OF[part]}",
        better="higher",
        needs=(part,),
        measure=make_measure(Cutting(part, tokenizer=tokenizer, lowercase=lowercase)),
        combine=partial(combine_bleu, order=order, smoothing=smoothing),
        best=1.0,
        worst=0.0,
        reference="sacrebleu 2.6.0 (there times 100)",
        settings={
            "part": part,
            "order": order,
            "tok": tokenizer,
            "case": "lc" if lowercase else "mixed",
            "smooth": smoothing,
            "eff": "no",
            "nrefs": 1,
            "wordless_reference": "not judged",
        },
    )


def cider_metric(part: Part, *, average: Average = "units", name: str = "") -> Metric:
    """CIDEr-D of one part of a reading, averaged."""
    return Metric(
        name=name or part_metric_name(part, "cider"),
        about=f"Runs of words in common with the reference, rare ones most: {_OF[part]}, mean",
        better="higher",
        needs=(part,),
        measure=make_measure(Cutting(part)),
        combine=partial(combine_cider, average=average),
        best=10.0,
        worst=0.0,
        reference="pycocoevalcap 1.2 Cider (CIDEr-D)",
        settings=_cider_settings(part, average),
        ceiling=f"ceiling_{part_metric_name(part, 'cider')}",
    )


def meteor_metric(part: Part, *, average: Average = "units", name: str = "") -> Metric:
    """METEOR of one part of a reading, averaged."""
    return Metric(
        name=name or part_metric_name(part, "meteor"),
        about=f"Words or stems in common with the reference, in runs: {_OF[part]}, mean",
        better="higher",
        needs=(part,),
        measure=make_measure(Cutting(part)),
        combine=partial(combine_meteor, average=average),
        best=1.0,
        worst=0.0,
        reference="nltk 3.10 meteor_score without synonyms",
        settings=_meteor_settings(part, average),
        ceiling=f"ceiling_{part_metric_name(part, 'meteor')}",
    )


def _meteor_settings(part: Part, average: Average) -> dict[str, object]:
    return {
        "part": part,
        "average": average,
        "matches": "equal words, then stems (porter, nltk); no synonyms",
        "alpha": ALPHA,
        "beta": BETA,
        "gamma": GAMMA,
        "words": "a-z and 0-9, lower case",
        "wordless_reference": "not judged",
    }


def _cider_settings(part: Part, average: Average) -> dict[str, object]:
    return {
        "part": part,
        "average": average,
        "order": ORDER,
        "sigma": SIGMA,
        "words": "13a, lower case, no punctuation",
        "document_frequency": "references of all units scored, the same in every draw",
        "wordless_reference": "not judged",
    }


# ---- what a perfect reading gets -----------------------------------------------------------


def rouge2_ceiling(part: Part, *, average: Average = "units", name: str = "") -> Metric:
    """What ROUGE-2 leaves a perfect reading: a reference of one word has no pair to be met."""
    own = name or f"ceiling_{part_metric_name(part, 'rouge2')}"
    return Metric(
        name=own,
        about=f"ROUGE-2 of the references against themselves: {_OF[part]}, mean",
        better="higher",
        needs=(part,),
        measure=make_measure(Cutting(part)),
        combine=partial(combine_rouge2_ceiling, average=average),
        best=1.0,
        worst=float("nan"),
        reference="rouge-score 0.1.2",
        settings={"part": part, "average": average, "wordless_reference": "not judged"},
        ceiling=own,
    )


def cider_ceiling(part: Part, *, average: Average = "units", name: str = "") -> Metric:
    """What CIDEr-D leaves a perfect reading: what every reference says weighs nothing."""
    own = name or f"ceiling_{part_metric_name(part, 'cider')}"
    return Metric(
        name=own,
        about=f"CIDEr-D of the references against themselves: {_OF[part]}, mean",
        better="higher",
        needs=(part,),
        measure=make_measure(Cutting(part)),
        combine=partial(combine_cider, average=average, perfect=True),
        best=10.0,
        worst=float("nan"),
        reference="pycocoevalcap 1.2 Cider (CIDEr-D)",
        settings=_cider_settings(part, average),
        ceiling=own,
    )


def meteor_ceiling(part: Part, *, average: Average = "units", name: str = "") -> Metric:
    """What METEOR leaves a perfect reading: 1 - 1 / (2 n³) of n words."""
    own = name or f"ceiling_{part_metric_name(part, 'meteor')}"
    return Metric(
        name=own,
        about=f"METEOR of the references against themselves: {_OF[part]}, mean",
        better="higher",
        needs=(part,),
        measure=make_measure(Cutting(part)),
        combine=partial(combine_meteor, average=average, perfect=True),
        best=1.0,
        worst=float("nan"),
        reference="nltk 3.10 meteor_score without synonyms",
        settings=_meteor_settings(part, average),
        ceiling=own,
    )


# ---- the catalog ---------------------------------------------------------------------------


def _part_metrics(part: Part) -> tuple[Metric, ...]:
    return (
        *(rouge_metric(part, kind) for kind in ("rouge1", "rouge2", "rougeL")),
        *(bleu_metric(part, order) for order in (1, 2, 3, 4)),
        meteor_metric(part),
        cider_metric(part),
        rouge2_ceiling(part),
        meteor_ceiling(part),
        cider_ceiling(part),
    )


METRICS = by_name(*_part_metrics("report"), *_part_metrics("findings"), rouge_metric("discussion", "rougeL"))
