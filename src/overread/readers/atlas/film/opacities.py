"""Where a lung is denser than expected: spots, patches and whole zones, with their shapes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from overread.readers.atlas.film.preparation import Bools, Edges
from overread.readers.atlas.film.profile import Profile

ZONES = (("upper lung zone", 0.0, 0.34), ("mid lung zone", 0.34, 0.56), ("lower lung zone", 0.56, 1.2))
"""Zone → from and to, in shares of the lung's height."""
MIN_EXCESS = 0.08
"""Density beyond the expected from which a patch is looked at, where 1 is the mediastinum."""
NOISE_FACTOR = 0.7
"""Factor on the film's noise that a patch must exceed as well."""
CLEAR_EXCESS = 0.17
"""Excess density above which a patch counts, whatever the film's noise."""


@dataclass(frozen=True)
class Patch:
    """One place that is denser than it should be."""

    side: str
    zones: tuple[str, ...]
    box: Edges
    """In pixels of the measured picture."""
    peak: float
    """Its greatest density beyond the expected."""
    width: float
    """Its longest diameter, in widths of the thorax."""
    round: float
    """1 a disc, 0 a line."""
    share: float
    """Share of its side's lung that it fills."""


def inner_lung(profile: Profile) -> Bools:
    """Lung away from its rims, where a smooth expectation holds."""
    width = float(np.ptp(np.flatnonzero(profile.lungs.any(axis=0)))) if profile.lungs.any() else 1
    rim = max(1, round(0.02 * width))
    near_heart = ndimage.binary_dilation(profile.heart.shadow, iterations=2 * rim)
    inner = ndimage.binary_erosion(profile.lungs, iterations=rim)
    # The left hilum lies farther out and over the heart's border.
    reach = np.where(profile.across > 0, 0.52, 0.42)
    hilum = (np.abs(profile.across) < reach) & (profile.down > 0.3) & (profile.down < 0.66)
    return np.asarray(inner & ~near_heart & ~hilum, bool)


def find_patches(profile: Profile) -> list[Patch]:
    """Patches that stand out on one side, the densest first."""
    where = inner_lung(profile)
    map_ = np.where(where, profile.one_sided_broad, 0)
    least = max(MIN_EXCESS, min(NOISE_FACTOR * profile.noise, CLEAR_EXCESS))
    labels, _ = ndimage.label(map_ > 0.6 * MIN_EXCESS)
    found = []
    for number, place in enumerate(ndimage.find_objects(labels), 1):
        inside = labels[place] == number
        peak = float(map_[place][inside].max())
        if peak < least:
            continue
        core = inside & (map_[place] > 0.5 * peak)
        patch = _measure_patch(profile, core, place, peak)
        if patch is not None:
            found.append(patch)
    return sorted(found, key=lambda patch: -patch.peak)


def _measure_patch(profile: Profile, core: Bools, place: tuple[slice, slice], peak: float) -> Patch | None:
    rows, columns = np.nonzero(core)
    if len(rows) < 12:
        return None
    across = float(profile.across[place][core].mean())
    side = "right" if across < 0 else "left"
    same = profile.lungs & (profile.across < 0 if side == "right" else profile.across > 0)
    spread = np.cov(np.stack([rows, columns]).astype(float)) + np.eye(2) * 0.1
    small, large = np.sqrt(np.maximum(np.linalg.eigvalsh(spread), 0.01))
    thorax = 2 * float(np.ptp(np.flatnonzero(same.any(axis=0))) + 1)
    top, left = rows.min() + place[0].start, columns.min() + place[1].start
    bottom, right = rows.max() + place[0].start + 1, columns.max() + place[1].start + 1
    down = profile.down[place][core]
    zones = tuple(
        f"{side} {name}" for name, low, high in ZONES if np.mean((down >= low) & (down < high)) > 0.25
    )
    return Patch(
        side=side,
        zones=zones,
        box=(float(left), float(top), float(right), float(bottom)),
        peak=peak,
        width=float(4 * large / thorax),
        round=float(small / large),
        share=float(core.sum() / max(same.sum(), 1)),
    )
