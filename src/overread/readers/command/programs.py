"""Programs of other people: started, listened to, and ended with everything they started.

Each gets a process group of its own, so that nothing of it is left when its time is over or the run
is stopped. Of what it prints only the end is kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from overread.errors import OutOfResources, ReaderError, Unavailable
from overread.storage.system import end_process_group

_TAIL = 16_384
"""Bytes that are kept of what a program prints."""
_EXCERPT = 240
"""Characters of it that are told."""
_LAST_WORDS = 2.0
"""Seconds for what was printed last to come through, once a program has ended."""
_LONGEST_LINE = 1 << 20
_POLL = 0.02
"""Seconds between two looks at whether a program has ended."""


@dataclass(frozen=True)
class ProgramRunner:
    """How programs are started, and how long they may take."""

    timeout: float
    """Seconds for one question."""
    start_timeout: float
    """Seconds for a program that stays to say that it is ready."""
    hidden: str = ""
    """A path that is not told in messages: the temporary folder."""
    environment: Mapping[str, str] | None = None
    """Variables beside those of this process."""

    async def run_once(self, words: Sequence[str]) -> None:
        """Run a program to its end; an error where it fails or takes too long."""
        async with self._started(words, stays=False) as program:
            try:
                async with asyncio.timeout(self.timeout):
                    code = await program.exited()
            except TimeoutError:
                raise self.late(program, "end", self.timeout) from None
            if code:
                raise ReaderError(f"the program {_describe_end(code)}{await self._last_words(program)}")

    async def start_staying(self, words: Sequence[str]) -> RunningProgram:
        """Start a program that answers one question after the other, and wait until it is ready."""
        program = await self._start(words, stays=True)
        try:
            try:
                async with asyncio.timeout(self.start_timeout):
                    await self._answer(program, "ready")
            except TimeoutError:
                late = self.late(program, "get ready", self.start_timeout)
                remedy = late.remedy.replace("timeout=", "start_timeout=")
                raise Unavailable(late.what, remedy=remedy) from None
            except ReaderError as problem:
                raise Unavailable(problem.what, remedy=problem.remedy) from None
        except BaseException:
            await program.end()
            raise
        return program

    async def ask(self, program: RunningProgram, question: Mapping[str, Any]) -> None:
        """Put one question to a program that stays, and wait until it says that it is done."""
        try:
            async with asyncio.timeout(self.timeout):
                assert program.process.stdin is not None
                with contextlib.suppress(ConnectionError):  # that it ended is told below
                    program.process.stdin.write(json.dumps(question).encode() + b"\n")
                    await program.process.stdin.drain()
                await self._answer(program, "done")
        except TimeoutError:
            raise self.late(program, "answer", self.timeout) from None

    async def _answer(self, program: RunningProgram, word: str) -> None:
        """Wait for the line that says `word`; whatever else is printed on standard output is passed over."""
        assert program.process.stdout is not None
        while True:
            try:
                line = await program.process.stdout.readline()
            except ValueError:
                raise ReaderError("the program printed a line of more than a megabyte") from None
            if not line:
                code = await program.exited()
                said = await self._last_words(program)
                raise ReaderError(
                    f"the program {_describe_end(code)} before it was {word}{said}",
                    remedy="" if code else 'it must stay, and print {"ready": true} and {"done": true}',
                )
            with contextlib.suppress(ValueError, RecursionError):
                told = json.loads(line)
                if isinstance(told, dict) and isinstance(told.get("error"), str):
                    raise ReaderError(f"the program says: {self._excerpt(told['error'])}")
                if isinstance(told, dict) and told.get(word) is True:
                    return

    def late(self, program: RunningProgram, what: str, limit: float) -> ReaderError:
        """The error for a program that was too slow; it is ended by whoever raises this."""
        said = self._excerpt(program.printed())
        told = f" ({said})" if said else ""
        return ReaderError(
            f"the program did not {what} within {limit:g} seconds, and was ended{told}",
            remedy="give it longer (--reader-arg timeout=…)",
        )

    @contextlib.asynccontextmanager
    async def _started(self, words: Sequence[str], *, stays: bool) -> AsyncIterator[RunningProgram]:
        program = await self._start(words, stays=stays)
        try:
            yield program
        finally:
            await program.end()

    async def _start(self, words: Sequence[str], *, stays: bool) -> RunningProgram:
        pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=pipe if stays else nothing,
                stdout=pipe,
                stderr=pipe,
                start_new_session=True,
                limit=_LONGEST_LINE,
                env={**os.environ, **(self.environment or {})},
            )
        except BlockingIOError:
            raise OutOfResources("the system starts no more processes", remedy="ask fewer at once") from None
        except OSError as error:
            raise Unavailable(f"the program '{words[0]}' cannot be started ({error.strerror})") from None
        return RunningProgram(process, stays=stays)

    async def _last_words(self, program: RunningProgram) -> str:
        """What it printed last on standard error, for the end of a sentence."""
        await program.finish_listening()
        said = self._excerpt(program.printed())
        return f": {said}" if said else ", and said nothing"

    def _excerpt(self, text: str) -> str:
        """The last line that says something, short and in one line."""
        if self.hidden:
            text = text.replace(f"{self.hidden}{os.sep}", "")
        lines = [
            " ".join(re.sub(r"\x1b\[[0-9;]*[A-Za-z]|[^\S ]|[\x00-\x1f\x7f]", " ", line).split())
            for line in re.split(r"[\r\n]", text)
        ]
        last = next((line for line in reversed(lines) if line), "")
        return last if len(last) <= _EXCERPT else f"{last[:_EXCERPT]}…"


class RunningProgram:
    """One running program, and the end of what it prints."""

    def __init__(self, process: asyncio.subprocess.Process, *, stays: bool) -> None:
        """`stays` says that its standard output is answers; else it is listened to as errors are."""
        self.process = process
        self._kept: dict[str, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
        names = ("stderr",) if stays else ("stdout", "stderr")
        self._listeners = [asyncio.ensure_future(self._listen(name)) for name in names]

    @property
    def runs(self) -> bool:
        """Whether it has not ended yet."""
        return self.process.returncode is None

    def printed(self) -> str:
        """The end of what it printed: its errors, or its other words where there are none."""
        told = self._kept["stderr"].strip() or self._kept["stdout"]
        return told.decode("utf-8", "replace")

    async def exited(self) -> int:
        """Wait for its end; gives its exit code.

        asyncio's own `wait` waits for the pipes too, which a program that it started may hold open.
        """
        while self.process.returncode is None:
            await asyncio.sleep(_POLL)
        return self.process.returncode

    async def finish_listening(self) -> None:
        """Wait a moment for what was printed last."""
        await asyncio.wait(self._listeners, timeout=_LAST_WORDS)

    async def end(self) -> None:
        """End it and everything it started, and wait until it is gone."""
        end_process_group(self.process.pid)
        await asyncio.shield(self.exited())
        for listener in self._listeners:
            listener.cancel()
        await asyncio.gather(*self._listeners, return_exceptions=True)
        # The pipes are closed here and not by the garbage collector, which may come after the loop.
        self.process._transport.close()  # type: ignore[attr-defined]

    async def _listen(self, name: str) -> None:
        stream: asyncio.StreamReader = getattr(self.process, name)
        while piece := await stream.read(1 << 16):
            kept = self._kept[name]
            kept += piece
            del kept[:-_TAIL]


def _describe_end(code: int) -> str:
    """How a program ended, from its exit code.

    >>> _describe_end(3), _describe_end(-9), _describe_end(0)
    ('ended with exit code 3', 'was killed by signal 9', 'ended')
    """
    if code < 0:
        return f"was killed by signal {-code}"
    return f"ended with exit code {code}" if code else "ended"
