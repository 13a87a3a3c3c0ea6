"""PNG and JPEG files without their metadata, and the orientation that a JPEG states.

A comment, camera data or a thumbnail may tell the diagnosis. So only those parts of a file are
copied that a decoder needs, each no longer than the format allows, and nothing behind the end of
the image. A file that cannot be copied this way gives None and must be encoded again from its
pixels.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

from overread.pixels.encode import EncodedImage

_PNG = b"\x89PNG\r\n\x1a\n"
# Chunks that make the pixels, and the longest that each can be.
_CHUNKS = {b"IHDR": 13, b"PLTE": 768, b"IDAT": 1 << 31, b"gAMA": 4, b"cHRM": 32, b"sRGB": 1}
_END = b"\0\0\0\0IEND\xaeB`\x82"
_GREY, _COLOUR, _PALETTE = 0, 2, 3

_JFIF = b"\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"
_TABLES = frozenset((0xC4, 0xDB, 0xDD))  # Huffman, quantisation, restart interval
_FRAMES = frozenset((0xC0, 0xC1, 0xC2))  # baseline, extended, progressive
# The end of a scan: a mark that is neither a stuffed byte, nor a restart, nor filling.
_SCAN_END = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
_ORIENTATION = 0x0112


def strip_metadata(data: bytes) -> EncodedImage | None:
    """The image file without its metadata; None where it must be encoded again from its pixels.

    That is whatever models may refuse or treat differently: 16 bits, fewer than 8, transparency,
    CMYK, an image that must be rotated, any other format, and whatever is damaged.
    """
    if data.startswith(_PNG):
        return _strip_png(data)
    return _strip_jpeg(data) if data.startswith(b"\xff\xd8\xff") else None


def exif_orientation(data: bytes) -> int:
    """The Exif orientation of a JPEG, 1 to 8; 1 is upright, and the default."""
    import io

    from PIL.JpegImagePlugin import JpegImageFile

    if not data.startswith(b"\xff\xd8"):
        return 1
    try:
        with JpegImageFile(io.BytesIO(data)) as picture:
            told = picture.getexif().get(_ORIENTATION, 1)
    except Exception:  # camera data are as wild as their cameras; decoding judges the picture
        return 1
    return told if isinstance(told, int) and 1 <= told <= 8 else 1


# ---- PNG -----------------------------------------------------------------------------------


def _strip_png(data: bytes) -> EncodedImage | None:
    kept, size, pixels = [_PNG], (0, 0), False
    for kind, body, check in _chunks(data):
        if zlib.crc32(body, zlib.crc32(kind)) != check:
            return None  # damaged: decoding will say so
        if kind == b"IEND":
            whole = size[0] and size[1] and pixels
            return EncodedImage(b"".join((*kept, _END)), "image/png", size) if whole else None
        if kind in (b"tRNS", b"acTL"):
            return None  # every model puts another ground behind it, or takes another frame
        if kind == b"IHDR":
            if len(body) != 13 or body[8] != 8 or body[9] not in (_GREY, _COLOUR, _PALETTE):
                return None
            size = (int.from_bytes(body[:4], "big"), int.from_bytes(body[4:8], "big"))
        if len(body) <= _CHUNKS.get(kind, -1):
            pixels = pixels or kind == b"IDAT"
            kept += (len(body).to_bytes(4, "big"), kind, body, check.to_bytes(4, "big"))
    return None  # it ends before its end


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes, int]]:
    """(kind, body, checksum) of each chunk that is there whole."""
    at = len(_PNG)
    while at + 12 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        if at + 12 + size > len(data):
            return
        end = at + 8 + size
        yield data[at + 4 : at + 8], data[at + 8 : end], int.from_bytes(data[end : end + 4], "big")
        at = end + 4


# ---- JPEG ----------------------------------------------------------------------------------


def _strip_jpeg(data: bytes) -> EncodedImage | None:
    kept, size, at = [b"\xff\xd8"], (0, 0), 2
    scans = 0
    while True:
        while data[at : at + 2] == b"\xff\xff":
            at += 1  # filling before a mark
        marker = data[at + 1 : at + 2]
        if data[at : at + 1] != b"\xff" or not marker:
            return None
        mark = marker[0]
        if mark == 0xD9:
            whole = scans and size[0] and size[1]
            return EncodedImage(b"".join((*kept, b"\xff\xd9")), "image/jpeg", size) if whole else None
        length = int.from_bytes(data[at + 2 : at + 4], "big")
        block = data[at : at + 2 + length]
        if length < 2 or len(block) < 2 + length:
            return None
        at += 2 + length
        if mark == 0xDA:
            end = _SCAN_END.search(data, at)
            if end is None or not size[0]:
                return None
            kept += [block, data[at : end.start()]]
            at, scans = end.start(), scans + 1
        elif mark in _FRAMES:
            found = _frame_size(block)
            if found is None or size[0]:
                return None
            size = found
            kept.append(block)
        elif mark in _TABLES:
            kept.append(block)
        elif mark == 0xE0 and block[4:9] == b"JFIF\0":
            kept.append(_JFIF)  # its colours are meant so; a thumbnail in it stays here
        elif mark == 0xEE and block[4:9] == b"Adobe" and len(block) >= 16:
            kept.append(b"\xff\xee\x00\x0e" + block[4:16])
        elif mark == 0xE1 and block[4:10] == b"Exif\0\0" and exif_orientation(data) != 1:
            return None
        elif not (0xE0 <= mark <= 0xEF or mark == 0xFE):
            return None  # arithmetic coding, lossless, hierarchical: not every decoder has these


def _frame_size(block: bytes) -> tuple[int, int] | None:
    """(width, height) of a frame of 8 bits in one or three components."""
    if len(block) < 10 or block[4] != 8 or block[9] not in (1, 3):
        return None
    if len(block) != 10 + 3 * block[9]:
        return None
    height, width = int.from_bytes(block[5:7], "big"), int.from_bytes(block[7:9], "big")
    return (width, height) if width and height else None
