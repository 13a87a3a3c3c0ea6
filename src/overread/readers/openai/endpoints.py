"""Addresses of chat-completions endpoints, the API key, and an HTTP client that limits an answer's
size.

Pictures of patients must not leave this machine unless the user allows it, so an address counts as
local only where no name server could redirect it.
"""

from __future__ import annotations

import ipaddress
import logging
import math
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any
from urllib.parse import unquote, urlsplit

from overread.errors import UsageError

MAX_ANSWER_BYTES = 16 * 1024 * 1024
"""Bytes of an answer, unpacked; the longest reasoning of any model is far below a tenth of it."""

_MAX_WAIT = 24 * 3600.0
_EXCERPT_LENGTH = 240
_KEPT_HEADERS = ("content-type", "retry-after", "retry-after-ms")


@dataclass(frozen=True)
class Endpoint:
    """An address that answers chat completions."""

    url: str
    """scheme://host:port/path, as it is written into a run."""
    host: str
    """The name or address of the machine; empty for a socket."""
    path: str
    """What follows the host."""
    socket: str | None = None
    """The file of a Unix socket, where it is one."""

    @property
    def local(self) -> bool:
        """Whether what is sent there stays on this machine."""
        return self.socket is not None or on_this_machine(self.host)


def parse_endpoint(address: str) -> Endpoint:
    """An address as somebody typed it; one with a password or a query is refused.

    >>> parse_endpoint("http://LOCALHOST:8000/v1/").url
    'http://localhost:8000/v1'
    >>> parse_endpoint("http+unix://%2Frun%2Fvllm.sock/v1").socket
    '/run/vllm.sock'
    """
    try:
        parts = urlsplit(address.strip())
        port = parts.port
    except ValueError:
        raise _invalid_address("the base URL cannot be read") from None
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        raise UsageError(
            "the base URL holds a name or a password",
            remedy="leave them out; the key goes into an environment variable (api_key_env)",
        )
    if parts.query or parts.fragment:
        raise UsageError(
            "the base URL has a query",
            remedy="end it before the '?'; an Azure version goes into azure_api_version",
        )
    path = parts.path.rstrip("/")
    if parts.scheme == "http+unix":
        file = unquote(parts.netloc)
        if not file.startswith("/"):
            raise _invalid_address("a socket is named by its whole path")
        return Endpoint(f"http+unix://{parts.netloc}{path}", "", path, socket=file)
    host = parts.hostname or ""
    if parts.scheme not in ("http", "https") or not re.fullmatch(r"[\w.:%-]+", host, re.ASCII):
        raise _invalid_address("the base URL names no machine")
    shown = f"[{host}]" if ":" in host else host
    numbered = f":{port}" if port is not None else ""
    return Endpoint(f"{parts.scheme}://{shown}{numbered}{path}", host, path)


def _invalid_address(what: str) -> UsageError:
    return UsageError(
        what, remedy="give one such as http://localhost:8000/v1, or http+unix://%2Frun%2Fx.sock/v1"
    )


def on_this_machine(host: str) -> bool:
    """Whether a host is this machine, whatever a name server says.

    Addresses are judged as they are written; of names only 'localhost' is believed, and only while
    it leads to nothing but loopback addresses.

    >>> [on_this_machine(host) for host in ("127.0.0.9", "::1", "10.0.0.1", "localhost.evil.org")]
    [True, True, False, False]
    """
    try:
        return _is_loopback(host)
    except ValueError:
        pass
    if host.rstrip(".").lower() != "localhost":
        return False
    try:
        found = socket.getaddrinfo("localhost", None)
    except OSError:
        return False
    return bool(found) and all(_is_loopback(str(entry[4][0])) for entry in found)


def _is_loopback(address: str) -> bool:
    known = ipaddress.ip_address(address)
    inner = getattr(known, "ipv4_mapped", None) or known
    # 0.0.0.0 is what servers print that listen everywhere; as a destination it is this machine.
    return bool(inner.is_loopback or inner.is_unspecified)


class ApiKey:
    """An API key that is never printed, dumped or pickled; texts that leave the reader are redacted
    with it.
    """

    def __init__(self, key: str) -> None:
        """Keep the key where no repr, dump or traceback of ours shows it."""
        self._key = key

    def __repr__(self) -> str:
        return "Secret()"

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError("a key does not leave its process")

    @property
    def key(self) -> str:
        """The key, for the one who sends it."""
        return self._key

    def redact(self, text: str) -> str:
        """The text with the key replaced by '[key]'; anything shorter than 8 characters ('none') is
        no secret.
        """
        if len(self._key) < 8 or self._key not in text:
            return text
        return text.replace(self._key, "[key]")

    def excerpt(self, text: str) -> str:
        """A short piece of what an endpoint complained about, without keys, or parts of them."""
        text = text[: 40 * _EXCERPT_LENGTH]
        size = min(6, len(self._key))
        if len(self._key) >= 8:
            # Endpoints repeat a key in part, with stars in between.
            pieces = {self._key[n : n + size] for n in range(len(self._key) - size + 1)}
            held = [False] * len(text)
            for n in range(len(text) - size + 1):
                if text[n : n + size] in pieces:
                    held[n : n + size] = [True] * size
            text = "".join("\0" if mark else letter for letter, mark in zip(text, held, strict=True))
            text = re.sub("\0+", "[key]", text)
        text = re.sub(r"(?i)\bbearer\s+\S+", "[key]", text)
        text = re.sub(r"\bdata:[\w/+.-]+;base64,[\w+/=]*", "[picture]", text)
        text = re.sub(r"\b(?:sk|hf|gsk|xai|nvapi)[-_][\w*.-]{4,}", "[key]", text)
        text = re.sub(r"\S{80,}", "…", text)
        words = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        return words if len(words) <= _EXCERPT_LENGTH else words[:_EXCERPT_LENGTH].rstrip() + "…"


def retry_after(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """Seconds to wait before the next request, from the Retry-After headers in any of their forms.

    >>> retry_after({"retry-after": "3"}), retry_after({"retry-after-ms": "250"}), retry_after({})
    (3.0, 0.25, None)
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        told = headers.get(name)
        if told is None:
            continue
        try:
            seconds = float(told) * unit
        except ValueError:
            seconds = _seconds_until(told, now or datetime.now(UTC))
        if math.isfinite(seconds):
            return min(max(seconds, 0.0), _MAX_WAIT)
    return None


def _seconds_until(date: str, now: datetime) -> float:
    try:
        moment = parsedate_to_datetime(date)
    except (ValueError, TypeError, IndexError, OverflowError):
        return math.nan
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - now).total_seconds()


class AnswerTooLong(Exception):
    """Raised when an answer is larger than the limit; the rest of it was not read."""


@cache
def limited_client_class() -> type[Any]:
    """The SDK's HTTP client class, without redirects and with a limit on the answer's size.

    A redirect may lead to another machine, and an endless answer would fill the memory.
    """
    from openai import DefaultAsyncHttpxClient

    class CarefulClient(DefaultAsyncHttpxClient):
        """Reads an answer piece by piece and stops where it is too long."""

        async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
            """Send, and read all of the answer that is taken in."""
            options["follow_redirects"] = False
            response = await super().send(request, stream=True, **options)
            pieces: list[bytes] = []
            size = 0
            try:
                async for piece in response.aiter_bytes():
                    size += len(piece)
                    if size > MAX_ANSWER_BYTES:
                        raise AnswerTooLong
                    pieces.append(piece)
            finally:
                await response.aclose()
            # The SDK logs other headers, in which an endpoint may repeat the key.
            kept = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
            return type(response)(
                status_code=response.status_code,
                headers=kept,
                content=b"".join(pieces),
                request=response.request,
            )

    return CarefulClient


def make_http_client(place: Endpoint, *, timeout: float) -> Any:
    """A client for one endpoint: sockets where it is one, and no proxy for this machine's own."""
    for name in ("httpx2", "httpcore2"):
        # They log every header of an answer, and what it calls its status.
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.WARNING)
    options: dict[str, Any] = {"timeout": timeout, "follow_redirects": False}
    if place.socket is not None:
        from httpx2 import AsyncHTTPTransport

        options["transport"] = AsyncHTTPTransport(uds=place.socket)
    # A proxy from the environment would carry local traffic off the machine.
    return limited_client_class()(trust_env=not place.local, **options)
