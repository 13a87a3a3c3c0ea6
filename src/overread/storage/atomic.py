"""Writing files and folders so that a kill at any moment leaves the old one or the new one whole.

A kill that nobody can catch leaves a hidden file or folder beside it as well, which nothing reads. The
same file written again takes its place, and `remove_leftovers` takes away the others. While they are
written they are locked, and the lock ends with the process: so what a kill left is told from what
somebody else is writing just now.
"""

from __future__ import annotations

import filecmp
import glob
import hashlib
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
from overread.storage.locks import lock_if_free, lock_own, remove_if_free
from overread.storage.system import (
    keeps_lock_while_removing,
    open_binary,
    open_lockable,
    take_place,
)
from overread.storage.system_errors import name_target

_HEX = "[0-9a-f]" * 32
LEFTOVER = f".{_HEX}.part"
"""The names of files that are being written, as a pattern."""
_CHOOSE = "choose another name, or remove it first"


@contextmanager
def open_atomic(
    path: Path, *, compress: bool = True, exclusive: bool = False, mode: int = 0o666, tidy: bool = False
) -> Iterator[BinaryIO]:
    """A stream that becomes `path` when all went well.

    Where the name ends in .gz what is written is compressed, unless `compress` says no (for bytes
    that are gzip already). With `exclusive`, a file that is there by then is never replaced; one that
    holds the very same bytes will do.
    `mode` is what the file allows to whom, less what the system takes away. With `tidy`, for a file that a
    command writes once, what kills left in its folder is cleared away first.

    The gzip header carries no time and no name, so equal content gives equal bytes.
    """
    with name_target(path, path):
        path.parent.mkdir(parents=True, exist_ok=True)
    if tidy:
        remove_leftovers(path.parent)
    number, part = _create_locked(path, mode)
    with name_target(path, part):
        held = os.dup(number) if keeps_lock_while_removing() else None
        try:
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
                take_place(part, path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        finally:
            if held is not None:  # locked to its end: nobody takes it for what a kill left
                os.close(held)


def _create_locked(path: Path, mode: int) -> tuple[int, Path]:
    """A new hidden file beside `path` that is locked, and its name.

    The name follows from that of `path`, so what a kill left of it is replaced when it is written
    again. Where somebody else writes `path` just now, it is a name that nobody has: several threads may
    write the same file, and the last one wins whole.
    """
    part = _part_of(path)
    while True:
        if not remove_if_free(part):
            part = path.with_name(f".{uuid.uuid4().hex}.part")
        with name_target(path, part):
            try:
                number = open_binary(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            except FileExistsError:  # somebody else was faster
                continue
        lock_own(number)
        try:
            if part.stat().st_ino == os.fstat(number).st_ino:
                return number, part
        except FileNotFoundError:  # somebody cleared it away before the lock held
            pass
        os.close(number)


def _part_of(path: Path) -> Path:
    """The hidden file beside `path` in which it is written."""
    name = hashlib.sha256(os.fsencode(path.name)).hexdigest()[:32]
    return path.with_name(f".{name}.part")


def remove_part_of(path: Path) -> None:
    """Take away what a kill left of the writing of a file, also where the file is whole by now."""
    with suppress(OSError):
        remove_if_free(_part_of(path))


def _link_exclusive(part: Path, path: Path) -> None:
    """Give the finished file its name, unless something has it already: one step, no race."""
    try:
        os.link(part, path)
    except FileExistsError:
        if not is_same(part, path):
            raise UsageError(f"{path} already exists and is another file", remedy=_CHOOSE) from None
    except OSError:  # a file system without links
        take_place(part, path)
        return
    part.unlink()


@contextmanager
def replace_folder(folder: Path) -> Iterator[Path]:
    """A place beside `folder`; what the block makes there becomes `folder` when it ends well.

    Where the block makes nothing, `folder` is only taken away.
    """
    part, old = (folder.with_name(f".{folder.name}-{uuid.uuid4().hex}") for _ in range(2))
    try:
        with name_target(folder, part):
            yield part
        if folder.exists():
            folder.rename(old)  # kept until the new one stands
        if part.exists():
            part.rename(folder)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(part, ignore_errors=True)


@contextmanager
def stage(target: Path, *, replace: bool = False, remedy: str = _CHOOSE) -> Iterator[Path]:
    """A path of the same name in a hidden folder beside `target`; what the block makes there, and what
    it makes beside it, takes its place when the block ends well, `target` last.

    Nothing that is there is replaced unless `replace` says so, apart from an empty folder; where it is
    the very same it stays, so a command that was killed at its end can be given again. What earlier
    kills left of the same target is cleared away. A folder that holds other kinds of files than the new
    one is never replaced.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(target.parent, f".{glob.escape(target.name)}-{_HEX}")
    folder = target.with_name(f".{target.name}-{uuid.uuid4().hex}")
    folder.mkdir()
    handle = open_lockable(folder)
    try:
        lock_own(handle)
        with name_target(target, folder / target.name):
            yield folder / target.name
        made = sorted(folder.iterdir(), key=lambda path: (path.name == target.name, path.name))
        missing = []
        for path in made:
            there = target.with_name(path.name)
            if not _is_free(there) and is_same(path, there):
                continue
            if not _is_free(there) and not replace:
                raise UsageError(f"{there} already exists and is not the same", remedy=remedy)
            if not _is_free(there) and not _may_replace(there, path):
                what = f"{there} holds something else than what is to be written, and is not replaced"
                raise UsageError(what, remedy=_CHOOSE)
            missing.append(path)
        for path in missing:
            there = target.with_name(path.name)
            if there.is_dir():
                there.rename(folder / f".{path.name}")  # goes with the hidden folder
            take_place(path, there)
    finally:
        os.close(handle)
        shutil.rmtree(folder, ignore_errors=True)


def _is_free(there: Path) -> bool:
    return not there.exists() or (there.is_dir() and not any(there.iterdir()))


def _may_replace(there: Path, made: Path) -> bool:
    """Whether what is there is of the kind of what takes its place: a file, or a folder of such files."""
    if there.is_dir() != made.is_dir():
        return False
    kinds = {path.suffix for path in made.rglob("*")} if made.is_dir() else set()
    return made.is_file() or all(path.is_file() and path.suffix in kinds for path in there.rglob("*"))


def is_same(one: Path, other: Path) -> bool:
    """Whether two files, or two folders with all that is in them, hold the same bytes."""
    if not one.is_dir() or not other.is_dir():
        return one.is_file() and other.is_file() and filecmp.cmp(one, other, shallow=False)
    names = sorted(path.name for path in one.iterdir())
    if names != sorted(path.name for path in other.iterdir()):
        return False
    return all(is_same(one / name, other / name) for name in names)


def remove_leftovers(folder: Path, pattern: str = LEFTOVER, *, seconds: float = 0) -> None:
    """Take away what kills left half written, where it was not touched for so long; never what
    somebody is writing now.
    """
    for path in folder.glob(pattern):
        with suppress(OSError):  # somebody else may clear them away too
            if seconds and path.lstat().st_mtime > time.time() - seconds:
                continue
            if path.is_symlink():
                path.unlink()
                continue
            with lock_if_free(path) as free:  # held until it is gone: nobody begins to use it meanwhile
                if not free:
                    continue
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink()
