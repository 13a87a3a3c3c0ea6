"""Tiny patients that are made in no time: boxes for lobes, boxes for findings."""

from __future__ import annotations

import numpy as np

from overread.phantom.body.anatomy import Body
from overread.phantom.body.canvas import ORGAN_NUMBERS, Canvas, Grid
from overread.phantom.body.lungs import LOBES, SEGMENTS
from overread.phantom.difficulty import find_difficulty
from overread.phantom.film.shadows import Shadows
from overread.phantom.findings.scan import Entity, Scan
from overread.phantom.patient import Patient, PatientFinding, PatientSettings
from overread.phantom.population import seed_for
from overread.phantom.statement import FindingStatement
from overread.phantom.visit import Visit
from overread.phantom.words.ct_report import CtReport
from overread.phantom.words.sentences import FindingSentence

GRID = Grid(centre=(0.0, 0.0, 0.0), counts=(40, 20, 30), step=(8.0, 10.0, 10.0))

# (z, y, x): x runs to the patient's left, so the right lung comes first.
_LOBE_BOXES = {
    "RUL": (slice(20, 28), slice(4, 16), slice(4, 16)),
    "RML": (slice(12, 20), slice(4, 10), slice(4, 16)),
    "RLL": (slice(4, 20), slice(10, 16), slice(4, 16)),
    "LUL": (slice(16, 28), slice(4, 16), slice(24, 36)),
    "LLL": (slice(4, 16), slice(4, 16), slice(24, 36)),
}


def entity(z: tuple[int, int], y: tuple[int, int], x: tuple[int, int]) -> Entity:
    """A box as an entity."""
    cut = (slice(*z), slice(*y), slice(*x))
    return Entity(cut, np.ones([part.stop - part.start for part in cut], bool))


def finding(statement: FindingStatement, *entities: Entity) -> PatientFinding:
    """A finding whose sentence says its category and nothing else."""
    text = f"Something of category {statement.category}"
    words = FindingSentence(text=text, wording="something", said=("category",))
    return PatientFinding(statement, words, entities)


def fake_patient(number: int, settings: PatientSettings, *findings: PatientFinding) -> Patient:
    """A patient with these findings, or with a nodule whose place hangs on number and seed."""
    rng = np.random.default_rng(seed_for(settings.seed, number, "fake"))
    organs, lobes, segments = (np.zeros(GRID.shape, np.uint8) for _ in range(3))
    for code, cut in _LOBE_BOXES.items():
        lobes[cut] = LOBES.index(code) + 1
        organs[cut] = ORGAN_NUMBERS["right lung" if code[0] == "R" else "left lung"]
    lower = _LOBE_BOXES["RLL"]
    segments[lower] = SEGMENTS.index("RS10") + 1
    segments[(slice(12, 20), *lower[1:])] = SEGMENTS.index("RS6") + 1
    at = int(rng.integers(5, 9))
    nodule = FindingStatement(
        category="2d", kind="solid", side="right", lobes=("RLL",), segments=("RS10",), size_mm=30,
        countable=True,
    )  # fmt: skip
    body = Body(seed_for(settings.seed, number, "fake body"), {"age": 60})
    canvas = Canvas(GRID)
    canvas.organs, canvas.lobes, canvas.segments = organs, lobes, segments
    made = findings or (finding(nodule, entity((at, at + 3), (11, 14), (at, at + 3))),)
    visit = Visit(
        number=number,
        settings=settings,
        body=body,
        scan=Scan(body, canvas, find_difficulty(settings.difficulty)),
        drawn_findings=(),
        findings=made,
        extrapulmonary=(),
        shadows=Shadows(canvas),
        spurs=0.0,
    )
    return Patient(
        visit=visit,
        hu=rng.integers(-1024, 400, GRID.shape).astype(np.int16),
        report=CtReport(technique="Drawn.", findings="Something.", impression='A "thing".'),
    )
