"""Where the pictures of a source lie: within it, or beside it where `sources/` says so.

Raw cases of the phantom name pictures of the release that lies beside them. A source whose folder
is called `sources/NAME` may therefore name files under the folder that holds `sources`; any other
source names files of its own, and a path that leads elsewhere is refused.
"""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

from pydantic import JsonValue

from overread.build.item import Item
from overread.build.medthinkvqa.fields import pictures_of
from overread.build.medthinkvqa.source import source_folder
from overread.build.step import StepContext
from overread.errors import PictureError, Refused
from overread.storage.fence import Fence


def picture_path(source: Path, file: str) -> Path:
    """The real path of a picture; raises `NotThere` or `Refused`."""
    root, inside = _resolve_root(source, file)
    return Fence(root).path(inside)


def is_within_source(file: str) -> bool:
    """Whether a picture lies in the source's own folder, as far as its name tells.

    >>> is_within_source("images/a.png"), is_within_source("../../images/a.png")
    (True, False)
    """
    return not PurePosixPath(file).is_absolute() and not os.path.normpath(file).startswith("..")


def _resolve_root(source: Path, file: str) -> tuple[Path, str]:
    base = source_folder(source).absolute()
    if is_within_source(file) or base.parent.name != "sources" or "\0" in file:
        return base, file
    root = base.parent.parent
    inside = os.path.normpath(base.relative_to(root) / file)
    if PurePosixPath(inside).is_absolute() or inside.startswith(".."):
        raise Refused(
            f"the path {file[:120]} leads out of the source",
            where=str(source),
            remedy="copy the pictures into the folder of the source",
        )
    return root, inside


def pictures_state(item: Item, context: StepContext) -> JsonValue:
    """How large each picture of an item is, or None where it is not there."""
    if context.settings.get("pictures") == "named":
        return None
    found: list[JsonValue] = []
    for picture in pictures_of(item):
        try:
            found.append(picture_path(context.source, picture.file).stat().st_size)
        except (PictureError, OSError):
            found.append(None)
    return found
