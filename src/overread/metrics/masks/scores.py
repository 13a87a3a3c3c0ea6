"""The mask metrics: the official ReXGroundingCT numbers, honest twins, and their ceilings.

Four readings of the same statistics, told by the prefix of the name:

- none: the official scorer to the letter, full mode. It leaves out scans without a file, casts
  values to bytes, takes precision and recall with nothing to divide by for 1, and pools the Dice of
  all matched pairs. Where it stops at a file there is no number;
- `honest_`: a missing or broken prediction is the worst, a zero below the line gives 0, and the
  matched Dice is a mean over findings;
- `global_only_`: the official global-only mode, which takes the prediction as it is;
- `ceiling_`: what the truth itself gets when it is handed in. Entities as drawn are no connected
  components, so even a perfect reader stays below 1 where it speaks of lesions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np

from overread.metrics.contract import Metric, by_name
from overread.metrics.masks.measure import measure_masks
from overread.metrics.masks.settings import MaskSettings
from overread.metrics.sample import Numbers, Sample, safe_divide

Combine = Callable[[Sample], Numbers]

REFERENCE = "the public ReXGroundingCT scorer's rule, by brute force with scipy.ndimage.label"
DISTANCE_REFERENCE = "the MICCAI 2026 challenge page's rule, by brute force with scipy's cdist"
OFFICIAL_ZERO, HONEST_ZERO = 1.0, 0.0
"""Precision and recall where there is nothing to divide by, unless a setting says otherwise."""


@dataclass(frozen=True)
class _Column:
    """Where the numbers of one column come from."""

    prefix: str = ""
    """Beginning of the names of its statistics."""
    official: bool = False
    """Whether the official scorer's own view is taken: what it leaves out, changes and stops at."""
    zero: float = HONEST_ZERO
    """Precision and recall with nothing below the line."""

    def total(self, name: str, sample: Sample) -> Numbers:
        """The sum of one statistic over the findings that the column counts."""
        if not self.official:
            return sample.total(self.prefix + name)
        # What was not judged holds zeros, apart from entities that were missed.
        name = f"{name}_judged" if name in ("fn", "distance_fn") else name
        return sample.total(name) + sample.total(f"official_change_{name}")

    def ratio(self, top: str, bottom: str, sample: Sample) -> Numbers:
        """One total over another. The official scorer has 0 where there is nothing below the line."""
        if not self.official:
            return sample.ratio(self.prefix + top, bottom)
        plain = sample.ratio(top, bottom)
        changed = (
            sample.column(f"official_change_{top}").any() or sample.column(f"official_change_{bottom}").any()
        )
        if not changed and not sample.column("stops").any() and not np.isnan(plain).any():
            return plain  # the quotient itself, of which an interval can be had in closed form
        below = self.total(bottom, sample)
        value = safe_divide(self.total(top, sample), below)
        return self.settle(np.where(below > 0, value, 0.0), sample)

    def settle(self, value: Numbers, sample: Sample) -> Numbers:
        """The number; NaN where the truth has no finding, or the official scorer stops at a file."""
        known = sample.total("findings") > 0
        if self.official:
            known &= sample.total("stops") == 0
        return np.where(known, value, np.nan)


def combine_mean(column: _Column, name: str, sample: Sample) -> Numbers:
    """The mean of a statistic over findings, of those that were judged in the official column."""
    return column.ratio(name, "judged" if column.official else "findings", sample)


def combine_case_mean(column: _Column, name: str, sample: Sample) -> Numbers:
    """The mean over scans of the mean of a statistic over their findings."""
    if column.official:
        return column.ratio(f"{name}_judged_share", "judged_share", sample)
    return column.ratio(f"{name}_share", "case_share", sample)


def combine_pooled_matches(column: _Column, sample: Sample) -> Numbers:
    """The mean Dice of all matched pairs at once; 0 where there is none."""
    if column.official:
        return column.ratio("matched_dice_sum", "tp", sample)
    value = safe_divide(column.total("matched_dice_sum", sample), column.total("tp", sample))
    return column.settle(np.where(np.isnan(value), 0.0, value), sample)


def combine_lesions(column: _Column, kind: str, stem: str, sample: Sample) -> Numbers:
    """Precision, recall or F1 over the lesions of all findings together."""
    true, surplus, missed = (column.total(stem + name, sample) for name in ("tp", "fp", "fn"))
    precision, recall = (
        np.where(true + wrong > 0, safe_divide(true, true + wrong), column.zero)
        for wrong in (surplus, missed)
    )
    both = precision + recall
    harmonic = np.where(both > 0, safe_divide(2 * precision * recall, both), 0.0)
    value = {"precision": precision, "recall": recall, "f1": harmonic}[kind]
    if stem:
        value = np.where(sample.total("spaced_judged" if column.official else "spaced") > 0, value, np.nan)
    return column.settle(value, sample)


def _combines(column: _Column, distance: _Column) -> dict[str, Combine]:
    """Name → how it is combined in one column."""
    found: dict[str, Combine] = {
        "mean_global_dice_per_finding": partial(combine_mean, column, "dice"),
        "mean_global_dice_per_case": partial(combine_case_mean, column, "dice"),
        "hit_rate": partial(combine_mean, column, "hit"),
        "overall_instance_precision": partial(combine_lesions, column, "precision", ""),
        "overall_instance_recall": partial(combine_lesions, column, "recall", ""),
        "overall_instance_f1": partial(combine_lesions, column, "f1", ""),
        "mean_matched_dice_per_finding": partial(combine_pooled_matches, column),
        "global_only_mean_global_dice_per_finding": partial(combine_mean, column, "raw_dice"),
        "global_only_mean_global_dice_per_case": partial(combine_case_mean, column, "raw_dice"),
        "global_only_hit_rate": partial(combine_mean, column, "raw_hit"),
    }
    for kind in ("precision", "recall", "f1"):
        found[f"distance_{kind}"] = partial(combine_lesions, distance, kind, "distance_")
    return found


def _matched_per_finding(prefix: str, sample: Sample) -> Numbers:
    """The mean over findings of the mean Dice of their matched lesions."""
    return sample.ratio(f"{prefix}matched_dice", f"{prefix}matched_counted")


ABOUT = {
    "mean_global_dice_per_finding": "mean over findings of the Dice of their masks",
    "mean_global_dice_per_case": "mean over scans of the mean Dice of their findings",
    "hit_rate": "share of findings whose Dice reaches the hit threshold",
    "overall_instance_precision": "share of predicted lesions that meet an entity, by Dice",
    "overall_instance_recall": "share of entities that a predicted lesion meets, by Dice",
    "overall_instance_f1": "harmonic mean of instance precision and recall",
    "mean_matched_dice_per_finding": "mean Dice of all matched lesions, whatever their finding",
    "global_only_mean_global_dice_per_finding": "mean Dice of findings, predictions as they are",
    "global_only_mean_global_dice_per_case": "mean of scan means of Dice, predictions as they are",
    "global_only_hit_rate": "share of findings that are hit, predictions as they are",
    "distance_precision": "share of predicted lesions within reach of an entity",
    "distance_recall": "share of entities within reach of a predicted lesion",
    "distance_f1": "harmonic mean of distance precision and recall",
}
_PER_FINDING = "mean over findings of the mean Dice of matched lesions"
_MATCHED = "mean_matched_dice_per_finding"
_BINARY = {"hit_rate": "hit", "global_only_hit_rate": "raw_hit"}
_WHO = {
    "": "; by the official scorer, which leaves out missing predictions",
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
    official, honest = (
        normal if chosen.zero_denominator is None else float(chosen.zero_denominator)
        for normal in (OFFICIAL_ZERO, HONEST_ZERO)
    )
    groups = {
        # Of the challenge's distances no scorer is public, so nothing is known of its zeros.
        "": _combines(_Column(official=True, zero=official), _Column(official=True, zero=honest)),
        "honest_": _combines(_Column(zero=honest), _Column(zero=honest)),
        "ceiling_": _combines(_Column("ceiling_", zero=official), _Column("ceiling_", zero=honest)),
    }
    groups["honest_"][_MATCHED] = partial(_matched_per_finding, "")
    groups["ceiling_"][f"honest_{_MATCHED}"] = partial(_matched_per_finding, "ceiling_")

    def about(prefix: str, name: str) -> str:
        per_finding = (prefix + name).endswith(f"honest_{_MATCHED}")
        return (_PER_FINDING if per_finding else ABOUT[name]) + _WHO[prefix]

    def zero(prefix: str, name: str) -> float:
        return honest if prefix == "honest_" or name.startswith("distance_") else official

    return tuple(
        Metric(
            name=prefix + name,
            about=about(prefix, name),
            better="higher",
            needs=("masks",),
            measure=measure,
            combine=combine,
            best=1.0,
            worst=0.0,
            reference=DISTANCE_REFERENCE if name.startswith("distance_") else REFERENCE,
            settings=_metric_settings(chosen, prefix, name, zero(prefix, name)),
            ceiling=_ceiling_name(prefix, name),
            drops_missing=not prefix,
            counts="cases" if name.endswith("_per_case") else "units",
            binary="" if prefix == "ceiling_" else _BINARY.get(name, ""),
            retune=retune_masks,
        )
        for prefix, combines in groups.items()
        for name, combine in combines.items()
    )


def _ceiling_name(prefix: str, name: str) -> str:
    if prefix == "honest_" and name == _MATCHED:
        return f"ceiling_honest_{name}"
    return f"ceiling_{name}"


def retune_masks(settings: Mapping[str, Any]) -> tuple[Metric, ...]:
    """All mask metrics with the settings of one, some of them changed."""
    return mask_metrics(pick_mask_settings(settings))


def pick_mask_settings(settings: Mapping[str, Any]) -> MaskSettings:
    """The mask settings among all settings of a metric."""
    own = {field.name for field in fields(MaskSettings)}
    return MaskSettings(**{key: value for key, value in settings.items() if key in own})


def _metric_settings(settings: MaskSettings, prefix: str, name: str, zero: float) -> dict[str, Any]:
    mode = "global only" if name.startswith("global_only_") else "full"
    missing = {"": "left out", "honest_": "worst", "ceiling_": "not asked"}[prefix]
    told = settings.as_settings() | {"mode": mode, "missing": missing}
    del told["zero_denominator"]
    if not prefix:
        told["values"] = "cast to uint8"
    if name.endswith(("precision", "recall", "f1")):
        told["zero_denominator"] = zero
    return told


METRICS = by_name(*mask_metrics())
"""All of them with the official settings, by name."""
