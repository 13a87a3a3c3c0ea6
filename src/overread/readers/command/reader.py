"""Any program that takes a CT and a sentence and writes a mask: a segmenter of one's own.

The program is started for each sentence, or once and asked many times; it has a time limit, and what
it writes is checked before it counts.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import shlex
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from overread.core import DrawnMask, Reader, ReleaseRef, Request
from overread.errors import ReaderError, Unavailable, UsageError
from overread.pixels.sparse_masks import to_sparse_mask
from overread.readers.arguments import settings_from
from overread.readers.command.ct_files import CaseFolder, CaseFolders, remove_folder
from overread.readers.command.drawn_file import read_drawn_file
from overread.readers.command.programs import ProgramRunner, RunningProgram

_GAP = re.compile(r"\{([a-z_]*)\}")
_GAPS = ("ct", "text", "text_file", "mask", "seed")
_FIRST_FAILURES = 3
"""So many failures before any success mean that the program never works."""
_LARGEST_SCRIPT = 16 << 20


@dataclass(frozen=True)
class CommandSettings:
    """The arguments of the reader `command`."""

    command: str
    """The program with its arguments, as in a shell; {ct}, {text}, {mask} stand for what it is given."""
    stays: bool = False
    """Whether it is started once and told what to draw on standard input, a JSON object a line."""
    programs: int = 1
    """How many of it run at once."""
    timeout: float = 600.0
    """Seconds for one sentence; for all sentences of a case where the program stays."""
    start_timeout: float = 600.0
    """Seconds until a program that stays must be ready."""
    threshold: float | None = None
    """What a voxel must exceed to be marked, for programs that write probabilities."""
    version: str | None = None
    """What tells two states of the program apart, such as the name of its weights."""

    def __post_init__(self) -> None:
        """Refuse what cannot be run, before anything is read."""
        if self.programs < 1:
            raise UsageError("the reader argument 'programs' must be 1 or more")
        if min(self.timeout, self.start_timeout) <= 0:
            raise UsageError("the reader arguments 'timeout' and 'start_timeout' must be more than 0 seconds")


def make(arguments: Mapping[str, str], *, place: ReleaseRef | None = None) -> CommandReader:
    """The reader for these arguments; the program sees nothing of the release but CTs and sentences."""
    settings = settings_from(CommandSettings, arguments)
    return CommandReader("command", split_command(settings.command, stays=settings.stays), settings)


def split_command(command: str, *, stays: bool) -> list[str]:
    """The words of a command, its program found and its gaps checked.

    >>> split_command("true --in {ct} --find {text} --out {mask}", stays=False)[1:]
    ['--in', '{ct}', '--find', '{text}', '--out', '{mask}']
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"the reader argument 'command' cannot be split into words ({error})") from None
    if not words:
        raise UsageError("the reader argument 'command' names no program")
    gaps = {gap for word in words for gap in _GAP.findall(word)}
    for gap in sorted(gaps - set(_GAPS)):
        known = ", ".join(f"{{{name}}}" for name in _GAPS)
        raise UsageError(f"the command holds {{{gap}}}", remedy=f"it may hold {known}")
    if stays and gaps:
        raise UsageError(
            f"a program that stays is told what to draw line by line, and the command holds {{{min(gaps)}}}",
            remedy="leave it out, or leave out stays=true",
        )
    if not stays and not ({"ct", "mask"} <= gaps and gaps & {"text", "text_file"}):
        raise UsageError(
            "the command does not say where the CT, the sentence and the mask stand",
            remedy="write {ct}, {text} (or {text_file}) and {mask} in it: "
            "'python segment.py {ct} {text} {mask}'",
        )
    found = shutil.which(words[0])
    if found is None:
        raise UsageError(
            f"there is no program '{words[0]}'", remedy="give its path, or put its folder into PATH"
        )
    return [found, *words[1:]]


class CommandReader(Reader):
    """Draws masks with a program of somebody else."""

    skills = frozenset({"masks"})

    def __init__(
        self,
        name: str,
        words: Sequence[str],
        settings: CommandSettings,
        *,
        identity: Mapping[str, JsonValue] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`words` are the program and its arguments; nothing is started yet.

        `environment` are variables that the program is given beside those of this process.
        """
        self.name = name
        self.at_once = settings.programs
        self.identity = identity if identity is not None else _identity(words, settings)
        self.settings = settings
        self._words = list(words)
        self._environment = environment
        self._folders = CaseFolders(kept=1)
        self._idle: list[RunningProgram] = []
        self._failures = 0
        self._has_drawn = False

    @cached_property
    def _root(self) -> Path:
        return Path(tempfile.mkdtemp(prefix="overread-"))

    @cached_property
    def _runner(self) -> ProgramRunner:
        told = self.settings
        return ProgramRunner(told.timeout, told.start_timeout, str(self._root), self._environment)

    async def read(self, request: Request) -> DrawnMask:
        """Have the program draw the sentence of a question."""
        if request.query is None:
            raise Unavailable(
                f"the reader '{self.name}' draws the mask of a sentence, and this question has none",
                remedy="use it on sentences in CTs, such as those of rexgroundingct",
            )
        async with self._folders.use(self._root, request.case, request.pictures) as folder:
            await folder.write_ct()
            try:
                drawn = await (self._draw_case if self.settings.stays else self._draw_one)(folder, request)
            except Unavailable:
                raise
            except ReaderError as problem:
                self._failures += 1
                if not self._has_drawn and self._failures >= _FIRST_FAILURES:
                    raise Unavailable(
                        f"the first {self._failures} sentences all failed, the last since {problem.what}",
                        remedy=problem.remedy
                        or "try the program alone, and then give the same command again",
                    ) from None
                raise
        self._has_drawn = True
        return drawn

    async def close(self) -> None:
        """End the programs that stayed, and remove what was written for them."""
        while self._idle:
            await self._idle.pop().end()
        if "_root" in self.__dict__:
            await asyncio.to_thread(remove_folder, self._root)
            del self._root
            self.__dict__.pop("_runner", None)

    async def _draw_one(self, folder: CaseFolder, request: Request) -> DrawnMask:
        """Start the program for one sentence."""
        assert request.query is not None
        text = _one_line(request.query.text)
        mask, told = folder.folder / "mask.nii.gz", folder.folder / "text.txt"
        mask.unlink(missing_ok=True)
        told.write_text(f"{text}\n", "utf-8", newline="\n")
        values = {
            "ct": str(folder.ct),
            "text": text,
            "text_file": str(told),
            "mask": str(mask),
            "seed": str(request.seed),
        }
        words = [_GAP.sub(lambda gap: values[gap[1]], word) for word in self._words]
        await self._runner.run_once(words)
        return await self._read_mask(folder, mask)

    async def _draw_case(self, folder: CaseFolder, request: Request) -> DrawnMask:
        """Have a program that stays draw all sentences of the case at once; the others are kept."""
        assert request.query is not None
        asked = (request.sample, request.seed)
        if (asked, request.query.id) not in folder.drawn:
            folder.drawn.clear()
            queries = request.case.queries
            files = [folder.folder / f"mask-{number}.nii.gz" for number in range(len(queries))]
            for file in files:
                file.unlink(missing_ok=True)
            findings = [
                {"text": _one_line(query.text), "mask": str(file)}
                for query, file in zip(queries, files, strict=True)
            ]
            await self._ask_staying({"ct": str(folder.ct), "seed": request.seed, "findings": findings})
            for query, file in zip(queries, files, strict=True):
                folder.drawn[asked, query.id] = await self._read_mask(folder, file)
        drawn: DrawnMask = folder.drawn.pop((asked, request.query.id))
        return drawn

    async def _ask_staying(self, question: Mapping[str, Any]) -> None:
        while self._idle and not self._idle[-1].runs:
            await self._idle.pop().end()  # it ended while nobody asked it anything
        program = self._idle.pop() if self._idle else await self._runner.start_staying(self._words)
        try:
            await self._runner.ask(program, question)
        except BaseException:
            # What it would answer next belongs to this question, so it answers no other.
            await program.end()
            raise
        self._idle.append(program)

    async def _read_mask(self, folder: CaseFolder, file: Path) -> DrawnMask:
        space = await folder.write_ct()
        threshold = self.settings.threshold

        def read() -> DrawnMask:
            mask, note = read_drawn_file(file, space, threshold=threshold)
            file.unlink()
            return DrawnMask(to_sparse_mask(mask), note)

        return await asyncio.to_thread(read)


def _one_line(text: str) -> str:
    """A sentence as one argument of a program; it may hold no NUL."""
    return " ".join(text.replace("\0", " ").split())


def _identity(words: Sequence[str], settings: CommandSettings) -> dict[str, JsonValue]:
    """The command, and a digest of each file in it, so that a changed script is another reader."""
    files: dict[str, JsonValue] = {}
    for word in words[1:]:
        file = Path(word)
        if file.is_file() and file.stat().st_size <= _LARGEST_SCRIPT:
            files[file.name] = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    found: dict[str, JsonValue] = {"command": settings.command, "files": files}
    named = {"stays": settings.stays or None, "threshold": settings.threshold, "version": settings.version}
    return found | {name: value for name, value in named.items() if value is not None}
