"""The embedded reader on CTs: a chest made by hand, phantom patients, real ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage

import overread
from overread.core import Case, Geometry, Mask, Query, Reading, Slices, Volume
from overread.phantom.baseline import baseline_mask
from overread.phantom.patient import Patient, PatientSettings, make_patient
from overread.pixels.geometry import from_ras, make_geometry, to_ras
from overread.pixels.masks import read_channel
from overread.readers.atlas import make
from overread.readers.atlas.ct.chest import ChestCt, find_chest
from overread.readers.atlas.ct.lobes import LOBES
from overread.readers.atlas.ct.morphology import dilate, erode


class OneCT:
    """Opens one volume."""

    def __init__(self, voxels: NDArray[Any], space: Geometry) -> None:
        self.voxels, self.space = voxels, space

    def data(self, picture: Any) -> bytes:
        """Nobody asks."""
        raise NotImplementedError

    def pixels(self, picture: Any) -> NDArray[Any]:
        """The voxels as stored."""
        return self.voxels

    def geometry(self, picture: Any) -> Geometry:
        """Where they lie."""
        return self.space


def read(ct: OneCT, *texts: str) -> tuple[Reading, list[Any]]:
    """The reading of some sentences in a CT."""
    queries = tuple(Query(id=str(n), text=text) for n, text in enumerate(texts))
    case = Case(
        id="case_1", benchmark="rexgroundingct", split="test", pictures=(Volume(name="ct"),), queries=queries
    )
    return make({}).compute_reading(case, ct, seed=0)


def dice(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Twice what two masks share over what both have."""
    return float(2 * (a & b).sum() / max(1, a.sum() + b.sum()))


# ---- a chest made by hand ------------------------------------------------------------------


def ellipsoid(
    shape: tuple[int, int, int], centre: tuple[float, ...], radii: tuple[float, ...]
) -> NDArray[np.bool_]:
    """The voxels within an ellipsoid."""
    axes = np.ogrid[tuple(slice(0, n) for n in shape)]
    parts = [((a - c) / r) ** 2 for a, c, r in zip(axes, centre, radii, strict=True)]
    inside: NDArray[np.bool_] = parts[0] + parts[1] + parts[2] <= 1
    return inside


@pytest.fixture(scope="module")
def plain() -> tuple[NDArray[np.int16], Geometry]:
    """A body with two even lungs and a trachea, voxels of 2 mm, stored RAS."""
    shape = (150, 110, 110)
    rng = np.random.default_rng(5)
    hu = np.full(shape, -1000.0)
    hu[ellipsoid(shape, (75, 55, 55), (72, 50, 400))] = 40
    for x in (110, 40):
        hu[ellipsoid(shape, (x, 55, 55), (28, 40, 48))] = -850
    hu[ellipsoid(shape, (75, 60, 110), (4.5, 4.5, 45))] = -1000
    hu += rng.normal(0, 15, shape)
    return hu.astype(np.int16), make_geometry(shape, np.diag([2.0, 2.0, 2.0, 1.0]), where="a test")


def test_a_nodule_in_an_even_lung(plain: tuple[NDArray[np.int16], Geometry]) -> None:
    """A ball of 12 mm is found on the side that the sentence names, not its twin on the other."""
    hu, space = plain
    hu = hu.copy()
    right = ellipsoid(hu.shape, (112, 50, 60), (3, 3, 3))
    left = ellipsoid(hu.shape, (38, 50, 60), (3, 3, 3))
    hu[right | left] = 40
    _, (one, other) = read(
        OneCT(hu, space), "A 12 mm solid nodule in the right lung", "A 12 mm solid nodule in the left lung"
    )
    assert dice(one, right) > 0.8
    assert not (one & left).any()
    assert dice(other, left) > 0.8
    assert not (other & right).any()


def test_haze_is_told_from_solid(plain: tuple[NDArray[np.int16], Geometry]) -> None:
    """Ground glass is marked for its sentence, and the consolidation beside it for its own."""
    hu, space = plain
    hu = hu.copy()
    haze = ellipsoid(hu.shape, (112, 55, 75), (12, 12, 12))
    solid = ellipsoid(hu.shape, (112, 55, 35), (10, 10, 10))
    hu[haze] += 250
    hu[solid] = 30
    _, (hazy, dense) = read(
        OneCT(hu, space), "Ground-glass opacity in the right lung", "Consolidation in the right lung"
    )
    assert dice(hazy, haze) > 0.8
    assert dice(dense, solid) > 0.8
    assert not (dense & haze).any()


def test_collapsed_lung_at_the_back(plain: tuple[NDArray[np.int16], Geometry]) -> None:
    """A plate of airless lung between lung and ribs is marked, though no air is behind it."""
    hu, space = plain
    hu = hu.copy()
    for x in (110, 40):
        lung = ellipsoid(hu.shape, (x, 55, 55), (28, 40, 48))
        around = ellipsoid(hu.shape, (x, 55, 55), (32, 44, 52)) & ~ellipsoid(
            hu.shape, (x, 55, 55), (30, 42, 50)
        )
        # Ribs: every second centimetre of a shell around the lung.
        hu[around & (np.arange(hu.shape[2]) // 4 % 2 == 0) & (hu > -500)] = 500
        if x == 110:
            plate = lung & (np.arange(hu.shape[1])[None, :, None] < 27)
            plate &= (np.arange(hu.shape[2]) > 35) & (np.arange(hu.shape[2]) < 70)
    hu[plate] = 38
    _, (mark,) = read(OneCT(hu, space), "Dependent atelectasis in the right lung")
    assert dice(mark, plate) > 0.7


def test_a_plate_is_told_from_vessels(plain: tuple[NDArray[np.int16], Geometry]) -> None:
    """Band atelectasis is the plate, not the larger tube beside it."""
    hu, space = plain
    hu = hu.copy()
    x, y, z = np.ogrid[tuple(slice(0, n) for n in hu.shape)]
    plate = (abs(x - 112) < 9) & (abs(y - 50) < 9) & (abs(z - 40) < 1.5)
    tube = ((x - 108) ** 2 + (y - 62) ** 2 < 9) & (abs(z - 62) < 16)
    hu[plate] = 0
    hu[tube] = 40
    _, (mark,) = read(OneCT(hu, space), "Band atelectasis in the right lung")
    assert dice(mark, plate) > 0.6
    assert not (mark & tube).any()


def test_a_small_tumour_is_no_mass(plain: tuple[NDArray[np.int16], Geometry]) -> None:
    """Of a ball of 12 mm and one of 48 mm, the word small takes the one, a mass the other."""
    hu, space = plain
    hu = hu.copy()
    small = ellipsoid(hu.shape, (112, 45, 75), (3, 3, 3))
    large = ellipsoid(hu.shape, (110, 58, 42), (12, 12, 12))
    hu[small | large] = 40
    _, (one, other) = read(OneCT(hu, space), "Small tumour in the right lung", "Mass in the right lung")
    assert dice(one, small) > 0.7
    assert dice(other, large) > 0.7


def test_the_foot_of_a_lung_is_lower_lobe(plain: tuple[NDArray[np.int16], Geometry]) -> None:
    """Where only the lowest part of the lungs is in the picture, most of it is lower lobe."""
    hu, _ = plain
    foot = np.ascontiguousarray(hu[:, :, :30])
    space = make_geometry(foot.shape, np.diag([2.0, 2.0, 2.0, 1.0]), where="a test")
    found = find_chest(foot, space)
    assert found is not None
    lower = np.isin(found.lobes, [LOBES.index(code) + 1 for code in ("RLL", "LLL")])
    assert lower.sum() > 0.6 * (found.lobes > 0).sum()


@pytest.mark.parametrize("mm", [2.1, 3.5, 6.0, 10.0])
@pytest.mark.parametrize("spacing", [(2.0, 2.0, 2.0), (1.9, 1.9, 3.0), (3.0, 3.0, 10.0)])
def test_growing_is_by_distance(mm: float, spacing: tuple[float, float, float]) -> None:
    """Grown and shrunk masks are what the distances to the mask and its edge say."""
    mask = np.random.default_rng(3).random((24, 20, 18)) > 0.97
    far = ndimage.distance_transform_edt(~mask, sampling=spacing)
    assert np.array_equal(dilate(mask, mm, spacing), far <= mm)
    assert np.array_equal(erode(~mask, mm, spacing), far > mm)


def test_an_empty_lung_is_left_alone(plain: tuple[NDArray[np.int16], Geometry]) -> None:
    """Where nothing stands out nothing is marked, and the conclusion says so."""
    reading, masks = read(
        OneCT(*plain), "Ground-glass opacity in the left lung", "Fracture of the seventh rib"
    )
    assert not any(mask.any() for mask in masks)
    assert reading.trace is not None
    assert "othing" in reading.trace.steps[-2].text


# ---- phantom patients ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def patients() -> list[Patient]:
    """Two patients that nothing was set by."""
    settings = PatientSettings(seed=4242, mix="real")
    return [make_patient(number, settings) for number in (1, 2)]


def ct_of(patient: Patient) -> OneCT:
    """The patient's CT as a file stores it; the phantom's arrays are (z, y, x)."""
    return OneCT(np.ascontiguousarray(patient.hu.transpose(2, 1, 0)), patient.geometry)


@pytest.fixture(scope="module")
def readings(patients: list[Patient]) -> list[tuple[Reading, list[Any]]]:
    """Their readings."""
    return [
        read(ct_of(patient), *(finding.sentence.text for finding in patient.findings)) for patient in patients
    ]


@pytest.fixture(scope="module")
def chest(patients: list[Patient]) -> ChestCt:
    """What is found of the first patient's chest."""
    ct = ct_of(patients[0])
    found = find_chest(ct.voxels, ct.space)
    assert found is not None
    return found


@pytest.mark.slow
def test_better_than_a_band_of_hu(patients: list[Patient], readings: list[tuple[Reading, list[Any]]]) -> None:
    """Over the findings of a few patients it marks better than the plain baseline."""
    own, plain = [], []
    for patient, (_, masks) in zip(patients, readings, strict=True):
        for n, finding in enumerate(patient.findings):
            truth = patient.labels(n) > 0
            band = baseline_mask(
                patient.hu, patient.lobes, patient.organs, finding.statement, finding.sentence.said
            )
            own.append(dice(masks[n].transpose(2, 1, 0), truth))
            plain.append(dice(band, truth))
    assert np.mean(own) > np.mean(plain) + 0.1


@pytest.mark.slow
def test_every_conclusion_has_its_steps(
    patients: list[Patient], readings: list[tuple[Reading, list[Any]]]
) -> None:
    """The lungs come first; each sentence ends in a conclusion with its own mask."""
    for patient, (reading, masks) in zip(patients, readings, strict=True):
        assert reading.trace is not None
        assert reading.findings is not None
        steps = reading.trace.steps
        assert " ml" in steps[0].text
        assert "HU" in steps[0].text
        ends = [step for step in steps if step.kind == "conclude"]
        assert len(ends) == len(masks) == len(patient.findings) == len(reading.findings)
        for channel, (end, finding) in enumerate(zip(ends, reading.findings, strict=True)):
            assert end.regions == finding.regions
            assert isinstance(end.regions[0], Mask)
            assert end.regions[0].channel == channel
            assert finding.category == patient.findings[channel].statement.category
        depth = patient.hu.shape[0]
        looks = [r for step in steps for r in step.regions if isinstance(r, Slices)]
        assert looks
        assert all(0 <= r.first <= r.last < depth for r in looks)


@pytest.mark.slow
def test_the_stored_order_does_not_matter(
    patients: list[Patient], readings: list[tuple[Reading, list[Any]]]
) -> None:
    """The same CT stored in other axes gives the same voxels, and the same again the next time."""
    ct = ct_of(patients[1])
    flipped = np.ascontiguousarray(to_ras(ct.voxels, ct.space).transpose(2, 0, 1)[::-1])
    affine = np.zeros((4, 4))
    # Stored first along z from the head, then x to the right, then y to the front.
    affine[2, 0], affine[0, 1], affine[1, 2], affine[3, 3] = -2, 2, 2, 1
    n, x, y = flipped.shape
    space = make_geometry((n, x, y), affine, where="a test")
    text = patients[1].findings[0].sentence.text
    _, (mask,) = read(OneCT(flipped, space), text)
    again = from_ras(np.ascontiguousarray(to_ras(mask, space)), ct.space)
    assert np.array_equal(again, readings[1][1][0])


def test_lobes_lie_where_they_are(patients: list[Patient], chest: ChestCt) -> None:
    """All five lobes are found within the tolerance of fitted fissures."""
    truth = patients[0].lobes.transpose(2, 1, 0)
    found = [dice(chest.to_stored(chest.lobes == n), truth == n) for n in range(1, len(LOBES) + 1)]
    assert min(found) > 0.6
    assert np.mean(found) > 0.8


def test_rooms_hold_the_lungs(patients: list[Patient], chest: ChestCt) -> None:
    """The rooms of the lungs are not much more than the lungs where these are healthy."""
    truth = patients[0].lobes.transpose(2, 1, 0) > 0
    assert dice(chest.to_stored(chest.lung_spaces), truth) > 0.95
    assert 5 < chest.volume(chest.airways) < 150


# ---- real CTs ------------------------------------------------------------------------------


@pytest.mark.shared
def test_real_lungs_are_marked(shared: Path) -> None:
    """Every real CT is read, and sentences that name a lung are answered with it: Dice over .95."""
    release = overread.load("rexgroundingct", shared / "ct", "val")
    seen = 0
    for entry in release.entries():
        reading, masks = make({}).compute_reading(entry.case, release.pictures, seed=0)
        assert reading.trace is not None
        assert len(masks) == len(entry.case.queries)
        assert entry.truth is not None
        space = release.pictures.geometry(entry.case.pictures[0])
        for mask, finding in zip(masks, entry.truth.findings, strict=True):
            words = finding.text.lower()
            (region,) = finding.regions
            assert isinstance(region, Mask)
            if "lung" not in words or "lobe" in words or "tumour" in words:
                continue
            source = release.source(region.file)
            truth = read_channel(source, region.channel, space.shape, region.channels) > 0
            assert dice(mask, truth) > 0.95, (entry.case.id, words)
            seen += 1
    assert seen >= 4
