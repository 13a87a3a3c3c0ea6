"""Where cases are read: one at a time by each of a few hands, every failure kept as a reading."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from overread.core import (
    Ask,
    Case,
    Drawn,
    Reader,
    Reading,
    Reply,
    Request,
)
from overread.errors import (
    BadReply,
    MissingPart,
    OverreadError,
    ReleaseError,
    Unavailable,
    UnknownName,
    UsageError,
)
from overread.runs.arrays import adopt_files, write_files, write_masks
from overread.runs.asking import Asker, Spent
from overread.runs.cache import CacheUnusable
from overread.runs.computing import keep_masks, whole_reading
from overread.runs.pace import derived_seed
from overread.runs.presenting import Presented, Presenter, refuse_untold
from overread.runs.store import Question, RunUnwritable, Store
from overread.session import Session, SessionSettings, mask_file

Workflow = Callable[[Case, Session], Awaitable[Reading]]
Work = Iterator[tuple[Case, int]]

_MOST_TOLD = 10
_BREATH = 0.01


@dataclass
class Bug:
    """An exception that nobody meant, met while reading."""

    what: str
    """Its type and words."""
    case: str
    """The first case that met it."""
    trace: str
    """Where it came from, for who mends it."""
    count: int = 1
    """How many cases met it."""


@dataclass
class Tally:
    """How far a run has come."""

    total: int | None = None
    """Readings that the run will have, where that is known."""
    before: int = 0
    """Readings that were there when it began."""
    read: int = 0
    """Readings made now."""
    failed: int = 0
    """Readings made now that failed."""
    failed_before: int = 0
    """Readings that failed before and were not tried again."""
    reasons: list[tuple[str, str]] = field(default_factory=list)
    """(case, why) of the first few that failed."""
    bugs: dict[str, Bug] = field(default_factory=dict)
    """What was met that is a bug, by its words."""
    spent: Spent = field(default_factory=Spent)
    """What asking came to."""
    began: float = field(default_factory=time.monotonic)
    """When it began, on the clock that only goes forward."""

    @property
    def done(self) -> int:
        """Readings that are there by now."""
        return self.before + self.read

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self.began

    def fail(self, case: str, why: str) -> None:
        """Count one failed reading."""
        self.failed += 1
        if len(self.reasons) < _MOST_TOLD:
            self.reasons.append((case, why))


Watch = Callable[[Tally], None]


class ReadingRoom:
    """Everything that one run needs to read one case after the other."""

    def __init__(
        self,
        *,
        reader: Reader,
        workflow: Workflow | None,
        presenter: Presenter,
        asker: Asker,
        store: Store,
        tally: Tally,
        seed: int,
        settings: SessionSettings,
        on_prompts: Callable[[dict[str, str]], None],
        watch: Watch | None = None,
        unusable: Mapping[tuple[str, int], Sequence[Question]] | None = None,
    ) -> None:
        """Without a `workflow` the reader reads whole cases by itself.

        Questions that are `unusable` for a (case, sample) are asked even where they were answered.
        """
        self._reader = reader
        self._workflow = workflow
        self._presenter = presenter
        self._asker = asker
        self._store = store
        self._tally = tally
        self._seed = seed
        self._settings = settings
        self._on_prompts = on_prompts
        self._watch = watch
        self._unusable = unusable or {}
        self._breath = time.monotonic()
        self._broken: ReleaseError | None = None
        # All masks of a case are in memory while they are written: of two cases, no more.
        self._writing = asyncio.Semaphore(2)

    async def read_all(self, work: Work, hands: int) -> None:
        """Read every case of `work`, `hands` of them at once; none is held longer than that."""
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(hands):
                    group.create_task(self._hand(work))
        except BaseExceptionGroup as several:
            # One thing went wrong first; the others only followed it.
            raise _first(several) from None
        if self._broken is not None:
            raise self._broken

    async def _hand(self, work: Work) -> None:
        """Take a case, read it, write it down, take the next."""
        while True:
            try:
                case, sample = next(work)
            except StopIteration:
                return
            except ReleaseError as error:
                self._broken = error  # the others finish what they are reading
                return
            reading = await self._read(case, sample)
            self._store.append(reading)
            self._tally.read += 1
            if reading.error is not None:
                self._tally.fail(case.id, reading.error)
            if self._watch is not None:
                self._watch(self._tally)
            if self._store.due():
                await asyncio.to_thread(self._store.sync)
            # Known answers never wait for anything; a Ctrl-C must get its turn all the same.
            elif time.monotonic() - self._breath > _BREATH:
                await asyncio.sleep(0)
                self._breath = time.monotonic()

    async def _read(self, case: Case, sample: int) -> Reading:
        """The reading of a case, or a reading that says why there is none."""
        seed = derived_seed(self._seed, case.id, sample)
        session: Session | None = None
        try:
            presented = self._presenter.present(case, sample)
            if self._workflow is None:
                return presented.undo(await self._whole(presented, sample, seed))
            session = Session(
                self._asks(case, sample),
                self._reader,
                presented.case,
                presented.pictures,
                self._settings,
                sample=sample,
                seed=seed,
                hints=presented.hints,
            )
            reading = await self._workflow(presented.case, session)
            if not isinstance(reading, Reading):
                raise TypeError(f"the workflow gave a {type(reading).__name__}, not a Reading")
            refuse_untold(presented.hints, session.exchanges)
            if session.masks:
                await self._write_masks(session)
            await self._write_files(session)
            return presented.undo(_owned(reading, case, sample))
        except Exception as problem:
            error = _first(problem)
            if _concerns_all(error):
                raise error from None
            if session is not None:
                await self._write_files(session)  # its steps name them
            return self._failed(case, sample, session, self._told(error, case))
        finally:
            if session is not None and session.prompts:
                self._on_prompts(session.prompts)

    def _asks(self, case: Case, sample: int) -> Ask:
        unusable = self._unusable.get((case.id, sample))
        if not unusable:
            return self._asker.ask

        async def ask(request: Request) -> Reply | Drawn:
            return await self._asker.ask(request, anew=request.messages in unusable)

        return ask

    async def _whole(self, presented: Presented, sample: int, seed: int) -> Reading:
        case, pictures, folder = presented.case, presented.pictures, self._store.folder
        async with self._asker.limit:
            found, masks = await whole_reading(self._reader, case, pictures, seed=seed)
        reading = _owned(found, case, sample)
        source = getattr(self._reader, "source", None)
        if reading.error is not None:
            return reading
        try:
            if masks is not None:
                async with self._writing:
                    return await asyncio.to_thread(
                        keep_masks, folder, case, pictures, reading, masks
                    )
            if source is not None:
                return await asyncio.to_thread(adopt_files, folder, reading, source)
        except OSError as error:
            raise self._store.unwritten(error) from None
        return reading

    async def _write_masks(self, session: Session) -> None:
        case, pictures = session.case, session.pictures
        path = Path(self._store.folder, mask_file(case.id, session.sample))
        try:
            async with self._writing:
                await asyncio.to_thread(write_masks, path, case, pictures, session.masks)
        except OSError as error:
            raise self._store.unwritten(error) from None

    async def _write_files(self, session: Session) -> None:
        if session.files:
            try:
                await asyncio.to_thread(write_files, self._store.folder, session.files)
            except OSError as error:
                raise self._store.unwritten(error) from None

    def _failed(self, case: Case, sample: int, session: Session | None, why: str) -> Reading:
        if session is not None:
            return session.reading(error=why)
        return Reading(case_id=case.id, reader=self._reader.name, sample=sample, error=why)

    def _told(self, error: BaseException, case: Case) -> str:
        """Why a reading failed, for who runs it."""
        if isinstance(error, BadReply):
            return f"the answer could not be used: {error}"  # worded for the one who gave it
        return str(error) if isinstance(error, OverreadError) else self._met(error, case)

    def _met(self, error: BaseException, case: Case) -> str:
        """Note a bug, and say what became of the case."""
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        what = what if len(what) <= 300 else f"{what[:299]}…"
        known = self._tally.bugs.get(what)
        if known is not None:
            known.count += 1
        elif len(self._tally.bugs) < _MOST_TOLD:
            told = "".join(traceback.format_exception(error))
            self._tally.bugs[what] = Bug(what, case.id, told)
        return f"a bug ended this reading ({what})"


def _owned(reading: Reading, case: Case, sample: int) -> Reading:
    if reading.case_id == case.id and reading.sample == sample:
        return reading
    return reading.model_copy(update={"case_id": case.id, "sample": sample})


def _concerns_all(error: BaseException) -> bool:
    """Whether it is wrong for every case: then it ends the run instead of failing them all.

    A name that is unknown may have been made up by a reply, and fails its case only.
    """
    if isinstance(error, UsageError):
        return not isinstance(error, UnknownName)
    ending = MissingPart | Unavailable | CacheUnusable | RunUnwritable | MemoryError
    return isinstance(error, ending)


def _first(error: BaseException) -> BaseException:
    """The error itself, or the first of a group that several tasks at once ended in."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
