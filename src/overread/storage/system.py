"""What Linux, macOS and Windows do differently, and nothing else: no other file asks which one it is on.

    what                  Linux and macOS                   Windows
    line ends of a text   kept                              kept too, since `write_text` says so; left to
                                                            itself Python writes two characters for one
    a lock on a file      flock                             one byte far behind the data (msvcrt); a
                                                            shared lock is a lock for one
    a lock on a folder    flock on the folder               a file among the temporary ones, named by the
                                                            folder's path: seen on this machine only
    syncing a folder      fsync                             nothing: the system keeps names by itself
    taking a file's       one step                          one step, tried again for two seconds while
    place                                                   another program has the old file open
    what kills left       removed while it is locked        the lock is tried and let go of first: what is
                                                            open cannot be removed
    Ctrl-C, SIGTERM       handled by the event loop         handled by the process, handed to the loop
    Ctrl-C and workers    blocked while one is started      ignored by each worker
    telling workers off   SIGTERM: they tidy up             they end at once; the next command tidies up
    ending a program      SIGKILL to its process group      taskkill, with the programs it started
    who may read a file   its mode                          not looked at: access lists say it
    names                 nearly all                        'con', 'a:b' and 'a.' are refused
    caches                XDG_CACHE_HOME; ~/Library/Caches   LOCALAPPDATA
    cores                 those we may use (macOS: all)     all
    memory                asked of the system               asked of the system

mypy looks at each of the three by turns (`make check`), and a test runs commands with Windows' half.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_LOCKED_BYTE = 0x7FFF_FFFE
"""Where Windows' lock lies: behind the data, for it would keep others from reading what it covers."""
_PATIENCE = 2.0
"""Seconds for which Windows is asked again to let a file take another one's place."""
_PAUSE = 0.05
_DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$) *(\..*)?", re.IGNORECASE)


# ---- files and folders -----------------------------------------------------------------------


def open_binary(path: Path, flags: int, mode: int = 0o666) -> int:
    """`os.open` for bytes; Windows would otherwise write every line end as two characters."""
    if sys.platform == "win32":
        flags |= os.O_BINARY
    return os.open(path, flags, mode)


def write_text(path: Path, text: str) -> None:
    """A text as UTF-8, the same bytes on every system: what is published is known by its hashes."""
    path.write_text(text, "utf-8", newline="\n")


def lock_handle(handle: int, *, wait: bool, shared: bool = False) -> None:
    """Lock an open file until it is closed; `BlockingIOError` where others hold it and we do not wait."""
    if sys.platform == "win32":
        here = os.lseek(handle, 0, os.SEEK_CUR)
        try:
            while True:
                os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
                try:
                    msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
                    return
                except PermissionError:
                    if not wait:
                        raise BlockingIOError("locked by another process") from None
                time.sleep(_PAUSE)
        finally:
            os.lseek(handle, here, os.SEEK_SET)
    else:
        how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(handle, how if wait else how | fcntl.LOCK_NB)


def open_lockable(path: Path) -> int:
    """A file or folder, opened so that it can be locked; a link is not followed."""
    if sys.platform == "win32":
        if not path.is_dir():
            return open_binary(path, os.O_RDONLY)
        import tempfile

        name = hashlib.sha256(os.path.normcase(path.resolve()).encode("utf-8", "replace")).hexdigest()[:32]
        locks = Path(tempfile.gettempdir()) / "overread-locks"
        locks.mkdir(exist_ok=True)
        return open_binary(locks / name, os.O_RDWR | os.O_CREAT)
    return os.open(path, os.O_RDONLY | os.O_NOFOLLOW)


def keeps_lock_while_removing() -> bool:
    """Whether a file can be removed while somebody has it open."""
    return sys.platform != "win32"


def sync_folder(folder: Path) -> None:
    """Have the disk keep that there is a new file."""
    if sys.platform != "win32":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def take_place(made: Path, target: Path) -> None:
    """Give what was made the name of what is there, a file or an empty folder."""
    if sys.platform == "win32":
        if target.is_dir():
            with suppress(OSError):  # what is in it stays, and the next step fails
                target.rmdir()
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            try:
                made.replace(target)
                return
            except PermissionError:
                time.sleep(_PAUSE)
    made.replace(target)


def others_may_read(file: Path) -> bool:
    """Whether the file's mode lets other users read it."""
    return sys.platform != "win32" and bool(file.stat().st_mode & 0o077)


def is_possible_name(file: str) -> bool:
    """Whether this system can have a file of that relative path, parts parted by slashes."""
    if sys.platform == "win32":
        return all(
            not re.search(r'[<>:"|?*\\\x00-\x1f]|[ .]$', part) and not _DEVICES.fullmatch(part)
            for part in PurePosixPath(file).parts
        )
    return True


def picture_viewer() -> str:
    """The program that opens a file with whatever the user has for it."""
    if sys.platform == "win32":
        return "explorer"
    return "open" if sys.platform == "darwin" else "xdg-open"


def home_folder() -> Path | None:
    """The user's own folder; None for a user without one, as in a container that runs as anybody."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def user_cache() -> Path:
    """Where programs keep what they can make again; a temporary place for a user without a home."""
    home = home_folder()
    if home is None:
        import tempfile

        home = Path(tempfile.gettempdir()) / f"overread-{os.getpid()}"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    if sys.platform == "darwin":
        return home / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")


# ---- signals ---------------------------------------------------------------------------------


@contextmanager
def handle_in_loop(loop: AbstractEventLoop, on_signal: Callable[[int], None]) -> Iterator[None]:
    """While the block runs, Ctrl-C and SIGTERM are told to `on_signal` in the event loop."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        if sys.platform == "win32":
            signal.signal(number, lambda told, _: loop.call_soon_threadsafe(on_signal, int(told)))
        else:
            loop.add_signal_handler(number, on_signal, int(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            if sys.platform != "win32":
                loop.remove_signal_handler(number)
            signal.signal(number, handler)


@contextmanager
def hold_back_interrupt() -> Iterator[None]:
    """Block Ctrl-C while a worker process is started, which must not inherit ours."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignore_interrupt_in_worker() -> None:
    """In a worker process: leave Ctrl-C to the parent, where it was not blocked at the start."""
    if sys.platform == "win32":
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def terminate_self() -> None:
    """Have this process run its handler of SIGTERM; called from a thread beside the main one."""
    if sys.platform == "win32":
        signal.raise_signal(signal.SIGTERM)  # os.kill would end it before the handler runs
    else:
        os.kill(os.getpid(), signal.SIGTERM)


def end_process_group(leader: int) -> None:
    """End a program that leads a process group of its own, and everything that it started."""
    if sys.platform == "win32":
        import subprocess

        subprocess.run(["taskkill", "/T", "/F", "/PID", str(leader)], capture_output=True, check=False)
    else:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)


# ---- the machine -----------------------------------------------------------------------------


def usable_cores() -> int:
    """How many cores this process may use."""
    if sys.platform in ("win32", "darwin"):
        return os.cpu_count() or 1
    return len(os.sched_getaffinity(0))


def memory_bytes() -> int:
    """How much memory the machine has."""
    if sys.platform == "win32":
        return _windows_memory()
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


if sys.platform == "win32":
    import ctypes

    class _MemoryStatus(ctypes.Structure):
        _fields_ = (
            ("length", ctypes.c_uint32),
            ("load", ctypes.c_uint32),
            *((name, ctypes.c_uint64) for name in ("all", "free", "page", "page_free", "own", "own_free")),
            ("extended", ctypes.c_uint64),
        )

    def _windows_memory() -> int:
        status = _MemoryStatus(length=ctypes.sizeof(_MemoryStatus))
        ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))
        return int(status.all)
