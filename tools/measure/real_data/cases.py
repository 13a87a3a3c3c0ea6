"""Teaching cases in MedThinkVQA's shape (`cases/`): choices, calibration, kinds of pictures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import overread
from overread.core import Image
from overread.metrics.choice import ACCURACY, BRIER, CALIBRATION_ERROR, measure_choice
from overread.metrics.contract import Statistics, Subject
from overread.readers.atlas import make
from overread.readers.atlas.case.picture_kinds import recognise_kind
from tools.measure.real_data.table import Row, metric_row, share_row

FOLDER = "cases"
MODALITIES = {"ct": "ct", "mr": "mr", "x-ray": "film", "mammography": "film", "radiography": "film"}
"""How rows name a modality → the reader's word for it; `modality_word` finds the others."""
SPLITS = ("train", "val", "test")


def measure(root: Path, most: int) -> Iterator[Row]:
    """Accuracy, calibration against the flat guess, and what each picture was taken for."""
    rows: list[Statistics] = []
    flat: list[float] = []
    right: list[float] = []
    known: list[float] = []
    owners: list[str] = []
    for release, entry in _entries(root / FOLDER, most):
        assert entry.truth is not None
        reading, _ = make({}).compute_reading(entry.case, release.pictures, seed=0)
        rows += measure_choice(Subject(entry, reading)).values()
        flat.append(1 - 1 / len(entry.case.options))
        notes = {note.picture: note for note in entry.truth.notes}
        for picture in entry.case.pictures:
            note = notes.get(picture.name)
            told = modality_word(note.modality or "") if note else None
            if told is None or not isinstance(picture, Image):
                continue
            kind = recognise_kind(release.pictures.pixels(picture))
            known.append(float(kind.modality is not None))
            right.append(float(kind.modality == told))
            owners.append(entry.case.id)
    yield metric_row("cases", "accuracy", ACCURACY, rows)
    yield metric_row("cases", "Brier score", BRIER, rows)
    yield Row("cases", "Brier score of the flat guess", len(flat), sum(flat) / len(flat) if flat else None)
    yield metric_row("cases", "calibration error", CALIBRATION_ERROR, rows)
    yield share_row("cases", "pictures whose modality is told", known, owners)
    yield share_row("cases", "pictures whose modality is told rightly", right, owners)


def _entries(root: Path, most: int) -> Iterator[tuple[overread.Release, overread.Entry]]:
    left = most
    for split in SPLITS:
        if not (root / f"{split}.jsonl").is_file():
            continue
        release = overread.load("medthinkvqa", root, split)
        for entry in release.entries():
            if not left:
                return
            left -= 1
            yield release, entry


def modality_word(told: str) -> str | None:
    """A row's modality in the reader's word; None where it says none.

    >>> modality_word("MR"), modality_word("X-ray"), modality_word("Ultrasound"), modality_word("")
    ('mr', 'film', 'ultrasound', None)
    """
    plain = told.strip().lower()
    for start, word in (
        *MODALITIES.items(),
        ("magnetic", "mr"), ("computed tomography", "ct"), ("plain film", "film"), ("xr", "film"),
        ("ultraso", "ultrasound"), ("us", "ultrasound"), ("nuclear", "nuclear"), ("nm", "nuclear"),
        ("pet", "nuclear"), ("scinti", "nuclear"), ("photo", "photograph"), ("gross", "photograph"),
        ("patho", "photograph"), ("histo", "photograph"), ("endoscop", "photograph"),
    ):  # fmt: skip
        if plain.startswith(start):
            return word
    return None
