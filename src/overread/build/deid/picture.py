"""Flat pictures: burned-in print covered, metadata left behind.

A PNG is written anew from its pixels. A JPEG in which nothing is covered keeps its compressed
pixels as they are and loses only the segments that tell something else.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.build.deid.burned_in import PrintBox, find_print
from overread.build.deid.results import Options, Removal
from overread.errors import PictureError

_PNG_PIXELS = {b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"sBIT"}
_RING_PIXELS = 6


@dataclass(frozen=True)
class CleanPicture:
    """Pixels after print was covered, and where it was."""

    pixels: NDArray[Any]
    boxes: tuple[PrintBox, ...]


def clean_picture(pixels: NDArray[Any], options: Options | None = None) -> CleanPicture:
    """A picture (H, W) or (H, W, 3) with its print covered by the brightness around it.

    The given pixels stay as they are.
    """
    chosen = options or Options()
    boxes = find_print(pixels, side_markers=not chosen.keep_side_markers)
    return CleanPicture(cover_boxes(pixels, boxes) if boxes else pixels, tuple(boxes))


def cover_boxes(pixels: NDArray[Any], boxes: list[PrintBox] | tuple[PrintBox, ...]) -> NDArray[Any]:
    """The picture with each box filled by one value, the middle one of what is around it."""
    made = pixels.copy()
    for box in boxes:
        wide = box.expand(_RING_PIXELS, pixels.shape)
        around = np.ones((wide.bottom - wide.top, wide.right - wide.left), dtype=bool)
        around[box.top - wide.top : box.bottom - wide.top, box.left - wide.left : box.right - wide.left] = (
            False
        )
        # Of the pixels as they were: a box beside another must not be filled with its filling.
        ring = pixels[wide.top : wide.bottom, wide.left : wide.right][around]
        value = np.sort(ring, axis=0)[len(ring) // 2] if len(ring) else pixels.min()
        made[box.top : box.bottom, box.left : box.right] = value
    return made


def clean_picture_file(data: bytes, name: str, options: Options) -> tuple[bytes, list[Removal]]:
    """A PNG or JPEG file without print and metadata, and what was done."""
    from overread.pixels.image_files import read_image

    jpeg = data[:2] == b"\xff\xd8"
    pixels = read_image(data, name=name)
    found = clean_picture(pixels, options)
    removals = boxes_as_removals(found.boxes)
    kept, dropped = _jpeg_segments(data) if jpeg else _png_chunks(data)
    removals += [Removal(kind="metadata", action="removed", where=part) for part in dropped]
    if jpeg and not found.boxes:
        return kept, removals
    return _encode(found.pixels, jpeg=jpeg), removals


def boxes_as_removals(boxes: tuple[PrintBox, ...], *, frame: str = "") -> list[Removal]:
    """Covered boxes, as the record tells them."""
    return [
        Removal(
            kind="burned-in",
            action="covered",
            where=f"{frame}rows {b.top}–{b.bottom}, columns {b.left}–{b.right}",
            rule=f"{b.letters} piece(s)",
        )
        for b in boxes
    ]


def _encode(pixels: NDArray[Any], *, jpeg: bool) -> bytes:
    from PIL import Image

    out = io.BytesIO()
    options: dict[str, Any] = {"quality": 95, "subsampling": 0} if jpeg else {}
    Image.fromarray(np.ascontiguousarray(pixels)).save(out, "JPEG" if jpeg else "PNG", **options)
    return out.getvalue()


def _png_chunks(data: bytes) -> tuple[bytes, list[str]]:
    """Which chunks of a PNG tell something else than pixels."""
    dropped, at = [], 8
    while at + 8 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        if kind not in _PNG_PIXELS:
            dropped.append(f"chunk {kind.decode('latin-1')}")
        at += 12 + length
        if kind == b"IEND":
            break
    if at < len(data):
        dropped.append("bytes after the picture")
    return data, dropped


def _jpeg_segments(data: bytes) -> tuple[bytes, list[str]]:
    """A JPEG without the segments that tell something else than pixels, and which these were."""
    kept, dropped, at = bytearray(b"\xff\xd8"), [], 2
    while at + 4 <= len(data):
        if data[at] != 0xFF:
            raise PictureError("a segment of the JPEG does not begin where it should")
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
            continue
        length = struct.unpack_from(">H", data, at + 2)[0]
        segment = data[at : at + 2 + length]
        if marker == 0xDA:
            end = data.rfind(b"\xff\xd9")
            stop = end + 2 if end > at else len(data)
            if stop < len(data):
                dropped.append("bytes after the picture")
            return bytes(kept) + data[at:stop], dropped
        if marker == 0xE0 and segment[4:8] == b"JFIF":
            # Without its thumbnail, which would show what is covered.
            kept += b"\xff\xe0\x00\x10" + segment[4:16] + b"\0\0"
            dropped += ["thumbnail"] if length > 16 else []
        elif 0xE0 <= marker <= 0xEF and marker != 0xEE:
            dropped.append(f"segment APP{marker - 0xE0}")
        elif marker == 0xFE:
            dropped.append("comment")
        else:
            kept += segment
        at += 2 + length
    raise PictureError("the JPEG ends before its pixels")
