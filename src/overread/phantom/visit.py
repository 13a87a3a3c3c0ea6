"""A patient on one day: his body with what he has on that day, drawn, measured and in words.

The body is made once. A second day is drawn on a fresh copy of it, so that whatever differs between
the two days is in the findings and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from overread.core import Record
from overread.phantom.body.anatomy import Body
from overread.phantom.body.canvas import Canvas
from overread.phantom.difficulty import find_difficulty
from overread.phantom.film.shadows import Shadows
from overread.phantom.findings.dispatch import draw_findings
from overread.phantom.findings.extrapulmonary import ExtrapulmonaryFinding, draw_extrapulmonary
from overread.phantom.findings.lookalikes import draw_lookalikes
from overread.phantom.findings.measure import measure_finding
from overread.phantom.findings.scan import DrawnFinding, Entity, Scan
from overread.phantom.population import FindingPlan, Mix, seed_for
from overread.phantom.statement import FindingStatement
from overread.phantom.words.lexicon import Style
from overread.phantom.words.sentences import FindingSentence, write_sentence

Size = Literal["small", "full"]
VOXEL_MM: dict[str, float | None] = {"small": 2.0, "full": None}
"""Millimetres of a voxel's side; None is 512 × 512 × 300 voxels fitted to the patient."""


class PatientSettings(Record):
    """Everything that changes a patient, besides his number."""

    seed: int = 0
    """Another seed, another population."""
    size: Size = "small"
    """Voxels of 2 mm, or 512 × 512 × 300 of them."""
    difficulty: Literal["easy", "medium", "hard"] = "medium"
    """How hard the findings are to see."""
    mix: Mix = "real"
    """Categories as often as in the real data set, all alike, or what the illness brings."""
    wordings: Literal["common", "held-out"] = "common"
    """Which of the wordings are used: the four fifths, or the fifth that is held out."""
    style: Style | Literal["mixed"] = "mixed"
    """Whose manner the sentences have; mixed draws one for each patient."""


@dataclass(frozen=True)
class PatientFinding:
    """One finding of lung or pleura: its statement, its sentence, its voxels."""

    statement: FindingStatement
    sentence: FindingSentence
    entities: tuple[Entity, ...]


@dataclass(frozen=True)
class Visit:
    """One patient on one day, before the scanner's noise."""

    number: int
    settings: PatientSettings
    body: Body
    scan: Scan
    """The canvas with clean HU and labels, and which voxels findings hold."""
    drawn_findings: tuple[DrawnFinding, ...]
    """The findings as they were drawn; `drawn[n].plan` says which plan each one is."""
    findings: tuple[PatientFinding, ...]
    """The same findings, measured and in words."""
    extrapulmonary: tuple[ExtrapulmonaryFinding, ...]
    shadows: Shadows
    """What each adds to the beam's way: 'finding-0', 'beyond-lymph nodes', 'look-alikes'."""
    spurs: float
    """Millimetres that the vertebrae's edges stand out."""


class PatientBody:
    """One patient whose body is made, and who may be examined on several days."""

    def __init__(self, number: int, settings: PatientSettings, body: Body, *, spurs: float) -> None:
        """The body, and how far the spurs of its vertebrae stand out."""
        self.number, self.settings, self.body, self.spurs = number, settings, body, spurs
        self._canvas: Canvas | None = None

    def draw_visit(
        self,
        plans: Sequence[FindingPlan],
        beyond: Sequence[str],
        rng: np.random.Generator,
        words: np.random.Generator,
        style: Style,
        *,
        last: bool = True,
    ) -> Visit:
        """Draw a day: `rng` is that of what lies beyond the lung, `words` that of the sentences.

        With `last` the body is not kept for another day, which saves a copy of it.
        """
        seed, number = self.settings.seed, self.number
        if self._canvas is None:
            step = VOXEL_MM[self.settings.size]
            self._canvas = self.body.draw(self.body.make_grid(step), spurs=self.spurs)
        canvas = self._canvas if last else self._canvas.copy()
        if last:
            self._canvas = None
        scan = Scan(self.body, canvas, find_difficulty(self.settings.difficulty))
        shadows = Shadows(canvas)
        others = draw_extrapulmonary(
            scan, rng, list(beyond), on_drawn=lambda name: shadows.record(f"beyond-{name}")
        )
        draw_lookalikes(scan, np.random.default_rng(seed_for(seed, number, "look-alikes")))
        shadows.record("look-alikes")
        drawn = draw_findings(
            scan,
            plans,
            lambda *which: seed_for(seed, number, *which),
            on_drawn=lambda n: shadows.record(f"plan-{n}"),
        )
        shadows.rename_keys({f"plan-{one.plan}": f"finding-{n}" for n, one in enumerate(drawn)})
        statements = [measure_finding(scan, one) for one in drawn]
        sentences = _write_sentences(statements, words, style, self.settings)
        return Visit(
            number=number,
            settings=self.settings,
            body=self.body,
            scan=scan,
            drawn_findings=tuple(drawn),
            findings=tuple(
                PatientFinding(s, said, tuple(one.entities))
                for s, said, one in zip(statements, sentences, drawn, strict=True)
            ),
            extrapulmonary=others,
            shadows=shadows,
            spurs=self.spurs,
        )


def draw_style(settings: PatientSettings, rng: np.random.Generator) -> Style:
    """Whose manner a patient's sentences have."""
    if settings.style != "mixed":
        return settings.style
    return "translated" if rng.random() < 0.3 else "radiologist"


def _write_sentences(
    statements: Sequence[FindingStatement],
    words: np.random.Generator,
    style: Style,
    settings: PatientSettings,
) -> list[FindingSentence]:
    categories = [s.category for s in statements]
    return [
        # Where two findings are of one category only their places tell them apart.
        write_sentence(
            s,
            words,
            style=style,
            held_out=settings.wordings == "held-out",
            name_place=True if categories.count(s.category) > 1 else None,
            lobe_wise=categories.count(s.category) > 1,
        )
        for s in statements
    ]
