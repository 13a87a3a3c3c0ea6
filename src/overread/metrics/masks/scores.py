"""The mask metrics: the official ReXGroundingCT numbers, honest twins, and their ceilings.

Four readings of the same statistics, told by the prefix of the name:

- none: the official rule, full mode; a prediction that is missing or broken is left out;
- `honest_`: the same, where it counts as the worst;
- `global_only_`: the official global-only mode, which takes the prediction as it is;
- `ceiling_`: what the truth itself gets when it is handed in. Entities as drawn are no connected
  components, so even a perfect reader stays below 1 where it speaks of lesions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np

from overread.metrics.contract import Metric, by_name
from overread.metrics.masks.measure import measure_masks
from overread.metrics.masks.settings import MaskSettings
from overread.metrics.sample import Numbers, Sample, safe_divide

Combine = Callable[[Sample], Numbers]

REFERENCE = "the public ReXGroundingCT script's rule, by brute force with scipy.ndimage.label"
DISTANCE_REFERENCE = "the MICCAI 2026 challenge page's rule, by brute force with scipy's cdist"
ZERO_DENOMINATOR = 0.0
"""Precision, recall and F1 where there is nothing to divide by."""


def combine_share(top: str, bottom: str, sample: Sample) -> Numbers:
    """One sum over another."""
    return sample.ratio(top, bottom)


def combine_counts(kind: str, true: str, false: tuple[str, ...], judged: str, sample: Sample) -> Numbers:
    """Precision, recall or F1 over the lesions of all findings together.

    NaN where there is no finding at all; 0 where there is no lesion to divide by.
    """
    found = sample.total(true) * (2.0 if kind == "f1" else 1.0)
    wrong = np.sum([sample.total(name) for name in false], axis=0)
    value = np.where(found + wrong > 0, safe_divide(found, found + wrong), ZERO_DENOMINATOR)
    return np.where(sample.total(judged) > 0, value, np.nan)


def _combines(prefix: str, end: str, judged: str) -> dict[str, Combine]:
    """Name → how it is combined, from statistics of one prefix; `end` marks what was judged."""

    def lesions(kind: str, stem: str, present: str) -> Combine:
        true, surplus = f"{prefix}{stem}tp", f"{prefix}{stem}fp"
        missed = f"{prefix}{stem}fn{end}"
        false = {"precision": (surplus,), "recall": (missed,), "f1": (surplus, missed)}[kind]
        return partial(combine_counts, kind, true, false, present)

    case = f"{end}_share" if end else "_share"
    shares = "judged_share" if end else "case_share"
    found: dict[str, Combine] = {
        "mean_global_dice_per_finding": partial(combine_share, f"{prefix}dice", judged),
        "mean_global_dice_per_case": partial(combine_share, f"{prefix}dice{case}", shares),
        "hit_rate": partial(combine_share, f"{prefix}hit", judged),
        "overall_instance_precision": lesions("precision", "", judged),
        "overall_instance_recall": lesions("recall", "", judged),
        "overall_instance_f1": lesions("f1", "", judged),
        "mean_matched_dice_per_finding": partial(
            combine_share, f"{prefix}matched_dice", f"{prefix}matched_counted{end}"
        ),
        "global_only_mean_global_dice_per_finding": partial(combine_share, f"{prefix}raw_dice", judged),
        "global_only_mean_global_dice_per_case": partial(combine_share, f"{prefix}raw_dice{case}", shares),
        "global_only_hit_rate": partial(combine_share, f"{prefix}raw_hit", judged),
    }
    for kind in ("precision", "recall", "f1"):
        found[f"distance_{kind}"] = lesions(kind, "distance_", f"spaced{end}")
    return found


ABOUT = {
    "mean_global_dice_per_finding": "mean over findings of the Dice of their masks",
    "mean_global_dice_per_case": "mean over scans of the mean Dice of their findings",
    "hit_rate": "share of findings whose Dice reaches the hit threshold",
    "overall_instance_precision": "share of predicted lesions that meet an entity, by Dice",
    "overall_instance_recall": "share of entities that a predicted lesion meets, by Dice",
    "overall_instance_f1": "harmonic mean of instance precision and recall",
    "mean_matched_dice_per_finding": "mean over findings of the mean Dice of matched lesions",
    "global_only_mean_global_dice_per_finding": "mean Dice of findings, predictions as they are",
    "global_only_mean_global_dice_per_case": "mean of scan means of Dice, predictions as they are",
    "global_only_hit_rate": "share of findings that are hit, predictions as they are",
    "distance_precision": "share of predicted lesions within reach of an entity",
    "distance_recall": "share of entities within reach of a predicted lesion",
    "distance_f1": "harmonic mean of distance precision and recall",
}
_BINARY = {"hit_rate": "hit", "global_only_hit_rate": "raw_hit"}
_WHO = {
    "": "; missing predictions are left out, as the official script does",
    "honest_": "; a missing or broken prediction is the worst",
    "ceiling_": "; what the truth itself gets when it is handed in",
}


def mask_metrics(settings: MaskSettings | None = None) -> tuple[Metric, ...]:
    """All mask metrics with these settings; they share one measure, so files are read once.

    >>> [metric.name for metric in mask_metrics()][:2]
    ['mean_global_dice_per_finding', 'mean_global_dice_per_case']
    """
    chosen = settings or MaskSettings()
    measure = partial(measure_masks, settings=chosen)
    groups = {
        "": _combines("", "_judged", "judged"),
        "honest_": _combines("", "", "findings"),
        "ceiling_": _combines("ceiling_", "", "findings"),
    }
    return tuple(
        Metric(
            name=prefix + name,
            about=ABOUT[name] + _WHO[prefix],
            better="higher",
            needs=("masks",),
            measure=measure,
            combine=combine,
            best=1.0,
            worst=0.0,
            reference=DISTANCE_REFERENCE if name.startswith("distance_") else REFERENCE,
            settings=_metric_settings(chosen, prefix, name),
            ceiling=f"ceiling_{name}",
            drops_missing=not prefix,
            counts="cases" if name.endswith("_per_case") else "units",
            binary="" if prefix == "ceiling_" else _BINARY.get(name, ""),
            retune=retune_masks,
        )
        for prefix, combines in groups.items()
        for name, combine in combines.items()
    )


def retune_masks(settings: Mapping[str, Any]) -> tuple[Metric, ...]:
    """All mask metrics with the settings of one, some of them changed."""
    return mask_metrics(pick_mask_settings(settings))


def pick_mask_settings(settings: Mapping[str, Any]) -> MaskSettings:
    """The mask settings among all settings of a metric."""
    own = {field.name for field in fields(MaskSettings)}
    return MaskSettings(**{key: value for key, value in settings.items() if key in own})


def _metric_settings(settings: MaskSettings, prefix: str, name: str) -> dict[str, Any]:
    mode = "global only" if name.startswith("global_only_") else "full"
    missing = {"": "left out", "honest_": "worst", "ceiling_": "not asked"}[prefix]
    told = settings.as_settings() | {"mode": mode, "missing": missing}
    return told | (
        {"zero_denominator": ZERO_DENOMINATOR} if name.endswith(("precision", "recall", "f1")) else {}
    )


METRICS = by_name(*mask_metrics())
"""All of them with the official settings, by name."""
