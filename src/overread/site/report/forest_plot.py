"""Charts of a report as inline SVG: numbers with their intervals, one line each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from overread.pixels.charts import SERIES_COLOURS, fit_text, mark_corners, round_ticks, series_style
from overread.site.report.markup import Markup, h

_WIDE, _NAMES, _RIGHT, _STEP, _ROOM = 760, 260, 84, 15, 11


@dataclass(frozen=True)
class ChartPoint:
    """One number of one reader."""

    value: float | None
    low: float | None = None
    high: float | None = None
    series: int = 0
    """Which reader, counted from 0: its colour and shape."""


@dataclass(frozen=True)
class ChartRow:
    """One line of a chart."""

    name: str
    points: tuple[ChartPoint, ...]


def draw_forest_plot(lines: Sequence[ChartRow], *, title: str, around_zero: bool = False) -> Markup:
    """Numbers with their intervals on a common axis; `around_zero` is for differences."""
    low, high = _range(lines, around_zero=around_zero)
    plot = _WIDE - _NAMES - _RIGHT
    parts: list[Markup] = []

    def x(value: float) -> float:
        return _NAMES + plot * (min(max(value, low), high) - low) / (high - low)

    top = 8.0
    rows: list[Markup] = []
    for line in lines:
        tall = _STEP * len(line.points) + _ROOM
        name = fit_text(line.name, 12, _NAMES - 14)
        rows.append(_text(_NAMES - 10, top + tall / 2, name, anchor="end", full=line.name))
        for n, point in enumerate(line.points):
            y = top + _ROOM / 2 + _STEP * (n + 0.5)
            told = "–" if point.value is None else f"{point.value:.3f}"
            rows.append(_text(_WIDE - _RIGHT + 8, y, told, kind="tick"))
            if point.low is not None and point.high is not None:
                ends = {"x1": f"{x(point.low):.1f}", "x2": f"{x(point.high):.1f}"}
                kind = f"span {_series_class(point.series)}"
                rows.append(h("line", **ends, y1=f"{y:.1f}", y2=f"{y:.1f}", class_=kind))
            if point.value is not None and low <= point.value <= high:
                rows.append(_mark(point.series, x(point.value), y))
        top += tall
    for tick in round_ticks(low, high, 5):
        at = f"{x(tick):.1f}"
        kind = "axis zero" if around_zero and tick == 0 else "axis"
        parts.append(h("line", x1=at, x2=at, y1="4", y2=f"{top:.0f}", class_=kind))
        parts.append(_text(x(tick), top + 12, f"{tick:.3g}", anchor="middle", kind="tick"))
    height = round(top + 24)
    return h(
        "svg",
        h("title", title),
        parts,
        rows,
        viewBox=f"0 0 {_WIDE} {height}",
        role="img",
        aria_label=title,
        class_="chart",
    )


def draw_legend(names: Sequence[str]) -> Markup:
    """Which colour and shape is whose."""
    size = {"viewBox": "0 0 16 16", "width": "16", "height": "16", "aria_hidden": "true"}
    items = [h("li", h("svg", _mark(n, 8, 8), **size), " ", name) for n, name in enumerate(names)]
    return h("ul", items, class_="legend")


def _mark(series: int, x: float, y: float, size: float = 4.5) -> Markup:
    kind = f"mark {_series_class(series)}"
    corners = mark_corners((x, y), series_style(series).shape, size)
    if not corners:
        return h("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=f"{size}", class_=kind)
    return h("polygon", points=" ".join(f"{a:.1f},{b:.1f}" for a, b in corners), class_=kind)


def _series_class(series: int) -> str:
    """Colours are named in the style, since a report is light or dark."""
    return f"series-{series % len(SERIES_COLOURS) + 1}"


def _text(
    x: float, y: float, words: str, *, anchor: str = "start", kind: str = "name", full: str = ""
) -> Markup:
    told = h("title", full) if full and full != words else None
    return h("text", told, words, x=f"{x:.1f}", y=f"{y + 4:.1f}", text_anchor=anchor, class_=kind)


def _range(lines: Sequence[ChartRow], *, around_zero: bool) -> tuple[float, float]:
    if not around_zero:
        return 0.0, 1.0
    points = [point for line in lines for point in line.points]
    known = [abs(v) for p in points for v in (p.value, p.low, p.high) if v is not None]
    far = max([*known, 0.05])
    edge = next(e for e in (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 1e9) if e >= far or e == 1e9)
    return -edge, edge
