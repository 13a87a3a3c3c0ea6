"""What the tests of DICOM files share: files of pydicom's wheel, and small ones made in memory."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom import uid
from pydicom.data import get_testdata_file
from pydicom.dataset import Dataset, FileMetaDataset

Array = NDArray[Any]

RAMP = np.arange(4096, dtype=np.uint16).reshape(64, 64)


def bundled(name: str) -> Path:
    """A test file that lies in pydicom's wheel; nothing is downloaded."""
    path = get_testdata_file(name, download=False)
    assert isinstance(path, str), f"{name} is not in the wheel"
    return Path(path)


def grey(pixels: Array, **elements: Any) -> Dataset:
    """A single-frame grey dataset in memory."""
    dataset = Dataset()
    dataset.file_meta = FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = uid.ExplicitVRLittleEndian
    dataset.SOPClassUID = dataset.file_meta.MediaStorageSOPClassUID = uid.CTImageStorage
    dataset.SOPInstanceUID = dataset.file_meta.MediaStorageSOPInstanceUID = uid.generate_uid()
    dataset.Modality = "CT"
    dataset.Rows, dataset.Columns = pixels.shape
    dataset.SamplesPerPixel = 1
    dataset.PhotometricInterpretation = "MONOCHROME2"
    dataset.BitsAllocated = dataset.BitsStored = pixels.dtype.itemsize * 8
    dataset.HighBit = dataset.BitsStored - 1
    dataset.PixelRepresentation = int(np.issubdtype(pixels.dtype, np.signedinteger))
    dataset.PixelData = pixels.tobytes()
    dataset["PixelData"].VR = "OW" if pixels.dtype.itemsize > 1 else "OB"
    for keyword, value in elements.items():
        setattr(dataset, keyword, value)
    return dataset


def stored(dataset: Dataset) -> bytes:
    """The bytes of a dataset as a DICOM file."""
    buffer = BytesIO()
    dataset.save_as(buffer, enforce_file_format=True)
    return buffer.getvalue()
