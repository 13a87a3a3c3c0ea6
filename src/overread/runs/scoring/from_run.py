"""Scoring a run: its readings against the truth, without asking anybody again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from overread.core import Case, Progress, Reading, Submission
from overread.core.verdicts import Verdicts
from overread.errors import UsageError
from overread.runs.judging.verdict_store import select_verdicts
from overread.runs.reading_files import RunFiles
from overread.runs.scoring.aggregation import BootstrapSettings
from overread.runs.scoring.card import Card
from overread.runs.scoring.card_builder import build_card, load_entries
from overread.runs.scoring.case_scores import values_by_case
from overread.runs.scoring.measurement import ReadingSet
from overread.runs.spec import read_spec
from overread.runs.store import RunUnwritable, last_readings
from overread.storage.atomic import open_atomic


def score(
    folder: str | Path,
    *,
    metrics: Sequence[str] = (),
    judges: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    bootstrap: BootstrapSettings | None = None,
    workers: int = 1,
    fresh: bool = False,
    root: str | Path | None = None,
    pictures: str | Path | None = None,
    progress: Progress | None = None,
) -> Card:
    """Score all readings of a run, and write `scores.jsonl` and `card.json` into its folder.

    A case that failed, or that the run has not come to, scores worst. A case that was read several
    times counts each time. Only the cases that the run was told to read are asked for. Of several
    judges of the same thing `judges` names the one who counts. `root` and `pictures` say where the
    release lies now, if it has moved since.
    """
    run = Path(folder)
    spec = read_spec(run)
    place = spec.current_release_ref(root, pictures)
    readings = last_readings(run)
    if not readings:
        raise UsageError("the run has no readings yet", where=str(run), remedy="let it run first")
    release = place.open()
    entries = load_entries(release, place)
    asked = [case for case in entries if not spec.cases or case in spec.cases][: spec.limit]
    lost = dict.fromkeys(case for case, _ in readings if case not in entries)
    entries = {case: entries[case] for case in asked}
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
    failed = [f"{r.case_id} failed: {r.error}" for r in readings.values() if r.error]
    failed += [f"{case} was read and is not in the release any more" for case in lost]
    for sample in spec.samples:
        which = f" (sample {sample})" if spec.repeat > 1 else ""
        failed += [f"{case} was not read{which}" for case in entries if (case, sample) not in readings]
    card = build_card(
        place,
        release,
        entries,
        attempts,
        reader=spec.reader.name,
        predictions=run.name,
        problems=(*failed, *notes),
        signature={"run": spec.model_dump(mode="json"), "judges": who},
        asked_for={_requested_part(entry.case) for entry in entries.values()},
        metrics=metrics,
        settings=settings,
        bootstrap=bootstrap,
        workers=workers,
        fresh=fresh,
        progress=progress,
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


def _reading_set(
    number: int,
    sample: int,
    readings: Mapping[tuple[str, int], Reading],
    verdicts: Mapping[str, tuple[Verdicts, ...]],
    reader: str,
    run: Path,
) -> ReadingSet:
    own = {case: _strip_log(one) for (case, which), one in readings.items() if which == sample}
    judged = {
        case: tuple(told for told in found if told.sample == sample) for case, found in verdicts.items()
    }
    files = RunFiles(run)
    return ReadingSet(Submission(own, [], reader=reader, files=files), number, judged)


def _requested_part(case: Case) -> str:
    """The part of a reading that every reader of a case is asked for.

    Nothing at all, or a failure on every case, is then the worst answer to that.
    """
    if case.options or case.asks == "answer":
        return "choice"
    return "masks" if case.queries else "report"


def _strip_log(reading: Reading) -> Reading:
    """A reading without its log, which is not scored.

    The trace is dropped too where it has no 'look' step: the reference traces consist of looks, and
    submissions have no others.
    """
    looks = reading.trace is not None and any(s.kind == "look" for s in reading.trace.steps)
    trace = reading.trace if looks else None
    return reading.model_copy(update={"exchanges": (), "usage": None, "trace": trace})


def _write_scores(run: Path, card: Card) -> None:
    with open_atomic(run / "scores.jsonl", compress=False) as out:
        for line in values_by_case(card):
            out.write((json.dumps(line, ensure_ascii=False) + "\n").encode())
    with open_atomic(run / "card.json", compress=False) as out:
        out.write((json.dumps(card.as_json(), ensure_ascii=False) + "\n").encode())
