"""One 3D NIfTI a finding: entity numbers as the annotator drew them, the affine of the CT."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from overread.benchmarks.output import write_jsonl
from overread.build.release.ct_volumes import Labels, find_volume, read_labels
from overread.build.release.export_job import CannotExport, ExportJob, case_folder
from overread.core import Entry, Geometry, Release
from overread.pixels.nifti import write_volume


def write_finding_masks(job: ExportJob) -> None:
    """`SPLIT/CASE/finding-N.nii.gz`, and a line for each in `findings.jsonl`."""

    def rows() -> Iterator[dict[str, Any]]:
        for release in job.load_splits():
            for entry in job.entries(release):
                made: list[dict[str, Any]] = []
                with job.track_case(entry):
                    made = _write_case(job, release, entry)
                yield from made

    write_jsonl(job.out / "findings.jsonl", rows())


def _write_case(job: ExportJob, release: Release, entry: Entry) -> list[dict[str, Any]]:
    if entry.truth is None or not entry.truth.findings:
        raise CannotExport("the release does not give its findings")
    space = release.pictures.geometry(find_volume(entry))
    # All are read first, so that a case is written whole or not at all.
    channels = [(one, read_labels(release, one, space)) for one in entry.truth.findings]
    made = []
    for number, (finding, labels) in enumerate(channels):
        file = f"{case_folder(entry)}/finding-{finding.query or number}.nii.gz"
        (job.out / file).parent.mkdir(parents=True, exist_ok=True)
        write_volume(job.out / file, shrink_dtype(labels), np.asarray(space.affine))
        if not labels.any():
            job.notes.append(f"{entry.case.id}: finding {finding.query} has no voxel")
        made.append(
            {
                "file": file,
                "split": release.split,
                "case": entry.case.id,
                "finding": finding.query,
                "text": finding.text,
                "category": finding.category,
                "entities": len(np.unique(labels[labels > 0])),
                "voxels": int((labels > 0).sum()),
                "millilitres": round(_volume_ml(labels, space), 3),
            }
        )
    return made


def shrink_dtype(labels: Labels) -> Labels:
    """The labels in the smallest unsigned type that holds them."""
    kind: Any = np.uint8 if labels.max(initial=0) <= 255 else np.uint16
    return labels.astype(kind, copy=False)


def _volume_ml(labels: Labels, space: Geometry) -> float:
    voxel = abs(float(np.linalg.det(np.asarray(space.affine)[:3, :3])))
    return int((labels > 0).sum()) * voxel / 1000
