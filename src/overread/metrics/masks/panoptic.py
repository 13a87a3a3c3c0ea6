"""Panoptic quality of masks: are the lesions found (RQ), how well are those drawn (SQ), both (PQ).

The lesions of the truth are its entities as drawn, those of the prediction its connected components.
Pairs whose IoU reaches the threshold are matched one to one, best first. The lesions of all findings
are counted together, as Kirillov et al. (2019) define it for the pictures of a split; the numbers of
one finding alone are panoptica's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from overread.errors import UsageError
from overread.metrics.contract import Measured, Metric, Subject, by_name, stored_as
from overread.metrics.masks.components import Instances, components, entities, overlap
from overread.metrics.masks.instances import match_greedily
from overread.metrics.masks.measure import read_marked_findings
from overread.metrics.masks.settings import MaskSettings
from overread.metrics.masks.voxel_runs import VoxelRuns
from overread.metrics.sample import Numbers, Sample, safe_divide

Quality = Literal["pq", "sq", "rq"]

ABOUT: dict[Quality, str] = {
    "pq": "panoptic quality of lesions: recognition times segmentation quality",
    "sq": "segmentation quality: mean IoU of matched lesions",
    "rq": "recognition quality: F1 of lesions matched by IoU",
}


def lesion_iou(one: Instances, other: Instances) -> NDArray[np.float64]:
    """The IoU of every lesion of one with every lesion of the other."""
    shared = overlap(one, other)
    return np.asarray(shared / (one.sizes[:, None] + other.sizes[None, :] - shared), np.float64)


def panoptic_counts(
    truth: Instances, predicted: VoxelRuns, *, iou_threshold: float, connectivity: int, min_voxels: int
) -> dict[str, float]:
    """Matched, surplus and missed lesions of one finding, and the summed IoU of the matched.

    >>> runs = VoxelRuns((8, 1, 1), np.array([0, 5]), np.array([4, 7]), np.array([1, 2]))
    >>> found = VoxelRuns((8, 1, 1), np.array([0]), np.array([3]), np.array([1]))
    >>> panoptic_counts(entities(runs), found, iou_threshold=0.5, connectivity=6, min_voxels=1)
    {'tp': 1, 'fp': 0, 'fn': 1, 'iou': 0.75}
    """
    lesions = components(predicted, connectivity)
    lesions = lesions.select(np.flatnonzero(lesions.sizes >= min_voxels))
    iou = lesion_iou(truth, lesions)
    matches = match_greedily(-iou, iou >= iou_threshold, values=iou)
    true = len(matches)
    return {
        "tp": true,
        "fp": len(lesions) - true,
        "fn": len(truth) - true,
        "iou": sum(value for _, _, value in matches),
    }


@stored_as("masks.panoptic.measure_panoptic")
def measure_panoptic(
    subject: Subject, *, iou_threshold: float = 0.5, connectivity: int = 18, min_voxels: int = 1
) -> Measured:
    """The counts of each finding, and those that its own truth gets when it is handed in."""
    count = partial(
        panoptic_counts, iou_threshold=iou_threshold, connectivity=connectivity, min_voxels=min_voxels
    )
    rows: dict[str, dict[str, Any]] = {}
    for one in read_marked_findings(subject):
        drawn = entities(one.truth)
        ours = {"tp": 0, "fp": 0, "fn": len(drawn), "iou": 0.0}
        row: dict[str, Any] = {"findings": 1}
        row |= ours if one.predicted is None else count(drawn, one.predicted)
        row |= {f"ceiling_{name}": value for name, value in count(drawn, one.truth).items()}
        if one.problem:
            row["problem"] = one.problem
        rows[one.unit] = row
    return rows


def panoptic_quality(sample: Sample, *, quality: Quality, prefix: str = "") -> Numbers:
    """PQ, SQ or RQ over the lesions of all findings; 0 without a match, NaN without a lesion.

    >>> rows = [{"tp": 1, "fp": 0, "fn": 1, "iou": 0.75}]
    >>> [float(panoptic_quality(Sample(rows), quality=q)[0].round(3)) for q in ("pq", "sq", "rq")]
    [0.5, 0.75, 0.667]
    """
    true, surplus, missed, iou = (sample.total(prefix + name) for name in ("tp", "fp", "fn", "iou"))
    lesions = true + (surplus + missed) / 2
    top, bottom = {"pq": (iou, lesions), "sq": (iou, true), "rq": (true, lesions)}[quality]
    return np.where(lesions > 0, np.where(true > 0, safe_divide(top, bottom), 0.0), np.nan)


def panoptic_metrics(
    iou_threshold: float = 0.5, connectivity: int = 18, min_voxels: int = 1
) -> tuple[Metric, ...]:
    """PQ, SQ and RQ, and the ceilings of them, with these settings.

    >>> [metric.name for metric in panoptic_metrics()]
    ['pq', 'sq', 'rq', 'ceiling_pq', 'ceiling_sq', 'ceiling_rq']
    """
    settings = check_lesion_settings(
        {"iou_threshold": iou_threshold}, connectivity=connectivity, min_voxels=min_voxels
    )
    measure: Callable[[Subject], Measured] = partial(measure_panoptic, **settings)
    told = {**settings, "truth": "entities as drawn", "prediction": "components", "mean": "lesions together"}
    whose = {"": "a missing prediction is the worst", "ceiling_": "what the truth itself gets"}
    return tuple(
        Metric(
            name=prefix + quality,
            about=f"{about}; {whose[prefix]}",
            better="higher",
            needs=("masks",),
            measure=measure,
            combine=partial(panoptic_quality, quality=quality, prefix=prefix),
            best=1.0,
            worst=0.0,
            reference="panoptica 2.1",
            settings=told,
            ceiling=f"ceiling_{quality}",
            retune=retune_panoptic,
        )
        for prefix in whose
        for quality, about in ABOUT.items()
    )


def check_lesion_settings(
    thresholds: Mapping[str, Any], *, connectivity: Any, min_voxels: Any
) -> dict[str, Any]:
    """The settings by which lesions are told and matched, once they are found to make sense."""
    for name, value in thresholds.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
            raise UsageError(f"{name} cannot be {value!r}", remedy="give a number above 0, up to 1")
    MaskSettings(connectivity=connectivity, min_voxels=min_voxels)  # refuses what masks cannot have
    return {**thresholds, "connectivity": connectivity, "min_voxels": min_voxels}


def retune_panoptic(settings: Mapping[str, Any]) -> tuple[Metric, ...]:
    """These metrics with the settings of one, some of them changed."""
    return panoptic_metrics(settings["iou_threshold"], settings["connectivity"], settings["min_voxels"])


METRICS = by_name(*panoptic_metrics())
