"""Where the pictures of a question lie: in its folder, in the source of its build, in a dataset."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from overread.build.adjudication.question_file import LEDGER
from overread.build.item import Question
from overread.build.ledger_tables import looked_at, told
from overread.build.rexgroundingct.scans import scan_path
from overread.build.step import Desk
from overread.errors import NotThere, OverreadError, Refused
from overread.pixels.fence import Fence
from overread.site.builds.judged import run_of
from overread.site.shelf import Build, Shelf

NAMES = (
    "image", "images", "picture", "pictures", "film", "films", "scan", "scans", "volume", "volumes",
)  # fmt: skip
"""Fields of what is shown that name pictures, or several in a list."""
MOST = 40
"""Pictures of one question."""
_LOST = "the picture is not there any more"


@dataclass(frozen=True)
class Piece:
    """One picture of a question."""

    title: str
    """What it is called on the page: never its file's name."""
    source: Path | bytes | None
    problem: str = ""
    """Why it cannot be shown."""


def pieces_of(question: Question, build: Build, shelf: Shelf) -> list[Piece]:
    """The pictures of a question, in their order; what cannot be found says so."""
    run = run_of(build, shelf)
    if run is not None:
        return _of_case(question, shelf, run)
    named = [
        (field if len(files) == 1 else f"{field} {number}", file)
        for field in NAMES
        for files in [_files(question.shown.get(field))]
        for number, file in enumerate(files, 1)
    ][:MOST]
    if not named:
        return []
    desk = desk_of(build)
    return [_found(title, file, build, desk) for title, file in named]


def desk_of(build: Build) -> Desk | None:
    """The source and the settings that a build was last made with; None where it has no ledger."""
    if not (build.folder / LEDGER).is_file():
        return None
    base = looked_at(build.folder)
    try:
        with told(build.folder):
            row = base.execute("SELECT told FROM sittings ORDER BY id DESC LIMIT 1").fetchone()
    finally:
        base.close()
    try:
        sitting = json.loads(row[0]) if row is not None else {}
        source = Path(str(sitting["source"]))
    except (ValueError, KeyError, TypeError):
        return None
    settings = sitting.get("settings")
    plain: Mapping[str, str] = (
        {str(name): str(value) for name, value in settings.items()}
        if isinstance(settings, dict)
        else {}
    )
    # What the steps are handed, as far as finding files goes: nobody is asked here.
    return cast(Desk, SimpleNamespace(source=source, folder=build.folder, settings=plain, seed=0))


def _of_case(question: Question, shelf: Shelf, run: Any) -> list[Piece]:
    """The pictures of the case whose reading was judged."""
    try:
        split = shelf.split_of(run)
        pictures = split.case(question.item).pictures[:MOST]
    except OverreadError as error:
        return [Piece("picture", None, error.what)]
    found = []
    for picture in pictures:
        try:
            found.append(Piece(picture.name, split.release.pictures.data(picture)))
        except OverreadError:
            found.append(Piece(picture.name, None, _LOST))
    return found


def _files(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return [str(one) for one in value]
    return []


def _found(title: str, file: str, build: Build, desk: Desk | None) -> Piece:
    homes = [build.folder, *([desk.source] if desk is not None else [])]
    for home in homes:
        try:
            if home.is_dir():
                return Piece(title, Fence(home).path(file))
        except NotThere:
            continue
        except Refused as error:
            return Piece(title, None, error.what.replace(file, "it"))
    if desk is not None and title.startswith("scan"):
        try:
            scan = scan_path(desk, file)
        except OverreadError:
            scan = None
        if scan is not None:
            return Piece(title, scan)
    return Piece(title, None, _LOST)
