"""One DICOM file to pixels: a radiograph as a person sees it, or a CT slice in HU.

A file from outside may be anything, so every step that touches pydicom or a decoder runs under
`wrap_decoder_errors`: what goes wrong leaves as a PictureError, and odd values cause no Python
warning.
"""

from __future__ import annotations

import re
import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from threading import RLock
from typing import BinaryIO, Final, TypeAlias

import numpy as np
import pydicom
from numpy.typing import NDArray
from pydicom import config, uid
from pydicom.dataset import Dataset
from pydicom.pixels.processing import apply_color_lut, apply_voi_lut

from overread.errors import NotThere, OverreadError, PictureError, Refused, Truncated, UsageError
from overread.pixels.dicom.frames import (
    NATIVE,
    REEXPORT,
    Pixels,
    available_decoders,
    decodable_syntaxes,
    decode_frame,
    missing_decoder_remedy,
    positive_int,
)

__all__ = [
    "LIMIT",
    "Source",
    "decodable_syntaxes",
    "frame_group",
    "open_dicom",
    "read_dicom",
    "read_hu",
    "wrap_decoder_errors",
]

Source: TypeAlias = Path | bytes

LIMIT: Final = 2 * 1024**3
"""Bytes of pixels that one file may claim, or inflate to, before it is refused."""

_PIXELS = ("PixelData", "FloatPixelData", "DoubleFloatPixelData")


def read_dicom(
    source: Source, *, window: tuple[float, float] | None = None, frame: int = 0
) -> NDArray[np.uint8]:
    """A flat picture as a person sees it: (H, W), or (H, W, 3) where it is in colour.

    Grey pictures get their modality LUT or rescale, then `window` (centre, width) or the file's
    own VOI LUT or window, and are turned so that bright means dense (MONOCHROME1 is inverted).
    A grey picture of more than 8 bits without any of these is shown from its darkest to its
    brightest pixel. `frame` counts from 0.
    """
    if window is not None and not (np.isfinite(window).all() and window[1] > 0):
        raise UsageError(f"a window of (centre, width) {window} shows nothing", remedy="give a width above 0")
    where = _describe_source(source)
    dataset = open_dicom(source, pixels=True)
    with wrap_decoder_errors(where):
        pixels, photometric = decode_frame(dataset, frame, where)
        if photometric == "PALETTE COLOR":
            colours = apply_color_lut(pixels, dataset)[..., :3]
            # Some files keep 8-bit colours in a table of 16-bit entries.
            wide = colours.dtype.itemsize > 1 and int(colours.max()) > 255
            return (colours >> 8 if wide else colours).astype(np.uint8)
        if pixels.ndim == 3:
            return _eight_bits(pixels * (255 / (2.0 ** int(dataset.BitsStored) - 1)))
        shown = _apply_window(_apply_modality(pixels, dataset, frame, where), dataset, frame, window, where)
        return _eight_bits(255.0 - shown if photometric == "MONOCHROME1" else shown)


def read_hu(source: Dataset | Source, *, frame: int = 0) -> NDArray[np.int16] | NDArray[np.float32]:
    """One slice (rows, columns) with its rescale and nothing else: HU, where it is a CT.

    int16 where that holds every value exactly, float32 otherwise. No window is applied and
    nothing is inverted. A dataset is one that `open_dicom` gave with its pixels.
    """
    where = _describe_source(source)
    dataset = source if isinstance(source, Dataset) else open_dicom(source, pixels=True)
    with wrap_decoder_errors(where):
        pixels, photometric = decode_frame(dataset, frame, where)
        if pixels.ndim != 2 or photometric == "PALETTE COLOR":
            raise PictureError(
                f"a picture in colour ({photometric}) has no HU",
                where=where,
                remedy="give a CT slice, or read it with read_dicom",
            )
        values = _apply_modality(pixels, dataset, frame, where)
        limits = np.iinfo(np.int16)
        fits = limits.min <= values.min() and values.max() <= limits.max
        if np.issubdtype(values.dtype, np.integer) and fits:
            return values.astype(np.int16)
        return values.astype(np.float32)


def open_dicom(source: Source, *, pixels: bool) -> Dataset:
    """The dataset of a DICOM file, checked before anybody trusts its numbers.

    With `pixels`, a file without pixel data, one that this install cannot decode and one that
    ends too early are errors; without, the pixel data is not even read. Files without the
    128-byte preamble are taken when they begin as DICOM does.
    """
    where = _describe_source(source)
    with wrap_decoder_errors(where):
        if isinstance(source, Path) and not source.is_file():
            raise NotThere("there is no such file", where=where, remedy="check the path")
        size = source.stat().st_size if isinstance(source, Path) else len(source)
        if pixels and size > LIMIT:
            raise Refused(
                f"the file has {size} bytes, more than the {LIMIT} that are opened",
                where=where,
                remedy="split it into single frames",
            )
        with source.open("rb") if isinstance(source, Path) else BytesIO(source) as stream:
            _check_head(stream, where)
            dataset = pydicom.dcmread(stream, force=True, stop_before_pixels=not pixels)
        _name_syntax(dataset)
        if pixels:
            _check_pixels(dataset, size, where)
        elif "Rows" in dataset:
            _claimed_bytes(dataset, where)
    return dataset


_DECODER_LOCK = RLock()


@contextmanager
def wrap_decoder_errors(where: str) -> Iterator[None]:
    """Turn whatever a decoder raises into one PictureError, and keep odd values quiet.

    Python's warning filters and pydicom's settings belong to the whole process, so only one
    thread is in here at a time.
    """
    try:
        with (
            _DECODER_LOCK,
            warnings.catch_warnings(),
            config.disable_value_validation(),
            np.errstate(all="ignore"),
        ):
            warnings.simplefilter("ignore")
            yield
    except OverreadError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:160] or type(error).__name__
        raise PictureError(
            f"the file cannot be read as a DICOM picture ({reason})", where=where, remedy=REEXPORT
        ) from error


def frame_group(dataset: Dataset, macro: str, frame: int) -> Dataset | None:
    """What an enhanced multi-frame file says of one frame: its own group, or the shared one."""
    places = (("PerFrameFunctionalGroupsSequence", frame), ("SharedFunctionalGroupsSequence", 0))
    for keyword, index in places:
        groups = dataset.get(keyword) or ()
        items = groups[index].get(macro) if index < len(groups) else None
        if items:
            group: Dataset = items[0]
            return group
    return None


def _describe_source(source: Dataset | Source) -> str:
    if isinstance(source, Dataset):
        return str(getattr(source, "filename", None) or "a DICOM dataset")
    return str(source) if isinstance(source, Path) else "DICOM bytes"


def _check_head(stream: BinaryIO, where: str) -> None:
    """Raise unless the stream begins as DICOM does; count what a deflated one inflates to."""
    head = stream.read(4096)
    stream.seek(0)
    # Without a preamble, the first element must be one of the group that identifies the file:
    # (0002,..) or (0008,..), then a value representation or the length of a short value.
    first = re.match(rb"[\x02\x08]\x00.[\x00-\x20](?:[A-Z][A-Z]|..\x00\x00)", head, re.DOTALL)
    swapped = re.match(rb"\x00\x08[\x00-\x20].[A-Z][A-Z]", head, re.DOTALL)
    if head[128:132] != b"DICM" and first is None and swapped is None:
        raise PictureError("the file is not DICOM", where=where, remedy="give a DICOM file")
    if str(uid.DeflatedExplicitVRLittleEndian).encode() not in head:
        return
    at = 132 if head[128:132] == b"DICM" else 0
    while head[at : at + 2] == b"\x02\x00":
        long_form = head[at + 4 : at + 6] in (b"OB", b"UN", b"OW", b"SQ", b"UT")
        length = struct.unpack_from("<I" if long_form else "<H", head, at + (8 if long_form else 6))
        at += (12 if long_form else 8) + int(length[0])
    stream.seek(at)
    inflate, inflated = zlib.decompressobj(-zlib.MAX_WBITS), 0
    chunk = stream.read(1 << 20)
    while chunk and not inflate.eof:
        inflated += len(inflate.decompress(chunk, 1 << 24))
        if inflated > LIMIT:
            raise Refused(f"the file inflates to more than {LIMIT} bytes", where=where, remedy=REEXPORT)
        chunk = inflate.unconsumed_tail or stream.read(1 << 20)
    stream.seek(0)


def _name_syntax(dataset: Dataset) -> None:
    """Files without meta information do not name their transfer syntax; pydicom inferred it."""
    if not dataset.file_meta.get("TransferSyntaxUID"):
        implicit, little = dataset.original_encoding
        explicit = uid.ExplicitVRLittleEndian if little else uid.ExplicitVRBigEndian
        dataset.file_meta.TransferSyntaxUID = uid.ImplicitVRLittleEndian if implicit else explicit


def _check_pixels(dataset: Dataset, size: int, where: str) -> None:
    """Raise unless there are pixels, of a size one can believe, that can be decoded here."""
    keyword = next((name for name in _PIXELS if dataset.get(name)), None)
    if keyword is None:
        raise PictureError(
            "the DICOM file has no pixel data, or ends before it", where=where, remedy=REEXPORT
        )
    claimed = _claimed_bytes(dataset, where)
    syntax = dataset.file_meta.TransferSyntaxUID
    if not available_decoders(syntax):
        raise PictureError(
            f"no installed decoder reads the transfer syntax {syntax.name} ({syntax})",
            where=where,
            remedy=missing_decoder_remedy(syntax),
        )
    if syntax not in NATIVE:
        return
    if syntax != uid.DeflatedExplicitVRLittleEndian and claimed > size:
        raise Truncated(
            f"the header claims {claimed} bytes of pixels and the whole file has {size}",
            where=where,
            remedy=f"the file is truncated or its header is wrong, so {REEXPORT}",
        )
    held = len(dataset[keyword].value)
    if held < claimed:
        raise Truncated(
            f"the file is truncated: it holds {held} of {claimed} bytes of pixels",
            where=where,
            remedy=REEXPORT,
        )


def _claimed_bytes(dataset: Dataset, where: str) -> int:
    """Bytes that the decoded pixels will take, by the header; refused above the limit."""
    width = positive_int(dataset, "Columns", where)
    rows, samples = (positive_int(dataset, "Rows", where), positive_int(dataset, "SamplesPerPixel", where, 1))
    frames = positive_int(dataset, "NumberOfFrames", where, 1)
    bits = positive_int(dataset, "BitsAllocated", where, 64 if "DoubleFloatPixelData" in dataset else 32)
    claimed = (width * rows * samples * frames * bits + 7) // 8
    if claimed > LIMIT:
        raise Refused(
            f"the header claims {rows} × {width} pixels in {frames} frames, {claimed} bytes, "
            f"more than the {LIMIT} that are opened",
            where=where,
            remedy="split it into single frames",
        )
    native = dataset.file_meta.TransferSyntaxUID in NATIVE
    halved = native and dataset.get("PhotometricInterpretation") == "YBR_FULL_422"
    return claimed * 2 // 3 if halved else claimed


def _number(item: Dataset, keyword: str, default: float, where: str) -> float:
    """A finite number of the header; the first where there are several."""
    value = item.get(keyword)
    if isinstance(value, pydicom.multival.MultiValue):
        value = value[0] if value else None
    number = default if value is None or value == "" else float(value)
    if not np.isfinite(number):
        raise PictureError(f"{keyword} is {value}", where=where, remedy=REEXPORT)
    return number


def _apply_modality(pixels: Pixels, dataset: Dataset, frame: int, where: str) -> Pixels:
    """Stored values to the modality's own: HU for a CT. Integers stay integers where they can."""
    item = frame_group(dataset, "PixelValueTransformationSequence", frame)
    item = dataset if item is None else item
    if item.get("ModalityLUTSequence"):
        return _look_up(pixels, item.ModalityLUTSequence[0], dataset)[0]
    slope = _number(item, "RescaleSlope", 1.0, where)
    intercept = _number(item, "RescaleIntercept", 0.0, where)
    if slope == 0:
        raise PictureError("RescaleSlope is 0", where=where, remedy=REEXPORT)
    whole = np.issubdtype(pixels.dtype, np.integer) and slope % 1 == 0 and intercept % 1 == 0
    if whole and max(abs(slope), abs(intercept)) < 2**30:
        return pixels.astype(np.int64) * int(slope) + int(intercept)
    return pixels.astype(np.float64) * slope + intercept


def _look_up(values: Pixels, item: Dataset, dataset: Dataset) -> tuple[Pixels, int]:
    """Values sent through a LUT, and the number of bits of its entries.

    Done here because pydicom 3.0's apply_voi_lut keeps the index in the type of the entries: a
    table with 8-bit entries wraps round after 256 values.
    """
    entries, first, bits = (int(number) for number in item.LUTDescriptor)
    entries = entries & 0xFFFF or 2**16
    data = item["LUTData"].value
    if isinstance(data, bytes):
        order = "<" if dataset.file_meta.TransferSyntaxUID.is_little_endian else ">"
        # 8-bit entries may be packed two to a word, or stand alone.
        data = np.frombuffer(data, np.uint8 if len(data) < 2 * entries else f"{order}u2")
    table = np.atleast_1d(np.asarray(data, dtype=np.uint16))[:entries].astype(np.int64)
    index = np.clip(np.rint(values) - first, 0, len(table) - 1).astype(np.intp)
    return table[index], max(bits, int(table.max()).bit_length())


def _apply_window(
    values: Pixels, dataset: Dataset, frame: int, window: tuple[float, float] | None, where: str
) -> NDArray[np.float64]:
    """Grey values as they are shown, 0 to 255."""
    voi = frame_group(dataset, "FrameVOILUTSequence", frame)
    voi = dataset if voi is None else voi
    has_window = all(voi.get(name) not in (None, "") for name in ("WindowCenter", "WindowWidth"))
    if window is None and voi.get("VOILUTSequence"):
        table, bits = _look_up(values, voi.VOILUTSequence[0], dataset)
        return table * (255 / (2.0**bits - 1))
    if window is None and not has_window:
        return _full_range(values, dataset)
    # A stand-in of 8 unsigned bits: pydicom then windows to exactly 0 to 255.
    stand_in = Dataset()
    stand_in.PhotometricInterpretation = "MONOCHROME2"
    stand_in.BitsStored, stand_in.PixelRepresentation = 8, 0
    if window is not None:
        centre, width, function = *window, "LINEAR_EXACT"
    else:
        centre = _number(voi, "WindowCenter", 0.0, where)
        width = _number(voi, "WindowWidth", 0.0, where)
        function = voi.get("VOILUTFunction") or "LINEAR"
    if width < 1 and (function == "LINEAR" or width <= 0):
        raise PictureError(
            f"WindowWidth is {width:g} and shows nothing",
            where=where,
            remedy="give a window (centre, width) of your own",
        )
    stand_in.WindowCenter, stand_in.WindowWidth = float(centre), float(width)
    stand_in.VOILUTFunction = function
    return np.asarray(apply_voi_lut(values, stand_in), dtype=np.float64)


def _full_range(values: Pixels, dataset: Dataset) -> NDArray[np.float64]:
    """No window is stated: 8-bit pictures as they are, others from darkest to brightest."""
    bits, low, high = int(dataset.get("BitsStored") or 16), 0.0, 0.0
    if bits <= 8 and values.min() >= 0 and values.max() < 2**bits:
        high = 2.0**bits - 1
    else:
        seen = values[np.isfinite(values)]
        padding = dataset.get("PixelPaddingValue")
        if isinstance(padding, int) and (seen != padding).any():
            seen = seen[seen != padding]
        if seen.size:
            low, high = float(seen.min()), float(seen.max())
    scaled = np.asarray((values - low) * (255 / (high - low or 1.0)), dtype=np.float64)
    return np.clip(np.nan_to_num(scaled), 0, 255)


def _eight_bits(values: Pixels) -> NDArray[np.uint8]:
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)
