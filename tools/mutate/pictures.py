"""Pictures of every format to be damaged: PNG, JPEG, DICOM in six transfer syntaxes, NIfTI, MetaImage."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from overread.pixels.metaimage import write_metaimage
from tools.mutate.input_file import Input, Words

if TYPE_CHECKING:
    from pydicom.dataset import Dataset

_SYNTAXES = {"g": " JPEG 2000", "h": " RLE", "i": " JPEG-LS", "j": " deflated", "l": " JPEG lossless"}
"""DICOM files by their name; the others are not compressed."""


def pictures(folder: Path) -> list[Input]:
    """Write them under `folder`."""
    import numpy as np
    import pydicom
    from PIL import Image
    from pydicom.dataset import FileDataset, FileMetaDataset
    from pydicom.uid import (
        CTImageStorage,
        DeflatedExplicitVRLittleEndian,
        ExplicitVRLittleEndian,
        generate_uid,
    )

    made = folder / "pictures"
    made.mkdir()
    values = (np.indices((64, 64)).sum(0) % 251).astype(np.uint8)
    Image.fromarray(values).save(made / "a.png")
    Image.fromarray(np.stack([values] * 3, -1)).save(made / "b.jpg", quality=90, progressive=True)
    Image.fromarray(values.astype(np.uint16) * 100).save(made / "c.png")
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = CTImageStorage
    meta.MediaStorageSOPInstanceUID = generate_uid()
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    scan = FileDataset(str(made / "d.dcm"), {}, file_meta=meta, preamble=b"\0" * 128)
    scan.update(_dicom_tags(values, meta.MediaStorageSOPInstanceUID))
    scan.save_as(made / "d.dcm", enforce_file_format=True)
    assert pydicom.dcmread(made / "d.dcm").pixel_array.shape == (64, 64)
    converter = Path(sys.executable).with_name("gdcmconv")  # comes with python-gdcm
    for name, way in (("g", "--j2k"), ("h", "--rle"), ("i", "--jpegls"), ("l", "--jpeg")):
        subprocess.run(
            [converter, way, made / "d.dcm", made / f"{name}.dcm"], check=True, capture_output=True
        )
    plain = pydicom.dcmread(made / "d.dcm")
    plain.file_meta.TransferSyntaxUID = DeflatedExplicitVRLittleEndian
    plain.save_as(made / "j.dcm")
    scan_file = next((folder / "rexgroundingct" / "images").glob("test*"))
    shutil.copy(scan_file, made / "e.nii.gz")
    (made / "k.nii").write_bytes(gzip.decompress(scan_file.read_bytes()))
    series = made / "series"
    series.mkdir()
    _write_series(series)
    write_metaimage(made / "f.mha", np.stack([values] * 4).astype(np.int16), np.eye(4))
    slice_file = sorted(series.iterdir())[1]
    found = [Input("picture series", slice_file, (("look", str(series), "--save", "OUT.png"),))]
    for file in sorted(path for path in made.iterdir() if path.is_file()):
        looked: Words = ("look", str(file), "--save", "OUT.png")
        cleaned: Words = ("deidentify", str(file), "--out", "OUT", "--secret", str(folder / "secret"))
        kind = f"picture {''.join(file.suffixes)}{_SYNTAXES.get(file.stem, '')}"
        found.append(Input(kind, file, (looked, cleaned)))
    return found


def _dicom_tags(values: object, uid: str) -> Dataset:
    import numpy as np
    from pydicom.dataset import Dataset
    from pydicom.uid import CTImageStorage, generate_uid

    tags = Dataset()
    tags.SOPClassUID, tags.SOPInstanceUID = CTImageStorage, uid
    tags.StudyInstanceUID = tags.SeriesInstanceUID = generate_uid()
    tags.PatientName, tags.PatientID, tags.PatientBirthDate = "Doe^Ann", "17", "19500203"
    tags.Modality, tags.StudyDate = "CT", "20210304"
    tags.Rows = tags.Columns = 64
    tags.SamplesPerPixel, tags.PhotometricInterpretation = 1, "MONOCHROME2"
    tags.BitsAllocated, tags.BitsStored, tags.HighBit, tags.PixelRepresentation = 16, 16, 15, 0
    tags.ImagePositionPatient, tags.ImageOrientationPatient = [0, 0, 0], [1, 0, 0, 0, 1, 0]
    tags.PixelSpacing, tags.SliceThickness = [1, 1], 1
    tags.RescaleSlope, tags.RescaleIntercept = 1, -1024
    tags.PixelData = np.asarray(values).astype("<u2").tobytes()
    return tags


def _write_series(folder: Path) -> None:
    """Five slices of one CT."""
    import pydicom
    from pydicom.uid import UID

    for number in range(5):
        one = pydicom.dcmread(folder.parent / "d.dcm")
        one.SeriesInstanceUID = one.StudyInstanceUID
        one.SOPInstanceUID = one.file_meta.MediaStorageSOPInstanceUID = UID(f"1.2.3.{number + 1}")
        one.ImagePositionPatient, one.InstanceNumber = [0, 0, number], number + 1
        one.save_as(folder / f"{number}.dcm", enforce_file_format=True)
