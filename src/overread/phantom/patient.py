"""One patient, whole: a body, its findings, their sentences, the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from overread.core import Geometry, Record
from overread.phantom.body.anatomy import Body
from overread.phantom.body.habitus import Habitus
from overread.phantom.difficulty import difficulty
from overread.phantom.drawing import draw_findings
from overread.phantom.findings.beyond import Beyond, draw_beyond_lung
from overread.phantom.findings.lookalikes import draw_lookalikes
from overread.phantom.findings.measure import measure
from overread.phantom.findings.scan import Drawn, Entity, Scan
from overread.phantom.population import Mix, draw_beyond, draw_plans, stream
from overread.phantom.reports import Report, Style, report
from overread.phantom.scanner import add_noise
from overread.phantom.sentences import Sentence, sentence
from overread.phantom.statement import Statement

Size = Literal["small", "full"]
STEPS: dict[str, float | None] = {"small": 2.0, "full": None}
"""Millimetres of a voxel's side; None is 512 × 512 × 300 voxels fitted to the patient."""


class Settings(Record):
    """Everything that changes a patient, besides his number."""

    seed: int = 0
    """Another seed, another population."""
    size: Size = "small"
    """Voxels of 2 mm, or 512 × 512 × 300 of them."""
    difficulty: Literal["easy", "medium", "hard"] = "medium"
    """How hard the findings are to see."""
    mix: Mix = "real"
    """Categories as often as in the real data set, or all alike."""
    wordings: Literal["common", "held-out"] = "common"
    """Which of the wordings are used: the four fifths, or the fifth that is held out."""
    style: Style | Literal["mixed"] = "mixed"
    """Whose manner the sentences have; mixed draws one for each patient."""


@dataclass(frozen=True)
class PatientFinding:
    """One finding of lung or pleura: what is true of it, what is said of it, its voxels."""

    statement: Statement
    sentence: Sentence
    entities: tuple[Entity, ...]


@dataclass(frozen=True)
class Patient:
    """One synthetic patient with a chest CT; arrays are (z, y, x), stored as LPS."""

    number: int
    settings: Settings
    habitus: Habitus
    space: Geometry
    hu: NDArray[np.int16]
    organs: NDArray[np.uint8]
    lobes: NDArray[np.uint8]
    segments: NDArray[np.uint8]
    findings: tuple[PatientFinding, ...]
    beyond: tuple[Beyond, ...]
    report: Report

    def labels(self, finding: int) -> NDArray[np.uint8]:
        """Entity numbers of one finding, (z, y, x)."""
        out = np.zeros(self.hu.shape, np.uint8)
        for number, entity in enumerate(self.findings[finding].entities, 1):
            out[entity.cut][entity.mask] = number
        return out


def make_patient(number: int, settings: Settings) -> Patient:
    """Draw patient `number` (from 1 on) of the population that the settings name."""
    body, scan, drawn, beyond = draw_scan(number, settings)
    canvas = scan.canvas
    statements = [measure(scan, one) for one in drawn]
    words = np.random.default_rng(stream(settings.seed, number, "words"))
    style: Style = settings.style if settings.style != "mixed" else _style(words)
    held = settings.wordings == "held-out"
    categories = [s.category for s in statements]
    sentences = [
        # Where two findings are of one category only their places tell them apart.
        sentence(
            s,
            words,
            style=style,
            held_out=held,
            name_place=True if categories.count(s.category) > 1 else None,
            lobe_wise=categories.count(s.category) > 1,
        )
        for s in statements
    ]
    others = tuple(one.statement for one in beyond)
    text = report(
        [*statements, *others], [s.text for s in sentences], words, style=style, held_out=held
    )
    hu = add_noise(
        canvas, body.habitus, scan.difficulty.noise, stream(settings.seed, number, "noise")
    )
    return Patient(
        number=number,
        settings=settings,
        habitus=body.habitus,
        space=canvas.grid.space,
        hu=hu,
        organs=canvas.organs,
        lobes=canvas.lobes,
        segments=canvas.segments,
        findings=tuple(
            PatientFinding(s, words_, tuple(one.entities))
            for s, words_, one in zip(statements, sentences, drawn, strict=True)
        ),
        beyond=beyond,
        report=text,
    )


def draw_scan(
    number: int, settings: Settings
) -> tuple[Body, Scan, list[Drawn], tuple[Beyond, ...]]:
    """Body and findings of a patient on a canvas, before noise and words."""
    root = stream(settings.seed, number, "body")
    age = Body(root).habitus.age
    other = np.random.default_rng(stream(settings.seed, number, "beyond"))
    names = draw_beyond(other, age)
    body = Body(root, _differs(names, other))
    canvas = body.draw(body.grid(STEPS[settings.size]), spurs=3.5 if "osteophytes" in names else 0)
    scan = Scan(body, canvas, difficulty(settings.difficulty))
    beyond = draw_beyond_lung(scan, other, names)
    draw_lookalikes(scan, np.random.default_rng(stream(settings.seed, number, "look-alikes")))
    plans = draw_plans(np.random.default_rng(stream(settings.seed, number, "plans")), settings.mix)
    drawn = draw_findings(scan, plans, lambda *which: stream(settings.seed, number, *which))
    return body, scan, drawn, beyond


def _style(rng: np.random.Generator) -> Style:
    return "translated" if rng.random() < 0.3 else "radiologist"


def _differs(names: list[str], rng: np.random.Generator) -> dict[str, float]:
    """What of the habitus is not as usual in a patient who has these."""
    differs: dict[str, float] = {}
    if "cardiomegaly" in names:
        differs["heart"] = float(rng.uniform(1.2, 1.34))
    if "aortic ectasia" in names:
        differs["aorta"] = float(rng.uniform(1.32, 1.5))
    if "steatosis" in names:
        differs["liver"] = float(rng.uniform(12, 32))
    return differs
