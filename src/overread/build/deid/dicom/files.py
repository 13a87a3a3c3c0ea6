"""Whole DICOM files: header and pixels cleaned, or the reason why they cannot be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
from numpy.typing import NDArray
from pydicom import uid
from pydicom.dataset import Dataset

from overread.build.deid.burned_in import PrintBox, find_print
from overread.build.deid.dicom.headers import clean_dataset, patient_of
from overread.build.deid.picture import boxes_as_removals, cover_boxes
from overread.build.deid.results import Options, Removal
from overread.build.deid.secret import DeidSecret
from overread.errors import OverreadError, PictureError
from overread.pixels.dicom.file import open_dicom, wrap_decoder_errors
from overread.pixels.dicom.frames import NATIVE, decode_frame

_MAX_FRAMES_SEARCHED = 8
"""Frames of a multi-frame file that are searched; what is found is covered in all of them."""
_NO_PICTURES = ("SEG", "RTDOSE", "REG", "RWV")
_MEASURED = ("CT", "MR", "PT", "NM")
_DICOMDIR_CLASS = uid.MediaStorageDirectoryStorage


@dataclass(frozen=True)
class CleanDicom:
    """A DICOM file after it was cleaned."""

    data: bytes = field(repr=False)
    removals: list[Removal]
    unclean: list[str]
    """What could not be cleaned, each in a sentence; empty where all could."""
    patient: str = field(default="", repr=False)
    """Whose it was, so that reports of the same patient move by the same days."""


def clean_dicom(
    source: Path | bytes, secret: DeidSecret, options: Options, *, known: Iterable[str] = ()
) -> CleanDicom:
    """A DICOM file without what names a person in header or pixels.

    Raises `PictureError` where it cannot be read at all. Where only a part of it cannot be
    cleaned, that part is as it was and `unclean` says so: whoever asked decides.
    """
    with wrap_decoder_errors(
        "a DICOM file"
    ):  # all of it: what is in a header is only read when it is asked for
        dataset = _open_dataset(source)
        unclean = _list_uncleanable(dataset)
        removals: list[Removal] = []
        pictured = "Rows" in dataset and _has_pixels(dataset)
        if pictured and str(dataset.get("Modality")) not in _NO_PICTURES:
            try:
                boxes, told = _clean_pixels(dataset, options)
                removals += told
                unclean += _check_burned_in_flag(dataset, boxes)
            except OverreadError as error:
                pictured = False
                unclean.append(f"the pixels cannot be looked through ({error.what})")
        made, header = clean_dataset(dataset, secret, options, known=known, pixels_cleaned=pictured)
        if pictured and not unclean:
            made.BurnedInAnnotation = "NO"
        out = BytesIO()
        pydicom.dcmwrite(out, made, enforce_file_format=True)
        return CleanDicom(out.getvalue(), header + removals, unclean, patient_of(dataset))


def is_dicomdir(source: Path | bytes) -> bool:
    """Whether a file is a DICOMDIR: an index that would name every patient, and points nowhere."""
    head = open_dicom(source, pixels=False)
    with wrap_decoder_errors("a DICOM file"):
        return bool(head.file_meta.get("MediaStorageSOPClassUID") == _DICOMDIR_CLASS)


def _open_dataset(source: Path | bytes) -> Dataset:
    head = open_dicom(source, pixels=False)
    if "Rows" in head:
        try:
            return open_dicom(source, pixels=True)
        except PictureError:
            pass  # told below, where the pixels are looked through
    with wrap_decoder_errors("a DICOM file"):
        stream: Any = source if isinstance(source, Path) else BytesIO(source)
        dataset = pydicom.dcmread(stream, force=True)
        if not dataset.file_meta.get("TransferSyntaxUID"):
            dataset.file_meta.TransferSyntaxUID = head.file_meta.TransferSyntaxUID
        return dataset


def _has_pixels(dataset: Dataset) -> bool:
    return any(dataset.get(name) for name in ("PixelData", "FloatPixelData", "DoubleFloatPixelData"))


def _list_uncleanable(dataset: Dataset) -> list[str]:
    """What a file holds besides header and pixels that our rules do not reach into."""
    unclean = []
    if dataset.get("ContentSequence"):
        unclean.append("it is a structured report, of which only the single texts were cleaned")
    if dataset.get("EncapsulatedDocument"):
        unclean.append("it holds a whole document (PDF or the like), which was not looked into")
    if str(dataset.get("RecognizableVisualFeatures", "")).upper() == "YES":
        unclean.append("its header says that the face can be recognised in it")
    return unclean


def _check_burned_in_flag(dataset: Dataset, boxes: int) -> list[str]:
    flagged = str(dataset.get("BurnedInAnnotation", "")).upper() == "YES"
    if flagged and not boxes:
        return ["its header says that print is burned in, and none was found"]
    return []


def _clean_pixels(dataset: Dataset, options: Options) -> tuple[int, list[Removal]]:
    """Cover print in all frames of a dataset, in place; how many boxes, and what was done."""
    frames = int(dataset.get("NumberOfFrames") or 1)
    where = "a DICOM file"
    looked = sorted({round(n) for n in np.linspace(0, frames - 1, min(frames, _MAX_FRAMES_SEARCHED))})
    boxes: list[PrintBox] = []
    for frame in looked:
        pixels, photometric = decode_frame(dataset, frame, where)
        shown = _apply_palette(pixels, photometric, dataset)
        boxes += find_print(shown, side_markers=not options.keep_side_markers, measured=_is_measured(dataset))
    boxes = list(dict.fromkeys(boxes))
    told = boxes_as_removals(tuple(boxes), frame="every frame, " if frames > 1 else "")
    if boxes:
        every = [decode_frame(dataset, frame, where) for frame in range(frames)]
        _replace_pixels(dataset, [cover_boxes(pixels, boxes) for pixels, _ in every], every[0][1])
    elif _clear_spare_bits(dataset):
        told.append(Removal(kind="burned-in", action="removed", where="bits beside the pixels' own"))
    return len(boxes), told


def _is_measured(dataset: Dataset) -> bool:
    """Whether a picture is a slice of measured values, and nothing says that it has print."""
    kind = [str(word).upper() for word in dataset.get("ImageType") or ()]
    captured = "SECONDARY" in kind or dataset.get("ConversionType")
    flagged = str(dataset.get("BurnedInAnnotation", "")).upper() == "YES"
    return str(dataset.get("Modality")) in _MEASURED and not captured and not flagged


def _apply_palette(pixels: NDArray[Any], photometric: str, dataset: Dataset) -> NDArray[Any]:
    if photometric != "PALETTE COLOR":
        return pixels
    from pydicom.pixels.processing import apply_color_lut

    colours = apply_color_lut(pixels, dataset)[..., :3]
    wide = colours.dtype.itemsize > 1 and int(colours.max()) > 255
    return (colours >> 8 if wide else colours).astype(np.uint8)


def _replace_pixels(dataset: Dataset, frames: list[NDArray[Any]], photometric: str) -> None:
    """Put decoded frames in place of the pixel data, uncompressed."""
    stack = np.ascontiguousarray(np.stack(frames))
    for keyword in ("FloatPixelData", "DoubleFloatPixelData"):
        if keyword in dataset:
            dataset[keyword].value = stack.tobytes()
            return
    data = stack.astype(stack.dtype.newbyteorder("<"), copy=False).tobytes()
    dataset.PixelData = data + b"\0" * (len(data) % 2)
    dataset["PixelData"].VR = "OW" if stack.dtype.itemsize > 1 else "OB"
    dataset["PixelData"].is_undefined_length = False
    dataset.BitsAllocated = stack.dtype.itemsize * 8
    dataset.PhotometricInterpretation = photometric
    if stack.ndim == 4:
        dataset.PlanarConfiguration = 0
    for keyword in ("ExtendedOffsetTable", "ExtendedOffsetTableLengths"):
        if keyword in dataset:
            del dataset[keyword]
    dataset.file_meta.TransferSyntaxUID = uid.ExplicitVRLittleEndian


def _clear_spare_bits(dataset: Dataset) -> bool:
    """Clear bits beside the pixels' own, where old overlays hide; whether there were any."""
    allocated, stored = int(dataset.BitsAllocated), int(dataset.get("BitsStored") or 0)
    native = dataset.file_meta.TransferSyntaxUID in NATIVE
    little = dataset.file_meta.TransferSyntaxUID != uid.ExplicitVRBigEndian
    if not (native and little and allocated == 16 and 0 < stored < 16 and "PixelData" in dataset):
        return False
    high = int(dataset.get("HighBit") or stored - 1)
    if high != stored - 1:
        return False
    raw = np.frombuffer(dataset.PixelData, dtype="<u2")
    spare = 16 - stored
    signed = int(dataset.get("PixelRepresentation") or 0) == 1
    shifted = (raw << spare).astype("<u2")
    clean = (shifted.view("<i2") >> spare).view("<u2") if signed else shifted >> spare
    if np.array_equal(clean, raw):
        return False
    dataset.PixelData = clean.astype("<u2").tobytes()
    return True
