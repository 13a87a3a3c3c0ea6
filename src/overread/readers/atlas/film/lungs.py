"""Where the lungs are on a frontal film: a textbook's pair of lungs, fitted to the picture.

The pair is a pattern of dark lungs between bright walls, above a bright belly and on both sides of
a bright mediastinum. It is laid over the picture in many sizes at once (a correlation that leaves
out what is no patient, or beyond the edge), the best is refined lung by lung, and then the edges
are moved to where the picture has them. How well the pattern fits says whether this is a frontal
chest film at all; both polarities are tried.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import fft, ndimage

from overread.readers.atlas.film.preparation import Bools, Grey, PreparedFilm

# Outlines of the lungs in a frame of the thorax: x from -0.5 (the patient's right wall) to 0.5,
# y from 0 (apex) to 1 (costophrenic angle).
_RIGHT = (
    (-0.15, 0.0), (-0.24, 0.04), (-0.34, 0.16), (-0.42, 0.36), (-0.47, 0.62), (-0.495, 0.88),
    (-0.49, 1.0), (-0.40, 0.92), (-0.30, 0.865), (-0.20, 0.86), (-0.10, 0.91), (-0.10, 0.75),
    (-0.10, 0.55), (-0.09, 0.38), (-0.07, 0.2), (-0.08, 0.05),
)  # fmt: skip
_LEFT = (
    (0.15, 0.0), (0.24, 0.04), (0.34, 0.16), (0.42, 0.36), (0.47, 0.62), (0.495, 0.88),
    (0.49, 1.0), (0.42, 0.94), (0.33, 0.90), (0.27, 0.90), (0.27, 0.82), (0.23, 0.70),
    (0.16, 0.57), (0.11, 0.46), (0.11, 0.32), (0.07, 0.2), (0.08, 0.05),
)  # fmt: skip

_UNIT = 96
_MARGIN = 0.18
"""How far the pattern reaches beyond the lungs, in shares of the thorax."""
_COARSE = 64
_WIDTHS = (0.5, 0.58, 0.66, 0.74, 0.82, 0.9, 0.98, 1.06)
_ASPECTS = (0.62, 0.74, 0.86, 0.98, 1.1, 1.22)
_USUAL_ASPECT = 0.92
"""Height of the lungs in widths of the thorax, as it usually is."""

_EDGE_WEIGHT = 0.5
"""What lying on an edge of the picture is worth, beside the correlation."""


_MOVES: tuple[tuple[tuple[str, int], ...], ...] = (
    (("middle", 1),),
    (("right_wall", 1),),
    (("left_wall", 1),),
    (("right_wall", 1), ("left_wall", -1)),
    (("middle", 1), ("right_wall", 1), ("left_wall", 1)),
    (("right_base", 1), ("left_base", 1)),
    (("right_base", 1),),
    (("left_base", 1),),
    (("right_top", 1), ("left_top", 1)),
    (("right_top", 1),),
    (("left_top", 1),),
    (("tilt", 1),),
)
"""What is moved together when the frame is refined."""


@dataclass(frozen=True)
class ThoraxFrame:
    """Where a thorax lies: its middle line and the edges of each lung, in pixels."""

    middle: float
    right_wall: float
    left_wall: float
    right_top: float
    left_top: float
    right_base: float
    left_base: float
    tilt: float = 0.0
    """Columns by which the middle line moves for each row."""


@dataclass(frozen=True)
class FilmLungs:
    """The lungs that were found."""

    frame: ThoraxFrame
    right: Bools
    """The patient's right lung, on the picture's left: all of it, opaque parts too."""
    left: Bools
    """The patient's left lung."""
    fit: float
    """How well the pattern fits, up to 1."""
    inverted: bool
    """Whether the film was stored with air white."""
    grey: Grey
    """The tones that were fitted to: bright is dense."""


def _inside_polygon(points: tuple[tuple[float, float], ...], xs: Grey, ys: Grey) -> Bools:
    """Which places are inside an outline; even and odd crossings."""
    inside = np.zeros(np.broadcast_shapes(xs.shape, ys.shape), bool)
    ends = (*points[1:], points[0])
    for (x1, y1), (x2, y2) in zip(points, ends, strict=True):
        if y1 == y2:
            continue
        between = (ys >= min(y1, y2)) & (ys < max(y1, y2))
        inside ^= between & (xs < x1 + (ys - y1) * (x2 - x1) / (y2 - y1))
    return inside


@cache
def _unit_pattern() -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """The pattern on a fine grid, and which lung each place belongs to (1 right, 2 left)."""
    reach = 1 + 2 * _MARGIN
    size = round(_UNIT * reach)
    steps = ((np.arange(size) + 0.5) / size * reach - _MARGIN).astype(np.float32)
    xs, ys = steps[None, :] - np.float32(0.5), steps[:, None]
    right, left = _inside_polygon(_RIGHT, xs, ys), _inside_polygon(_LEFT, xs, ys)
    lungs = right | left
    weight = np.where(lungs, -1.0, 0.0).astype(np.float32)
    middle = (np.abs(xs) < 0.3) & (ys > 0.0) & (ys < 1.0) & ~lungs
    weight[middle] = 1.0
    belly = (ys > 0.86) & (ys < 1.13) & (np.abs(xs) < 0.47) & ~lungs
    weight[belly] = 1.0
    far = ndimage.distance_transform_edt(~lungs) / _UNIT
    wall = (far < 0.07) & (ys > 0.02) & (ys < 1.0) & (np.abs(xs) > 0.12) & ~lungs
    weight[wall] = 0.7
    shoulders = (ys <= 0.05) & (ys > -0.1) & (np.abs(xs) < 0.38) & ~lungs
    weight[shoulders & (weight == 0)] = 0.7
    part = np.where(right, 1, np.where(left, 2, 0)).astype(np.int8)
    return ndimage.gaussian_filter(weight, 1.5), part


def fit_lungs(film: PreparedFilm) -> FilmLungs | None:
    """The lungs of a frontal film; None where no pair of lungs can be laid over it at all."""
    best: tuple[float, bool, ThoraxFrame, Grey] | None = None
    for inverted in (False, True):
        grey = np.where(film.patient, 1 - film.grey, 0.5) if inverted else film.grey
        grey = np.asarray(grey, np.float32)
        found = _coarse_search(_flatten_exposure(grey, film.patient), film.patient)
        if found and (best is None or found[0] > best[0] + (0.03 if inverted else 0.0)):
            best = (found[0], inverted, found[1], grey)
    if best is None:
        return None
    _, inverted, frame, grey = best
    even = _flatten_exposure(grey, film.patient)
    frame, fit = _refine_frame(even, film.patient, frame)
    _, part = _lay_pattern(frame, even.shape)
    return FilmLungs(frame, part == 1, part == 2, fit, inverted, grey)


def _flatten_exposure(grey: Grey, patient: Bools) -> Grey:
    """The tones without the slow changes of exposure across the film."""
    inside = patient.astype(np.float32)
    wide = max(grey.shape) / 4
    weight = ndimage.gaussian_filter(inside, wide) + 1e-3
    mean = ndimage.gaussian_filter(grey * inside, wide) / weight
    return np.asarray(grey - 0.6 * mean, np.float32)


def _downsample(picture: Grey, factor: float) -> Grey:
    height, width = (max(8, round(n * factor)) for n in picture.shape)
    smooth = ndimage.gaussian_filter(picture, 0.4 / factor)
    rows = ((np.arange(height) + 0.5) / height * picture.shape[0]).astype(int)
    columns = ((np.arange(width) + 0.5) / width * picture.shape[1]).astype(int)
    return np.asarray(smooth[np.ix_(rows, columns)], np.float32)


def _coarse_search(even: Grey, patient: Bools) -> tuple[float, ThoraxFrame] | None:
    """The best of all sizes and places of the pattern, by correlation."""
    factor = _COARSE / max(even.shape)
    small = _downsample(even, factor)
    valid = (_downsample(patient.astype(np.float32), factor) > 0.5).astype(np.float32)
    height, width = small.shape
    pad = fft.next_fast_len(_COARSE * 2 + 40)
    shape = (pad, pad)
    spectra = [fft.rfft2(a, shape) for a in (small * valid, small * small * valid, valid)]
    pattern, _ = _unit_pattern()
    best: tuple[float, ThoraxFrame] | None = None
    for across in _WIDTHS:
        wide = across * width
        for aspect in _ASPECTS:
            tall = wide * aspect
            if not 0.35 * height < tall < 1.25 * height:
                continue
            rows, columns = round(tall * (1 + 2 * _MARGIN)), round(wide * (1 + 2 * _MARGIN))
            if rows >= pad - height // 2 or columns >= pad - width // 2:
                continue
            weight = _resample(pattern, rows, columns)
            score = _correlate(weight, spectra, shape)
            # The frame of the thorax must lie within the picture, nearly.
            slack_y, slack_x = 0.14 * tall, 0.09 * wide
            top0, left0 = _MARGIN * tall, _MARGIN * wide
            ys = np.arange(-round(top0 + slack_y), max(round(height - tall - top0 + slack_y), 1))
            xs = np.arange(-round(left0 + slack_x), max(round(width - wide - left0 + slack_x), 1))
            if not len(ys) or not len(xs):
                continue
            window = score[np.ix_(ys % pad, xs % pad)]
            # Lungs are seldom far from the middle, and larger rather than smaller.
            off = (xs + left0 + wide / 2 - width / 2) / width
            above = np.maximum(0, -(ys + top0)) / tall
            shape_price = 0.35 * np.log(aspect / _USUAL_ASPECT) ** 2
            window = window - 0.6 * off[None, :] ** 2 - 0.5 * above[:, None]
            window = window + 0.1 * min(across, 0.9) - shape_price
            row, column = np.unravel_index(int(np.argmax(window)), window.shape)
            value = float(window[row, column])
            if best is None or value > best[0]:
                y, x = (ys[row] + top0) / factor, (xs[column] + left0) / factor
                w, h = wide / factor, tall / factor
                best = value, ThoraxFrame(x + w / 2, x, x + w, y, y, y + h, y + h)
    return best


def _resample(pattern: NDArray[np.float32], rows: int, columns: int) -> NDArray[np.float32]:
    y = ((np.arange(rows) + 0.5) / rows * pattern.shape[0]).astype(int)
    x = ((np.arange(columns) + 0.5) / columns * pattern.shape[1]).astype(int)
    return pattern[np.ix_(y, x)]


def _correlate(
    weight: NDArray[np.float32], spectra: list[NDArray[np.complex64]], shape: tuple[int, int]
) -> NDArray[np.float32]:
    """Correlation of the pattern with the picture at every place, over what is patient."""
    support = (np.abs(weight) > 0.05).astype(np.float32)
    kernels = [np.conj(fft.rfft2(k, shape)) for k in (weight * support, support, weight**2 * support)]
    picture, square, valid = spectra

    def at(spectrum: NDArray[np.complex64], kernel: NDArray[np.complex64]) -> NDArray[np.float32]:
        return np.asarray(fft.irfft2(spectrum * kernel, shape), np.float32)

    count = np.maximum(at(valid, kernels[1]), 1e-3)
    mean_w, mean_p = at(valid, kernels[0]) / count, at(picture, kernels[1]) / count
    var_w = at(valid, kernels[2]) / count - mean_w**2
    var_p = at(square, kernels[1]) / count - mean_p**2
    covered = at(picture, kernels[0]) / count - mean_w * mean_p
    share = count / max(support.sum(), 1)
    score = covered / np.sqrt(np.maximum(var_w * var_p, 1e-6))
    # What lies beyond the picture proves nothing.
    return np.asarray(score * np.clip(share / 0.75, 0, 1) ** 0.5, np.float32)


def _lay_pattern(frame: ThoraxFrame, shape: tuple[int, ...]) -> tuple[Grey, NDArray[np.int8]]:
    """The pattern laid over the picture: its weights, and which lung each pixel belongs to."""
    pattern, part = _unit_pattern()
    rows = np.arange(shape[0], dtype=np.float32)[:, None] + 0.5
    middle = frame.middle + frame.tilt * (rows - shape[0] / 2)
    x = np.arange(shape[1], dtype=np.float32)[None, :] + 0.5 - middle
    on_right = x < 0
    half = np.where(on_right, frame.middle - frame.right_wall, frame.left_wall - frame.middle)
    top = np.where(on_right, frame.right_top, frame.left_top)
    base = np.where(on_right, frame.right_base, frame.left_base)
    u = x / np.maximum(2 * half, 1) + 0.5
    v = (rows - top) / np.maximum(base - top, 1)
    reach = 1 + 2 * _MARGIN
    i = np.floor((v + _MARGIN) / reach * part.shape[0]).astype(int)
    j = np.floor((u + _MARGIN) / reach * part.shape[1]).astype(int)
    inside = (i >= 0) & (i < part.shape[0]) & (j >= 0) & (j < part.shape[1])
    i, j = np.where(inside, i, 0), np.where(inside, j, 0)
    weight = np.where(inside, pattern[i, j], 0).astype(np.float32)
    return weight, np.where(inside, part[i, j], 0).astype(np.int8)


def _pattern_fit(even: Grey, patient: Bools, frame: ThoraxFrame) -> float:
    """Correlation of the laid pattern with the picture, over what is patient."""
    weight, _ = _lay_pattern(frame, even.shape)
    used = (np.abs(weight) > 0.05) & patient
    if used.sum() < 200:
        return -1.0
    w, p = weight[used], even[used]
    w, p = w - w.mean(), p - p.mean()
    return float((w * p).sum() / np.sqrt((w * w).sum() * (p * p).sum() + 1e-9))


@dataclass(frozen=True)
class _Slopes:
    """How steeply the tones rise to the right and downwards; the steepest are held back."""

    across: Grey
    down: Grey

    def along(self, weight: Grey) -> float:
        """How far the edges of a pattern lie on edges of the picture that go the same way."""
        down, across = weight[2:, 1:-1] - weight[:-2, 1:-1], weight[1:-1, 2:] - weight[1:-1, :-2]
        length = np.hypot(across, down)
        total = float(length.sum())
        if total < 1:
            return 0.0
        return float((self.across * across + self.down * down).sum() / total)


def _measure_slopes(even: Grey, patient: Bools) -> _Slopes:
    smooth = ndimage.gaussian_filter(even, 1.2)
    down, across = smooth[2:, 1:-1] - smooth[:-2, 1:-1], smooth[1:-1, 2:] - smooth[1:-1, :-2]
    steep = np.hypot(across, down) + 1e-6
    usual = float(np.percentile(steep[patient[1:-1, 1:-1]], 75)) if patient.any() else 1.0
    held = np.minimum(steep, 2 * usual) / steep / (2 * usual)
    held = held * patient[1:-1, 1:-1]
    return _Slopes(np.asarray(across * held, np.float32), np.asarray(down * held, np.float32))


def _refine_frame(even: Grey, patient: Bools, frame: ThoraxFrame) -> tuple[ThoraxFrame, float]:
    """The frame moved edge by edge as long as the pattern fits better."""
    factor = min(1.0, 96 / max(even.shape))
    small = _downsample(even, factor)
    valid = _downsample(patient.astype(np.float32), factor) > 0.5
    scaled = _scale_frame(frame, factor)
    width, height = scaled.left_wall - scaled.right_wall, scaled.right_base - scaled.right_top

    slopes = _measure_slopes(small, valid)

    def worth(one: ThoraxFrame) -> float:
        weight, _ = _lay_pattern(one, small.shape)
        edges = _EDGE_WEIGHT * slopes.along(weight)
        return _pattern_fit(small, valid, one) + edges - _shape_penalty(one, width, height)

    value = worth(scaled)
    for step in (0.12, 0.06, 0.03, 0.015, 0.0075):
        for _ in range(3):
            before = value
            for moved in _MOVES:
                across = step * width
                by = {name: sign * (step if name == "tilt" else across) for name, sign in moved}
                for sign in (-1, 1):
                    tried = replace(scaled, **{n: getattr(scaled, n) + sign * far for n, far in by.items()})
                    if (now := worth(tried)) > value + 1e-5:
                        scaled, value = tried, now
            if value < before + 1e-4:
                break
    return _scale_frame(scaled, 1 / factor), _pattern_fit(small, valid, scaled)


def _shape_penalty(frame: ThoraxFrame, width: float, height: float) -> float:
    """A price for what thoraces seldom are: lopsided, tilted, long, broad, cut off at the top."""
    right, left = frame.middle - frame.right_wall, frame.left_wall - frame.middle
    if min(right, left) < 0.15 * width:
        return 1.0
    if min(frame.right_base - frame.right_top, frame.left_base - frame.left_top) < 0.3 * height:
        return 1.0
    lopsided = ((right - left) / (right + left)) ** 2
    tops = ((frame.right_top - frame.left_top) / height) ** 2
    bases = ((frame.right_base - frame.left_base) / height) ** 2
    moved = ((frame.left_wall - frame.right_wall) / width - 1) ** 2
    long = (frame.right_base + frame.left_base - frame.right_top - frame.left_top) / 2
    shape = np.log(long / (right + left) / _USUAL_ASPECT) ** 2
    beyond = (max(0.0, -frame.right_top) + max(0.0, -frame.left_top)) / height
    priced = 0.6 * lopsided + 1.0 * tops + 0.8 * bases + 0.2 * moved + 0.35 * shape
    return float(priced + 0.5 * beyond + 1.5 * frame.tilt**2)


def _scale_frame(frame: ThoraxFrame, by: float) -> ThoraxFrame:
    edges = {name: value * by for name, value in vars(frame).items() if name != "tilt"}
    return replace(frame, **edges)
