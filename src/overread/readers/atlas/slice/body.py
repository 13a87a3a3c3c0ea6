"""Body and lungs in one 8-bit CT slice of unknown window.

Three grey levels carry everything: that of the air around the body, that of soft tissue, and that
of lung. Where the window does not clip air, the first two give a scale on which grey becomes
something like HU; where it does, lung and air are the same black.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from overread.readers.atlas.otsu import separations
from overread.readers.atlas.slice.morphology import Bools, BoxXY, Floats, bounding_box, close_mask, disk

MAX_SIDE = 512
"""Pixels of the longer side of the working copy."""
CHEST_MM = 355.0
"""Width of an adult's chest, skin to skin: the only ruler a picture without a scale has."""
SMALLEST_LUNG = 0.012
"""Share of the body under which a dark part of it is no lung."""


@dataclass(frozen=True)
class GreyPicture:
    """A picture in grey, 0 to 255, no longer than `MAX_SIDE`, and how to get back to its frame."""

    values: Floats
    scale: float
    """Pixels of the picture for one of the working copy."""
    colour: float
    """Share of pixels that are clearly coloured."""

    def to_picture(self, box: BoxXY) -> BoxXY:
        """A box of the working copy in the frame of the picture."""
        x1, y1, x2, y2 = (value * self.scale for value in box)
        return (x1, y1, x2, y2)


def to_grey(pixels: NDArray[Any]) -> GreyPicture:
    """The picture in grey: 16 bits are spread over 256 levels, colours become their brightness."""
    array = np.asarray(pixels)
    colour = 0.0
    if array.ndim == 3:
        planes = array[..., :3].astype(np.float32)
        spread = planes.max(axis=2) - planes.min(axis=2)
        colour = float((spread > 40).mean())
        array = planes @ np.array([0.299, 0.587, 0.114], np.float32)
    values = array.astype(np.float32)
    if values.size and values.max() > 255:
        low, high = np.percentile(values, [0.5, 99.5])
        values = np.clip((values - low) / max(high - low, 1.0) * 255, 0, 255)
    longest = max(values.shape) if values.size else 0
    scale = max(1.0, longest / MAX_SIDE)
    if scale > 1.0:
        values = ndimage.gaussian_filter(values, 0.4 * scale)
        values = ndimage.zoom(values, 1 / scale, order=1, grid_mode=True, mode="nearest")
    return GreyPicture(np.asarray(values, np.float32), scale, colour)


def otsu(values: Floats) -> float:
    """The grey level that parts dark from bright best.

    >>> round(otsu(np.array([0, 1, 2, 200, 201, 202], np.float32)))
    102
    """
    counts, edges = np.histogram(values, 128, (0, 256))
    middles = (edges[:-1] + edges[1:]) / 2
    apart = separations(counts, middles)
    best = np.flatnonzero(apart >= apart.max() * (1 - 1e-9))
    return float(edges[best + 1].mean())


@dataclass(frozen=True)
class CtSlice:
    """A CT slice taken apart."""

    grey: GreyPicture
    body: Bools
    lungs: Bools
    """Dark lung, vessels and small dense spots in it filled in."""
    air: float
    """Grey of the air around the body."""
    soft: float
    """Grey of soft tissue."""
    lung: float
    """Grey of the lung."""

    @property
    def values(self) -> Floats:
        """The grey levels."""
        return self.grey.values

    @cached_property
    def frame(self) -> tuple[int, int, int, int]:
        """First and last column and row of the body."""
        x1, y1, x2, y2 = bounding_box(self.body)
        return int(x1), int(y1), int(x2), int(y2)

    @cached_property
    def middle(self) -> float:
        """The column of the patient's middle, by the outline of the body."""
        rows = self.body.sum(axis=1)
        wide = rows > rows.max() * 0.6
        columns = np.arange(self.body.shape[1])
        held = self.body[wide]
        return float((held * columns).sum() / max(held.sum(), 1))

    @cached_property
    def mm(self) -> float:
        """Millimetres of a pixel, guessed from the width of the chest."""
        x1, _, x2, _ = self.frame
        return CHEST_MM / max(x2 - x1, 40)

    @cached_property
    def hu(self) -> Floats:
        """HU as far as the window lets them be told."""
        span = max(self.soft - self.air, 20.0)
        return np.asarray(-1000 + (self.values - self.air) / span * 1040, np.float32)

    @cached_property
    def right(self) -> Bools:
        """What lies on the patient's right: the left half of the picture."""
        columns = np.arange(self.body.shape[1])[None, :]
        return np.broadcast_to(columns < self.middle, self.body.shape)

    def to_pixels(self, millimetres: float) -> float:
        """So many millimetres in pixels."""
        return millimetres / self.mm

    def side_of(self, mask: Bools) -> str:
        """'right', 'left' or 'both': where at least a fifth of what is marked lies."""
        whole = float(mask.sum())
        share = float((mask & self.right).sum()) / whole if whole else 0.5
        return "right" if share > 0.8 else "left" if share < 0.2 else "both"


def segment_slice(grey: GreyPicture) -> CtSlice | None:
    """Body and lungs of a slice; None where there is no body apart from its surroundings."""
    values = grey.values
    if min(values.shape, default=0) < 48 or float(values.std()) < 4:
        return None
    smooth = np.asarray(ndimage.gaussian_filter(values, 0.8), np.float32)
    edge = 6
    corners = np.concatenate(
        [
            smooth[:edge, :edge].ravel(),
            smooth[:edge, -edge:].ravel(),
            smooth[-edge:, :edge].ravel(),
            smooth[-edge:, -edge:].ravel(),
        ]
    )
    sides = np.concatenate([smooth[:, :3].ravel(), smooth[:, -3:].ravel()])
    air = float(np.median(sides[sides <= np.percentile(sides, 60)]))
    split = otsu(smooth)
    if air > split or float(np.median(corners)) > split:
        return None
    bright = smooth[smooth > split]
    soft = _most_frequent(bright)
    reach = air + max(9.0, 0.10 * (soft - air))
    body = _find_body(smooth < reach)
    if body is None:
        return None
    inside = smooth[body]
    soft = _most_frequent(inside[inside > split])
    level = air + 0.5 * (soft - air) if air > 15 else max(air + 10, 0.1 * soft)
    dark = body & (smooth < level)
    lungs = _find_lungs(dark, body)
    lung = float(np.median(values[lungs & dark])) if lungs.any() else air
    return CtSlice(grey, body, lungs, air, soft, lung)


def _most_frequent(values: Floats) -> float:
    """The most frequent grey, a few levels taken together."""
    if not values.size:
        return 255.0
    counts = np.histogram(values, 256, (0, 256))[0].astype(float)
    counts[254:] *= 0.2  # what the window cut off is bone or contrast as often as tissue
    return float(np.argmax(ndimage.uniform_filter1d(counts, 9)))


def _find_body(dark: Bools) -> Bools | None:
    """Everything that the air at the top, the corners and both sides does not reach."""
    labels, _ = ndimage.label(dark)
    # Lungs do not reach the top of a picture; the space between back and table may.
    ends = np.concatenate([labels[:, 0], labels[:, -1], labels[0], labels[-1, :4], labels[-1, -4:]])
    outside = np.isin(labels, np.unique(ends[ends > 0]))
    rest = ndimage.binary_opening(~outside, disk(3))
    parts, count = ndimage.label(rest)
    if not count:
        return None
    sizes = np.bincount(parts.ravel())
    sizes[0] = 0
    body = np.asarray(ndimage.binary_fill_holes(parts == int(sizes.argmax())))
    share = float(body.mean())
    return body if 0.08 < share < 0.97 else None


def _find_lungs(dark: Bools, body: Bools) -> Bools:
    """The dark parts of the body that are large enough and not skin, trachea or bowel."""
    inner = ndimage.binary_erosion(body, disk(3), border_value=1)
    parts, _ = ndimage.label(ndimage.binary_opening(dark & inner, disk(1)))
    kept = np.zeros_like(body)
    area = float(body.sum())
    columns = np.flatnonzero(body.any(axis=0))
    middle, width = float(columns.mean()), float(np.ptp(columns)) + 1
    for number, place in enumerate(ndimage.find_objects(parts), start=1):
        part = parts[place] == number
        size = float(part.sum())
        if size < SMALLEST_LUNG * area:
            continue
        centre = float(np.nonzero(part)[1].mean()) + place[1].start
        height = place[0].stop - place[0].start
        if size < 0.03 * area and abs(centre - middle) < 0.09 * width and height < 0.2 * width:
            continue  # the trachea, or the oesophagus
        kept[place] |= part
    if not kept.any():
        return kept
    filled = ndimage.binary_fill_holes(close_mask(kept, max(2.0, 0.012 * width))) & body
    holes = filled & ~kept
    # What is filled is a vessel or a spot in the lung; a heart ringed by lung is not.
    labels, _ = ndimage.label(holes)
    sizes = np.bincount(labels.ravel())
    small = sizes < 0.05 * area
    small[0] = False
    return np.asarray(kept | small[labels])
