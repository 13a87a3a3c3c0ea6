"""Patients with findings of known size and place: balls of soft tissue in otherwise sound lungs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from overread.phantom.body.anatomy import Body
from overread.phantom.body.boxes import to_outer
from overread.phantom.difficulty import find_difficulty
from overread.phantom.film.shadows import Shadows
from overread.phantom.findings.extrapulmonary import ExtrapulmonaryFinding
from overread.phantom.findings.measure import measure_finding
from overread.phantom.findings.scan import DrawnFinding, Entity, Scan, bounding_box
from overread.phantom.population import seed_for
from overread.phantom.statement import EXTRAPULMONARY, FindingStatement
from overread.phantom.visit import PatientFinding, PatientSettings, Visit
from overread.phantom.words.sentences import FindingSentence

Ball = tuple[tuple[float, float, float], float]
"""Middle in template millimetres, and diameter in those of the patient."""


def body_of(number: int, differs: Mapping[str, Any] | None = None) -> Body:
    """The body of a patient of a population that no other test draws."""
    return Body(seed_for(31, number, "body"), differs)


def visit_with(
    number: int,
    findings: Sequence[Sequence[Ball]] = (),
    *,
    beyond: Sequence[str] = (),
    differs: Mapping[str, Any] | None = None,
    spurs: float = 0.0,
    step: float = 2.0,
) -> Visit:
    """A patient whose findings are balls, and who is said to have things beyond the lung."""
    body = body_of(number, differs)
    canvas = body.draw(body.make_grid(step), spurs=spurs)
    scan = Scan(body, canvas, find_difficulty("medium"))
    shadows = Shadows(canvas)
    drawn = []
    for n, balls in enumerate(findings):
        entities = []
        for place, diameter in balls:
            centre = body.habitus.to_patient(np.array(place))
            cut = scan.box_around(centre, diameter / 2 + 2 * step)
            assert cut is not None
            x, y, z = scan.coordinates(cut)
            far = np.sqrt((x - centre[0]) ** 2 + (y - centre[1]) ** 2 + (z - centre[2]) ** 2)
            depth = (np.float32(diameter / 2) - far).astype(np.float32)
            scan.blend(cut, scan.soft_cover(depth), 30.0)
            mask = depth > 0
            inner = bounding_box(mask)
            assert inner is not None
            entities.append(Entity(to_outer(cut, inner), mask[inner]))
        shadows.record(f"finding-{n}")
        drawn.append(DrawnFinding("2d", "solid", entities, countable=True, sized=True, plan=n))
    said = FindingSentence(text="", wording="", said=())
    others = [
        ExtrapulmonaryFinding(FindingStatement(category=EXTRAPULMONARY[name], kind=name), (0.0, 0.0, 0.0))
        for name in beyond
    ]
    return Visit(
        number=number,
        settings=PatientSettings(seed=31),
        body=body,
        scan=scan,
        drawn_findings=tuple(drawn),
        findings=tuple(
            PatientFinding(measure_finding(scan, one), said, tuple(one.entities)) for one in drawn
        ),
        extrapulmonary=tuple(others),
        shadows=shadows,
        spurs=spurs,
    )
