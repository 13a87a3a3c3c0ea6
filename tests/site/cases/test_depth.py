"""Greys of more than 8 bits: what of them is told, and what is not believed."""

from __future__ import annotations

import io
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from overread.errors import OverreadError
from overread.site.cases.bit_depth import is_deep, read_deep_pixels
from tests.pixels.dicom.dicom_files import grey, stored
from tests.timing import cpu_seconds


def _png(pixels: NDArray[Any]) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def test_a_radiograph_is_told_in_its_own_values() -> None:
    """Rescale, window and the sense of its greys come from the header."""
    pixels = np.array([[0, 1000], [2000, 4000]], dtype=np.uint16)
    header = {
        "PhotometricInterpretation": "MONOCHROME1",
        "WindowCenter": [1000, 7],
        "WindowWidth": [500, 7],
        "RescaleSlope": 1,
        "RescaleIntercept": -1024,
    }
    data = stored(grey(pixels, BitsStored=12, HighBit=11, **header))
    assert is_deep(data)
    deep = read_deep_pixels(data, name="xray")
    assert (deep.base, deep.step, deep.low, deep.high, deep.inverted) == (-1024, 1, 750, 1250, True)
    assert deep.numbers.tolist() == pixels.tolist()


@pytest.mark.parametrize(
    "window", [{}, {"WindowCenter": "", "WindowWidth": ""}, {"WindowCenter": 40, "WindowWidth": 0}]
)
def test_without_a_window_all_values_are_shown(window: dict[str, object]) -> None:
    """From the darkest to the brightest."""
    pixels = np.array([[5, 10], [20, 900]], dtype=np.uint16)
    deep = read_deep_pixels(stored(grey(pixels, **window)), name="xray")
    assert (deep.low, deep.high, deep.inverted) == (5, 900, False)


def test_fractions_keep_their_order() -> None:
    """Values that are no whole numbers are told in 65,536 steps."""
    pixels = np.array([[0, 100], [200, 300]], dtype=np.uint16)
    deep = read_deep_pixels(stored(grey(pixels, RescaleSlope=0.01, RescaleIntercept=0)), name="xray")
    assert np.allclose(deep.base + deep.step * deep.numbers, pixels * 0.01, atol=1e-3)


def test_what_has_eight_bits_is_not_told() -> None:
    """Nor colour, nor what is damaged or no picture."""
    plain = _png(np.zeros((4, 4), dtype=np.uint8))
    colour = _png(np.zeros((4, 4, 3), dtype=np.uint8))
    for data in (plain, colour, b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"):
        assert not is_deep(data)
        with pytest.raises(OverreadError):
            read_deep_pixels(data, name="x")
    cut = _png(np.random.default_rng(0).integers(0, 65536, (200, 200), dtype=np.uint16))[:3000]
    assert is_deep(cut)
    with pytest.raises(OverreadError):
        read_deep_pixels(cut, name="x")


def test_a_mammogram_takes_no_long_time() -> None:
    """12 million pixels take no more time each than half a million do."""
    times = []
    for shape in ((800, 600), (4000, 3000)):
        pixels = np.random.default_rng(0).integers(0, 4096, shape, dtype=np.uint16)
        data = stored(grey(pixels, BitsStored=12, HighBit=11))
        assert read_deep_pixels(data, name="x").numbers.shape == shape
        times.append(cpu_seconds(partial(read_deep_pixels, data, name="x")))
    assert times[1] < 3 * 25 * times[0] + 0.1
