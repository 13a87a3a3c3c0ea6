"""Hands in the truth of the release: the upper bound of every metric.

It is not a reader to compare others with, but a test of the whole way from a reading to its score.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from overread.core import (
    Case,
    Entry,
    Mask,
    Pictures,
    Reading,
    Release,
    ReleaseRef,
    Trace,
    Truth,
    reference_steps,
)
from overread.errors import PictureError, ReaderError
from overread.readers.arguments import settings_from
from overread.readers.whole_case import WholeCaseBase, require_release

MAX_ENTRIES_HELD = 512
"""Most entries held in memory: more than are ever read at the same time."""
_TRUTH_REMEDY = "use a split whose truth is in the release"


@dataclass(frozen=True)
class OracleSettings:
    """The oracle has none."""


def make(arguments: Mapping[str, str], *, place: ReleaseRef | None = None) -> OracleReader:
    """The oracle of one release."""
    settings_from(OracleSettings, arguments)
    return OracleReader(require_release(place, "oracle"))


class OracleReader(WholeCaseBase):
    """Hands in the truth: the key, the masks, the report, the discussion, the trace."""

    ignores_pictures = True

    def __init__(self, place: ReleaseRef) -> None:
        """The release is opened at the first case."""
        super().__init__("oracle", {"reader": "oracle"})
        self._place = place
        self._entry_cache: dict[str, Entry] = {}

    @cached_property
    def _release(self) -> Release:
        return self._place.open()

    @cached_property
    def _remaining_entries(self) -> Iterator[Entry]:
        return self._release.entries()

    def _find_entry(self, case_id: str) -> Entry | None:
        """The entry of a case. Cases come in their order, so the next one is nearly always it."""
        if case_id in self._entry_cache:
            return self._entry_cache[case_id]
        for entry in self._remaining_entries:
            self._entry_cache[entry.case.id] = entry
            if len(self._entry_cache) > MAX_ENTRIES_HELD:
                del self._entry_cache[next(iter(self._entry_cache))]
            if entry.case.id == case_id:
                return entry
        return next((e for e in self._release.entries() if e.case.id == case_id), None)

    def source(self, file: str) -> Path | bytes:
        """The release's own masks and cut-outs."""
        return self._release.source(file)

    async def reading(self, case: Case, pictures: Pictures, *, seed: int) -> Reading:
        """The truth of one case; raises `ReaderError` where the release withholds it."""
        entry = self._find_entry(case.id)
        truth = entry.truth if entry else None
        if truth is None:
            raise ReaderError("the truth of this case is not in this copy", remedy=_TRUTH_REMEDY)
        if case.queries and not _has_masks(truth):
            raise ReaderError("the masks of this case are not in this copy", remedy=_TRUTH_REMEDY)
        if case.options and truth.answer is None:
            raise ReaderError("the key of this case is not in this copy", remedy=_TRUTH_REMEDY)
        return Reading(
            case_id=case.id,
            reader=self.name,
            choice=truth.answer or truth.answer_text,
            probabilities=_certain_probabilities(case, truth.answer),
            # What is seen in the pictures is why: the release has no other words for it.
            rationale=(truth.report or truth.answer_text) if case.options else None,
            findings=truth.findings or None,
            report=truth.report,
            discussion=truth.discussion,
            trace=self._trace(truth),
        )

    def _trace(self, truth: Truth) -> Trace | None:
        """The trace without crops whose files this copy of the release lacks."""
        if truth.trace is None:
            return None
        steps = [
            step if self._file_exists(step.crop) else step.model_copy(update={"crop": None})
            for step in reference_steps(truth)
        ]
        return Trace(steps=tuple(steps))

    def _file_exists(self, file: str | None) -> bool:
        try:
            return file is not None and bool(self._release.source(file))
        except PictureError:
            return False


def _has_masks(truth: Truth) -> bool:
    return any(isinstance(region, Mask) for f in truth.findings for region in f.regions)


def _certain_probabilities(case: Case, answer: str | None) -> dict[str, float] | None:
    if answer is None or not case.options:
        return None
    return {option.letter: float(option.letter == answer) for option in case.options}
