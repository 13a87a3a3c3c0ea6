"""The clinical scores that need no model: findings by rules, and CheXpert's labels by rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Literal

import numpy as np

from overread.errors import UsageError
from overread.language.compare import compare_statements
from overread.language.labels import chexpert_labels
from overread.language.statements import Statement
from overread.language.unread import read_statements
from overread.metrics.clinical.chexbert import CLASSES, labels_f1
from overread.metrics.clinical.errors import KINDS, Kind, count_errors, count_silence
from overread.metrics.clinical.findings import count_findings
from overread.metrics.clinical.significance import OURS, Significance, load_significance
from overread.metrics.contract import Measured, Metric, Statistics, Subject, stored_as
from overread.metrics.sample import Numbers, Sample, safe_divide
from overread.metrics.texts import Part, part_metric_name, text_pairs


@stored_as("clinical.rules.measure_rules")
def measure_rules(subject: Subject, part: Part) -> Measured:
    """Counts, errors, disagreements and labels of one case; each text is read once."""
    measured = {}
    for unit, reference, written in text_pairs(subject, part):
        ours, theirs = read_statements(reference), read_statements(written)
        compared = compare_statements(ours.statements, theirs.statements)
        said = bool(written.strip())
        found = count_findings(compared)
        wrong = count_errors(compared, ours, theirs) if said else count_silence(compared, ours)
        nameless = any("" in about for about in wrong["errors"].values())
        if said and nameless and (ours.unread or theirs.unread):
            found["disagreements"].append(
                f"not read: {len(ours.unread)} of {ours.sentences} sentences of the reference, "
                f"{len(theirs.unread)} of {theirs.sentences} of the reading"
            )
        measured[unit] = {
            **found,
            **wrong,
            "reference_labels": _labels(ours.statements),
            # Where nothing is written, nothing is said: not even 'No Finding'.
            "labels": _labels(theirs.statements) if said else [0] * len(CLASSES),
        }
    return measured


def mean_errors(sample: Sample, weights: Significance) -> Numbers:
    """The weighed errors of a report, mean over reports; NaN where there is none."""
    return _mean(sample, sample.row_values(weights.error_weight))


def mean_score(sample: Sample, weights: Significance) -> Numbers:
    """The clinical score of a report, mean over reports; NaN where there is none."""
    return _mean(sample, sample.row_values(weights.score))


def mean_count(sample: Sample, kind: str) -> Numbers:
    """How many errors of one kind a report has, not weighed, mean over reports.

    >>> mean_count(Sample([{"errors": {"side": {"nodule": 2}}}, {"errors": {}}]), "side")
    array([1.])
    """
    return _mean(sample, sample.row_values(_count_of(kind)))


@cache
def _count_of(kind: str) -> Callable[[Statistics], float]:
    """What counts the errors of one kind in a row."""

    def count(row: Statistics) -> float:
        return sum(row["errors"].get(kind, {}).values()) if "errors" in row else math.nan

    return count


def unread_share(sample: Sample) -> Numbers:
    """Share of the sentences of both texts that were not read; NaN where there is none."""
    unread = sample.total("unread_reference") + sample.total("unread_other")
    return safe_divide(unread, sample.total("sentences_reference") + sample.total("sentences_other"))


def reference_unread_share(sample: Sample) -> Numbers:
    """Share of the sentences of the references that were not read: what a perfect reading gets."""
    return sample.ratio("unread_reference", "sentences_reference")


def _mean(sample: Sample, values: Numbers) -> Numbers:
    """The mean of a number of each row, one mean a draw."""
    return safe_divide(sample.weights @ values, sample.weights.sum(axis=1))


def precision(sample: Sample) -> Numbers:
    """Share of the reader's findings that the reference has, over all cases.

    0 where the reader has none and the reference has some; NaN where neither has any.
    """
    share = sample.ratio("found", "other")
    silent = (sample.total("other") == 0) & (sample.total("reference") > 0)
    return np.where(silent, 0.0, share)


def recall(sample: Sample) -> Numbers:
    """Share of the reference's findings that the reader has; NaN where there are none."""
    return sample.ratio("found", "reference")


def f1(sample: Sample, hit: str, reference: str, other: str) -> Numbers:
    """Harmonic mean of precision and recall over all cases; NaN where neither side tells any.

    >>> f1(Sample([{"found": 1, "reference": 2, "other": 1}]), "found", "reference", "other")
    array([0.66666667])
    """
    return safe_divide(2 * sample.total(hit), sample.total(reference) + sample.total(other))


@cache
def rule_metrics(part: Part = "report", weights: str = OURS) -> dict[str, Metric]:
    """All scores of this module for one part of a reading, by name.

    Those of the report have plain names; others begin with the part ('findings_clinical_f1'). `weights`
    is a file that says what errors weigh; ours where none is given.
    """
    made = [*_error_metrics(part, weights), *_finding_metrics(part), *_label_metrics(part)]
    head = part_metric_name(part, "")
    return {item.name.replace(head, "", 1): item for item in made}


def retune_rules(settings: Mapping[str, Any]) -> tuple[Metric, ...]:
    """All metrics of this module with another file of weights."""
    weights = settings["weights"]
    if not isinstance(weights, str):
        raise UsageError("`weights` is the path of a file", remedy="for instance --setting weights=mine.toml")
    return tuple(rule_metrics(settings["part"], weights).values())


@cache
def _measure(part: Part) -> Callable[[Subject], Measured]:
    """One measure for all metrics of a part, whatever errors weigh."""
    return partial(measure_rules, part=part)


def _metric(
    part: Part,
    name: str,
    about: str,
    combine: Callable[[Sample], Numbers],
    reference: str = "ours; brute force in tests/metrics/clinical/test_rules.py",
    *,
    better: Literal["higher", "lower"] = "higher",
    ceiling: str = "",
    settings: Mapping[str, str],
) -> Metric:
    return Metric(
        name=part_metric_name(part, name),
        about=about,
        better=better,
        needs=(part,),
        measure=_measure(part),
        combine=combine,
        best=1.0 if better == "higher" else 0.0,
        # There is no bound to the errors that somebody can make.
        worst=0.0 if better == "higher" else math.nan,
        reference=reference,
        settings={"part": part, "reader": "overread.language rules", **settings},
        ceiling=ceiling,
        symmetric=name.startswith("chexpert"),
        retune=retune_rules if "weights" in settings else None,
    )


def _error_metrics(part: Part, weights: str) -> list[Metric]:
    """The score and the errors that it is made of."""
    chosen = load_significance(weights)
    told = {"weights": weights, "weights_digest": chosen.digest, "average": "mean of texts"}
    own = "ours; brute force in tests/metrics/clinical/test_errors.py"
    made = [
        _metric(
            part,
            "clinical_score",
            "matched findings over those and the errors, weighed by clinical significance",
            partial(mean_score, weights=chosen),
            own,
            settings=told,
        ),
        _metric(
            part,
            "clinical_errors",
            "errors of a report, weighed by clinical significance",
            partial(mean_errors, weights=chosen),
            own,
            better="lower",
            settings=told,
        ),
    ]
    mean = {"average": "mean of texts"}
    for kind in _COUNTED:
        name = f"clinical_errors_{kind.replace(' ', '_')}"
        count = partial(mean_count, kind=kind)
        about = f"errors of a report that {KINDS[kind]}, not weighed"
        made.append(_metric(part, name, about, count, own, better="lower", settings=mean))
    ceiling = "ceiling_clinical_unread_share"
    made += [
        _metric(
            part,
            "clinical_unread_share",
            "sentences of both texts that were not read: what the scores by rules cannot know of",
            unread_share,
            own,
            better="lower",
            ceiling=part_metric_name(part, ceiling),
            settings={"average": "micro"},
        ),
        _metric(
            part,
            ceiling,
            "what clinical_unread_share gives a perfect reader: sentences of the references not read",
            reference_unread_share,
            own,
            better="lower",
            settings={"average": "micro"},
        ),
    ]
    return made


def _finding_metrics(part: Part) -> list[Metric]:
    """Findings that both have, and what is told of them."""
    found = {"average": "micro", "uncertain": "counts as there"}
    whole = partial(f1, hit="found", reference="reference", other="other")
    made = [
        _metric(
            part, "clinical_precision", "findings of the reading, found in both", precision, settings=found
        ),
        _metric(part, "clinical_recall", "findings of the reference, found in both", recall, settings=found),
        _metric(part, "clinical_f1", "findings of both sides, found in both", whole, settings=found),
    ]
    for name, what, rule in _ATTRIBUTES:
        combine = partial(f1, hit=f"{name}_hit", reference=f"{name}_reference", other=f"{name}_other")
        told = {"average": "micro", "agreement": rule}
        made.append(_metric(part, f"clinical_{name}_f1", what, combine, settings=told))
    return made


def _label_metrics(part: Part) -> list[Metric]:
    """CheXpert's labels, read by rules."""
    made = []
    for classes in (14, 5):
        for average in ("micro", "macro"):
            macro = average == "macro"
            made.append(
                _metric(
                    part,
                    f"chexpert_f1_rules_{classes}" + ("_macro" if macro else ""),
                    f"CheXpert labels read by rules, {classes} classes, {average} F1",
                    partial(labels_f1, classes=classes, average=average, absent="left out"),
                    "scikit-learn f1_score",
                    settings={
                        "average": average,
                        "uncertain": "counts as positive",
                        **({"class of neither side": "left out"} if macro else {}),
                    },
                )
            )
    return made


def _labels(told: list[Statement]) -> list[int]:
    marks = chexpert_labels(told)
    return [marks[name] for name in CLASSES]


_COUNTED: tuple[Kind, ...] = (
    *("presence", "omission", "addition", "finding", "side", "place"),
    *("device position", "severity", "size"),
)
"""Kinds of error that have a metric of their own."""

_ATTRIBUTES = (
    ("presence", "what is stated or denied, alike in both", "the same finding, the same presence"),
    ("side", "sides of the findings that are there", "the same side"),
    ("location", "lobes, segments and zones of the findings that are there", "one holds the other"),
    ("size", "sizes of the findings that are there", "within max(1 mm, 10 % of the larger)"),
)

METRICS = rule_metrics("report")
