"""Fields that an endpoint refuses: the question is asked without them, told once, and recorded."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from overread.core import Message, Reply
from overread.errors import ReaderError, TryAgain, Unavailable
from overread.readers.openai.endpoint_errors import parse_error
from overread.readers.openai.reader import OpenAIReader, make
from overread.readers.openai.refusals import refused_fields
from overread.runs.engine import RunPlan, run_async
from overread.runs.store import iter_readings
from tests.readers.openai.misbehaving_server import Behaviour, Seen, Server, fails, gives, says, serving
from tests.readers.openai.questions import SCHEMA, answer, bare_environment, failure, request
from tests.runs.medthinkvqa_cases import write_cases

SENT = {
    "seed",
    "temperature",
    "top_p",
    "max_tokens",
    "reasoning_effort",
    "response_format",
    "image_url.detail",
}


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key and no address of the one who runs the tests."""
    bare_environment(monkeypatch)


def refused(body: object) -> set[str]:
    return set(refused_fields(body, " ".join(parse_error(body, b"")), SENT))


def forbidden(*place: str | int) -> dict[str, Any]:
    return {
        "type": "extra_forbidden",
        "loc": list(place),
        "msg": "Extra inputs are not permitted",
        "input": 1,
    }


def litellm(words: str) -> dict[str, Any]:
    told = f"litellm.UnsupportedParamsError: {words}"
    return {"error": {"message": told, "type": "None", "param": None, "code": "400"}}


def openai(param: str | None, message: str, code: str | None = "unsupported_parameter") -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


# ---- what counts as a refusal -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (openai("seed", "Unknown parameter: 'seed'."), {"seed"}),
        (openai("temperature", "Unsupported parameter: 'temperature' is not supported with this model."), {"temperature"}),
        (openai("temperature", "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.", "unsupported_value"), {"temperature"}),
        (openai("response_format", "Invalid schema for response_format 'answer'", None), {"response_format"}),
        (openai("response_format.json_schema.schema", "uniqueItems is not permitted", None), {"response_format"}),
        (openai("messages[1].content[0].image_url.detail", "Unknown parameter", None), {"image_url.detail"}),
        (openai("max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."), {"max_tokens"}),
        (litellm("openai does not support parameters: ['response_format'], for model=gpt-4."), {"response_format"}),
        (litellm("perplexity does not support parameters: ['seed', 'top_p'], for model=served. To drop these, set `litellm.drop_params=True`"), {"seed", "top_p"}),
        (litellm("gpt-5 doesn't support temperature=0.2 while reasoning is active. Only temperature=1 is supported unless"), {"temperature"}),
        ({"detail": [forbidden("body", "seed")]}, {"seed"}),
        ({"detail": [forbidden("body", "seed"), forbidden("body", "reasoning_effort")]}, {"seed", "reasoning_effort"}),
        ({"detail": [forbidden("body", "messages", 1, "content", 0, "image_url", "detail")]}, {"image_url.detail"}),
        ({"detail": "Unexpected keys in the request: {'seed'}"}, {"seed"}),
        ({"object": "error", "message": "[{'type': 'extra_forbidden', 'loc': ('body', 'seed'), 'msg': 'Extra inputs are not permitted', 'input': 7}]"}, {"seed"}),
        ([{"error": {"code": 400, "message": 'Invalid JSON payload received. Unknown name "seed": Cannot find field.'}}], {"seed"}),
        ({"error": {"message": "property 'reasoning_effort' is unsupported"}}, {"reasoning_effort"}),
        ({"error": "unrecognized request argument: seed"}, {"seed"}),
        ({"error": "Unrecognized request argument supplied: reasoning_effort"}, {"reasoning_effort"}),
        ({"error": "this server was built without grammar support"}, {"response_format"}),
        ({"message": "the parameter temperature is not supported"}, {"temperature"}),
    ],
)  # fmt: skip
def test_refusals_of_real_servers(body: object, expected: set[str]) -> None:
    """What OpenAI, LiteLLM, FastAPI, vLLM, Google, Groq and transformers write points at the field."""
    assert refused(body) == expected


@pytest.mark.parametrize(
    "body",
    [
        openai(None, "Invalid image: not a valid PNG"),
        openai(None, "the picture of the CT-guided biopsy cannot be read", None),
        openai("messages", "Unsupported content; 'seed' and response_format were sent", None),
        openai("messages.[1].content", "Invalid 'messages[1].content': the image format is unsupported", None),
        openai("temperature", "temperature must be at most 2", "invalid_value"),
        openai("reasoning_effort", "Unsupported value: 'reasoning_effort' does not support 'minimal'. Supported values are: 'low'", "unsupported_value"),
        openai("max_tokens", "max_tokens is too large: 99999. This model supports at most 4096 tokens", None),
        openai(None, "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 4096"),
        openai(None, "The prompt was filtered: temperature 38.5, seeding of the peritoneum, not supported by policy", "content_filter"),
        openai(None, "Unsupported picture in {'seed': 7, 'temperature': 0.2, 'response_format': {'type': 'x'}}", None),
        {"detail": [{"type": "missing", "loc": ["body", "model"], "msg": "Field required", "input": {"seed": 7}}]},
        {"object": "error", "message": "[{'type': 'list_type', 'loc': ('body', 'messages'), 'msg': 'Input should be a valid list', 'input': {'response_format': 1, 'unknown': 'seed'}}]"},
        {"error": ""},
        "not found",
    ],
)  # fmt: skip
def test_errors_of_content_and_values_refuse_no_field(body: object) -> None:
    """A bad picture, a value that is off, a length, a filter, a repeated request: no field is dropped."""
    assert refused(body) == set()


# ---- asking again -------------------------------------------------------------------------------


def strict_about(*allowed: str, status: int = 400) -> Behaviour:
    """A server that refuses the first field that it does not know, by name."""

    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        unknown = sorted(seen.told.keys() - {"model", "messages", *allowed})
        if unknown:
            await fails(status, f"Unknown parameter: '{unknown[0]}'.")(seen, writer)
        else:
            await says('{"answer": "A"}')(seen, writer)

    return behave


@pytest.mark.parametrize("status", [400, 422, 501])
def test_a_refused_field_is_left_out_told_once_and_remembered(status: int) -> None:
    """The answer comes, says what it was asked without, and the next question starts there."""

    async def talk() -> tuple[list[Reply], Server, OpenAIReader]:
        async with serving(strict_about("temperature", status=status)) as server:
            told = {"seed": "7", "temperature": "0.5", "extra": '{"logprobs": true}'}
            reader = make({"model": "m", "base_url": server.url, **told})
            assert isinstance(reader, OpenAIReader)
            replies = [await reader.read(request()) for _ in range(3)]
            await reader.close()
            return replies, server, reader

    replies, server, reader = asyncio.run(talk())
    assert [reply.asked_without for reply in replies] == [("logprobs", "seed")] * 3
    assert len(server.seen) == 5  # two refusals, three answers
    assert server.seen[-1].told.keys() == {"model", "messages", "temperature"}
    assert len(reader.remarks) == 2
    assert f"refuses 'seed' ({status}: Unknown parameter: 'seed'.): it is asked without" in reader.remarks[1]


def test_what_is_learnt_is_not_unlearnt_by_an_older_question() -> None:
    """A question that was under way before the refusal does not bring the field back."""

    async def talk() -> list[bool]:
        first_came, answered = asyncio.Event(), asyncio.Event()

        async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
            if not first_came.is_set():
                first_came.set()
                await answered.wait()  # this one is taken with everything, but late
                await says("B")(seen, writer)
                return
            await strict_about()(seen, writer)

        async with serving(behave) as server:
            reader = make({"model": "m", "base_url": server.url, "seed": "1"})
            slow = asyncio.create_task(reader.read(request()))
            await first_came.wait()
            await reader.read(request())
            answered.set()
            await slow
            await reader.read(request())
            await reader.close()
            return ["seed" in seen.told for seen in server.seen]

    assert asyncio.run(talk()) == [True, True, False, False]


def test_a_hundred_questions_at_once_tell_it_once() -> None:
    """Questions that meet the refusal together add one remark, not a hundred."""

    async def talk() -> tuple[int, set[Any]]:
        async with serving(strict_about()) as server:
            reader = make({"model": "m", "base_url": server.url, "seed": "1"})
            replies = await asyncio.gather(*(reader.read(request(schema=SCHEMA)) for _ in range(100)))
            await reader.close()
            return len(reader.remarks), {getattr(reply, "asked_without", None) for reply in replies}

    assert asyncio.run(talk()) == (2, {("seed", "JSON schema", "JSON format")})


def test_who_insists_gets_the_refusal() -> None:
    """With insist=true a refused field fails the question, and nothing is sent again."""
    error = failure(strict_about("response_format"), seed="7", insist="true")
    assert "refuses the request (400: Unknown parameter: 'seed'.)" in str(error)


def test_a_content_error_is_sent_once() -> None:
    """What concerns the pictures or the words is not tried in other forms."""

    async def talk(behaviour: Behaviour) -> int:
        async with serving(behaviour) as server:
            reader = make({"model": "m", "base_url": server.url, "seed": "1", "image_detail": "low"})
            with pytest.raises(ReaderError):
                await reader.read(request(schema=SCHEMA))
            await reader.close()
            return len(server.seen)

    for behaviour in (
        fails(400, "the image is broken"),
        fails(400),
        gives({}, status=422),
        fails(413, "seed"),
    ):
        assert asyncio.run(talk(behaviour)) == 1


def test_a_length_is_never_left_out() -> None:
    """A server that knows neither of its names fails the question: an answer without end costs money."""
    neither = fails(400, "Unsupported parameter: 'max_tokens' and 'max_completion_tokens' are unknown")
    assert "max_completion_tokens" in str(failure(neither, max_tokens="50"))
    too_long = fails(400, "'max_tokens' or 'max_completion_tokens' is too large: 50")

    async def talk() -> int:
        async with serving(too_long) as server:
            reader = make({"model": "m", "base_url": server.url, "max_tokens": "50"})
            with pytest.raises(ReaderError):
                await reader.read(request())
            await reader.close()
            return len(server.seen)

    assert asyncio.run(talk()) == 1


def test_a_template_without_a_system_role_gets_its_words_before_the_question() -> None:
    """Models such as Gemma 2 have no system message; nothing of what it says is lost."""

    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        if seen.told["messages"][0]["role"] == "system":
            await fails(500, "jinja2.exceptions.TemplateError: System role not supported")(seen, writer)
        else:
            await says("B")(seen, writer)

    reply, server = answer(behave, structured="none")
    assert reply.asked_without == ("system message",)
    (message,) = server.seen[-1].told["messages"]
    assert message["role"] == "user"
    assert message["content"][0] == {"type": "text", "text": "You are a radiologist."}
    assert [part["type"] for part in message["content"][1:]] == ["image_url", "text", "image_url", "text"]


def test_a_system_message_can_be_left_out_from_the_start() -> None:
    """For servers that say only 'Internal Server Error' of it; nothing was refused, so nothing is noted."""
    reply, server = answer(says("B"), system_message="false")
    assert [message["role"] for message in server.seen[0].told["messages"]] == ["user"]
    assert reply.asked_without is None


def test_words_alone_without_a_system_role_are_one_text() -> None:
    """Without pictures the two messages become one plain text."""
    from dataclasses import replace

    from overread.readers.openai.completions import format_messages

    asked = (Message(role="system", parts=("Be brief.",)), Message(role="user", parts=("What is it?",)))
    messages = format_messages(replace(request(), messages=asked), system_message=False)
    assert messages == [{"role": "user", "content": "Be brief.\nWhat is it?"}]


# ---- gateways -----------------------------------------------------------------------------------


def test_a_gateway_that_answers_400_to_a_wrong_key_or_model_ends_the_run() -> None:
    """LiteLLM without a database says 'No connected db.' to any key but its own."""
    error = failure(gives({"error": {"message": "No connected db.", "type": "no_db_connection", "param": None, "code": "400"}}, status=400))  # fmt: skip
    assert isinstance(error, Unavailable)
    assert "asks for a key (400): put a valid one into the environment variable OPENAI_API_KEY" in str(error)
    words = "/chat/completions: Invalid model name passed in model=local-vl. Call `/v1/models` to view"
    error = failure(fails(400, words))
    assert isinstance(error, Unavailable)
    assert "has no model 'local-vl'" in str(error)
    assert isinstance(failure(fails(501, "not built yet")), TryAgain)


def test_a_run_notes_the_refusal_once_and_each_reading_records_it(tmp_path: Path) -> None:
    """The summary of a run says how it was asked, and so does every exchange in its file."""
    root = write_cases(tmp_path / "data", 3)

    async def talk() -> list[str]:
        async with serving(strict_about()) as server:
            plan = RunPlan(
                benchmark="medthinkvqa",
                root=root,
                reader="openai",
                arguments={"model": "m", "base_url": server.url, "seed": "3"},
                use_cache=False,
            )
            return (await run_async(plan, tmp_path / "run")).notes

    notes = asyncio.run(talk())
    assert [note.split(" (")[0].split(" refuses ")[1] for note in notes] == [
        "'seed'",
        "a schema of the answer",
    ]
    readings = list(iter_readings(tmp_path / "run"))
    assert len(readings) == 3
    for reading in readings:
        assert [one.reply.asked_without for one in reading.exchanges if one.reply] == [
            ("seed", "JSON schema", "JSON format")
        ]
