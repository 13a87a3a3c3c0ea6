"""The reader `openai` against a server that misbehaves."""

from __future__ import annotations

import asyncio
import tracemalloc
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, cast

import pytest

from overread.core import Pictures
from overread.errors import BadReply, EndpointFailed, ReaderError, TryAgain, Unavailable
from overread.prompts.replies import letter_parser
from overread.readers.openai.endpoints import MAX_ANSWER_BYTES, retry_after
from overread.readers.openai.reader import make
from overread.session import Session, SessionSettings
from tests.readers.openai.misbehaving_server import (
    Behaviour,
    Server,
    cut,
    dripping,
    dropped,
    endless,
    fails,
    gives,
    packed,
    raw,
    redirects,
    says,
    serving,
    slow,
)
from tests.readers.openai.questions import CASE, asked, bare_environment, failure, request


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key and no address of the one who runs the tests."""
    bare_environment(monkeypatch)


# ---- what may pass -----------------------------------------------------------------------------


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_troubles_that_may_pass(status: int) -> None:
    """Busy and broken servers are worth another try, after the time they ask for."""
    error = failure(fails(status, "overloaded", retry_after="7"))
    assert isinstance(error, TryAgain)
    assert error.retry_after == 7
    assert f"({status}: overloaded)" in str(error)


def test_waiting_until_a_date() -> None:
    """Retry-After may be an HTTP date; a past one means now."""
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    error = failure(fails(429, retry_after=soon))
    assert isinstance(error, TryAgain)
    assert error.retry_after is not None
    assert 80 < error.retry_after <= 90
    error = failure(fails(429, retry_after="Wed, 21 Oct 2015 07:28:00 GMT"))
    assert isinstance(error, TryAgain)
    assert error.retry_after == 0


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "tomorrow"}, None),
        ({"retry-after": "1e300"}, 86400),
        ({"retry-after": "Wed, 99 Oct 9999999 07:28:00 GMT"}, None),
        ({}, None),
    ],
)
def test_times_to_wait(headers: dict[str, str], expected: float | None) -> None:
    """Every way to say it is read, and nonsense is no time."""
    assert retry_after(headers) == expected


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        (dropped(), "broke off"),
        (cut(), "was cut off"),
        (raw(b"", then_close=True), "broke off"),
        (raw(b"HTTP/1.1 banana\r\n\r\n", then_close=True), "broke off"),
        (raw(packed(200, b"")), "was cut off"),
        (raw(packed(200, b"\x1f\x8bbroken", {"content-encoding": "gzip"})), "broke off"),
        (slow(600), "within 0.3 seconds"),
        (dripping(), "within 0.3 seconds"),
        (raw(packed(200, b'{"choices": ' + b"[" * 100_000)), "was cut off"),
        (gives({"error": {"message": "upstream died", "code": 502}}), "upstream died"),
    ],
)
def test_answers_that_break_off_may_pass(behaviour: Behaviour, words: str) -> None:
    """Dropped, cut, slow and dripping answers end in TryAgain."""
    # Only who never ends may run into the limit, however slow the machine is.
    error = failure(behaviour, timeout="0.3" if "0.3" in words else "300")
    assert isinstance(error, TryAgain)
    assert words in str(error)


def test_nobody_at_home() -> None:
    """A port where nobody listens may be worth another try, and the remedy names the argument."""

    async def talk() -> None:
        async with serving(says("B")) as server:
            url = server.url
        await asked(make({"model": "m", "base_url": url}))

    with pytest.raises(TryAgain, match=r"cannot be reached: .*base_url="):
        asyncio.run(talk())


def test_one_question_is_one_request() -> None:
    """The SDK tries nothing again by itself: that is for the engine."""

    async def talk() -> Server:
        async with serving(fails(500)) as server:
            with pytest.raises(TryAgain):
                await asked(make({"model": "m", "base_url": server.url}))
            return server

    assert len(asyncio.run(talk()).seen) == 1


# ---- what will not pass ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        (fails(400, "image is broken"), "refuses the request (400: image is broken)"),
        (fails(400, "This model's maximum context length is 4096 tokens"), "--setting longest=512"),
        (fails(401, "who are you"), "asks for a key (401): put a valid one into the environment"),
        (fails(403, "no"), "denies access to the model 'local-vl' (403)"),
        (fails(404, "no model"), "has no model 'local-vl', or no chat completions (404: no model)"),
        (fails(413, "too large"), "pictures are too large for"),
        (fails(413, "too large"), "--setting longest=512"),
        (gives({"detail": [{"msg": "Field required", "input": "x"}]}, status=422), "Field required"),
        (fails(429, "pay", code="insufficient_quota"), "no credit left"),
        (raw(packed(418, b"<html><b>tea</b>pot</html>")), "(418: tea pot)"),
        (raw(packed(200, b"<html>Welcome</html>")), "no chat completion"),
        (gives([1]), "no chat completion"),
        (gives({"object": "list"}), "usually ends in /v1"),
        (gives({"error": {"message": "nope", "code": 400}}), "refuses the request (400: nope)"),
    ],
)
def test_troubles_that_will_not_pass(behaviour: Behaviour, words: str) -> None:
    """What asking again would not change is a ReaderError with a remedy."""
    error = failure(behaviour)
    assert not isinstance(error, TryAgain)
    assert words in str(error)
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (
            500,
            "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
        ),
        (500, "Multimodal data provided, but model does not support multimodal requests."),
        (400, "At most 0 image(s) may be provided in one prompt."),
        (400, "meta/llama-3 is not a multimodal model"),
        (404, "No endpoints found that support image input"),
    ],
)
def test_a_model_that_takes_no_pictures_is_called_so(status: int, told: str) -> None:
    """Asking again would not make it see; whoever it was that answered, and with which status."""
    error = failure(fails(status, told))
    assert isinstance(error, Unavailable)
    assert "the model 'local-vl' at http" in str(error)
    assert f"takes no pictures ({status}: {told}" in str(error)
    assert "image_ratio=0" in str(error)


@pytest.mark.parametrize(
    "told",
    ["the model does not support images larger than 20 MB", "image format is not supported: image/x-dcm"],
)
def test_one_picture_that_is_refused_is_one_question(told: str) -> None:
    """A model that does not take this picture may take others."""
    error = failure(fails(400, told))
    assert not isinstance(error, EndpointFailed | Unavailable)
    assert f"refuses the request (400: {told})" in str(error)


@pytest.mark.parametrize("status", [401, 403, 404])
def test_what_concerns_every_question_says_so_until_one_was_answered(status: int) -> None:
    """A wrong key or model is told as such; later on it is the failure of one question."""

    async def talk() -> tuple[ReaderError, ReaderError]:
        async with serving(fails(status, "no"), says("B"), fails(status, "no")) as server:
            reader = make({"model": "m", "base_url": server.url})
            with pytest.raises(ReaderError) as first:
                await reader.read(request())
            await reader.read(request())
            with pytest.raises(ReaderError) as later:
                await asked(reader)
            return first.value, later.value

    first, later = asyncio.run(talk())
    assert isinstance(first, Unavailable)
    assert type(later) is EndpointFailed
    assert str(first) == str(later)


def test_no_credit_is_the_end_whenever_it_comes() -> None:
    """An account without credit answers nothing more, however much it answered before."""

    async def talk() -> None:
        async with serving(says("B"), fails(429, "x", code="insufficient_quota")) as server:
            reader = make({"model": "m", "base_url": server.url})
            await reader.read(request())
            with pytest.raises(Unavailable, match="no credit"):
                await asked(reader)

    asyncio.run(talk())


def test_redirects_are_not_followed() -> None:
    """Pictures are not sent on to another address, whatever the first one says."""

    async def talk() -> Server:
        async with serving(says("B")) as other, serving(redirects(other.url)) as server:
            with pytest.raises(ReaderError, match="redirects to another address"):
                await asked(make({"model": "m", "base_url": server.url}))
            assert len(server.seen) == 1
            return other

    assert asyncio.run(talk()).seen == []


@pytest.mark.parametrize("packed_up", [False, True])
def test_an_answer_of_a_hundred_megabytes_is_not_taken_in(packed_up: bool) -> None:
    """It ends in an error, plain or as a gzip bomb, before it fills the memory."""
    behaviour = endless(100 * 2**20, packed_up=packed_up)
    if packed_up:
        bomb = behaviour

        async def behaviour(seen: Any, writer: Any) -> None:
            tracemalloc.stop()
            await bomb(seen, writer)
            tracemalloc.start()

    tracemalloc.start()
    try:
        error = failure(behaviour)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "longer than 16 MB" in str(error)
    assert not isinstance(error, TryAgain)
    assert peak < 2 * MAX_ANSWER_BYTES + 2**23


# ---- replies that make no sense ----------------------------------------------------------------


async def chosen(server: Server, *, repairs: int = 1) -> tuple[str, Session]:
    """The letter that a session gets out of a server."""
    reader = make({"model": "m", "base_url": server.url})
    session = Session(
        ask_reader=reader.read,
        reader=reader,
        case=CASE,
        pictures=cast(Pictures, None),
        settings=SessionSettings(repairs=repairs),
    )
    try:
        values = {"history": "Cough.", "options": "A. Sarcoidosis"}
        return await session.ask("choose", values, letter_parser(CASE.options), task="choose"), session
    finally:
        await reader.close()


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (says('{"answer": "F"}'), "'F' is neither of A"),
        (says('{"verdict": "A mass"}'), "names none of A"),
        (says(""), "it is empty"),
        (says("", finish="content_filter"), "it is a refusal"),
        (says("<think>It may be", finish="length"), "still thinking"),
        (says("I cannot help with that."), "names none of A"),
    ],
)
def test_a_reply_that_makes_no_sense_is_asked_for_again(bad: Behaviour, problem: str) -> None:
    """The model is told why, both exchanges are kept, and the second answer counts."""

    async def talk() -> tuple[str, Session, Server]:
        async with serving(bad, says('{"answer": "A",}')) as server:
            return *(await chosen(server)), server

    choice, session, server = asyncio.run(talk())
    assert choice == "A"
    first, second = session.exchanges
    assert problem in (first.problem or "")
    assert second.repaired == "a comma too many was taken out"
    assert problem in server.seen[1].told["messages"][-1]["content"]
    assert session.reading().usage == first.reply.usage + second.reply.usage  # type: ignore[union-attr]


def test_a_reply_that_never_makes_sense_is_an_error() -> None:
    """After as many repairs as are allowed the case has failed, in one sentence."""

    async def talk() -> None:
        async with serving(says("Perhaps.")) as server:
            await chosen(server, repairs=2)

    with pytest.raises(BadReply, match="names none of A"):
        asyncio.run(talk())
