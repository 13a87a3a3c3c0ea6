"""Work in several processes that can be stopped, and that never outlive who started them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any

from overread.errors import OverreadError

Job = tuple[Any, ...]


def in_workers(
    work: Callable[..., None], jobs: Sequence[Job], workers: int
) -> Generator[tuple[Any, OverreadError | None], None, None]:
    """Do every job, in any order; yield its first argument, and why it could not be done.

    Other exceptions than ours end all of it. With one worker everything is done right here.
    """
    if workers <= 1:
        for job in jobs:
            yield job[0], _refusal(work, job)
        return
    context = get_context("spawn")  # a fork would carry locked locks along
    listening, lifeline = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(
        workers, mp_context=context, initializer=_begin, initargs=(listening,)
    )
    done = 0
    try:
        running = _submitted(pool, work, jobs)
        for future in as_completed(running):
            error = future.exception()
            if error is not None and not isinstance(error, OverreadError):
                raise error
            done += 1
            yield running[future], error
    except BrokenProcessPool:
        raise OverreadError(
            f"a worker died after {done} of {len(jobs)}, perhaps for want of memory",
            remedy="what was done is kept; run the same command again, with fewer --workers",
        ) from None
    except BaseException:
        lifeline.close()  # at which the workers stop, tidying up after themselves
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        lifeline.close()
        listening.close()


def _refusal(work: Callable[..., None], job: Job) -> OverreadError | None:
    try:
        work(*job)
    except OverreadError as error:
        return error
    return None


def _submitted(
    pool: ProcessPoolExecutor, work: Callable[..., None], jobs: Iterable[Job]
) -> dict[Future[None], Any]:
    """Hand out the jobs; this starts the workers, deaf to the Ctrl-C that is meant for us."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return {pool.submit(_work, work, job): job[0] for job in jobs}
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(work: Callable[..., None], job: Job) -> None:
    try:
        work(*job)
    except SystemExit:
        # Told to stop, and tidied up by now; the pool would take this for a job's own end.
        os._exit(128 + signal.SIGTERM)


def _begin(lifeline: Connection) -> None:
    """Set up a worker: when asked to stop it tidies up first, and it follows its parent."""
    signal.signal(signal.SIGTERM, _stop)
    Thread(target=_follow, args=(lifeline,), daemon=True).start()


def _follow(lifeline: Connection) -> None:
    """Stop when the other end closes: on purpose, or because the parent was killed."""
    with suppress(EOFError, OSError):
        lifeline.recv()
    os.kill(os.getpid(), signal.SIGTERM)


def _stop(*_: object) -> None:
    raise SystemExit(128 + signal.SIGTERM)
