"""From attenuation to grey levels: transmission, scatter, noise, detector, processing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from overread.phantom.body.shapes import Floats
from overread.phantom.film.sign import View

WATER_PER_MM = 0.0195
"""Attenuation of water for each millimetre, at the mean energy of a chest film's beam."""


@dataclass(frozen=True)
class ExposureSettings:
    """How one film is exposed and processed."""

    scatter: float
    """Scattered light beside the direct, where the patient is of even thickness."""
    quanta: float
    """Quanta for each pixel without a patient."""
    latitude: float
    """How much of slow differences is kept; the rest is evened out."""
    detail: float
    """Gain of what is smaller than some centimetres."""
    edges: float
    """Gain of edges."""
    dark: float
    """Grey of the middle lung, 0 to 1."""
    light: float
    """Grey of the mediastinum, 0 to 1."""


def draw_exposure(rng: np.random.Generator, view: View) -> ExposureSettings:
    """Technique of one film: bedside films have no grid, more scatter and fewer quanta."""
    bedside = view == "AP supine"
    return ExposureSettings(
        scatter=float(rng.uniform(0.55, 0.8) if bedside else rng.uniform(0.18, 0.32)),
        quanta=float(rng.uniform(4e4, 9e4) if bedside else rng.uniform(1.2e5, 2.5e5)),
        latitude=float(rng.uniform(0.7, 0.95)),
        detail=float(rng.uniform(1.1, 1.5)),
        edges=float(rng.uniform(0.2, 0.8)),
        dark=float(rng.uniform(0.26, 0.42)),
        light=float(rng.uniform(0.72, 0.84)),
    )


def compute_transmission(water_mm: Floats, technique: ExposureSettings, spacing: float) -> Floats:
    """Quanta that arrive, as a share of those sent: the direct ones and the scattered."""
    direct = np.exp(np.float32(-WATER_PER_MM) * water_mm)
    # Scatter is so wide that a coarse picture of it will do.
    coarse = max(1, round(6 / spacing))
    small = direct[::coarse, ::coarse]
    wide = ndimage.gaussian_filter(np.minimum(small, 0.25), 38 / spacing / coarse, mode="nearest")
    zoom = [n / m for n, m in zip(direct.shape, wide.shape, strict=True)]
    rows = (np.arange(direct.shape[0]) + 0.5) / zoom[0] - 0.5
    columns = (np.arange(direct.shape[1]) + 0.5) / zoom[1] - 0.5
    smooth = ndimage.map_coordinates(wide, np.meshgrid(rows, columns, indexing="ij"), order=1, mode="nearest")
    both: Floats = direct + np.float32(technique.scatter) * smooth.astype(np.float32)
    return both


def compute_density(
    arrived: Floats, technique: ExposureSettings, noise: np.random.Generator | None
) -> Floats:
    """The detector's answer, logarithmic: large where little arrives."""
    if noise is not None:
        grain = noise.standard_normal(arrived.shape, np.float32)
        grain = ndimage.gaussian_filter(grain, 0.55) * np.float32(1.7)
        arrived = arrived + grain * np.sqrt(arrived / np.float32(technique.quanta))
    answer: Floats = -np.log(np.maximum(arrived, np.float32(2e-4)))
    return answer


def process_density(answer: Floats, technique: ExposureSettings, spacing: float) -> Floats:
    """Evened out over centimetres, and edges lifted, as every digital radiograph is."""
    slow = _blur_widely(answer, 18 / spacing)
    fine = ndimage.gaussian_filter(answer, 1.2 / spacing)
    out: Floats = (
        np.float32(technique.latitude) * slow
        + np.float32(technique.detail) * (answer - slow)
        + np.float32(technique.edges) * (answer - fine)
    )
    return out


def to_grey_levels(
    shown: Floats, levels: tuple[float, float], technique: ExposureSettings
) -> NDArray[np.uint8]:
    """Grey levels by an S-shaped curve through the middle lung and the mediastinum."""
    low, high = levels
    # The curve's own scale at both greys, so that they come out as wished.
    a, b = (float(np.log(g / (1 - g))) for g in (technique.dark, technique.light))
    at = a + (shown - low) * np.float32((b - a) / (high - low))
    value = 1 / (1 + np.exp(-at))
    pixels: NDArray[np.uint8] = np.rint(np.clip((value - 0.03) / 0.94, 0, 1) * 255).astype(np.uint8)
    return pixels


def _blur_widely(image: Floats, deviation: float) -> Floats:
    """A wide blur, made on a coarser picture."""
    coarse = max(1, int(deviation / 4))
    if coarse == 1:
        plain: Floats = ndimage.gaussian_filter(image, deviation, mode="nearest")
        return plain
    small = ndimage.uniform_filter(image, coarse, mode="nearest")[::coarse, ::coarse]
    small = ndimage.gaussian_filter(small, deviation / coarse, mode="nearest")
    rows, columns = (np.arange(n, dtype=np.float32) / coarse for n in image.shape)
    wide: Floats = ndimage.map_coordinates(
        small, np.meshgrid(rows, columns, indexing="ij"), order=1, mode="nearest"
    ).astype(np.float32)
    return wide
