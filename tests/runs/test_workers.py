"""Workers: what one job breaks costs that job and nothing else."""

from __future__ import annotations

import os
import signal

import pytest

from overread.errors import UsageError
from overread.runs.workers import run_in_workers


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
