"""Everything overread raises on purpose.

    OverreadError          one sentence: what, where, what was expected, what to do
    ├── UsageError         the caller asked for something that cannot be asked
    │   └── UnknownName    a name that is in no catalog (with the nearest ones)
    ├── ReleaseError       a release, or one row of it, cannot be read (carries the defect)
    ├── SubmissionError    predictions that cannot be graded
    ├── PictureError       a picture cannot be read as what it claims to be
    │   ├── NotThere       the file is not where the release says it is
    │   ├── Truncated      the file ends before it should
    │   └── Refused        a file that would use the memory, or leave the root
    ├── ReaderError        a reader cannot answer, and asking again will not help
    │   ├── TryAgain       it may help: too busy, unreachable, cut off
    │   ├── EndpointFailed the endpoint is at fault, not the question; asking again did not help
    │   └── Unavailable    nor will any other question: a wrong key, no such model, no credit
    ├── BadReply           an answer that cannot be read as what was asked for
    ├── MissingPart        an optional package or program is not installed
    ├── OutOfResources     the system gives no more memory, threads or processes
    ├── LocksFail          a file system on which nothing can be locked
    └── AccessError        a download that needs a network, a licence or a login

Anything else that escapes is a bug of ours, and the command line says so.
"""

from __future__ import annotations

import errno
from typing import ClassVar

_LACKS = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.ENOMEM, errno.EMFILE, errno.ENFILE))


class OverreadError(Exception):
    """Base of all errors a user can do something about.

    >>> print(OverreadError("no such split 'dev'", where="release/", remedy="use --split test"))
    no such split 'dev' (in release/): use --split test
    """

    fatal: ClassVar[bool] = False
    """Whether every other case would meet it too: see `is_fatal`."""

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        """Keep the three parts apart so that a page can show them apart."""
        self.what = what
        self.where = where
        self.remedy = remedy
        super().__init__(what, where, remedy)

    def __str__(self) -> str:
        text = f"{self.what} (in {self.where})" if self.where else self.what
        return f"{text}: {self.remedy}" if self.remedy else text

    def __reduce__(self) -> tuple[object, ...]:
        # Errors are pickled between worker processes; keyword-only arguments need this.
        return (_rebuild, (type(self), self.what, self.where, self.remedy))


class UsageError(OverreadError):
    """The caller asked for something that cannot be asked."""

    fatal = True


class UnknownName(UsageError):
    """A name that is in no catalog."""

    fatal = False  # a model's reply may have made it up: then its case fails, and no other


class ReleaseError(OverreadError):
    """A release, or one row of it, cannot be read."""


class SubmissionError(OverreadError):
    """Predictions that cannot be graded: no file of the right kind, or nothing for any case."""


class PictureError(OverreadError):
    """A picture cannot be read as what it claims to be."""


class NotThere(PictureError):
    """The file is not where the release says it is."""


class Truncated(PictureError):
    """The file ends before it should."""


class Refused(PictureError):
    """A file that would use the memory, or leave the root; it was not opened further."""


class ReaderError(OverreadError):
    """A reader cannot answer, and asking again will not help."""


class TryAgain(ReaderError):
    """A reader cannot answer now; it may later."""

    retry_after: float | None = None
    """Seconds to wait before asking again, where the endpoint said so."""

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild_try_again, (self.what, self.where, self.remedy, self.retry_after))


class EndpointFailed(ReaderError):
    """The endpoint failed, whatever it was asked: unreachable, too busy, broken, no right.

    One such case fails; many in a row, without an answer in between, end a run.
    """


class Unavailable(ReaderError):
    """A reader that can answer nothing at all: that ends a run instead of failing every case."""

    fatal = True


class BadReply(OverreadError):
    """An answer that cannot be read as what was asked for."""


class MissingPart(OverreadError):
    """An optional package or program is not installed."""

    fatal = True


class OutOfResources(OverreadError):
    """The system gives no more memory, threads, processes or open files."""

    fatal = True


class LocksFail(OverreadError):
    """A file system on which nothing can be locked: two processes could write the same file."""

    fatal = True


class AccessError(OverreadError):
    """A download that needs a network, a licence or a login."""


def first_error(error: BaseException, prefer: type[BaseException] | tuple[()] = ()) -> BaseException:
    """The error itself; of a group that several tasks ended in the first, or the preferred kind.

    One thing went wrong first, and the others only followed it.

    >>> first_error(ExceptionGroup("tasks", [BadReply("no letter"), ValueError("late")]))
    BadReply('no letter', '', '')
    """
    while isinstance(error, BaseExceptionGroup):
        preferred = [one for one in error.exceptions if isinstance(one, prefer)]
        error = (preferred or error.exceptions)[0]
    return error


def is_fatal(error: BaseException) -> bool:
    """Whether an error would hit every case, verdict or item alike.

    Then it ends a run, a judging or a build instead of failing them one by one: wrong settings,
    a reader or a package that is not there, a run, ledger or cache that cannot be written, and no
    memory, threads or room on the disk left. It is one rule for all of them, since they share readers,
    settings and disks. Whatever else goes wrong may be the fault of one case, and fails that one only.
    """
    if isinstance(error, OverreadError):
        return error.fatal
    if isinstance(error, OSError):
        return error.errno in _LACKS
    return is_out_of_memory(error) or is_out_of_threads(error)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether there was no memory left, also none to load a library into, which is told by words alone."""
    words = ("failed to map segment", "cannot allocate memory")
    unloaded = isinstance(error, ImportError) and any(part in str(error).lower() for part in words)
    return isinstance(error, MemoryError) or unloaded


def is_out_of_threads(error: BaseException) -> bool:
    """Whether no thread could be started, which Python tells by words alone."""
    return isinstance(error, RuntimeError) and "can't start new thread" in str(error)


def _rebuild(kind: type[OverreadError], what: str, where: str, remedy: str) -> OverreadError:
    return kind(what, where=where, remedy=remedy)


def _rebuild_try_again(what: str, where: str, remedy: str, after: float | None) -> TryAgain:
    error = TryAgain(what, where=where, remedy=remedy)
    error.retry_after = after
    return error
