"""JPEGs damaged in the middle: decoders fill in grey and say nothing; here it is noticed.

libjpeg counts what it had to make up (data that end before their segment does, codes that are
none, restart marks that are missing), and Pillow does not pass that on. The package simplejpeg does.
JPEG has no checksum: a changed byte after which the codes still make sense cannot be told from a
picture that was meant so.
"""

from __future__ import annotations

import re

from overread.errors import PictureError
from overread.pixels.bytestream import REFETCH

_MADE_UP = re.compile(r"Corrupt JPEG data|Premature end of JPEG")
_LEFT_OVER = re.compile(r"(\d+) extraneous bytes before marker 0xd9")
_MAX_PADDING = 16
"""Bytes between the picture and its end mark that some cameras leave there, whatever they are."""


def refuse_damaged_jpeg(data: bytes, where: str) -> None:
    """Raise `PictureError` where the decoder has to make up a part of the picture.

    What cannot be judged (kinds of JPEG that simplejpeg does not decode) is left to the decoder.
    """
    try:
        import simplejpeg
    except ImportError:
        return
    try:
        # Every byte of the stream is decoded, but only an eighth of the pixels are computed.
        simplejpeg.decode_jpeg(without_notes(data), "GRAY", min_height=1, min_width=1, min_factor=8)
    except ValueError as error:
        told = str(error)
        if _MADE_UP.search(told) is None or _is_padding(data, told):
            return
        what = told.partition(": ")[2] or told
        raise PictureError(
            f"the JPEG is damaged in the middle, and a part of the picture would be made up ({what})",
            where=where,
            remedy=REFETCH,
        ) from None


def without_notes(data: bytes) -> bytes:
    """The JPEG without its notes (APPn, COM) up to the first scan.

    Only the first warning of the decoder is told, and odd notes in a sound file must not be it.
    """
    kept, at = bytearray(data[:2]), 2
    while at + 4 <= len(data) and data[at] == 0xFF:
        mark = data[at + 1]
        if mark == 0xFF:  # a fill byte
            at += 1
            continue
        if mark == 0xDA:
            return bytes(kept) + data[at:]
        end = at + 2 + int.from_bytes(data[at + 2 : at + 4])
        if not (0xE0 <= mark <= 0xEF or mark == 0xFE):
            kept += data[at:end]
        at = end
    return data


def _is_padding(data: bytes, told: str) -> bool:
    """Whether what is left over before the end mark is nothing but padding."""
    found = _LEFT_OVER.search(told)
    if found is None:
        return False
    count, end = int(found[1]), data.rfind(b"\xff\xd9")
    return count <= _MAX_PADDING or len(set(data[max(0, end - count) : end])) == 1
