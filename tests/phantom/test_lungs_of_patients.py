"""The classical lung segmentation, which was made on real CTs, works on the phantom too."""

from __future__ import annotations

import numpy as np
import pytest

from overread.phantom.body.lungs import LOBES
from overread.phantom.patient import PatientSettings, make_patient
from overread.pixels.lungs import find_lungs


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 6))])
def test_lungs_are_found_where_they_were_drawn(number: int) -> None:
    patient = make_patient(number, PatientSettings(seed=31))
    found = find_lungs(patient.hu.transpose(2, 1, 0), patient.geometry)
    lobes = patient.lobes.transpose(2, 1, 0)
    hu = patient.hu.transpose(2, 1, 0)
    for side, mask in (("R", found.right), ("L", found.left)):
        own = np.isin(lobes, [n for n, code in enumerate(LOBES, 1) if code[0] == side])
        # It finds lung that holds air; a consolidation at the pleura is left out, as on real CTs.
        aired = own & (hu < -400)
        dice = 2 * (mask & own).sum() / (mask.sum() + own.sum())
        assert dice > 0.96, f"{side}: {dice:.3f}"
        assert (mask & aired).sum() > 0.95 * aired.sum()
