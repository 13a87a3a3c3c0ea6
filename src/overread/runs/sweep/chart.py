"""Curves with their intervals: axes, ticks, bands and a legend, laid out on a sheet."""

from __future__ import annotations

import math
from dataclasses import dataclass

from overread.pixels.charts import ChartCanvas, SeriesStyle, fit_text, round_ticks, series_style, text_width

_WIDE, _HIGH = 800, 500
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 24, 72, 92
_GREY, _PALE, _INK = "#666666", "#e4e4e4", "#222222"


@dataclass(frozen=True)
class Dot:
    """One number of a curve, with its interval."""

    x: float
    y: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class WordTick:
    """A tick that is a word instead of a number."""

    x: float
    name: str


@dataclass(frozen=True)
class Curve:
    """Some numbers that belong together."""

    name: str
    """For the legend; empty where there is only one curve."""
    dots: tuple[Dot, ...]


@dataclass(frozen=True)
class Chart:
    """Everything that a chart says."""

    title: str
    subtitle: str
    x_label: str
    """Below the horizontal axis."""
    y_label: str
    """Beside the vertical axis."""
    footer: str
    curves: tuple[Curve, ...]
    ticks: tuple[WordTick, ...] | None = None
    """Words along the horizontal axis; without them it is one of numbers."""


def draw_chart(chart: Chart) -> tuple[bytes, bytes]:
    """The chart as SVG and as PNG."""
    rows = _legend_rows(chart)
    sheet = ChartCanvas(_WIDE, _HIGH + 20 * len(rows))
    frame = _Scales(chart, bottom=_HIGH - _BOTTOM)
    room = _WIDE - _LEFT - _RIGHT
    sheet.text((_LEFT, 24), fit_text(chart.title, 18, room), size=18, colour=_INK, bold=True)
    sheet.text((_LEFT, 48), fit_text(chart.subtitle, 13, room), size=13, colour=_GREY)
    _draw_axes(sheet, chart, frame)
    many = len(chart.curves)
    # All intervals first: those of one curve would dim the line of another.
    for draw in (_draw_interval, _draw_curve):
        for place, curve in enumerate(chart.curves):
            draw(sheet, curve, frame, series_style(place), shift=_shift(place, many, chart))
    y = _HIGH - _BOTTOM + 74
    for row in rows:
        for x, place in row:
            _draw_legend(sheet, (x, y), chart.curves[place].name, series_style(place))
        y += 20
    sheet.text((_WIDE - _RIGHT, sheet.height - 12), chart.footer, size=11, colour=_GREY, anchor="end")
    return sheet.svg(f"{chart.title}: {chart.subtitle}"), sheet.png()


# ---- scales and ticks ----------------------------------------------------------------------


class _Scales:
    """Scales: maps values to positions on the canvas."""

    def __init__(self, chart: Chart, *, bottom: float) -> None:
        dots = [dot for curve in chart.curves for dot in curve.dots]
        ends = [y for d in dots for y in (d.y, d.low, d.high) if y is not None]
        self.y_ticks = round_ticks(min(ends), max(ends))
        self.bottom = bottom
        self.has_word_ticks = chart.ticks is not None
        xs = [bar.x for bar in chart.ticks] if chart.ticks else [dot.x for dot in dots]
        low, high = min(xs), max(xs)
        room = 0.5 if chart.ticks else (high - low) * 0.03 or 0.5
        self.low, self.high = low - room, high + room
        self.numbers = sorted(set(xs))

    def x(self, value: float) -> float:
        return _LEFT + (value - self.low) / (self.high - self.low) * (_WIDE - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        low, high = self.y_ticks[0], self.y_ticks[-1]
        return self.bottom - (value - low) / (high - low) * (self.bottom - _TOP)


def _draw_axes(sheet: ChartCanvas, chart: Chart, frame: _Scales) -> None:
    right = _WIDE - _RIGHT
    places = max(_decimal_places(up) for up in frame.y_ticks)
    for up in frame.y_ticks:
        y = frame.y(up)
        sheet.line([(_LEFT, y), (right, y)], _PALE)
        sheet.text((_LEFT - 10, y), f"{up:.{places}f}", size=13, colour=_GREY, anchor="end")
    sheet.line([(_LEFT, frame.bottom), (right, frame.bottom)], _GREY)
    sheet.line([(_LEFT, _TOP), (_LEFT, frame.bottom)], _GREY)
    for value, name in _x_ticks(chart, frame):
        x = frame.x(value)
        sheet.line([(x, frame.bottom), (x, frame.bottom + 5)], _GREY)
        sheet.text((x, frame.bottom + 18), name, size=13, colour=_GREY, anchor="middle")
    middle = (_LEFT + right) / 2
    sheet.text((middle, frame.bottom + 44), chart.x_label, size=14, colour=_INK, anchor="middle")
    beside = (20.0, (_TOP + frame.bottom) / 2)
    sheet.text(beside, chart.y_label, size=14, colour=_INK, anchor="middle", upward=True)


def _x_ticks(chart: Chart, frame: _Scales) -> list[tuple[float, str]]:
    """Ticks below: the values themselves while they stand apart, else round numbers."""
    if chart.ticks:
        room = (_WIDE - _LEFT - _RIGHT) / len(chart.ticks) - 6
        return [(bar.x, fit_text(bar.name, 13, room)) for bar in chart.ticks]
    told = [(value, f"{value:g}") for value in frame.numbers]
    right = -math.inf
    for value, name in told:
        half = text_width(name, 13) / 2 + 4
        if frame.x(value) - half < right:
            first, last = frame.numbers[0], frame.numbers[-1]
            round_ones = [n for n in round_ticks(first, last) if frame.low <= n <= frame.high]
            return [(n, f"{n:g}") for n in round_ones]
        right = frame.x(value) + half
    return told


def _decimal_places(value: float) -> int:
    """Decimal places that a number needs, three at most."""
    return next((n for n in range(3) if abs(value - round(value, n)) < 1e-9), 3)


# ---- curves and the legend -----------------------------------------------------------------


def _shift(place: int, many: int, chart: Chart) -> float:
    """Side by side, where words stand below: intervals would hide each other."""
    if not chart.ticks or many < 2:
        return 0.0
    return (place - (many - 1) / 2) * min(16.0, 90.0 / many)


def _draw_interval(
    sheet: ChartCanvas, curve: Curve, frame: _Scales, style: SeriesStyle, *, shift: float
) -> None:
    """A band along a curve; whiskers where there is nothing between the points."""
    known = [
        (frame.x(dot.x) + shift, frame.y(dot.low), frame.y(dot.high))
        for dot in curve.dots
        if dot.low is not None and dot.high is not None
    ]
    if frame.has_word_ticks or len(known) < 2:
        for x, low, high in known:
            sheet.line([(x, low), (x, high)], style.colour, wide=1.5)
            for y in (low, high):
                sheet.line([(x - 5, y), (x + 5, y)], style.colour, wide=1.5)
    else:
        band = [(x, high) for x, _, high in known] + [(x, low) for x, low, _ in reversed(known)]
        sheet.area(band, style.colour, opacity=0.18)


def _draw_curve(
    sheet: ChartCanvas, curve: Curve, frame: _Scales, style: SeriesStyle, *, shift: float
) -> None:
    spots = [(frame.x(dot.x) + shift, frame.y(dot.y)) for dot in curve.dots]
    if len(spots) > 1 and not frame.has_word_ticks:
        sheet.line(spots, style.colour, wide=2.2, dash=style.dash)
    for spot in spots:
        sheet.mark(spot, style.shape, style.colour, size=5.0)


def _legend_rows(chart: Chart) -> list[list[tuple[float, int]]]:
    """Where each name of the legend stands, row by row."""
    if len(chart.curves) < 2 and not (chart.curves and chart.curves[0].name):
        return []
    rows: list[list[tuple[float, int]]] = [[]]
    x = float(_LEFT)
    for place, curve in enumerate(chart.curves):
        wide = 34 + text_width(curve.name, 13) + 24
        if rows[-1] and x + wide - 24 > _WIDE - _RIGHT:
            rows.append([])
            x = float(_LEFT)
        rows[-1].append((x, place))
        x += wide
    return rows


def _draw_legend(sheet: ChartCanvas, spot: tuple[float, float], name: str, style: SeriesStyle) -> None:
    x, y = spot
    sheet.line([(x, y), (x + 26, y)], style.colour, wide=2.2, dash=style.dash)
    sheet.mark((x + 13, y), style.shape, style.colour, size=5.0)
    sheet.text((x + 34, y), name, size=13, colour=_INK)
