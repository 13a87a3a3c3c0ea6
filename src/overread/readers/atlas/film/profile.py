"""What is expected of a lung's density, and where a film differs from it.

The two lungs of one patient are exposed alike, so the expected density is one smooth profile over
both, mirrored at the middle line and fitted so that dense outliers weigh little. Ribs are mirrored
too: what stands out on one side only is no rib.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from overread.readers.atlas.film.heart import Heart, measure_heart
from overread.readers.atlas.film.lungs import FilmLungs, ThoraxFrame
from overread.readers.atlas.film.preparation import Bools, Grey, PreparedFilm


@dataclass(frozen=True)
class Profile:
    """A film in the coordinates of its thorax, with what was expected of it."""

    depth: Grey
    """Bright is dense, 0 to 1."""
    across: Grey
    """-1 at the patient's right wall, 0 in the middle, 1 at the left wall."""
    down: Grey
    """0 at the apex, 1 at the costophrenic angle, of the side it is on."""
    lungs: Bools
    """Lung that can be judged: without the rims, where ribs and hila blur."""
    excess: Grey
    """Density beyond the expected, in the tones between lung and mediastinum: 1 is as dense as
    the mediastinum. Smoothed."""
    noise: float
    """The usual size of what is on one side only, where nothing is wrong."""
    span: float
    """Tones between lung and mediastinum."""
    heart: Heart
    """What lies between the lungs."""
    one_sided_broad: Grey
    """What is on one side only, smoothed over more than the distance of two ribs."""


def thorax_coordinates(frame: ThoraxFrame, shape: tuple[int, ...]) -> tuple[Grey, Grey]:
    """Where each pixel lies in the thorax: across and down."""
    rows = np.arange(shape[0], dtype=np.float32)[:, None] + 0.5
    middle = frame.middle + frame.tilt * (rows - shape[0] / 2)
    x = np.arange(shape[1], dtype=np.float32)[None, :] + 0.5 - middle
    half = np.where(x < 0, frame.middle - frame.right_wall, frame.left_wall - frame.middle)
    top = np.where(x < 0, frame.right_top, frame.left_top)
    base = np.where(x < 0, frame.right_base, frame.left_base)
    down = (rows - top) / np.maximum(base - top, 1)
    return np.asarray(x / np.maximum(half, 1), np.float32), np.asarray(down, np.float32)


def measure_profile(film: PreparedFilm, lungs: FilmLungs) -> Profile:
    """Measure a film against the profile that its own two lungs make expected."""
    depth = np.asarray(1 - film.depth if lungs.inverted else film.depth, np.float32)
    across, down = thorax_coordinates(lungs.frame, depth.shape)
    both = (lungs.right | lungs.left) & film.patient
    heart = measure_heart(depth, across, down, lungs, film.patient)
    inner = both & (np.abs(across) < 0.93) & (down > 0.04) & ~heart.shadow
    width = lungs.frame.left_wall - lungs.frame.right_wall
    smooth = ndimage.gaussian_filter(depth, 0.012 * width)
    middle = (np.abs(across) < 0.12) & (down > 0.25) & (down < 0.85) & film.patient
    low = float(np.percentile(smooth[inner], 20)) if inner.any() else 0.0
    high = float(np.median(smooth[middle])) if middle.any() else 1.0
    span = max(high - low, 0.08)
    base = _fit_expected(smooth, across, down, inner, span)
    excess = (smooth - base) / span
    mirrored = _mirror_sides(excess, lungs.frame)
    shared = np.maximum(_mirror_sides(np.where(inner, 1.0, 0.0), lungs.frame), 0)
    # What the mirrored place of the other lung has too is normal.
    lone = excess - 0.9 * np.clip(mirrored, 0, None) * (shared > 0.5)
    tall = lungs.frame.right_base - lungs.frame.right_top
    values = lone[inner]
    noise = float(1.4826 * np.median(np.abs(values - np.median(values)))) if inner.any() else 1.0
    return Profile(
        depth=depth,
        across=across,
        down=down,
        lungs=inner,
        excess=np.asarray(excess, np.float32),
        noise=max(noise, 0.02),
        span=span,
        heart=heart,
        one_sided_broad=_smooth_inside(lone, inner, 0.04 * tall, 0.02 * width),
    )


def _smooth_inside(picture: Grey, inner: Bools, rows: float, columns: float) -> Grey:
    """Smoothed over so many rows and columns, by what is lung alone."""
    weight = ndimage.gaussian_filter(inner.astype(np.float32), (rows, columns))
    total = ndimage.gaussian_filter(np.where(inner, picture, 0).astype(np.float32), (rows, columns))
    return np.asarray(np.where(inner, total / np.maximum(weight, 0.05), 0), np.float32)


def _fit_expected(smooth: Grey, across: Grey, down: Grey, inner: Bools, span: float) -> Grey:
    """One smooth profile for both lungs; dense outliers weigh little."""
    u, v = np.abs(across), down
    terms = [np.ones_like(u), u, v, u * u, u * v, v * v, v * v * v, across]
    design = np.stack([term[inner] for term in terms], axis=1).astype(np.float64)
    values = smooth[inner].astype(np.float64)
    if len(values) < 200:
        return np.full(smooth.shape, float(np.median(values)) if len(values) else 0.0, np.float32)
    step = max(1, len(values) // 4000)
    design, values = design[::step], values[::step]
    weight: NDArray[np.floating[Any]] = np.ones(len(values))
    ridge = 1e-3 * len(values) * np.diag([0, 1, 1, 1, 1, 1, 1, 20.0])
    found: NDArray[np.floating[Any]] = np.zeros(len(terms))
    for _ in range(8):
        scaled = design * weight[:, None]
        found = np.linalg.solve(scaled.T @ design + ridge, scaled.T @ values)
        rest = (values - design @ found) / span
        weight = np.where(rest > 0, 1 / (1 + (rest / 0.12) ** 2), 1 / (1 + (rest / 0.3) ** 2))
    total = sum(c * term for c, term in zip(found, terms, strict=True))
    return np.asarray(total, np.float32)


def _mirror_sides(picture: Grey, frame: ThoraxFrame) -> Grey:
    """The picture as the other side has it at the same place in its own lung."""
    height = picture.shape[0]
    across, down = thorax_coordinates(frame, picture.shape)
    to_left = across < 0
    top = np.where(to_left, frame.left_top, frame.right_top)
    base = np.where(to_left, frame.left_base, frame.right_base)
    half = np.where(to_left, frame.left_wall - frame.middle, frame.middle - frame.right_wall)
    rows = top + down * (base - top)
    middle = frame.middle + frame.tilt * (rows - height / 2)
    columns = middle - across * half
    found = ndimage.map_coordinates(picture, [rows - 0.5, columns - 0.5], order=1, mode="nearest")
    return np.asarray(found, np.float32)
