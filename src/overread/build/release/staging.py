"""A folder that appears whole or not at all, however its making ends."""

from __future__ import annotations

import glob
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from overread.errors import UsageError
from overread.storage.atomic import remove_leftovers
from overread.storage.locks import lock_folder
from overread.storage.system import take_place
from overread.storage.system_errors import name_target


@contextmanager
def staging_folder(out: Path) -> Iterator[Path]:
    """An empty folder that becomes `out` when the block ends well; else it is taken away.

    It lies hidden beside `out`. What a kill left of it is removed by the next attempt; an attempt
    that is still going on is left alone, and an `out` with something in it is never touched.
    """
    shell = out.resolve().with_name(f".{out.resolve().name}.unfinished")
    try:
        require_empty(out)
    except UsageError:
        # A kill just after the folder took its place left what it was made in.
        remove_leftovers(shell.parent, glob.escape(shell.name))
        raise
    out = out.resolve()  # so that '.' and 'here/..' have a name to be hidden under
    shell.mkdir(parents=True, exist_ok=True)
    busy = UsageError(
        f"another command is writing {out} just now", remedy="wait for it, or choose another folder"
    )
    # The folder around it is locked, not the one that is written: writers lock that themselves.
    with lock_folder(shell, busy=busy):
        remove_leftovers(shell, "*")
        try:
            part = shell / out.name
            with name_target(out, part):
                part.mkdir()
                yield part
            require_empty(out)
            take_place(part, out)
        finally:
            shutil.rmtree(shell, ignore_errors=True)


def require_empty(out: Path) -> None:
    """Refuse a place where something is already; an empty folder will do."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise UsageError(f"{out} is there and is no folder", remedy="choose another place")
    if out.is_dir() and any(out.iterdir()):
        raise UsageError(f"{out} already exists", remedy="choose another folder, or remove it first")
