"""Reads cases: a few tasks take one case after the other, and every failure is stored as a reading
with an error.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path

from overread.core import Ask, Case, DrawnMask, Reader, Reading, Reply, Request
from overread.core.seeded import hash_seed
from overread.errors import BadReply, EndpointFailed, OverreadError, ReleaseError, first_error, is_fatal
from overread.runs.ablations import PresentedCase, Presenter, refuse_unused_hints
from overread.runs.failures import run_tasks
from overread.runs.reading_files import copy_reading_files, write_files, write_masks
from overread.runs.requests.asker import Asker
from overread.runs.requests.endpoint_health import HeldFailures
from overread.runs.store import QuestionMessages, ReadingStore
from overread.runs.tally import Tally, Watch
from overread.runs.worker_reader import store_masks
from overread.session import Session, SessionSettings, mask_file

Workflow = Callable[[Case, Session], Awaitable[Reading]]
Work = Iterator[tuple[Case, int]]

_YIELD_SECONDS = 0.01


class CaseRunner:
    """Everything that one run needs to read one case after the other."""

    def __init__(
        self,
        *,
        reader: Reader,
        workflow: Workflow | None,
        presenter: Presenter,
        asker: Asker,
        store: ReadingStore,
        tally: Tally,
        seed: int,
        settings: SessionSettings,
        on_prompts: Callable[[dict[str, str]], None],
        watch: Watch | None = None,
        unusable: Mapping[tuple[str, int], Sequence[QuestionMessages]] | None = None,
    ) -> None:
        """Without a `workflow` the reader makes whole readings (skill 'whole').

        Questions that are `unusable` for a (case, sample) are asked again even where a reply is
        cached.
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
        self._last_yield = time.monotonic()
        self._release_error: ReleaseError | None = None
        self._held = HeldFailures[Reading]([asker.health], self._keep)
        # All masks of a case are in memory while they are written: of two cases, no more.
        self._mask_limit = asyncio.Semaphore(2)

    async def read_all(self, work: Work, hands: int) -> None:
        """Read every case of `work`, `hands` of them at once; no more are held in memory."""
        await run_tasks(self._worker(work) for _ in range(hands))
        self._held.finish()
        if self._release_error is not None:
            raise self._release_error

    async def _worker(self, work: Work) -> None:
        """Take a case, read it, write it down, take the next."""
        while True:
            try:
                case, sample = next(work)
            except StopIteration:
                return
            except ReleaseError as error:
                self._release_error = error  # the others finish what they are reading
                return
            reading, held = await self._read_case(case, sample)
            if held:
                self._held.add(reading)
            else:
                self._held.settle()
                self._keep(reading)
            if self._store.is_sync_due():
                await asyncio.to_thread(self._store.sync)
            # Known answers never wait for anything; a Ctrl-C must get its turn all the same.
            elif time.monotonic() - self._last_yield > _YIELD_SECONDS:
                await asyncio.sleep(0)
                self._last_yield = time.monotonic()

    def _keep(self, reading: Reading) -> None:
        """Write a reading down and count it."""
        self._store.append(reading)
        self._tally.read += 1
        if reading.error is not None:
            self._tally.fail(reading.case_id, reading.error)
        if self._watch is not None:
            self._watch(self._tally)

    async def _read_case(self, case: Case, sample: int) -> tuple[Reading, bool]:
        """The reading of a case, or one that says why there is none, and whether the endpoint is at
        fault.
        """
        seed = hash_seed(self._seed, case.id, sample)
        session: Session | None = None
        try:
            presented = self._presenter.present(case, sample)
            if self._workflow is None:
                return presented.undo(await self._read_whole(presented, sample, seed)), False
            session = Session(
                self._ask_function(case, sample),
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
            refuse_unused_hints(presented.hints, session.exchanges)
            if session.masks:
                await self._write_masks(session)
            await self._write_files(session)
            return presented.undo(_with_case_id(reading, case, sample)), False
        except Exception as problem:
            error = first_error(problem)
            if is_fatal(error):
                raise error from None
            if session is not None:
                await self._write_files(session)  # its steps name them
            failed = self._failed_reading(case, sample, session, self._describe_failure(error, case))
            return failed, isinstance(error, EndpointFailed)
        finally:
            if session is not None and session.prompts:
                self._on_prompts(session.prompts)

    def _ask_function(self, case: Case, sample: int) -> Ask:
        unusable = self._unusable.get((case.id, sample))
        if not unusable:
            return self._asker.ask

        async def ask(request: Request) -> Reply | DrawnMask:
            return await self._asker.ask(request, anew=request.messages in unusable)

        return ask

    async def _read_whole(self, presented: PresentedCase, sample: int, seed: int) -> Reading:
        case, pictures, folder = presented.case, presented.pictures, self._store.folder
        async with self._asker.limit:
            found, masks = await self._reader.read_whole(case, pictures, seed=seed)
        reading = _with_case_id(found, case, sample)
        if reading.error is not None:
            return reading
        try:
            if masks is not None:
                async with self._mask_limit:
                    return await asyncio.to_thread(store_masks, folder, case, pictures, reading, masks)
            return await asyncio.to_thread(copy_reading_files, folder, reading, self._reader.source)
        except OSError as error:
            raise self._store.write_error(error) from None
        return reading

    async def _write_masks(self, session: Session) -> None:
        case, pictures = session.case, session.pictures
        path = Path(self._store.folder, mask_file(case.id, session.sample))
        try:
            async with self._mask_limit:
                await asyncio.to_thread(write_masks, path, case, pictures, session.masks)
        except OSError as error:
            raise self._store.write_error(error) from None

    async def _write_files(self, session: Session) -> None:
        if session.files:
            try:
                await asyncio.to_thread(write_files, self._store.folder, session.files)
            except OSError as error:
                raise self._store.write_error(error) from None

    def _failed_reading(self, case: Case, sample: int, session: Session | None, why: str) -> Reading:
        if session is not None:
            return session.reading(error=why)
        return Reading(case_id=case.id, reader=self._reader.name, sample=sample, error=why)

    def _describe_failure(self, error: BaseException, case: Case) -> str:
        """Why a reading failed, for who runs it."""
        if isinstance(error, BadReply):
            return f"the answer could not be used: {error}"  # worded for the one who gave it
        if isinstance(error, OverreadError):
            return str(error)
        return f"a bug ended this reading ({self._tally.note_bug(error, case.id)})"


def _with_case_id(reading: Reading, case: Case, sample: int) -> Reading:
    if reading.case_id == case.id and reading.sample == sample:
        return reading
    return reading.model_copy(update={"case_id": case.id, "sample": sample})
