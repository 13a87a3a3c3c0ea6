"""Workers: what one job breaks costs that job and nothing else."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from overread.errors import UsageError
from overread.runs.workers import WorkerPool, can_start_workers, run_in_workers


def work(number: int, broken: frozenset[int]) -> int:
    if number in broken:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 7:
        raise UsageError("seven is refused")
    if number == 13:
        raise ValueError("a bug")
    return number * number


@pytest.mark.parametrize("workers", [1, 2])
def test_every_job_comes_back_once(workers: int) -> None:
    """Results and refusals arrive with their keys, in any order."""
    jobs = [(n, frozenset[int]()) for n in range(10)]
    found = {done.key: done for done in run_in_workers(work, jobs, workers)}
    assert sorted(found) == list(range(10))
    assert found[3].result == 9
    assert isinstance(found[7].error, UsageError)
    assert found[7].result is None


@pytest.mark.slow
def test_a_job_that_kills_its_worker_costs_only_itself() -> None:
    """Two of nine jobs kill their process: the others are done, these two are named."""
    jobs = [(n, frozenset({2, 5})) for n in range(7)] + [(20, frozenset[int]()), (21, frozenset())]
    found = {done.key: done for done in run_in_workers(work, jobs, 2)}
    assert sorted(found) == [0, 1, 2, 3, 4, 5, 6, 20, 21]
    assert {key for key, done in found.items() if done.error} == {2, 5}
    assert "a worker process crashed on 2" in str(found[2].error)


def test_a_bug_ends_all_of_it() -> None:
    """An exception that is none of ours is not swallowed."""
    with pytest.raises(ValueError, match="a bug"):
        list(run_in_workers(work, [(13, frozenset[int]()), (1, frozenset[int]())], 2))


_TOLD_TO_STOP = """
import os, signal, sys, threading
from overread.runs import workers
signal.signal(signal.SIGTERM, workers._exit_on_signal)
def job(number):
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Event().wait(30)
    finally:
        print("tidied up", flush=True)
if sys.argv[1] == "at work":
    workers._run_job(job, (1,))
try:
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(30)
except BaseException:
    print("raised", flush=True)
"""


@pytest.mark.parametrize(("when", "said"), [("at work", "tidied up\n"), ("between jobs", "")])
def test_a_worker_told_to_stop_tidies_up_after_a_job_and_is_gone_between_jobs(when: str, said: str) -> None:
    """An exception between jobs could leave the pool's lock held for ever, and the run with it."""
    done = subprocess.run(
        [sys.executable, "-c", _TOLD_TO_STOP, when], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (128 + signal.SIGTERM, said)


@pytest.fixture
def no_shared_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A system on which processes cannot share a lock, as in a container without /dev/shm."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("multiprocessing.synchronize.SemLock.__init__", refuse)
    can_start_workers.cache_clear()
    yield
    can_start_workers.cache_clear()


def test_where_no_worker_can_be_started_the_work_is_done_here(no_shared_memory: None) -> None:
    """Every job comes back all the same, also those that are awaited."""
    found = {done.key: done for done in run_in_workers(work, [(n, frozenset[int]()) for n in range(5)], 2)}
    assert {key: done.result for key, done in found.items()} == {n: n * n for n in range(5)}
    pool = WorkerPool(2)
    assert asyncio.run(pool.run(work, 4, frozenset[int]())) == 16
    pool.close()
