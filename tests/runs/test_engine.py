"""The engine: every case is read once, failures are readings, and the same call goes on."""

from __future__ import annotations

import asyncio
import gc
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from overread.core import Case, Reading, Reply, Request
from overread.core.notice import NOTICE
from overread.core.seeded import hash_seed
from overread.errors import (
    BadReply,
    MissingPart,
    ReaderError,
    ReleaseError,
    Unavailable,
    UnknownName,
    UsageError,
)
from overread.runs.engine import RunOutcome, RunPlan, run
from overread.runs.spec import read_spec
from overread.runs.store import last_readings
from overread.session import Session
from tests.runs.fake_readers import ANSWER, Echo, WholeReader, asked, plain
from tests.runs.medthinkvqa_cases import write_cases


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A release of twelve cases."""
    return write_cases(tmp_path / "release", 12)


def made(root: Path, reader: Any, **more: Any) -> RunPlan:
    """A plan that leaves the user's own cache alone."""
    more.setdefault("cache", root.parent / "replies.sqlite")
    return RunPlan("medthinkvqa", root, reader, **{"workflow": plain, **more})


def ran(root: Path, reader: Any, **more: Any) -> RunOutcome:
    """A run into the folder `run` beside the release."""
    return run(made(root, reader, **more), root.parent / "run")


def lines(root: Path) -> list[dict[str, Any]]:
    """The lines of that run."""
    text = (root.parent / "run" / "readings.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


# ---- the ordinary way ----------------------------------------------------------------------


def test_every_case_is_read_once_and_written_down(root: Path) -> None:
    """Twelve cases give twelve lines, and the reader is closed at the end."""
    reader = Echo()
    outcome = ran(root, reader)
    assert outcome.complete
    assert sorted(row["case_id"] for row in lines(root)) == sorted(f"case{n}" for n in range(1, 13))
    assert {row["choice"] for row in lines(root)} == {"B"}
    assert (outcome.tally.total, outcome.tally.done, outcome.tally.failed) == (12, 12, 0)
    assert outcome.tally.spent.input_tokens == 1200
    assert reader.closed


def test_an_outcome_shows_itself(root: Path) -> None:
    """Who read, how much, and what failed; texts are escaped."""
    outcome = ran(root, Echo(name="<i>echo</i>"), limit=3)
    outcome.notes.append("a & b")
    html = outcome._repr_html_()
    assert "<td>reader</td><td>&lt;i&gt;echo&lt;/i&gt;</td>" in html
    assert "<td>readings</td><td>3 of 3</td>" in html
    assert "<td>failed readings</td><td>0</td>" in html
    assert "<td>note</td><td>a &amp; b</td>" in html
    assert html.count(NOTICE) == 1


def test_the_spec_says_what_was_run(root: Path) -> None:
    """Benchmark, reader, workflow, seed and versions stand in spec.json."""
    ran(root, Echo(), seed=7, limit=3)
    spec = read_spec(root.parent / "run")
    assert (spec.benchmark, spec.split, spec.seed, spec.limit) == ("medthinkvqa", "test", 7, 3)
    assert spec.reader.identity == {"model": "echo", "endpoint": "here"}
    assert spec.workflow.name == "tests.runs.fake_readers:plain"
    assert spec.workflow.settings["longest"] == 1024
    assert spec.versions["overread"]


def test_a_complete_run_asks_nobody_again(root: Path) -> None:
    """The second call reads nothing, even without the cache."""
    ran(root, Echo())
    reader = Echo()
    outcome = ran(root, reader, use_cache=False)
    assert outcome.complete
    assert not reader.asked
    assert (outcome.tally.before, outcome.tally.read) == (12, 0)


def test_limit_cases_and_repeat(root: Path) -> None:
    """The first cases, the named ones, several samples: and each sample is another question."""
    reader = Echo()
    ran(root, reader, cases=("case5", "#2"), repeat=3)
    assert sorted((row["case_id"], row["sample"]) for row in lines(root)) == [
        (case, sample) for case in ("case2", "case5") for sample in range(3)
    ]
    assert len(reader.asked) == 6
    assert len({request.seed for request in reader.asked}) == 6
    assert read_spec(root.parent / "run").cases == ("case2", "case5")


def test_an_unknown_case_is_told_before_anything_is_made(root: Path) -> None:
    """A misspelt case id gets the nearest one, and no folder appears."""
    with pytest.raises(UnknownName, match="did you mean 'case12'"):
        ran(root, Echo(), cases=("case12x",))
    assert not (root.parent / "run").exists()


def test_seeds_hang_on_run_seed_case_and_sample_only(root: Path) -> None:
    """Other order and other concurrency give the same seeds; another run seed gives others."""
    seeds: list[dict[str, int]] = []
    for concurrency, seed in ((1, 0), (7, 0), (7, 1)):
        reader = Echo(cached=False)
        run(made(root, reader, concurrency=concurrency, seed=seed), root.parent / f"{len(seeds)}")
        seeds.append({request.case.id: request.seed for request in reader.asked})
    assert seeds[0] == seeds[1]
    assert not set(seeds[0].values()) & set(seeds[2].values())
    assert seeds[0]["case3"] == hash_seed(0, "case3", 0)


@pytest.mark.parametrize("limit", [1, 3])
def test_no_more_in_flight_than_asked_for(root: Path, limit: int) -> None:
    """Concurrency bounds the questions in flight, also of a workflow that asks several at once."""

    async def three_at_once(case: Case, session: Session) -> Reading:
        asking = (session.ask_reader(asked(case, session, f"{case.id} {n}")) for n in range(3))
        await asyncio.gather(*asking)
        return session.reading(choice="A")

    reader = Echo(delay=0.002)
    ran(root, reader, concurrency=limit, workflow=three_at_once)
    assert reader.most == limit
    assert len(reader.asked) == 36


def test_a_reader_may_take_fewer_at_once(root: Path) -> None:
    """`at_once` of the reader wins over a larger concurrency."""
    reader = Echo(delay=0.001, at_once=2)
    ran(root, reader, concurrency=8)
    assert reader.most == 2


def test_cases_are_never_all_held(tmp_path: Path) -> None:
    """While 400 cases are read by four hands, no more than a few cases are alive."""
    root = write_cases(tmp_path / "release", 400)

    def alive() -> int:
        gc.collect()
        return sum(isinstance(one, Case) for one in gc.get_objects())

    before, most = alive(), 0  # other tests of this process may hold some of their own

    def count(request: Request) -> str:
        nonlocal most
        if request.case.id.endswith("50"):
            most = max(most, alive() - before)
        return ANSWER

    reader = Counting(answer=count)
    run(made(root, reader, concurrency=4), tmp_path / "run")
    assert 1 <= most <= 8


class Counting(Echo):
    """Echo without a memory."""

    async def read(self, request: Request) -> Reply:
        """Answer and forget."""
        reply = await super().read(request)
        self.asked.clear()
        return reply


# ---- failures ------------------------------------------------------------------------------


def test_failures_are_readings_and_the_run_goes_on(root: Path) -> None:
    """A reader's error, a reply of no use and a bug fail their case and no other."""

    def answer(request: Request) -> str:
        match request.case.id:
            case "case2":
                raise ReaderError("the model was not found", remedy="start it")
            case "case3":
                raise BadReply("it is empty")
            case "case4":
                raise KeyError("lost")
            case "case5":
                return "{}"  # the workflow stumbles over it
        return ANSWER

    outcome = ran(root, Echo(answer))
    errors = {row["case_id"]: row["error"] for row in lines(root) if row.get("error")}
    assert errors == {
        "case2": "the model was not found: start it",
        "case3": "the answer could not be used: it is empty",
        "case4": "a bug ended this reading (KeyError: 'lost')",
        "case5": "a bug ended this reading (KeyError: 'answer')",
    }
    assert outcome.complete
    assert outcome.tally.failed == 4
    assert {bug.case for bug in outcome.tally.bugs.values()} == {"case4", "case5"}
    assert all("Traceback" in bug.trace for bug in outcome.tally.bugs.values())


def test_failed_readings_are_tried_again_when_asked(root: Path) -> None:
    """Going on skips them; --retry-failed reads them, and their last line counts."""
    broken = {"case2", "case7"}

    def answer(request: Request) -> str:
        if request.case.id in broken:
            raise ReaderError("not now")
        return ANSWER

    ran(root, Echo(answer))
    reader = Echo(answer)
    again = ran(root, reader)
    assert not reader.asked
    assert again.tally.failed_before == 2
    assert [case for case, _ in again.tally.reasons] == ["case2", "case7"]
    broken.remove("case2")
    outcome = ran(root, reader, retry_failed=True)
    assert {request.case.id for request in reader.asked} == {"case2", "case7"}
    assert (outcome.tally.failed, outcome.tally.done) == (1, 12)
    last = last_readings(root.parent / "run")
    assert last["case2", 0].choice == "B"
    assert last["case7", 0].error == "not now"
    assert len(lines(root)) == 14


def test_a_failed_reading_keeps_what_was_said(root: Path) -> None:
    """Exchanges before the failure are in the failed reading."""

    async def then_fails(case: Case, session: Session) -> Reading:
        session.add_step("say", "first I looked")
        raise BadReply("then nothing")

    ran(root, Echo(), workflow=then_fails, limit=1)
    [row] = lines(root)
    assert row["trace"]["steps"][0]["text"] == "first I looked"
    assert row["error"] == "the answer could not be used: then nothing"


@pytest.mark.parametrize(
    "error", [UsageError("set up wrong"), MissingPart("no such package"), Unavailable("a wrong key")]
)
def test_what_is_wrong_for_every_case_ends_the_run(root: Path, error: Exception) -> None:
    """A set-up error is raised once, and no case is written as failed."""

    def answer(_: Request) -> str:
        raise error

    with pytest.raises(type(error), match=str(error)):
        ran(root, Echo(answer))
    assert lines(root) == []


def test_errors_of_a_task_group_are_unwrapped(root: Path) -> None:
    """A workflow that asks in a task group fails with the reader's own sentence."""

    async def grouped(case: Case, session: Session) -> Reading:
        async with asyncio.TaskGroup() as group:
            group.create_task(refuse())
        raise AssertionError

    async def refuse() -> None:
        raise error

    error: Exception = ReaderError("one of several would not")
    ran(root, Echo(), workflow=grouped, limit=1)
    assert lines(root)[0]["error"] == "one of several would not"
    error = Unavailable("no credit is left")
    with pytest.raises(Unavailable, match="no credit is left"):
        ran(root, Echo(), workflow=grouped, limit=2)
    assert len(lines(root)) == 1


def test_text_that_cannot_be_stored_is_mended(root: Path) -> None:
    """Half a surrogate pair in a reply becomes a mark, not a lost case."""
    odd = json.dumps({"answer": "B", "explanation": "x"}).replace("x", "\ud800y")
    ran(root, Echo(lambda _: odd), limit=1)
    assert lines(root)[0]["rationale"] == odd.replace("\ud800", "\N{REPLACEMENT CHARACTER}")


def test_two_cases_of_one_name_end_the_run(root: Path) -> None:
    """What was read before the second one is kept."""
    rows = (root / "test.jsonl").read_text().splitlines()
    (root / "test.jsonl").write_text("\n".join([*rows, rows[4]]) + "\n")

    class Twins(Echo):
        pass

    with pytest.raises(ReleaseError, match="two cases are called 'case5'"):
        ran(root, Twins(), concurrency=2)
    assert len(lines(root)) == 12


# ---- other readers -------------------------------------------------------------------------


def test_whole_readers_bypass_the_workflow(root: Path) -> None:
    """A reader of whole cases gets the case and its seed, once for each sample."""
    ran(root, WholeReader(), repeat=2, limit=2)
    rows = {(row["case_id"], row["sample"]): row for row in lines(root)}
    assert len(rows) == 4
    assert rows["case1", 1]["rationale"] == str(hash_seed(0, "case1", 1))
    assert read_spec(root.parent / "run").workflow.name is None


# ---- what is refused ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        {"api_key": "x"},
        {"token": "x"},
        {"base_url": "https://me:pw@host/v1"},
        {"model": "sk-proj-0123456789abcdef0123"},
    ],
)
def test_keys_are_refused_as_arguments(root: Path, arguments: dict[str, str]) -> None:
    """Arguments are written into the run, so a key among them ends it before it begins."""
    with pytest.raises(UsageError, match="environment") as caught:
        ran(root, Echo(), arguments=arguments)
    assert not any(value in str(caught.value) for value in arguments.values() if len(value) > 1)
    assert not (root.parent / "run").exists()


def test_numbers_that_make_no_run_are_refused(root: Path) -> None:
    """No case at once, no reading a case: refused with the least that is allowed."""
    with pytest.raises(UsageError, match="concurrency is 0: it is 1 or more"):
        replace(made(root, Echo()), concurrency=0)


def test_inside_a_running_loop_the_async_one_is_named(root: Path) -> None:
    """`run` in a notebook says to await `run_async`."""

    async def inside() -> None:
        ran(root, Echo())

    with pytest.raises(UsageError, match="await run_async"):
        asyncio.run(inside())


def test_a_reader_that_talks_to_the_terminal_is_not_watched(root: Path) -> None:
    """An interactive reader gets the terminal for itself; others are watched to the end."""
    seen: list[int] = []
    run(made(root, Echo()), root.parent / "one", watch=lambda tally: seen.append(tally.done))
    assert seen == list(range(13))
    seen.clear()
    talking = Echo()
    talking.interactive = True
    run(made(root, talking), root.parent / "two", watch=lambda tally: seen.append(tally.done))
    assert seen == []
