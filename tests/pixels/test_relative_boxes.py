"""Parts in shares of what is shown, and where they lie in what is stored."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow

from overread.core import Image, Slices
from overread.errors import PictureError
from overread.pixels import image_files
from overread.pixels.draw import crop
from overread.pixels.geometry import make_geometry
from overread.pixels.montages import encode_closeup, slice_montage, spread_evenly
from overread.pixels.relative_boxes import FULL_BOX, OrientedImage, RelativeBox, enclosing_box, oriented_image
from overread.pixels.sent_images import apply_orientation

SHARE = st.floats(0, 1)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_part_of_a_turned_picture(orientation: int) -> None:
    """What is cut from the stored picture and turned is the part of the turned picture."""
    stored = np.arange(40 * 24).reshape(40, 24)
    part = RelativeBox(0.25, 0.1, 0.75, 0.5)
    film = OrientedImage("xray", 24, 40, orientation)
    cut = apply_orientation(crop(stored, film.to_box(part)), orientation)
    assert np.array_equal(cut, part.crop(apply_orientation(stored, orientation)))


@given(SHARE, SHARE, SHARE, SHARE, st.integers(1, 600), st.integers(1, 600))
def test_a_part_is_never_empty(a: float, b: float, c: float, d: float, w: int, h: int) -> None:
    """Whatever its edges, it lies in the picture and has a pixel."""
    part = RelativeBox(min(a, b), min(c, d), max(a, b), max(c, d))
    left, top, right, bottom = part.to_pixels(w, h)
    assert 0 <= left < right <= w
    assert 0 <= top < bottom <= h


@given(SHARE, SHARE, SHARE, SHARE, st.floats(0, 1))
def test_parts_within_parts(a: float, b: float, c: float, d: float, size: float) -> None:
    """A part of a part lies in it; a stretched part holds what it was, and stays in the picture."""
    part = RelativeBox(min(a, b), min(c, d), max(a, b), max(c, d))
    assert enclosing_box(part, part.within(part)) == part or part.right - part.left < 1e-12
    assert part.within(FULL_BOX) == part
    for wider in (part.at_least(size), part.widen(size)):
        held = enclosing_box(wider, part)
        assert np.allclose(list(vars(held).values()), list(vars(wider).values()))
        assert min(vars(wider).values()) >= 0
        assert max(vars(wider).values()) <= 1 + 1e-12
    assert part.at_least(size).right - part.at_least(size).left >= size - 1e-12


def test_the_film_of_a_file() -> None:
    """Size and turning are read from the picture itself."""
    tags = Pillow.Exif()
    tags[0x0112] = 8
    out = io.BytesIO()
    Pillow.fromarray(np.zeros((20, 30), np.uint8)).save(out, "JPEG", exif=tags.tobytes())

    class One:
        def data(self, picture: Any) -> bytes | Path:
            return out.getvalue()

        def pixels(self, picture: Any) -> Any:
            return np.zeros((20, 30), np.uint8)

        geometry = data

    assert oriented_image(One(), Image(name="xray")) == OrientedImage("xray", 30, 20, 8)  # type: ignore[arg-type]


def test_the_file_of_a_picture_is_read_up_to_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that no decoder would be given is not read for its orientation either."""
    path = tmp_path / "turned.jpg"
    tags = Pillow.Exif()
    tags[0x0112] = 8
    Pillow.fromarray(np.zeros((20, 30), np.uint8)).save(path, exif=tags.tobytes())

    class One:
        def data(self, picture: Any) -> bytes | Path:
            return path

        def pixels(self, picture: Any) -> Any:
            return np.zeros((20, 30), np.uint8)

        geometry = data

    assert oriented_image(One(), Image(name="xray")).orientation == 8  # type: ignore[arg-type]
    monkeypatch.setattr(image_files, "MAX_FILE", path.stat().st_size - 1)
    assert oriented_image(One(), Image(name="xray")).orientation == 1  # type: ignore[arg-type]


def test_a_closer_sheet_shows_the_part() -> None:
    """Voxels of the part and of no other place, at the side of the patient that is asked for."""
    space = make_geometry((20, 16, 10), np.diag([1.0, 1.0, 1.0, 1.0]), where="here")
    volume = np.full((20, 16, 10), -2000, np.int16)
    volume[10:, :, 4] = 1000  # the patient's right: on the left of a slice
    region = Slices(picture="ct", first=4, last=4)

    def mean(part: RelativeBox) -> float:
        sheet = slice_montage(
            volume, space, region, windows=("lung",), count=1, longest=128, part=part, largest=128
        )
        return float(sheet[40:].mean())  # below the title

    assert mean(RelativeBox(0, 0, 0.5, 1)) == 255
    assert mean(RelativeBox(0.5, 0, 1, 1)) == 0
    assert spread_evenly(4, 4, 16) == [4]


def test_a_flat_picture_has_no_slices() -> None:
    """It is told, not shown."""
    region = Slices(picture="xray", first=0, last=1)
    with pytest.raises(PictureError, match="no slices"):
        encode_closeup(
            None, Image(name="xray"), region,  # type: ignore[arg-type]
            part=None, longest=64, media="png", windows=("lung",), count=1,
        )  # fmt: skip
