"""A benchmark as somebody else's engine needs it: its questions, and what answers are worth.

The other engine asks its model and keeps the answers. The questions are those of our own sessions,
and what the answers are worth is found by going through the same workflow, parsers and metrics
with them, so that the numbers are those of `overread score` for the same answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from pydantic import JsonValue

from overread import catalog
from overread.core import (
    Ask,
    Case,
    Drawn,
    Entry,
    Message,
    Place,
    Reading,
    Region,
    Reply,
    Request,
    Shown,
    Whole,
)
from overread.errors import MissingPart, OverreadError, ReaderError, UnknownName, UsageError
from overread.metrics import Metric, Sample, Subject
from overread.runs.arrays import write_files, write_masks
from overread.runs.card import measure_key
from overread.runs.grading import chosen_metrics, entries_of
from overread.runs.kept import digest
from overread.runs.measuring import Rows, measured_rows, unit_name
from overread.runs.pace import derived_seed
from overread.runs.presenting import settings_told
from overread.runs.reading_room import Workflow
from overread.runs.score import RunFiles
from overread.session import Session, SessionSettings, mask_file

Answers = list[dict[str, Any]]
"""What a model answered, in order: which question, the words, why they ended. Plain JSON."""


@dataclass
class Outsider:
    """The reader that stands for a model which somebody else's engine asks."""

    name: str = "outside"
    skills: frozenset[str] = frozenset({"words", "pictures"})
    identity: Mapping[str, JsonValue] = field(default_factory=dict)
    cached: bool = False

    async def read(self, request: Request) -> Reply | Drawn:
        """Never called: sessions are handed another way to ask."""
        raise ReaderError(f"the question '{request.task}' reached nobody")

    async def close(self) -> None:
        """Nothing to let go of."""


@dataclass(frozen=True)
class Marks:
    """What one reading of one case is worth."""

    reading: Reading
    values: dict[str, float]
    """Metric → its value over this case alone; a NaN where that is undefined."""
    rows: Rows
    """Measure → unit → statistics: what numbers over many cases are made of."""


class Exam:
    """One split of a copy of a benchmark, the way it is read, and what is scored."""

    def __init__(
        self,
        place: Place,
        *,
        workflow: str = "direct",
        settings: SessionSettings | None = None,
        metrics: Sequence[str] = (),
    ) -> None:
        """`metrics` are catalog names; without them the benchmark's own are scored."""
        self.place = place
        self.release = place.open()
        self.settings = settings or SessionSettings()
        if asked := settings_told(self.settings, whole=True):
            raise UsageError(
                f"{' and '.join(asked)} cannot be set here", remedy="use `overread run` for it"
            )
        self.metrics: list[Metric] = chosen_metrics(metrics or place.exam.metrics, {})
        self._workflow = cast(Workflow, catalog.find("workflows", workflow))
        self._open: dict[str, Session] = {}

    @cached_property
    def cases(self) -> dict[str, Case]:
        """All cases by their id, without their truth, in the order of the release."""
        return {case.id: case for case in self.release}

    @cached_property
    def entries(self) -> dict[str, Entry]:
        """All cases with their truth: for scores only."""
        return entries_of(self.release, self.place)

    # ---- questions -------------------------------------------------------------------------

    def session(self, case: Case, ask: Ask, *, sample: int = 0, key: str | None = None) -> Session:
        """A session at its beginning; under the same `key` pictures are encoded only once."""
        before = self._open.get(key) if key else None
        if before is None:
            seed = derived_seed(0, case.id, sample)
            pictures, settings = self.release.pictures, self.settings
            before = Session(ask, Outsider(), case, pictures, settings, sample=sample, seed=seed)
            if key:
                self._open[key] = before
        fresh: dict[str, Any] = {"steps": [], "exchanges": [], "masks": {}, "files": {}}
        return replace(before, ask_reader=ask, prompts={}, **fresh)

    def close(self, key: str) -> None:
        """Forget the pictures that were encoded under this key."""
        self._open.pop(key, None)

    async def question(self, case: Case, *, sample: int = 0, key: str | None = None) -> Request:
        """The first question about a case, with its pictures."""
        return await self._first(self.session(case, _stopping, sample=sample, key=key))

    async def wording(self, case: Case) -> tuple[tuple[Message, ...], dict[str, str]]:
        """The first question without opening a picture, and the prompts it was made with.

        A case about which nothing can be asked has no words; it fails when it is read.
        """
        session = _Unseeing(_stopping, Outsider(), case, self.release.pictures, self.settings)
        try:
            return (await self._first(session)).messages, session.prompts
        except OverreadError as problem:
            if _concerns_all(problem):
                raise
            return (), {}

    async def _first(self, session: Session) -> Request:
        try:
            await self._workflow(session.case, session)
        except (_FirstQuestion, ExceptionGroup) as stop:
            first: BaseException = stop
            while isinstance(first, BaseExceptionGroup):
                first = first.exceptions[0]
            if not isinstance(first, _FirstQuestion):
                raise
            return first.request
        raise UsageError("this workflow asks nothing about a case", remedy="take another one")

    # ---- answers ---------------------------------------------------------------------------

    async def read(
        self, case: Case, ask: Ask, *, sample: int = 0, key: str | None = None
    ) -> tuple[Reading, dict[str, Any]]:
        """What comes of asking: a reading, failed where no sense could be made, and its files.

        These are masks by their query, and bytes by their name in a run.
        """
        session = self.session(case, ask, sample=sample, key=key)
        try:
            return await self._workflow(case, session), {**session.masks, **session.files}
        except OverreadError as problem:
            if _concerns_all(problem):
                raise
            return session.reading(error=str(problem)), {}

    def marks(self, case_id: str, reading: Reading, files: Mapping[str, Any]) -> Marks:
        """What a reading is worth; no rows where the truth leaves nothing to judge."""
        masks = {query: mask for query, mask in files.items() if not isinstance(mask, bytes)}
        entry = self.entries[case_id]
        measures = {measure_key(metric): metric for metric in self.metrics}
        with TemporaryDirectory(prefix="overread-") as folder:
            if masks:
                path = Path(folder, mask_file(case_id, reading.sample))
                write_masks(path, entry.case, self.release.pictures, masks)
            cut = {name: data for name, data in files.items() if isinstance(data, bytes)}
            write_files(Path(folder), cut)
            subject = Subject(entry, reading, self.release, RunFiles(Path(folder)))
            rows = {key: own for key, own in measured_rows(measures, subject).items() if own}
        named = {
            key: {unit_name(unit, reading.sample): row for unit, row in own.items()}
            for key, own in rows.items()
        }
        return Marks(reading, figures(self.metrics, {case_id: [named]}), named)


def figures(metrics: Sequence[Metric], rows: Mapping[str, Sequence[Rows]]) -> dict[str, float]:
    """Metric → its value over all cases; `rows` has those of each reading of each case.

    They are taken in the order of case ids, as in a run of ours, so that not even the last digit
    differs. What has nothing to judge is left out.
    """
    found: dict[str, float] = {}
    for metric in metrics:
        key = measure_key(metric)
        units: dict[tuple[str, str], Any] = {}
        for case in sorted(rows):
            for own in rows[case]:
                units |= {(case, unit): row for unit, row in own.get(key, {}).items()}
        if units:
            found[metric.name] = float(metric.combine(Sample(list(units.values())))[0])
    return found


def question_key(messages: Sequence[Message]) -> str:
    """What tells one question about a case from another."""
    return digest(
        [
            [m.role, *(p if isinstance(p, str) else p.region.model_dump_json() for p in m.parts)]
            for m in messages
        ]
    )


def answering(answers: Answers) -> Ask:
    """Asks nobody: gives to each question what was answered to it before."""
    left: dict[str, list[dict[str, Any]]] = {}
    for answer in answers:
        left.setdefault(str(answer["question"]), []).append(answer)

    async def ask(request: Request) -> Reply | Drawn:
        known = left.get(question_key(request.messages))
        if not known:
            raise ReaderError("there is no answer to this question")
        answer = known.pop(0)
        return Reply(text=answer["text"], finish=answer["finish"])

    return ask


class _FirstQuestion(Exception):
    """Stops a workflow at its first question."""

    def __init__(self, request: Request) -> None:
        super().__init__("the first question")
        self.request = request


async def _stopping(request: Request) -> Reply | Drawn:
    raise _FirstQuestion(request)


class _Unseeing(Session):
    """A session that opens no picture: for the words of a question alone."""

    def show(self, region: Region) -> Shown:
        self._images[""] = b""
        return Shown(region=region, media="", sha256="", width=1, height=1)

    async def look(self, *regions: Region) -> list[Shown]:
        wanted = regions or [Whole(picture=picture.name) for picture in self.case.pictures]
        return [self.show(region) for region in wanted]


def _concerns_all(problem: OverreadError) -> bool:
    """Whether it is wrong for every case, as in a run of ours."""
    if isinstance(problem, UsageError):
        return not isinstance(problem, UnknownName)
    return isinstance(problem, MissingPart)
