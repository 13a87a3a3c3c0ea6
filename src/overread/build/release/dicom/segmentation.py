"""DICOM segmentations: one segment a finding, referring to the CT series it was drawn on.

Where there is a DICOM series of a case (`--dicom DIR`, one folder a case by its id) the
segmentation refers to that. Else a minimal CT series is made from the NIfTI and written beside it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import Dataset

from overread import __version__
from overread.build.release.ct_volumes import find_volume, read_ct, read_labels
from overread.build.release.dicom.series import make_slices, reorient_labels, stable_uid
from overread.build.release.export_job import CannotExport, ExportJob, case_folder
from overread.core import Entry, Finding, Geometry, Release
from overread.ontology import finding_tree

SCHEME = "99OVERREAD"
"""Coding scheme of the categories: those of ReXGroundingCT, which no standard scheme has."""

Masks = NDArray[np.uint8]


def write_dicom_seg(job: ExportJob) -> None:
    """`SPLIT/CASE/seg.dcm`, and the made CT series in `SPLIT/CASE/ct/`."""
    for release in job.load_splits():
        for entry in job.entries(release):
            with job.track_case(entry):
                _write_case(job, release, entry)


def _write_case(job: ExportJob, release: Release, entry: Entry) -> None:
    found = entry.truth.findings if entry.truth else ()
    if not found:
        raise CannotExport("the release does not give its findings")
    folder = job.out / case_folder(entry)
    own = None if job.dicom is None else job.dicom / entry.case.id
    if own is not None and own.is_dir():
        images, space = _load_series(own)
        here = release.pictures.geometry(find_volume(entry))
        masks = [reorient_labels(read_labels(release, one, here) > 0, here, space) for one in found]
        segmentation = _make_segmentation(entry, found, masks, images)
        folder.mkdir(parents=True)
    else:
        if own is not None:
            job.notes.append(
                f"{entry.case.id} has no folder among the DICOM series: its series was made from the NIfTI"
            )
        volume, space = read_ct(release, entry)
        if volume.dtype.kind == "f" and not np.array_equal(volume, np.rint(volume)):
            job.notes.append(f"{entry.case.id}: values of its CT were rounded to whole HU")
        images = make_slices(volume, space, entry.case)
        masks = [read_labels(release, one, space) > 0 for one in found]
        segmentation = _make_segmentation(entry, found, masks, images)
        (folder / "ct").mkdir(parents=True)
        for number, image in enumerate(images, 1):
            image.save_as(folder / "ct" / f"{number:04d}.dcm", enforce_file_format=True)
    segmentation.save_as(folder / "seg.dcm")
    for one, mask in zip(found, masks, strict=True):
        if not mask.any():
            job.notes.append(f"{entry.case.id}: finding {one.query} has no voxel")


def _load_series(folder: Path) -> tuple[list[Dataset], Geometry]:
    """The slices of a series in order, and where they lie."""
    from pydicom import dcmread

    from overread.pixels.dicom.series import read_series

    found = read_series(folder)
    if len(set(found.files)) != len(found.files):
        raise CannotExport("its DICOM series is one file of many frames, which is not taken here")
    errors = [defect for defect in found.defects if defect.severity == "error"]
    if errors:
        raise CannotExport(f"its DICOM series cannot be relied on: {errors[0]}")
    return [dcmread(file) for file in found.files], found.geometry


def _make_segmentation(
    entry: Entry, found: Sequence[Finding], masks: Sequence[NDArray[Any]], images: Sequence[Dataset]
) -> Any:
    """The segmentation of a case, over the slices from the first marked to the last."""
    from highdicom.seg import Segmentation, SegmentationTypeValues

    marked = np.flatnonzero(np.any([mask.any(axis=(0, 1)) for mask in masks], axis=0))
    if not marked.size:
        raise CannotExport("its masks are empty")
    first, last = int(marked[0]), int(marked[-1]) + 1
    # (slice, row, column, segment): rows and columns are the second and first axis of the volume.
    frames: Masks = np.stack([mask[:, :, first:last] for mask in masks], axis=-1)
    frames = np.ascontiguousarray(frames.transpose(2, 1, 0, 3), dtype=np.uint8)
    key = (entry.case.benchmark, entry.case.split, entry.case.id)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on how hospitals write names in their headers
            made: Any = Segmentation(
                source_images=list(images[first:last]),
                pixel_array=frames,
                segmentation_type=SegmentationTypeValues.BINARY,
                segment_descriptions=[
                    _describe_segment(number, finding, key) for number, finding in enumerate(found, 1)
                ],
                series_instance_uid=stable_uid(*key, "segmentation series"),
                series_number=100,
                sop_instance_uid=stable_uid(*key, "segmentation"),
                instance_number=1,
                manufacturer="overread",
                manufacturer_model_name="overread export dicom-seg",
                software_versions=__version__,
                device_serial_number="0",
                content_label="FINDINGS",
                content_description="Findings of the release; not for patient care",
                series_description="Findings of the release; not for patient care",
            )
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        # Headers from outside lack what the standard asks for in more ways than can be foreseen.
        raise CannotExport(f"no segmentation can be made on its DICOM series ({error})") from None
    _make_repeatable(made, stable_uid(*key, "dimensions"))
    return made


def _make_repeatable(made: Any, dimensions: str) -> None:
    """Set what highdicom takes from the clock and by lot, so that the same release gives the same bytes."""
    day = made.get("StudyDate") or "20000101"
    made.InstanceCreationDate = made.ContentDate = day
    made.InstanceCreationTime = made.ContentTime = "000000"
    for one in made.get("ContributingEquipmentSequence", ()):
        one.ContributionDateTime = f"{day}000000"
    for one in (*made.DimensionOrganizationSequence, *made.DimensionIndexSequence):
        one.DimensionOrganizationUID = dimensions


def _describe_segment(number: int, finding: Finding, key: tuple[str, ...]) -> Any:
    """A segment by its category and sentence."""
    from highdicom.seg import SegmentAlgorithmTypeValues, SegmentDescription
    from highdicom.sr import CodedConcept

    known = finding_tree().categories.get(finding.category or "")
    kind = CodedConcept("52988006", "SCT", "Lesion")
    if known is not None:
        kind = CodedConcept(known.code, SCHEME, known.name[:64])
    named = f" ({finding.category})" if finding.category else ""
    made: Any = SegmentDescription(
        segment_number=number,
        segment_label=f"Finding {finding.query or number}{named}"[:64],
        segmented_property_category=CodedConcept("49755003", "SCT", "Morphologically Abnormal Structure"),
        segmented_property_type=kind,
        algorithm_type=SegmentAlgorithmTypeValues.MANUAL,
        tracking_uid=stable_uid(*key, "finding", str(number)),
        tracking_id=f"{key[-1]} finding {finding.query or number}"[:64],
    )
    made.SegmentDescription = finding.text[:1024]
    return made
