"""ReXGroundingCT predictions in grand-challenge's folders: what an evaluation container is given.

    predictions.json                           a list of jobs: whose CT it was, what came out
    JOB/output/images/finding-masks/UUID.mha   the masks, one channel a finding

Where there is no predictions.json, the outputs of an algorithm beside its inputs are taken by the
name of the case: CASE/output/images/SLUG/ANY.mha. The slug of the masks may be any.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from overread.benchmarks.intake import Intake, format_few, make_printable
from overread.benchmarks.rexgroundingct.scan_names import scan_stem
from overread.benchmarks.rexgroundingct.submit import Add, write_submission
from overread.benchmarks.submitted_files import FolderFiles, Member, ZipFiles
from overread.core import Case, Progress, Release, WrittenSubmission
from overread.core.submission import FindFile, FindReading
from overread.errors import PictureError, SubmissionError
from overread.pixels.masks import copy_as_metaimage
from overread.pixels.nifti import read_header
from overread.storage.atomic import open_atomic

CT_SLUG, MASK_SLUG = "ct", "finding-masks"
LIST = "predictions.json"
_MAX_LIST = 64 << 20
_LAYOUT = re.compile(r"(?:^|/)([^/]+)/output/images/[^/]+/[^/]+\.mha$", re.IGNORECASE)
_ONE = "let a job write one .mha, with a channel for each finding"


def submit_grand_challenge(
    release: Release, readings: FindReading, source: FindFile, out: Path, *, progress: Progress | None = None
) -> WrittenSubmission:
    """Write the folder that an evaluation container finds as its input."""
    return write_submission(release, readings, source, out, packing=_open_jobs, progress=progress)


@contextmanager
def _open_jobs(out: Path) -> Iterator[Add]:
    """A new folder, one job a scan; numbers of jobs and files follow from the names of the scans."""
    out.mkdir()
    jobs: list[dict[str, Any]] = []

    def add(name: str, path: Path) -> None:
        stem = scan_stem(name)
        job, image, mask = (
            str(uuid.uuid5(uuid.NAMESPACE_URL, f"overread {part} {stem}")) for part in ("job", "ct", "mask")
        )
        target = out / job / "output" / "images" / MASK_SLUG / f"{mask}.mha"
        target.parent.mkdir(parents=True)
        copy_as_metaimage(path, target, np.asarray(read_header(path).affine))
        jobs.append(
            {
                "pk": job,
                "inputs": [image_value(CT_SLUG, f"{stem}.mha", image)],
                "outputs": [image_value(MASK_SLUG, f"{stem}.mha", mask)],
                "status": "Succeeded",
            }
        )

    yield add
    with open_atomic(out / LIST) as stream:
        stream.write(json.dumps(jobs, indent=1).encode("utf-8") + b"\n")


def image_value(slug: str, name: str, own: str) -> dict[str, Any]:
    """An image of a job, as grand-challenge lists it; sockets were once called interfaces."""
    socket = {"slug": slug, "relative_path": f"images/{slug}", "kind": "Image", "super_kind": "Image"}
    return {"image": {"pk": own, "name": name}, "socket": socket, "interface": socket, "value": None}


def find_outputs(
    files: FolderFiles | ZipFiles, cases: Mapping[str, Case], intake: Intake
) -> dict[str, Case] | None:
    """File of a mask → its case, where the files lie as grand-challenge lays them; else None.

    A job that failed, or has no mask or several, costs its case and is named.
    """
    by_id = {case.id: case for case in cases.values()}
    members = [member for member in files.members() if not member.is_clutter]
    lists = sorted((m for m in members if m.base == LIST), key=lambda m: m.name.count("/"))
    masks = [m for m in members if m.base.lower().endswith(".mha") and not m.refusal]
    if lists:
        return _follow_list(files, lists[0], masks, by_id, intake)
    found: dict[str, list[Member]] = {}
    for member in masks:
        placed = _LAYOUT.search(member.name)
        if placed is not None:
            found.setdefault(placed[1], []).append(member)
    if not found:
        return None
    chosen: dict[str, Case] = {}
    for name, own in found.items():
        if name in by_id:
            _choose(own, by_id[name], chosen, intake)
        else:
            intake.note_unknown_case(own[0].name)
    return chosen


def _follow_list(
    files: FolderFiles | ZipFiles,
    listed: Member,
    masks: list[Member],
    cases: Mapping[str, Case],
    intake: Intake,
) -> dict[str, Case]:
    """The masks of the jobs of a predictions.json."""
    before = listed.name.removesuffix(LIST)
    chosen: dict[str, Case] = {}
    for number, job in enumerate(_read_list(files, listed), 1):
        case = _case_of(job, cases)
        if case is None:
            what = f"entry {number} is for no scan of the split"
            intake.warn(what, "its input image should be named like the CT", file=LIST)
            continue
        status = job.get("status")
        if status not in (None, "Succeeded"):
            what = f"the job ended as '{make_printable(str(status))[:40]}'"
            intake.fail(case.id, what, "let it run again", file=LIST)
            continue
        folder = f"{before}{job.get('pk')}/output/"
        own = [member for member in masks if member.name.startswith(folder)]
        _choose(own, case, chosen, intake)
    return chosen


def _choose(own: list[Member], case: Case, chosen: dict[str, Case], intake: Intake) -> None:
    if len(own) != 1:
        names = format_few([make_printable(member.name) for member in own], len(own)) if own else "none"
        intake.fail(case.id, f"there are {len(own)} .mha files in its output ({names})", _ONE)
    else:
        chosen[own[0].name] = case


def _read_list(files: FolderFiles | ZipFiles, listed: Member) -> list[dict[str, Any]]:
    from overread.benchmarks.rows import parse_json

    remedy = "give the folder that holds predictions.json and the folders of the jobs"
    if listed.size > _MAX_LIST:
        raise SubmissionError(f"it has over {_MAX_LIST:,} bytes", where=LIST, remedy=remedy)
    try:
        source = files.source(listed.name)
        raw = source if isinstance(source, bytes) else source.read_bytes()
        told = parse_json(raw.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, OSError, PictureError) as error:
        raise SubmissionError(f"it cannot be read ({error})"[:200], where=LIST, remedy=remedy) from None
    if not isinstance(told, list) or not all(isinstance(job, dict) for job in told):
        raise SubmissionError("it is no list of jobs", where=LIST, remedy=remedy)
    return told


def _case_of(job: dict[str, Any], cases: Mapping[str, Case]) -> Case | None:
    """The case of a job, by the name of an image that went in."""
    inputs = job.get("inputs")
    for one in inputs if isinstance(inputs, list) else ():
        image = one.get("image") if isinstance(one, dict) else None
        name = image.get("name") if isinstance(image, dict) else None
        if isinstance(name, str) and scan_stem(name) in cases:
            return cases[scan_stem(name)]
    return None
