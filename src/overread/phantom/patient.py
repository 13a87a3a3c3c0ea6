"""One patient, whole: a body, its findings, their sentences, the report."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overread.core import Geometry
from overread.phantom.body.anatomy import Body
from overread.phantom.body.habitus import Habitus
from overread.phantom.case.course import draw_days
from overread.phantom.findings.beyond import Beyond
from overread.phantom.illness.draft import Draft
from overread.phantom.illness.drawing import draw_draft
from overread.phantom.lexicon import Style
from overread.phantom.population import draw_beyond, draw_plans, stream
from overread.phantom.reports import Report, report
from overread.phantom.scanner import add_noise
from overread.phantom.visit import (
    STEPS,
    PatientFinding,
    Person,
    Settings,
    Size,
    Visit,
    style_of,
)


@dataclass(frozen=True)
class Patient:
    """One synthetic patient with a chest CT; arrays are (z, y, x), stored as LPS."""

    visit: Visit
    """The day of the scan."""
    hu: NDArray[np.int16]
    """The scan, with its noise."""
    report: Report

    @property
    def number(self) -> int:
        """Which patient of the population."""
        return self.visit.number

    @property
    def settings(self) -> Settings:
        """What the population is made with."""
        return self.visit.settings

    @property
    def habitus(self) -> Habitus:
        """The patient's build."""
        return self.visit.body.habitus

    @property
    def space(self) -> Geometry:
        """Geometry of the arrays as they are stored."""
        return self.visit.scan.canvas.grid.space

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
    def beyond(self) -> tuple[Beyond, ...]:
        """What there is beyond the lung."""
        return self.visit.beyond

    def labels(self, finding: int) -> NDArray[np.uint8]:
        """Entity numbers of one finding, (z, y, x)."""
        out = np.zeros(self.hu.shape, np.uint8)
        for number, entity in enumerate(self.findings[finding].entities, 1):
            out[entity.cut][entity.mask] = number
        return out


def make_patient(number: int, settings: Settings) -> Patient:
    """Draw patient `number` (from 1 on) of the population that the settings name."""
    if settings.mix == "illness":
        return scanned(days_of(draw_draft(number, settings), settings, first_only=True)[0])
    seed = settings.seed
    root = stream(seed, number, "body")
    rng = np.random.default_rng(stream(seed, number, "beyond"))
    names = draw_beyond(rng, Body(root).habitus.age)
    person = _person(number, settings, names, rng)
    plans = draw_plans(np.random.default_rng(stream(seed, number, "plans")), settings.mix)
    words = np.random.default_rng(stream(seed, number, "words"))
    style = style_of(settings, words)
    return scanned(person.visit(plans, names, rng, words, style), words, style)


def days_of(draft: Draft, settings: Settings, *, first_only: bool = False) -> tuple[Visit, ...]:
    """The patient of a case on its one or two days, or on the first of them only."""
    rng = np.random.default_rng(stream(settings.seed, draft.patient, "case", "build"))
    person = _person(draft.patient, settings, list(draft.beyond), rng)
    style = style_of(settings, rng)
    return draw_days(person, draft, style=style, first_only=first_only)


def scanned(
    visit: Visit, words: np.random.Generator | None = None, style: Style | None = None
) -> Patient:
    """A patient with the CT of a day and its report."""
    seed, number, settings = visit.settings.seed, visit.number, visit.settings
    if words is None:
        words = np.random.default_rng(stream(seed, number, "case", "report of the scan"))
    statements = [finding.statement for finding in visit.findings]
    text = report(
        [*statements, *(one.statement for one in visit.beyond)],
        [finding.sentence.text for finding in visit.findings],
        words,
        style=style or style_of(settings, words),
        held_out=settings.wordings == "held-out",
    )
    scan = visit.scan
    noise = stream(seed, number, "noise")
    hu = add_noise(scan.canvas, visit.body.habitus, scan.difficulty.noise, noise)
    return Patient(visit, hu, text)


def _person(number: int, settings: Settings, names: list[str], rng: np.random.Generator) -> Person:
    """The body of a patient who has these beyond the lung."""
    body = Body(stream(settings.seed, number, "body"), differs(names, rng))
    return Person(number, settings, body, spurs=3.5 if "osteophytes" in names else 0)


def differs(names: list[str], rng: np.random.Generator) -> dict[str, float]:
    """What of the habitus is not as usual in a patient who has these."""
    changed: dict[str, float] = {}
    if "cardiomegaly" in names:
        changed["heart"] = float(rng.uniform(1.2, 1.34))
    if "aortic ectasia" in names:
        changed["aorta"] = float(rng.uniform(1.32, 1.5))
    if "steatosis" in names:
        changed["liver"] = float(rng.uniform(12, 32))
    return changed


__all__ = ["STEPS", "Patient", "PatientFinding", "Settings", "Size", "make_patient"]
