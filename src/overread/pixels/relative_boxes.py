"""Boxes relative to what a reader was shown, from 0 to 1, and where they lie in the stored picture.

A model gives edges from 0, the left or upper edge of what it was shown, to 1, the right or lower
one. What it is shown may be scaled, rotated upright, or itself a part: here that is undone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from overread.core import Box, Image, Pictures
from overread.pixels.image_files import stored_orientation


@dataclass(frozen=True)
class RelativeBox:
    """A box with edges as fractions of the width and height of what is shown."""

    left: float
    top: float
    right: float
    bottom: float

    def crop(self, picture: NDArray[Any]) -> NDArray[Any]:
        """The pixels of the part, one at least."""
        left, top, right, bottom = self.to_pixels(*picture.shape[1::-1])
        return picture[top:bottom, left:right]

    def to_pixels(self, width: int, height: int) -> tuple[int, int, int, int]:
        """Its edges in the pixels of a picture: every pixel that it touches.

        >>> RelativeBox(0.25, 0, 0.5, 1).to_pixels(10, 8)
        (2, 0, 5, 8)
        """
        left, right = _pixel_range(self.left, self.right, width)
        top, bottom = _pixel_range(self.top, self.bottom, height)
        return left, top, right, bottom

    def within(self, outer: RelativeBox) -> RelativeBox:
        """The same place in shares of the picture that the outer part was cut from.

        >>> RelativeBox(0.5, 0, 1, 0.5).within(RelativeBox(0, 0.5, 0.5, 1))
        RelativeBox(left=0.25, top=0.5, right=0.5, bottom=0.75)
        """
        width, height = outer.right - outer.left, outer.bottom - outer.top
        return RelativeBox(
            outer.left + self.left * width,
            outer.top + self.top * height,
            outer.left + self.right * width,
            outer.top + self.bottom * height,
        )

    def seen_in(self, outer: RelativeBox) -> RelativeBox:
        """The same place in shares of a part that is shown alone: the inverse of `within`.

        >>> RelativeBox(0.25, 0.5, 0.5, 0.75).seen_in(RelativeBox(0, 0.5, 0.5, 1))
        RelativeBox(left=0.5, top=0.0, right=1.0, bottom=0.5)
        """
        width, height = outer.right - outer.left, outer.bottom - outer.top
        return RelativeBox(
            (self.left - outer.left) / width,
            (self.top - outer.top) / height,
            (self.right - outer.left) / width,
            (self.bottom - outer.top) / height,
        )

    def widen(self, by: float) -> RelativeBox:
        """The part with a rim of so many shares of its own size, as far as there is picture."""
        across, down = (self.right - self.left) * by, (self.bottom - self.top) * by
        return RelativeBox(
            max(0.0, self.left - across),
            max(0.0, self.top - down),
            min(1.0, self.right + across),
            min(1.0, self.bottom + down),
        )

    def at_least(self, size: float) -> RelativeBox:
        """The part, widened about its middle where it is narrower or lower than so many shares.

        >>> RelativeBox(0, 0.25, 1, 0.25).at_least(0.5)
        RelativeBox(left=0, top=0.0, right=1, bottom=0.5)
        """
        left, right = _widen_range(self.left, self.right, size)
        top, bottom = _widen_range(self.top, self.bottom, size)
        return RelativeBox(left, top, right, bottom)


FULL_BOX = RelativeBox(0.0, 0.0, 1.0, 1.0)


def enclosing_box(first: RelativeBox, *others: RelativeBox) -> RelativeBox:
    """The smallest part that holds all of them.

    >>> enclosing_box(RelativeBox(0, 0, 0.1, 0.1), RelativeBox(0.5, 0, 0.6, 0.4))
    RelativeBox(left=0, top=0, right=0.6, bottom=0.4)
    """
    every = (first, *others)
    return RelativeBox(
        min(part.left for part in every),
        min(part.top for part in every),
        max(part.right for part in every),
        max(part.bottom for part in every),
    )


def _widen_range(low: float, high: float, size: float) -> tuple[float, float]:
    if high - low >= size:
        return low, high
    begin = min(max(0.0, (low + high - size) / 2), 1 - size)
    return begin, begin + size


def _pixel_range(low: float, high: float, size: int) -> tuple[int, int]:
    """First and last pixel of a range, the last excluded; a millionth past an edge is ignored."""
    first = min(max(math.floor(low * size + 1e-6), 0), size - 1)
    return first, min(max(math.ceil(high * size - 1e-6), first + 1), size)


@dataclass(frozen=True)
class OrientedImage:
    """What maps boxes of a flat picture as it is shown to the stored one."""

    name: str
    width: int
    height: int
    orientation: int = 1
    """1 to 8 as Exif counts; 1 upright."""

    def to_box(self, part: RelativeBox, label: str | None = None) -> Box:
        """Where a part of the shown picture lies in the stored one.

        >>> film = OrientedImage("xray", 40, 20, orientation=6)  # shown turned right, 20 × 40
        >>> box = film.to_box(RelativeBox(0, 0, 0.5, 0.25))
        >>> box.x1, box.y1, box.x2, box.y2
        (0.0, 10.0, 10.0, 20.0)
        """
        across, down = (part.left, part.right), (part.top, part.bottom)
        if self.orientation in (2, 3, 6, 7):
            across = (1 - across[1], 1 - across[0])
        if self.orientation in (3, 4, 7, 8):
            down = (1 - down[1], 1 - down[0])
        if self.orientation in (5, 6, 7, 8):
            across, down = down, across
        stored = RelativeBox(across[0], down[0], across[1], down[1])
        x1, y1, x2, y2 = stored.to_pixels(self.width, self.height)
        return Box(picture=self.name, x1=x1, y1=y1, x2=x2, y2=y2, label=label)

    def to_part(self, box: Box) -> RelativeBox:
        """Where a box of the stored picture lies in the shown one, as far as it is in the picture.

        >>> film = OrientedImage("xray", 40, 20, orientation=6)
        >>> film.to_part(film.to_box(RelativeBox(0, 0, 0.5, 0.25)))
        RelativeBox(left=0.0, top=0.0, right=0.5, bottom=0.25)
        """
        across = min(max(box.x1 / self.width, 0.0), 1.0), min(max(box.x2 / self.width, 0.0), 1.0)
        down = min(max(box.y1 / self.height, 0.0), 1.0), min(max(box.y2 / self.height, 0.0), 1.0)
        if self.orientation in (5, 6, 7, 8):
            across, down = down, across
        if self.orientation in (2, 3, 6, 7):
            across = (1 - across[1], 1 - across[0])
        if self.orientation in (3, 4, 7, 8):
            down = (1 - down[1], 1 - down[0])
        return RelativeBox(across[0], down[0], across[1], down[1])


def oriented_image(pictures: Pictures, picture: Image) -> OrientedImage:
    """Read size and orientation of a flat picture."""
    height, width = pictures.pixels(picture).shape[:2]
    return OrientedImage(picture.name, width, height, stored_orientation(pictures.data(picture)))
