"""The clinical scores that need no model: findings by rules, and CheXpert's labels by rules."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np

from overread.language.compare import compare_statements
from overread.language.labels import chexpert_labels
from overread.language.statements import Statement, find_statements
from overread.metrics.clinical.chexbert import CLASSES, labels_f1
from overread.metrics.clinical.findings import count_findings
from overread.metrics.contract import Measured, Metric, Subject, stored_as
from overread.metrics.sample import Numbers, Sample, safe_divide
from overread.metrics.texts import Part, text_pairs


@stored_as("clinical.rules.measure_rules")
def measure_rules(subject: Subject, part: Part) -> Measured:
    """Counts, disagreements and labels of one case; each text is read once."""
    measured = {}
    for unit, reference, written in text_pairs(subject, part):
        ours, theirs = find_statements(reference), find_statements(written)
        measured[unit] = {
            **count_findings(compare_statements(ours, theirs)),
            "reference_labels": _labels(ours),
            # Where nothing is written, nothing is said: not even 'No Finding'.
            "labels": _labels(theirs) if written.strip() else [0] * len(CLASSES),
        }
    return measured


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
def rule_metrics(part: Part = "report") -> dict[str, Metric]:
    """All scores of this module for one part of a reading, by name.

    Those of the report have plain names; others end in the part ('clinical_f1_findings').
    """
    measure = partial(measure_rules, part=part)
    tail = "" if part == "report" else f"_{part}"

    def metric(
        name: str, about: str, combine: Callable[[Sample], Numbers], reference: str, **settings: str
    ) -> Metric:
        return Metric(
            name=name + tail,
            about=about,
            better="higher",
            needs=(part,),
            measure=measure,
            combine=combine,
            best=1.0,
            worst=0.0,
            reference=reference,
            settings={"part": part, "reader": "overread.language rules", **settings},
            symmetric=name.startswith("chexpert"),
        )

    own = "ours; brute force in tests/metrics/clinical/test_rules.py"
    found = {"average": "micro", "uncertain": "counts as there"}
    whole = partial(f1, hit="found", reference="reference", other="other")
    made = [
        metric("clinical_precision", "findings of the reading, found in both", precision, own, **found),
        metric("clinical_recall", "findings of the reference, found in both", recall, own, **found),
        metric("clinical_f1", "findings of both sides, found in both", whole, own, **found),
    ]
    for name, what, rule in _ATTRIBUTES:
        combine = partial(f1, hit=f"{name}_hit", reference=f"{name}_reference", other=f"{name}_other")
        made.append(metric(f"clinical_{name}_f1", what, combine, own, average="micro", agreement=rule))
    for classes in (14, 5):
        for average in ("micro", "macro"):
            macro = average == "macro"
            made.append(
                metric(
                    f"chexpert_f1_rules_{classes}" + ("_macro" if macro else ""),
                    f"CheXpert labels read by rules, {classes} classes, {average} F1",
                    partial(labels_f1, classes=classes, average=average, absent="left out"),
                    "scikit-learn f1_score",
                    average=average,
                    uncertain="counts as positive",
                    **({"class of neither side": "left out"} if macro else {}),
                )
            )
    return {item.name.removesuffix(tail): item for item in made}


def _labels(told: list[Statement]) -> list[int]:
    marks = chexpert_labels(told)
    return [marks[name] for name in CLASSES]


_ATTRIBUTES = (
    ("presence", "what is stated or denied, alike in both", "the same finding, the same presence"),
    ("side", "sides of the findings that are there", "the same side"),
    ("location", "lobes, segments and zones of the findings that are there", "one holds the other"),
    ("size", "sizes of the findings that are there", "within max(1 mm, 10 % of the larger)"),
)

METRICS = rule_metrics("report")
