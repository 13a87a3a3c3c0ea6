"""JPEGs damaged in the middle, which Pillow decodes without a word: they are refused; sound ones never."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from overread.errors import PictureError
from overread.pixels.image_files import read_image, verify_image
from overread.pixels.jpeg_damage import without_notes

pytest.importorskip("simplejpeg")

KINDS: dict[str, dict[str, Any]] = {
    "baseline": {},
    "progressive": {"progressive": True},
    "restart marks": {"restart_marker_rows": 1},
    "colour 4:2:0": {"subsampling": 2},
    "optimised": {"optimize": True},
}


def jpeg(kind: str, mode: str = "L", **more: Any) -> bytes:
    """A made radiograph of 160 × 120 pixels."""
    down, across = np.mgrid[:120, :160]
    noise = np.random.default_rng(4).normal(0, 12, (120, 160))
    grey = np.clip(110 + 60 * np.sin(across / 15) + 40 * np.cos(down / 11) + noise, 0, 255)
    out = io.BytesIO()
    mode = "RGB" if "colour" in kind else mode
    Pillow.fromarray(grey.astype(np.uint8)).convert(mode).save(out, "JPEG", **KINDS[kind], **more)
    return out.getvalue()


def entropy(data: bytes) -> int:
    """Where the coded picture begins, in the first scan."""
    at = data.index(b"\xff\xda")
    return at + 2 + int.from_bytes(data[at + 2 : at + 4])


def zeroed(data: bytes) -> bytes:
    """A sector of zeros in the middle, as disks and downloads leave them."""
    at = (entropy(data) + len(data)) // 2
    return data[:at] + bytes(300) + data[at + 300 :]


def shortened(data: bytes) -> bytes:
    """A piece missing from the middle, the end still there."""
    at = (entropy(data) + len(data)) // 2
    return data[:at] + data[at + 300 :]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("damage", [zeroed, shortened])
def test_damage_in_the_middle_is_told(kind: str, damage: Any) -> None:
    """Pillow gives an array of the right size; reading and checking both refuse the file."""
    broken = damage(jpeg(kind))
    with Pillow.open(io.BytesIO(broken)) as picture:
        picture.load()  # says nothing
    for read in (read_image, verify_image):
        with pytest.raises(PictureError, match=r"damaged in the middle.*\(in film\.jpg\).*again"):
            read(broken, name="film.jpg")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("quality", [5, 50, 95, 100])
def test_a_sound_jpeg_is_never_refused(kind: str, quality: int) -> None:
    """Every kind and quality, in grey, colour and CMYK."""
    for mode in ("L", "RGB", "CMYK"):
        data = jpeg(kind, mode, quality=quality)
        assert verify_image(data) == (160, 120)
        assert read_image(data).shape[:2] == (120, 160)


def test_what_cameras_leave_in_a_sound_jpeg_is_no_damage() -> None:
    """Padding before the end mark, bytes after it, odd notes, fill bytes, a thumbnail in a note."""
    data = jpeg("baseline")
    body, end = data[:-2], data[-2:]
    adobe = b"\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00\x07"  # a transform of nobody's
    jfif = b"\xff\xe0\x00\x10JFIF\x00\x09\x09\x00\x00\x01\x00\x01\x00\x00"
    for sound in (
        body + bytes(500) + end,
        body + b"\xff" * 9 + end,
        body + b"\x5a\x00\x11\x22" + end,
        data + b"trailer \x00\xff\xd8 of a camera",
        data[:2] + adobe + data[2:],
        data[:2] + jfif + data[2:],
        data[:2] + b"\xff\xff" + data[2:],
        data[:2] + b"\xff\xe1" + (len(data) + 2).to_bytes(2) + data + data[2:],
    ):
        verify_image(sound)


def test_notes_are_taken_off_and_nothing_else() -> None:
    """What is left decodes to the same pixels."""
    data = jpeg("baseline", comment=b"a note")
    bare = without_notes(data)
    assert len(bare) < len(data)
    assert b"a note" not in bare
    one, other = (np.asarray(Pillow.open(io.BytesIO(each))) for each in (data, bare))
    assert np.array_equal(one, other)


@pytest.mark.shared
def test_no_real_jpeg_is_refused(shared: Path) -> None:
    """All JPEGs of the real data are sound."""
    files = [file for file in sorted(shared.rglob("*")) if file.suffix.lower() in (".jpg", ".jpeg")]
    assert len(files) > 200
    for file in files:
        verify_image(file)


def test_a_damaged_frame_of_a_dicom_file_is_told() -> None:
    """The same stream in DICOM: baseline JPEG goes through Pillow too."""
    from pydicom import uid
    from pydicom.encaps import encapsulate

    from overread.pixels.dicom.file import read_dicom
    from tests.pixels.dicom.dicom_files import grey, stored

    for data, fails in ((jpeg("baseline"), False), (zeroed(jpeg("baseline")), True)):
        dataset = grey(np.zeros((120, 160), np.uint8))
        dataset.file_meta.TransferSyntaxUID = uid.JPEGBaseline8Bit
        dataset.PixelData = encapsulate([data])
        dataset["PixelData"].VR, dataset["PixelData"].is_undefined_length = "OB", True
        if fails:
            with pytest.raises(PictureError, match="damaged in the middle"):
                read_dicom(stored(dataset))
        else:
            assert read_dicom(stored(dataset)).shape == (120, 160)
