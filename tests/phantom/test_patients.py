"""Whole patients: what is said of them is what their voxels show, whoever they are.

Everything is measured again here, on its own: lobes and segments by counting labels, sizes by the
distances between voxels, numbers by counting labels.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial import ConvexHull
from scipy.spatial.distance import pdist

from overread.ontology import lung_anatomy
from overread.phantom.body.lungs import LOBES, SEGMENTS
from overread.phantom.patient import Patient, PatientFinding, PatientSettings, make_patient
from overread.phantom.statement import KINDS

# Any seed must do; these were rolled once, so that a failure can be run again.
QUICK = [(40123, 3), (771, 12), (9, 58)]
MANY = [(seed, number) for seed in (1, 22, 333, 4444) for number in range(101, 106)]

WORDS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}


def agree(patient: Patient) -> None:
    """Hold every finding of a patient against its voxels."""
    taken = np.zeros(patient.hu.shape, bool)
    for number, finding in enumerate(patient.findings):
        labels = patient.labels(number)
        inside = labels > 0
        assert not (inside & taken).any(), "no voxel belongs to two findings"
        taken |= inside
        values, counts = np.unique(labels[inside], return_counts=True)
        assert counts.min() >= 10, finding.statement
        assert finding.statement.count == len(values) == len(finding.entities)
        _place(patient, finding, inside)
        _size(patient, finding, labels)
        _words(finding)
    assert patient.findings
    held = [(f.statement.category, lobe) for f in patient.findings for lobe in f.statement.lobes]
    assert len(held) == len(set(held)), "two findings of one category share no lobe"


def _place(patient: Patient, finding: PatientFinding, inside: NDArray[np.bool_]) -> None:
    statement = finding.statement
    held = patient.lobes[inside]
    if statement.lobes:
        named = [LOBES.index(code) + 1 for code in statement.lobes]
        assert np.isin(held, named).mean() >= 0.95, statement
        for lobe in named:
            assert (held == lobe).any(), f"{LOBES[lobe - 1]} is named and holds nothing"
        sides = {lung_anatomy().by_code[code].side for code in statement.lobes}
        assert statement.side == (sides.pop() if len(sides) == 1 else "both")
    else:
        # Fluid and air lie in the pleural space of the side that is named.
        x = (
            np.asarray(patient.geometry.affine)[0, 3]
            + np.asarray(patient.geometry.affine)[0, 0] * (np.nonzero(inside)[2])
        )
        right = float((x > 0).mean())
        assert {"right": right > 0.95, "left": right < 0.05, "both": 0.02 < right < 0.98}[str(statement.side)]
    if statement.segments:
        named = [SEGMENTS.index(code) + 1 for code in statement.segments]
        assert np.isin(patient.segments[inside], named).mean() >= 0.95, statement


def _size(patient: Patient, finding: PatientFinding, labels: NDArray[np.uint8]) -> None:
    stated = finding.statement.size_mm
    if stated is None:
        return
    step = patient.geometry.spacing
    longest = 0.0
    for value in range(1, int(labels.max()) + 1):
        points = np.argwhere(labels == value) * (step[2], step[1], step[0])
        hull = points[ConvexHull(points, qhull_options="QJ").vertices]
        longest = max(longest, float(pdist(hull).max()))
    allowed = max(max(step), 0.1 * stated)
    # From centre to centre, and from edge to edge: both ways of measuring agree with the words.
    assert abs(longest - stated) <= allowed, finding
    assert abs(longest + sum(step) / 3 - stated) <= allowed, finding


def _words(finding: PatientFinding) -> None:
    """Sides, lobes, numbers and sizes that the sentence names are those of the statement."""
    text, statement = finding.sentence.text.lower(), finding.statement
    for side, other in (("right", "left"), ("left", "right")):
        if re.search(rf"\b{side}\b", text) and not re.search(rf"\b{other}\b", text):
            assert statement.side in (side, "both"), text
    if re.search(r"\b(both|bilateral)\b", text):
        assert statement.side == "both", text
    for lobe, letter in (("upper lobe", "U"), ("middle lobe", "M"), ("lower lobe", "L")):
        if lobe in text:
            assert any(code[1] == letter for code in statement.lobes), text
    for word, number in WORDS.items():
        if word != "one" and re.search(rf"\b{word}\b", text):
            assert statement.count == number or statement.size_mm == number, text
    for size, unit in re.findall(r"(\d+(?:\.\d+)?)[ -]?(mm|cm)\b", text):
        assert statement.size_mm is not None
        assert float(size) * (10 if unit == "cm" else 1) == pytest.approx(statement.size_mm)


@pytest.mark.parametrize(
    ("seed", "number"), [QUICK[0], *(pytest.param(*one, marks=pytest.mark.slow) for one in QUICK[1:])]
)
def test_words_and_voxels_agree(seed: int, number: int) -> None:
    agree(make_patient(number, PatientSettings(seed=seed, mix="even")))


@pytest.mark.slow
@pytest.mark.parametrize("difficulty", ["easy", "medium", "hard"])
@pytest.mark.parametrize("block", range(4))
def test_words_and_voxels_agree_in_many(block: int, difficulty: str) -> None:
    seen: set[str] = set()
    for seed, number in MANY[block * 5 : (block + 1) * 5]:
        patient = make_patient(number, PatientSettings(seed=seed, mix="even", difficulty=difficulty))
        agree(patient)
        seen |= {finding.statement.category for finding in patient.findings}
    assert len(seen) >= 6, f"of {len(KINDS)} categories"


@pytest.mark.slow
def test_words_and_voxels_agree_at_full_size() -> None:
    patient = make_patient(5, PatientSettings(seed=17, size="full", mix="even"))
    assert patient.hu.shape == (300, 512, 512)
    agree(patient)


@pytest.mark.slow
def test_a_patient_repeats_and_another_seed_is_another_patient() -> None:
    one, again, other = (make_patient(2, PatientSettings(seed=s)) for s in (5, 5, 6))
    assert (one.hu == again.hu).all()
    assert one.report == again.report
    assert [f.statement for f in one.findings] == [f.statement for f in again.findings]
    assert one.habitus != other.habitus


@pytest.mark.slow
def test_difficulty_changes_the_look_and_not_the_body() -> None:
    easy, hard = (make_patient(4, PatientSettings(seed=8, difficulty=d)) for d in ("easy", "hard"))
    assert easy.habitus == hard.habitus
    assert easy.geometry == hard.geometry
    assert float(easy.hu[:, 0].std()) < float(hard.hu[:, 0].std()), "more noise"
