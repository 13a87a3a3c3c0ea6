"""Work in several processes that can be stopped, and that never outlive who started them."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any, NamedTuple

from overread.errors import OverreadError, ReaderError

Job = tuple[Any, ...]


class Done(NamedTuple):
    """One job that came to its end: its first argument, and what it gave or why it could not."""

    key: Any
    result: Any
    error: OverreadError | None


class WorkerDied(ReaderError):
    """A job that killed every worker it was given to."""


def in_workers(
    work: Callable[..., Any], jobs: Iterable[Job], workers: int
) -> Generator[Done, None, None]:
    """Do every job, in any order, and yield each as it ends.

    Other exceptions than ours end all of it. A worker that dies costs the job that killed it,
    once that has killed a worker of its own as well. With one worker everything is done right here.
    """
    if workers <= 1:
        for job in jobs:
            yield _here(work, job)
        return
    waiting = iter(jobs)
    while True:
        fallen: list[Job] = []
        yield from _pooled(work, waiting, workers, fallen)
        if not fallen:
            return
        for job in fallen:
            again: list[Job] = []
            yield from _pooled(work, iter([job]), 1, again)
            if again:
                yield Done(job[0], None, _died(job))


def _here(work: Callable[..., Any], job: Job) -> Done:
    try:
        return Done(job[0], work(*job), None)
    except OverreadError as error:
        return Done(job[0], None, error)


def _died(job: Job) -> OverreadError:
    return OverreadError(
        f"the worker died on {job[0]}, perhaps for want of memory",
        remedy="what else was done is kept; run the same command again, with fewer --workers",
    )


def _pooled(
    work: Callable[..., Any], waiting: Iterator[Job], workers: int, fallen: list[Job]
) -> Generator[Done, None, None]:
    """Do jobs until there are no more, or until a worker dies: then its jobs are in `fallen`."""
    context = get_context("spawn")  # a fork would carry locked locks along
    listening, lifeline = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(
        workers, mp_context=context, initializer=_begin, initargs=(listening,)
    )
    running: dict[Future[Any], Job] = {}
    try:
        while True:
            try:
                # A few wait in line, so that no worker does; no more, so that a death names few.
                for job in islice(waiting, workers + 1 - len(running)):
                    running[_submitted(pool, work, job)] = job
                if not running:
                    return
                done = wait(running, return_when=FIRST_COMPLETED).done
                broken = False
                for future in done:
                    error = future.exception()
                    if isinstance(error, BrokenProcessPool):
                        broken = True
                        continue
                    job = running.pop(future)
                    if error is not None and not isinstance(error, OverreadError):
                        raise error
                    yield Done(job[0], None if error else future.result(), error)
            except BrokenProcessPool:
                broken = True
                fallen.append(job)  # the one that could no longer be handed out
            if broken:
                fallen.extend(running.values())
                return
    except BaseException:
        lifeline.close()  # at which the workers stop, tidying up after themselves
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        lifeline.close()
        listening.close()


class Crew:
    """A few worker processes that take one job at a time, awaited by asyncio.

    Each worker is a pool of its own, so that a death names the one job that it befell. The worker
    is replaced and the job done once more; a job that kills its second worker too is given up.
    """

    def __init__(self, workers: int) -> None:
        """Nobody is started before there is a job."""
        self._context = get_context("spawn")
        self._listening, self._lifeline = self._context.Pipe(duplex=False)
        self._free: asyncio.Queue[ProcessPoolExecutor | None] = asyncio.Queue()
        self._pools: set[ProcessPoolExecutor] = set()
        for _ in range(workers):
            self._free.put_nowait(None)

    async def do(self, work: Callable[..., Any], *job: Any) -> Any:
        """What the job gives; raises what it raises, or `WorkerDied`."""
        for _ in range(2):
            pool = await self._free.get() or self._hired()
            try:
                result = await asyncio.wrap_future(_submitted(pool, work, job))
            except BrokenProcessPool:
                self._dismiss(pool)
                self._free.put_nowait(None)
            except asyncio.CancelledError:
                # It cannot be told to stop this job only; who comes next gets a fresh one.
                self._dismiss(pool)
                self._free.put_nowait(None)
                raise
            except BaseException:
                self._free.put_nowait(pool)
                raise
            else:
                self._free.put_nowait(pool)
                return result
        raise WorkerDied(
            "the worker died twice on it, perhaps for want of memory",
            remedy="run it again with --retry-failed and a smaller --concurrency",
        )

    def _hired(self) -> ProcessPoolExecutor:
        pool = ProcessPoolExecutor(
            1, mp_context=self._context, initializer=_begin, initargs=(self._listening,)
        )
        self._pools.add(pool)
        return pool

    def _dismiss(self, pool: ProcessPoolExecutor) -> None:
        self._pools.discard(pool)
        for process in list((getattr(pool, "_processes", None) or {}).values()):
            process.terminate()
        pool.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """Send everybody home."""
        self._lifeline.close()  # at which the workers stop, tidying up after themselves
        for pool in self._pools:
            pool.shutdown(cancel_futures=True)
        self._listening.close()


def _submitted(pool: ProcessPoolExecutor, work: Callable[..., Any], job: Job) -> Future[Any]:
    """Hand out a job; this may start a worker, deaf to the Ctrl-C that is meant for us."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return pool.submit(_work, work, job)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(work: Callable[..., Any], job: Job) -> Any:
    try:
        return work(*job)
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
