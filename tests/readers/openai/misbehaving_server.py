"""A chat-completions server on a real socket that can do everything wrong, and records what it saw.

It lives in the event loop of the test. What it does with each request is a `Behaviour`: a function
that writes to the socket, bytes and all; the requests take the behaviours in turn, and the last one
is for all that follow.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Behaviour = Callable[["Seen", asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Seen:
    """One request as it came in."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def told(self) -> dict[str, Any]:
        """The JSON of the request."""
        told: dict[str, Any] = json.loads(self.body)
        return told


@dataclass
class Server:
    """A server at work."""

    behaviours: Sequence[Behaviour]
    url: str = ""
    seen: list[Seen] = field(default_factory=list)

    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, as long as it lives."""
        task = asyncio.create_task(self._converse(reader, writer))
        self._tasks.add(task)
        await asyncio.wait([task])

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while not writer.is_closing():
                seen = await _request(reader)
                self.seen.append(seen)
                behave = self.behaviours[min(len(self.seen), len(self.behaviours)) - 1]
                await behave(seen, writer)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort() if writer.transport.get_write_buffer_size() else writer.close()

    async def stop(self) -> None:
        """End every conversation, in the middle of a sentence where need be."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0.01)


async def _request(reader: asyncio.StreamReader) -> Seen:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
    # Header values keep their writing for the hunt after keys.
    written = dict(line.split(": ", 1) for line in head[1:] if ": " in line)
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Seen(head[0].split(" ")[1], {k.lower(): v for k, v in written.items()}, body)


@contextlib.asynccontextmanager
async def serving(*behaviours: Behaviour, file: Path | None = None) -> AsyncIterator[Server]:
    """A server that behaves like this, on a port of its own or on a socket file."""
    server = Server(behaviours)
    if file is None:
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
        server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    else:
        listening = await asyncio.start_unix_server(server.serve, str(file))
        server.url = f"http+unix://{str(file).replace('/', '%2F')}/v1"
    try:
        yield server
    finally:
        listening.close()
        await server.stop()


def packed(
    status: int, body: bytes, headers: Mapping[str, str] | None = None, *, length: int | None = None
) -> bytes:
    """A whole HTTP answer; `length` lies about its size."""
    told = {"content-type": "application/json", **(headers or {})}
    told["content-length"] = str(len(body) if length is None else length)
    lines = "".join(f"{name}: {value}\r\n" for name, value in told.items())
    return f"HTTP/1.1 {status} Status\r\n{lines}\r\n".encode() + body


def completion(message: Mapping[str, Any], *, finish: Any = "stop", **more: Any) -> dict[str, Any]:
    """A chat completion around a message."""
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "local-vl",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 120, "completion_tokens": 7, "total_tokens": 127},
        **more,
    }


# ---- behaviours --------------------------------------------------------------------------------


def says(text: str, *, finish: str = "stop", **message: Any) -> Behaviour:
    """Answers properly with this text."""
    return gives(completion({"role": "assistant", "content": text, **message}, finish=finish))


def gives(data: object, *, status: int = 200, **headers: str) -> Behaviour:
    """Answers with this JSON."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return raw(packed(status, json.dumps(data).encode(), named))


def fails(status: int, words: str = "", *, code: str = "", **headers: str) -> Behaviour:
    """Answers with an error in the usual shape."""
    return gives({"error": {"message": words, "code": code}}, status=status, **headers)


def raw(data: bytes, *, then_close: bool = False) -> Behaviour:
    """Writes exactly these bytes."""

    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        if then_close:
            await writer.drain()
            writer.close()

    return behave


def dropped() -> Behaviour:
    """Promises an answer, writes half of it and hangs up."""
    whole = packed(200, json.dumps(completion({"content": "B"})).encode())
    return raw(whole[: len(whole) - 40], then_close=True)


def cut() -> Behaviour:
    """Sends a proper HTTP answer around JSON that ends in the middle."""
    return raw(packed(200, json.dumps(completion({"content": "B"})).encode()[:-30]))


def slow(seconds: float) -> Behaviour:
    """Lets everybody wait."""

    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(seconds)
        await says("B")(seen, writer)

    return behave


def dripping() -> Behaviour:
    """Sends a blank now and then, so that no single read ever takes long, and never ends."""

    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(packed(200, b"", length=10_000_000))
        while True:
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.02)

    return behave


def endless(server_says: int, *, packed_up: bool) -> Behaviour:
    """Sends an answer of so many bytes, as they are or as a small bomb of gzip."""

    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        if packed_up:
            bomb = gzip.compress(b" " * server_says, compresslevel=9)
            writer.write(packed(200, bomb, {"content-encoding": "gzip"}))
            return
        writer.write(packed(200, b"", length=server_says))
        piece = b" " * 65536
        for _ in range(server_says // len(piece)):
            writer.write(piece)
            await writer.drain()

    return behave


def redirects(target: str) -> Behaviour:
    """Sends everybody elsewhere, asking for the same request there."""
    return gives({}, status=307, location=target)


def echoes(status: int) -> Behaviour:
    """Repeats everything that it was sent, key and all, in body and headers."""

    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        held = seen.headers.get("authorization") or seen.headers.get("api-key", "")
        words = f"Incorrect API key provided: {held}. Request: {seen.headers}"
        data: dict[str, Any] = {"error": {"message": words, "code": held, "type": held}}
        if status == 200:
            data = completion({"content": words, "reasoning_content": words}, model=held)
        body = json.dumps(data).encode()
        told = {"x-request-id": held, "x-echo": held, "set-cookie": f"k={held}", "location": held}
        writer.write(packed(status, body, told).replace(b"Status", held.encode(), 1))

    return behave
