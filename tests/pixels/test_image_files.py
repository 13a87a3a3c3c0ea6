"""PNG and JPEG, against Pillow; windows, crops, overlays, encoding."""

from __future__ import annotations

import base64
import io
import pickle
import resource
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow

from overread.core import Box
from overread.errors import NotThere, OverreadError, PictureError, Refused, Truncated, UnknownName
from overread.pixels.draw import COLOURS, crop, draw_boxes, draw_outline, draw_title, make_montage, to_rgb
from overread.pixels.encode import data_uri, encode
from overread.pixels.formats import read_picture, sniff_format
from overread.pixels.image_files import image_size, read_image, verify_image, write_image
from overread.pixels.windows import WINDOWS, Window, apply_window


def packed(image: Pillow.Image, kind: str) -> bytes:
    out = io.BytesIO()
    image.save(out, kind)
    return out.getvalue()


def noise(shape: tuple[int, ...], dtype: str = "u1") -> np.ndarray:
    high = np.iinfo(dtype).max
    return np.random.default_rng(0).integers(0, high, shape).astype(dtype)


MODES = {"PNG": ("L", "RGB", "RGBA", "1", "P", "LA", "I;16"), "JPEG": ("L", "RGB", "1", "CMYK")}


@pytest.mark.parametrize(("kind", "mode"), [(kind, mode) for kind in MODES for mode in MODES[kind]])
def test_pixels_equal_pillows(kind: str, mode: str) -> None:
    """Every mode comes out as grey or as three colours, with Pillow's own values."""
    image = Pillow.fromarray(noise((12, 10, 3)))
    image = Pillow.fromarray(noise((12, 10), "u2")) if mode == "I;16" else image.convert(mode)
    data = packed(image, kind)
    ours = read_image(data)
    assert image_size(data) == verify_image(data) == (10, 12)
    with Pillow.open(io.BytesIO(data)) as peer:
        if mode == "I;16":
            np.testing.assert_array_equal(ours, np.asarray(peer))
            assert ours.dtype == np.uint16
        elif ours.ndim == 2:
            np.testing.assert_array_equal(ours, np.asarray(peer.convert("L")))
        else:
            np.testing.assert_array_equal(ours, np.asarray(peer.convert("RGBA").convert("RGB")))


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    """PNG keeps every pixel; JPEG keeps the size."""
    pixels = noise((20, 30, 3))
    write_image(tmp_path / "a.png", pixels)
    np.testing.assert_array_equal(read_image(tmp_path / "a.png"), pixels)
    write_image(tmp_path / "a.jpg", pixels)
    assert image_size(tmp_path / "a.jpg") == (30, 20)


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few kilobytes that claims, and would unpack to, a giant picture."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1_000_000), 9))
    return b"\x89PNG\r\n\x1a\n" + body + chunk(b"IEND", b"")


@pytest.mark.parametrize("size", [(60_000, 60_000), (2**31 - 1, 2**31 - 1), (200_000, 600)])
def test_a_png_bomb_is_refused_by_its_header(size: tuple[int, int]) -> None:
    """Nothing is decoded, and the memory stays where it was."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for read in (read_image, verify_image, image_size):
        with pytest.raises(PictureError):
            read(bomb(*size))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000
    with pytest.raises(Refused, match="more than overread decodes"):
        read_image(bomb(60_000, 60_000))


class Evil:
    """A pickle that would leave a mark if anybody unpickled it."""

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (Path("unpickled"),))


def test_a_pickle_in_disguise_is_no_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it is called, it is told by its content and never unpickled."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.png", "a.jpg", "a.nii.gz", "a.dcm", "a.npy"):
        (tmp_path / name).write_bytes(pickle.dumps(Evil()))
        with pytest.raises(PictureError):
            read_picture(tmp_path / name)
    with pytest.raises(PictureError, match="neither PNG nor JPEG"):
        read_image(tmp_path / "a.png")
    assert not (tmp_path / "unpickled").exists()


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_a_picture_cut_off_is_named(kind: str) -> None:
    """Half a picture has a size and no pixels."""
    data = packed(Pillow.fromarray(noise((200, 200, 3))), kind)
    half = data[: len(data) // 2]
    assert image_size(half) == (200, 200)
    for read in (read_image, verify_image):
        with pytest.raises(Truncated, match="cut off"):
            read(half)


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
@pytest.mark.parametrize("lost", [1, 2, 12])
def test_a_lost_tail_is_noticed(kind: str, lost: int) -> None:
    """All pixels may be there; the end of the file is not."""
    data = packed(Pillow.fromarray(noise((50, 50, 3))), kind)
    with pytest.raises(Truncated):
        verify_image(data[:-lost])
    assert verify_image(data + bytes(len(data) // 2)) == (50, 50)  # as cameras append


def test_a_jpeg_of_thousands_of_scans_is_refused() -> None:
    """A few hundred kilobytes that would hold a decoder for minutes are told by their marks."""
    data = packed(Pillow.fromarray(noise((50, 50, 3))), "JPEG")
    slow = data[:-2] + b"\xff\xda\x00\x02" * 300 + b"\xff\xd9"
    for read in (read_image, verify_image):
        with pytest.raises(Refused, match="scans"):
            read(slow)
    assert image_size(slow) == (50, 50)  # the header alone holds nobody up


def test_a_picture_file_of_gigabytes_is_not_read(tmp_path: Path) -> None:
    """A sparse file of four gigabytes with the mark of a PNG costs no memory."""
    with (tmp_path / "huge.png").open("wb") as out:
        out.write(packed(Pillow.new("L", (4, 4)), "PNG"))
        out.truncate(4 << 30)
    for read in (read_image, verify_image):
        with pytest.raises(Refused, match="bytes is not decoded"):
            read(tmp_path / "huge.png")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """The sentence has the path."""
    for read in (read_image, read_picture):
        with pytest.raises(NotThere, match=r"none\.png"):
            read(tmp_path / "none.png")


@given(st.integers(0, 2**32), st.integers(1, 8), st.sampled_from(["PNG", "JPEG"]))
def test_flipped_bytes_never_crash(seed: int, flips: int, kind: str) -> None:
    """Any damage ends in pixels or in one of our errors."""
    rng = np.random.default_rng(seed)
    raw = bytearray(packed(Pillow.fromarray(noise((24, 24, 3))), kind))
    for place in rng.integers(0, len(raw), flips):
        raw[place] = rng.integers(256)
    for read in (read_image, verify_image, read_picture):
        try:
            read(bytes(raw[: rng.integers(1, len(raw) + 1)]))
        except OverreadError as error:
            assert str(error)


def test_formats_are_told_by_their_marks() -> None:
    """Two bytes of gzip, four of DICOM, eight of PNG; nothing else is a picture."""
    assert sniff_format(packed(Pillow.new("L", (2, 2)), "PNG")) == "png"
    assert sniff_format(bytes(128) + b"DICM") == "dicom"
    assert sniff_format(b"\x1f\x8b\x08") == "gzip"
    assert sniff_format(b"GIF89a") is None
    with pytest.raises(PictureError, match="PNG, JPEG, DICOM, NIfTI and MetaImage"):
        read_picture(b"GIF89a")


def test_windows_are_linear_between_their_ends() -> None:
    """Black at and below the lower end, white at and above the upper, half-way in the middle."""
    for centre, width in WINDOWS.values():
        low, high = centre - width / 2, centre + width / 2
        greys = apply_window(np.array([-8192, low, centre, high, 16000]), Window(centre, width))
        assert greys.tolist() == [0, 0, 128, 255, 255]
    ramp = apply_window(np.arange(-1350, 151), "lung").astype(float)
    np.testing.assert_allclose(ramp, np.arange(1501) * 255 / 1500, atol=0.5)
    assert apply_window(np.array([np.nan]), "bone").tolist() == [0]
    with pytest.raises(UnknownName, match="did you mean 'bone'"):
        apply_window(np.zeros(1), "bones")


def test_crops_are_clipped_and_never_empty() -> None:
    """A box is cut out at its pixels, clipped at the edge; one outside is an error."""
    picture = np.arange(100).reshape(10, 10)
    box = Box(picture="x", x1=2, y1=3, x2=5, y2=4)
    np.testing.assert_array_equal(crop(picture, box), picture[3:4, 2:5])
    assert crop(picture, box, margin=2).shape == (5, 7)
    assert crop(picture, Box(picture="x", x1=8, y1=8, x2=30, y2=30)).shape == (2, 2)
    with pytest.raises(PictureError, match="holds no pixel"):
        crop(picture, Box(picture="x", x1=20, y1=20, x2=30, y2=30))


def test_overlays_mark_the_border_and_leave_the_rest() -> None:
    """The rim of a mask has the full colour, its inside a tint, the picture elsewhere stays."""
    grey = np.full((9, 9), 100, np.uint8)
    mask = np.zeros((9, 9), bool)
    mask[2:7, 2:7] = True
    drawn = draw_outline(grey, mask, COLOURS[0])
    assert tuple(drawn[2, 4]) == COLOURS[0]
    assert tuple(drawn[0, 0]) == (100, 100, 100)
    assert tuple(drawn[4, 4]) != COLOURS[0]
    assert tuple(drawn[4, 4]) != (100, 100, 100)
    framed = draw_boxes(grey, [Box(picture="x", x1=1, y1=1, x2=6, y2=6, label="heart")], width=1)
    assert tuple(framed[1, 1]) == COLOURS[0]
    assert draw_title(grey, "axial").shape == (9, 9, 3)
    assert make_montage([grey, to_rgb(grey), grey], columns=2, gap=1).shape == (19, 19, 3)
    deep = np.array([[30000, 32000, 34000]], np.uint16)
    assert to_rgb(deep)[0, :, 0].tolist() == [0, 128, 255]


def test_pictures_for_models_fit_and_repeat() -> None:
    """The longer side is bounded, small ones are not blown up, equal pixels give equal bytes."""
    picture = noise((300, 600))
    small = encode(picture, longest=128)
    assert image_size(small) == (128, 64)
    assert image_size(encode(picture[:10, :10], longest=128)) == (10, 10)
    assert small == encode(picture.copy(), longest=128)
    deep = encode(np.array([[30000, 32000, 34000]], np.uint16))
    assert read_image(deep).tolist() == [[0, 128, 255]]
    assert image_size(encode(noise((9, 9), "u2"), kind="jpeg")) == (9, 9)
    head, body = data_uri(small).split(",")
    assert head == "data:image/png;base64"
    assert base64.b64decode(body) == small
    assert data_uri(encode(picture, kind="jpeg")).startswith("data:image/jpeg;")
