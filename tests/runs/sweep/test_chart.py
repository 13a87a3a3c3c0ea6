"""Charts: round ticks, numbers where they belong, and nothing that breaks the file."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow

from overread.pixels.charts import ChartCanvas, round_ticks, text_width
from overread.runs.sweep.chart import Chart, Curve, Dot, WordTick, draw_chart

SVG = "{http://www.w3.org/2000/svg}"


def chart(*curves: Curve, **more: Any) -> Chart:
    told = {"title": "accuracy by image_ratio", "subtitle": "s", "x_label": "x", "y_label": "y"}
    return Chart(**{**told, "footer": "For research.", "curves": curves, **more})


def curve(*values: float, name: str = "", wide: float = 0.05) -> Curve:
    dots = (Dot(20.0 * n, v, v - wide, v + wide) for n, v in enumerate(values))
    return Curve(name, tuple(dots))


def texts(svg: bytes) -> list[str]:
    return [node.text or "" for node in ET.fromstring(svg).iter(f"{SVG}text")]


@given(st.floats(-1e6, 1e6, allow_nan=False), st.floats(1e-4, 1e6, allow_nan=False))
def test_ticks_enclose_their_range_and_are_few(low: float, span: float) -> None:
    """From below the lowest to above the highest number, evenly, two to eight of them."""
    found = round_ticks(low, low + span)
    assert found[0] <= low + 1e-6 * span
    assert found[-1] >= low + span * (1 - 1e-6)
    assert 2 <= len(found) <= 8
    steps = np.diff(found)
    assert np.allclose(steps, steps[0], rtol=1e-3)


def test_one_number_has_ticks_too() -> None:
    """A range without width is given some."""
    assert round_ticks(0.5, 0.5)[0] < 0.5 < round_ticks(0.5, 0.5)[-1]
    assert round_ticks(0, 0)[0] < 0 < round_ticks(0, 0)[-1]


def test_numbers_lie_where_the_axes_say() -> None:
    """The line of the SVG goes through the values, by the ticks of the same file."""
    values = (0.326, 0.374, 0.432, 0.458, 0.474, 0.471)
    svg, _ = draw_chart(chart(curve(*values)))
    tree = ET.fromstring(svg)
    line = [n for n in tree.iter(f"{SVG}polyline") if n.get("stroke-width") == "2.2"]
    assert len(line) == 1
    spots = [tuple(map(float, spot.split(","))) for spot in line[0].get("points", "").split()]
    ups: list[tuple[float, float, float]] = []
    across: list[tuple[float, float, float]] = []
    for node in tree.iter(f"{SVG}text"):
        if re.fullmatch(r"[\d.]+", node.text or ""):
            told = (float(node.get("x", "0")), float(node.get("y", "0")), float(node.text or 0))
            (ups if node.get("text-anchor") == "end" else across).append(told)
    y_of = np.polyfit([number for *_, number in ups], [y for _, y, _ in ups], 1)
    x_of = np.polyfit([number for *_, number in across], [x for x, *_ in across], 1)
    assert [number for *_, number in across] == [0, 20, 40, 60, 80, 100]
    for place, (x, y) in enumerate(spots):
        assert x == pytest.approx(np.polyval(x_of, 20 * place), abs=0.1)
        assert y == pytest.approx(np.polyval(y_of, values[place]), abs=0.1)
    band = tree.find(f"{SVG}polygon")
    assert band is not None
    edge = [tuple(map(float, spot.split(","))) for spot in band.get("points", "").split()]
    for place, (_, y) in enumerate(edge[:6]):
        assert y == pytest.approx(np.polyval(y_of, values[place] + 0.05), abs=0.1)


def test_svg_and_png_show_the_same() -> None:
    """The colour of the curve is found in the PNG where the SVG has its marks."""
    svg, png = draw_chart(chart(curve(0.2, 0.4, 0.3)))
    with Pillow.open(io.BytesIO(png)) as image:
        pixels = np.asarray(image.convert("RGB"))
    assert pixels.shape == (1000, 1600, 3)
    marks = list(ET.fromstring(svg).iter(f"{SVG}circle"))
    assert len(marks) == 3
    for mark in marks:
        x, y = (round(2 * float(mark.get(axis, "0"))) for axis in ("cx", "cy"))
        assert tuple(pixels[y, x]) == (0x00, 0x72, 0xB2)
    assert tuple(pixels[5, 5]) == (255, 255, 255)


def test_names_from_outside_cannot_break_the_file() -> None:
    """Whatever a value is called, the SVG is well-formed and says it."""
    bad = "<script>&\"'"
    svg, _ = draw_chart(chart(curve(0.1, 0.2, name=bad), curve(0.3, 0.4, name="b"), title=bad))
    assert texts(svg).count(bad) == 2
    assert b"<script" not in svg


def test_the_note_for_research_stands_below() -> None:
    """In both files; here in the one whose words can be read."""
    assert "For research." in texts(draw_chart(chart(curve(0.1, 0.2)))[0])


def test_many_curves_are_told_apart_and_all_named() -> None:
    """Thirty curves: every name in the legend, below the axis and on the sheet."""
    names = [f"reasoning_effort number {n}" for n in range(30)]
    svg, png = draw_chart(chart(*(curve(0.1 + n / 40, 0.2 + n / 40, name=m) for n, m in enumerate(names))))
    tree = ET.fromstring(svg)
    high, wide = float(tree.get("height", "0")), float(tree.get("width", "0"))
    placed = {n.text: n for n in tree.iter(f"{SVG}text")}
    spots = set()
    for name in names:
        x, y = float(placed[name].get("x", "0")), float(placed[name].get("y", "0"))
        assert y < high - 20
        assert x + text_width(name, 13) <= wide
        spots.add((x, y))
    assert len(spots) == 30
    styles = {
        (n.get("stroke"), n.get("stroke-dasharray"))
        for n in tree.iter(f"{SVG}polyline")
        if n.get("stroke-width") == "2.2"
    }
    assert len(styles) == 18
    with Pillow.open(io.BytesIO(png)) as image:
        assert image.height == 2 * high


def test_words_stand_side_by_side() -> None:
    """Without numbers there are no lines between the points, and a whisker for each interval."""
    two = tuple(Curve(name, (Dot(0, 0.2, 0.1, 0.3), Dot(1, 0.4, None, None))) for name in ("one", "two"))
    svg, _ = draw_chart(chart(*two, ticks=(WordTick(0, "none"), WordTick(1, "a very long value " * 30))))
    told = texts(svg)
    assert "none" in told
    assert any(text.endswith("…") for text in told)
    whiskers = [n for n in ET.fromstring(svg).iter(f"{SVG}polyline") if n.get("stroke-width") == "1.5"]
    assert len(whiskers) == 2 * 3


@pytest.mark.parametrize("dots", [(Dot(5, 0.5, None, None),), (Dot(5, 0.5, 0.4, 0.6),)])
def test_a_single_point_is_drawn(dots: tuple[Dot, ...]) -> None:
    """One mark, whether it has an interval or not."""
    svg, _ = draw_chart(chart(Curve("", dots)))
    assert len(list(ET.fromstring(svg).iter(f"{SVG}circle"))) == 1


def test_crowded_values_get_round_ticks() -> None:
    """A hundred values along the axis are not all written below it."""
    dots = tuple(Dot(float(n), n / 100, None, None) for n in range(100))
    told = [text for text in texts(draw_chart(chart(Curve("", dots)))[0]) if text.isdigit()]
    assert told == ["0", "20", "40", "60", "80", "100"]


def test_a_dashed_line_has_its_gaps_in_the_png() -> None:
    """Strokes and gaps of the lengths that the SVG says."""
    sheet = ChartCanvas(120, 20)
    sheet.line([(10, 10), (110, 10)], "#000000", wide=1, dash=(10, 10))
    with Pillow.open(io.BytesIO(sheet.png())) as image:
        row = np.asarray(image.convert("L"))[20]
    dark = row < 128
    found = {x: bool(dark[2 * x]) for x in (15, 25, 35, 45, 55, 65, 75, 85, 95, 105)}
    assert [x for x, ink in found.items() if ink] == [15, 35, 55, 75, 95]
    assert int(dark.sum()) == pytest.approx(100, abs=12)
