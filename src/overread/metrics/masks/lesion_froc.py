"""FROC of lesions in CTs: how many entities are found, at so many false lesions a scan.

Every connected component of a mark is a lesion, as sure as the reader is of the mark (`confidence` of
a `Mask`; several marks of one finding may have several). Surest first, each takes the best free entity
of the finding that it is asked for and whose Dice reaches the threshold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from overread.metrics.contract import Measured, Metric, Subject, by_name, stored_as
from overread.metrics.froc import froc, froc_metrics
from overread.metrics.masks.components import Instances, components, entities, overlap
from overread.metrics.masks.measure import read_marked_findings
from overread.metrics.masks.panoptic import check_lesion_settings
from overread.metrics.masks.voxel_runs import VoxelRuns
from overread.metrics.ranked_matching import match_by_score
from overread.metrics.sample import Numbers, Sample

Marks = Sequence[tuple[VoxelRuns, float]]


def match_lesions(
    truth: Instances, marks: Marks, *, match_threshold: float, connectivity: int, min_voxels: int
) -> list[list[float]]:
    """Each lesion of the marks as [confidence, hit], surest first.

    >>> runs = VoxelRuns((9, 1, 1), np.array([0, 5]), np.array([4, 7]), np.array([1, 2]))
    >>> how = {"match_threshold": 0.2, "connectivity": 6, "min_voxels": 1}
    >>> match_lesions(entities(runs), [(runs.select(np.array([1])), 0.4)], **how)
    [[0.4, 1]]
    """
    tables, sure = [np.zeros((0, len(truth)))], []
    for runs, confidence in marks:
        lesions = components(runs, connectivity)
        lesions = lesions.select(np.flatnonzero(lesions.sizes >= min_voxels))
        shared = overlap(lesions, truth)
        tables.append(2 * shared / (lesions.sizes[:, None] + truth.sizes[None, :]))
        sure += [confidence] * len(lesions)
    order, hit = match_by_score(np.concatenate(tables), sure, [match_threshold])
    return [[sure[n], int(h)] for n, h in zip(order.tolist(), hit[0].tolist(), strict=True)]


@stored_as("masks.lesion_froc.measure_lesion_froc")
def measure_lesion_froc(
    subject: Subject, *, match_threshold: float = 0.2, connectivity: int = 18, min_voxels: int = 10
) -> Measured:
    """One row a finding: its entities, and each lesion that was marked for it with its hit."""
    match = partial(
        match_lesions, match_threshold=match_threshold, connectivity=connectivity, min_voxels=min_voxels
    )
    findings = list(read_marked_findings(subject))
    told = all(sure is not None for one in findings for _, sure in one.marks)
    rows: dict[str, dict[str, Any]] = {}
    for one in findings:
        drawn = entities(one.truth)
        marks = [(runs, float(sure) if told and sure is not None else 1.0) for runs, sure in one.marks]
        rows[one.unit] = {
            "cases": 1 / len(findings),
            "truths": len(drawn),
            "found": match(drawn, marks),
            "ceiling_found": match(drawn, [(one.truth, 1.0)]),
        } | ({"problem": one.problem} if one.problem else {})
    return rows


def ceiling_froc(sample: Sample, *, rates: Sequence[float]) -> Numbers:
    """FROC of the truth handed in as a prediction."""
    rows = [{**row, "found": row["ceiling_found"]} for row in sample.rows]
    return froc(Sample(rows, sample.weights), rates=rates)


def lesion_froc_metrics(
    match_threshold: float = 0.2, connectivity: int = 18, min_voxels: int = 10
) -> tuple[Metric, ...]:
    """The mean over all rates, the sensitivity at each, and the ceilings of them.

    >>> [metric.name for metric in lesion_froc_metrics()][:2]
    ['mask_froc', 'mask_froc_0.125']
    """
    settings = check_lesion_settings(
        {"match_threshold": match_threshold}, connectivity=connectivity, min_voxels=min_voxels
    )
    told = {
        **settings,
        "matched by": "Dice",
        "score": "confidences where all masks of a reading have one, else all equal",
    }
    ours = froc_metrics(
        "mask_",
        "entities",
        needs=("masks",),
        measure=partial(measure_lesion_froc, **settings),
        settings=told,
        counts="cases",
        retune=retune_lesion_froc,
    )
    ours = tuple(replace(metric, ceiling=f"ceiling_{metric.name}") for metric in ours)
    ceilings = tuple(
        replace(
            metric,
            name=metric.ceiling,
            about=f"{metric.about}; what the truth itself gets when it is handed in",
            combine=partial(ceiling_froc, rates=metric.settings["false_per_case"]),
        )
        for metric in ours
    )
    return (*ours, *ceilings)


def retune_lesion_froc(settings: Mapping[str, Any]) -> tuple[Metric, ...]:
    """These metrics with the settings of one, some of them changed."""
    return lesion_froc_metrics(settings["match_threshold"], settings["connectivity"], settings["min_voxels"])


METRICS = by_name(*lesion_froc_metrics())
