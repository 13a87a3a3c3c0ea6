"""One patient's exams: the scan, the films and the case, of one body and with the same findings.

With the mix `illness` all three show what the patient of the case has on his first day. With any
other mix scan and films show findings that were drawn category by category, and the case is the
same person on another occasion.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from overread.core import Record
from overread.phantom.exams import case as case_exam
from overread.phantom.exams import ct, xray
from overread.phantom.exams.case import CaseRecord
from overread.phantom.exams.ct import ScanRecord
from overread.phantom.exams.xray import FilmRecord
from overread.phantom.film.renderer import FilmRenderer
from overread.phantom.film.visibility import find_signs
from overread.phantom.illness.sampler import draw_draft
from overread.phantom.patient import Patient, draw_case_days, make_patient, scan_visit
from overread.phantom.population import draw_views
from overread.phantom.visit import PatientSettings, Visit

EXAMS = {module.NAME: module for module in (case_exam, ct, xray)}
"""Benchmark → the module that writes its exam: SPLITS, counts, write_lists."""


class PatientRecord(Record):
    """What the lists need to know of one patient whose files are written."""

    number: int
    """The patient's number."""
    files: tuple[str, ...]
    """Every file that was written for him, relative to the folder of the phantom."""
    scan: ScanRecord | None = None
    """His CT, where that exam was asked for."""
    film: FilmRecord | None = None
    """His films, where that exam was asked for."""
    case: CaseRecord | None = None
    """His case, where that exam was asked for."""

    def exam_record(self, exam: str) -> Any:
        """The record of one exam; None where that exam was not written."""
        return {case_exam.NAME: self.case, ct.NAME: self.scan, xray.NAME: self.film}[exam]


def write_exams(number: int, settings: PatientSettings, exams: Sequence[str], out: Path) -> PatientRecord:
    """Make a patient and write the exams that are asked for, all but their lists."""
    days: tuple[Visit, ...] = ()
    if settings.mix == "illness":
        draft = draw_draft(number, settings)
        days = draw_case_days(draft, settings, first_only=case_exam.NAME not in exams)
        patient = scan_visit(days[0])
    else:
        patient = make_patient(number, settings)
    scan, film, case = None, None, None
    files: list[str] = []
    if ct.NAME in exams:
        scan = ct.write_scan(patient, out)
        files += ct.list_scan_files(number)
    room = FilmRenderer(patient.visit)
    if xray.NAME in exams:
        frontal = draw_views(settings.seed, number)[0]
        film = xray.write_films(patient.visit, room, find_signs(room, patient.visit, frontal), out)
        files += film.files
    if case_exam.NAME in exams:
        case, pictures = _write_case_exam(patient, days, room, out)
        files += pictures
    return PatientRecord(number=number, files=tuple(files), scan=scan, film=film, case=case)


def _write_case_exam(
    patient: Patient, days: tuple[Visit, ...], room: FilmRenderer, out: Path
) -> tuple[CaseRecord, list[str]]:
    """The case, on the days that were drawn already or on another occasion."""
    draft = draw_draft(patient.number, patient.settings)
    rooms = {0: room} if days else {}
    days = days or draw_case_days(draft, patient.settings)
    scans = [case_exam.make_noisy_scan(visit, day) for day, visit in enumerate(days)]
    if rooms:
        scans[0] = patient.hu
    films = case_exam.render_films(draft, days, rooms)
    record = case_exam.write_case(draft, days, films, out, scans=scans)
    return record, case_exam.list_picture_files(draft)
