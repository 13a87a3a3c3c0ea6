"""Where the pictures of a source lie: within it, or beside it where `sources/` says so.

Raw cases of the phantom name pictures of the release that lies beside them. A source whose folder
is called `sources/NAME` may therefore name files under the folder that holds `sources`; any other
source names files of its own, and a path that leads elsewhere is refused.
"""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

from overread.errors import Refused
from overread.storage.fence import Fence


def source_folder(source: Path) -> Path:
    """The folder that pictures are named relative to."""
    return source if source.is_dir() else source.parent


def picture_path(source: Path, file: str) -> Path:
    """The real path of a picture; raises `NotThere` or `Refused`."""
    root, inside = _resolve_root(source, file)
    return Fence(root).path(inside)


def _resolve_root(source: Path, file: str) -> tuple[Path, str]:
    base = source_folder(source).absolute()
    inside = not PurePosixPath(file).is_absolute() and not os.path.normpath(file).startswith("..")
    if inside or base.parent.name != "sources" or "\0" in file:
        return base, file
    root = base.parent.parent
    below = os.path.normpath(base.relative_to(root) / file)
    if PurePosixPath(below).is_absolute() or below.startswith(".."):
        raise Refused(
            f"the path {file[:120]} leads out of the source",
            where=str(source),
            remedy="copy the pictures into the folder of the source",
        )
    return root, below
