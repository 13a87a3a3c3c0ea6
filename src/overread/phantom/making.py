"""Making a population: patient by patient, in several processes, so that a kill loses little.

A finished patient leaves a record under OUT/.making after his files were written, and the lists
are written from the records at the end. The same call again goes on where the last one stopped, a
larger number of patients adds some, and other settings are refused.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from overread import __version__
from overread.catalog import unknown
from overread.core import Progress
from overread.errors import OverreadError, UsageError
from overread.phantom.card import Counts, card
from overread.phantom.difficulty import DIFFICULTIES
from overread.phantom.exam_ct import split_of
from overread.phantom.examining import EXAMS, PatientRecord, examine, module_of
from overread.phantom.population import Mix
from overread.phantom.sentences import STYLES
from overread.phantom.visit import STEPS, Settings
from overread.pixels.files import written
from overread.runs.workers import in_workers

MEMORY = {"small": 0.6, "full": 3.0}
"""GB that a worker may need."""

_MAKING = ".making"
_CHOICES: dict[str, Sequence[str]] = {
    "size": tuple(STEPS),
    "difficulty": tuple(DIFFICULTIES),
    "mix": get_args(Mix),
    "wordings": ("common", "held-out"),
    "style": (*STYLES, "mixed"),
}


@dataclass
class Outcome:
    """What became of a call."""

    made: int = 0
    """Patients that were made now."""
    there: int = 0
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
        rows = self.counts.get("rexgroundingct", ())
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


def exams_of(words: str) -> list[str]:
    """The exams that somebody typed, commas between them.

    >>> exams_of("mmrad, medthinkvqa")
    ['medthinkvqa', 'mmrad']
    """
    asked = {name.strip() for name in words.split(",") if name.strip()}
    for exam in sorted(asked):
        if exam not in EXAMS:
            raise unknown("exam", exam, EXAMS)
    if not asked:
        raise UsageError("no exam was asked for", remedy=f"there are {', '.join(EXAMS)}")
    return [exam for exam in EXAMS if exam in asked]


def mix_for(exams: Sequence[str]) -> Mix:
    """Where findings come from if nobody says so: with a case among the exams, from its illness."""
    return "illness" if "medthinkvqa" in exams else "real"


def settings_of(*, seed: int = 0, **words: str) -> Settings:
    """Settings from what somebody typed; a word that is no choice is told with the nearest one.

    >>> settings_of(size="ful")
    Traceback (most recent call last):
        ...
    overread.errors.UnknownName: no size is called 'ful': did you mean 'full'?
    """
    for name, word in words.items():
        if word not in _CHOICES[name]:
            raise unknown(name, word, _CHOICES[name])
    return Settings.model_validate({"seed": seed, **words})


def make_population(
    out: Path,
    patients: int | Sequence[int],
    settings: Settings,
    *,
    exams: Sequence[str] = EXAMS,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Make patients 1 to `patients` under `out`, less those that are there, and write the lists.

    `patients` may name their numbers instead: the number tells the split (`split_of`). Where some
    cannot be made the others are listed all the same; see `Outcome.failed`.
    """
    exams = exams_of(",".join(exams))
    asked = range(1, patients + 1) if isinstance(patients, int) else sorted(set(patients))
    if not asked or asked[0] < 1:
        raise UsageError(f"{patients} patients were asked for", remedy="ask for at least one")
    _own(out)
    with _alone(out):
        _agree(out, settings, exams)
        _sweep(out)
        there = _records_of(out)
        if there and max(there) > asked[-1]:
            raise UsageError(
                f"{out} has patients up to number {max(there)} already",
                remedy=f"ask for --patients {max(there)} or more, or choose another folder",
            )
        todo = [n for n in asked if n not in there]
        outcome = Outcome(there=len(there))

        def told(done: int) -> None:
            if progress is not None:
                progress(len(there) + done, len(there) + len(todo))

        told(0)
        jobs = [(number, settings, exams, out) for number in todo]
        many = min(workers or default_workers(settings.size), len(todo))
        with closing(in_workers(_make_one, jobs, many)) as results:
            for done, (number, _, error) in enumerate(results, 1):
                if error is not None:
                    outcome.failed[number] = error
                told(done)
        _sweep(out)  # a worker that was killed may have left something half written
        records = _records_of(out)
        outcome.made = len(records) - outcome.there
        if records:
            _write_lists(out, [records[number] for number in sorted(records)], settings, outcome)
        return outcome


def _write_lists(
    out: Path, records: Sequence[PatientRecord], settings: Settings, outcome: Outcome
) -> None:
    """The lists and the card of every exam, from what is known of the patients."""
    outcome.splits.update(split_of(record.number) for record in records)
    exams = [exam for exam in EXAMS if records[0].of(exam) is not None]
    for exam in exams:
        module = module_of(exam)
        own = [record.of(exam) for record in records]
        module.write_lists(out, own)
        counts = outcome.counts[exam] = module.counts(own)
        text = card(exam, settings, len(records), counts, exams=exams, splits=module.SPLITS)
        with written(out / exam / "README.md") as stream:
            stream.write(text.encode("utf-8"))


def default_workers(size: str) -> int:
    """As many as the machine has cores for, and memory."""
    cores = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    return max(1, min(cores, int(memory / MEMORY[size])))


def _make_one(number: int, settings: Settings, exams: Sequence[str], out: Path) -> None:
    """One patient and his record, which is written last."""
    try:
        record = examine(number, settings, exams, out)
    except (OSError, MemoryError):
        raise  # a matter of the machine, not of the patient: the next one would fare no better
    except Exception as error:
        known = isinstance(error, OverreadError)
        told = str(error) if known else f"{type(error).__name__}: {error}"
        raise OverreadError(f"patient {number} could not be made: {told}") from error
    with written(_record_path(out, number)) as stream:
        stream.write(record.model_dump_json().encode("utf-8"))


def _record_path(out: Path, number: int) -> Path:
    return out / _MAKING / f"{number:06d}.json"


def _records_of(out: Path) -> dict[int, PatientRecord]:
    """The patients that are there, each with all of his files."""
    found: dict[int, PatientRecord] = {}
    for path in sorted((out / _MAKING).glob("[0-9]*.json")):
        try:
            record = PatientRecord.model_validate_json(path.read_bytes())
        except ValidationError:
            continue  # damaged from outside; the patient is made again
        if all((out / file).is_file() for file in record.files):
            found[record.number] = record
    return found


def _own(out: Path) -> None:
    """Make the folder, or see that it is a phantom's."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is no folder", remedy="choose another one")
    if out.is_dir() and any(out.iterdir()) and not (out / _MAKING).is_dir():
        raise UsageError(
            f"{out} is there already and is not a phantom", remedy="choose another folder"
        )
    claim(out)


def claim(out: Path) -> None:
    """Make a folder the phantom's, whatever else lies in it."""
    (out / _MAKING).mkdir(parents=True, exist_ok=True)


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Nobody else makes patients in this folder meanwhile; the lock goes with the process."""
    handle = os.open(out / _MAKING, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"another overread is making patients in {out}",
                remedy="wait for it, or choose another folder",
            ) from None
        yield
    finally:
        os.close(handle)


def _agree(out: Path, settings: Settings, exams: Sequence[str]) -> None:
    """Note what the folder is made with, or refuse to mix it with anything else."""
    path = out / _MAKING / "settings.json"
    asked: dict[str, Any] = {
        "overread": __version__,
        "exams": list(exams),
        **settings.model_dump(mode="json"),
    }
    if not path.exists():
        with written(path) as stream:
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
            f"{out} was made with {name} {_word(noted.get(name))}, not {_word(asked[name])}",
            remedy="choose another folder",
        )


def _word(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _sweep(out: Path) -> None:
    """Remove what a kill left half written; nobody else is at work here."""
    for part in out.rglob(f".{'?' * 32}.part"):
        part.unlink(missing_ok=True)
