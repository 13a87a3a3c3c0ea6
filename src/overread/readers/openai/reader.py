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

from overread.catalog import unknown_name
from overread.core import Reader, ReleaseRef, Reply, Request, SentImage
from overread.core.box_convention import CONVENTIONS, BoxConvention
from overread.errors import EndpointFailed, ReaderError, TryAgain, Unavailable, UsageError
from overread.readers.arguments import looks_like_key, settings_from
from overread.readers.openai.completions import (
    StructuredMode,
    format_messages,
    parse_completion,
    response_format,
)
from overread.readers.openai.endpoint_errors import (
    RequestTarget,
    error_for_status,
    meant_status,
    parse_error,
)
from overread.readers.openai.endpoints import (
    MAX_ANSWER_BYTES,
    AnswerTooLong,
    ApiKey,
    Endpoint,
    make_http_client,
    parse_endpoint,
)
from overread.readers.openai.presets.loading import apply_preset
from overread.readers.openai.refusals import (
    DETAIL,
    FORMAT,
    LENGTHS,
    STATUSES,
    refused_fields,
    refuses_system_role,
)

_OPENAI_URL = "https://api.openai.com/v1"
# These statuses mean that every question fails, unless others were answered before: then only
# this one.
_MAYBE_ONE_QUESTION = frozenset((401, 403, 404, 415))
_RESERVED_FIELDS = frozenset(("model", "messages", "stream", "n"))
_MODES: tuple[StructuredMode, ...] = ("schema", "json", "none")
_MODE_NAMES = {"schema": "JSON schema", "json": "JSON format", "none": ""}
_SYSTEM = "system message"
_NAMED = {FORMAT: "a schema of the answer", _SYSTEM: "a system message"}


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
    preset: str | None = None
    """The family of the model, whose arguments stand beneath those given: `overread list presets`."""
    thinking: str | None = None
    """How long it thinks, in the words of its preset: 'on', 'off', 'high', …"""
    boxes: str = "shares"
    """In which numbers it gives boxes: shares, thousandths, pixels, …; docs/presets.md tells all."""
    box_max_pixels: int | None = None
    """To how many pixels the model's processor scales a picture down, where its boxes are in pixels."""
    system_message: bool = True
    """Whether it is sent a system message; else that text stands before the first question."""
    insist: bool = False
    """Whether a question fails where the endpoint refuses a field, instead of being asked without it."""
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
            ("box_max_pixels", self.box_max_pixels is None or self.box_max_pixels > 0, "1 or more"),
        )
        for name, holds, expected in checks:
            if not holds:
                raise UsageError(f"the reader argument '{name}' must be {expected}")
        for name in sorted(_RESERVED_FIELDS & self.extra.keys()):
            raise UsageError(f"the reader argument 'extra' cannot set '{name}'")
        if self.boxes not in CONVENTIONS:
            raise unknown_name("way of giving boxes", self.boxes, CONVENTIONS)

    @property
    def convention(self) -> BoxConvention:
        """In which numbers boxes are asked for."""
        found = CONVENTIONS[self.boxes]
        if self.box_max_pixels is None:
            return found
        return replace(found, scaling=replace(found.scaling, max_pixels=self.box_max_pixels))


@dataclass(frozen=True)
class EndpointDialect:
    """How an endpoint wants to be asked, as far as its refusals have told."""

    structured: StructuredMode = "schema"
    """How it is told to answer in JSON."""
    length: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """What it calls the longest answer."""
    left_out: frozenset[str] = frozenset()
    """Fields that it refuses."""
    system_message: bool = True
    """Whether it takes a system message; else that text stands before the first question."""

    def joined(self, other: EndpointDialect) -> EndpointDialect:
        """What both have learnt: questions that run at once each find out something."""
        return EndpointDialect(
            structured=max(self.structured, other.structured, key=_MODES.index),
            length=max(self.length, other.length, key=LENGTHS.index),
            left_out=self.left_out | other.left_out,
            system_message=self.system_message and other.system_message,
        )


def _changed(before: EndpointDialect, after: EndpointDialect) -> list[str]:
    """What of a request the second no longer has as the first had it."""
    found = sorted(after.left_out - before.left_out)
    found += [FORMAT] if after.structured != before.structured else []
    found += [LENGTHS[0]] if after.length != before.length else []
    return found + ([_SYSTEM] if after.system_message != before.system_message else [])


def make(arguments: Mapping[str, str], *, place: ReleaseRef | None = None) -> Reader:
    """The reader for these arguments; the benchmark makes no difference to it."""
    return OpenAIReader(settings_from(OpenAISettings, apply_preset(arguments)))


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
            structured="schema" if settings.structured == "auto" else settings.structured,
            system_message=settings.system_message,
        )
        self._target = RequestTarget(
            self.endpoint.url, settings.model, key_name, has_key=bool(self._secret.key)
        )
        self.boxes = settings.convention
        self.identity = _identity(settings, self.endpoint)
        self.remarks: list[str] = []
        self._client: Any = None
        self._has_answered = False

    def __repr__(self) -> str:
        return f"OpenAIReader({self.settings.model!r} at {self.endpoint.url})"

    async def read(self, request: Request) -> Reply:
        """Send the request; again only to try another form of it where the endpoint rejects one."""
        started = time.monotonic()
        ways = self._dialect
        reasons: dict[str, str] = {}
        while True:
            body = self._request_body(request, ways)
            status, headers, content = await self._post(body)
            data = _parse_json(content)
            if status < 300 and not (isinstance(data, dict) and data.get("error")):
                break
            code, words = parse_error(data, content)
            other = self._next_dialect(ways, request, body, status, data, f"{code} {words}".strip())
            told = self._secret.excerpt(words)
            if other is None:
                problem = error_for_status(status, headers, code, told, self._target)
                status = meant_status(status, code, words)
                if self._has_answered and isinstance(problem, Unavailable) and status in _MAYBE_ONE_QUESTION:
                    problem = EndpointFailed(problem.what, where=problem.where, remedy=problem.remedy)
                raise problem
            reasons |= dict.fromkeys(_changed(ways, other), f"({status}: {told})")
            ways = other
        reply = self._parse_answer(data, content)
        self._remember(ways, reasons)
        self._has_answered = True
        pictures = sum(isinstance(part, SentImage) for m in request.messages for part in m.parts)
        usage = reply.usage.model_copy(
            update={"pictures": pictures, "calls": 1, "seconds": time.monotonic() - started}
        )
        without = self._asked_without(request, ways) or None
        return reply.model_copy(update={"usage": usage, "asked_without": without})

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()

    # ---- asking --------------------------------------------------------------------------------

    def _request_body(self, request: Request, ways: EndpointDialect) -> dict[str, Any]:
        told = self.settings
        detail = None if DETAIL in ways.left_out else told.image_detail
        messages = format_messages(request, detail=detail, system_message=ways.system_message)
        fields = self._optional_fields(request, ways)
        kept = {name: value for name, value in fields.items() if name not in ways.left_out}
        return {"model": told.model, "messages": messages, **kept}

    def _optional_fields(self, request: Request, ways: EndpointDialect) -> dict[str, Any]:
        """What is sent beside the model and the messages, unless the endpoint refuses it."""
        told = self.settings
        optional = {
            "temperature": told.temperature,
            "top_p": told.top_p,
            ways.length: told.max_tokens,
            "reasoning_effort": told.reasoning_effort,
            "seed": None if told.seed is None else told.seed + request.sample,
            FORMAT: response_format(request.schema, ways.structured),
        }
        return {name: value for name, value in optional.items() if value is not None} | dict(told.extra)

    def _next_dialect(
        self,
        ways: EndpointDialect,
        request: Request,
        body: Mapping[str, Any],
        status: int,
        data: object,
        words: str,
    ) -> EndpointDialect | None:
        """The next form of the request to try; None where the error is about something else."""
        if refuses_system_role(words) and status in (*STATUSES, 500):
            told = any(message.role == "system" for message in request.messages)
            return replace(ways, system_message=False) if ways.system_message and told else None
        if status not in STATUSES:
            return None
        sent = set(body) - {"model", "messages"}
        if self.settings.image_detail is not None and DETAIL not in ways.left_out:
            sent.add(DETAIL)
        refused = refused_fields(data, words, sent)
        if self.settings.max_tokens is not None and ways.length in refused:
            # A length has two names; without any an answer could become as long as the model likes.
            return None if ways.length == LENGTHS[1] else replace(ways, length=LENGTHS[1])
        if FORMAT in refused and FORMAT not in self.settings.extra:
            if self.settings.structured != "auto":
                return None
            return replace(ways, structured=_MODES[_MODES.index(ways.structured) + 1])
        if not refused or self.settings.insist:
            return None
        return replace(ways, left_out=ways.left_out | refused)

    def _remember(self, ways: EndpointDialect, reasons: Mapping[str, str]) -> None:
        """Keep what was learnt for the questions to come, and say it where it is new."""
        known, where = self._dialect, self.endpoint.url
        self._dialect = known.joined(ways)
        for name in _changed(known, self._dialect):
            said = f"{where} refuses {_NAMED.get(name, repr(name))} {reasons[name]}"
            if name == FORMAT:
                form = "for JSON without one" if self._dialect.structured == "json" else "in words alone"
                self.remarks.append(f"{said}: it is asked {form}")
            elif name == LENGTHS[0]:
                self.remarks.append(f"{said}: it is sent as '{LENGTHS[1]}'")
            elif name == _SYSTEM:
                self.remarks.append(f"{said}: its text stands before the first question")
            else:
                self.remarks.append(f"{said}: it is asked without; insist=true would fail instead")

    def _asked_without(self, request: Request, ways: EndpointDialect) -> tuple[str, ...]:
        """What of this question the endpoint would not take, for the record."""
        wanted = {*self._optional_fields(request, ways), *((DETAIL,) if self.settings.image_detail else ())}
        missing = sorted(wanted & ways.left_out)
        if request.schema is not None and self.settings.structured == "auto":
            missing += [_MODE_NAMES[mode] for mode in _MODES[: _MODES.index(ways.structured)]]
        moved = self.settings.system_message and not ways.system_message
        if moved and any(message.role == "system" for message in request.messages):
            missing.append(_SYSTEM)
        return tuple(missing)

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
            raise EndpointFailed(
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
    if settings.boxes != "shares":
        parameters["boxes"] = settings.boxes  # the same words would be read otherwise
        if settings.box_max_pixels is not None:
            parameters["box_max_pixels"] = settings.box_max_pixels
    if not settings.system_message:
        parameters["system_message"] = False
    if settings.insist:
        parameters["insist"] = True  # an answer that was asked for without a field is another one
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
