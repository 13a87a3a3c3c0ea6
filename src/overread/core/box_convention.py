"""In which numbers a model gives and takes boxes: shares, thousandths, or pixels of what it sees.

Models were trained on boxes of one kind, and are poor at others: asked for shares, one that knows
pixels gives pixels all the same. What it is shown may be scaled by its own processor first; then its
pixels are those of the scaled picture, and here it is worked out how large that is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Numbers = tuple[float, float, float, float]
"""Four edges: left, top, right, bottom; or the same in a model's own order."""


@dataclass(frozen=True)
class PictureScaling:
    """How a model's processor scales a picture before the model sees it."""

    multiple: int = 1
    """Width and height become multiples of it."""
    min_pixels: int = 0
    """Smaller pictures are enlarged."""
    max_pixels: int = 1 << 60
    """Larger pictures are scaled down."""
    longest: int = 1 << 30
    """Pixels of the longer side, beyond which a picture is scaled down."""

    def seen_size(self, width: int, height: int) -> tuple[int, int]:
        """The size in which the model sees a picture of that size.

        With a `multiple` this is the rule of Qwen's processors, which call it `smart_resize`.

        >>> PictureScaling(28, 56 * 56, 1280 * 28 * 28).seen_size(1920, 1080)
        (1316, 728)
        >>> PictureScaling(longest=1568).seen_size(3136, 1000), PictureScaling().seen_size(640, 480)
        ((1568, 500), (640, 480))
        """
        if self.multiple == 1:
            scale = min(1.0, self.longest / max(width, height), math.sqrt(self.max_pixels / (width * height)))
            return max(1, round(width * scale)), max(1, round(height * scale))
        step = self.multiple
        wide, high = max(step, round(width / step) * step), max(step, round(height / step) * step)
        if wide * high > self.max_pixels:
            shrink = math.sqrt(width * height / self.max_pixels)
            wide = max(step, math.floor(width / shrink / step) * step)
            high = max(step, math.floor(height / shrink / step) * step)
        elif wide * high < self.min_pixels:
            grow = math.sqrt(self.min_pixels / (width * height))
            wide, high = math.ceil(width * grow / step) * step, math.ceil(height * grow / step) * step
        return wide, high


@dataclass(frozen=True)
class BoxConvention:
    """How one family of models writes a box."""

    name: str
    unit: Literal["share", "thousandth", "pixel"] = "share"
    field: str = ""
    """The field that holds the four numbers; empty for four fields: left, top, right, bottom."""
    order: Literal["xyxy", "yxyx"] = "xyxy"
    """Whether the left or the upper edge comes first."""
    scaling: PictureScaling = PictureScaling()
    """How its processor scales what it is shown; matters for pixels only."""

    @property
    def corners(self) -> str:
        """The four numbers by their names."""
        return "[x1, y1, x2, y2]" if self.order == "xyxy" else "[ymin, xmin, ymax, xmax]"

    def full_size(self, width: int, height: int) -> tuple[int, int]:
        """What the right and the lower edge of a sent picture are in these numbers."""
        if self.unit == "pixel":
            return self.scaling.seen_size(width, height)
        return (1000, 1000) if self.unit == "thousandth" else (1, 1)

    def from_shares(self, edges: Numbers, width: int, height: int) -> Numbers:
        """Edges in shares of a sent picture as the model writes them.

        >>> CONVENTIONS["thousandths-yx"].from_shares((0.1, 0.2, 0.5, 0.9), 640, 480)
        (200, 100, 900, 500)
        """
        full = self.full_size(width, height)
        left, top, right, bottom = (
            edge * full[n % 2] if self.unit == "share" else round(edge * full[n % 2])
            for n, edge in enumerate(edges)
        )
        return (left, top, right, bottom) if self.order == "xyxy" else (top, left, bottom, right)

    def to_shares(self, numbers: Numbers, width: int, height: int) -> Numbers:
        """The model's numbers as shares of the sent picture; nothing is cut to what is in it.

        >>> CONVENTIONS["pixels-28"].to_shares((0, 0, 518, 504), 1024, 1000)
        (0.0, 0.0, 0.5, 0.5)
        """
        one, two, three, four = numbers
        edges = (one, two, three, four) if self.order == "xyxy" else (two, one, four, three)
        full = self.full_size(width, height)
        left, top, right, bottom = (edge / full[n % 2] for n, edge in enumerate(edges))
        return left, top, right, bottom


SHARES = BoxConvention("shares")

_QWEN_28 = PictureScaling(multiple=28, min_pixels=56 * 56, max_pixels=12_845_056)
_CLAUDE = PictureScaling(longest=1568, max_pixels=1_150_000)

CONVENTIONS = {
    convention.name: convention
    for convention in (
        SHARES,
        BoxConvention("thousandths", "thousandth", "bbox_2d"),
        BoxConvention("thousandths-yx", "thousandth", "box_2d", "yxyx"),
        BoxConvention("pixels", "pixel", "bbox"),
        BoxConvention("pixels-28", "pixel", "bbox_2d", scaling=_QWEN_28),
        BoxConvention("pixels-1568", "pixel", "bbox", scaling=_CLAUDE),
    )
}
"""Name → convention: what a reader's argument `boxes` may be."""
