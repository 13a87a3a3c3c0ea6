"""A small chat-completions server for tests and measurements: quick, plain, and it remembers.

    python tests/runs/reading_server.py [--delay S] [--log FILE] [--allow FILE] [--letters ABCDE] [--judge]

It prints its port, and answers until its standard input is closed. What it answers hangs on the
question alone. With `--log` each request is noted twice, when it came whole and before it is
answered, as one JSON line with the time on the clock that all processes share. With `--allow` it
answers only as often as the number in that file says, and holds everybody else until that rises. With
`--judge` it also cuts every explanation into one step, which holds.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import sys
import time
from pathlib import Path

_HOLDS = {"step": 1, "factual": True, "critical": False, "explanation": "As the experts say.", "errors": []}


class Server:
    """Answers every POST with a letter and a reason."""

    def __init__(
        self, *, delay: float, log: Path | None, allow: Path | None, letters: str, judge: bool
    ) -> None:
        self._delay = delay
        self._allow = allow
        self._given = 0
        self._letters = letters
        self._judge = judge
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT) if log else None
        self._plain = self._answer(letters[0], 0)

    def _note(self, what: str, key: str) -> None:
        if self._log is not None:
            row = {"what": what, "key": key, "at": time.monotonic()}
            os.write(self._log, json.dumps(row).encode() + b"\n")

    def _answer(self, letter: str, size: int) -> bytes:
        told: dict[str, object] = {"answer": letter, "explanation": "It fits the pictures best."}
        if self._judge:
            told |= {"steps": ["It fits the pictures best."], "verdicts": [_HOLDS]}
        said = json.dumps(told)
        body = {
            "id": "reading",
            "object": "chat.completion",
            "created": 0,
            "model": "served",
            "choices": [
                {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
            ],
            "usage": {"prompt_tokens": size // 4, "completion_tokens": 12, "total_tokens": size // 4 + 12},
        }
        data = json.dumps(body).encode()
        return (
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(data)
        ) + data

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, many requests."""
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                size = 0
                for line in head.split(b"\r\n"):
                    name, _, value = line.partition(b":")
                    if name.lower() == b"content-length":
                        size = int(value)
                body = await reader.readexactly(size)
                writer.write(await self._answered(body, reader))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answered(self, body: bytes, reader: asyncio.StreamReader) -> bytes:
        if self._log is None and not self._delay:
            return self._plain
        digest = hashlib.sha256(body)
        key = digest.hexdigest()
        self._note("came", key)
        if self._delay:
            await asyncio.sleep(self._delay * (0.5 + digest.digest()[0] / 255))
        while self._allow and self._given >= int(self._allow.read_text() or 0):
            if reader.at_eof():
                raise ConnectionError("who asked is gone")
            await asyncio.sleep(0.005)
        self._given += 1
        self._note("answered", key)
        return self._answer(self._letters[digest.digest()[1] % len(self._letters)], len(body))


async def main() -> None:
    """Serve until standard input is closed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--allow", type=Path)
    parser.add_argument("--letters", default="ABCDE")
    parser.add_argument("--judge", action="store_true")
    server = Server(**vars(parser.parse_args()))
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, limit=1 << 24)
    sys.stdout.write(f"{listening.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)  # connections that are open are nobody's concern any more


if __name__ == "__main__":
    asyncio.run(main())
