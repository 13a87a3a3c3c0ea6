"""What the tests of series share: CT slices, and whole stacks of them, written as files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom import uid
from pydicom.dataset import Dataset, FileMetaDataset

from overread.pixels.dicom.series import Series
from tests.pixels.dicom.dicom_files import Array

AXIAL = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
CORONAL = (1.0, 0.0, 0.0, 0.0, 0.0, -1.0)
HEAD_TILT = np.radians(17.5)
# The gantry leans, the table still moves along z.
TILTED = (1.0, 0.0, 0.0, 0.0, float(np.cos(HEAD_TILT)), float(-np.sin(HEAD_TILT)))
SERIES, STUDY = "1.2.826.0.1.3680043.8.498.1", "1.2.826.0.1.3680043.8.498.2"
SHAPE = (12, 16)
"""(rows, columns) of the slices made here."""


def noise(seed: int, shape: tuple[int, ...] = SHAPE) -> NDArray[np.int16]:
    """Pixels that no other seed gives."""
    return np.random.default_rng(seed).integers(-1024, 3000, shape).astype(np.int16)


def slice_of(pixels: Array, place: Array, **elements: Any) -> Dataset:
    """One CT slice; keywords replace what it would hold, and None takes it out."""
    dataset = Dataset()
    dataset.file_meta = FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = uid.ExplicitVRLittleEndian
    dataset.SOPClassUID = dataset.file_meta.MediaStorageSOPClassUID = uid.CTImageStorage
    dataset.SOPInstanceUID = dataset.file_meta.MediaStorageSOPInstanceUID = uid.generate_uid()
    dataset.Modality, dataset.SeriesInstanceUID, dataset.StudyInstanceUID = "CT", SERIES, STUDY
    dataset.ImageType = ["ORIGINAL", "PRIMARY", "AXIAL"]
    dataset.Rows, dataset.Columns = pixels.shape[-2:]
    dataset.SamplesPerPixel, dataset.PhotometricInterpretation = 1, "MONOCHROME2"
    dataset.BitsAllocated = dataset.BitsStored = 16
    dataset.HighBit, dataset.PixelRepresentation = 15, 1
    dataset.RescaleSlope, dataset.RescaleIntercept = 1, 0
    dataset.PixelSpacing = [0.7, 0.6]
    dataset.ImageOrientationPatient = list(AXIAL)
    dataset.ImagePositionPatient = [round(float(number), 6) for number in place]
    dataset.PixelData = pixels.tobytes()
    dataset["PixelData"].VR = "OW"
    for keyword, value in elements.items():
        if value is None:
            del dataset[keyword]
        else:
            setattr(dataset, keyword, value)
    return dataset


def save(dataset: Dataset, path: Path) -> Path:
    """Write a dataset as a DICOM file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    dataset.save_as(path, enforce_file_format=True)
    return path


def normal_of(turn: tuple[float, ...]) -> Array:
    """Normal of a plane, LPS."""
    return np.cross(turn[:3], turn[3:])


def stack(
    folder: Path,
    *,
    turn: tuple[float, ...] = AXIAL,
    step: Array | None = None,
    count: int = 7,
    leave_out: tuple[int, ...] = (),
    file_name: Callable[[int], str] = "{:03d}.dcm".format,
) -> NDArray[np.int16]:
    """Write a series; the volume (column, row, slice) that it was made from."""
    step = normal_of(turn) * 2.5 if step is None else step
    for k in range(count):
        if k not in leave_out:
            place = np.array([-100.0, -80.0, -900.0]) + k * step
            dataset = slice_of(noise(k), place, ImageOrientationPatient=list(turn))
            dataset.InstanceNumber = count - k
            save(dataset, folder / file_name(k))
    kept = [noise(k).T for k in range(count) if k not in leave_out]
    return np.stack(kept, axis=-1)


def codes(found: Series) -> list[str]:
    """Names of the defects."""
    return [defect.code for defect in found.defects]
