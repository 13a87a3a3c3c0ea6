"""The X-ray exam of synthetic patients, in the layouts of MMRad-IVL and GEMeX-ThinkVG.

    mmrad/train.jsonl, val.jsonl, test.jsonl       the interleaved records, by patient
    mmrad/IVLImage/ID/problem_image_1.jpg          the frontal film
    mmrad/IVLImage/ID/reasoning_image_N.jpg        the crops, in the order of the looks
    mmrad/IVLImage/ID/lateral.jpg                  the lateral film, where there is one
    mmrad/phantom.jsonl                            all that is known of each film
    mmrad/thinkvg/train.jsonl, val.jsonl, test.jsonl   question rows on the same films
    mmrad/thinkvg/images/ID.jpg                    the frontal film again: a release has its own
    sources/mmrad/reports.jsonl                    raw reports with boxes of the regions
    sources/mmrad/images/ID.jpg                    the frontal film once more, for builders

The pictures are written patient by patient; what the lists need of a patient is his `FilmRecord`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.mmrad.release import SPLITS
from overread.core import Box, Entry, Record
from overread.errors import OverreadError
from overread.phantom.exams.dataset_card import Counts
from overread.phantom.exams.list_files import write_entries, write_lines
from overread.phantom.film.question_record import TYPE_COUNTS, FilmQuestion
from overread.phantom.film.questions import draw_questions, read_question_entry
from overread.phantom.film.report import XrayReport, write_xray_report
from overread.phantom.film.sign import FRONTAL, FilmContents, View
from overread.phantom.film.source_rows import make_source_row
from overread.phantom.film.trace import FilmTrace, crop_paths, draw_film_trace, film_path, read_trace_entry
from overread.phantom.population import draw_views, seed_for, split_of
from overread.phantom.visit import PatientSettings, draw_style
from overread.pixels.draw import crop
from overread.pixels.encode import encode
from overread.storage.atomic import open_atomic

NAME = "mmrad"
QUESTIONS_FOLDER = f"{NAME}/thinkvg"
SOURCES_FOLDER = f"sources/{NAME}"
JPEG_QUALITY = 92
"""Quality of the JPEGs."""
MIN_CROPS = 3
"""Lungs, pleura and heart are always looked at."""


class _FilmPixels(Protocol):
    """One radiograph."""

    @property
    def pixels(self) -> NDArray[np.uint8]:
        """(rows, columns)."""


class FilmTaker(Protocol):
    """Renders the films of a patient; `overread.phantom.film.renderer.FilmRenderer` does."""

    def render(self, view: View, /) -> _FilmPixels:
        """Take a film."""


class FilmedPatient(Protocol):
    """The patient of the films; `overread.phantom.visit.Visit` is one."""

    @property
    def number(self) -> int:
        """The patient's number."""

    @property
    def settings(self) -> PatientSettings:
        """What he was made with."""


class FilmTexts(Record):
    """All that is written about a film."""

    report: XrayReport
    """The report."""
    trace: FilmTrace
    """The interleaved record."""
    questions: tuple[FilmQuestion, ...]
    """Questions and answers."""


class FilmRecord(Record):
    """What the lists need to know of one patient whose films are written."""

    number: int
    """The patient's number."""
    files: tuple[str, ...]
    """Every file that was written for him, relative to the folder of the phantom."""
    row: dict[str, Any]
    """His interleaved record."""
    questions: tuple[dict[str, Any], ...]
    """His question rows."""
    line: dict[str, Any]
    """His line of phantom.jsonl."""
    source: dict[str, Any]
    """His row of the raw reports."""


def patient_id(number: int) -> str:
    """A patient's name in file names: of the shape, and beyond the range, of MIMIC-CXR's.

    >>> patient_id(7)
    'p90000007'
    """
    return f"p{90_000_000 + number}"


def film_id(number: int) -> str:
    """The id of a patient's frontal film; nothing but the patient can be read off it.

    >>> film_id(7)
    'p90000007_1'
    """
    return f"{patient_id(number)}_1"


def list_film_files(number: int) -> list[str]:
    """The pictures that every patient has, relative to the folder of the phantom."""
    folder = f"{NAME}/IVLImage/{film_id(number)}"
    return [film_path(folder), *crop_paths(folder, MIN_CROPS), *_copy_paths(number)]


def write_film_texts(
    number: int, settings: PatientSettings, sight: FilmContents, *, lateral: bool
) -> FilmTexts:
    """Report, record and questions of a film; no pixel is needed."""
    words = np.random.default_rng(seed_for(settings.seed, number, "film words"))
    report = write_xray_report(
        sight,
        words,
        style=draw_style(settings, words),
        held_out=settings.wordings == "held-out",
        lateral=lateral,
    )
    looks = np.random.default_rng(seed_for(settings.seed, number, "film looks"))
    asked = np.random.default_rng(seed_for(settings.seed, number, "film questions"))
    return FilmTexts(
        report=report,
        trace=draw_film_trace(sight, report, looks),
        questions=tuple(draw_questions(sight, asked)),
    )


def write_films(visit: FilmedPatient, room: FilmTaker, sight: FilmContents, out: Path) -> FilmRecord:
    """Write the films and crops of one patient; each file appears whole.

    `sight` is what his frontal film shows; whether there is a lateral one too is drawn as
    `draw_views` draws it.
    """
    number, settings = visit.number, visit.settings
    views = draw_views(settings.seed, number)
    if sight.view not in FRONTAL:
        raise OverreadError(f"patient {number} has a {sight.view} film where a frontal one belongs")
    lateral = "lateral" in views and sight.view == "PA"
    texts = write_film_texts(number, settings, sight, lateral=lateral)
    pixels = room.render(sight.view).pixels
    if pixels.shape != (sight.rows, sight.columns):
        raise OverreadError(f"the film of patient {number} is not of the size that was looked at")
    folder = f"IVLImage/{film_id(number)}"
    frontal = encode(pixels, kind="jpeg", quality=JPEG_QUALITY)
    files = {f"{NAME}/{film_path(folder)}": frontal}
    files |= dict.fromkeys(_copy_paths(number), frontal)
    rounds = texts.trace.rounds
    for file, look in zip(crop_paths(folder, len(rounds)), rounds, strict=True):
        x1, y1, x2, y2 = look.box
        box = Box(picture="xray", x1=x1, y1=y1, x2=x2, y2=y2)
        files[f"{NAME}/{file}"] = encode(crop(pixels, box), kind="jpeg", quality=JPEG_QUALITY)
    beside = f"{folder}/lateral.jpg" if lateral else None
    if beside is not None:
        files[f"{NAME}/{beside}"] = encode(room.render("lateral").pixels, kind="jpeg", quality=JPEG_QUALITY)
    for file, data in files.items():
        with open_atomic(out / file) as stream_out:
            stream_out.write(data)
    return _make_record(number, settings, sight, texts, folder, beside, tuple(files))


def counts(records: Sequence[FilmRecord]) -> Counts:
    """Films by view, signs by whether they are seen, looks and questions, split by split."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for record in records:
        line = record.line
        split = line["split"]
        found["films"][split] += 1
        found[line["view"]][split] += 1
        found["lateral"][split] += line["lateral"] is not None
        for sign in line["signs"]:
            found[sign["seen"]][split] += 1
        found["looks"][split] += len(line["rounds"])
        for question in record.questions:
            found[question["question_type"]][split] += 1
            found["questions"][split] += 1
    return [
        ("films", "frontal", found["films"]),
        *(("films", view, found[view]) for view in FRONTAL),
        ("films", "lateral", found["lateral"]),
        *(("findings", seen, found[seen]) for seen in ("seen", "doubtful", "hidden")),
        ("looks", "", found["looks"]),
        *(
            ("questions", kind.removesuffix("_questions").replace("_", " "), found[kind])
            for kind in TYPE_COUNTS
        ),
        ("questions", "all", found["questions"]),
    ]


def write_lists(out: Path, records: Sequence[FilmRecord]) -> None:
    """Write everything that is about all patients; what is there is replaced, file by file."""
    traces: dict[str, list[Entry]] = {split: [] for split in SPLITS}
    asked: dict[str, list[Entry]] = {split: [] for split in SPLITS}
    for record in records:
        split = split_of(record.number)
        own, mine = traces[split], asked[split]
        own.append(read_trace_entry(record.row, split=split, place=len(own) + 1))
        for row in record.questions:
            mine.append(read_question_entry(row, split=split, place=len(mine) + 1))
    write_lines(out / NAME / "phantom.jsonl", (record.line for record in records))
    write_lines(out / SOURCES_FOLDER / "reports.jsonl", (record.source for record in records))
    write_entries(out / NAME, NAME, _nonempty_splits(traces))
    write_entries(out / QUESTIONS_FOLDER, NAME, _nonempty_splits(asked), form="thinkvg-jsonl")


def _nonempty_splits(splits: dict[str, list[Entry]]) -> dict[str, list[Entry]]:
    """The splits that somebody is in: a file without rows would be a defect."""
    return {split: entries for split, entries in splits.items() if entries}


def _make_record(
    number: int,
    settings: PatientSettings,
    sight: FilmContents,
    texts: FilmTexts,
    folder: str,
    lateral: str | None,
    files: tuple[str, ...],
) -> FilmRecord:
    name = film_id(number)
    line = {
        "patient": number,
        "name": name,
        "split": split_of(number),
        "settings": settings.model_dump(mode="json"),
        "view": sight.view,
        "columns": sight.columns,
        "rows": sight.rows,
        "image": film_path(folder),
        "lateral": lateral,
        "heart_ratio": round(sight.heart_ratio, 4),
        "regions": {region: list(box) for region, box in sight.regions.items()},
        "signs": [sign.model_dump(mode="json") for sign in sight.signs],
        "technique": texts.report.technique,
        "sentences": [one.model_dump(mode="json") for one in texts.report.sentences],
        "report": texts.report.text,
        "rounds": [look.model_dump(mode="json") for look in texts.trace.rounds],
    }
    image = f"images/{name}.jpg"
    return FilmRecord(
        number=number,
        files=files,
        row=texts.trace.to_row(folder),
        questions=tuple(one.to_row(image) for one in texts.questions),
        line=line,
        source=make_source_row(name, patient_id(number), image, sight, texts.report),
    )


def _copy_paths(number: int) -> list[str]:
    """Paths of the copies of the frontal film: each release has its own files."""
    return [f"{root}/images/{film_id(number)}.jpg" for root in (QUESTIONS_FOLDER, SOURCES_FOLDER)]
