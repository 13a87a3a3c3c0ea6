"""Readings as a MedThinkVQA submission: every original row unchanged, and a prediction in it.

The official fields are `prediction`, `prediction_rationale` and `prediction_twi`. Two of ours come
with them where there is something to say: `prediction_probabilities` and `prediction_discussion`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from overread.benchmarks.medthinkvqa.release import MedThinkVQARelease, read_row
from overread.benchmarks.medthinkvqa.submission import TWI_STEPS
from overread.benchmarks.medthinkvqa.write import row_of
from overread.benchmarks.row_fields import RowFields, row_error
from overread.benchmarks.rows import read_rows
from overread.benchmarks.submission_tally import SubmissionTally
from overread.core import Case, Entry, Progress, Reading, Release, Whole, WrittenSubmission
from overread.core.submission import FindFile, FindReading
from overread.core.verdicts import explanation_of
from overread.storage.atomic import open_atomic

_FIELDS = ("", "_rationale", "_twi", "_probabilities", "_discussion")


def submit(
    release: Release, readings: FindReading, source: FindFile, out: Path, *, progress: Progress | None = None
) -> WrittenSubmission:
    """Write a file of rows, one for each case that was answered."""
    going = SubmissionTally(release, readings, progress)
    with open_atomic(out) as stream:
        for entry, row in _original_rows(release):
            reading = going.find_reading(entry)
            if reading is None:
                continue
            if reading.choice not in [option.letter for option in entry.case.options]:
                going.leave_out(entry, "no option was chosen")
                continue
            for field in _FIELDS:  # a copy may carry somebody else's
                row.pop(f"prediction{field}", None)
            row |= prediction_fields(entry.case, reading)
            stream.write(json.dumps(row, ensure_ascii=False).encode("utf-8") + b"\n")
            going.count_written()
        going.require_written()
    return going.to_result(out)


def _original_rows(release: Release) -> Iterator[tuple[Entry, dict[str, Any]]]:
    """Every entry and its row: as it lies in the file, where that is jsonl.

    Parquet fills absent cells with nulls, so a row of it is written as the layout has it.
    """
    if not isinstance(release, MedThinkVQARelease) or release.form != "jsonl":
        yield from ((entry, row_of(entry)) for entry in release.entries())
        return
    place = 0
    for file in release.files:
        for row in read_rows(release.fence, file):
            place += 1
            reader = RowFields(dict(row.data or {}), file=file, number=row.number)
            entry = read_row(reader, split=release.split, place=place) if row.data else None
            if entry is None:
                raise row_error([row.defect] if row.defect else reader.defects)
            yield entry, row.data or {}


def prediction_fields(case: Case, reading: Reading) -> dict[str, Any]:
    """What a submission adds to the row of a case that was answered."""
    said: dict[str, Any] = {
        "prediction": reading.choice,
        "prediction_rationale": explanation_of(reading) or None,
        "prediction_twi": _twi_steps(case, reading),
        "prediction_probabilities": _normalise_probabilities(case, reading),
        "prediction_discussion": reading.discussion,
    }
    return {field: value for field, value in said.items() if value is not None}


def _twi_steps(case: Case, reading: Reading) -> dict[str, Any] | None:
    """The three steps of thinking with images; None where there is neither the first nor second.

    What is said of each whole picture, the summary, and the words of the conclusion; of an answer
    in JSON its explanation.
    """
    if not reading.findings and not reading.report:
        return None
    texts: dict[str, list[str]] = {picture.name: [] for picture in case.pictures}
    for finding in reading.findings or ():
        for name in dict.fromkeys(r.picture for r in finding.regions if isinstance(r, Whole)):
            if name in texts and finding.text.strip():
                texts[name].append(finding.text)
    steps = reading.trace.steps if reading.trace else ()
    concluded = [step.text for step in steps if step.kind == "conclude" and step.text.strip()]
    parts = (
        [" ".join(said) for said in texts.values()] if any(texts.values()) else None,
        reading.report,
        explanation_of(reading.model_copy(update={"rationale": concluded[-1]}))
        if concluded
        else explanation_of(reading),
    )
    return {step: part for step, part in zip(TWI_STEPS, parts, strict=True) if part} or None


def _normalise_probabilities(case: Case, reading: Reading) -> dict[str, float] | None:
    """The probabilities of all letters, made to add up to 1; None where they cannot."""
    told = reading.probabilities
    if not told:
        return None
    letters = [option.letter for option in case.options]
    known = {letter: told.get(letter, 0.0) for letter in letters}
    total = sum(told.values())
    if not math.isfinite(total) or total <= 0 or min(known.values()) < 0:
        return None
    return {letter: share / total for letter, share in known.items()}
