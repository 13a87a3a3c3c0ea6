"""The plain baseline: what it marks, and that `medium` leaves it between .15 and .30."""

from __future__ import annotations

import numpy as np
import pytest

from overread.phantom.baseline import BANDS, baseline_mask, dice_score
from overread.phantom.body.lungs import LOBES
from overread.phantom.patient import PatientSettings, make_patient
from overread.phantom.statement import KINDS, FindingStatement


def test_it_marks_the_band_in_the_lobes_that_are_named() -> None:
    assert set(BANDS) == set(KINDS)
    hu = np.full((4, 4, 10), 0, np.int16)
    lobes = np.zeros((4, 4, 10), np.uint8)
    for number in range(1, 6):
        lobes[:, :, 2 * number - 2 : 2 * number] = number
    organs = np.where(lobes < 4, 1, 2).astype(np.uint8)
    nodule = FindingStatement(category="2d", kind="solid", side="left", lobes=("LUL",))
    marked = baseline_mask(hu, lobes, organs, nodule, ("side", "lobes"))
    assert (marked == (lobes == LOBES.index("LUL") + 1)).all()
    assert (baseline_mask(hu, lobes, organs, nodule, ("side",)) == (lobes >= 4)).all()
    assert baseline_mask(hu, lobes, organs, nodule, ()).all()
    air = nodule.model_copy(update={"category": "2g", "lobes": ()})
    assert not baseline_mask(hu, lobes, organs, air, ("side",)).any(), "nothing there is air"


def test_dice() -> None:
    a, b = np.array([True, True, False]), np.array([True, False, False])
    assert dice_score(a, b) == pytest.approx(2 / 3)
    assert dice_score(~a & False, ~a & False) == 1


@pytest.mark.slow
def test_medium_is_as_hard_as_it_is_frozen_to_be() -> None:
    scores: list[float] = []
    for number in range(1, 41):
        patient = make_patient(number, PatientSettings(seed=2026))
        for n, finding in enumerate(patient.findings):
            guess = baseline_mask(
                patient.hu, patient.lobes, patient.organs, finding.statement, finding.sentence.said
            )
            scores.append(dice_score(guess, patient.labels(n) > 0))
    assert 0.15 < np.mean(scores) < 0.30
