"""The heart's shadow between the lungs: its borders row by row, and the cardiothoracic ratio."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from overread.readers.atlas.film.lungs import FilmLungs
from overread.readers.atlas.film.preparation import Bools, Edges, Grey


@dataclass(frozen=True)
class Heart:
    """The shadow of heart and mediastinum."""

    ratio: float
    """Greatest width of the heart in widths of the thorax."""
    box: Edges
    """Around the heart, in pixels of the measured picture."""
    shadow: Bools
    """Heart and mediastinum: what lies dense about the middle line."""
    right: float
    """How far it reaches to the patient's right, in half widths of the thorax."""
    left: float
    """How far it reaches to the left."""


def measure_heart(depth: Grey, across: Grey, down: Grey, lungs: FilmLungs, patient: Bools) -> Heart:
    """Follow the dense shadow from the middle line outwards, row by row."""
    frame = lungs.frame
    width = frame.left_wall - frame.right_wall
    smooth = ndimage.gaussian_filter(depth, 0.01 * width)
    field = (lungs.right | lungs.left) & patient
    outer = field & (np.abs(across) > 0.45) & (down > 0.3) & (down < 0.8)
    middle = patient & (np.abs(across) < 0.12) & (down > 0.4) & (down < 0.85)
    lung = float(np.percentile(smooth[outer], 40)) if outer.any() else 0.3
    dense = float(np.median(smooth[middle])) if middle.any() else 0.8
    limit = lung + 0.42 * max(dense - lung, 0.05)
    right_edge, left_edge = _borders(smooth > limit, across, down)
    level = down[:, int(np.clip(frame.middle, 0, depth.shape[1] - 1))]
    rows = np.flatnonzero((level > 0.5) & (level < 0.84))
    if len(rows) < 5:
        rows = np.arange(depth.shape[0])
    # The greatest reach that several rows share: one row may run into a vessel or an opacity.
    right = float(np.clip(np.percentile(-right_edge[rows], 90), 0.05, 0.9))
    left = float(np.clip(np.percentile(left_edge[rows], 90), 0.05, 0.9))
    half_right, half_left = frame.middle - frame.right_wall, frame.left_wall - frame.middle
    ratio = (right * half_right + left * half_left) / max(width, 1)
    top = (frame.right_top + frame.left_top) / 2
    tall = (frame.right_base + frame.left_base) / 2 - top
    box = (
        frame.middle - right * half_right,
        top + 0.46 * tall,
        frame.middle + left * half_left,
        top + 0.88 * tall,
    )
    shadow = (across >= right_edge[:, None] - 0.03) & (across <= left_edge[:, None] + 0.03)
    return Heart(float(ratio), box, np.asarray(shadow & (down < 1.1), bool), right, left)


def _borders(dense: Bools, across: Grey, down: Grey) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Where the dense run about the middle line ends, in each row, to the right and to the left."""
    height, width = dense.shape
    rights, lefts = np.full(height, -0.12, np.float32), np.full(height, 0.12, np.float32)
    for row in range(height):
        middle = int(np.argmin(np.abs(across[row])))
        # Begin beside the trachea, which is dark itself.
        at = middle
        while at > 0 and (dense[row, at] or across[row, at] > -0.12):
            at -= 1
        rights[row] = across[row, at]
        at = middle
        while at < width - 1 and (dense[row, at] or across[row, at] < 0.12):
            at += 1
        lefts[row] = across[row, at]
    low, high = -0.62, 0.78
    rights = ndimage.median_filter(np.clip(rights, low, 0), size=7)
    lefts = ndimage.median_filter(np.clip(lefts, 0, high), size=7)
    return rights, lefts
