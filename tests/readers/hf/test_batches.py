"""Questions that come one by one and are answered several at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Sequence
from typing import Any, TypeVar, cast

import pytest

from overread.core import Message, Pictures, Reply, Request
from overread.errors import ReaderError, UsageError
from overread.readers.hf.batches import BatchQueue, PendingRequest
from tests.readers.openai.questions import CASE
from tests.timing import PATIENCE, wait_in_loop, wait_until

T = TypeVar("T")


def question(words: str) -> Request:
    messages = (Message(role="user", parts=(words,)),)
    return Request(task="say", case=CASE, pictures=cast(Pictures, None), messages=messages)


def words(asked: PendingRequest) -> str:
    return str(asked.request.messages[0].parts[0])


class Echoes:
    """Says every question back, and remembers what came together and where."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.threads: set[int] = set()
        self.go = threading.Event()
        self.go.set()

    def __call__(self, batch: Sequence[PendingRequest]) -> Sequence[Reply | Exception]:
        self.batches.append([words(asked) for asked in batch])
        self.threads.add(threading.get_ident())
        while not self.go.wait(0.005):
            if all(asked.cancelled for asked in batch):
                break
        if "all wrong" in self.batches[-1]:
            raise UsageError("nothing works")
        return [
            ReaderError("bad one") if words(asked) == "bad" else Reply(text=words(asked)) for asked in batch
        ]


async def closing(batches: BatchQueue, work: Awaitable[T]) -> T:
    try:
        return await work
    finally:
        await batches.close()


def asked(batches: BatchQueue, *texts: str) -> list[Any]:
    async def all_of() -> list[Any]:
        waiting = [batches.ask(question(text)) for text in texts]
        return await asyncio.gather(*waiting, return_exceptions=True)

    return asyncio.run(closing(batches, all_of()))


@pytest.mark.parametrize(("most", "sizes"), [(1, [1] * 7), (3, [3, 3, 1]), (7, [7]), (50, [7])])
def test_questions_are_answered_in_their_order_in_batches_as_full_as_can_be(
    most: int, sizes: list[int]
) -> None:
    """Seven questions at once make full batches and a rest, and each gets its own answer."""
    echoes = Echoes()
    texts = [f"question {number}" for number in range(7)]
    replies = asked(BatchQueue(echoes, most=most, wait=0.5), *texts)
    assert [reply.text for reply in replies] == texts
    assert [len(batch) for batch in echoes.batches] == sizes
    assert [text for batch in echoes.batches for text in batch] == texts
    assert len(echoes.threads) == 1
    assert threading.get_ident() not in echoes.threads


def test_what_comes_while_a_batch_is_answered_makes_the_next_one() -> None:
    """The loop goes on while the thread works, and who comes meanwhile waits together."""

    async def late() -> None:
        first = asyncio.create_task(batches.ask(question("first")))
        await wait_in_loop(lambda: echoes.batches)
        others = [asyncio.create_task(batches.ask(question(f"late {n}"))) for n in range(3)]
        await asyncio.sleep(0)  # each of them has begun
        assert echoes.batches == [["first"]]
        echoes.go.set()
        await asyncio.gather(first, *others)

    echoes = Echoes()
    echoes.go.clear()
    batches = BatchQueue(echoes, most=4, wait=0)
    asyncio.run(closing(batches, late()))
    assert echoes.batches == [["first"], ["late 0", "late 1", "late 2"]]


def test_waiting_goes_on_as_long_as_somebody_comes() -> None:
    """Questions that drip in, each before the wait is over, still make one batch."""

    async def drip() -> None:
        tasks = []
        for number in range(4):
            tasks.append(asyncio.create_task(batches.ask(question(str(number)))))
            await asyncio.sleep(0.01)
        await asyncio.gather(*tasks)

    echoes = Echoes()
    batches = BatchQueue(echoes, most=4, wait=PATIENCE)
    asyncio.run(closing(batches, drip()))
    assert echoes.batches == [["0", "1", "2", "3"]]


def test_a_bad_question_fails_alone_and_a_bad_worker_fails_all() -> None:
    """An error among the answers goes to its asker; an error of the work goes to the batch."""
    replies = asked(BatchQueue(Echoes(), most=3, wait=0.5), "one", "bad", "two")
    assert [type(reply) for reply in replies] == [Reply, ReaderError, Reply]
    replies = asked(BatchQueue(Echoes(), most=2, wait=0.5), "one", "all wrong", "two")
    assert [type(reply) for reply in replies] == [UsageError, UsageError, Reply]


def test_who_goes_away_before_its_turn_is_never_answered() -> None:
    """A question that was cancelled in the queue does not reach the worker."""

    async def leave() -> list[str]:
        first = asyncio.create_task(batches.ask(question("first")))
        await wait_in_loop(lambda: echoes.batches)
        others = [asyncio.create_task(batches.ask(question(str(n)))) for n in range(3)]
        await asyncio.sleep(0)  # each of them has begun
        others[1].cancel()
        echoes.go.set()
        done = await asyncio.gather(first, *others, return_exceptions=True)
        assert isinstance(done[2], asyncio.CancelledError)
        return [reply.text for reply in done if isinstance(reply, Reply)]

    echoes = Echoes()
    echoes.go.clear()
    batches = BatchQueue(echoes, most=8, wait=0)
    assert asyncio.run(closing(batches, leave())) == ["first", "0", "2"]
    assert echoes.batches == [["first"], ["0", "2"]]


def test_when_all_have_gone_the_worker_hears_of_it() -> None:
    """The thread of a batch that the request was cancelled for ends by itself, so that closing does not hang."""

    async def leave() -> None:
        tasks = [asyncio.create_task(batches.ask(question(str(n)))) for n in range(2)]
        await wait_in_loop(lambda: echoes.batches)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    echoes = Echoes()
    echoes.go.clear()  # it would work for ever
    batches = BatchQueue(echoes, most=2, wait=0)
    asyncio.run(closing(batches, leave()))
    assert len(echoes.batches) == 1


def test_closing_ends_what_is_being_answered_and_refuses_what_comes_later() -> None:
    """Who still waits is told at once, and a closed reader says so."""

    async def close_early() -> None:
        task = asyncio.create_task(batches.ask(question("one")))
        await wait_in_loop(lambda: echoes.batches)
        await batches.close()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(ReaderError, match="was closed"):
            await batches.ask(question("two"))
        await batches.close()

    echoes = Echoes()
    echoes.go.clear()
    batches = BatchQueue(echoes, most=2, wait=0)
    asyncio.run(close_early())
    assert echoes.batches == [["one"]]


def test_one_reader_serves_one_loop_after_the_other() -> None:
    """A loop that was cut off in the middle leaves nothing behind for the next one."""

    async def once(text: str) -> Reply:
        return await batches.ask(question(text))

    async def cut_off() -> None:
        task = asyncio.create_task(once("never"))
        await wait_in_loop(lambda: echoes.batches)
        del task

    echoes = Echoes()
    batches = BatchQueue(echoes, most=2, wait=0)
    assert asyncio.run(once("one")).text == "one"
    echoes.batches.clear()
    echoes.go.clear()
    asyncio.run(cut_off())
    echoes.go.set()
    assert asyncio.run(closing(batches, once("two"))).text == "two"
    assert echoes.batches == [["never"], ["two"]]


def test_the_worker_does_not_hold_up_the_loop() -> None:
    """While the thread is busy, other tasks have their turns."""
    turns = 0

    def slow(batch: Sequence[PendingRequest]) -> Sequence[Reply | Exception]:
        begin = turns
        wait_until(lambda: turns >= begin + 20)  # it ends only because the loop goes on
        return [Reply(text="done") for _ in batch]

    async def count() -> Reply:
        nonlocal turns
        task = asyncio.create_task(batches.ask(question("one")))
        while not task.done():
            turns += 1
            await asyncio.sleep(0.001)
        return await task

    batches = BatchQueue(slow, most=1, wait=0)
    assert asyncio.run(closing(batches, count())).text == "done"
