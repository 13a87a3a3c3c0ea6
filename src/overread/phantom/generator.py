"""Making a population: patient by patient, in several processes, so that a kill loses little.

A finished patient leaves a record under OUT/.making after his files were written, and the lists
are written from the records at the end. The same call again goes on where the last one stopped, a
larger number of patients adds some, and other settings are refused.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from overread import __version__
from overread.catalog import unknown_name
from overread.core import Progress
from overread.errors import OverreadError, UsageError
from overread.phantom.difficulty import DIFFICULTIES
from overread.phantom.exams import case, ct
from overread.phantom.exams.dataset_card import Counts, format_dataset_card
from overread.phantom.exams.patient_exams import EXAMS, PatientRecord, write_exams
from overread.phantom.population import Mix, split_of
from overread.phantom.visit import VOXEL_MM, PatientSettings
from overread.phantom.words.sentences import STYLES
from overread.runs.workers import run_in_workers
from overread.storage.atomic import LEFTOVER, open_atomic, remove_leftovers
from overread.storage.locks import lock_folder
from overread.storage.system import memory_bytes, usable_cores

WORKER_MEMORY_GB = {"small": 0.6, "full": 3.0}
"""GB that a worker may need."""

_WORK_FOLDER = ".making"
_CHOICES: dict[str, Sequence[str]] = {
    "size": tuple(VOXEL_MM),
    "difficulty": tuple(DIFFICULTIES),
    "mix": get_args(Mix),
    "wordings": ("common", "held-out"),
    "style": (*STYLES, "mixed"),
}


@dataclass
class PopulationResult:
    """What became of a call."""

    made: int = 0
    """Patients that were made now."""
    existing: int = 0
    """Patients that were there before."""
    failed: dict[int, OverreadError] = field(default_factory=dict)
    """Patient → why he could not be made."""
    splits: Counter[str] = field(default_factory=Counter)
    """Split → patients."""
    counts: dict[str, Counts] = field(default_factory=dict)
    """Exam → what there is of it; the first row counts its cases, the last all that they hold."""

    @property
    def categories(self) -> dict[str, int]:
        """Category → findings of the CT exam."""
        rows = self.counts.get(ct.NAME, ())
        found = {what: sum(many.values()) for what, _, many in rows}
        return {
            what.removeprefix("findings "): many
            for what, many in found.items()
            if what.startswith("findings ") and many
        }

    def __str__(self) -> str:
        lines = []
        for exam, rows in self.counts.items():
            cases, (what, _, held) = rows[0][2], rows[-1]
            parts = ", ".join(f"{many} {split}" for split, many in sorted(cases.items()))
            lines.append(f"{exam}: {parts}; {sum(held.values())} {what}")
        return "\n".join(lines)


def parse_exams(words: str) -> list[str]:
    """The exams that somebody typed, commas between them.

    >>> parse_exams("mmrad, medthinkvqa")
    ['medthinkvqa', 'mmrad']
    """
    asked = {name.strip() for name in words.split(",") if name.strip()}
    for exam in sorted(asked):
        if exam not in EXAMS:
            raise unknown_name("exam", exam, EXAMS)
    if not asked:
        raise UsageError("no exam was given", remedy=f"there are {', '.join(EXAMS)}")
    return [exam for exam in EXAMS if exam in asked]


def default_mix(exams: Sequence[str]) -> Mix:
    """Findings follow the illness where the case exam is asked for, else real frequencies."""
    return "illness" if case.NAME in exams else "real"


def parse_settings(*, seed: int = 0, **words: str) -> PatientSettings:
    """Settings from what somebody typed; a word that is no choice is told with the nearest one.

    >>> parse_settings(size="ful")
    Traceback (most recent call last):
        ...
    overread.errors.UnknownName: no size is called 'ful': did you mean 'full'?
    """
    for name, word in words.items():
        if word not in _CHOICES[name]:
            raise unknown_name(name, word, _CHOICES[name])
    return PatientSettings.model_validate({"seed": seed, **words})


def make_population(
    out: Path,
    patients: int | Sequence[int],
    settings: PatientSettings,
    *,
    exams: Sequence[str] = tuple(EXAMS),
    workers: int | None = None,
    progress: Progress | None = None,
) -> PopulationResult:
    """Make patients 1 to `patients` under `out`, less those that are there, and write the lists.

    `patients` may name their numbers instead: the number tells the split (`split_of`). Where some
    cannot be made the others are listed all the same; see `PopulationResult.failed`.
    """
    exams = parse_exams(",".join(exams))
    asked = range(1, patients + 1) if isinstance(patients, int) else sorted(set(patients))
    if not asked or asked[0] < 1:
        raise UsageError(f"{patients} is not a valid number of patients", remedy="give at least 1")
    _claim_own_folder(out)
    busy = UsageError(
        f"another overread is making patients in {out}", remedy="wait for it, or choose another folder"
    )
    with lock_folder(out / _WORK_FOLDER, busy=busy):
        _check_settings(out, settings, exams)
        remove_leftovers(out, f"**/{LEFTOVER}")
        there = _load_records(out)
        if there and max(there) > asked[-1]:
            raise UsageError(
                f"{out} has patients up to number {max(there)} already",
                remedy=f"ask for --patients {max(there)} or more, or choose another folder",
            )
        todo = [n for n in asked if n not in there]
        outcome = PopulationResult(existing=len(there))

        def report_progress(done: int) -> None:
            if progress is not None:
                progress(len(there) + done, len(there) + len(todo))

        report_progress(0)
        jobs = [(number, settings, exams, out) for number in todo]
        many = min(workers or default_workers(settings.size), len(todo))
        with closing(run_in_workers(_make_one, jobs, many)) as results:
            for done, (number, _, error) in enumerate(results, 1):
                if error is not None:
                    outcome.failed[number] = error
                report_progress(done)
        remove_leftovers(out, f"**/{LEFTOVER}")  # of a worker that was killed
        records = _load_records(out)
        outcome.made = len(records) - outcome.existing
        if records:
            _write_lists(out, [records[number] for number in sorted(records)], settings, outcome)
        return outcome


def _write_lists(
    out: Path, records: Sequence[PatientRecord], settings: PatientSettings, outcome: PopulationResult
) -> None:
    """The lists and the card of every exam, from what is known of the patients."""
    outcome.splits.update(split_of(record.number) for record in records)
    exams = [exam for exam in EXAMS if records[0].exam_record(exam) is not None]
    for exam in exams:
        module = EXAMS[exam]
        own = [record.exam_record(exam) for record in records]
        module.write_lists(out, own)
        counts = outcome.counts[exam] = module.counts(own)
        text = format_dataset_card(exam, settings, len(records), counts, exams=exams, splits=module.SPLITS)
        with open_atomic(out / exam / "README.md") as stream:
            stream.write(text.encode("utf-8"))


def default_workers(size: str) -> int:
    """As many as the machine has cores for, and memory."""
    return max(1, min(usable_cores(), int(memory_bytes() / 1e9 / WORKER_MEMORY_GB[size])))


def _make_one(number: int, settings: PatientSettings, exams: Sequence[str], out: Path) -> None:
    """One patient and his record, which is written last."""
    try:
        record = write_exams(number, settings, exams, out)
    except (OSError, MemoryError):
        raise  # a matter of the machine, not of the patient: the next one would fare no better
    except Exception as error:
        known = isinstance(error, OverreadError)
        reason = str(error) if known else f"{type(error).__name__}: {error}"
        raise OverreadError(f"patient {number} could not be made: {reason}") from error
    with open_atomic(_record_path(out, number)) as stream:
        stream.write(record.model_dump_json().encode("utf-8"))


def _record_path(out: Path, number: int) -> Path:
    return out / _WORK_FOLDER / f"{number:06d}.json"


def _load_records(out: Path) -> dict[int, PatientRecord]:
    """The patients that are there, each with all of his files."""
    found: dict[int, PatientRecord] = {}
    for path in sorted((out / _WORK_FOLDER).glob("[0-9]*.json")):
        try:
            record = PatientRecord.model_validate_json(path.read_bytes())
        except ValidationError:
            continue  # damaged from outside; the patient is made again
        if all((out / file).is_file() for file in record.files):
            found[record.number] = record
    return found


def _claim_own_folder(out: Path) -> None:
    """Create the folder, or check that an existing one holds a phantom."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is not a folder", remedy="choose another one")
    if out.is_dir() and any(out.iterdir()) and not (out / _WORK_FOLDER).is_dir():
        raise UsageError(f"{out} exists and was not made by overread phantom", remedy="choose another folder")
    claim_folder(out)


def claim_folder(out: Path) -> None:
    """Mark a folder as a phantom's, whatever else lies in it."""
    (out / _WORK_FOLDER).mkdir(parents=True, exist_ok=True)


def _check_settings(out: Path, settings: PatientSettings, exams: Sequence[str]) -> None:
    """Store the settings of the folder, or raise an error where it was made with others."""
    path = out / _WORK_FOLDER / "settings.json"
    asked: dict[str, Any] = {
        "overread": __version__,
        "exams": list(exams),
        **settings.model_dump(mode="json"),
    }
    if not path.exists():
        with open_atomic(path) as stream:
            stream.write(json.dumps(asked, indent=1).encode("utf-8"))
        return
    try:
        noted = json.loads(path.read_bytes())
        differs = [name for name in asked if noted.get(name) != asked[name]]
    except (ValueError, AttributeError):
        raise UsageError(f"{path} is damaged", remedy="choose another folder") from None
    if differs:
        name = differs[0]
        raise UsageError(
            f"{out} was made with {name} {_format_setting(noted.get(name))}, "
            f"not {_format_setting(asked[name])}",
            remedy="choose another folder",
        )


def _format_setting(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
