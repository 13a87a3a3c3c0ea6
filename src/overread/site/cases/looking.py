"""A look at a flat picture's file: its size, or why it cannot be shown; so nobody asks in vain."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from overread.core import Image, Pictures
from overread.errors import OverreadError
from overread.pixels.dicom import open_dicom
from overread.pixels.flat import image_size, verify_image
from overread.pixels.formats import told
from overread.site.cases.depth import MOST, is_deep

_KEPT = 4096
_QUICK = 4 << 20
"""Larger files are not decoded to learn whether they can be: their header is believed."""


@dataclass(frozen=True)
class Looked:
    """What a look at a picture's file told."""

    width: int | None = None
    """As stored, before any turning: the frame in which boxes are given."""
    height: int | None = None
    problem: str | None = None
    """Why it cannot be shown, in one sentence."""
    deep: bool = False
    """Whether it has greys of more than 8 bits, that can be asked for."""


_known: OrderedDict[tuple[str, int, int], Looked] = OrderedDict()
_lock = threading.Lock()


def looked_at(pictures: Pictures, picture: Image) -> Looked:
    """The size of a picture or its problem; files that did not change are not read again."""
    try:
        source = pictures.data(picture)
        if isinstance(source, bytes):
            return _look(source, picture.name)
        at = source.stat()
    except OverreadError as error:
        return Looked(problem=error.what)
    except OSError as error:
        return Looked(problem=f"{picture.name} cannot be read ({error.strerror})")
    key = (str(source), at.st_mtime_ns, at.st_size)
    with _lock:
        if key in _known:
            _known.move_to_end(key)
            return _known[key]
    found = _look(source, picture.name)
    with _lock:
        _known[key] = found
        while len(_known) > _KEPT:
            _known.popitem(last=False)
    return found


def _look(source: Path | bytes, name: str) -> Looked:
    try:
        kind = told(source, name=name)
        if kind in ("png", "jpeg"):
            size = len(source) if isinstance(source, bytes) else source.stat().st_size
            look = verify_image if size <= _QUICK else image_size
            width, height = look(source, name=name)
        elif kind == "dicom":
            header = open_dicom(source, pixels=False)
            width, height = int(header.get("Columns") or 0), int(header.get("Rows") or 0)
        else:
            return Looked(problem=f"the file of {name} holds no flat picture")
        deep = is_deep(source)
    except OverreadError as error:
        return Looked(problem=f"{name} cannot be shown: {error.what}")
    except (OSError, ValueError, TypeError):
        return Looked(problem=f"{name} cannot be shown")
    if width < 1 or height < 1:
        return Looked(problem=f"{name} cannot be shown: it has no size")
    return Looked(width, height, deep=deep and width * height <= MOST)
