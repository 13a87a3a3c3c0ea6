"""Orientation to RAS and back, against nibabel."""

from __future__ import annotations

import itertools

import nibabel as nib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.core import Geometry
from overread.errors import PictureError
from overread.pixels.geometry import (
    from_ras,
    make_geometry,
    ras_geometry,
    to_ras,
    voxel_to_world,
    world_to_voxel,
)
from overread.pixels.planes import extract_slice, resample_square, slice_count

CODES = [
    "".join(letters)
    for order in itertools.permutations(("RL", "AP", "SI"))
    for letters in itertools.product(*order)
]


def placed(code: str, shape: tuple[int, int, int], seed: int = 0) -> Geometry:
    """A slightly oblique geometry whose axes point as the code says."""
    rng = np.random.default_rng(seed)
    flips = nib.orientations.axcodes2ornt(code)
    matrix = np.eye(4)
    for stored, (axis, sign) in enumerate(flips):
        matrix[:3, stored] = 0
        matrix[int(axis), stored] = sign * rng.uniform(0.5, 3)
    tilt = np.eye(4)
    angle = rng.uniform(-0.2, 0.2)
    tilt[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    matrix = tilt @ matrix
    matrix[:3, 3] = rng.uniform(-200, 200, 3)
    return make_geometry(shape, matrix, where="test")


@pytest.mark.parametrize("code", CODES)
def test_ras_is_what_nibabel_calls_closest_canonical(code: str) -> None:
    """All 48 axis orders: voxels and affine equal nibabel's, and the way back loses nothing."""
    volume = np.arange(4 * 5 * 6, dtype=np.int16).reshape(4, 5, 6)
    space = placed(code, (4, 5, 6), seed=CODES.index(code))
    assert space.axes == code
    peer = nib.as_closest_canonical(nib.Nifti1Image(volume, np.array(space.affine)))
    np.testing.assert_array_equal(to_ras(volume, space), np.asarray(peer.dataobj))
    np.testing.assert_allclose(ras_geometry(space).affine, peer.affine, atol=1e-9)
    assert ras_geometry(space).axes == "RAS"
    np.testing.assert_array_equal(from_ras(to_ras(volume, space), space), volume)


@given(st.sampled_from(CODES), st.tuples(*[st.integers(1, 6)] * 3), st.integers(0, 1000))
def test_there_and_back_is_the_identity(code: str, shape: tuple[int, int, int], seed: int) -> None:
    """Any shape, any orientation: from_ras(to_ras(v)) is v, and points map back to indices."""
    space = placed(code, shape, seed)
    volume = np.random.default_rng(seed).integers(0, 255, shape)
    np.testing.assert_array_equal(from_ras(to_ras(volume, space), space), volume)
    index = (0.5, 1.25, 2.0)
    assert world_to_voxel(space, voxel_to_world(space, index)) == pytest.approx(index, abs=1e-6)


@pytest.mark.parametrize(
    "affine",
    [np.zeros((4, 4)), np.full((4, 4), np.nan), np.eye(3), np.ones((4, 4))],
    ids=["zero", "nan", "3×3", "flat"],
)
def test_an_affine_that_places_nothing_is_refused(affine: np.ndarray) -> None:
    """Zero, NaN, singular and misshapen affines are one clear error."""
    with pytest.raises(PictureError, match="affine"):
        make_geometry((2, 2, 2), affine, where="scan.nii.gz")


def test_an_array_of_another_shape_is_refused() -> None:
    """A mask of one CT cannot be turned with the geometry of another."""
    space = placed("LPS", (4, 5, 6))
    with pytest.raises(PictureError, match="does not belong"):
        to_ras(np.zeros((6, 5, 4)), space)


def test_planes_are_shown_as_radiologists_see_them() -> None:
    """Right on the left, front at the top, head at the top: told by single bright voxels."""
    space = make_geometry((5, 5, 5), np.diag([-1.0, -1.0, 1.0, 1.0]), where="LPS")
    volume = np.zeros((5, 5, 5), np.uint8)
    # In LPS, index 0 is the patient's right, 0 the front, 4 the head.
    volume[0, 2, 2], volume[2, 0, 2], volume[2, 2, 4] = 1, 2, 3
    axial = extract_slice(volume, space, "axial", 2)
    assert axial[2, 0] == 1
    assert axial[0, 2] == 2
    coronal = extract_slice(volume, space, "coronal", 2)
    assert coronal[2, 0] == 1
    assert coronal[0, 2] == 3
    sagittal = extract_slice(volume, space, "sagittal", 2)
    assert sagittal[2, 0] == 2
    assert sagittal[0, 2] == 3


def test_pixels_become_square() -> None:
    """A coronal slice of thick slices is stretched to its true height."""
    space = make_geometry((10, 8, 4), np.diag([1.0, 1.0, 5.0, 1.0]), where="test")
    assert slice_count(space, "axial") == 4
    picture = resample_square(np.zeros((4, 10), np.uint8), space, "coronal", longest=40, smooth=True)
    assert picture.shape == (40, 20)
