"""Every defect of a copy of MedThinkVQA."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from overread.benchmarks.checks import (
    FormContents,
    MissingValues,
    UniqueIds,
    UnknownWords,
    check_in_threads,
    flat_picture_defects,
    image_files,
    shard_defects,
    shared_patient_defects,
)
from overread.benchmarks.medthinkvqa.release import MedThinkVQARelease
from overread.core import Defect, Entry, Progress, ScannedRow, Truth
from overread.core.case import captions_of
from overread.ontology import modalities
from overread.prompts.replies import normalise_text


def check(
    root: Path,
    split: str,
    *,
    form: str | None = None,
    pictures: Path | None = None,
    open_pictures: bool = True,
    progress: Progress | None = None,
) -> Iterator[Defect]:
    """Every defect of one split, in each form it is there in (or in the one asked for)."""
    first = MedThinkVQARelease(root, split, form=form, pictures=pictures)
    checks = [_FormCheck(first, look=open_pictures, first=True)]
    for other in first.forms() if form is None else ():
        if other != first.form:
            twin = MedThinkVQARelease(root, split, form=other, pictures=pictures)
            checks.append(_FormCheck(twin, look=False, first=False))
    broken = False
    elsewhere = list(first.other_splits())
    for part in checks:
        part.has_twin, part.has_other_splits = len(checks) > 1, bool(elsewhere)
        for defect in part.defects(progress):
            broken |= defect.severity == "error"
            yield defect
    for part in checks[1:]:
        if part.rows != checks[0].rows:
            expected = f"{checks[0].rows}, as in {checks[0].file}"
            yield Defect(
                code="count-mismatch", file=part.file, field="rows", expected=expected, found=str(part.rows)
            )
        yield from checks[0].contents.differences(part.contents)
    if not checks[0].rows and not broken:
        yield Defect(code="empty-split", file=checks[0].file, expected="cases", found="none")
    yield from shard_defects(first.files)
    yield from shared_patient_defects(first, checks[0].patients, elsewhere)


class _FormCheck:
    """The check of one file of rows."""

    def __init__(self, release: MedThinkVQARelease, *, look: bool, first: bool) -> None:
        self.release = release
        self.file = release.files[0]
        self.look = look
        self.first = first
        self.rows = 0
        self.has_twin = self.has_other_splits = True
        self.ids = UniqueIds()
        self.contents = FormContents(self.file)
        self.patients: dict[str, int] = {}
        self.gaps = MissingValues()
        self.words = UnknownWords("a name of `overread list modalities`")
        self.answered = 0
        self.unanswered: list[ScannedRow] = []

    def defects(self, progress: Progress | None) -> Iterator[Defect]:
        total = self.release.count()
        for scanned, picture_defects in check_in_threads(
            self.release.scan(), self._picture_defects, look=self.look
        ):
            self.rows += bool(scanned.row)
            yield from scanned.defects
            yield from picture_defects
            if scanned.entry is not None:
                yield from self.ids.defects(scanned, scanned.entry.case.id, column="title")
                yield from _case_defects(scanned, scanned.entry)
                self._add_entry(scanned, scanned.entry)
            if progress is not None:
                progress(self.rows, total)
        yield from self._answer_defects()
        yield from self.gaps.defects()
        yield from self.words.defects()

    def _picture_defects(self, scanned: ScannedRow) -> list[Defect]:
        # A second form names the same pictures; looking for them twice tells nothing new.
        files = image_files(scanned.entry) if scanned.entry and self.first else []
        return list(flat_picture_defects(self.release, scanned, files, look=self.look))

    def _add_entry(self, scanned: ScannedRow, entry: Entry) -> None:
        truth = entry.truth or Truth()
        if self.has_other_splits and entry.case.patient is not None:
            self.patients.setdefault(entry.case.patient, scanned.row)
        if self.has_twin:
            self.contents.add(scanned, entry)
        if truth.answer is None:
            self.unanswered.append(scanned)
        else:
            self.answered += 1
        _note_gaps(self.gaps, scanned, entry, truth)
        known = modalities()
        for note in truth.notes:
            if note.modality is not None and known.find(note.modality) is None:
                self.words.add(scanned, "unknown-modality", "image_NN_modality", note.modality)
            sub = note.sub_modality
            if sub is not None and not known.has_sub_modality(sub):
                self.words.add(scanned, "unknown-sub-modality", "image_NN_sub_modality", sub)

    def _answer_defects(self) -> Iterator[Defect]:
        """Missing answers: withheld if all are missing, else each one is an error."""
        if self.answered:
            for scanned in self.unanswered:
                yield scanned.defect("missing-field", "correct_answer", "a letter A to E", "nothing")
        elif self.unanswered:
            yield Defect(
                code="withheld-truth",
                file=self.file,
                field="correct_answer",
                expected="answers",
                found=f"none in {len(self.unanswered)} rows",
            )


def _case_defects(scanned: ScannedRow, entry: Entry) -> Iterator[Defect]:
    case, truth = entry.case, entry.truth or Truth()
    texts = {option.letter: option.text for option in case.options}
    if truth.answer is not None and truth.answer not in texts:
        expected = "one of " + ", ".join(texts)
        yield scanned.defect("answer-not-an-option", "correct_answer", expected, truth.answer)
    elif truth.answer is not None and truth.answer_text is not None:
        if normalise_text(truth.answer_text) != normalise_text(texts[truth.answer]):
            yield scanned.defect(
                "answer-not-an-option",
                "correct_answer_text",
                f"option {truth.answer}, '{texts[truth.answer]}'",
                f"'{truth.answer_text}'",
            )
    elif truth.answer is None and truth.answer_text is not None:
        found = f"'{truth.answer_text}' and no letter"
        yield scanned.defect("answer-not-an-option", "correct_answer", "a letter", found)
    if truth.image_count is not None and truth.image_count != len(case.pictures):
        yield scanned.defect(
            "count-mismatch",
            "image_count",
            f"{len(case.pictures)}, the number of filled slots",
            str(truth.image_count),
        )
    several = None if truth.timepoints is None else truth.timepoints > 1
    if None not in (truth.longitudinal, several) and truth.longitudinal != several:
        expected = "2 or more" if truth.longitudinal else "at most 1"
        found = f"{truth.timepoints} with is_longitudinal {truth.longitudinal}"
        yield scanned.defect("timepoint-mismatch", "timepoint_count", expected, found)


def _note_gaps(gaps: MissingValues, scanned: ScannedRow, entry: Entry, truth: Truth) -> None:
    values = {
        "title": truth.title,
        "IMAGING_FINDINGS": truth.report,
        "discussion": truth.discussion,
        "correct_answer_text": truth.answer_text,
        "image_count": truth.image_count,
        "is_longitudinal": truth.longitudinal,
        "timepoint_count": truth.timepoints,
        "ICD Chapter": truth.icd_chapter,
        "ICD Block": truth.icd_block,
        "ICD Category": truth.icd_category,
    }
    for name, value in values.items():
        gaps.add(name, scanned, filled=value is not None)
    captions = captions_of(truth)
    notes = {note.picture: note for note in truth.notes}
    for picture in entry.case.pictures:
        note = notes.get(picture.name)
        gaps.add("image_NN_caption", scanned, filled=picture.name in captions)
        gaps.add("image_NN_id", scanned, filled=bool(note and note.id))
        gaps.add("image_NN_modality", scanned, filled=bool(note and note.modality))
        gaps.add("image_NN_sub_modality", scanned, filled=bool(note and note.sub_modality))
