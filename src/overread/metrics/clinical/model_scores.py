"""The clinical scores that need models, as metrics.

Where nothing was handed in, a score is at its worst. RadCliQ is then the value of its components at
their worst, so that silence never beats a bad report.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache, partial
from typing import Any

from overread.metrics.clinical.chexbert import labels_f1, reference_class_share
from overread.metrics.clinical.models import bertscore, chexbert, green, radgraph, ratescore
from overread.metrics.clinical.models.bertscore import EMPTY, LAYER
from overread.metrics.clinical.models.green import LONGEST
from overread.metrics.clinical.radcliq import VERSIONS
from overread.metrics.clinical.ratescore import NO_ENTITY
from overread.metrics.clinical.scoring import (
    PairScore,
    measure_chexbert,
    measure_pairs,
    score_bertscore,
    score_green,
    score_radcliq,
    score_radgraph,
    score_ratescore,
    score_sembscore,
)
from overread.metrics.contract import Metric, by_name
from overread.metrics.sample import Numbers, Sample, safe_divide
from overread.metrics.texts import Part, part_metric_name

EMPTY_COMPONENTS = {"radgraph_combined": 0.0, "bertscore": EMPTY, "sembscore": -1.0, "bleu2": 0.0}
"""RadCliQ's components where nothing was handed in."""
_GRAPH = {
    "radgraph_e": "tokens and label",
    "radgraph_er": "tokens, label and whether it has a relation",
    "radgraph_bar_er": "tokens, label, relation and target",
}
_BERT = {"model": "distilroberta-base", "layer": LAYER, "rescaled": True, "idf": False}


def mean(sample: Sample, name: str) -> Numbers:
    """The mean of a statistic over cases, one number a draw.

    >>> mean(Sample([{"green": 0.5}, {"green": 1.0}]), "green")
    array([0.75])
    """
    return safe_divide(sample.total(name), sample.weights.sum(axis=1))


def ratio(sample: Sample, top: str, bottom: str) -> Numbers:
    """One total over another, one number a draw; NaN where there is nothing below."""
    return sample.ratio(top, bottom)


def mean_radcliq(sample: Sample, version: str) -> Numbers:
    """The mean RadCliQ over cases, one number a draw."""
    return VERSIONS[version].sample_mean(sample)


@cache
def model_metrics(part: Part = "report") -> dict[str, Metric]:
    """All scores of this module for one part of a reading, by name.

    Those of the report have plain names; others begin with the part ('findings_radgraph_e').
    """
    made = [
        *_radgraph_metrics(part),
        *_chexbert_metrics(part),
        *_similarity_metrics(part),
        *_radcliq_metrics(part),
        *_green_metrics(part),
    ]
    head = part_metric_name(part, "")
    return {metric.name.replace(head, "", 1): metric for metric in made}


def _radgraph_metrics(part: Part) -> list[Metric]:
    measure = _pair_measure(part, score_radgraph, dict.fromkeys(_GRAPH, 0.0))
    settings = {"model": "radgraph-xl", "empty side": 0}
    return [
        _metric(
            part,
            name,
            f"RadGraph F1 over {what}, mean of cases",
            measure,
            "radgraph 0.1.18 rewards",
            settings=settings,
            weights=(radgraph.weight_files("radgraph-xl"),),
            symmetric=True,
        )
        for name, what in _GRAPH.items()
    ]


def _chexbert_metrics(part: Part) -> list[Metric]:
    measure = partial(measure_chexbert, part=part)
    made = []
    for classes in (14, 5):
        told = {"model": "CheXbert", "uncertain": "counts as positive", "classes": classes}
        name = f"chexbert_f1_{classes}"
        ceiling = f"ceiling_{name}_macro"
        made += [
            _metric(
                part,
                name,
                f"CheXbert labels, {classes} classes, micro F1",
                measure,
                "f1chexbert 0.0.2; scikit-learn f1_score",
                combine=partial(labels_f1, classes=classes, average="micro"),
                settings={**told, "average": "micro"},
                weights=(chexbert.WEIGHTS,),
                symmetric=True,
            ),
            _metric(
                part,
                f"{name}_macro",
                f"CheXbert labels, {classes} classes, macro F1",
                measure,
                "f1chexbert 0.0.2; scikit-learn f1_score",
                combine=partial(labels_f1, classes=classes, average="macro", absent="zero"),
                settings={**told, "average": "macro", "class of neither side": 0},
                weights=(chexbert.WEIGHTS,),
                ceiling=part_metric_name(part, ceiling),
                symmetric=True,
            ),
            _metric(
                part,
                ceiling,
                f"what {name}_macro gives a perfect reader: the classes that references have",
                measure,
                "scikit-learn f1_score of the references against themselves",
                combine=partial(reference_class_share, classes=classes),
                settings=told,
                weights=(chexbert.WEIGHTS,),
                worst=math.nan,
            ),
        ]
    return made


def _similarity_metrics(part: Part) -> list[Metric]:
    return [
        _metric(
            part,
            "bertscore",
            "likeness of the words in their context, mean of cases",
            _pair_measure(part, score_bertscore, {"bertscore": EMPTY}),
            "bert-score 0.3.13",
            worst=EMPTY,
            settings=_BERT,
            weights=(bertscore.WEIGHTS,),
            symmetric=True,
        ),
        _metric(
            part,
            "sembscore",
            "cosine of CheXbert's vectors of both texts, mean of cases",
            _pair_measure(part, score_sembscore, {"sembscore": -1.0}),
            "CXR-Report-Metric",
            worst=-1.0,
            settings={"model": "CheXbert"},
            weights=(chexbert.WEIGHTS,),
            symmetric=True,
        ),
        _metric(
            part,
            "ratescore",
            "likeness of the medical entities, weighted by type, mean of cases",
            _pair_measure(part, score_ratescore, {"ratescore": 0.0}),
            "RaTEScore 0.6.0",
            settings={
                "models": "RaTE-NER-Deberta, BioLORD-2023-C",
                "weights": "long",
                "no entity": NO_ENTITY,
                "sentences": "overread.language",
            },
            weights=(ratescore.ENTITIES, ratescore.ENCODER),
            symmetric=True,
        ),
    ]


def _radcliq_metrics(part: Part) -> list[Metric]:
    measure = _pair_measure(part, score_radcliq, EMPTY_COMPONENTS)
    return [
        _metric(
            part,
            f"radcliq_{version}",
            f"RadCliQ {version}: errors a radiologist would count, mean of cases",
            measure,
            "CXR-Report-Metric",
            better="lower",
            combine=partial(mean_radcliq, version=version),
            best=constants.value(dict.fromkeys(EMPTY_COMPONENTS, 1.0)),
            worst=constants.value(EMPTY_COMPONENTS),
            settings={
                "radgraph": "radgraph, (entity F1 + relation F1) / 2",
                "bertscore": _BERT,
                "sembscore": "CheXbert",
                "bleu2": "lower case, nltk method1",
            },
            weights=(radgraph.weight_files("radgraph"), bertscore.WEIGHTS, chexbert.WEIGHTS),
        )
        for version, constants in VERSIONS.items()
    ]


def _green_metrics(part: Part) -> list[Metric]:
    measure = _pair_measure(part, score_green, {"asked": 0, "parsed": 1, "green": 0.0})
    settings = {
        "judge": "GREEN model of the models' folder",
        "decoding": f"likeliest token, {LONGEST} tokens with the prompt",
        "unreadable reply": "left out, counted in green_unparseable",
    }
    return [
        _metric(
            part,
            "green",
            "matched findings over those and significant errors, by a judge; mean of cases",
            measure,
            "green-score 0.0.12",
            combine=partial(ratio, top="green", bottom="parsed"),
            settings=settings,
            weights=(green.WEIGHTS,),
        ),
        _metric(
            part,
            "green_unparseable",
            "share of the judge's replies that cannot be read",
            measure,
            "ours",
            better="lower",
            combine=partial(ratio, top="unparseable", bottom="asked"),
            best=0.0,
            worst=math.nan,
            settings=settings,
            weights=(green.WEIGHTS,),
        ),
    ]


def _pair_measure(part: Part, score: PairScore, nothing: dict[str, Any]) -> Any:
    return partial(measure_pairs, part=part, score=score, nothing=nothing)


def _metric(part: Part, name: str, about: str, measure: Any, reference: str, **changes: Any) -> Metric:
    """A metric from 0 to 1 that is the mean of the statistic of its name, but for the changes."""
    settings = {"part": part, **changes.pop("settings")}
    plain = Metric(
        name=part_metric_name(part, name),
        about=about,
        better="higher",
        needs=(part,),
        measure=measure,
        combine=partial(mean, name=name),
        best=1.0,
        worst=0.0,
        reference=reference,
        settings=settings,
    )
    return replace(plain, **changes)


METRICS = by_name(*model_metrics("report").values(), *model_metrics("findings").values())
