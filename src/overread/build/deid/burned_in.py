"""Letters burned into a picture, found by their looks: rules, no model.

What print has and anatomy has not: strokes of one brightness with sharp edges on both sides, thin
for their height, in pieces of like height side by side on a line. Bright letters on dark, dark
ones on bright and coloured ones on grey are looked for in the same way, each in a map of its own.
In the middle of a picture a line must be more regular than near its edges.

What this misses: script by hand, slanted and upright lines, letters under six pixels high (four in
long lines near the edge; twice that in pictures over 1,400 pixels) or over a tenth of the picture,
faint print, single letters away from the edge, print on noise as coarse as itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Grey = NDArray[np.float32]
Mask = NDArray[np.bool_]

_MIN_HEIGHT_AT_EDGE = 4
"""The height in pixels from which on letters are found, in long lines near the edge."""
_MIN_HEIGHT = 6
"""The height from which on they are found elsewhere."""
_HALVE_ABOVE = 1400
"""Pixels of the shorter side above which a picture is looked at in half its size."""
_STRICT_BELOW = 160
"""Pixels of the shorter side below which rows of spots are likelier than print."""
_MIN_CONTRAST = 0.16
"""How much brighter than what is around them strokes are, of the whole range."""
_MIN_EDGE_STEP = 0.42
"""The part of that which the edge of a stroke takes in one pixel."""


@dataclass(frozen=True)
class PrintBox:
    """A stretch of print: rows top to bottom and columns left to right, ends excluded."""

    top: int
    left: int
    bottom: int
    right: int
    letters: int = 1
    """How many pieces it is made of."""

    def expand(self, by: int, shape: tuple[int, ...]) -> PrintBox:
        """With a margin, within the picture."""
        return PrintBox(
            max(0, self.top - by),
            max(0, self.left - by),
            min(shape[0], self.bottom + by),
            min(shape[1], self.right + by),
            self.letters,
        )


@dataclass(frozen=True)
class _Piece:
    """One connected piece that may be a letter, or several that touch."""

    top: int
    left: int
    bottom: int
    right: int
    area: int
    stroke: float
    level: float
    even: float
    letter: bool

    @property
    def height(self) -> int:
        return self.bottom - self.top

    @property
    def width(self) -> int:
        return self.right - self.left


def find_print(pixels: NDArray[Any], *, side_markers: bool = True, measured: bool = False) -> list[PrintBox]:
    """Where a picture (H, W) or (H, W, 3) has print; with `side_markers` single letters too.

    `measured` is for slices whose values are a measurement (CT, MR, PET): vessels and bone make
    rows of bright spots there, so only letters that all have the very same value are print. Small
    pictures are looked at in this way as well.
    """
    step = 1 if min(pixels.shape[:2]) <= _HALVE_ABOVE else 2
    seen = _halve(pixels) if step == 2 else pixels
    grey, colour = _brightness_and_colour(seen)
    strict = seen if (measured or min(seen.shape[:2]) < _STRICT_BELOW) and seen.ndim == 2 else None
    found = _find_lines(grey, side_markers=side_markers, values=strict)
    found += _find_lines(1.0 - grey, side_markers=side_markers, values=strict)
    if colour is not None:
        found += _find_lines(colour, side_markers=side_markers, values=None)
    return _merge_boxes([_scale_box(box, step) for box in found], pixels.shape)


def _halve(pixels: NDArray[Any]) -> NDArray[Any]:
    """Half the size, by means of two by two: print of large pictures is large."""
    rows, columns = (n // 2 * 2 for n in pixels.shape[:2])
    even = pixels[:rows, :columns].astype(np.float32)
    small = (even[::2, ::2] + even[1::2, ::2] + even[::2, 1::2] + even[1::2, 1::2]) / 4
    return small.astype(pixels.dtype)


def _scale_box(box: PrintBox, step: int) -> PrintBox:
    sides = (box.top * step, box.left * step, box.bottom * step, box.right * step)
    return PrintBox(*sides, box.letters)


def _brightness_and_colour(pixels: NDArray[Any]) -> tuple[Grey, Grey | None]:
    """Brightness from 0 to 1, and how coloured pixels are where not all the picture is."""
    values = pixels.astype(np.float32)
    if values.ndim == 2:
        low, high = _value_range(values)
        return np.clip((values - low) / (high - low), 0, 1), None
    values /= 255.0 if pixels.dtype == np.uint8 else max(1.0, float(values.max()))
    grey: Grey = values.max(axis=2)
    spread: Grey = values.max(axis=2) - values.min(axis=2)
    coloured = spread > 0.25
    # Where much is coloured, colour is the picture (Doppler, PET), and letters are told by light.
    return grey, spread if 0 < coloured.mean() < 0.15 else None


def _value_range(values: Grey) -> tuple[float, float]:
    low, high = (float(np.percentile(values, share)) for share in (0.5, 99.7))
    # Print may be the only bright thing there is.
    top = float(values.max())
    high = top if high <= low else high
    return (low, high) if high > low else (low, low + 1.0)


def _find_lines(plane: Grey, *, side_markers: bool, values: NDArray[Any] | None) -> list[PrintBox]:
    most = max(3 * _MIN_HEIGHT, round(0.1 * min(plane.shape)))
    pieces: list[_Piece] = []
    for width in _window_sizes(plane.shape):
        pieces += _find_pieces(plane, width, most)
    pieces = _drop_duplicates(pieces, plane.shape)
    groups = _group_lines([piece for piece in pieces if piece.letter])
    sure = [n for n, line in enumerate(groups) if _is_print(line, plane, side_markers=side_markers)]
    if values is not None:
        sure = [n for n in sure if _has_one_value(groups[n], plane, values)]
    boxes = [_bounding_box(groups[n]) for n in sure]
    rest = [_bounding_box(line) for n, line in enumerate(groups) if n not in sure]
    rest += [_bounding_box([piece]) for piece in pieces if not piece.letter]
    return _extend_lines(boxes, rest)


def _bounding_box(line: list[_Piece]) -> PrintBox:
    return PrintBox(
        min(p.top for p in line),
        min(p.left for p in line),
        max(p.bottom for p in line),
        max(p.right for p in line),
        len(line),
    )


def _extend_lines(boxes: list[PrintBox], rest: list[PrintBox]) -> list[PrintBox]:
    """Lines with what stands on the same level beside them: the words that are too short alone."""
    done = []
    for box in boxes:
        grown, left = box, list(rest)
        while True:
            height = grown.bottom - grown.top
            near = [
                other
                for other in left
                if min(grown.bottom, other.bottom) - max(grown.top, other.top)
                >= 0.6 * (other.bottom - other.top)
                and other.bottom - other.top <= 1.6 * height
                and max(grown.left, other.left) - min(grown.right, other.right)
                <= (3.0 if other.letters > 1 else 2.0) * height
            ]
            if not near or box.letters < 3:
                break
            left = [other for other in left if other not in near]
            every = [grown, *near]
            grown = PrintBox(
                min(b.top for b in every),
                min(b.left for b in every),
                max(b.bottom for b in every),
                max(b.right for b in every),
                sum(b.letters for b in every),
            )
        done.append(grown)
    return done


def _window_sizes(shape: tuple[int, ...]) -> list[int]:
    """Sizes of the window that strokes must fit into, from fine print to captions."""
    short = min(shape)
    return sorted({5, max(5, round(short / 110) | 1), max(7, round(short / 45) | 1)})


def _find_pieces(plane: Grey, width: int, most: int) -> list[_Piece]:
    from scipy import ndimage

    # What stands out from a window of twice the stroke: thin bright things, sharp or not.
    coarse = (plane * 255).astype(np.uint8)
    mask: Mask = (coarse - ndimage.grey_opening(coarse, size=(width, width))) > _MIN_CONTRAST * 255
    if not mask.any() or mask.mean() > 0.35:
        return []
    labels, count = ndimage.label(mask, structure=np.ones((3, 3), dtype=int))
    if not count:
        return []
    areas = np.bincount(labels.ravel(), minlength=count + 1)
    pieces = []
    for number, place in enumerate(ndimage.find_objects(labels), 1):
        rows, columns = place
        height, span = rows.stop - rows.start, columns.stop - columns.start
        area = int(areas[number])
        if height > most or span > 30 * max(height, _MIN_HEIGHT_AT_EDGE) or area < 3:
            continue
        own = labels[place] == number
        inside = ndimage.distance_transform_edt(np.pad(own, 1))[1:-1, 1:-1]
        core = plane[place][inside >= min(2.0, inside.max())]
        sides = (rows.start, columns.start, rows.stop, columns.stop)
        stroke, level = float(2 * inside.max()), float(np.percentile(core, 70))
        even = float(np.median(np.abs(core - np.median(core))))
        letter = (
            height >= _MIN_HEIGHT_AT_EDGE
            and area >= 5
            and 0.12 <= area / (height * span) <= 0.98
            and stroke <= 0.55 * height + 2
            and even <= 0.12
            and _is_sharp(plane, own, sides, level)
        )
        pieces.append(_Piece(*sides, area, stroke, level, even, letter))
    return pieces


def _is_sharp(plane: Grey, own: Mask, sides: tuple[int, int, int, int], level: float) -> bool:
    """Whether a piece stands out at once: print steps up in one pixel, vessels and ribs fade."""
    top, left, bottom, right = sides
    above, before = min(2, top), min(2, left)
    around = plane[top - above : bottom + 2, left - before : right + 2]
    step = level - float(np.percentile(around, 20))
    if step < _MIN_CONTRAST:
        return False
    down, across = (np.abs(np.diff(around, axis=axis)) for axis in (0, 1))
    steepest = np.zeros(around.shape, dtype=np.float32)
    steepest[1:] = down
    steepest[:-1] = np.maximum(steepest[:-1], down)
    steepest[:, 1:] = np.maximum(steepest[:, 1:], across)
    steepest[:, :-1] = np.maximum(steepest[:, :-1], across)
    rows, columns = own.shape
    edges = steepest[above : above + rows, before : before + columns][own]
    return float(np.percentile(edges, 70)) >= _MIN_EDGE_STEP * step


def _drop_duplicates(pieces: list[_Piece], shape: tuple[int, ...]) -> list[_Piece]:
    """Of pieces that two windows found in the same place one: a letter, and the larger."""
    kept: list[_Piece] = []
    taken = np.zeros(shape, dtype=bool)
    for piece in sorted(pieces, key=lambda p: (not p.letter, -p.area)):
        place = slice(piece.top, piece.bottom), slice(piece.left, piece.right)
        if not taken[place].any():
            taken[place] = True
            kept.append(piece)
    return kept


def _group_lines(pieces: list[_Piece]) -> list[list[_Piece]]:
    """Pieces side by side on a line: of like height, on one level, close by."""
    lines: list[list[_Piece]] = []
    for piece in sorted(pieces, key=lambda p: p.left):
        best = None
        for line in reversed(lines[-400:]):
            last = line[-1]
            tall = max(last.height, piece.height)
            shared = min(last.bottom, piece.bottom) - max(last.top, piece.top)
            near = piece.left - max(one.right for one in line[-3:]) <= 1.6 * tall
            alike = tall <= 2.2 * min(last.height, piece.height)
            if (
                near
                and alike
                and shared >= 0.5 * min(last.height, piece.height)
                and (abs(last.level - piece.level) < 0.25)
            ):
                best = line
                break
        if best is None:
            lines.append([piece])
        else:
            best.append(piece)
    return lines


def _is_print(line: list[_Piece], plane: Grey, *, side_markers: bool) -> bool:
    height = float(np.median([p.height for p in line]))
    middle = np.mean([(p.top + p.bottom) / 2 for p in line]) / plane.shape[0]
    across = np.mean([(p.left + p.right) / 2 for p in line]) / plane.shape[1]
    edge = min(middle, 1 - middle, across, 1 - across)
    ends = np.array([p.bottom for p in line]), np.array([p.top for p in line])
    level = min(float(np.median(np.abs(e - np.median(e)))) for e in ends) / max(1.0, height)
    strokes = np.array([p.stroke for p in line])
    even_strokes = float(strokes.std()) <= 0.35 * float(strokes.mean()) + 0.5
    shades = float(np.std([p.level for p in line]))
    letters = sum(max(1, round(p.width / max(1.0, 0.8 * p.height))) for p in line)
    if height < _MIN_HEIGHT and not (letters >= 8 and edge < 0.18):
        return False
    if letters >= 4 and len(line) >= 3:
        # One brightness in every letter is what anatomy never has; then the line may wave a little.
        if shades < 0.03 and max(p.even for p in line) < 0.08:
            return level <= 0.25 and even_strokes
        strict = edge > 0.18
        return level <= (0.12 if strict else 0.2) and even_strokes and shades < (0.06 if strict else 0.12)
    if letters >= 4:  # letters that touch
        fills = [p.area / (p.height * p.width) for p in line]
        bold = max(p.stroke / p.height for p in line)
        flat = edge < 0.18 and _is_on_flat_ground(line, plane)
        fit = bold < (0.75 if flat else 0.4) and max(p.even for p in line) < 0.04
        return fit and all(0.2 < f < (0.85 if flat else 0.6) for f in fills)
    if letters >= 2 and edge < 0.18:
        return level <= 0.15 and even_strokes and shades < 0.08 and _is_on_flat_ground(line, plane)
    return side_markers and edge < 0.2 and len(line) == 1 and _is_marker(line[0], plane)


def _has_one_value(line: list[_Piece], plane: Grey, values: NDArray[Any]) -> bool:
    """Whether most letters of a line reach the very same value, on a flat ground."""
    if len(line) < 4:
        return False
    reached = []
    for p in line:
        place = slice(p.top, p.bottom), slice(p.left, p.right)
        reached.append(values[place].ravel()[int(np.argmax(plane[place]))])
    most = int(np.unique(np.asarray(reached), return_counts=True)[1].max())
    return most >= 0.7 * len(line) and _is_on_flat_ground(line, plane)


def _is_marker(piece: _Piece, plane: Grey) -> bool:
    """Whether a single piece is a letter by itself, such as an R of lead or print."""
    slim = 0.3 <= piece.width / piece.height <= 1.3
    big = piece.height >= max(_MIN_HEIGHT + 2, 0.012 * min(plane.shape))
    fill = piece.area / (piece.height * piece.width)
    return slim and big and 0.25 <= fill <= 0.75 and piece.even < 0.06 and _is_on_flat_ground([piece], plane)


def _is_on_flat_ground(line: list[_Piece], plane: Grey) -> bool:
    """Whether what is around a line is flat, as the ground of print is."""
    top, bottom = min(p.top for p in line) - 4, max(p.bottom for p in line) + 4
    left, right = min(p.left for p in line) - 4, max(p.right for p in line) + 4
    around = plane[max(0, top) : bottom, max(0, left) : right]
    ring = np.ones(around.shape, dtype=bool)
    ring[3:-3, 3:-3] = False
    level = float(np.median([p.level for p in line]))
    values = around[ring]
    spread = float(np.percentile(values, 90) - np.percentile(values, 10)) if values.size else 1.0
    return spread < 0.35 * abs(level - float(np.median(values))) + 0.02


def _merge_boxes(boxes: list[PrintBox], shape: tuple[int, ...]) -> list[PrintBox]:
    """Boxes with a margin, those that touch made one."""
    grown = [box.expand(max(2, (box.bottom - box.top) // 4), shape) for box in boxes]
    done: list[PrintBox] = []
    for box in sorted(grown, key=lambda b: (b.top, b.left)):
        merged = box
        while True:
            touching = [
                other
                for other in done
                if other.top <= merged.bottom
                and merged.top <= other.bottom
                and other.left <= merged.right
                and merged.left <= other.right
            ]
            if not touching:
                break
            done = [other for other in done if other not in touching]
            every = [merged, *touching]
            merged = PrintBox(
                min(b.top for b in every),
                min(b.left for b in every),
                max(b.bottom for b in every),
                max(b.right for b in every),
                sum(b.letters for b in every),
            )
        done.append(merged)
    return sorted(done, key=lambda b: (b.top, b.left))
