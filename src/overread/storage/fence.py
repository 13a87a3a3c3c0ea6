"""The fence around a release: no path in it leads out of it.

Rows of a release come from outside, and so do the links in its folders. Every path is checked
here before anything is opened: relative, without `..`, a regular file, and inside the root even
after all links are followed.
"""

from __future__ import annotations

import os
import re
import stat
from functools import lru_cache
from pathlib import Path, PurePosixPath, PureWindowsPath

from overread.errors import NotThere, Refused

_REMEDY_LINK = "copy the file into the release, or name its folder with --pictures"


class Fence:
    """Resolves relative paths inside one folder."""

    def __init__(self, root: Path) -> None:
        """Fence in `root`, which must exist."""
        self._given = root
        root = Path(os.path.abspath(root))
        self.root = root
        # A snapshot in the hub's cache is a folder of links into its sibling `blobs`; that is
        # how the hub stores a release, so the blobs belong to it.
        self._inside = [os.path.realpath(root)]
        blobs = root.parent.parent / "blobs"
        if root.parent.name == "snapshots" and re.fullmatch(r"[0-9a-f]{40}", root.name):
            self._inside.append(os.path.realpath(blobs))
        self._real_folder = lru_cache(maxsize=65536)(os.path.realpath)

    def path(self, file: str) -> Path:
        """The real path of a file of the release; raises `NotThere` or `Refused`."""
        full = self._checked_join(file)
        folder, name = os.path.split(full)
        try:
            status = os.lstat(full)
        except (FileNotFoundError, NotADirectoryError):
            raise NotThere(f"there is no file {file}", where=str(self.root)) from None
        except (OSError, ValueError) as error:
            raise Refused(f"the path {_shorten(file)} cannot be used ({error})") from None
        if stat.S_ISLNK(status.st_mode):
            real = os.path.realpath(full)
            if not os.path.exists(real):
                raise NotThere(f"{file} is a link to a file that is not there", where=str(self.root))
            status = os.stat(real)
        else:
            real = os.path.join(self._real_folder(folder), name)
        if not any(real.startswith(home + os.sep) for home in self._inside):
            raise Refused(f"{file} is a link out of the release", remedy=_REMEDY_LINK)
        if not stat.S_ISREG(status.st_mode):
            raise Refused(f"{file} is not a regular file", where=str(self.root))
        return Path(real)

    def has(self, file: str) -> bool:
        """Whether the file is there and may be opened."""
        try:
            self.path(file)
        except (NotThere, Refused):
            return False
        return True

    def path_to_write(self, file: str) -> Path:
        """Where a file of that name would be written; the same rules, and it need not exist."""
        full = self._checked_join(file)
        folder = os.path.realpath(os.path.dirname(full))
        inside = any((folder + os.sep).startswith(home + os.sep) for home in self._inside)
        if not inside or os.path.islink(full):
            raise Refused(f"{_shorten(file)} would be written through a link out of the folder")
        return self._given / file

    def _checked_join(self, file: str) -> str:
        """The joined path, refused where its words alone would lead out."""
        if not file or "\0" in file or len(file) > 1024:
            raise Refused(f"{_shorten(file)!r} is not a path")
        parts = PurePosixPath(file).parts
        if PurePosixPath(file).is_absolute() or PureWindowsPath(file).drive or ".." in parts:
            raise Refused(
                f"the path {_shorten(file)} leads out of the release",
                remedy="paths in a release are relative and have no '..'",
            )
        return os.path.join(self.root, file)


def _shorten(text: str) -> str:
    return text if len(text) <= 120 else text[:117] + "…"
