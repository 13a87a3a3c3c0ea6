"""MedThinkVQA: several pictures and a history → findings → summary → one of five diagnoses.

One row is one case, in jsonl and in parquet alike; pictures lie under `images/` or are embedded
in the parquet file. Copies differ in harmless ways (options as a JSON string, null or missing
slots, extra columns), and all of them become the same records.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic_core import from_json

from overread.benchmarks.embedded_pictures import EmbeddedPictures
from overread.benchmarks.release import FolderRelease
from overread.benchmarks.row_fields import RowFields
from overread.benchmarks.rows import missing_split_error, read_rows, row_count, split_files
from overread.core import Case, Entry, Finding, Image, Option, PictureNote, ScannedRow, Truth, Whole
from overread.errors import NotThere, UsageError
from overread.prompts.replies import normalise_text
from overread.storage.fence import Fence

SPLITS = ("train", "test")
FORMS = ("jsonl", "parquet")
LETTERS = "ABCDE"

SLOTS = 49
SLOT_FIELDS = ("id", "path", "caption", "modality", "sub_modality", "timepoint")
_SLOT = re.compile(r"image_(\d{1,4})_(id|path|caption|modality|sub_modality|timepoint)")
ROW_FIELDS = (
    "title",
    "CLINICAL_HISTORY",
    "IMAGING_FINDINGS",
    "discussion",
    "options",
    "correct_answer",
    "correct_answer_text",
    "ICD Chapter",
    "ICD Block",
    "ICD Category",
    "is_longitudinal",
    "timepoint_count",
    "interval_text",
    "image_count",
)
_ROW_FIELDS = frozenset(ROW_FIELDS)
# Column → (slot, field), for the columns every official row has: a lookup, not a match, per cell.
_SLOT_COLUMNS = {
    f"image_{slot:02d}_{field}": (slot, field) for slot in range(1, SLOTS + 1) for field in SLOT_FIELDS
}


class MedThinkVQARelease(FolderRelease):
    """One split of a copy of MedThinkVQA."""

    benchmark = "medthinkvqa"

    def __init__(
        self, root: Path, split: str, *, form: str | None = None, pictures: Path | None = None
    ) -> None:
        """Find the split's files; jsonl is read where both forms are there."""
        super().__init__(root, split, form=form, pictures=pictures)
        files = _form_files(self.fence, split)
        if not files:
            raise missing_split_error(self.fence, split, SPLITS)
        # Rows are the same whether pictures are embedded in them or not.
        self.form = form.removesuffix("-embedded") if form else next(iter(files))
        if self.form not in files:
            raise UsageError(
                f"split '{split}' is not there as {self.form}",
                where=str(root),
                remedy=f"use --form {next(iter(files))}",
            )
        self.files = files[self.form]
        self._embedded = EmbeddedPictures(self.fence, files.get("parquet", []))

    def scan(self) -> Iterator[ScannedRow]:
        """Every row as an entry or None, and what is wrong with it."""
        place = 0
        for file in self.files:
            for row in read_rows(self.fence, file):
                if row.data is None:
                    defects = [row.defect] if row.defect else []
                    yield ScannedRow(file, row.number, None, defects)
                    continue
                reader = RowFields(row.data, file=file, number=row.number)
                place += 1
                entry = read_row(reader, split=self.split, place=place)
                yield ScannedRow(file, row.number, entry, reader.defects)

    def forms(self) -> list[str]:
        """The forms that this split is there in."""
        return list(_form_files(self.fence, self.split))

    def other_splits(self) -> Iterator[MedThinkVQARelease]:
        """The other splits of the same copy."""
        for split in SPLITS:
            if split != self.split and _form_files(self.fence, split):
                yield MedThinkVQARelease(self.root, split)

    def count(self) -> int | None:
        """How many rows the split has."""
        return row_count(self.fence, self.files)

    def source(self, file: str) -> Path | bytes:
        """The picture's file, or its embedded bytes where there is no such file."""
        try:
            return self.picture_fence.path(file)
        except NotThere:
            if not self._embedded:
                raise
            return self._embedded.read(file)


def _form_files(fence: Fence, split: str) -> dict[str, list[str]]:
    return {form: files for form, files in split_files(fence, split).items() if form in FORMS}


def read_row(row: RowFields, *, split: str, place: int) -> Entry | None:
    """One row as an entry; None where it cannot become one, with the reason noted."""
    slots, extra = _parse_slots(row)
    title = row.text("title")
    paths = {slot: _parse_slot_path(row, slot, cells) for slot, cells in slots.items()}
    known = _case_id(title, next(iter(paths.values()), None))
    row.case = known or f"row-{place}"
    options = _parse_options(row)
    history = row.text("CLINICAL_HISTORY")
    if history is None and not row.broken:
        row.note("missing-field", "CLINICAL_HISTORY", "a history", "nothing")
    images: list[Image] = []
    notes: list[PictureNote] = []
    findings: list[Finding] = []
    for order, (slot, cells) in enumerate(slots.items(), 1):
        name = f"image-{order}"
        cell = RowFields(cells, file=row.file, number=row.number)
        images.append(Image(name=name, file=paths[slot] or "", timepoint=cell.integer("timepoint")))
        note = PictureNote(
            picture=name,
            id=cell.text("id"),
            modality=cell.text("modality"),
            sub_modality=cell.text("sub_modality"),
        )
        if note != PictureNote(picture=name):
            notes.append(note)
        caption = cell.text("caption")
        if caption is not None:
            findings.append(Finding(text=caption, regions=(Whole(picture=name),)))
        for defect in cell.defects:
            row.fail(defect.code, f"image_{slot:02d}_{defect.field}", defect.expected, defect.found)
    _note_slots(row, slots)
    if not images:
        row.note("missing-field", "image_01_path", "at least one picture", "none")
    truth = Truth(
        title=title,
        answer=_parse_answer(row),
        answer_text=row.text("correct_answer_text"),
        findings=tuple(findings),
        report=row.text("IMAGING_FINDINGS"),
        discussion=row.text("discussion"),
        notes=tuple(notes),
        longitudinal=row.boolean("is_longitudinal"),
        timepoints=row.integer("timepoint_count"),
        interval=row.text("interval_text"),
        image_count=row.integer("image_count"),
        icd_chapter=row.text("ICD Chapter"),
        icd_block=row.text("ICD Block"),
        icd_category=row.text("ICD Category"),
    )
    if row.broken:
        return None
    case = Case(
        id=row.case,
        benchmark="medthinkvqa",
        split=split,
        patient=known,
        pictures=tuple(images),
        history=history,
        options=options,
    )
    return Entry(case=case, truth=None if truth == _NO_TRUTH else truth, extra=extra)


_NO_TRUTH = Truth()


def _note_slots(row: RowFields, slots: dict[int, dict[str, Any]]) -> None:
    """Pictures that are shown twice, and ids that are not their file's."""
    seen: set[str] = set()
    for slot, cells in slots.items():
        path, name = cells.get("path"), cells.get("id")
        if not isinstance(path, str):
            continue
        if path in seen:
            row.note("doubled-picture", f"image_{slot:02d}_path", "a picture of its own", path)
        seen.add(path)
        base = path.rpartition("/")[2]
        stem = base.rpartition(".")[0] or base
        if isinstance(name, str) and name != stem and not path.startswith("embedded/"):
            row.note("picture-id-mismatch", f"image_{slot:02d}_id", f"'{stem}', as its file", name)


def _parse_slots(row: RowFields) -> tuple[dict[int, dict[str, Any]], dict[str, Any]]:
    """Filled picture slots in order, and the columns that belong to nobody."""
    slots: dict[int, dict[str, Any]] = {}
    extra: dict[str, Any] = {}
    for column, value in row.data.items():
        place = _SLOT_COLUMNS.get(column)
        if place is None:
            if column in _ROW_FIELDS:
                continue
            match = _SLOT.fullmatch(column)
            if match is None:
                if value is not None:  # null is how parquet says "not in this row"
                    extra[column] = value
                continue
            place = (int(match[1]), match[2])
        if value is not None and value != "":
            slots.setdefault(place[0], {})[place[1]] = value
    return {slot: slots[slot] for slot in sorted(slots)}, extra


def _parse_slot_path(row: RowFields, slot: int, cells: dict[str, Any]) -> str | None:
    path = cells.get("path")
    if isinstance(path, str):
        return path
    found = "nothing" if path is None else path
    row.fail("missing-field" if path is None else "wrong-type", f"image_{slot:02d}_path", "a path", found)
    return None


# Names that tell nothing: a case number ('case19254') or an accession code ('MPX1043').
_NUMBER = re.compile(r"(?:case|patient|study|exam)?[ _-]?(?:number )?\d{1,12}", re.IGNORECASE)
_CODE = re.compile(r"(?:[A-Za-z]{1,12} )?[A-Z]{2,8}[-_]?\d{3,12}")


def _case_id(title: str | None, path: str | None) -> str | None:
    """'case19254' from the picture's folder or the title, else a digest that gives nothing away.

    A title, and a folder too, may be the diagnosis. None where there is neither.
    """
    parts = PurePosixPath(path or "").parts
    folder = parts[1] if len(parts) > 2 and parts[0] == "images" else ""
    name = folder or " ".join((title or "").split())
    if not name:
        return None
    if _NUMBER.fullmatch(name):
        return folder or f"case{re.sub('[^0-9]', '', name)}"
    if _CODE.fullmatch(name):
        return name.replace(" ", "-")
    return "case-" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:10]


def _parse_options(row: RowFields) -> tuple[Option, ...]:
    """The options from a mapping, a list or a JSON string of either."""
    value = row.data.get("options")
    if isinstance(value, str) and value.strip():
        try:
            value = from_json(value)
        except ValueError:
            row.fail("wrong-type", "options", "a mapping of letters to texts", value)
            return ()
    if isinstance(value, list):
        value = dict(zip(LETTERS, value, strict=False)) if len(value) == 5 else None
    if not value:
        row.fail("missing-field", "options", "five options A to E", row.data.get("options"))
        return ()
    if not isinstance(value, dict):
        row.fail("wrong-type", "options", "a mapping of letters to texts", value)
        return ()
    filled = {letter: text for letter, text in value.items() if text is not None}
    if not filled or not all(isinstance(text, str) for text in filled.values()):
        row.fail("bad-options", "options", "five texts", value)
        return ()
    letters = {str(letter).strip().upper(): str(text) for letter, text in filled.items()}
    if len(letters) < len(filled):
        row.note("bad-options", "options", "each letter once", value)
    if sorted(letters) != list(LETTERS) or not all(text.strip() for text in letters.values()):
        row.note("bad-options", "options", "five texts A to E", value)
    elif len({normalise_text(text) for text in letters.values()}) < 5:
        row.note("bad-options", "options", "five distinct texts", value)
    return tuple(Option(letter=letter, text=letters[letter]) for letter in sorted(letters))


def _parse_answer(row: RowFields) -> str | None:
    answer = row.text("correct_answer")
    return (answer.strip().upper() or None) if answer else None
