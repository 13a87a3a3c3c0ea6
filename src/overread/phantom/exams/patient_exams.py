"""One patient's exams: the scan, the films and the case, of one body and with the same findings.

With the mix `illness` all three show what the patient of the case has on his first day. With any
other mix scan and films show findings that were drawn category by category, and the case is the
same person on another occasion.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from overread.core import Record
from overread.phantom.exams import ct
from overread.phantom.exams.case import CaseRecord, make_noisy_scan, render_films, write_case
from overread.phantom.exams.case import list_picture_files as case_files
from overread.phantom.exams.ct import ScanRecord, write_scan
from overread.phantom.exams.xray import FilmRecord, write_films
from overread.phantom.film.renderer import FilmRenderer
from overread.phantom.film.visibility import find_signs
from overread.phantom.illness.sampler import draw_draft
from overread.phantom.patient import Patient, draw_case_days, make_patient, scan_visit
from overread.phantom.population import draw_views
from overread.phantom.visit import Settings, Visit

_EXAM_MODULES = {
    "medthinkvqa": "overread.phantom.exams.case",
    "rexgroundingct": "overread.phantom.exams.ct",
    "mmrad": "overread.phantom.exams.xray",
}
EXAMS = tuple(_EXAM_MODULES)
"""The exams, by the benchmark whose layout they have."""


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
        return {"medthinkvqa": self.case, "rexgroundingct": self.scan, "mmrad": self.film}[exam]


def find_exam_module(exam: str) -> Any:
    """The module of an exam: SPLITS, counts, write_lists."""
    return import_module(_EXAM_MODULES[exam])


def write_exams(number: int, settings: Settings, exams: Sequence[str], out: Path) -> PatientRecord:
    """Make a patient and write the exams that are asked for, all but their lists."""
    days: tuple[Visit, ...] = ()
    if settings.mix == "illness":
        draft = draw_draft(number, settings)
        days = draw_case_days(draft, settings, first_only="medthinkvqa" not in exams)
        patient = scan_visit(days[0])
    else:
        patient = make_patient(number, settings)
    scan, film, case = None, None, None
    files: list[str] = []
    if "rexgroundingct" in exams:
        scan = write_scan(patient, out)
        files += ct.list_scan_files(number)
    room = FilmRenderer(patient.visit)
    if "mmrad" in exams:
        frontal = draw_views(settings.seed, number)[0]
        film = write_films(patient.visit, room, find_signs(room, patient.visit, frontal), out)
        files += film.files
    if "medthinkvqa" in exams:
        case, shown = _write_case_exam(patient, days, room, out)
        files += shown
    return PatientRecord(number=number, files=tuple(files), scan=scan, film=film, case=case)


def _write_case_exam(
    patient: Patient, days: tuple[Visit, ...], room: FilmRenderer, out: Path
) -> tuple[CaseRecord, list[str]]:
    """The case, on the days that were drawn already or on another occasion."""
    draft = draw_draft(patient.number, patient.settings)
    rooms = {0: room} if days else {}
    days = days or draw_case_days(draft, patient.settings)
    scans = [make_noisy_scan(visit, day) for day, visit in enumerate(days)]
    if rooms:
        scans[0] = patient.hu
    films = render_films(draft, days, rooms)
    return write_case(draft, days, films, out, scans=scans), case_files(draft)
