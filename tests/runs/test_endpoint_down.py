"""An endpoint that is down for every case ends the work early, in one sentence, and loses nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from overread.cli.arguments import parse_duration
from overread.cli.run_output import live_progress
from overread.core import Request
from overread.errors import EndpointFailed, ReaderError, TryAgain, Unavailable, UsageError
from overread.runs.engine import RunOutcome, RunPlan, run, run_async
from overread.runs.judging.runner import JudgePlan, judge
from overread.runs.judging.verdict_store import VERDICTS_FILE
from overread.runs.requests.endpoint_health import EndpointHealth
from overread.runs.store import last_readings
from overread.runs.sweep.axes import parse_axes
from overread.runs.sweep.runner import sweep
from overread.runs.tally import Tally
from tests.readers.openai.misbehaving_server import (
    Behaviour,
    Seen,
    fails,
    raw,
    redirects,
    says,
    serving,
)
from tests.runs.fake_readers import ANSWER, Echo, plain
from tests.runs.medthinkvqa_cases import write_cases

DOWN: dict[str, tuple[Behaviour, str]] = {
    "always too busy": (fails(429, "slow down", retry_after="0"), "is too busy (429: slow down)"),
    "always broken": (fails(500, "oops"), "failed (500: oops)"),
    "a wrong key": (fails(401, "no"), "asks for a key (401)"),
    "no right": (fails(403, "no"), "denies access to the model 'm' (403)"),
    "no such model": (fails(404, "no"), "has no model 'm'"),
    "elsewhere": (redirects("http://127.0.0.1:1/"), "redirects to another address"),
    "a login page": (raw(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>"), "is no chat completion"),
    "hangs up": (raw(b"", then_close=True), "the connection to"),
}


@pytest.mark.parametrize("kind", DOWN)
def test_a_run_stops_early_and_the_same_command_goes_on(kind: str, tmp_path: Path) -> None:
    """Of thirty cases a few are tried and none is stored as failed; later all are read."""
    root = write_cases(tmp_path / "release", 30)
    down, words = DOWN[kind]
    repaired = False

    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        await (says(ANSWER) if repaired else down)(seen, writer)

    async def talk() -> tuple[Unavailable, str, int, RunOutcome]:
        nonlocal repaired
        async with serving(behave) as server:
            plan = RunPlan(
                "medthinkvqa", root, "openai", {"model": "m", "base_url": server.url},
                workflow=plain, max_retries=1, concurrency=1, cache=tmp_path / "c.sqlite",
            )  # fmt: skip
            with pytest.raises(Unavailable) as stopped:
                await run_async(plan, tmp_path / "run")
            asked = len(server.seen)
            assert (tmp_path / "run" / "readings.jsonl").read_bytes() == b""
            repaired = True
            return stopped.value, server.url, asked, await run_async(plan, tmp_path / "run")

    error, url, asked, outcome = asyncio.run(talk())
    assert url in str(error)
    assert words in str(error)
    assert asked <= 10
    if kind not in ("a wrong key", "no right", "no such model"):  # these say it at the first question
        assert "since the first 3 cases all failed" in str(error)
        assert "give the same command again" in str(error)
    assert outcome.complete
    assert (outcome.tally.read, outcome.tally.failed) == (30, 0)


def test_a_server_that_is_not_there_stops_a_run_of_one_case(tmp_path: Path) -> None:
    """Nothing was ever answered: that is told in place of a failed case."""
    root = write_cases(tmp_path / "release", 1)
    plan = RunPlan(
        "medthinkvqa", root, "openai", {"model": "m", "base_url": "http://127.0.0.1:9/v1"},
        workflow=plain, max_retries=0, use_cache=False,
    )  # fmt: skip
    with pytest.raises(Unavailable, match=r"the one case .*//127\.0\.0\.1:9/v1 cannot be reached.*start the"):
        run(plan, tmp_path / "run")
    assert not last_readings(tmp_path / "run")


def busy_for(cases: Callable[[str], bool]) -> Callable[[Request], str]:
    """Answers, but for these cases."""

    def answer(request: Request) -> str:
        if cases(request.case.id):
            raise TryAgain("here is too busy")
        return ANSWER

    return answer


def number_of(case: str) -> int:
    return int(case.removeprefix("case"))


def ran(tmp_path: Path, count: int, answer: Callable[[Request], str], **more: Any) -> RunOutcome:
    root = write_cases(tmp_path / "release", count)
    plan = RunPlan(
        "medthinkvqa", root, Echo(answer), workflow=plain,
        **{"max_retries": 0, "concurrency": 1, "use_cache": False, **more},
    )  # fmt: skip
    return run(plan, tmp_path / "run")


def test_a_long_streak_later_on_stops_it_too(tmp_path: Path) -> None:
    """What was answered is kept; the twenty cases of the streak are not stored as failed."""
    with pytest.raises(Unavailable, match="the last 20 cases in a row failed at the endpoint"):
        ran(tmp_path, 40, busy_for(lambda case: number_of(case) > 5))
    assert len(last_readings(tmp_path / "run")) == 5


def test_a_short_streak_is_kept_as_failed_readings(tmp_path: Path) -> None:
    """Nineteen cases fail, then the endpoint answers again, and everything is in its place."""
    outcome = ran(tmp_path, 40, busy_for(lambda case: 5 < number_of(case) < 25))
    assert outcome.complete
    assert (outcome.tally.read, outcome.tally.failed) == (40, 19)
    lines = (tmp_path / "run" / "readings.jsonl").read_text().splitlines()
    assert [json.loads(line)["case_id"] for line in lines] == [f"case{n}" for n in range(1, 41)]


def test_failures_at_the_end_of_a_run_are_kept(tmp_path: Path) -> None:
    """The last cases fail and nobody answers after them: they are failed readings."""
    outcome = ran(tmp_path, 9, busy_for(lambda case: number_of(case) > 5))
    assert (outcome.tally.read, outcome.tally.failed) == (9, 4)


def test_it_can_be_told_when_to_give_up(tmp_path: Path) -> None:
    """Never, or after a number of one's own."""
    outcome = ran(tmp_path, 9, busy_for(lambda _: True), give_up=0)
    assert (outcome.tally.read, outcome.tally.failed) == (9, 9)
    with pytest.raises(Unavailable, match="the first 5 cases all failed"):
        ran(tmp_path / "other", 9, busy_for(lambda _: True), give_up=5)


def test_questions_that_are_refused_never_stop_a_run(tmp_path: Path) -> None:
    """A picture that is too large is a matter of its case, also where every case has one."""

    def refuse(_: Request) -> str:
        raise ReaderError("the pictures are too large (413)")

    outcome = ran(tmp_path, 30, refuse)
    assert (outcome.tally.read, outcome.tally.failed) == (30, 30)

    def mixed(request: Request) -> str:
        if number_of(request.case.id) % 3 == 0:
            raise ReaderError("refused (400)")
        raise TryAgain("too busy")

    # Two that are too busy, one that is refused: the endpoint is there all the time.
    outcome = ran(tmp_path / "mixed", 29, mixed)
    assert (outcome.tally.read, outcome.tally.failed) == (29, 29)


def test_a_server_that_is_only_full_is_not_down(tmp_path: Path) -> None:
    """One slow answer is under way while all others are told to come later."""
    root = write_cases(tmp_path / "release", 12)
    refused = 0
    enough = asyncio.Event()

    class Full(Echo):
        async def read(self, request: Request) -> Any:
            nonlocal refused
            if request.case.id == "case1":
                await enough.wait()
            elif not enough.is_set():
                refused += 1
                if refused == 8:
                    enough.set()
                raise TryAgain("too busy")
            return await super().read(request)

    plan = RunPlan("medthinkvqa", root, Full(), workflow=plain, max_retries=0, concurrency=4, use_cache=False)
    outcome = run(plan, tmp_path / "run")
    assert outcome.complete
    assert (outcome.tally.read, outcome.tally.failed) == (12, 8)


def test_the_same_case_counts_once() -> None:
    """Five readings of one case are one case."""
    health = EndpointHealth()
    for _ in range(9):
        assert isinstance(health.fail("a", EndpointFailed("x")), EndpointFailed)
    health.fail("b", EndpointFailed("x"))
    assert isinstance(health.fail("c", EndpointFailed("x")), Unavailable)


# ---- judges, sweeps ------------------------------------------------------------------------


def test_judging_stops_early_and_goes_on(tmp_path: Path) -> None:
    """No verdict says that it failed, and a judge that answers judges all."""
    from tests.workflows.scripted_judges import Obliging

    ran(tmp_path, 12, lambda _: ANSWER)

    class Busy(Obliging):
        async def read(self, request: Request) -> Any:
            raise TryAgain("here is too busy")

    plan = JudgePlan(tmp_path / "run", "steps", Busy(), max_retries=0, use_cache=False)
    with pytest.raises(Unavailable, match="the first 3 cases all failed at the endpoint: here is"):
        judge(plan)
    assert (tmp_path / "run" / VERDICTS_FILE).read_bytes() == b""


def test_a_sweep_stops_at_its_first_point(tmp_path: Path) -> None:
    """It does not try the same at every other point."""
    root = write_cases(tmp_path / "release", 12)
    reader = Echo(busy_for(lambda _: True))
    plan = RunPlan("medthinkvqa", root, reader, workflow=plain, max_retries=0, use_cache=False)
    with pytest.raises(Unavailable, match="stopped early"):
        sweep(plan, parse_axes(["longest=64,128"]), tmp_path / "sweep")
    assert len(list((tmp_path / "sweep").iterdir())) == 1


# ---- waiting -------------------------------------------------------------------------------


def test_progress_tells_that_it_waits_for_whom_and_how_long(tmp_path: Path) -> None:
    """Whoever watches a run is told when a question begins to wait."""
    root = write_cases(tmp_path / "release", 1)
    refusals = iter([True])
    told: list[str] = []

    def answer(_: Request) -> str:
        if next(refusals, False):
            problem = TryAgain("it is too busy (429)")
            problem.retry_after = 0.01
            raise problem
        return ANSWER

    plan = RunPlan("medthinkvqa", root, Echo(answer), workflow=plain, use_cache=False)
    run(plan, tmp_path / "run", watch=lambda tally: told.append(tally.waits.describe()))
    waits = [words for words in told if words]
    assert waits == ["1 question waits (here: it is too busy (429)); the next is asked again in 1 s"]
    assert told[-1] == ""


def test_a_long_wait_is_told_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    """One line on stderr, not one for every question."""
    tally = Tally()
    with live_progress("x", quiet=True) as watch:
        assert watch is not None
        tally.follow(tally.waits, watch)
        with tally.waits.waiting("http://localhost/v1", "http://localhost/v1 is too busy (429)", 1.0):
            pass  # too short to speak of
        for _ in range(3):
            with tally.waits.waiting("http://localhost/v1", "http://localhost/v1 is too busy (429)", 299.9):
                pass
    assert capsys.readouterr() == (
        "",
        "overread: 1 question waits (http://localhost/v1 is too busy (429)); "
        "the next is asked again in 5 min 0 s\n",
    )


@pytest.mark.parametrize(
    ("typed", "seconds"), [("0", 0), ("90", 90), ("1.5s", 1.5), ("10m", 600), (" 1H ", 3600)]
)
def test_times_are_read(typed: str, seconds: float) -> None:
    assert parse_duration(typed, "--max-wait") == seconds


@pytest.mark.parametrize("typed", ["", "m", "-1", "nan", "inf", "ten", "1d", "1e99h"])
def test_what_is_no_time_is_told(typed: str) -> None:
    with pytest.raises(UsageError, match=r"--max-wait is .*: give seconds, or 90s, 10m, 1h"):
        parse_duration(typed, "--max-wait")
