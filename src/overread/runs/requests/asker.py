"""Sends a run's requests to one reader: looks in the reply cache, limits how many run at once,
retries.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from overread.core import DrawnMask, Reader, Reply, Request, Usage
from overread.errors import EndpointFailed, ReaderError, TryAgain
from overread.runs.requests.endpoint_health import EndpointHealth
from overread.runs.requests.limits import EndpointLimits, retry_delay
from overread.runs.requests.prices import Prices
from overread.runs.requests.reply_cache import ReplyCache, ReplyKeys
from overread.runs.requests.waits import Waits

Sleep = Callable[[float], Awaitable[None]]


@dataclass
class Spending:
    """Totals of what asking has cost so far: calls, tokens, pictures, money."""

    calls: int = 0
    """Questions that a reader was really asked, repeated ones too."""
    cached: int = 0
    """Questions whose answer was known."""
    retries: int = 0
    """Times that a question was asked again."""
    input_tokens: int = 0
    """Tokens read now; known answers count nothing."""
    output_tokens: int = 0
    """Tokens written now."""
    pictures: int = 0
    """Pictures sent now."""
    cost: float | None = None
    """Paid now, where prices are given."""
    saved: float | None = None
    """What the known answers would have cost."""
    currency: str = ""
    """What these are in, where the price list says so."""


class Asker:
    """Asks one reader. Sessions are handed its method `ask`."""

    def __init__(
        self,
        reader: Reader,
        *,
        pace: EndpointLimits,
        cache: ReplyCache | None = None,
        prices: Prices | None = None,
        max_retries: int = 5,
        max_wait: float | None = None,
        give_up: int | None = None,
        waits: Waits | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        """Without a `cache`, or with a reader that wants none, every question is asked.

        `max_wait` is the most seconds that one question waits before it is asked again, all its pauses
        together. `give_up` is that of `EndpointHealth`; `waits` is shared by those who ask for one run.
        """
        self.spent = Spending()
        if prices is not None:
            self.spent.cost = self.spent.saved = 0.0
            self.spent.currency = prices.currency
        self._reader = reader
        self._cache = cache if reader.cached else None
        self.key = ReplyKeys(reader.identity, seeded=reader.seeded).key
        """Request → its key in the cache."""
        self.limit = pace.limit_for(str(reader.identity.get("endpoint", "")))
        self._prices = prices
        self._max_retries = max_retries
        self._max_wait = max_wait
        self._sleep = sleep
        self.waits = waits or Waits()
        """The questions that wait just now."""
        self.health = EndpointHealth(at_once=pace.at_once, give_up=give_up)
        """Whether the endpoint answers at all."""
        self._whom = str(reader.identity.get("endpoint") or reader.name)
        self._pending: dict[bytes, asyncio.Future[Reply]] = {}

    async def ask(
        self, request: Request, *, key: bytes | None = None, anew: bool = False
    ) -> Reply | DrawnMask:
        """The reader's answer, or the one it gave to the same question before.

        `key` is the request's own, where the caller has computed it already. `anew` asks even what
        was answered before, and keeps the new answer in place of the old.
        """
        if self._cache is None or not request.messages:
            return await self._ask_reader(request)
        key = key or self.key(request)
        reply = None if anew else self.find_cached(key)
        if reply is not None:
            return reply
        while (asked := self._pending.get(key)) is not None:
            try:
                return self._reuse_reply(await asyncio.shield(asked))
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if not asked.cancelled() or (task is not None and task.cancelling()):
                    raise  # we are stopped; else only who asked first was, and it is our turn
        promise: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._pending[key] = promise
        try:
            answer = await self._ask_reader(request)
            if isinstance(answer, DrawnMask):
                raise ReaderError(f"the reader '{self._reader.name}' drew instead of answering")
            self._cache.add(key, request, answer)
        except asyncio.CancelledError:
            promise.cancel()
            raise
        except BaseException as error:
            promise.set_exception(error)
            promise.exception()  # retrieved, or asyncio warns where nobody else waits for it
            raise
        else:
            promise.set_result(answer)
            return answer
        finally:
            del self._pending[key]

    def find_cached(self, key: bytes) -> Reply | None:
        """The stored reply to the request of this key; None where there is none."""
        reply = self._cache.get(key) if self._cache is not None else None
        return None if reply is None else self._reuse_reply(reply)

    def _reuse_reply(self, reply: Reply) -> Reply:
        """A reply from the cache: its tokens are reported, but calls are 0 because nobody was asked
        now.
        """
        self.spent.cached += 1
        if self._prices is None and not reply.usage.calls:
            return reply
        cost = None
        if self._prices is not None:
            cost = self._prices.cost(reply.usage)
            self.spent.saved = (self.spent.saved or 0.0) + cost
        usage = reply.usage.model_copy(update={"calls": 0, "cost": cost})
        return reply.model_copy(update={"usage": usage})

    async def _ask_reader(self, request: Request) -> Reply | DrawnMask:
        spent = self.spent
        case = getattr(request.case, "id", "")
        waited = 0.0
        for attempt in range(self._max_retries + 1):
            async with self.limit:
                begin = time.perf_counter()
                spent.calls += 1
                try:
                    with self.health.attempt():
                        answer = await self._reader.read(request)
                except TryAgain as problem:
                    pause = retry_delay(attempt, problem.retry_after, request.seed)
                    failure = self._give_up_question(problem, attempt, waited, pause)
                    if failure is not None:
                        raise self.health.fail(case, failure) from problem
                    why = problem.what
                except EndpointFailed as problem:
                    raise self.health.fail(case, problem) from None
                except ReaderError:
                    self.health.note_answer()
                    raise
                else:
                    self.health.note_answer()
                    if isinstance(answer, DrawnMask):
                        return answer
                    return self._count_usage(answer, attempt + 1, time.perf_counter() - begin)
            spent.retries += 1
            waited += pause
            with self.waits.waiting(self._whom, why, pause):
                await self._sleep(pause)
        raise AssertionError("the loop above returns or raises")

    def _give_up_question(
        self, problem: TryAgain, attempt: int, waited: float, pause: float
    ) -> EndpointFailed | None:
        """The failure of a question that is not asked again; None where it is."""
        what = problem.what
        times = f"asked {attempt + 1} times" if attempt else "asked once"
        if attempt == self._max_retries:
            what = f"{what} ({times})" if attempt else what
        elif self._max_wait is not None and waited + pause > self._max_wait:
            what = (
                f"{what} ({times}, with {waited:.0f} s of waiting; the next wait would be {pause:.0f} s, "
                f"and --max-wait is {self._max_wait:g} s)"
            )
        else:
            return None
        return EndpointFailed(what, where=problem.where, remedy=problem.remedy)

    def _count_usage(self, reply: Reply, calls: int, seconds: float) -> Reply:
        usage, spent = reply.usage, self.spent
        spent.input_tokens += usage.input_tokens
        spent.output_tokens += usage.output_tokens
        spent.pictures += usage.pictures
        cost = None
        if self._prices is not None:
            cost = self._prices.cost(usage)
            spent.cost = (spent.cost or 0.0) + cost
        changes: dict[str, object] = {
            "usage": Usage(
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                pictures=usage.pictures,
                calls=calls,
                seconds=round(usage.seconds or seconds, 4),
                cost=cost,
            ),
            **_replace_surrogates({"text": reply.text, "reasoning": reply.reasoning, "model": reply.model}),
        }
        return reply.model_copy(update=changes)


def _replace_surrogates(texts: Mapping[str, str | None]) -> dict[str, str]:
    """The texts among these that cannot be encoded as UTF-8 (lone surrogates), with the bad
    characters replaced.
    """
    mended = {}
    for name, text in texts.items():
        if text is not None and not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                mended[name] = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return mended
