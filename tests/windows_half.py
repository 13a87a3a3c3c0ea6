"""overread as it would run on Windows, as far as that can be had elsewhere: `python -m tests.windows_half …`.

Everything that overread stands on is imported first, as this system has it. Then `sys.platform` says
Windows, what Windows has not is taken away (fcntl and its neighbours, signal masks, opening a folder,
handlers in the event loop, removing a file that is open), and its locks stand in: bytes of a file,
locked by open file. So overread's own files take Windows' half of every choice they make.
"""

from __future__ import annotations

import asyncio
import builtins
import errno
import fcntl
import importlib
import os
import signal
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

ABSENT = ("fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty")
_PACKAGES = (
    "typer rich.console rich.progress rich.table rich.live pydantic numpy scipy.stats scipy.ndimage "
    "nibabel pydicom PIL.Image pyarrow.parquet zlib_ng.gzip_ng openai httpx2 fastapi uvicorn anyio "
    "multiprocessing.synchronize multiprocessing.popen_spawn_posix concurrent.futures.process sqlite3 "
    "tempfile ctypes pathlib shutil subprocess webbrowser getpass"
)


def become_windows() -> None:
    """From now on, overread's files see Windows."""
    for name in _PACKAGES.split():
        importlib.import_module(name)
    sys.modules["msvcrt"] = _make_msvcrt()
    for absent in ABSENT:
        sys.modules[absent] = None  # type: ignore[assignment]
    for module, names in (
        (os, ("sched_getaffinity", "sysconf", "O_NOFOLLOW", "O_CLOEXEC", "fork", "getuid", "killpg")),
        (signal, ("pthread_sigmask", "SIG_BLOCK", "SIG_SETMASK", "SIGKILL", "SIGHUP", "SIGALRM")),
    ):
        for name in names:
            delattr(module, name)
    os.O_BINARY = 0  # type: ignore[attr-defined]
    asyncio.BaseEventLoop.add_signal_handler = _not_there  # type: ignore[assignment]
    asyncio.SelectorEventLoop.add_signal_handler = _not_there  # type: ignore[assignment, method-assign]
    _refuse_folders()
    sys.platform = "win32"
    _answer_for_kernel()


def _not_there(*_: object) -> None:
    raise NotImplementedError


def _make_msvcrt() -> ModuleType:
    """Windows' lock of one byte at the file's position, by this system's lock of an open file."""
    module = ModuleType("msvcrt")
    lock: Any = fcntl.fcntl

    def locking(handle: int, mode: int, count: int) -> None:
        assert mode == 2  # the only one that overread asks for
        begin = os.lseek(handle, 0, os.SEEK_CUR)
        # Windows locks files that are open for reading only as well; this system does not.
        kind = fcntl.F_WRLCK if fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE else fcntl.F_RDLCK
        try:
            lock(handle, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", kind, os.SEEK_SET, begin, count, 0))
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                raise PermissionError(errno.EACCES, "Permission denied") from None
            raise

    module.locking = locking  # type: ignore[attr-defined]
    module.LK_NBLCK = 2  # type: ignore[attr-defined]
    return module


def _refuse_folders() -> None:
    """A folder cannot be opened; a file that is open cannot be removed or replaced."""
    real_open, real_unlink, real_replace = os.open, os.unlink, os.replace

    def open_file(path: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
        own = sys._getframe(1).f_globals.get("__name__", "").startswith("overread")
        if own and Path(path).is_dir():
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real_open(path, flags, mode, **more)

    def is_open(path: Any) -> bool:
        try:
            own = os.stat(path)  # noqa: PTH116
        except OSError:
            return False
        for number in range(3, 64):
            try:
                if os.path.samestat(os.fstat(number), own):
                    return True
            except OSError:
                continue
        return False

    def unlink(path: Any, **more: Any) -> None:
        if "dir_fd" not in more and is_open(path):
            raise PermissionError(errno.EACCES, "in use", str(path))
        real_unlink(path, **more)

    def replace(source: Any, target: Any, **more: Any) -> None:
        if is_open(source) or is_open(target) or Path(target).is_dir():
            raise PermissionError(errno.EACCES, "in use", str(target))
        real_replace(source, target, **more)

    os.open, os.unlink, os.replace = open_file, unlink, replace  # type: ignore[assignment]


def _answer_for_kernel() -> None:
    import ctypes

    class Kernel:
        """Says that there are eight gigabytes."""

        def GlobalMemoryStatusEx(self, status: Any) -> int:  # noqa: N802 - its name in Windows
            status._obj.all = 8 << 30
            return 1

    ctypes.windll = type("windll", (), {"kernel32": Kernel()})  # type: ignore[attr-defined]


def main(words: Sequence[str]) -> None:
    """`import`: every module of overread; else an overread command."""
    become_windows()
    if list(words) == ["import"]:
        import pkgutil

        import overread

        for module in pkgutil.walk_packages(overread.__path__, "overread."):
            if module.name not in ("overread.__main__", "overread.bridges.inspect_tasks"):
                importlib.import_module(module.name)
        builtins.print("all imported")
        return
    from overread.cli.main import main as command

    command(list(words))


if __name__ == "__main__":
    main(sys.argv[1:])
