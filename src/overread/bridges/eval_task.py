"""A benchmark as another evaluation framework needs it: its questions, and the scores of answers.

The other framework asks the model and keeps the answers. The questions are those of our own
sessions; the scores come from running the same workflow, parsers and metrics on the answers, so
that they equal those of `overread score`.
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
    DrawnMask,
    Entry,
    Message,
    Reader,
    Reading,
    Region,
    ReleaseRef,
    Reply,
    Request,
    SentImage,
    Whole,
)
from overread.core.seeded import hash_seed
from overread.errors import OverreadError, ReaderError, UsageError, first_error, is_fatal
from overread.metrics import Metric, Sample, Subject, measure_key
from overread.runs.ablations import spec_settings
from overread.runs.case_runner import Workflow
from overread.runs.reading_files import RunFiles, write_files, write_masks
from overread.runs.scoring.card_builder import load_entries
from overread.runs.scoring.measurement import Rows, measure_rows, unit_name
from overread.runs.scoring.metric_selection import select_metrics
from overread.session import Session, SessionSettings, mask_file
from overread.storage.digests import digest

Answers = list[dict[str, Any]]
"""What a model answered, in order: which question, the words, why they ended. Plain JSON."""


@dataclass
class ExternalReader(Reader):
    """Stands for the model that the other framework asks."""

    name: str = "outside"
    skills: frozenset[str] = frozenset({"words", "pictures"})
    identity: Mapping[str, JsonValue] = field(default_factory=dict)

    async def read(self, request: Request) -> Reply | DrawnMask:
        """Never called: the session gets its own function to ask."""
        raise ReaderError(f"the question '{request.task}' reached nobody")


@dataclass(frozen=True)
class CaseScore:
    """The scores of one reading of one case."""

    reading: Reading
    values: dict[str, float]
    """Metric → its value over this case alone; a NaN where that is undefined."""
    rows: Rows
    """Measure → unit → statistics: what numbers over many cases are made of."""


class EvalTask:
    """One split of a copy of a benchmark, the way it is read, and what is scored."""

    def __init__(
        self,
        place: ReleaseRef,
        *,
        workflow: str = "direct",
        settings: SessionSettings | None = None,
        metrics: Sequence[str] = (),
    ) -> None:
        """`metrics` are catalog names; without them the benchmark's own are scored."""
        self.place = place
        self.release = place.open()
        self.settings = settings or SessionSettings()
        if asked := spec_settings(self.settings, whole=True):
            raise UsageError(f"{' and '.join(asked)} cannot be set here", remedy="use `overread run` for it")
        self.metrics: list[Metric] = select_metrics(metrics or place.definition.metrics, {})
        self._workflow = cast(Workflow, catalog.find("workflows", workflow))
        self._sessions: dict[str, Session] = {}

    @cached_property
    def cases(self) -> dict[str, Case]:
        """All cases by their id, without their truth, in the order of the release."""
        return {case.id: case for case in self.release}

    @cached_property
    def entries(self) -> Mapping[str, Entry]:
        """All cases with their truth: for scores only."""
        return load_entries(self.release, self.place)

    # ---- questions -------------------------------------------------------------------------

    def make_session(self, case: Case, ask: Ask, *, sample: int = 0, key: str | None = None) -> Session:
        """A session at its beginning; under the same `key` pictures are encoded only once."""
        before = self._sessions.get(key) if key else None
        if before is None:
            seed = hash_seed(0, case.id, sample)
            pictures, settings = self.release.pictures, self.settings
            before = Session(ask, ExternalReader(), case, pictures, settings, sample=sample, seed=seed)
            if key:
                self._sessions[key] = before
        fresh: dict[str, Any] = {"steps": [], "exchanges": [], "masks": {}, "files": {}}
        return replace(before, ask_reader=ask, prompts={}, **fresh)

    def drop_session(self, key: str) -> None:
        """Forget the pictures that were encoded under this key."""
        self._sessions.pop(key, None)

    async def first_request(self, case: Case, *, sample: int = 0, key: str | None = None) -> Request:
        """The first question about a case, with its pictures."""
        return await self._run_to_first_request(
            self.make_session(case, _stop_at_request, sample=sample, key=key)
        )

    async def first_messages(self, case: Case) -> tuple[tuple[Message, ...], dict[str, str]]:
        """The first question without opening a picture, and the prompts it was made with.

        A case about which nothing can be asked has no words; it fails when it is read.
        """
        session = _TextOnlySession(
            _stop_at_request, ExternalReader(), case, self.release.pictures, self.settings
        )
        try:
            return (await self._run_to_first_request(session)).messages, session.prompts
        except OverreadError as problem:
            if is_fatal(problem):
                raise
            return (), {}

    async def _run_to_first_request(self, session: Session) -> Request:
        try:
            await self._workflow(session.case, session)
        except Exception as stop:
            first = first_error(stop, prefer=_FirstRequest)
            if isinstance(first, _FirstRequest):
                return first.request
            raise first from None
        raise UsageError("this workflow asks nothing about a case", remedy="take another one")

    # ---- answers ---------------------------------------------------------------------------

    async def read(
        self, case: Case, ask: Ask, *, sample: int = 0, key: str | None = None
    ) -> tuple[Reading, dict[str, Any]]:
        """What comes of asking: a reading, failed where no sense could be made, and its files.

        These are masks by their query, and bytes by their name in a run.
        """
        session = self.make_session(case, ask, sample=sample, key=key)
        try:
            return await self._workflow(case, session), {**session.masks, **session.files}
        except Exception as problem:
            error = first_error(problem)
            if is_fatal(error) or not isinstance(error, OverreadError):
                raise error from None
            return session.reading(error=str(error)), {}

    def score_reading(self, case_id: str, reading: Reading, files: Mapping[str, Any]) -> CaseScore:
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
            rows = {key: own for key, own in measure_rows(measures, subject).items() if own}
        named = {
            key: {unit_name(unit, reading.sample): row for unit, row in own.items()}
            for key, own in rows.items()
        }
        return CaseScore(reading, combine_scores(self.metrics, {case_id: [named]}), named)


def combine_scores(metrics: Sequence[Metric], rows: Mapping[str, Sequence[Rows]]) -> dict[str, float]:
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
    """A digest that identifies a question by its messages."""
    return digest(
        [
            [m.role, *(p if isinstance(p, str) else p.region.model_dump_json() for p in m.parts)]
            for m in messages
        ]
    )


def replay_answers(answers: Answers) -> Ask:
    """An `Ask` that calls no model: it returns the stored answer to each question."""
    left: dict[str, list[dict[str, Any]]] = {}
    for answer in answers:
        left.setdefault(str(answer["question"]), []).append(answer)

    async def ask(request: Request) -> Reply | DrawnMask:
        known = left.get(question_key(request.messages))
        if not known:
            raise ReaderError("there is no answer to this question")
        answer = known.pop(0)
        return Reply(text=answer["text"], finish=answer["finish"])

    return ask


class _FirstRequest(Exception):
    """Stops a workflow at its first question."""

    def __init__(self, request: Request) -> None:
        super().__init__("the first question")
        self.request = request


async def _stop_at_request(request: Request) -> Reply | DrawnMask:
    raise _FirstRequest(request)


class _TextOnlySession(Session):
    """A session that opens no picture: for the words of a question alone."""

    def show(self, region: Region) -> SentImage:
        self._images[""] = b""
        return SentImage(region=region, media="", sha256="", width=1, height=1)

    async def look(self, *regions: Region) -> list[SentImage]:
        wanted = regions or [Whole(picture=picture.name) for picture in self.case.pictures]
        return [self.show(region) for region in wanted]
