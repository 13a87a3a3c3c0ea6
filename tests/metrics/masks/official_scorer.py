"""The public ReXGroundingCT scorer's rule once more, from its description and nothing of ours.

Whole arrays, one loop inside the other, as its authors would have it: two folders of files go in, one
summary comes out, or an exception where the scorer would have ended with one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

Array = NDArray[Any]


def summary(
    truth: Path, predictions: Path, names: list[str], *, global_only: bool = False
) -> dict[str, float]:
    """What the scorer prints for a split; a scan without a file is left out."""
    scans = []
    for name in names:
        if (predictions / name).is_file():
            one, other = as_bytes(truth / name), as_bytes(predictions / name)
            if one.shape != other.shape:
                raise ValueError(f"shapes {one.shape} and {other.shape}")
            pairs = zip(one, other, strict=True)
            scans.append([raw_finding(a, b) if global_only else full_finding(a, b) for a, b in pairs])
    findings = [finding for scan in scans for finding in scan]
    means = [float(np.mean([finding["dice"] for finding in scan])) for scan in scans]
    found = {
        "mean_global_dice_per_finding": mean([finding["dice"] for finding in findings]),
        "mean_global_dice_per_case": mean(means),
        "hit_rate": mean([float(finding["dice"] >= 0.1) for finding in findings]),
    }
    if global_only:
        return {f"global_only_{name}": value for name, value in found.items()}
    true, surplus, missed = (sum(finding[name] for finding in findings) for name in ("tp", "fp", "fn"))
    precision = true / (true + surplus) if true + surplus else 1.0
    recall = true / (true + missed) if true + missed else 1.0
    return found | {
        "overall_instance_precision": precision,
        "overall_instance_recall": recall,
        "overall_instance_f1": 2 * precision * recall / (precision + recall) if precision + recall else 0.0,
        "mean_matched_dice_per_finding": mean([d for finding in findings for d in finding["matched"]]),
    }


def mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else 0.0


def as_bytes(path: Path) -> Array:
    """Everything is cast to uint8, whatever comes of it."""
    with np.errstate(all="ignore"):
        values: Array = np.asanyarray(nib.load(path).dataobj).astype(np.uint8)
    return values


def dice(one: Array, other: Array) -> float:
    total = int(one.sum()) + int(other.sum())
    return (2 * int((one & other).sum()) + 1e-6) / (total + 1e-6) if total else 1.0


def raw_finding(truth: Array, predicted: Array) -> dict[str, Any]:
    return {"dice": dice(truth > 0, predicted > 0)}


def full_finding(truth: Array, predicted: Array) -> dict[str, Any]:
    """18-connected lesions of ten voxels or more, the fifty largest; the best pairs first."""
    structure = ndimage.generate_binary_structure(3, 2)
    numbers, count = ndimage.label(predicted > 0, structure)
    large = [n for n in range(1, count + 1) if (numbers == n).sum() >= 10]
    numbers, count = ndimage.label(np.isin(numbers, large), structure)
    by_size = sorted(range(1, count + 1), key=lambda n: (numbers == n).sum(), reverse=True)
    kept = {n: numbers == n for n in sorted(by_size[:50])}
    drawn = {int(label): truth == label for label in np.unique(truth) if label}
    # It walks Python sets: small numbers come in order, others as CPython keeps them.
    entities, lesions = set(drawn), set(kept)
    table = {(e, n): dice(drawn[e], kept[n]) for e in drawn for n in kept}
    matched = []
    while True:
        best, pair = 0.0, None
        for entity in entities:
            for lesion in lesions:
                if table[entity, lesion] > best:
                    best, pair = table[entity, lesion], (entity, lesion)
        if pair is None or best < 0.2:
            break
        matched.append(best)
        entities.remove(pair[0])
        lesions.remove(pair[1])
    union = np.isin(numbers, list(kept))
    found: dict[str, Any] = {"dice": dice(truth > 0, union), "matched": matched}
    return found | {"tp": len(matched), "fn": len(entities), "fp": len(lesions)}
