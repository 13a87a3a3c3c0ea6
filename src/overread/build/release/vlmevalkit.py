"""Tables for VLMEvalKit: one row a case, its pictures in it, options by letter, and the answer.

VLMEvalKit reads `LMUData/NAME.tsv` and takes a table that it does not know, and that has the columns
A and B, for questions with options. It compares letters itself, so the answer must be in the table.
"""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Iterator

from overread.build.release.export_job import CannotExport, ExportJob
from overread.build.release.picture_files import flat_bytes
from overread.core import Entry, Release
from overread.storage.atomic import open_atomic

LETTERS = "ABCDE"
ASKED = "Which of these diagnoses is the most likely one?"
# What pandas takes for an empty cell when VLMEvalKit has it read the table.
_EMPTY_CELLS = frozenset(
    "#N/A #NA -1.#IND -1.#QNAN -NaN -nan 1.#IND 1.#QNAN <NA> N/A NA NULL NaN None n/a nan null".split()
) | {"", "#N/A N/A"}


def write_vlmevalkit(job: ExportJob) -> None:
    """One TSV a split, called as the dataset will be called."""
    for release in job.load_splits():
        name = f"overread_{job.benchmark}_{release.split}.tsv"
        with open_atomic(job.out / name, exclusive=True) as out:
            out.write(_format_line(["index", "id", "image", "question", *LETTERS, "answer"]))
            for number, cells in enumerate(_rows(job, release)):
                out.write(_format_line([str(number), *cells]))


def _rows(job: ExportJob, release: Release) -> Iterator[list[str]]:
    for entry in job.entries(release):
        cells: list[str] = []
        with job.track_case(entry):
            answer = find_answer(entry)
            options = {option.letter: option.text for option in entry.case.options}
            for letter, text in options.items():
                if letter not in LETTERS or text.strip() in _EMPTY_CELLS:
                    raise CannotExport(f"option {letter}, '{text}', would be an empty cell to pandas")
            sent = [flat_bytes(release, picture)[0] for picture in entry.case.pictures]
            images = [base64.b64encode(data).decode("ascii") for data in sent]
            if not images:
                raise CannotExport("it has no picture")
            cells = [
                entry.case.id,
                images[0] if len(images) == 1 else json.dumps(images),
                make_question(entry),
                *(options.get(letter, "") for letter in LETTERS),
                answer,
            ]
        if cells:
            yield cells


def find_answer(entry: Entry) -> str:
    """The right letter; a case without one cannot be scored by others."""
    if not entry.case.options:
        raise CannotExport("it has no options to choose from")
    if entry.truth is None or entry.truth.answer is None:
        raise CannotExport("its answer is not given")
    return entry.truth.answer


def make_question(entry: Entry) -> str:
    """The history and what is asked; the program adds the options itself."""
    history = (entry.case.history or "").strip() or "not given"
    return f"Clinical history: {history}\n\n{ASKED}"


def _format_line(cells: list[str]) -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter="\t", lineterminator="\n").writerow(cells)
    return out.getvalue().encode("utf-8")
