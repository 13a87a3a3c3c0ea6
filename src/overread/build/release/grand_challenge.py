"""Grand-challenge's folders: what an algorithm container finds as its input, one folder a case.

    SPLIT/CASE/input/images/ct/CASE.mha    the CT
    SPLIT/CASE/input/findings.json         the sentences to be found
    SPLIT/CASE/input/inputs.json           both, as grand-challenge lists them
    ground_truth/SPLIT/CASE.mha            the masks, one channel a finding, for the evaluation

A container that is run on SPLIT/CASE/input and SPLIT/CASE/output leaves masks that `overread grade`
reads from the same folder.
"""

from __future__ import annotations

import json
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import numpy as np

from overread.benchmarks.rexgroundingct.grand_challenge import CT_SLUG, image_value
from overread.build.release.ct_volumes import read_ct, read_labels
from overread.build.release.export_job import CannotExport, ExportJob, case_folder
from overread.build.release.finding_masks import shrink_dtype
from overread.core import Entry, Release
from overread.pixels.metaimage import write_metaimage
from overread.storage.system import write_text


def write_grand_challenge(job: ExportJob) -> None:
    """The inputs of every case, and the truth of those whose truth is not hidden."""
    for release in job.load_splits():
        for entry in job.entries(release):
            with job.track_case(entry):
                _write_case(job, release, entry)


def _write_case(job: ExportJob, release: Release, entry: Entry) -> None:
    case = entry.case
    volume, space = read_ct(release, entry)
    affine = np.asarray(space.affine)
    masks = None
    if not job.hides(case.split):
        found = entry.truth.findings if entry.truth else ()
        if not found or not all(finding.regions for finding in found):
            raise CannotExport("the release does not give where its findings are")
        masks = shrink_dtype(np.stack([read_labels(release, finding, space) for finding in found]))
    folder = job.out / case_folder(entry) / "input"
    picture = folder / "images" / CT_SLUG / f"{case.id}.mha"
    picture.parent.mkdir(parents=True)
    write_metaimage(picture, volume, affine)
    findings = [{"id": query.id, "text": query.text} for query in case.queries]
    own = str(uuid5(NAMESPACE_URL, f"overread ct {case.id}"))
    socket = {"slug": "findings", "relative_path": "findings.json", "kind": "Anything", "super_kind": "File"}
    told: list[dict[str, Any]] = [
        image_value(CT_SLUG, picture.name, own),
        {"image": None, "socket": socket, "interface": socket, "value": None},
    ]
    for name, value in (("findings.json", findings), ("inputs.json", told)):
        write_text(folder / name, json.dumps(value, ensure_ascii=False, indent=1) + "\n")
    if masks is not None:
        truth = job.out / "ground_truth" / case.split / f"{case.id}.mha"
        truth.parent.mkdir(parents=True, exist_ok=True)
        write_metaimage(truth, masks if len(masks) > 1 else masks[0], affine)
