"""Crops, boxes and mask outlines on a picture, in colours a colour-blind person can tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow
from PIL import ImageDraw, ImageFont

from overread.core import Box
from overread.errors import PictureError

Colour = tuple[int, int, int]
Rectangle = tuple[int, int, int, int]
"""Top, left, bottom, right, in whole pixels; the last two are just outside."""

# Okabe and Ito's palette, without the black that no radiograph would show.
COLOURS: tuple[Colour, ...] = (
    (230, 159, 0),
    (86, 180, 233),
    (0, 158, 115),
    (240, 228, 66),
    (0, 114, 178),
    (213, 94, 0),
    (204, 121, 167),
)


def crop(picture: NDArray[Any], box: Box, *, margin: int = 0) -> NDArray[Any]:
    """The part of the picture inside the box, widened by `margin`, clipped at the edges."""
    top, left, bottom, right = rectangle(box, picture.shape, margin=margin)
    return picture[top:bottom, left:right]


def rectangle(box: Box, size: Sequence[int], *, margin: int = 0) -> Rectangle:
    """The pixels that a box touches, widened by `margin`, within a picture of (height, width)."""
    height, width = size[:2]
    left, top = max(0, int(np.floor(box.x1)) - margin), max(0, int(np.floor(box.y1)) - margin)
    right = min(width, int(np.ceil(box.x2)) + margin)
    bottom = min(height, int(np.ceil(box.y2)) + margin)
    if left >= right or top >= bottom:
        raise PictureError(
            f"the box [{box.x1:g}, {box.y1:g}, {box.x2:g}, {box.y2:g}] holds no pixel of a "
            f"{width}×{height} picture",
            remedy="boxes are [left, top, right, bottom] in pixels",
        )
    return top, left, bottom, right


def to_eight_bit(picture: NDArray[Any]) -> NDArray[np.uint8]:
    """Any picture with 8 bits; deeper greys are stretched from their darkest to their brightest."""
    if picture.dtype == np.uint8 or not picture.size:
        return picture.astype(np.uint8, copy=False)
    low, high = float(picture.min()), float(picture.max())
    grey: NDArray[np.float64] = (picture.astype(np.float64) - low) * (255 / max(high - low, 1e-9))
    return np.rint(grey, out=grey).astype(np.uint8)


def to_rgb(picture: NDArray[Any]) -> NDArray[np.uint8]:
    """Any picture as 8-bit colour."""
    flat = to_eight_bit(picture)
    return flat if flat.ndim == 3 else np.repeat(flat[..., None], 3, axis=2)


def draw_outline(
    picture: NDArray[Any], mask: NDArray[Any], tint: Colour, *, fill: float = 0.18
) -> NDArray[np.uint8]:
    """The picture with the mask's border drawn and its inside lightly tinted."""
    canvas = to_rgb(picture).astype(np.float32)
    inside = np.asarray(mask) != 0
    padded = np.pad(inside, 1)
    eroded = padded[1:-1, 1:-1] & padded[:-2, 1:-1] & padded[2:, 1:-1]
    eroded &= padded[1:-1, :-2] & padded[1:-1, 2:]
    tone = np.array(tint, dtype=np.float32)
    canvas[inside] = canvas[inside] * (1 - fill) + tone * fill
    canvas[inside & ~eroded] = tone
    return canvas.astype(np.uint8)


def draw_boxes(picture: NDArray[Any], places: Sequence[Box], *, width: int = 2) -> NDArray[np.uint8]:
    """The picture with each box drawn in its own colour, and its label above it."""
    canvas = Pillow.fromarray(to_rgb(picture))
    pen = ImageDraw.Draw(canvas)
    font = ImageFont.load_default(size=max(10, canvas.height // 28))
    for number, box in enumerate(places):
        tint = COLOURS[number % len(COLOURS)]
        left, right = sorted((box.x1, box.x2))
        top, bottom = sorted((box.y1, box.y2))
        pen.rectangle((left, top, right, bottom), outline=tint, width=width)
        if box.label:
            _draw_text(pen, (left + 4, top + 2), box.label, tint, font)
    return np.asarray(canvas)


def draw_title(picture: NDArray[Any], title: str, *, tint: Colour = (255, 255, 255)) -> NDArray[Any]:
    """The picture with one line of text in its upper left corner."""
    canvas = Pillow.fromarray(to_rgb(picture))
    pen = ImageDraw.Draw(canvas)
    _draw_text(pen, (5, 3), title, tint, ImageFont.load_default(size=14))
    return np.asarray(canvas)


def draw_side_letters(picture: NDArray[Any], left: str, right: str) -> NDArray[Any]:
    """The picture with a letter at its left and right edge: which side of the patient that is."""
    canvas = Pillow.fromarray(to_rgb(picture))
    pen = ImageDraw.Draw(canvas)
    font = ImageFont.load_default(size=16)
    middle = canvas.height / 2 - 10
    _draw_text(pen, (5, middle), left, (255, 226, 90), font)
    _draw_text(pen, (canvas.width - 5 - pen.textlength(right, font), middle), right, (255, 226, 90), font)
    return np.asarray(canvas)


def _draw_text(pen: ImageDraw.ImageDraw, at: tuple[float, float], text: str, tint: Colour, font: Any) -> None:
    """Words with a dark rim, which stay readable on white lungs and on black air."""
    pen.text(at, text, fill=tint, font=font, stroke_width=2, stroke_fill=(0, 0, 0))


def make_montage(pictures: Sequence[NDArray[Any]], *, columns: int, gap: int = 4) -> NDArray[np.uint8]:
    """Pictures side by side on black, each centred in a cell as large as the largest."""
    if not pictures:
        raise PictureError("a montage needs at least one picture")
    tiles = [to_rgb(picture) for picture in pictures]
    height = max(tile.shape[0] for tile in tiles)
    width = max(tile.shape[1] for tile in tiles)
    columns = min(columns, len(tiles))
    rows = -(-len(tiles) // columns)
    sheet = np.zeros((rows * (height + gap) - gap, columns * (width + gap) - gap, 3), np.uint8)
    for number, tile in enumerate(tiles):
        row, column = divmod(number, columns)
        top = row * (height + gap) + (height - tile.shape[0]) // 2
        left = column * (width + gap) + (width - tile.shape[1]) // 2
        sheet[top : top + tile.shape[0], left : left + tile.shape[1]] = tile
    return sheet
