"""Collects requests that arrive one by one and answers them in batches, in one worker thread.

The event loop collects while the thread computes. A request whose caller is gone is removed from
the queue, or flagged while its batch is being computed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

from overread.core import Reply, Request
from overread.errors import ReaderError


def _new_future() -> asyncio.Future[Reply]:
    return asyncio.get_running_loop().create_future()


@dataclass(eq=False)
class PendingRequest:
    """A question in the queue."""

    request: Request
    cancelled: bool = False
    """Whether the caller is gone; set by the event loop, read by the worker thread."""
    answer: asyncio.Future[Reply] = field(default_factory=_new_future)


AnswerBatch = Callable[[Sequence[PendingRequest]], "Sequence[Reply | Exception]"]
"""Answers some questions: a reply or an error for each, in their order."""


class BatchQueue:
    """Gathers questions and has them answered by one thread, a batch after the other."""

    def __init__(self, work: AnswerBatch, *, most: int, wait: float) -> None:
        """Batches hold `most` questions, or fewer when nobody has come for `wait` seconds."""
        self._work = work
        self._most = most
        self._wait = wait
        self._waiting: list[PendingRequest] = []
        self._running: Sequence[PendingRequest] = ()
        self._arrival = asyncio.Event()
        self._feeder: asyncio.Task[None] | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._closed = False

    async def ask(self, request: Request) -> Reply:
        """The answer to one question, when its batch has been answered."""
        if self._closed:
            raise ReaderError("this reader was closed", remedy="make another one")
        asked = PendingRequest(request)
        self._waiting.append(asked)
        self._arrival.set()
        if self._feeder is None or self._feeder.done() or self._feeder.get_loop().is_closed():
            self._arrival = asyncio.Event()  # an event belongs to the loop that waits for it
            self._feeder = asyncio.create_task(self._run_batches())
        try:
            return await asked.answer
        finally:
            asked.cancelled = True

    async def close(self) -> None:
        """Give up what is being answered, and end the thread."""
        self._closed = True
        for asked in (*self._waiting, *self._running):
            asked.cancelled = True
            asked.answer.cancel()
        if self._feeder is not None and not self._feeder.get_loop().is_closed():
            with suppress(asyncio.CancelledError):
                await self._feeder
        self._feeder = None
        if self._thread is not None:
            thread, self._thread = self._thread, None
            await asyncio.to_thread(thread.shutdown)

    async def _run_batches(self) -> None:
        """Answer batch after batch until nobody waits."""
        while await self._wait_for_batch():
            batch, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
            self._running = batch
            try:
                answers = await asyncio.get_running_loop().run_in_executor(self._worker(), self._work, batch)
            except asyncio.CancelledError:
                for asked in batch:
                    asked.cancelled = True  # the thread stops at its next word
                raise
            except Exception as error:
                answers = [error] * len(batch)
            finally:
                self._running = ()
            for asked, answer in zip(batch, answers, strict=True):
                if asked.answer.done():
                    continue
                if isinstance(answer, Exception):
                    asked.answer.set_exception(answer)
                else:
                    asked.answer.set_result(answer)

    async def _wait_for_batch(self) -> bool:
        """Wait for a full batch, or till no request came for a while; whether any is left."""
        while True:
            self._waiting = [asked for asked in self._waiting if not asked.cancelled]
            before = len(self._waiting)
            if not before or before >= self._most:
                return before > 0
            self._arrival.clear()
            try:
                async with asyncio.timeout(self._wait):
                    await self._arrival.wait()
            except TimeoutError:
                self._waiting = [asked for asked in self._waiting if not asked.cancelled]
                return bool(self._waiting)

    def _worker(self) -> ThreadPoolExecutor:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="overread-hf")
        return self._thread
