"""Scoring a run: its readings against the truth, without asking anybody again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from overread.core import Case, Entry, Progress, Reading, Submission
from overread.core.verdicts import Verdicts
from overread.errors import UsageError
from overread.runs.judging.verdict_store import select_verdicts
from overread.runs.reading_files import RunFiles
from overread.runs.scoring.aggregation import BootstrapSettings
from overread.runs.scoring.card import Card
from overread.runs.scoring.card_builder import build_card, load_entries
from overread.runs.scoring.case_scores import values_by_case
from overread.runs.scoring.measurement import ReadingSet
from overread.runs.spec import RunSpec, read_spec
from overread.runs.store import RunUnwritable, iter_readings
from overread.storage.atomic import open_atomic
from overread.storage.spilled import SpilledMapping


def score(
    folder: str | Path,
    *,
    metrics: Sequence[str] = (),
    judges: Sequence[str] = (),
    may_be_empty: bool = False,
    settings: Mapping[str, Any] | None = None,
    bootstrap: BootstrapSettings | None = None,
    workers: int = 1,
    fresh: bool = False,
    root: str | Path | None = None,
    pictures: str | Path | None = None,
    progress: Progress | None = None,
    tell: Callable[[str], None] | None = None,
) -> Card:
    """Score all readings of a run, and write `scores.jsonl` and `card.json` into its folder.

    A case that failed, or that the run has not come to, scores worst. A case that was read several
    times counts each time. Only the cases that the run was told to read are asked for. Of several
    judges of the same thing `judges` names the one who counts. Where nothing can be scored by these
    metrics, that is an error unless the card `may_be_empty`: then it says why. `root` and
    `pictures` say where the release lies now, if it has moved since. `tell` is told when another
    process is waited for that measures the same.
    """
    run = Path(folder)
    spec = read_spec(run)
    place = spec.current_release_ref(root, pictures)
    readings = _ScoredReadings(run)
    if not readings.errors:
        raise UsageError("the run has no readings yet", where=str(run), remedy="let it run first")
    release = place.open()
    asked = _AskedCases(spec, readings)
    entries = load_entries(release, place, keep=asked.take)
    if not entries:
        raise UsageError(
            "the release has none of the cases of this run",
            where=str(place.root),
            remedy="name the copy that was read with --root",
        )
    verdicts, who, notes = select_verdicts(run, judges)
    attempts = [
        _reading_set(number, sample, readings, verdicts, spec.reader.name, run)
        for number, sample in enumerate(spec.samples)
    ]
    failed = [f"{case} failed: {error}" for (case, _), error in readings.errors.items() if error]
    failed += [f"{case} was read and is not in the release any more" for case in asked.lost]
    for sample in spec.samples:
        which = f" (sample {sample})" if spec.repeat > 1 else ""
        failed += [f"{case} was not read{which}" for case in entries if (case, sample) not in readings.errors]
    card = build_card(
        place,
        release,
        entries,
        attempts,
        reader=spec.reader.name,
        predictions=run.name,
        problems=(*failed, *notes),
        signature={"run": spec.model_dump(mode="json"), "judges": who},
        asked_for=asked.parts,
        metrics=metrics,
        may_be_empty=may_be_empty,
        settings=settings,
        bootstrap=bootstrap,
        workers=workers,
        fresh=fresh,
        progress=progress,
        tell=tell,
    )
    try:
        _write_scores(run, card)
    except OSError as error:
        raise RunUnwritable(
            f"the scores cannot be written ({error.strerror})",
            where=str(run),
            remedy="make room, or copy the run to where you may write",
        ) from None
    return card


class _ScoredReadings:
    """The readings of a run as far as they are scored, most of them on disk where they are many."""

    def __init__(self, run: Path) -> None:
        self.errors: dict[tuple[str, int], str | None] = {}
        """(case, sample) of every reading → why it failed, where it did."""
        self.by_sample: dict[int, SpilledMapping[str, Reading]] = {}
        for reading in iter_readings(run):
            self.errors[reading.case_id, reading.sample] = reading.error
            own = self.by_sample.setdefault(reading.sample, SpilledMapping())
            own[reading.case_id] = _strip_log(reading)


class _AskedCases:
    """Which cases of a release a run was to read, told as they are loaded one by one."""

    def __init__(self, spec: RunSpec, readings: _ScoredReadings) -> None:
        self._wanted, self._limit, self._taken = frozenset(spec.cases), spec.limit, 0
        self.lost = dict.fromkeys(case for case, _ in readings.errors)
        """Cases that were read and have not been seen in the release so far."""
        self.parts: set[str] = set()
        """The parts of a reading that were asked for."""

    def take(self, entry: Entry) -> bool:
        """Whether a case of the release is one of them."""
        self.lost.pop(entry.case.id, None)
        if self._wanted and entry.case.id not in self._wanted:
            return False
        if self._limit is not None and self._taken >= self._limit:
            return False
        self._taken += 1
        self.parts.add(_requested_part(entry.case))
        return True


def _reading_set(
    number: int,
    sample: int,
    readings: _ScoredReadings,
    verdicts: Mapping[str, tuple[Verdicts, ...]],
    reader: str,
    run: Path,
) -> ReadingSet:
    judged = {
        case: tuple(told for told in found if told.sample == sample) for case, found in verdicts.items()
    }
    own: Mapping[str, Reading] = readings.by_sample.get(sample, {})
    return ReadingSet(Submission(own, [], reader=reader, files=RunFiles(run)), number, judged)


def _requested_part(case: Case) -> str:
    """The part of a reading that every reader of a case is asked for.

    Nothing at all, or a failure on every case, is then the worst answer to that.
    """
    if case.options or case.asks == "answer":
        return "choice"
    return "masks" if case.queries else "report"


def _strip_log(reading: Reading) -> Reading:
    """A reading without its log, which is not scored.

    The trace is dropped too where it has no 'look' step and no chain: the reference traces consist of
    these, and submissions have no others.
    """
    steps = reading.trace.steps if reading.trace is not None else ()
    looks = any(step.kind == "look" or step.link is not None for step in steps)
    trace = reading.trace if looks else None
    return reading.model_copy(update={"exchanges": (), "usage": None, "trace": trace})


def _write_scores(run: Path, card: Card) -> None:
    with open_atomic(run / "scores.jsonl", compress=False, tidy=True) as out:
        for line in values_by_case(card):
            out.write((json.dumps(line, ensure_ascii=False) + "\n").encode())
    with open_atomic(run / "card.json", compress=False) as out:
        for piece in card.iter_json():
            out.write(piece.encode())
        out.write(b"\n")
