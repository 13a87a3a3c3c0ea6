"""Locks between processes. The system lets go of them when a process ends, however it ends."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from overread.errors import LocksFail, OverreadError
from overread.storage.system import keeps_lock_while_removing, lock_handle, open_lockable


def lock_file(
    file: int | IO[bytes], where: Path, *, busy: OverreadError | None = None, shared: bool = False
) -> None:
    """Lock an open file until it is closed. Where others hold it: raise `busy`, or wait.

    A file system that locks nothing is told with `where`: without a lock two processes could write
    there at once.
    """
    try:
        lock_handle(file if isinstance(file, int) else file.fileno(), wait=busy is None, shared=shared)
    except BlockingIOError:
        if busy is None:
            raise
        raise busy from None
    except OSError as error:
        raise LocksFail(
            f"nothing can be locked on this file system ({error.strerror})",
            where=str(where),
            remedy="choose a place on a local disk, or mount the share with locks (of NFS: not `nolock`, and "
            "a lock service that runs)",
        ) from None


def wait_for_lock(file: int, on_wait: Callable[[], None]) -> None:
    """Lock an open file until it is closed; `on_wait` is called first where others hold it.

    A file system without locks goes without.
    """
    try:
        lock_handle(file, wait=False)
    except BlockingIOError:
        on_wait()
        lock_handle(file, wait=True)
    except OSError:
        return


@contextmanager
def lock_folder(folder: Path, *, busy: OverreadError | None = None) -> Iterator[None]:
    """Hold the lock of a folder, which must exist, while the block runs."""
    handle = open_lockable(folder.resolve())
    try:
        lock_file(handle, folder, busy=busy)
        yield
    finally:
        os.close(handle)


def lock_own(file: int) -> None:
    """Lock a file that was just made, so that others see it is in use; a file system without locks
    goes without.
    """
    with suppress(OSError):
        lock_handle(file, wait=True)


@contextmanager
def lock_if_free(path: Path) -> Iterator[bool]:
    """Hold the lock of a file or folder while the block runs; False where somebody else holds it."""
    handle = open_lockable(path)
    closed = False
    try:
        try:
            lock_handle(handle, wait=False)
        except BlockingIOError:
            yield False
            return
        except OSError:  # no locks here: nobody can be seen to hold it
            pass
        if not keeps_lock_while_removing():
            os.close(handle)
            closed = True
        yield True
    finally:
        if not closed:
            os.close(handle)


def remove_if_free(path: Path) -> bool:
    """Whether nothing has this name, or no longer: a file that nobody holds is removed.

    Where nothing can be locked nobody can be seen to hold it, and it stays.
    """
    if not keeps_lock_while_removing():
        return not path.exists()
    try:
        handle = open_lockable(path)
    except FileNotFoundError:
        return True
    except OSError:  # not ours
        return False
    try:
        lock_handle(handle, wait=False)
        # It may have got another name meanwhile, and this name another file.
        if path.stat().st_ino != os.fstat(handle).st_ino:
            return False
        path.unlink()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return True
