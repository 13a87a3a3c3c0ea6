"""CTs as files that a program can open: NIfTI with a plain header, under a name that tells nothing.

A case's own file could be named by what is found in it, and it may be of another format, or altered
by an audit; so each CT is written anew, once for all sentences of its case.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from overread.core import Case, Geometry, Pictures, Volume
from overread.errors import ReaderError
from overread.pixels.nifti import write_volume


@dataclass(eq=False)
class CaseFolder:
    """What is on disk of one case while it is read."""

    folder: Path
    case: Case
    pictures: Pictures
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    space: Geometry | None = None
    drawn: dict[Any, Any] = field(default_factory=dict)
    """Masks that a program drew together with one that was asked for."""

    @property
    def ct(self) -> Path:
        """The CT."""
        return self.folder / "ct.nii.gz"

    async def write_ct(self) -> Geometry:
        """Have the CT on disk; gives its geometry."""
        if self.space is None:
            self.space = await asyncio.to_thread(self._write)
        return self.space

    def _write(self) -> Geometry:
        volume = self.case.pictures[0]
        space = self.pictures.geometry(volume)
        self.folder.mkdir(parents=True, exist_ok=True)
        write_volume(self.ct, self.pictures.pixels(volume), np.asarray(space.affine))
        return space


class CaseFolders:
    """The folders of the cases that are read just now, and of a few that were."""

    def __init__(self, kept: int) -> None:
        """`kept` is how many of those that nobody uses stay."""
        self._kept = kept
        self._open: list[CaseFolder] = []
        self._count = 0

    @contextlib.asynccontextmanager
    async def use(self, root: Path, case: Case, pictures: Pictures) -> AsyncIterator[CaseFolder]:
        """The folder of a case, to be used by one question at a time."""
        if not case.pictures or not isinstance(case.pictures[0], Volume):
            raise ReaderError("the first picture of the case is not a volume")
        found = next((f for f in self._open if f.case.id == case.id and f.pictures is pictures), None)
        if found is None:
            self._count += 1
            found = CaseFolder(root / f"case-{self._count}", case, pictures)
        else:
            self._open.remove(found)
        self._open.append(found)
        found.users += 1
        try:
            async with found.lock:
                yield found
        finally:
            found.users -= 1
            await self._remove_oldest()

    async def _remove_oldest(self) -> None:
        idle = [folder for folder in self._open if not folder.users]
        for folder in idle[: max(0, len(idle) - self._kept)]:
            self._open.remove(folder)
            await asyncio.to_thread(remove_folder, folder.folder)


def remove_folder(folder: Path) -> None:
    """Take a folder away, whatever a program has left in it."""
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
