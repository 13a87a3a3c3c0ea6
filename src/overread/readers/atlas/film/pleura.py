"""Fluid and free air about the lungs: the costophrenic angles, and the outer and upper rims."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from overread.readers.atlas.film.lungs import FilmLungs
from overread.readers.atlas.film.preparation import Bools, Grey
from overread.readers.atlas.film.profile import Profile


@dataclass(frozen=True)
class PleuraMeasures:
    """What was measured of one side; densities are shares of the step from lung to mediastinum."""

    angle: float
    """How much denser the costophrenic angle is than the profile of the lungs lets expect."""
    beside: float
    """The same of a larger part of the base: fluid stands highest at the wall."""
    lucent: float
    """How much darker the outer upper rim is than that of the other side."""
    within: float
    """How much darker the upper lung inside of that rim is."""
    turned: float
    """How much darker the soft parts of the wall are: a turned patient has one darker side."""


def measure_rims(profile: Profile, lungs: FilmLungs, patient: Bools) -> dict[str, PleuraMeasures]:
    """Both sides; the rims are held against each other, the angles against the profile."""
    frame = lungs.frame
    width = max(frame.left_wall - frame.right_wall, 1.0)
    smooth = ndimage.gaussian_filter(profile.depth, 0.008 * width)
    tones: dict[str, tuple[float, float, float]] = {}
    bases: dict[str, tuple[float, float]] = {}
    for side, mask in (("right", lungs.right), ("left", lungs.left)):
        out = -profile.across if side == "right" else profile.across
        far = ndimage.distance_transform_edt(mask) / width
        upper = mask & patient & (profile.down < 0.5) & (out > 0.35)
        wall = patient & (out > 1.03) & (out < 1.16) & (profile.down > 0.25) & (profile.down < 0.7)
        tones[side] = (
            _masked_mean(profile.excess, upper & (far > 0.012) & (far < 0.06)),
            _masked_mean(profile.excess, upper & (far > 0.08)),
            _masked_mean(smooth, wall) / profile.span,
        )
        base = mask & patient
        bases[side] = (
            _masked_mean(profile.excess, base & (out > 0.8) & (out < 0.99) & (profile.down > 0.86)),
            _masked_mean(profile.excess, base & (out > 0.6) & (out < 0.97) & (profile.down > 0.84)),
        )
    rims: dict[str, PleuraMeasures] = {}
    for side, other in (("right", "left"), ("left", "right")):
        rim, core, wall_tone = (b - a for a, b in zip(tones[side], tones[other], strict=True))
        rims[side] = PleuraMeasures(*bases[side], lucent=rim, within=core, turned=wall_tone)
    return rims


def _masked_mean(picture: Grey, mask: Bools) -> float:
    return float(picture[mask].mean()) if np.count_nonzero(mask) > 3 else 0.0
