"""Jobs in several processes that can be stopped and that end when their parent process ends."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from multiprocessing import get_context
from threading import Thread
from typing import Any, NamedTuple, Protocol

from overread.core import Release, ReleaseRef
from overread.errors import OverreadError, ReaderError
from overread.storage.system import hold_back_interrupt, ignore_interrupt_in_worker, terminate_self

Job = tuple[Any, ...]


class ReadEnd(Protocol):
    """The end of a pipe that is read from."""

    def recv(self) -> Any:
        """What was sent; `EOFError` where the other end was closed."""


class JobResult(NamedTuple):
    """One job that came to its end: its first argument, and what it gave or why it could not."""

    key: Any
    result: Any
    error: OverreadError | None


@lru_cache(maxsize=1)
def open_release(place: ReleaseRef) -> Release:
    """The release that a job is about, opened once in each process."""
    return place.open()


class WorkerDied(ReaderError):
    """A job that killed every worker it was given to."""


def run_in_workers(
    work: Callable[..., Any], jobs: Iterable[Job], workers: int
) -> Generator[JobResult, None, None]:
    """Do every job, in any order, and yield each as it ends.

    Other exceptions than ours end all of it. A worker that dies costs the job that killed it,
    once that has killed a worker of its own as well. With one worker, or on a system that lets us
    start none, everything is done right here.
    """
    if workers <= 1 or not can_start_workers():
        for job in jobs:
            yield _run_here(work, job)
        return
    waiting = iter(jobs)
    while True:
        fallen: list[Job] = []
        yield from _run_pool(work, waiting, workers, fallen)
        if not fallen:
            return
        for job in fallen:
            again: list[Job] = []
            yield from _run_pool(work, iter([job]), 1, again)
            if again:
                yield JobResult(job[0], None, _death_error(job))


@lru_cache(maxsize=1)
def can_start_workers() -> bool:
    """Whether the system has what processes need to share work; a narrow container has no /dev/shm."""
    try:
        get_context("spawn").Lock()
    except (ImportError, OSError):
        return False
    return True


def _run_here(work: Callable[..., Any], job: Job) -> JobResult:
    try:
        return JobResult(job[0], work(*job), None)
    except OverreadError as error:
        return JobResult(job[0], None, error)


def _death_error(job: Job) -> OverreadError:
    return OverreadError(
        f"a worker process crashed on {job[0]}, possibly out of memory",
        remedy="what else was done is kept; run the same command again, with fewer --workers",
    )


def _run_pool(
    work: Callable[..., Any], waiting: Iterator[Job], workers: int, fallen: list[Job]
) -> Generator[JobResult, None, None]:
    """Do jobs until there are no more, or until a worker dies: then its jobs are in `fallen`."""
    context = get_context("spawn")  # a fork would carry locked locks along
    listening, lifeline = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_init_worker, initargs=(listening,))
    running: dict[Future[Any], Job] = {}
    try:
        while True:
            try:
                # A few wait in line, so that no worker does; no more, so that a death names few.
                for job in islice(waiting, workers + 1 - len(running)):
                    running[_submit(pool, work, job)] = job
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
                    yield JobResult(job[0], None if error else future.result(), error)
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


class WorkerPool:
    """A few worker processes that take one job at a time, awaited by asyncio.

    Each worker is a process pool of size one, so that a crash names the one job it happened in. The
    worker is replaced and the job run once more; a job that crashes its second worker too fails.
    """

    def __init__(self, workers: int) -> None:
        """No process is started before there is a job."""
        self._context = get_context("spawn")
        self._listening, self._lifeline = self._context.Pipe(duplex=False)
        self._free: asyncio.Queue[ProcessPoolExecutor | None] = asyncio.Queue()
        self._pools: set[ProcessPoolExecutor] = set()
        for _ in range(workers):
            self._free.put_nowait(None)

    async def run(self, work: Callable[..., Any], *job: Any) -> Any:
        """What the job gives; raises what it raises, or `WorkerDied`.

        Where no worker can be started it is done in a thread.
        """
        if not can_start_workers():
            return await asyncio.to_thread(work, *job)
        for _ in range(2):
            pool = await self._free.get() or self._start_worker()
            try:
                result = await asyncio.wrap_future(_submit(pool, work, job))
            except BrokenProcessPool:
                self._stop_worker(pool)
                self._free.put_nowait(None)
            except asyncio.CancelledError:
                # It cannot be told to stop this job only; who comes next gets a fresh one.
                self._stop_worker(pool)
                self._free.put_nowait(None)
                raise
            except BaseException:
                self._free.put_nowait(pool)
                raise
            else:
                self._free.put_nowait(pool)
                return result
        raise WorkerDied(
            "the worker process crashed twice on this case, possibly out of memory",
            remedy="run it again with --retry-failed and a smaller --concurrency",
        )

    def _start_worker(self) -> ProcessPoolExecutor:
        pool = ProcessPoolExecutor(
            1, mp_context=self._context, initializer=_init_worker, initargs=(self._listening,)
        )
        self._pools.add(pool)
        return pool

    def _stop_worker(self, pool: ProcessPoolExecutor) -> None:
        self._pools.discard(pool)
        for process in list((getattr(pool, "_processes", None) or {}).values()):
            process.terminate()
        pool.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """Stop all workers."""
        self._lifeline.close()  # at which the workers stop, tidying up after themselves
        for pool in self._pools:
            pool.shutdown(cancel_futures=True)
        self._listening.close()


def _submit(pool: ProcessPoolExecutor, work: Callable[..., Any], job: Job) -> Future[Any]:
    """Submit a job. SIGINT is blocked meanwhile, because this may start a worker, which must not
    inherit our Ctrl-C.
    """
    with hold_back_interrupt():
        return pool.submit(_run_job, work, job)


_STOPPED = 128 + signal.SIGTERM
_working = False
"""In a worker: whether a job is under way."""


def _run_job(work: Callable[..., Any], job: Job) -> Any:
    global _working  # noqa: PLW0603
    try:
        _working = True
        return work(*job)
    except SystemExit:
        # Told to stop, and tidied up by now; the pool would take this for a job's own end.
        os._exit(_STOPPED)
    finally:
        _working = False


def _init_worker(lifeline: ReadEnd) -> None:
    """Set up a worker: SIGTERM lets it clean up first, and it exits when its parent does."""
    signal.signal(signal.SIGTERM, _exit_on_signal)
    ignore_interrupt_in_worker()
    Thread(target=_follow_parent, args=(lifeline,), daemon=True).start()


def _follow_parent(lifeline: ReadEnd) -> None:
    """Stop when the other end closes: on purpose, or because the parent was killed."""
    with suppress(EOFError, OSError):
        lifeline.recv()
    terminate_self()


def _exit_on_signal(*_: object) -> None:
    """A job tidies up after itself. Between jobs there is nothing to tidy, and an exception raised while
    the pool takes a lock would leave it locked: then this worker would wait for itself for ever.
    """
    if not _working:
        os._exit(_STOPPED)
    raise SystemExit(_STOPPED)
