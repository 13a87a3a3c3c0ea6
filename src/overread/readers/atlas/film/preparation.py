"""A flat picture made ready to be measured: grey, without its frame, with an even tone.

Films come in both polarities, with black or white rims, burned-in letters and any exposure. What
is measured later is always the same: a small picture in which bright is dense, spread over its
whole range, and a mask of where there is patient at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

Grey = NDArray[np.float32]
Bools = NDArray[np.bool_]
Edges = tuple[float, float, float, float]
"""Left, top, right, bottom."""

SIDE = 256
"""Pixels of the longer side of the picture that is measured."""
LEAST = 48
"""Pixels of the shorter side below which nothing can be told."""


@dataclass(frozen=True)
class PreparedFilm:
    """A picture made ready, and the way back to the pixels it came from."""

    grey: Grey
    """Bright is dense; 0 to 1 by the tones of the patient."""
    patient: Bools
    """Where there is patient, as far as it can be told from empty film and letters."""
    scale: float
    """Pixels of the stored picture for one of this."""
    left: int
    """Columns of the stored picture that were cut off at the left."""
    top: int
    """Rows of the stored picture that were cut off at the top."""
    framed: float
    """Share of the picture that is empty film joined to its rim."""
    tinted: float
    """How far its colours are from grey, 0 to 1."""
    depth: Grey
    """The same before its tones were spread evenly, 0 to 1; shares of what the film can show."""


def prepare_film(pixels: NDArray[Any]) -> PreparedFilm | None:
    """Make a picture ready; None where it is too small, or all of one tone."""
    grey, tint = _to_grey(pixels)
    if min(grey.shape) < LEAST or not np.isfinite(grey).all():
        return None
    top, bottom, left, right = _crop_frame(grey)
    inner = grey[top:bottom, left:right]
    if min(inner.shape) < LEAST:
        return None
    scale = max(max(inner.shape) / SIDE, 1e-6)
    small = _shrink(inner, scale)
    low, high = np.percentile(small, (0.5, 99.5))
    if high - low < 4 / 255:
        return None
    depth = np.clip((small - low) / (high - low), 0, 1).astype(np.float32)
    empty = _find_empty(depth)
    patient = ~empty & ~_find_letters(depth)
    if patient.sum() < 0.15 * patient.size:
        patient = np.ones_like(patient)
    return PreparedFilm(
        grey=_equalise(depth, patient),
        patient=patient,
        scale=scale,
        left=left,
        top=top,
        framed=float(empty.mean()),
        tinted=tint,
        depth=depth,
    )


def _to_grey(pixels: NDArray[Any]) -> tuple[Grey, float]:
    """Brightness from 0 to 1, and how coloured the picture is."""
    values = np.asarray(pixels)
    full = 255.0 if values.dtype == np.uint8 else float(max(np.max(values, initial=0), 1e-9))
    if values.ndim == 2:
        return (values / full).astype(np.float32), 0.0
    rgb = values[..., :3].astype(np.float32) / full
    if rgb.shape[-1] < 3:
        return rgb[..., 0], 0.0
    tint = float(np.mean(rgb.max(axis=-1) - rgb.min(axis=-1)))
    return rgb.mean(axis=-1), tint


def _shrink(grey: Grey, scale: float) -> Grey:
    """The picture with its longer side `SIDE` pixels long; means, so that grain is not folded."""
    height, width = (max(8, round(n / scale)) for n in grey.shape)
    if scale > 1:
        grey = ndimage.gaussian_filter(grey, 0.4 * scale)
    rows = np.clip(((np.arange(height) + 0.5) * grey.shape[0] / height).astype(int), 0, None)
    columns = np.clip(((np.arange(width) + 0.5) * grey.shape[1] / width).astype(int), 0, None)
    return np.asarray(grey[np.ix_(rows, columns)], np.float32)


def _crop_frame(grey: Grey) -> tuple[int, int, int, int]:
    """Rows and columns of one tone at the rim are a frame and no picture; at most a third each."""
    top, bottom, left, right = 0, grey.shape[0], 0, grey.shape[1]
    most_y, most_x = grey.shape[0] // 3, grey.shape[1] // 3

    def flat(line: Grey) -> bool:
        # A few letters may stand in the frame.
        low, high = np.percentile(line, (4, 96))
        return bool(high - low < 0.03 and (np.median(line) < 0.06 or np.median(line) > 0.97))

    while top < most_y and flat(grey[top]):
        top += 1
    while bottom > grey.shape[0] - most_y and flat(grey[bottom - 1]):
        bottom -= 1
    while left < most_x and flat(grey[top:bottom, left]):
        left += 1
    while right > grey.shape[1] - most_x and flat(grey[top:bottom, right - 1]):
        right -= 1
    return top, bottom, left, right


def _find_empty(depth: Grey) -> Bools:
    """Film that no body weakened the beam for: nearly black, smooth, joined to the rim."""
    smooth = ndimage.gaussian_gradient_magnitude(depth, 1.0) < 0.02
    black = (depth < 0.07) & smooth
    labels, count = ndimage.label(black)
    if not count:
        return np.zeros_like(black)
    rim = np.concatenate([labels[0], labels[:, 0], labels[:, -1]])
    touching = np.unique(rim[rim > 0])
    empty = np.isin(labels, touching)
    return np.asarray(ndimage.binary_dilation(empty, iterations=2), bool)


def _find_letters(depth: Grey) -> Bools:
    """Small marks of the purest white near the corners and edges of the film."""
    white = depth > 0.985
    labels, _ = ndimage.label(ndimage.binary_dilation(white, iterations=2))
    marks = np.zeros_like(white)
    height, width = depth.shape
    for label, place in enumerate(ndimage.find_objects(labels), 1):
        rows, columns = place
        tall, wide = rows.stop - rows.start, columns.stop - columns.start
        if tall > 0.12 * height or wide > 0.25 * width:
            continue
        middle_y, middle_x = (rows.start + rows.stop) / 2, (columns.start + columns.stop) / 2
        outer = min(middle_y, height - middle_y) < 0.15 * height or (
            min(middle_x, width - middle_x) < 0.12 * width
        )
        if outer:
            marks[place] |= labels[place] == label
    return marks


def _equalise(depth: Grey, patient: Bools) -> Grey:
    """Every tone of the patient equally often; what is no patient gets the middle tone."""
    values = np.sort(depth[patient])
    ranks = np.searchsorted(values, depth.ravel()).reshape(depth.shape) / max(len(values), 1)
    return np.where(patient, ranks, 0.5).astype(np.float32)
