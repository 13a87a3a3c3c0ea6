"""Writing files and folders so that a kill at any moment leaves the old one or the new one whole.

A kill that nobody can catch leaves a hidden file or folder beside it as well, which nothing reads
and `remove_leftovers` takes away.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from zlib_ng import gzip_ng

from overread.errors import UsageError

LEFTOVER = f".{'?' * 32}.part"
"""The names of files that are being written, as a pattern."""


@contextmanager
def open_atomic(
    path: Path, *, compress: bool = True, exclusive: bool = False, mode: int = 0o666
) -> Iterator[BinaryIO]:
    """A stream that becomes `path` when all went well.

    Where the name ends in .gz what is written is compressed, unless `compress` says no (for bytes
    that are gzip already). With `exclusive`, a file that is there by then is never replaced.
    `mode` is what the file allows to whom, less what the system takes away.

    The gzip header carries no time and no name, so equal content gives equal bytes.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # A name of its own: several threads may write the same file, and the last one wins whole.
    part = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        number = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with os.fdopen(number, "wb") as raw:
            if compress and path.name.endswith(".gz"):
                deflating: Any = gzip_ng.GzipNGFile
                with deflating("", "wb", 4, raw, mtime=0) as stream:
                    yield stream
            else:
                yield raw
            raw.flush()
            os.fsync(raw.fileno())
        if exclusive:
            _link_exclusive(part, path)
        else:
            part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _link_exclusive(part: Path, path: Path) -> None:
    """Give the finished file its name, unless something has it already: one step, no race."""
    try:
        os.link(part, path)
    except FileExistsError:
        raise UsageError(
            f"{path} already exists", remedy="choose another folder, or remove it first"
        ) from None
    except OSError:  # a file system without links
        part.replace(path)


@contextmanager
def replace_folder(folder: Path) -> Iterator[Path]:
    """A place beside `folder`; what the block makes there becomes `folder` when it ends well.

    Where the block makes nothing, `folder` is only taken away.
    """
    part, old = (folder.with_name(f".{folder.name}-{uuid.uuid4().hex}") for _ in range(2))
    try:
        yield part
        if folder.exists():
            folder.rename(old)  # kept until the new one stands
        if part.exists():
            part.rename(folder)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def remove_leftovers(folder: Path, pattern: str = LEFTOVER, *, seconds: float = 0) -> None:
    """Take away what kills left half written, where it was not touched for so long."""
    for path in folder.glob(pattern):
        with suppress(OSError):  # somebody else may clear them away too
            if seconds and path.lstat().st_mtime > time.time() - seconds:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
