"""The fence around a release: no path in it leads out of it.

Rows of a release come from outside, and so do the links in its folders. Every path is checked
here before anything is opened: relative, without `..`, a regular file, and inside the root even
after all links are followed.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path, PurePosixPath, PureWindowsPath

from overread.errors import NotThere, Refused
from overread.storage.system import is_possible_name

_REMEDY_LINK = "copy the file into the release, or name its folder with --pictures"


class Fence:
    """Resolves relative paths inside one folder."""

    def __init__(self, root: Path, *, linked: Iterable[str] = ()) -> None:
        """Fence in `root`, which must exist.

        Folders directly in it that bear one of the names in `linked` may be links to another place,
        which is then fenced in too. That is for large folders of one's own release on another disk,
        and only where nobody from outside says which files are opened there.
        """
        self._given = root
        root = Path(os.path.abspath(root))
        self.root = root
        # A snapshot in the hub's cache is a folder of links into its sibling `blobs`; that is
        # how the hub stores a release, so the blobs belong to it.
        self._inside = [os.path.realpath(root)]
        blobs = root.parent.parent / "blobs"
        if root.parent.name == "snapshots" and re.fullmatch(r"[0-9a-f]{40}", root.name):
            self._inside.append(os.path.realpath(blobs))
        for name in linked:
            if os.path.islink(root / name) and os.path.isdir(root / name):
                self._inside.append(os.path.realpath(root / name))
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

    def holds(self, file: str) -> bool:
        """Whether something of that name is there, even if it may not be opened."""
        try:
            return os.path.lexists(self._checked_join(file))
        except (Refused, ValueError):
            return False

    def refusal(self, file: str) -> Refused | None:
        """Why a file that is there may not be opened; None where it may, or is not there."""
        try:
            self.path(file)
        except NotThere:
            return None
        except Refused as error:
            return error
        return None

    def path_to_write(self, file: str) -> Path:
        """Where a file of that name would be written; the same rules, and it need not exist."""
        full = self._checked_join(file)
        if not is_possible_name(file):
            raise Refused(f"{_shorten(file)} cannot be a file's name on this system")
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
