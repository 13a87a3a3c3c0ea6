"""CheXbert F1: do two reports carry the same labels? 14 classes or 5, micro or macro."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from overread.errors import UsageError
from overread.language.labels import CHEXPERT
from overread.metrics.contract import Statistics
from overread.metrics.rows import as_rows
from overread.metrics.sample import Numbers, Sample, safe_divide

CLASSES = (*CHEXPERT[1:], CHEXPERT[0])
"""The 14 classes in CheXbert's order: 'No Finding' is the last."""
FIVE = ("Cardiomegaly", "Edema", "Consolidation", "Atelectasis", "Pleural Effusion")
"""The five that the CheXpert competition scored."""
BLANK, POSITIVE, NEGATIVE, UNCERTAIN = 0, 1, 2, 3
"""CheXbert's own encoding of a label."""

Average: TypeAlias = Literal["micro", "macro"]
Absent: TypeAlias = Literal["left out", "zero"]
"""What a class that neither side has does to a macro average."""


def positives(labels: Sequence[int]) -> list[int]:
    """CheXbert's labels as 0 and 1: uncertain counts as positive.

    >>> positives([0, 1, 2, 3, *[0] * 10])
    [0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    """
    if len(labels) != len(CLASSES) or any(label not in range(4) for label in labels):
        raise UsageError(
            "CheXbert's labels are 14 numbers from 0 to 3 (blank, positive, negative, uncertain)"
        )
    return [int(label in (POSITIVE, UNCERTAIN)) for label in labels]


def chexbert_f1(
    references: Sequence[Sequence[int]],
    others: Sequence[Sequence[int]],
    *,
    classes: Literal[14, 5] = 14,
    average: Average = "micro",
    absent: Absent = "zero",
) -> float:
    """F1 of the labels of many reports, given in CheXbert's own encoding.

    >>> edema = [0, 0, 0, 0, 1, *[0] * 9]
    >>> both = [0, 1, 0, 0, 3, *[0] * 9]
    >>> round(chexbert_f1([edema, edema], [both, edema], classes=5), 4)
    0.8
    """
    pairs = zip(references, others, strict=True)
    rows = [{"reference_labels": positives(a), "labels": positives(b)} for a, b in pairs]
    return float(labels_f1(Sample(rows), classes=classes, average=average, absent=absent)[0])


def labels_f1(
    sample: Sample, *, classes: int = 14, average: Average = "micro", absent: Absent = "zero"
) -> Numbers:
    """F1 of rows with `reference_labels` and `labels` (14 times 0 or 1), one number a draw.

    Micro counts hits over all classes; NaN where neither side has a positive. Macro is the mean of
    the classes; one that neither side has is left out, or counts as zero as in the published code.
    """
    hits, either = _counts(sample, classes)
    if average == "micro":
        return safe_divide(2 * hits.sum(axis=1), either.sum(axis=1))
    each = safe_divide(2 * hits, either)
    known = ~np.isnan(each)
    total = np.where(known, each, 0.0).sum(axis=1)
    if absent == "left out":
        return safe_divide(total, known.sum(axis=1).astype(np.float64))
    mean: Numbers = np.where(sample.weights.any(axis=1), total / each.shape[1], np.nan)
    return mean


def reference_class_share(sample: Sample, *, classes: int = 14) -> Numbers:
    """Share of the classes that a reference has: what a perfect reader's macro F1 is."""
    chosen = _class_columns(classes)
    there = sample.weights @ sample.compute(_reference_labels)[:, chosen] > 0
    share: Numbers = np.where(sample.weights.any(axis=1), there.mean(axis=1), np.nan)
    return share


def _counts(sample: Sample, classes: int) -> tuple[Numbers, Numbers]:
    """Hits, and positives of both sides together; one line a draw, one column a class."""
    chosen = _class_columns(classes)
    ours, theirs = (sample.compute(labels)[:, chosen] for labels in (_reference_labels, _labels))
    return sample.weights @ (ours * theirs), sample.weights @ (ours + theirs)


def _reference_labels(rows: Sequence[Statistics]) -> Numbers:
    return as_rows(rows).lists("reference_labels")[1].reshape(-1, len(CLASSES))


def _labels(rows: Sequence[Statistics]) -> Numbers:
    return as_rows(rows).lists("labels")[1].reshape(-1, len(CLASSES))


def _class_columns(classes: int) -> list[int]:
    return [n for n, name in enumerate(CLASSES) if classes == len(CLASSES) or name in FIVE]
