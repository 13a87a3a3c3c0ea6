"""A person reads in the terminal: the question is printed, and the answer typed.

An answer may have several lines and ends with a line that is a single dot, or with Ctrl-D. Pictures
are written to a folder of the person's own, and shown by a viewer where one is named. It works over
a pipe as well.
"""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NoReturn

from pydantic import JsonValue

from overread.core import Message, Reader, ReleaseRef, Reply, Request, SentImage, Usage
from overread.errors import BadReply, ReaderError, UsageError
from overread.prompts.replies import letter_parser
from overread.readers.arguments import settings_from
from overread.readers.terminal import Terminal
from overread.storage.system import picture_viewer

COMMANDS = {
    ":help": "list the commands",
    ":question": "show the question again",
    ":show": "show the pictures again",
    ":again": "discard this answer and start over",
    ":skip": "skip this case; it counts as failed",
    ":quit": "stop the run; the same command resumes at this case",
}
_END_LINE = "."


@dataclass(frozen=True)
class PersonSettings:
    """The arguments of the reader `person`."""

    name: str = "person"
    """Who reads: a name or initials, kept with every reading."""
    viewer: str = ""
    """Command that shows pictures, given their files; 'system' is the desktop's own."""
    folder: Path | None = None
    """Where the pictures of the question are written; without it a folder that goes at the end."""


def make(arguments: Mapping[str, str], *, place: ReleaseRef | None = None) -> PersonReader:
    """A person at the terminal."""
    settings = settings_from(PersonSettings, arguments)
    return PersonReader(settings, _viewer_command(settings.viewer))


class PersonReader(Reader):
    """Reads one case at a time, in words, and sees the pictures in a viewer."""

    skills = frozenset({"words", "pictures"})
    at_once = 1
    interactive = True

    def __init__(
        self, settings: PersonSettings, viewer: tuple[str, ...] = (), terminal: Terminal | None = None
    ) -> None:
        """`terminal` is where it is asked and answered: standard input and standard error."""
        self.name = settings.name
        self.identity = {"reader": "person", "name": settings.name}
        self._settings = settings
        self._viewer = viewer
        self._terminal_override = terminal
        self._own_folder: Path | None = None
        self._last_messages: tuple[Message, ...] = ()
        self._files: list[Path] = []
        self._viewers: list[subprocess.Popen[bytes]] = []
        self._greeted = False

    @cached_property
    def _terminal(self) -> Terminal:
        return self._terminal_override or Terminal(sys.stdin, sys.stderr)

    async def read(self, request: Request) -> Reply:
        """Print the question, wait for the answer, check it, and ask again while it cannot be."""
        begin = time.monotonic()
        if not request.messages:
            raise ReaderError(
                "a person in the terminal cannot draw", remedy="use a workflow that asks in words"
            )
        self._greet()
        repeated = self._last_messages and request.messages[: len(self._last_messages)] == self._last_messages
        fresh = request.messages[len(self._last_messages) :] if repeated else request.messages
        if not repeated:
            self._files = self._write_pictures(request)
        self._last_messages = request.messages
        self._print_messages(fresh, begins=not repeated)
        if not repeated:
            self._open_viewer()
        self._terminal.write_line(_answer_instructions(request))
        while True:
            typed = await self._read_answer(request)
            try:
                text = _format_answer(typed, request)
                break
            except BadReply as problem:
                self._terminal.write_line(f"Invalid answer: {problem}. Please try again.")
        pictures = len(self._files)
        usage = Usage(pictures=pictures, calls=1, seconds=round(time.monotonic() - begin, 3))
        return Reply(text=text, model=self.name, usage=usage)

    async def close(self) -> None:
        """Take the pictures away again, unless somebody named a folder for them."""
        for viewer in self._viewers:
            viewer.poll()
        if self._own_folder is not None:
            shutil.rmtree(self._own_folder, ignore_errors=True)
            self._own_folder = None

    # ---- the answer ------------------------------------------------------------------------

    async def _read_answer(self, request: Request) -> str:
        """What was typed up to the dot; commands are obeyed on the way."""
        lines: list[str] = []
        while True:
            line = await self._terminal.read_line()
            if line is None:  # Ctrl-D, or the end of the pipe
                if any(map(str.strip, lines)):
                    return "\n".join(lines).strip()
                await _interrupt_run()
            command = line.strip().lower()
            if command == _END_LINE:
                if any(map(str.strip, lines)):
                    return "\n".join(lines).strip()
                self._terminal.write_line(
                    "The answer is empty. :skip skips the case, :help lists the commands."
                )
            elif command == ":again":
                lines.clear()
                self._terminal.write_line("Answer discarded. Start over.")
            elif command in COMMANDS:
                await self._run_command(command, request)
            elif re.fullmatch(r":\w+", command):
                self._terminal.write_line(f"Unknown command {command}; :help lists the commands.")
            else:
                lines.append(line)

    async def _run_command(self, command: str, request: Request) -> None:
        if command == ":skip":
            raise ReaderError(f"{self.name} skipped this case")
        if command == ":quit":
            await _interrupt_run()
        if command == ":help":
            width = max(map(len, COMMANDS))
            for name, about in COMMANDS.items():
                self._terminal.write_line(f"  {name:<{width}}  {about}")
        elif command == ":question":
            self._print_messages(request.messages)
        elif command == ":show":
            self._open_viewer()

    # ---- the question ----------------------------------------------------------------------

    def _greet(self) -> None:
        if not self._greeted:
            self._terminal.write_line("You are the reader. :help lists the commands, :quit stops the run.")
            self._greeted = True

    def _print_messages(self, messages: tuple[Message, ...], *, begins: bool = True) -> None:
        """The words of the question, and where its pictures are; own answers are known."""
        if begins:
            self._terminal.write_line("─" * 72)
        pictures = iter(self._files)
        for message in messages:
            if message.role == "assistant":
                continue
            for part in message.parts:
                if not isinstance(part, SentImage):
                    self._terminal.write_line(part)
                elif (file := next(pictures, None)) is not None:
                    size = f"{part.width} × {part.height}"
                    self._terminal.write_line(f"[{part.region.picture}, {size}] {file}")

    def _write_pictures(self, request: Request) -> list[Path]:
        """The pictures of a question as files, in their order; those of the last one go."""
        if self._settings.folder is None:
            folder = self._own_folder = self._own_folder or Path(mkdtemp(prefix="overread-"))
        else:
            folder = self._settings.folder
            folder.mkdir(parents=True, exist_ok=True)
        for old in self._files:
            old.unlink(missing_ok=True)
        shown = [p for m in request.messages for p in m.parts if isinstance(p, SentImage)]
        files = []
        for number, part in enumerate(shown, 1):
            plain = re.sub(r"[^A-Za-z0-9]+", "-", part.region.picture)[:40]
            suffix = "jpg" if part.media == "image/jpeg" else "png"
            path = folder / f"{number:02d}-{plain}.{suffix}"
            path.write_bytes(request.images[part.sha256])
            files.append(path)
        return files

    def _open_viewer(self) -> None:
        if not self._viewer or not self._files:
            return
        one_by_one = self._viewer[0].endswith(("xdg-open", "explorer"))  # takes a single file
        batches = [[file] for file in self._files] if one_by_one else [self._files]
        for files in batches:
            try:
                viewer = subprocess.Popen(
                    [*self._viewer, *map(str, files)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,  # Ctrl-C here does not close it
                )
            except OSError as error:
                self._terminal.write_line(f"The viewer did not start ({error.strerror}).")
                return
            self._viewers = [*(v for v in self._viewers if v.poll() is None), viewer]


async def _interrupt_run() -> NoReturn:
    """Stop the run as Ctrl-C does, so that it is kept and goes on later."""
    signal.raise_signal(signal.SIGINT)
    await asyncio.sleep(1)  # cancelled here, unless nobody listens
    raise KeyboardInterrupt


def _viewer_command(viewer: str) -> tuple[str, ...]:
    """The viewer's command as words; refused where there is no such program."""
    if viewer.strip() == "system":
        words = [picture_viewer()]
    else:
        try:
            words = shlex.split(viewer)
        except ValueError as error:
            raise UsageError(f"the viewer '{viewer}' is no command ({error})") from None
    if words and shutil.which(words[0]) is None:
        raise UsageError(
            f"there is no program '{words[0]}' to show pictures with",
            remedy="name another one (--reader-arg viewer=…), or open the files that are printed",
        )
    return tuple(words)


# ---- the form of an answer -----------------------------------------------------------------


def _answer_instructions(request: Request) -> str:
    """Instructions for typing the answer, instead of the JSON that the prompt asks a model for."""
    end = "End with a line that is a single dot, or with Ctrl-D."
    if request.task == "choose" and request.case.options:
        letters = ", ".join(option.letter for option in request.case.options)
        below = "why, if you like, on the lines below it"
        return f"→ In place of JSON, type one letter ({letters}); {below}. {end}"
    if request.task == "answer":
        return f"→ In place of JSON, type your answer on one line; why, if you like, below it. {end}"
    table = _number_table(request.schema)
    if table is not None:
        _, columns = table
        named = " ".join(columns)
        return f"→ In place of JSON, type one line for each: {named}; or 'none'. {end}"
    if request.schema is not None:
        return f"→ Type the JSON that is asked for. {end}"
    return f"→ Type your answer. {end}"


def _format_answer(typed: str, request: Request) -> str:
    """What was typed in the form that was asked for; raises `BadReply` where it is not."""
    if request.task == "choose" and request.case.options:
        return _format_choice(typed, request)
    if request.schema is None or typed.lstrip().startswith("{"):
        return typed
    if request.task == "answer":
        first, _, rest = typed.partition("\n")
        said = {"answer": first.strip(), "explanation": rest.strip()}
        return json.dumps(said, ensure_ascii=False)
    table = _number_table(request.schema)
    if table is None:
        raise BadReply("it is no JSON object")
    name, columns = table
    if typed.strip().lower() in ("none", "nothing"):
        return json.dumps({name: []})
    rows = []
    for line in typed.splitlines():
        words = line.replace(",", " ").split()
        if not words:
            continue
        try:
            values = [_parse_number(word, columns[key]) for word, key in zip(words, columns, strict=True)]
        except ValueError:
            raise BadReply(f"'{line.strip()}' is not {len(columns)} numbers in order") from None
        rows.append(dict(zip(columns, values, strict=True)))
    return json.dumps({name: rows})


def _format_choice(typed: str, request: Request) -> str:
    """The letter of the first line as JSON, with the lines below it as the reason."""
    parse = letter_parser(request.case.options)
    first, _, rest = typed.partition("\n")
    try:
        chosen = parse(first).value
    except BadReply:
        parse(typed)  # the letter may stand in words, or in JSON
        return typed
    if request.schema is None:
        return typed
    return json.dumps({"answer": chosen, "explanation": rest.strip()}, ensure_ascii=False)


def _number_table(schema: Mapping[str, JsonValue] | None) -> tuple[str, dict[str, str]] | None:
    """(name, column → kind) where a schema asks for one list of rows of numbers; else None.

    >>> row = {"type": "object", "properties": {"left": {"type": "number"}}}
    >>> _number_table({"properties": {"boxes": {"type": "array", "items": row}}})
    ('boxes', {'left': 'number'})
    """
    asked: Any = schema or {}
    properties = asked.get("properties")
    if not isinstance(properties, dict) or len(properties) != 1:
        return None
    ((name, part),) = properties.items()
    items = part.get("items", {}) if part.get("type") == "array" else {}
    if "$ref" in items:
        items = asked.get("$defs", {}).get(items["$ref"].rpartition("/")[2], {})
    kinds = {key: one.get("type", "") for key, one in items.get("properties", {}).items()}
    numeric = kinds and set(kinds.values()) <= {"integer", "number"}
    return (name, kinds) if numeric else None


def _parse_number(word: str, kind: str) -> float | int:
    return int(word) if kind == "integer" else float(word)
