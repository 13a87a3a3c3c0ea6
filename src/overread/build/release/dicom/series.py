"""A CT volume as a DICOM series, and masks brought onto a series that was there before.

NIfTI counts millimetres to the right, the front and the head (RAS), DICOM to the left, the back
and the head (LPS): the first two signs change. Voxels stay as they are: column i, row j, slice k
of the volume are column, row and slice of the series.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom import uid
from pydicom.dataset import Dataset, FileMetaDataset

from overread import __version__
from overread.build.release.export_job import CannotExport
from overread.core import Case, Geometry
from overread.pixels.geometry import Array

_TO_LPS = np.diag([-1.0, -1.0, 1.0])
_MAX_SKEW = 1e-3
_MAX_DRIFT = 0.05
"""Voxels by which two grids may differ and still be the same."""


def stable_uid(*words: str) -> uid.UID:
    """A UID that the same words always give; nothing of them can be read off it."""
    return uid.generate_uid(entropy_srcs=["overread", *words])


def make_slices(volume: Array, space: Geometry, case: Case) -> list[Dataset]:
    """The CT images of a volume, one a slice, in slice order.

    Values are whole HU; others are rounded. Patient and study are called as the release calls the
    case, which it made up.
    """
    affine = np.asarray(space.affine)
    across, down = (_TO_LPS @ affine[:3, axis] / space.spacing[axis] for axis in (0, 1))
    if abs(float(across @ down)) > _MAX_SKEW:
        raise CannotExport("its rows and columns are not at right angles, as DICOM needs them")
    key = (case.benchmark, case.split, case.id)
    step = _TO_LPS @ affine[:3, 2]
    thickness = abs(float(step @ np.cross(across, down)))
    whole = np.clip(np.rint(volume), -32768, 32767).astype("<i2")
    made = []
    for k in range(space.shape[2]):
        place = _TO_LPS @ affine[:3, 3] + k * step
        image = _new_image(case, stable_uid(*key, "ct", str(k)))
        image.SeriesInstanceUID = stable_uid(*key, "ct series")
        image.FrameOfReferenceUID = stable_uid(*key, "frame of reference")
        image.InstanceNumber = k + 1
        image.ImagePositionPatient = [_decimal_string(value) for value in place]
        image.ImageOrientationPatient = [_decimal_string(value) for value in (*across, *down)]
        image.PixelSpacing = [_decimal_string(space.spacing[1]), _decimal_string(space.spacing[0])]
        image.SliceThickness = _decimal_string(thickness)
        image.Rows, image.Columns = space.shape[1], space.shape[0]
        image.PixelData = np.ascontiguousarray(whole[:, :, k].T).tobytes()
        image["PixelData"].VR = "OW"
        made.append(image)
    return made


def _new_image(case: Case, own: uid.UID) -> Dataset:
    """A CT image with everything but its pixels and its place."""
    image = Dataset()
    image.file_meta = FileMetaDataset()
    image.file_meta.TransferSyntaxUID = uid.ExplicitVRLittleEndian
    image.file_meta.MediaStorageSOPClassUID = uid.CTImageStorage
    image.file_meta.MediaStorageSOPInstanceUID = own
    image.SOPClassUID, image.SOPInstanceUID = uid.CTImageStorage, own
    image.StudyInstanceUID = stable_uid(case.benchmark, case.split, case.id, "study")
    image.Modality, image.Manufacturer = "CT", "overread"
    image.SoftwareVersions = __version__
    image.ImageType = ["DERIVED", "SECONDARY", "AXIAL"]
    image.SeriesDescription = "CT of the release, from NIfTI; not for patient care"
    image.SeriesNumber = 1
    image.PatientID = (case.patient or case.id)[:64]
    image.PatientName = f"{image.PatientID}^"  # one name on purpose, says the caret
    image.StudyID = case.id[:16]
    for keyword in (
        "PatientBirthDate",
        "PatientSex",
        "StudyDate",
        "StudyTime",
        "AccessionNumber",
        "ReferringPhysicianName",
        "PositionReferenceIndicator",
        "AcquisitionNumber",
        "KVP",
        # No NIfTI tells how the patient lay, nor of a side: both are there, and empty.
        "PatientPosition",
        "Laterality",
    ):
        setattr(image, keyword, None)
    image.SamplesPerPixel, image.PhotometricInterpretation = 1, "MONOCHROME2"
    image.BitsAllocated, image.BitsStored, image.HighBit = 16, 16, 15
    image.PixelRepresentation = 1
    image.RescaleSlope, image.RescaleIntercept, image.RescaleType = 1, 0, "HU"
    image.WindowCenter, image.WindowWidth = -600, 1500
    return image


def _decimal_string(value: float) -> str:
    """A decimal string of at most 16 letters, as DICOM has it, as exact as that allows.

    >>> _decimal_string(-0.1234567890123456), _decimal_string(512.0), _decimal_string(-0.0)
    ('-0.1234567890123', '512', '0')
    """
    value = float(value) + 0.0  # no negative zero
    for digits in range(17, 0, -1):
        text = f"{value:.{digits}g}"
        if len(text) <= 16:
            return text
    return f"{value:.8e}"


def reorient_labels(labels: NDArray[Any], own: Geometry, other: Geometry) -> NDArray[Any]:
    """Labels of one grid in the array order of another that has the same voxels.

    Only turned and flipped, so no voxel is made up; grids that are not the same are refused.
    """
    between = np.linalg.inv(np.asarray(own.affine)) @ np.asarray(other.affine)
    whole = np.rint(between)
    far = np.array([*other.shape, 1.0]) - 1
    far[3] = 1.0
    corners = np.array([np.where(np.array(bits), far[:3], 0) for bits in np.ndindex(2, 2, 2)])
    corners = np.hstack([corners, np.ones((8, 1))])
    drift = np.abs((between - whole) @ corners.T).max()
    turn = whole[:3, :3]
    if drift > _MAX_DRIFT or not np.array_equal(np.abs(turn).sum(axis=0), np.ones(3)):
        raise CannotExport(
            f"the DICOM series does not have the voxels of the CT (they lie up to {drift:.2f} voxels apart)"
        )
    order = [int(np.flatnonzero(turn[:, axis])[0]) for axis in range(3)]
    turned = labels.transpose(order)
    if turned.shape != tuple(other.shape):
        raise CannotExport(f"the DICOM series has {other.shape} voxels, the CT {tuple(turned.shape)}")
    flips = tuple(slice(None, None, int(turn[order[axis], axis])) for axis in range(3))
    # A flip is right only if it begins at the far end, and a plain axis at the near one.
    begins = [float(whole[order[axis], 3]) for axis in range(3)]
    ends = [0.0 if turn[order[axis], axis] > 0 else labels.shape[order[axis]] - 1 for axis in range(3)]
    if begins != ends:
        raise CannotExport("the DICOM series begins at another voxel than the CT")
    return turned[flips]
