"""One patient, whole: a body, its findings, their sentences, the report."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overread.core import Geometry
from overread.phantom.body.anatomy import Body
from overread.phantom.body.habitus import Habitus
from overread.phantom.case.days import draw_days
from overread.phantom.findings.extrapulmonary import ExtrapulmonaryFinding
from overread.phantom.illness.draft import Draft
from overread.phantom.illness.sampler import draw_draft
from overread.phantom.population import draw_extrapulmonary_names, draw_plans, seed_for
from overread.phantom.scanner import add_noise
from overread.phantom.visit import (
    VOXEL_MM,
    PatientBody,
    PatientFinding,
    PatientSettings,
    Size,
    Visit,
    draw_style,
)
from overread.phantom.words.ct_report import CtReport, write_ct_report
from overread.phantom.words.lexicon import Style


@dataclass(frozen=True)
class Patient:
    """One synthetic patient with a chest CT; arrays are (z, y, x), stored as LPS."""

    visit: Visit
    """The day of the scan."""
    hu: NDArray[np.int16]
    """The scan, with its noise."""
    report: CtReport

    @property
    def number(self) -> int:
        """Which patient of the population."""
        return self.visit.number

    @property
    def settings(self) -> PatientSettings:
        """What the population is made with."""
        return self.visit.settings

    @property
    def habitus(self) -> Habitus:
        """The patient's build."""
        return self.visit.body.habitus

    @property
    def geometry(self) -> Geometry:
        """Geometry of the arrays as they are stored."""
        return self.visit.scan.canvas.grid.geometry

    @property
    def organs(self) -> NDArray[np.uint8]:
        """Number of the organ at each voxel."""
        return self.visit.scan.canvas.organs

    @property
    def lobes(self) -> NDArray[np.uint8]:
        """Number of the lobe at each voxel, 0 outside the lungs."""
        return self.visit.scan.canvas.lobes

    @property
    def segments(self) -> NDArray[np.uint8]:
        """Number of the segment at each voxel, 0 outside the lungs."""
        return self.visit.scan.canvas.segments

    @property
    def findings(self) -> tuple[PatientFinding, ...]:
        """What lung and pleura have."""
        return self.visit.findings

    @property
    def extrapulmonary(self) -> tuple[ExtrapulmonaryFinding, ...]:
        """What there is beyond the lung."""
        return self.visit.extrapulmonary

    def labels(self, finding: int) -> NDArray[np.uint8]:
        """Entity numbers of one finding, (z, y, x)."""
        out = np.zeros(self.hu.shape, np.uint8)
        for number, entity in enumerate(self.findings[finding].entities, 1):
            out[entity.cut][entity.mask] = number
        return out


def make_patient(number: int, settings: PatientSettings) -> Patient:
    """Draw patient `number` (from 1 on) of the population that the settings name."""
    if settings.mix == "illness":
        return scan_visit(draw_case_days(draw_draft(number, settings), settings, first_only=True)[0])
    seed = settings.seed
    root = seed_for(seed, number, "body")
    rng = np.random.default_rng(seed_for(seed, number, "beyond"))
    names = draw_extrapulmonary_names(rng, Body(root).habitus.age)
    person = _make_person(number, settings, names, rng)
    plans = draw_plans(np.random.default_rng(seed_for(seed, number, "plans")), settings.mix)
    words = np.random.default_rng(seed_for(seed, number, "words"))
    style = draw_style(settings, words)
    return scan_visit(person.draw_visit(plans, names, rng, words, style), words, style)


def draw_case_days(draft: Draft, settings: PatientSettings, *, first_only: bool = False) -> tuple[Visit, ...]:
    """The patient of a case on its one or two days, or on the first of them only."""
    rng = np.random.default_rng(seed_for(settings.seed, draft.patient, "case", "build"))
    person = _make_person(draft.patient, settings, list(draft.extrapulmonary), rng)
    style = draw_style(settings, rng)
    return draw_days(person, draft, style=style, first_only=first_only)


def scan_visit(visit: Visit, words: np.random.Generator | None = None, style: Style | None = None) -> Patient:
    """A patient with the CT of a day and its report."""
    seed, number, settings = visit.settings.seed, visit.number, visit.settings
    if words is None:
        words = np.random.default_rng(seed_for(seed, number, "case", "report of the scan"))
    statements = [finding.statement for finding in visit.findings]
    text = write_ct_report(
        [*statements, *(one.statement for one in visit.extrapulmonary)],
        [finding.sentence.text for finding in visit.findings],
        words,
        style=style or draw_style(settings, words),
        held_out=settings.wordings == "held-out",
    )
    scan = visit.scan
    noise = seed_for(seed, number, "noise")
    hu = add_noise(scan.canvas, visit.body.habitus, scan.difficulty.noise, noise)
    return Patient(visit, hu, text)


def _make_person(
    number: int, settings: PatientSettings, names: list[str], rng: np.random.Generator
) -> PatientBody:
    """The body of a patient who has these beyond the lung."""
    body = Body(seed_for(settings.seed, number, "body"), draw_habitus_changes(names, rng))
    return PatientBody(number, settings, body, spurs=3.5 if "osteophytes" in names else 0)


def draw_habitus_changes(names: list[str], rng: np.random.Generator) -> dict[str, float]:
    """Fields of the habitus that these extrapulmonary findings change."""
    changed: dict[str, float] = {}
    if "cardiomegaly" in names:
        changed["heart"] = float(rng.uniform(1.2, 1.34))
    if "aortic ectasia" in names:
        changed["aorta"] = float(rng.uniform(1.32, 1.5))
    if "steatosis" in names:
        changed["liver"] = float(rng.uniform(12, 32))
    return changed


__all__ = ["VOXEL_MM", "Patient", "PatientFinding", "PatientSettings", "Size", "make_patient"]
