"""The chain of thought: its boxes hold each other, its words say no more than the statement."""

from __future__ import annotations

import numpy as np
import pytest

from overread.phantom.exams.anatomical_chain import (
    ChainStep,
    VoxelBox,
    build_chain,
    enclosing_box,
    find_structure_boxes,
    label_boxes,
)
from overread.phantom.findings.scan import Entity
from overread.phantom.patient import Patient, PatientFinding, PatientSettings, make_patient
from overread.phantom.statement import FindingStatement
from tests.phantom.fake_patients import entity, fake_patient, finding


def chain_of(patient: Patient, number: int = 0) -> list[ChainStep]:
    """The chain of one finding of a patient."""
    one = patient.findings[number]
    boxes = [box for box in label_boxes(patient.labels(number), len(one.entities)) if box]
    return build_chain(patient, find_structure_boxes(patient), one, boxes)


def inside(box: VoxelBox, around: VoxelBox) -> bool:
    """Whether a box lies within another one."""
    return enclosing_box([box, around]) == around


def hold_each_other(steps: list[ChainStep]) -> bool:
    """Whether every step lies within those that it is reached from."""
    return all(
        inside(step.box, enclosing_box(steps[number].box for number in step.within))
        for step in steps[1:]
    )  # fmt: skip


def made(statement: FindingStatement, *entities: Entity) -> list[ChainStep]:
    """The chain of such a finding."""
    return chain_of(fake_patient(1, PatientSettings(), finding(statement, *entities)))


def test_a_nodule_in_a_segment() -> None:
    """Five steps, each with the box of its own structure; the lesion has that of its mask."""
    steps = chain_of(fake_patient(1, PatientSettings()))
    assert [step.level for step in steps] == ["scan", "lung", "lobe", "segment", "lesion"]
    assert [step.within for step in steps] == [(), (0,), (1,), (2,), (3,)]
    assert [step.structure for step in steps[1:4]] == [
        "right lung",
        "right lower lobe",
        "posterior basal segment of the right lower lobe",
    ]
    assert steps[0].box == (0, 0, 0, 40, 20, 30)
    assert steps[1].box == (4, 4, 4, 16, 16, 28)
    assert steps[2].box == (4, 10, 4, 16, 16, 20)
    assert steps[3].box == (4, 10, 4, 16, 16, 12)
    assert steps[4].entities == (steps[4].box,)
    assert "30 mm" in steps[4].text
    assert hold_each_other(steps)


def test_both_lungs_have_a_step_each() -> None:
    """Lungs, then lobes, each within its own lung; the lesion within all of the lobes."""
    statement = FindingStatement(category="1c", kind="centrilobular", side="both", lobes=("RUL", "LUL"))
    steps = made(statement, entity((22, 25), (6, 9), (6, 9)), entity((22, 25), (6, 9), (28, 31)))
    assert [(step.level, step.within) for step in steps] == [
        ("scan", ()),
        ("lung", (0,)),
        ("lung", (0,)),
        ("lobe", (1,)),
        ("lobe", (2,)),
        ("lesion", (3, 4)),
    ]
    assert steps[-1].entities == ((6, 6, 22, 9, 9, 25), (28, 6, 22, 31, 9, 25))
    assert hold_each_other(steps)


def test_what_reaches_over_a_border_widens_the_boxes() -> None:
    """A few voxels in the lobe above: the lobe's box, and all around it, hold them too."""
    statement = FindingStatement(
        category="2b", kind="consolidation", side="right", lobes=("RLL",), segments=("RS10",)
    )
    steps = made(statement, entity((5, 13), (9, 15), (3, 9)))
    assert [step.box for step in steps[1:]] == [
        (3, 4, 4, 16, 16, 28),
        (3, 9, 4, 16, 16, 20),
        (3, 9, 4, 16, 16, 13),
        (3, 9, 5, 9, 15, 13),
    ]
    assert hold_each_other(steps)


@pytest.mark.parametrize(("side", "count"), [("left", 1), ("both", 2)])
def test_pleura(side: str, count: int) -> None:
    """A pleural finding goes by the pleural spaces, of which the lungs are a part."""
    fluid = (entity((3, 6), (8, 18), (26, 38)), entity((3, 6), (8, 18), (2, 12)))[:count]
    steps = made(FindingStatement(category="2e", kind="effusion", side=side, count=count), *fluid)
    assert [step.level for step in steps] == ["scan", *["pleura"] * count, "lesion"]
    assert steps[count].structure == "left pleural space"
    assert steps[count].box == (24, 4, 3, 38, 18, 28)
    assert hold_each_other(steps)


def test_words_come_from_the_statement_alone() -> None:
    """Another place of the voxels leaves the words as they are; another statement does not."""
    statement = FindingStatement(category="2h", kind="cavity", side="right", lobes=("RUL",), size_mm=21)
    here, there = (made(statement, entity((22, 25), (6, 9), (x, x + 3))) for x in (5, 9))
    assert [step.text for step in here] == [step.text for step in there]
    assert here[-1].box != there[-1].box
    marked = statement.model_copy(update={"severity": "mild", "traits": ("thick-walled",)})
    assert made(marked, entity((22, 25), (6, 9), (5, 8)))[-1].text == (
        "Here it is: cavity, 21 mm in longest axis, mild, thick-walled."
    )


def check_patient(patient: Patient) -> set[str]:
    """Hold every chain of a patient against his label arrays; the levels that came up."""
    levels: set[str] = set()
    for number, one in enumerate(patient.findings):
        steps = chain_of(patient, number)
        levels |= {step.level for step in steps}
        assert hold_each_other(steps)
        k, j, i = np.nonzero(patient.labels(number))
        low, high = (i.min(), j.min(), k.min()), (i.max() + 1, j.max() + 1, k.max() + 1)
        assert steps[-1].box == (*low, *high)
        assert _places(steps) == _stated(one)
    return levels


def _places(steps: list[ChainStep]) -> tuple[int, int]:
    return tuple(sum(step.level == level for step in steps) for level in ("lobe", "segment"))  # type: ignore[return-value]


def _stated(one: PatientFinding) -> tuple[int, int]:
    return len(one.statement.lobes), len(one.statement.segments)


def test_a_real_patient() -> None:
    """The chains of a patient as they are made."""
    assert "lesion" in check_patient(make_patient(5, PatientSettings()))


@pytest.mark.slow
def test_many_real_patients() -> None:
    """All categories, and every level of a chain."""
    levels: set[str] = set()
    categories: set[str] = set()
    for number in range(1, 31):
        patient = make_patient(number, PatientSettings(seed=3, mix="even"))
        levels |= check_patient(patient)
        categories |= {one.statement.category for one in patient.findings}
    assert levels == {"scan", "pleura", "lung", "lobe", "segment", "lesion"}
    assert len(categories) == 14
