"""The oracle: opens the release and hands in the truth. What it scores is what can be scored.

It is no reader to compare others with, but the upper bound of every metric, and a test of the whole
way from a reading to its score.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from overread.core import Case, Entry, Mask, Pictures, Reading, Release, ReleaseRef, Trace, Truth
from overread.errors import PictureError, ReaderError
from overread.readers.arguments import settings_from
from overread.readers.whole import ReadsWhole, needed

HELD = 512
"""Entries that are kept at hand: more than are ever read at once."""
_ELSEWHERE = "the oracle reads splits whose truth is there"


@dataclass(frozen=True)
class OracleSettings:
    """The oracle has none."""


def make(arguments: Mapping[str, str], *, place: ReleaseRef | None = None) -> Oracle:
    """The oracle of one release."""
    settings_from(OracleSettings, arguments)
    return Oracle(needed(place, "oracle"))


class Oracle(ReadsWhole):
    """Hands in the truth: the key, the masks, the report, the discussion, the trace."""

    unseeing = True

    def __init__(self, place: ReleaseRef) -> None:
        """The release is opened at the first case."""
        super().__init__("oracle", {"reader": "oracle"})
        self._place = place
        self._held: dict[str, Entry] = {}

    @cached_property
    def _release(self) -> Release:
        return self._place.open()

    @cached_property
    def _coming(self) -> Iterator[Entry]:
        return self._release.entries()

    def _entry(self, case_id: str) -> Entry | None:
        """The entry of a case. Cases come in their order, so the next one is nearly always it."""
        if case_id in self._held:
            return self._held[case_id]
        for entry in self._coming:
            self._held[entry.case.id] = entry
            if len(self._held) > HELD:
                del self._held[next(iter(self._held))]
            if entry.case.id == case_id:
                return entry
        return next((e for e in self._release.entries() if e.case.id == case_id), None)

    def source(self, file: str) -> Path | bytes:
        """The release's own masks and cut-outs."""
        return self._release.source(file)

    async def reading(self, case: Case, pictures: Pictures, *, seed: int) -> Reading:
        """The truth of one case; raises `ReaderError` where the release withholds it."""
        entry = self._entry(case.id)
        truth = entry.truth if entry else None
        if truth is None:
            raise ReaderError("the truth of this case is not in this copy", remedy=_ELSEWHERE)
        if case.queries and not _has_masks(truth):
            raise ReaderError("the masks of this case are not in this copy", remedy=_ELSEWHERE)
        if case.options and truth.answer is None:
            raise ReaderError("the key of this case is not in this copy", remedy=_ELSEWHERE)
        return Reading(
            case_id=case.id,
            reader=self.name,
            choice=truth.answer or truth.answer_text,
            probabilities=_certain(case, truth.answer),
            # What is seen in the pictures is why: the release has no other words for it.
            rationale=(truth.report or truth.answer_text) if case.options else None,
            findings=truth.findings or None,
            report=truth.report,
            discussion=truth.discussion,
            trace=self._with_crops_that_are_there(truth.trace),
        )

    def _with_crops_that_are_there(self, trace: Trace | None) -> Trace | None:
        """A copy may lack the pictures; a look without its cut-out is a look all the same."""
        if trace is None:
            return None
        steps = [
            step if self._has(step.crop) else step.model_copy(update={"crop": None})
            for step in trace.steps
        ]
        return Trace(steps=tuple(steps))

    def _has(self, file: str | None) -> bool:
        try:
            return file is not None and bool(self._release.source(file))
        except PictureError:
            return False


def _has_masks(truth: Truth) -> bool:
    return any(isinstance(region, Mask) for f in truth.findings for region in f.regions)


def _certain(case: Case, answer: str | None) -> dict[str, float] | None:
    if answer is None or not case.options:
        return None
    return {option.letter: float(option.letter == answer) for option in case.options}
