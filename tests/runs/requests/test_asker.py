"""Asking on behalf of a run: trying again, known answers, and the same question asked once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from overread.core import Case, Message, Reading, Reply, Request
from overread.errors import EndpointFailed, ReaderError, TryAgain, UsageError
from overread.runs.engine import RunPlan, run
from overread.runs.estimate import estimate
from overread.runs.requests.asker import Asker
from overread.runs.requests.limits import EndpointLimits, retry_delay
from overread.runs.requests.prices import Prices, read_prices
from overread.runs.requests.reply_cache import ReplyCache
from overread.session import ParsedReply, Session
from tests.runs.fake_readers import ANSWER, Echo, plain
from tests.runs.medthinkvqa_cases import write_cases
from tests.timing import wait_in_loop


def question(words: str = "hello", seed: int = 0) -> Request:
    nobody = cast(Any, None)
    message = Message(role="user", parts=(words,))
    return Request(task="choose", case=nobody, pictures=nobody, messages=(message,), seed=seed)


def asker(reader: Echo, slept: list[float] | None = None, **more: Any) -> Asker:
    async def sleep(seconds: float) -> None:
        if slept is not None:
            slept.append(seconds)

    return Asker(reader, pace=EndpointLimits(8), sleep=sleep, **more)


def busy(times: int, after: float | None = None) -> Callable[[Request], str]:
    """An answer after so many refusals."""
    left = times

    def answer(_: Request) -> str:
        nonlocal left
        if left:
            left -= 1
            problem = TryAgain("too busy", remedy="wait")
            problem.retry_after = after
            raise problem
        return ANSWER

    return answer


# ---- trying again --------------------------------------------------------------------------


def test_what_may_pass_is_asked_again_with_growing_pauses() -> None:
    """Four refusals, four pauses, each about twice the last, and one answer that counts five."""
    slept: list[float] = []
    one = asker(Echo(busy(4)), slept)
    reply = asyncio.run(one.ask(question()))
    assert isinstance(reply, Reply)
    assert (reply.usage.calls, one.spent.calls, one.spent.retries) == (5, 5, 4)
    for pause, most in zip(slept, (0.5, 1.0, 2.0, 4.0), strict=True):
        assert most / 2 <= pause <= most


def test_retry_after_is_honoured() -> None:
    """The reader is left alone at least as long as it asked, and five minutes at most."""
    slept: list[float] = []
    asyncio.run(asker(Echo(busy(2, after=7.0)), slept).ask(question()))
    assert all(7.0 <= pause <= 7.5 for pause in slept)
    assert 300 <= retry_delay(0, 86400.0, 0) <= 301
    assert retry_delay(0, 0.0, 0) == 0


def test_pauses_hang_on_the_seed() -> None:
    """The same seed waits the same; others do not come back at the same moment."""
    assert retry_delay(3, None, 5) == retry_delay(3, None, 5)
    assert len({retry_delay(3, None, seed) for seed in range(50)}) == 50
    assert retry_delay(500, None, 5) <= 60


def test_patience_ends() -> None:
    """After the last try the reader's own words are the error, and how often it was asked."""
    reader = Echo(busy(99))
    with pytest.raises(ReaderError, match=r"too busy \(asked 3 times\): wait") as caught:
        asyncio.run(asker(reader, max_retries=2).ask(question()))
    assert not isinstance(caught.value, TryAgain)
    assert len(reader.asked) == 3


def test_who_waits_does_not_hold_the_endpoint() -> None:
    """With one question at a time, another is answered while the first waits to ask again."""
    order: list[str] = []

    def answer(request: Request) -> str:
        words = str(request.messages[0].parts[0])
        order.append(words)
        if order == ["first"]:
            raise TryAgain("too busy")
        return ANSWER

    async def both() -> None:
        one = Asker(Echo(answer), pace=EndpointLimits(1), sleep=lambda _: asyncio.sleep(0.01))
        await asyncio.gather(one.ask(question("first")), one.ask(question("second")))

    asyncio.run(both())
    assert order == ["first", "second", "first"]


# ---- known answers -------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path: Path) -> Any:
    """An empty cache."""
    found = ReplyCache(tmp_path / "replies.sqlite")
    yield found
    found.close()


def test_a_known_answer_asks_nobody(cache: ReplyCache) -> None:
    """It tells its tokens, no call, and what it would have cost."""
    reader = Echo()
    prices = Prices(1000.0, 10_000.0)
    first = asyncio.run(asker(reader, cache=cache, prices=prices).ask(question()))
    one = asker(reader, cache=cache, prices=prices)
    second = asyncio.run(one.ask(question()))
    assert isinstance(first, Reply)
    assert isinstance(second, Reply)
    assert second.text == first.text
    assert len(reader.asked) == 1
    assert (first.usage.calls, second.usage.calls) == (1, 0)
    assert first.usage.cost == second.usage.cost == pytest.approx(0.2)
    assert (one.spent.cached, one.spent.calls, one.spent.cost) == (1, 0, 0.0)
    assert one.spent.saved == pytest.approx(0.2)


def test_readers_that_want_no_cache_get_none(cache: ReplyCache) -> None:
    """Nothing is looked up and nothing kept."""
    reader = Echo(cached=False)
    for _ in range(2):
        asyncio.run(asker(reader, cache=cache).ask(question()))
    assert len(reader.asked) == 2
    assert cache.count() == 0


def test_one_question_waits_no_longer_than_it_may() -> None:
    """The pauses of a question together; the failure says how long it waited and what ends it."""
    slept: list[float] = []

    def answer(_: Request) -> str:
        problem = TryAgain("too busy", remedy="wait")
        problem.retry_after = 60.0
        raise problem

    with pytest.raises(
        EndpointFailed, match=r"asked 3 times, with 12\d s of waiting; .* --max-wait is 150 s"
    ):
        asyncio.run(asker(Echo(answer), slept, max_retries=50, max_wait=150.0).ask(question()))
    assert len(slept) == 2
    with pytest.raises(EndpointFailed, match=r"asked once, with 0 s of waiting"):
        asyncio.run(asker(Echo(answer), slept, max_retries=50, max_wait=0.0).ask(question()))
    assert len(slept) == 2


def test_a_failure_is_not_kept(cache: ReplyCache) -> None:
    """What failed is asked for again by the next run."""
    with pytest.raises(ReaderError):
        asyncio.run(asker(Echo(busy(9)), cache=cache, max_retries=0).ask(question()))
    assert cache.count() == 0


def test_the_same_question_in_flight_is_asked_once(cache: ReplyCache) -> None:
    """Five who ask the same at once share one answer, or one failure."""
    reader = Echo(delay=0.01)

    async def five(one: Asker) -> list[Any]:
        return await asyncio.gather(*(one.ask(question()) for _ in range(5)), return_exceptions=True)

    one = asker(reader, cache=cache)
    replies = asyncio.run(five(one))
    assert {reply.text for reply in replies} == {ANSWER}
    assert len(reader.asked) == 1
    assert (one.spent.calls, one.spent.cached) == (1, 4)
    assert sorted(reply.usage.calls for reply in replies) == [0, 0, 0, 0, 1]

    def refuse(_: Request) -> str:
        raise ReaderError("no")

    broken = Echo(refuse, delay=0.01, identity={"model": "broken"})
    errors = asyncio.run(five(asker(broken, cache=cache)))
    assert [str(error) for error in errors] == ["no"] * 5
    assert len(broken.asked) == 1


def test_when_who_asked_first_is_stopped_the_next_one_asks(cache: ReplyCache) -> None:
    """A cancelled question does not cancel those who waited for its answer."""
    reader = Echo(delay=600)

    async def two() -> Any:
        one = asker(reader, cache=cache)
        first = asyncio.create_task(one.ask(question()))
        await wait_in_loop(lambda: reader.asked)
        second = asyncio.create_task(one.ask(question()))
        await asyncio.sleep(0.001)
        reader.delay = 0
        first.cancel()
        return await second

    assert asyncio.run(two()).text == ANSWER
    assert len(reader.asked) == 2


def test_a_rerun_into_another_folder_comes_from_the_cache(tmp_path: Path) -> None:
    """The readings are the same but for what was paid, and the log says where they are from."""
    root = write_cases(tmp_path / "release", 4)

    async def asks(case: Case, session: Session) -> Reading:
        said = await session.ask("mine", {"what": case.id}, ParsedReply, task="say")
        return session.reading(rationale=said)

    from overread.session import SessionSettings

    (tmp_path / "mine.md").write_text("What for\n---\nSay {{what}}.\n")
    plan = RunPlan(
        "medthinkvqa", root, Echo(), workflow=asks, cache=tmp_path / "c.sqlite",
        settings=SessionSettings(prompts=str(tmp_path)),
    )  # fmt: skip
    from overread.runs.store import last_readings

    run(plan, tmp_path / "one")
    outcome = run(plan, tmp_path / "two")
    assert (outcome.tally.spent.calls, outcome.tally.spent.cached) == (0, 4)
    one, two = (last_readings(tmp_path / name) for name in ("one", "two"))
    assert {r.exchanges[0].from_cache for r in one.values()} == {False}
    assert {r.exchanges[0].from_cache for r in two.values()} == {True}
    assert {k: r.rationale for k, r in one.items()} == {k: r.rationale for k, r in two.items()}
    assert {r.usage.calls for r in two.values() if r.usage} == {0}


def test_a_broken_cache_ends_the_run(tmp_path: Path) -> None:
    """It is not told as the failure of every case."""
    root = write_cases(tmp_path / "release", 4)
    (tmp_path / "c.sqlite").write_text("no database " * 100)
    plan = RunPlan("medthinkvqa", root, Echo(), workflow=plain, cache=tmp_path / "c.sqlite")
    with pytest.raises(Exception, match="not a database"):
        run(plan, tmp_path / "run")
    assert (tmp_path / "run" / "readings.jsonl").read_text() == ""


# ---- what it would take --------------------------------------------------------------------


def test_a_dry_run_counts_and_writes_nothing(tmp_path: Path) -> None:
    """Calls, tokens, cost and what is known; nobody is asked and no file appears."""
    root = write_cases(tmp_path / "release", 6)
    cache = tmp_path / "c.sqlite"
    reader = Echo()
    plan = RunPlan(
        "medthinkvqa", root, reader, workflow=plain, cache=cache, repeat=2,
        prices=Prices(1_000_000.0, 0.0),
    )  # fmt: skip
    found = estimate(plan, tmp_path / "run")
    case = next(iter(plan.release_ref.open()))
    letters = len(f"{case.history} {[option.text for option in case.options]}")
    assert (found.readings, found.calls, found.cached, found.before) == (12, 12, 0, 0)
    assert found.input_tokens == 12 * -(-letters // 4)
    assert found.cost == found.input_tokens
    assert not reader.asked
    assert sorted(path.name for path in tmp_path.iterdir()) == ["release"]


def test_a_dry_run_knows_what_is_there(tmp_path: Path) -> None:
    """Readings that are there are not counted, and known answers cost nothing."""
    root = write_cases(tmp_path / "release", 6)
    reader = Echo()
    plan = RunPlan("medthinkvqa", root, reader, workflow=plain, cache=tmp_path / "c.sqlite", limit=2)
    run(plan, tmp_path / "run")
    from dataclasses import replace

    found = estimate(replace(plan, limit=None), tmp_path / "run")
    assert (found.before, found.readings, found.calls, found.cached) == (2, 4, 4, 0)
    found = estimate(replace(plan, limit=None), tmp_path / "elsewhere")
    assert (found.before, found.readings, found.calls, found.cached) == (0, 6, 4, 2)
    with pytest.raises(UsageError, match="seed is 1 and was 0"):
        estimate(replace(plan, seed=1), tmp_path / "run")


def test_a_dry_run_follows_a_workflow_to_its_second_question(tmp_path: Path) -> None:
    """The stand-in fits the schema, so that both questions of each case are counted."""
    root = write_cases(tmp_path / "release", 3)

    async def twice(case: Case, session: Session) -> Reading:
        from pydantic import BaseModel

        class Found(BaseModel):
            findings: list[str]
            sure: float

        for name in ("first", "second"):
            request = Request(
                task=name, case=case, pictures=session.pictures,
                messages=(Message(role="user", parts=(name,)),), schema=Found.model_json_schema(),
            )  # fmt: skip
            reply = await session.ask_reader(request)
            assert isinstance(reply, Reply)
            Found.model_validate_json(reply.text)
        return session.reading(report="done")

    plan = RunPlan("medthinkvqa", root, Echo(), workflow=twice, use_cache=False)
    found = estimate(plan)
    assert (found.calls, found.at_least) == (6, False)


# ---- prices --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.toml", 'currency = "EUR"\n["m-1"]\ninput = 2\noutput = 8.5\n'),
        ("p.json", '{"currency": "EUR", "m-1": {"input": 2, "output": 8.5}}'),
    ],
)
def test_price_lists_are_read(tmp_path: Path, name: str, text: str) -> None:
    """TOML and JSON alike; a model that is not in it is named."""
    (tmp_path / name).write_text(text)
    assert read_prices(tmp_path / name, "m-1") == Prices(2.0, 8.5, "EUR")
    with pytest.raises(UsageError, match=f"no model in {name} is called 'm-2'"):
        read_prices(tmp_path / name, "m-2")


@pytest.mark.parametrize(
    "text",
    [
        "[m]\ninput = 'x'\noutput = 1",
        f"[m]\ninput = {10**400}\noutput = 1",
        "[m]\ninput = inf\noutput = 1",
        "[m]\ninput = 1",
        "[[",
        "m = " + "[" * 20_000,
        "\xff",
    ],
)
def test_what_is_no_price_list_is_told(tmp_path: Path, text: str) -> None:
    """One sentence with what to write."""
    (tmp_path / "p.toml").write_text(text, "latin-1")
    with pytest.raises(UsageError, match="write a table for each model"):
        read_prices(tmp_path / "p.toml", "m")
    with pytest.raises(UsageError, match="cannot be read"):
        read_prices(tmp_path / "absent.toml", "m")


@pytest.mark.parametrize("price", [-1.0, float("inf"), float("nan"), 1e300])
def test_what_is_no_price_is_told(price: float) -> None:
    """Also where it was given on the command line."""
    with pytest.raises(UsageError, match="a price of"):
        Prices(price, 1.0)
