"""What the system refuses (no room, no memory, no threads, no locks), as a sentence with a place and a
remedy.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from overread.errors import OutOfResources, OverreadError, is_out_of_memory, is_out_of_threads

_FULL = frozenset((errno.ENOSPC, errno.EDQUOT))
_WRITING = _FULL | {errno.EROFS, errno.EFBIG}
"""What only writing can meet; so whoever writes can tell which file it was."""
_REMEDIES = {
    errno.ENOSPC: "make room there, or choose another place, and give the same command again",
    errno.EDQUOT: "your quota there is used up: delete something, or choose another place, and give the "
    "same command again",
    errno.EROFS: "nothing can be written on that file system: choose another place",
    errno.EFBIG: "the system allows no file that large here: raise the limit (`ulimit -f`), or choose "
    "another place",
    errno.EIO: "the disk or the network share failed: look at it (`dmesg`), or choose another place, and "
    "give the same command again",
    errno.ENOMEM: "close other programs, or use fewer --workers and a smaller --concurrency",
    errno.EMFILE: "too many files are open at once: raise the limit (`ulimit -n`), or use fewer --workers "
    "and a smaller --concurrency",
    errno.ENFILE: "too many files are open on this machine: close other programs",
}
_LESS = "close other programs, or use fewer --workers, a smaller --concurrency or a smaller split"


def remedy_for(error: OSError, otherwise: str) -> str:
    """What to do about an error of the system, or `otherwise` where it has no remedy of its own."""
    return _REMEDIES.get(error.errno or 0, otherwise)


@contextmanager
def name_target(path: Path, hidden: Path) -> Iterator[None]:
    """Have errors of writing in the block name `path`: the system does not say which file it was.

    The block writes under the name `hidden`, or in a hidden folder of that name; a file of it is named
    as it will be called under `path`.
    """
    try:
        yield
    except OSError as error:
        # A copy names its source first; a bare number is no name.
        named = error.filename2 if error.filename2 is not None else error.filename
        has_name = isinstance(named, str | bytes | os.PathLike)
        if error.errno in _WRITING or (error.errno == errno.EIO and not has_name):
            error.filename2 = None
            error.filename = str(path)
            if has_name:
                full = Path(os.fsdecode(named))
                below = full.relative_to(hidden) if full.is_relative_to(hidden) else None
                error.filename = str(full if below is None else path / below)
        raise


def explain_system_error(error: OSError) -> OverreadError:
    """An error of the system as one of ours: what could not be done, where, and what to do."""
    named = error.filename2 if error.filename2 is not None else error.filename
    where = os.fsdecode(named) if isinstance(named, str | bytes | os.PathLike) else ""
    # Packages put words of their own around those of the system.
    words = os.strerror(error.errno) if error.errno in _REMEDIES else error.strerror or str(error)
    remedy = remedy_for(error, "")
    if error.errno in _WRITING:
        if where:
            return OverreadError(f"{where} could not be written ({words})", remedy=remedy)
        return OverreadError(
            f"a file could not be written ({words})",
            remedy=f"{remedy}; it went to the place that the command names, to the cache "
            f"(OVERREAD_CACHE) or to {tempfile.gettempdir()} (TMPDIR)",
        )
    if error.errno == errno.EAGAIN and not where:
        return OutOfResources(f"the system starts no more processes ({words})", remedy=_LESS)
    if error.errno in (errno.ENOMEM, errno.EMFILE, errno.ENFILE):
        return OutOfResources(words, where=where, remedy=remedy)
    return OverreadError(words, where=where, remedy=remedy)


def explain_lack(error: BaseException) -> OverreadError | None:
    """No memory or no threads left, as one of our errors; None where it is something else."""
    if is_out_of_memory(error):
        return OutOfResources("out of memory", remedy=_LESS)
    if is_out_of_threads(error):
        return OutOfResources(
            "the system starts no more threads: out of memory, or of processes", remedy=_LESS
        )
    return None
