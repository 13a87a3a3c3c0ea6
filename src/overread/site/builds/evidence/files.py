"""Where the pictures of a question lie: in its folder, in the source of its build, in a dataset."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overread.build.item import Question
from overread.build.ledger.last_run import load_last_context
from overread.build.rexgroundingct.scan_paths import scan_path
from overread.build.step import StepContext
from overread.errors import NotThere, OverreadError, Refused
from overread.site.builds.judge_checks import find_checked_run
from overread.site.shelf import BuildFolder, Shelf
from overread.storage.fence import Fence

PICTURE_FIELDS = (
    "image", "images", "picture", "pictures", "film", "films", "scan", "scans", "volume", "volumes",
)  # fmt: skip
"""Fields of what is shown that name pictures, or several in a list."""
MAX_PICTURES = 40
"""Pictures of one question."""
_MISSING = "the picture is missing"


@dataclass(frozen=True)
class EvidenceFile:
    """One picture of a question."""

    title: str
    """What it is called on the page: never its file's name."""
    source: Path | bytes | None
    problem: str = ""
    """Why it cannot be shown."""


def find_evidence_files(question: Question, build: BuildFolder, shelf: Shelf) -> list[EvidenceFile]:
    """The pictures of a question, in their order; what cannot be found says so."""
    run = find_checked_run(build, shelf)
    if run is not None:
        return _case_pictures(question, shelf, run)
    named = [
        (field if len(files) == 1 else f"{field} {number}", file)
        for field in PICTURE_FIELDS
        for files in [_file_names(question.shown.get(field))]
        for number, file in enumerate(files, 1)
    ][:MAX_PICTURES]
    if not named:
        return []
    context = load_last_context(build.folder)
    return [_locate(title, file, build, context) for title, file in named]


def _case_pictures(question: Question, shelf: Shelf, run: Any) -> list[EvidenceFile]:
    """The pictures of the case whose reading was judged."""
    try:
        split = shelf.split_of(run)
        pictures = split.case(question.item).pictures[:MAX_PICTURES]
    except OverreadError as error:
        return [EvidenceFile("picture", None, error.what)]
    found = []
    for picture in pictures:
        try:
            found.append(EvidenceFile(picture.name, split.release.pictures.data(picture)))
        except OverreadError:
            found.append(EvidenceFile(picture.name, None, _MISSING))
    return found


def _file_names(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return [str(one) for one in value]
    return []


def _locate(title: str, file: str, build: BuildFolder, context: StepContext | None) -> EvidenceFile:
    homes = [build.folder, *([context.source] if context is not None else [])]
    for home in homes:
        try:
            if home.is_dir():
                return EvidenceFile(title, Fence(home).path(file))
        except NotThere:
            continue
        except Refused as error:
            return EvidenceFile(title, None, error.what.replace(file, "it"))
    if context is not None and title.startswith("scan"):
        try:
            scan = scan_path(context, file)
        except OverreadError:
            scan = None
        if scan is not None:
            return EvidenceFile(title, scan)
    return EvidenceFile(title, None, _MISSING)
