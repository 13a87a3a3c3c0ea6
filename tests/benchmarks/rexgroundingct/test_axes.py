"""Why a mask does not fit its CT: the advice that is given, and when none is."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import overread
from overread.benchmarks.rexgroundingct.axes import describe_misfit, describe_orientation
from overread.benchmarks.rexgroundingct.submission import read_submission
from overread.core import Geometry, Release
from overread.pixels.nifti import write_volume

ONE, TWO = "test_3_a_1.nii.gz", "test_4_a_1.nii.gz"
SHAPE = (2, 96, 72, 64)


@pytest.fixture
def release(sketch: Path) -> Release:
    """Two scans with one and two findings."""
    return overread.load("rexgroundingct", sketch / "rexgroundingct")


@pytest.fixture
def folder(sketch: Path, tmp_path: Path) -> Path:
    """A perfect submission, to be broken."""
    target = tmp_path / "mine"
    target.mkdir()
    for name in (ONE, TWO):
        shutil.copy(sketch / "rexgroundingct" / "segmentations" / name, target / name)
    return target


@pytest.fixture
def space(release: Release) -> Geometry:
    """Where the voxels of the scans lie."""
    return release.pictures.geometry(next(iter(release)).pictures[0])


@settings(max_examples=60)
@given(
    order=st.permutations(range(4)),
    ct=st.tuples(st.integers(2, 5), st.integers(2, 5), st.integers(2, 5)),
    findings=st.integers(1, 4),
)
def test_the_transposition_that_is_advised_fits(
    order: list[int], ct: tuple[int, int, int], findings: int
) -> None:
    """Whatever way the axes were swapped, the first remedy gives the official shape."""
    shape = tuple((findings, *ct)[axis] for axis in order)
    if shape in ((findings, *ct), (*ct, findings)):
        return
    _, remedy = describe_misfit(shape, ct, findings)
    mask = np.zeros(shape)
    for way in remedy.removeprefix("write ").split(" or "):
        axes = tuple(int(n) for n in way.partition("(mask, (")[2].rstrip(")").split(","))
        assert np.transpose(mask, axes).shape == (findings, *ct)


def test_square_slices_leave_two_ways() -> None:
    """Where H and W are equal, both ways that fit are told."""
    what, remedy = describe_misfit((3, 300, 512, 512), (512, 512, 300), 3)
    assert "(F, D, W, H)" in what
    assert "(F, D, H, W)" in what
    assert remedy.count("np.transpose") == 2


def test_headers_that_say_nothing_are_left_alone(release: Release, folder: Path, space: Geometry) -> None:
    """An identity, no affine at all and a nonsensical one give no warning; swapped axes do."""
    ct = np.asarray(space.affine)
    for affine in (np.eye(4), np.zeros((4, 4)), np.full((4, 4), np.nan), ct):
        assert describe_orientation(affine, SHAPE, space) is None
    write_volume(folder / TWO, np.zeros(SHAPE, np.uint8), np.eye(4))
    raw = bytearray(gzip.decompress((folder / TWO).read_bytes()))
    raw[252:256] = b"\0\0\0\0"  # neither sform nor qform
    (folder / TWO).write_bytes(gzip.compress(bytes(raw)))
    assert read_submission(release, folder).problems == []
    swapped = ct[:, [1, 0, 2, 3]]
    hint = describe_orientation(swapped, SHAPE, space)
    assert hint is not None
    assert "its axes may be swapped" in hint[0]
