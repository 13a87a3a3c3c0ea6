"""Boxes in the numbers of each family of models, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.core.box_convention import CONVENTIONS, PictureScaling

SMART_RESIZE = [
    # width, height, min_pixels, max_pixels → width, height; by transformers 5.22.2's smart_resize(factor=28)
    (1920, 1080, 3136, 1003520, 1316, 728),
    (1024, 1000, 3136, 12845056, 1036, 1008),
    (368, 434, 3136, 12845056, 364, 448),
    (700, 30, 3136, 12845056, 700, 28),
    (20, 20, 3136, 12845056, 56, 56),
    (4000, 3000, 3136, 12845056, 4004, 2996),
    (813, 1024, 3136, 12845056, 812, 1036),
    (9000, 100, 3136, 401408, 5992, 56),
    (42, 70, 3136, 12845056, 56, 56),
]


@pytest.mark.parametrize(("width", "height", "least", "most", "wide", "high"), SMART_RESIZE)
def test_qwen_sees_a_picture_in_the_size_of_its_own_processor(
    width: int, height: int, least: int, most: int, wide: int, high: int
) -> None:
    """Held to what transformers' own function gave."""
    assert PictureScaling(28, least, most).seen_size(width, height) == (wide, high)


@pytest.mark.torch
def test_the_resize_is_that_of_transformers() -> None:
    """The same function at many sizes; below one patch its versions differ, and no picture is so small."""
    module = pytest.importorskip("transformers.models.qwen2_vl.image_processing_qwen2_vl")
    rule = PictureScaling(28, 3136, 1003520)
    for width in range(28, 3000, 97):
        for height in range(28, 2400, 89):
            high, wide = module.smart_resize(height, width, 28, 3136, 1003520)
            assert rule.seen_size(width, height) == (wide, high), (width, height)


EDGE = st.floats(0, 1)


@pytest.mark.parametrize("name", CONVENTIONS)
@given(st.tuples(EDGE, EDGE, EDGE, EDGE), st.integers(28, 3000), st.integers(28, 3000))
def test_a_box_comes_back_from_each_convention(
    name: str, edges: tuple[float, float, float, float], width: int, height: int
) -> None:
    """Up to half of the unit in which the model writes."""
    convention = CONVENTIONS[name]
    back = convention.to_shares(convention.from_shares(edges, width, height), width, height)
    full = convention.full_size(width, height)
    for n, (one, other) in enumerate(zip(edges, back, strict=True)):
        half = 1e-9 if convention.unit == "share" else 0.5 / full[n % 2] + 1e-9
        assert abs(one - other) <= half


def test_the_known_numbers_of_each_convention() -> None:
    """One box in one picture, as each family documents it."""
    box, size = (0.25, 0.5, 0.75, 1.0), (813, 1024)
    expected = {
        "shares": (0.25, 0.5, 0.75, 1.0),
        "thousandths": (250, 500, 750, 1000),
        "thousandths-yx": (500, 250, 1000, 750),
        "pixels": (203, 512, 610, 1024),
        "pixels-28": (203, 518, 609, 1036),
        "pixels-1568": (203, 512, 610, 1024),
    }
    assert {name: one.from_shares(box, *size) for name, one in CONVENTIONS.items()} == expected


def test_claude_scales_large_pictures_down() -> None:
    """Beyond 1,568 pixels or about 1.15 million, and not the pictures that are sent by default."""
    scaling = CONVENTIONS["pixels-1568"].scaling
    assert scaling.seen_size(1024, 1024) == (1024, 1024)
    assert scaling.seen_size(3136, 400) == (1568, 200)
    wide, high = scaling.seen_size(2000, 2000)
    assert wide == high
    assert abs(wide * high - 1_150_000) < 3000
