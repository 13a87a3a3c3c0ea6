"""The reader `openai`: the real SDK, a real socket; what goes out and what comes back."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from overread.core import Reader, Reply
from overread.errors import ReaderError
from overread.readers.openai.reader import make
from tests.readers.openai.misbehaving_server import (
    Behaviour,
    Server,
    completion,
    fails,
    gives,
    packed,
    raw,
    says,
    serving,
    slow,
)
from tests.readers.openai.questions import (
    KEY,
    PIXELS,
    SCHEMA,
    answer,
    asked,
    bare_environment,
    failure,
    request,
)
from tests.timing import wait_in_loop


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key and no address of the one who runs the tests."""
    bare_environment(monkeypatch)


# ---- what goes out -----------------------------------------------------------------------------


def test_pictures_and_words_go_out_in_their_order() -> None:
    """Parts of a message arrive in order, pictures as data URIs of exactly their bytes."""
    reply, server = answer(says("B"), image_detail="high")
    system, user = server.seen[0].told["messages"]
    assert system == {"role": "system", "content": "You are a radiologist."}
    kinds = [part["type"] for part in user["content"]]
    assert kinds == ["image_url", "text", "image_url", "text"]
    for part, data in zip(user["content"][::2], PIXELS, strict=True):
        head, _, coded = part["image_url"]["url"].partition(",")
        assert head == "data:image/png;base64"
        assert base64.b64decode(coded) == data
        assert part["image_url"]["detail"] == "high"
    assert reply.usage.pictures == 2


def test_nothing_of_the_handles_of_a_case_goes_out() -> None:
    """Id, patient and file of the case are in no byte and no header that the server saw."""
    _, server = answer(says("B"))
    seen = server.seen[0]
    assert "CANARY" not in f"{seen.path} {seen.headers} {seen.body.decode()}"
    assert "glioma" not in seen.body.decode()


def test_arguments_reach_the_endpoint_and_absent_ones_do_not() -> None:
    """Parameters that were given are sent, extra ones beside them, and no others."""
    _, server = answer(
        says("B"),
        temperature="0.6",
        top_p="0.95",
        max_tokens="8192",
        reasoning_effort="low",
        seed="7",
        structured="none",
        extra='{"top_k": 20}',
    )
    told = server.seen[0].told
    assert {name: told[name] for name in told if name != "messages"} == {
        "model": "local-vl",
        "temperature": 0.6,
        "top_p": 0.95,
        "max_tokens": 8192,
        "reasoning_effort": "low",
        "seed": 7,
        "top_k": 20,
    }
    _, server = answer(says("B"), structured="none")
    assert server.seen[0].told.keys() == {"model", "messages"}
    assert server.seen[0].path == "/v1/chat/completions"


def test_each_sample_has_a_seed_of_its_own() -> None:
    """The second answer to a question is asked for with another seed than the first."""

    async def seeds() -> list[int]:
        async with serving(says("B")) as server:
            reader = make({"model": "m", "base_url": server.url, "seed": "100"})
            for sample in (0, 1):
                await reader.read(request(sample=sample))
            await reader.close()
            return [seen.told["seed"] for seen in server.seen]

    assert asyncio.run(seeds()) == [100, 101]


def test_a_socket_file_is_an_endpoint_too(tmp_path: Path) -> None:
    """A model behind a Unix socket is on this machine and is asked like any other."""

    async def talk() -> tuple[Reply, Server]:
        async with serving(says("C"), file=tmp_path / "vllm.sock") as server:
            return await asked(make({"model": "m", "base_url": server.url})), server

    reply, server = asyncio.run(talk())
    assert (reply.text, server.seen[0].path) == ("C", "/v1/chat/completions")


def test_azure_is_asked_at_its_deployment(monkeypatch: pytest.MonkeyPatch) -> None:
    """With an API version the path names the deployment and the key goes into its own header."""
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)

    async def talk() -> Server:
        async with serving(says("B")) as server:
            resource = server.url.removesuffix("/v1")
            told = {"model": "gpt", "base_url": resource, "azure_api_version": "2024-10-21"}
            await asked(make(told))
            return server

    seen = asyncio.run(talk()).seen[0]
    assert seen.path == "/openai/deployments/gpt/chat/completions?api-version=2024-10-21"
    assert seen.headers["api-key"] == KEY


def test_proxies_of_the_environment_are_not_used_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy that somebody set does not get to see what goes to a local endpoint."""

    async def talk() -> tuple[Reply, Server]:
        async with serving(fails(500)) as proxy, serving(says("B")) as server:
            for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
                monkeypatch.setenv(name, proxy.url.removesuffix("/v1"))
            return await asked(make({"model": "m", "base_url": server.url})), proxy

    reply, proxy = asyncio.run(talk())
    assert reply.text == "B"
    assert proxy.seen == []


# ---- telling the schema ------------------------------------------------------------------------


def test_auto_goes_down_until_the_endpoint_understands_and_remembers() -> None:
    """Schema, then JSON, then nothing; the next question starts where this one ended."""

    async def formats() -> list[str | None]:
        wrong = fails(400, "response_format is not supported here")
        async with serving(wrong, wrong, says("{}")) as server:
            reader = make({"model": "m", "base_url": server.url})
            for _ in range(2):
                await reader.read(request(schema=SCHEMA))
            await reader.close()
            told = [seen.told.get("response_format") for seen in server.seen]
            return [way and way["type"] for way in told]

    assert asyncio.run(formats()) == ["json_schema", "json_object", None, None]


def test_a_failed_search_for_the_way_is_not_remembered() -> None:
    """Where the endpoint refuses each way, the next question starts from the strictest again."""

    async def formats() -> list[bool]:
        wrong = fails(400, "bad schema")
        async with serving(wrong, wrong, wrong, says("{}")) as server:
            reader = make({"model": "m", "base_url": server.url})
            with pytest.raises(ReaderError, match="bad schema"):
                await reader.read(request(schema=SCHEMA))
            await reader.read(request(schema=SCHEMA))
            await reader.close()
            return ["response_format" in seen.told for seen in server.seen]

    assert asyncio.run(formats()) == [True, True, False, True]


@pytest.mark.parametrize(
    ("structured", "expected"), [("schema", "json_schema"), ("json", "json_object"), ("none", None)]
)
def test_a_way_that_was_asked_for_is_kept(structured: str, expected: str | None) -> None:
    """Other ways than auto are sent as they are, and a complaint about them is an error."""
    _, server = answer(says("{}"), structured=structured)
    way = server.seen[0].told.get("response_format")
    assert (way and way["type"]) == expected
    error = failure(fails(400, "response_format?"), structured=structured)
    assert "refuses the request (400: response_format?)" in str(error)


def test_strict_mode_is_for_closed_schemas_only() -> None:
    """A schema is called strict only where it says all that it may hold."""
    _, server = answer(says("{}"))
    assert server.seen[0].told["response_format"]["json_schema"]["strict"] is True

    async def open_schema() -> Any:
        schema = {**SCHEMA, "required": []}
        async with serving(says("{}")) as server:
            reader = make({"model": "m", "base_url": server.url})
            await asked(reader, request(schema=schema))
            return server.seen[0].told["response_format"]["json_schema"]

    told = asyncio.run(open_schema())
    assert told["strict"] is False
    assert told["schema"]["required"] == []


def test_the_newer_name_of_the_length_is_found() -> None:
    """An endpoint that wants max_completion_tokens gets it."""
    wrong = fails(400, "Unsupported parameter: use 'max_completion_tokens' instead")
    _, server = answer(wrong, says("B"), max_tokens="50")
    assert "max_tokens" not in server.seen[1].told
    assert server.seen[1].told["max_completion_tokens"] == 50


# ---- what comes back ---------------------------------------------------------------------------


def test_a_proper_reply() -> None:
    """Words, model, tokens and time of an ordinary answer."""
    reply, _ = answer(says('{"answer": "B"}'))
    assert (reply.text, reply.finish, reply.model) == ('{"answer": "B"}', "stop", "local-vl")
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (120, 7)
    assert reply.usage.calls == 1
    assert reply.usage.seconds > 0


PART = {"type": "text", "text": "B"}
CALL = {"type": "function", "function": {"name": "answer", "arguments": '{"answer": "B"}'}}


@pytest.mark.parametrize(
    ("data", "text", "finish", "reasoning"),
    [
        (completion({"content": "B"}, finish="length"), "B", "length", None),
        (completion({"content": ""}, finish="content_filter"), "", "refused", None),
        (completion({"content": None, "refusal": "I cannot."}), "I cannot.", "refused", None),
        (completion({"content": ""}), "", "stop", None),
        (completion({"content": None}, finish=None), "", "other", None),
        (completion({"content": "B", "reasoning_content": "Hm."}), "B", "stop", "Hm."),
        (completion({"content": "B", "reasoning": "Hm."}), "B", "stop", "Hm."),
        (
            completion({"content": "B", "reasoning_details": [{"text": "H"}, {"summary": "m"}]}),
            "B",
            "stop",
            "Hm",
        ),
        (completion({"content": [PART, {"type": "text", "text": "!"}]}), "B!", "stop", None),
        (completion({"content": [{"type": "thinking", "thinking": [PART]}, PART]}), "B", "stop", "B"),
        (
            completion({"content": None, "tool_calls": [CALL]}, finish="tool_calls"),
            '{"answer": "B"}',
            "other",
            None,
        ),
        (completion({"content": None, "tool_calls": [CALL, CALL]}), "", "stop", None),
        ({"choices": []}, "", "other", None),
        ({"choices": None, "usage": {"prompt_tokens": "many"}}, "", "other", None),
        ({"choices": [None], "usage": []}, "", "other", None),
        ({"choices": [{"message": "B", "finish_reason": 7}]}, "", "other", None),
        ({"choices": [{"text": "B"}], "error": None}, "B", "other", None),
        (completion({"content": {"content": {"text": "B"}}}), "B", "stop", None),
    ],
)
def test_every_shape_of_an_answer_becomes_a_reply(
    data: object, text: str, finish: str, reasoning: str | None
) -> None:
    """Refusals, cut answers, parts, tool calls, missing choices: a reply, never an error."""
    reply, _ = answer(gives(data))
    assert (reply.text, reply.finish, reply.reasoning) == (text, finish, reasoning)


def test_halves_of_characters_are_mended() -> None:
    """Lone surrogates, which no file could hold, are replaced; pairs are joined."""
    body = json.dumps(completion({"content": "x"})).replace('"x"', r'"a\ud800b \ud83e\udec1"')
    reply, _ = answer(raw(packed(200, body.encode())))
    assert reply.text == "a�b 🫁"
    assert json.loads(reply.model_dump_json())["text"] == reply.text


def test_the_reader_is_what_the_engine_expects() -> None:
    """It answers words and sees pictures, its replies are worth keeping, and it closes twice."""

    async def close_twice(made: Reader) -> None:
        await made.close()
        await made.close()

    made = make({"model": "m", "base_url": "http://localhost/v1"})
    assert (made.name, made.cached, made.skills) == ("openai", True, frozenset(("words", "pictures")))
    asyncio.run(close_twice(made))


def test_many_questions_at_once() -> None:
    """A hundred questions in flight each get their own answer."""

    def echoing() -> Behaviour:
        async def behave(seen: Any, writer: Any) -> None:
            await asyncio.sleep(0.01)
            await says(str(seen.told["seed"]))(seen, writer)

        return behave

    async def talk() -> list[str]:
        async with serving(echoing()) as server:
            reader = make({"model": "m", "base_url": server.url, "seed": "0"})
            replies = await asyncio.gather(*(reader.read(request(sample=n)) for n in range(100)))
            await reader.close()
            return [cast(Reply, reply).text for reply in replies]

    assert asyncio.run(talk()) == [str(n) for n in range(100)]


def test_cancelling_a_question_is_no_error_of_the_reader() -> None:
    """Ctrl-C in the middle of an answer comes through as what it is."""

    async def talk() -> None:
        async with serving(slow(30)) as server:
            reader = make({"model": "m", "base_url": server.url})
            task = asyncio.create_task(reader.read(request()))
            await wait_in_loop(lambda: server.seen)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await reader.close()

    asyncio.run(talk())


def test_the_sdk_is_loaded_by_the_first_question_only() -> None:
    """Making a reader, as a dry run does, loads neither the SDK nor its HTTP client."""
    code = (
        "import sys; from overread.readers.openai.reader import make; "
        "make({'model': 'm', 'base_url': 'http://localhost/v1'}); "
        "sys.exit('openai' in sys.modules or 'httpx2' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
