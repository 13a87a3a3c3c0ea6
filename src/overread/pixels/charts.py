"""What all charts share: ticks, the look of a series, texts that fit, a canvas for SVG and PNG."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import pairwise
from typing import Literal
from xml.sax.saxutils import escape, quoteattr

from PIL import Image as Pillow
from PIL import ImageColor, ImageDraw, ImageFont

XY = tuple[float, float]
Shape = Literal["circle", "square", "triangle", "diamond"]
Anchor = Literal["start", "middle", "end"]
Paint = Callable[[Pillow.Image, int], Pillow.Image]
"""Puts something on a picture with so many pixels a unit."""

_OVERSAMPLING = 4
"""Pixels of the drawing for each of the picture: edges come out smooth."""
_PNG_SCALE = 2
"""Pixels of the PNG for each unit of the sheet: sharp on screens of any kind."""


SERIES_COLOURS = ("#0072b2", "#b45f00", "#007a59", "#a3497e", "#5f5a00", "#a3370a")
"""Of the series of a chart, in order: those of the page's `tokens.css` on a light ground."""
_SHAPES: tuple[Shape, ...] = ("circle", "square", "triangle", "diamond")
_DASHES = (None, (7.0, 4.0), (2.0, 4.0))
_CORNERS: dict[Shape, tuple[XY, ...]] = {
    "circle": (),
    "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    "triangle": ((0, -1.2), (1.1, 0.8), (-1.1, 0.8)),
    "diamond": ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
}
"""Corners of a mark of size 1; a circle has none."""


@dataclass(frozen=True)
class SeriesStyle:
    """How a series looks."""

    colour: str
    shape: Shape
    dash: XY | None


def series_style(place: int) -> SeriesStyle:
    """Colour, mark and dash differ together, so that a print in grey can still be read."""
    return SeriesStyle(
        SERIES_COLOURS[place % len(SERIES_COLOURS)],
        _SHAPES[place % len(_SHAPES)],
        _DASHES[place // len(SERIES_COLOURS) % len(_DASHES)],
    )


def mark_corners(spot: XY, shape: Shape, size: float) -> list[XY]:
    """The corners of a mark around a spot; none where it is a circle."""
    return [(spot[0] + x * size, spot[1] + y * size) for x, y in _CORNERS[shape]]


def round_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers that enclose a range: steps of 1, 2, 2.5 or 5 times a power of ten.

    >>> round_ticks(0.31, 0.49)
    [0.3, 0.35, 0.4, 0.45, 0.5]
    >>> round_ticks(0, 100)
    [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]
    """
    if high <= low:
        low, high = low - (abs(low) or 1) * 0.1, high + (abs(high) or 1) * 0.1
    rough = (high - low) / (most - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in (1, 2, 2.5, 5, 10) if s * power >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(n * step, 12) for n in range(first, last + 1)]


@cache
def _font(size: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def text_width(text: str, size: float) -> float:
    """How wide a text comes out, in units of the sheet."""
    return float(_font(size).getlength(text))


def fit_text(text: str, size: float, room: float) -> str:
    """A text, cut with an ellipsis where it would not fit."""
    if text_width(text, size) <= room:
        return text
    while text and text_width(text + "…", size) > room:
        text = text[:-1]
    return text + "…"


@dataclass
class ChartCanvas:
    """A white sheet; x to the right, y down, in units of which an SVG shows one as a pixel."""

    width: int
    height: int
    _svg: list[str] = field(default_factory=list)
    _paint: list[Paint] = field(default_factory=list)
    _words: list[Paint] = field(default_factory=list)

    def line(self, spots: Sequence[XY], colour: str, *, wide: float = 1.0, dash: XY | None = None) -> None:
        """A line through some spots."""
        dashed = f' stroke-dasharray="{dash[0]:g} {dash[1]:g}"' if dash else ""
        self._svg.append(
            f'<polyline points="{_points(spots)}" fill="none" stroke="{colour}" '
            f'stroke-width="{wide:g}" stroke-linejoin="round" stroke-linecap="round"{dashed}/>'
        )
        for part in _dashes(spots, dash) if dash else [spots]:
            self._paint.append(partial(_draw_line, spots=part, colour=colour, wide=wide))

    def area(self, spots: Sequence[XY], colour: str, *, opacity: float) -> None:
        """A filled area that lets through what lies below."""
        self._svg.append(f'<polygon points="{_points(spots)}" fill="{colour}" fill-opacity="{opacity:g}"/>')
        self._paint.append(partial(_draw_area, spots=spots, colour=colour, opacity=opacity))

    def mark(self, spot: XY, shape: Shape, colour: str, *, size: float = 4.0) -> None:
        """A small filled shape with a white edge."""
        corners = mark_corners(spot, shape, size)
        edge = 'stroke="#ffffff" stroke-width="1"'
        if corners:
            self._svg.append(f'<polygon points="{_points(corners)}" fill="{colour}" {edge}/>')
        else:
            x, y = spot
            told = f'cx="{x:.2f}" cy="{y:.2f}" r="{size:g}"'
            self._svg.append(f'<circle {told} fill="{colour}" {edge}/>')
        self._paint.append(partial(_draw_mark, spot=spot, corners=corners, colour=colour, size=size))

    def text(
        self,
        spot: XY,
        words: str,
        *,
        size: float = 12.0,
        colour: str = "#333333",
        anchor: Anchor = "start",
        upward: bool = False,
        bold: bool = False,
    ) -> None:
        """Words whose middle line goes through the spot; `upward` turns them to the left."""
        x, y = spot
        turned = f' transform="rotate(-90 {x:.2f} {y:.2f})"' if upward else ""
        weight = ' font-weight="bold"' if bold else ""
        self._svg.append(
            f'<text x="{x:.2f}" y="{y:.2f}" dy="0.35em" font-size="{size:g}" fill="{colour}" '
            f'text-anchor="{anchor}"{weight}{turned}>{escape(words)}</text>'
        )
        write = _draw_text_upward if upward else partial(_draw_text, bold=bold)
        self._words.append(partial(write, spot=spot, words=words, size=size, colour=colour, anchor=anchor))

    def svg(self, title: str) -> bytes:
        """The sheet as SVG; the title is for those who cannot see it."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
            f'viewBox="0 0 {self.width} {self.height}" role="img" aria-label={quoteattr(title)} '
            'font-family="Helvetica, Arial, sans-serif">'
        )
        white = f'<rect width="{self.width}" height="{self.height}" fill="#ffffff"/>'
        body = [head, f"<title>{escape(title)}</title>", white, *self._svg, "</svg>"]
        return "\n".join(body).encode() + b"\n"

    def png(self) -> bytes:
        """The sheet as PNG, twice as fine as the SVG's own size."""
        scale = _PNG_SCALE * _OVERSAMPLING
        image = Pillow.new("RGB", (self.width * scale, self.height * scale), "#ffffff")
        for paint in self._paint:
            image = paint(image, scale)
        size = (self.width * _PNG_SCALE, self.height * _PNG_SCALE)
        image = image.resize(size, Pillow.Resampling.BOX)
        for write in self._words:  # not scaled down: letters are smooth already
            image = write(image, _PNG_SCALE)
        out = io.BytesIO()
        image.save(out, "PNG", optimize=True)
        return out.getvalue()


def _points(spots: Sequence[XY]) -> str:
    return " ".join(f"{x:.2f},{y:.2f}" for x, y in spots)


def _dashes(spots: Sequence[XY], dash: XY) -> list[list[XY]]:
    """The strokes of a dashed line, which goes on round its corners."""
    parts: list[list[XY]] = []
    pen, left = True, dash[0]
    part: list[XY] = [spots[0]]
    for (x1, y1), (x2, y2) in pairwise(spots):
        length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
        gone = 0.0
        while length - gone > left:
            gone += left
            at = (x1 + (x2 - x1) * gone / length, y1 + (y2 - y1) * gone / length)
            if pen:
                parts.append([*part, at])
            part = [at]
            pen = not pen
            left = dash[0] if pen else dash[1]
        left -= length - gone
        part.append((x2, y2))
    return [*parts, part] if pen and len(part) > 1 else parts


# ---- painting ------------------------------------------------------------------------------


def _draw_line(
    image: Pillow.Image, scale: int, *, spots: Sequence[XY], colour: str, wide: float
) -> Pillow.Image:
    draw = ImageDraw.Draw(image)
    around = wide * scale / 2
    flat = [(x * scale, y * scale) for x, y in spots]
    draw.line(flat, fill=colour, width=max(1, round(wide * scale)), joint="curve")
    if wide > 1:  # round ends, as the SVG has them
        for x, y in (flat[0], flat[-1]):
            draw.ellipse((x - around, y - around, x + around, y + around), fill=colour)
    return image


def _draw_area(
    image: Pillow.Image, scale: int, *, spots: Sequence[XY], colour: str, opacity: float
) -> Pillow.Image:
    flat = [(x * scale, y * scale) for x, y in spots]
    veil = (*ImageColor.getrgb(colour)[:3], round(255 * opacity))
    ImageDraw.Draw(image, "RGBA").polygon(flat, fill=veil)
    return image


def _draw_mark(
    image: Pillow.Image, scale: int, *, spot: XY, corners: list[XY], colour: str, size: float
) -> Pillow.Image:
    draw = ImageDraw.Draw(image)
    if corners:
        flat = [(x * scale, y * scale) for x, y in corners]
        draw.polygon(flat, fill=colour, outline="#ffffff", width=scale)
    else:
        x, y, r = spot[0] * scale, spot[1] * scale, size * scale
        draw.ellipse((x - r, y - r, x + r, y + r), fill=colour, outline="#ffffff", width=scale)
    return image


def _draw_text(
    image: Pillow.Image,
    scale: int,
    *,
    spot: XY,
    words: str,
    size: float,
    colour: str,
    anchor: Anchor,
    bold: bool,
) -> Pillow.Image:
    ImageDraw.Draw(image).text(
        (spot[0] * scale, spot[1] * scale),
        words,
        fill=colour,
        font=_font(size * scale),
        anchor={"start": "lm", "middle": "mm", "end": "rm"}[anchor],
        stroke_width=0.3 * scale if bold else 0,
    )
    return image


def _draw_text_upward(
    image: Pillow.Image, scale: int, *, spot: XY, words: str, size: float, colour: str, anchor: Anchor
) -> Pillow.Image:
    x, y = spot[0] * scale, spot[1] * scale
    long = round(text_width(words, size * scale)) + 4
    strip = Pillow.new("L", (long, round(size * scale * 1.6)), 0)
    font = _font(size * scale)
    ImageDraw.Draw(strip).text((2, strip.height / 2), words, fill=255, font=font, anchor="lm")
    turned = strip.rotate(90, expand=True)
    top = {"start": y - long, "middle": y - long / 2, "end": y}[anchor]
    ink = Pillow.new("RGB", turned.size, colour)
    image.paste(ink, (round(x - turned.width / 2), round(top)), turned)
    return image
