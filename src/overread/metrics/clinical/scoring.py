"""Two texts in, the statistics of one published score out, with the models behind it.

Each asks for its models when the first pair is scored. A text that is not there gets the worst
value of its score and asks no model of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from overread.errors import MissingPart, OverreadError
from overread.metrics.clinical.chexbert import CLASSES, positives
from overread.metrics.clinical.green import parse_green
from overread.metrics.clinical.models.bertscore import bertscore
from overread.metrics.clinical.models.chexbert import read_chexbert, sembscore
from overread.metrics.clinical.models.green import load_green
from overread.metrics.clinical.models.radgraph import read_radgraph
from overread.metrics.clinical.models.ratescore import load_ratescore
from overread.metrics.clinical.radgraph import radgraph_bar_er, radgraph_combined, radgraph_e, radgraph_er
from overread.metrics.contract import Measured, Subject, stored_as
from overread.metrics.texts import Part, text_pairs
from overread.metrics.words import radcliq_bleu2

PairScore: TypeAlias = Callable[[str, str], dict[str, Any]]
"""(reference, what was written) → statistics."""


@stored_as("clinical.scoring.measure_pairs")
def measure_pairs(subject: Subject, part: Part, score: PairScore, nothing: dict[str, Any]) -> Measured:
    """The scores of each pair of texts of a case; `nothing` where the reader wrote nothing."""
    return {
        unit: score(reference, written) if written.strip() else dict(nothing)
        for unit, reference, written in text_pairs(subject, part)
    }


def score_radgraph(reference: str, written: str) -> dict[str, Any]:
    """RadGraph F1 of two texts in its three variants."""
    ours, theirs = read_radgraph(reference), read_radgraph(written)
    return {
        "radgraph_e": radgraph_e(ours, theirs),
        "radgraph_er": radgraph_er(ours, theirs),
        "radgraph_bar_er": radgraph_bar_er(ours, theirs),
    }


def score_radcliq(reference: str, written: str) -> dict[str, Any]:
    """The four components of RadCliQ."""
    entities = read_radgraph(reference, "radgraph"), read_radgraph(written, "radgraph")
    return {
        "radgraph_combined": radgraph_combined(*entities),
        **score_bertscore(reference, written),
        **score_sembscore(reference, written),
        "bleu2": radcliq_bleu2(reference, written),
    }


def score_chexbert(reference: str, written: str) -> dict[str, Any]:
    """The labels of two texts, uncertain as positive."""
    return {
        "reference_labels": positives(read_chexbert(reference)[0]),
        "labels": positives(read_chexbert(written)[0]),
    }


def score_bertscore(reference: str, written: str) -> dict[str, Any]:
    """BERTScore of two texts."""
    return {"bertscore": bertscore(reference, written)}


def score_sembscore(reference: str, written: str) -> dict[str, Any]:
    """SembScore of two texts."""
    return {"sembscore": sembscore(read_chexbert(reference)[1], read_chexbert(written)[1])}


def score_ratescore(reference: str, written: str) -> dict[str, Any]:
    """RaTEScore of two texts."""
    return {"ratescore": load_ratescore().score(reference, written)}


def score_green(reference: str, written: str) -> dict[str, Any]:
    """GREEN of two texts; where the judge's reply cannot be read, that and why."""
    judge = load_green()
    try:
        counts = parse_green(judge.reply(reference, written))
    except MissingPart:
        raise
    except OverreadError as error:
        return {"asked": 1, "parsed": 0, "unparseable": 1, "problem": str(error)}
    return {
        "asked": 1,
        "parsed": 1,
        "green": counts.score,
        "matched": counts.matched,
        "significant": dict(counts.significant),
        "insignificant": dict(counts.insignificant),
    }


@stored_as("clinical.scoring.measure_chexbert")
def measure_chexbert(subject: Subject, part: Part) -> Measured:
    """The labels of each pair of texts; no label at all where the reader wrote nothing."""
    silent = {"labels": [0] * len(CLASSES)}
    return {
        unit: score_chexbert(reference, written)
        if written.strip()
        else {"reference_labels": positives(read_chexbert(reference)[0]), **silent}
        for unit, reference, written in text_pairs(subject, part)
    }
