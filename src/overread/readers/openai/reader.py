"""A model behind a chat-completions endpoint: vLLM, Ollama, Azure, or a hosted one.

Asked through the `openai` SDK, which sends one request and no more: the engine knows when to try
again. The key comes from the environment and goes to the endpoint, nowhere else.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import JsonValue

from overread.core import Reader, ReleaseRef, Reply, Request, SentImage
from overread.errors import ReaderError, TryAgain, Unavailable, UsageError
from overread.readers.arguments import looks_like_key, settings_from
from overread.readers.openai.completions import (
    StructuredMode,
    format_messages,
    parse_completion,
    response_format,
)
from overread.readers.openai.endpoint_errors import RequestTarget, error_for_status, parse_error
from overread.readers.openai.endpoints import (
    MAX_ANSWER_BYTES,
    AnswerTooLong,
    ApiKey,
    Endpoint,
    make_http_client,
    parse_endpoint,
)

_OPENAI_URL = "https://api.openai.com/v1"
# These statuses mean that every question fails, unless others were answered before: then only
# this one.
_MAYBE_ONE_QUESTION = frozenset((401, 403, 404))
_RESERVED_FIELDS = frozenset(("model", "messages", "stream", "n"))
_ABOUT_FORMAT = re.compile(
    r"response_?format|json_?schema|json_?object|json mode|structured|schema|guided|grammar", re.I
)


@dataclass(frozen=True)
class OpenAISettings:
    """The arguments of the reader `openai`."""

    model: str
    """The model's name as the endpoint knows it; with Azure the deployment's."""
    base_url: str | None = None
    """The endpoint up to `/chat/completions`; else OPENAI_BASE_URL, else OpenAI's own."""
    api_key_env: str | None = None
    """Name of the environment variable that holds the key; else OPENAI_API_KEY, with Azure
    AZURE_OPENAI_API_KEY."""
    azure_api_version: str | None = None
    """API version of an Azure resource; makes the endpoint an Azure one."""
    temperature: float | None = None
    """How freely it samples; the endpoint's default where absent."""
    top_p: float | None = None
    """Share of the likeliest words it samples from."""
    max_tokens: int | None = None
    """Longest answer, reasoning included."""
    reasoning_effort: str | None = None
    """How long it thinks, in the model's own words: 'low', 'medium', 'high', …"""
    seed: int | None = None
    """For endpoints that sample by one; the number of the sample is added to it."""
    timeout: float = 600.0
    """Seconds until an answer must be complete."""
    structured: Literal["auto", "schema", "json", "none"] = "auto"
    """How the endpoint is told to answer in JSON; 'auto' takes the strictest that it knows."""
    image_detail: Literal["auto", "low", "high"] | None = None
    """How closely hosted models look at a picture."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """More fields of the request as a JSON object: {"top_k": 20}."""
    allow_remote: bool = False
    """Whether pictures of patients may be sent to another machine."""

    def __post_init__(self) -> None:
        """Refuse what no endpoint would take, before anybody is asked."""
        checks = (
            ("model", bool(self.model.strip()), "a name"),
            ("timeout", self.timeout > 0, "more than 0 seconds"),
            ("temperature", self.temperature is None or self.temperature >= 0, "0 or more"),
            ("top_p", self.top_p is None or 0 < self.top_p <= 1, "above 0 and at most 1"),
            ("max_tokens", self.max_tokens is None or self.max_tokens > 0, "1 or more"),
        )
        for name, holds, expected in checks:
            if not holds:
                raise UsageError(f"the reader argument '{name}' must be {expected}")
        for name in sorted(_RESERVED_FIELDS & self.extra.keys()):
            raise UsageError(f"the reader argument 'extra' cannot set '{name}'")


@dataclass(frozen=True)
class EndpointDialect:
    """Request fields in which endpoints differ, as this endpoint was found to accept them."""

    structured: StructuredMode = "schema"
    length: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"


def make(arguments: Mapping[str, str], *, place: ReleaseRef | None = None) -> Reader:
    """The reader for these arguments; the benchmark makes no difference to it."""
    return OpenAIReader(settings_from(OpenAISettings, arguments))


class OpenAIReader(Reader):
    """Asks one model behind one endpoint."""

    name = "openai"
    skills = frozenset(("words", "pictures"))
    cached = True

    def __init__(self, settings: OpenAISettings) -> None:
        """Settle where the model is and what it may be told; nothing is sent yet."""
        self.settings = settings
        given = settings.base_url or os.environ.get("OPENAI_BASE_URL") or _OPENAI_URL
        if looks_like_key(given):
            raise UsageError("the base URL holds what looks like a key", remedy="leave it out there")
        self.endpoint = parse_endpoint(given)
        if not (self.endpoint.local or settings.allow_remote):
            raise UsageError(
                f"{self.endpoint.url} is not on this machine, and patient pictures would leave it",
                remedy="if they may, say so with --allow-remote",
            )
        key_name, self._secret = _load_key(settings, self.endpoint)
        self._dialect = EndpointDialect(
            structured="schema" if settings.structured == "auto" else settings.structured
        )
        self._target = RequestTarget(
            self.endpoint.url, settings.model, key_name, has_key=bool(self._secret.key)
        )
        self.identity = _identity(settings, self.endpoint)
        self._client: Any = None
        self._has_answered = False

    def __repr__(self) -> str:
        return f"OpenAIReader({self.settings.model!r} at {self.endpoint.url})"

    async def read(self, request: Request) -> Reply:
        """Send the request; again only to try another form of it where the endpoint rejects one."""
        started = time.monotonic()
        ways = self._dialect
        messages = format_messages(request, detail=self.settings.image_detail)
        while True:
            status, headers, content = await self._post(self._request_body(request, messages, ways))
            data = _parse_json(content)
            if status < 300 and not (isinstance(data, dict) and data.get("error")):
                break
            code, words = parse_error(data, content)
            other = self._next_dialect(ways, request, status, f"{code} {words}")
            if other is None:
                told = self._secret.excerpt(words)
                problem = error_for_status(status, headers, code, told, self._target)
                if self._has_answered and isinstance(problem, Unavailable) and status in _MAYBE_ONE_QUESTION:
                    problem = ReaderError(problem.what, where=problem.where, remedy=problem.remedy)
                raise problem
            ways = other
        reply = self._parse_answer(data, content)
        self._dialect = ways
        self._has_answered = True
        pictures = sum(isinstance(part, SentImage) for m in request.messages for part in m.parts)
        usage = reply.usage.model_copy(
            update={"pictures": pictures, "calls": 1, "seconds": time.monotonic() - started}
        )
        return reply.model_copy(update={"usage": usage})

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()

    # ---- asking --------------------------------------------------------------------------------

    def _request_body(
        self, request: Request, messages: list[dict[str, Any]], ways: EndpointDialect
    ) -> dict[str, Any]:
        told = self.settings
        body: dict[str, Any] = {"model": told.model, "messages": messages}
        optional = {
            "temperature": told.temperature,
            "top_p": told.top_p,
            ways.length: told.max_tokens,
            "reasoning_effort": told.reasoning_effort,
            "seed": None if told.seed is None else told.seed + request.sample,
            "response_format": response_format(request.schema, ways.structured),
        }
        body |= {name: value for name, value in optional.items() if value is not None}
        return body | dict(told.extra)

    def _next_dialect(
        self, ways: EndpointDialect, request: Request, status: int, words: str
    ) -> EndpointDialect | None:
        """The next form of the request to try; None where the error is about something else."""
        if status not in (400, 422):
            return None
        if (
            self.settings.max_tokens is not None
            and ways.length == "max_tokens"
            and "max_completion_tokens" in words
        ):
            return replace(ways, length="max_completion_tokens")
        if (
            self.settings.structured == "auto"
            and request.schema is not None
            and ways.structured != "none"
            and (_ABOUT_FORMAT.search(words) or not words.strip())
        ):
            return replace(ways, structured="json" if ways.structured == "schema" else "none")
        return None

    async def _post(self, body: dict[str, Any]) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and bytes of the answer to one request."""
        import openai
        from httpx2 import Response

        if self._client is None:
            self._client = self._connect()
        # Errors are raised behind the `try`: an SDK error as their context would hold the key.
        where = self.endpoint.url
        try:
            # The client's timeout is for each piece of an answer; this one is for all of it.
            async with asyncio.timeout(self.settings.timeout):
                answer = await self._client.post("/chat/completions", cast_to=Response, body=body)
            return answer.status_code, answer.headers, answer.content
        except openai.APIStatusError as told:
            return told.response.status_code, told.response.headers, told.response.content
        except (openai.APITimeoutError, TimeoutError):
            problem: ReaderError = TryAgain(
                f"no complete answer from {where} within {self.settings.timeout:g} seconds",
                remedy="wait longer with --reader-arg timeout=…",
            )
        except openai.APIConnectionError as broken:
            if type(broken.__cause__).__name__ in ("ConnectError", "ProxyError"):
                problem = TryAgain(
                    f"{where} cannot be reached",
                    remedy="start the server there, or name another with --reader-arg base_url=…",
                )
            else:
                problem = TryAgain(f"the connection to {where} broke off")
        except AnswerTooLong:
            problem = ReaderError(
                f"the answer of {where} is longer than {MAX_ANSWER_BYTES // 2**20} MB",
                remedy="limit it with --reader-arg max_tokens=…",
            )
        except openai.OpenAIError as error:
            problem = ReaderError(f"the SDK could not ask {where} ({type(error).__name__})")
        raise problem

    def _connect(self) -> Any:
        import openai

        told = self.settings
        shared: dict[str, Any] = {
            "api_key": self._secret.key or "none",
            "max_retries": 0,
            "timeout": told.timeout,
            "http_client": make_http_client(self.endpoint, timeout=told.timeout),
        }
        address = self.endpoint.url
        if self.endpoint.socket is not None:
            address = f"http://localhost{self.endpoint.path}"
        if told.azure_api_version is None:
            return openai.AsyncOpenAI(base_url=address, **shared)
        shared["api_version"] = told.azure_api_version
        # A resource is named by its host alone; a longer path is taken as it is.
        if self.endpoint.path:
            return openai.AsyncAzureOpenAI(base_url=address, **shared)
        return openai.AsyncAzureOpenAI(azure_endpoint=address, **shared)

    # ---- what came back ------------------------------------------------------------------------

    def _parse_answer(self, data: object, content: bytes) -> Reply:
        where = self.endpoint.url
        if data is None and content.lstrip()[:1] in (b"{", b""):
            raise TryAgain(f"the answer of {where} was cut off")
        if not isinstance(data, dict) or "choices" not in data:
            raise ReaderError(
                f"what {where} answers is no chat completion",
                remedy="check the base URL; it usually ends in /v1",
            )
        reply = parse_completion(data)
        clean = self._secret.redact
        return reply.model_copy(
            update={
                "text": clean(reply.text),
                "reasoning": clean(reply.reasoning) if reply.reasoning else None,
                "model": clean(reply.model),
            }
        )


def _identity(settings: OpenAISettings, place: Endpoint) -> dict[str, JsonValue]:
    """Model, endpoint and everything that changes its answers."""
    named = (
        "azure_api_version",
        "temperature",
        "top_p",
        "max_tokens",
        "reasoning_effort",
        "seed",
        "structured",
        "image_detail",
    )
    given = {name: getattr(settings, name) for name in named}
    parameters: dict[str, JsonValue] = {k: value for k, value in given.items() if value is not None}
    if settings.extra:
        parameters["extra"] = dict(settings.extra)
    return {"model": settings.model, "endpoint": place.url, "parameters": parameters}


def _load_key(settings: OpenAISettings, place: Endpoint) -> tuple[str, ApiKey]:
    """The name of the variable with the key, and the key; none is needed where nobody asks."""
    usual = "AZURE_OPENAI_API_KEY" if settings.azure_api_version else "OPENAI_API_KEY"
    name = settings.api_key_env or usual
    if looks_like_key(name) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise UsageError(
            "'api_key_env' is the name of an environment variable, never the key itself",
            remedy="use --reader-arg api_key_env=OPENAI_API_KEY",
        )
    key = os.environ.get(name, "").strip()
    needed = settings.api_key_env is not None or settings.azure_api_version is not None
    if not key and (needed or place.url == _OPENAI_URL):
        raise UsageError(f"there is no key in the environment variable {name}", remedy=f"export {name}=…")
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise UsageError(
            f"the environment variable {name} holds characters that no key has",
            remedy="set it again, without quotes or line breaks",
        )
    told = [settings.model, place.url, settings.reasoning_effort or "", json.dumps(settings.extra)]
    if len(key) >= 8 and any(key in text for text in told):
        raise UsageError("the key stands in an argument of the reader", remedy="leave it out there")
    return name, ApiKey(key)


def _parse_json(content: bytes) -> object:
    """The JSON of an answer; None where it is none."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
