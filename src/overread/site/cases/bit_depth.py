"""Grey values of pictures with more than 8 bits, so that the page can window them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import Dataset
from pydicom.multival import MultiValue

from overread.errors import PictureError, Refused
from overread.pixels.dicom.file import open_dicom, read_hu, wrap_decoder_errors
from overread.pixels.formats import sniff_format
from overread.pixels.image_files import read_image

MAX_PIXELS = 24_000_000
"""Pixels of the largest picture whose values are sent: a mammogram's."""
_HEAD = 26


@dataclass(frozen=True)
class DeepPixels:
    """The values of a grey picture, as 16-bit whole numbers: value = base + step × number."""

    numbers: NDArray[np.uint16]
    base: float
    step: float
    low: float
    """What is black in the picture as it is usually shown."""
    high: float
    """What is white there."""
    inverted: bool
    """Whether low values are bright, as in DICOM's MONOCHROME1."""


def is_deep(source: Path | bytes) -> bool:
    """Whether a picture is grey and has more than 8 bits, from its header alone."""
    kind = sniff_format(source)
    if kind == "png":
        head = source[:_HEAD] if isinstance(source, bytes) else _read_head(source)
        return len(head) == _HEAD and head[24] == 16 and head[25] == 0
    if kind == "dicom":
        try:
            header = open_dicom(source, pixels=False)
            with wrap_decoder_errors("the picture"):
                deep = int(header.get("BitsStored") or 8) > 8
                grey = str(header.get("PhotometricInterpretation", "")).startswith("MONOCHROME")
                return deep and grey and int(header.get("NumberOfFrames") or 1) == 1
        except PictureError:
            return False
    return False


def read_deep_pixels(source: Path | bytes, *, name: str) -> DeepPixels:
    """The values of a deep picture."""
    if not is_deep(source):
        raise PictureError(f"{name} has no more than 8 bits")
    if sniff_format(source) == "png":
        values: NDArray[Any] = read_image(source, name=name)
        window, inverted = None, False
    else:
        dataset = open_dicom(source, pixels=True)
        _check_size(int(dataset.Rows) * int(dataset.Columns), name)
        values = read_hu(dataset)
        window = _window(dataset)
        inverted = dataset.PhotometricInterpretation == "MONOCHROME1"
    _check_size(values.size, name)
    if values.ndim != 2 or not np.isfinite(values).all():
        raise PictureError(f"the file of {name} holds no grey values")
    least, most = float(values.min()), float(values.max())
    low, high = window or (least, max(most, least + 1))
    whole = np.issubdtype(values.dtype, np.integer) and most - least <= 65535
    step = 1.0 if whole else max(most - least, 1e-6) / 65535
    numbers = np.rint((values.astype(np.float64) - least) / step).astype("<u2")
    return DeepPixels(numbers, least, step, low, high, inverted)


def _check_size(pixels: int, name: str) -> None:
    if pixels > MAX_PIXELS:
        raise Refused(f"{name} has more than {MAX_PIXELS:,} pixels: its values are not sent")


def _read_head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except OSError:
        return b""


def _window(dataset: Dataset) -> tuple[float, float] | None:
    """Black and white of the file's own window; None where it states none that shows anything."""
    with wrap_decoder_errors("the picture"):
        centre, width = (dataset.get(name) for name in ("WindowCenter", "WindowWidth"))
        first = [one[0] if isinstance(one, MultiValue) and one else one for one in (centre, width)]
        if any(one in (None, "") or isinstance(one, MultiValue) for one in first):
            return None
        middle, wide = float(first[0]), float(first[1])
        if not np.isfinite([middle, wide]).all() or wide < 1:
            return None
        return middle - wide / 2, middle + wide / 2
