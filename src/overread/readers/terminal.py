"""Reads lines from a terminal, pipe or file without blocking the event loop.

No thread is used, so that Ctrl-C ends the waiting at once and nothing is left behind.
"""

from __future__ import annotations

import asyncio
import os
from typing import IO

from overread.errors import UsageError

_CHUNK = 1 << 16


class Terminal:
    """Says something and waits for lines: a terminal, a pipe or a file."""

    def __init__(self, source: IO[str] | None, target: IO[str]) -> None:
        """`source` is read by its file number, `target` written to."""
        try:
            self._number = source.fileno()  # type: ignore[union-attr]
        except (AttributeError, OSError, ValueError):
            raise UsageError(
                "there is no terminal to read from", remedy="run it where somebody can type"
            ) from None
        self._target = target
        self._buffer = b""
        self._pending_eof = False
        self._at_eof = False

    def write_line(self, words: str) -> None:
        """Print words from outside; no control character passes."""
        plain = "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in words)
        self._target.write(f"{plain}\n")
        self._target.flush()

    async def read_line(self) -> str | None:
        """The next line without its end; None at Ctrl-D, or where there is no more.

        At a terminal Ctrl-D ends an answer, and one can type on.
        """
        if self._pending_eof:
            self._pending_eof = False
            return None
        while b"\n" not in self._buffer:
            chunk = b"" if self._at_eof else await self._read_chunk()
            if not chunk:
                rest, self._buffer = self._buffer, b""
                self._at_eof = not os.isatty(self._number)
                self._pending_eof = bool(rest)  # the end comes after what was typed before it
                return _decode(rest) if rest else None
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return _decode(line)

    async def _read_chunk(self) -> bytes:
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()

        def come() -> None:
            if not ready.done():
                ready.set_result(None)

        try:
            loop.add_reader(self._number, come)
        except (PermissionError, ValueError):
            return os.read(self._number, _CHUNK)  # a file never lets one wait
        try:
            await ready
        finally:
            loop.remove_reader(self._number)
        try:
            return os.read(self._number, _CHUNK)
        except OSError:  # the other end of a terminal is gone
            return b""


def _decode(line: bytes) -> str:
    return line.decode("utf-8", "replace").removesuffix("\r")
