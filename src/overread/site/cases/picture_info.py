"""Size of a flat picture, or why it cannot be shown; read from the file once and cached."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from overread.core import Image, Pictures
from overread.errors import OverreadError
from overread.pixels.dicom.file import open_dicom
from overread.pixels.formats import sniff_format
from overread.pixels.image_files import image_size, verify_image
from overread.site.cases.bit_depth import MAX_PIXELS, is_deep
from overread.site.lru_cache import LruCache

_MAX_DECODED_BYTES = 4 << 20
"""Larger files are not decoded to learn whether they can be: their header is believed."""


@dataclass(frozen=True)
class PictureInfo:
    """What is known of a picture's file: size, more than 8 bits or not, problem."""

    width: int | None = None
    """As stored, before any turning: the frame in which boxes are given."""
    height: int | None = None
    problem: str | None = None
    """Why it cannot be shown, in one sentence."""
    deep: bool = False
    """Whether it has greys of more than 8 bits, that can be asked for."""


_cache: LruCache[PictureInfo] = LruCache(4096)


def load_picture_info(pictures: Pictures, picture: Image) -> PictureInfo:
    """The size of a picture or its problem; files that did not change are not read again."""
    try:
        source = pictures.data(picture)
        if isinstance(source, bytes):
            return _read_picture_info(source, picture.name)
        at = source.stat()
    except OverreadError as error:
        return PictureInfo(problem=error.what)
    except OSError as error:
        return PictureInfo(problem=f"{picture.name} cannot be read ({error.strerror})")
    stamp = (at.st_mtime_ns, at.st_size)
    return _cache.get(source, lambda: _read_picture_info(source, picture.name), stamp=stamp)


def _read_picture_info(source: Path | bytes, name: str) -> PictureInfo:
    try:
        kind = sniff_format(source, name=name)
        if kind in ("png", "jpeg"):
            size = len(source) if isinstance(source, bytes) else source.stat().st_size
            look = verify_image if size <= _MAX_DECODED_BYTES else image_size
            width, height = look(source, name=name)
        elif kind == "dicom":
            header = open_dicom(source, pixels=False)
            width, height = int(header.get("Columns") or 0), int(header.get("Rows") or 0)
        else:
            return PictureInfo(problem=f"the file of {name} holds no flat picture")
        deep = is_deep(source)
    except OverreadError as error:
        return PictureInfo(problem=f"{name} cannot be shown: {error.what}")
    except (OSError, ValueError, TypeError):
        return PictureInfo(problem=f"{name} cannot be shown")
    if width < 1 or height < 1:
        return PictureInfo(problem=f"{name} cannot be shown: it has no size")
    return PictureInfo(width, height, deep=deep and width * height <= MAX_PIXELS)
