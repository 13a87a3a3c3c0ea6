"""Mask files as runs, held against nibabel's arrays."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from overread.errors import PictureError, Refused, Truncated
from overread.metrics.masks import voxel_runs as module
from overread.metrics.masks.measure import crop_masks
from overread.metrics.masks.voxel_runs import VoxelRuns, read_runs, unite_masks
from tests.metrics.masks.brute_force import blobs, drawn, save

CT = (13, 11, 7)
CHUNKS = [1, 8, 40, 1000, 4096, 3 << 20]


def painted(runs: VoxelRuns) -> NDArray[np.int_]:
    """The labels of runs as an array, voxel by voxel; each run must keep to its row."""
    flat = np.zeros(np.prod(runs.shape), dtype=int)
    before = 0
    for start, stop, label in zip(runs.start, runs.stop, runs.label, strict=True):
        assert before <= start < stop
        assert start // runs.shape[0] == (stop - 1) // runs.shape[0]
        assert label > 0
        flat[start:stop] = label
        before = stop
    return flat.reshape(runs.shape, order="F")


def findings(count: int, seed: int = 1) -> NDArray[np.uint8]:
    """Random findings of every kind: empty, full, dense, sparse, with touching labels."""
    dice = np.random.default_rng(seed)
    made = [drawn(dice, blobs(dice, CT, part=0.3, width=n % 3), 4) for n in range(count)]
    if count > 2:
        made[1][:] = 0
        made[2][:] = 7
    return np.stack(made)


def stored(channels: NDArray[Any], layout: str) -> NDArray[Any]:
    """The array as one of the three layouts stores it."""
    turned: dict[str, NDArray[Any]] = {
        "FHWD": channels,
        "HWDF": np.moveaxis(channels, 0, -1),
        "HWD": channels[0],
    }
    return turned[layout]


@pytest.mark.parametrize("chunk", CHUNKS)
@pytest.mark.parametrize("count", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("layout", ["FHWD", "HWDF", "HWD"])
def test_runs_are_the_voxels(tmp_path: Path, layout: str, count: int, chunk: int) -> None:
    """Every finding of every layout, whatever the chunks, is what nibabel reads."""
    channels = findings(1 if layout == "HWD" else count)
    path = save(tmp_path / "m.nii.gz", stored(channels, layout))
    again = np.asarray(nib.load(path).dataobj)
    np.testing.assert_array_equal(again, stored(channels, layout))
    found = read_runs(path, CT, len(channels), chunk=chunk)
    assert len(found) == len(channels)
    for runs, channel in zip(found, channels, strict=True):
        np.testing.assert_array_equal(painted(runs), channel)
        assert runs.voxels == np.count_nonzero(channel)


@pytest.mark.parametrize("dtype", ["i1", "i2", ">i4", "u2", "i8", "f4", ">f8"])
@pytest.mark.parametrize("layout", ["FHWD", "HWDF"])
def test_other_types_are_read_alike(tmp_path: Path, layout: str, dtype: str) -> None:
    """Labels stored as any other type are the same labels, in small chunks and large ones."""
    channels = findings(3)
    path = save(tmp_path / "m.nii", stored(channels, layout).astype(dtype))
    for chunk in (24, 1000, 3 << 20):
        for runs, channel in zip(read_runs(path, CT, 3, chunk=chunk), channels, strict=True):
            np.testing.assert_array_equal(painted(runs), channel)


def test_scaled_labels_are_what_the_header_makes_of_them(tmp_path: Path) -> None:
    """A slope and an intercept are applied before values are taken for labels."""
    image = nib.Nifti1Image(findings(2).astype(np.int16), np.eye(4))
    image.header.set_data_dtype(np.uint8)
    image.header.set_slope_inter(2.0, 1.0)
    nib.save(image, tmp_path / "m.nii.gz")
    again = np.asarray(nib.load(tmp_path / "m.nii.gz").dataobj)
    for runs, channel in zip(read_runs(tmp_path / "m.nii.gz", CT, 2), again, strict=True):
        np.testing.assert_array_equal(painted(runs), channel)


def test_labels_above_a_byte_are_kept(tmp_path: Path) -> None:
    """A 16-bit mask with entity 300 has entity 300, not 44."""
    channels = findings(1).astype(np.uint16) * 100
    (runs,) = read_runs(save(tmp_path / "m.nii.gz", channels), CT, 1)
    np.testing.assert_array_equal(painted(runs), channels[0])


@pytest.mark.parametrize("layout", ["FHWD", "HWDF"])
def test_binary_runs_know_no_labels(tmp_path: Path, layout: str) -> None:
    """With `binary` touching labels are one run of label 1."""
    channels = findings(4)
    path = save(tmp_path / "m.nii.gz", stored(channels, layout))
    labelled = read_runs(path, CT, 4)
    for runs, channel, wide in zip(read_runs(path, CT, 4, binary=True), channels, labelled, strict=True):
        np.testing.assert_array_equal(painted(runs), channel > 0)
        whole, into = wide.join_touching()
        assert (runs.start == whole.start).all()
        assert (runs.stop == whole.stop).all()
        assert (whole.start[into] <= wide.start).all()
        assert (whole.stop[into] >= wide.stop).all()


@pytest.mark.parametrize("chunk", CHUNKS)
def test_single_voxels_at_every_edge(tmp_path: Path, chunk: int) -> None:
    """One voxel in a corner, at the end of a row or of the file is found where it is."""
    corners = [(h, w, d) for h in (0, CT[0] - 1) for w in (0, CT[1] - 1) for d in (0, CT[2] - 1)]
    for number, corner in enumerate(corners):
        channels = np.zeros((3, *CT), np.uint8)
        channels[(number % 3, *corner)] = 255
        found = read_runs(save(tmp_path / "m.nii.gz", channels), CT, 3, chunk=chunk)
        for runs, channel in zip(found, channels, strict=True):
            np.testing.assert_array_equal(painted(runs), channel)


@given(
    arrays(np.uint8, (2, 5, 3, 2), elements=st.sampled_from([0, 0, 1, 2])), st.sampled_from([1, 9, 17, 64])
)
def test_random_bytes(array: NDArray[np.uint8], chunk: int) -> None:
    """Any small array, in any chunks, packed or not, comes back from its runs."""
    plain = nib.Nifti1Image(array, np.eye(4)).to_bytes()
    for source in (plain, gzip.compress(plain, 1)):
        for runs, channel in zip(read_runs(source, (5, 3, 2), 2, chunk=chunk), array, strict=True):
            np.testing.assert_array_equal(painted(runs), channel)


def test_united_is_any_of_them(tmp_path: Path) -> None:
    """The union of masks is their union, with runs that do not overlap."""
    channels = findings(5)
    found = read_runs(save(tmp_path / "m.nii.gz", channels), CT, 5)
    for parts in ([0, 3], [3, 0, 4], [1, 0], [2, 3], [1, 1], [4]):
        whole = unite_masks([found[n] for n in parts])
        np.testing.assert_array_equal(painted(whole) > 0, (channels[parts] > 0).any(axis=0))


def test_cropped_is_the_box_around_both(tmp_path: Path) -> None:
    """Arrays made of runs are the masks, cut where both are empty."""
    channels = np.zeros((2, *CT), np.uint8)
    channels[0, 3:6, 2:5, 1:3], channels[1, 4:9, 4:6, 2:6] = 1, 2
    one, other = crop_masks(*read_runs(save(tmp_path / "m.nii.gz", channels), CT, 2))
    np.testing.assert_array_equal(one, channels[0, 3:9, 2:6, 1:6] > 0)
    np.testing.assert_array_equal(other, channels[1, 3:9, 2:6, 1:6] > 0)


@pytest.mark.parametrize(
    ("value", "told"), [(np.nan, "nan"), (0.5, "0.5"), (-1.0, "-1"), (np.inf, "inf"), (7e4, "70000")]
)
def test_what_is_no_label_is_refused(tmp_path: Path, value: float, told: str) -> None:
    """NaN, scores, negative and huge values are named in the error, with the file."""
    array = findings(2).astype(np.float32)
    array[1, 2, 3, 4] = value
    path = save(tmp_path / "m.nii.gz", array)
    with pytest.raises(PictureError, match=f"holds the value {told}") as caught:
        read_runs(path, CT, 2, name="team/m.nii.gz")
    assert caught.value.where == "team/m.nii.gz"


@pytest.mark.parametrize("shape", [(3, *CT), (2, *CT[::-1]), CT, (1, 2, *CT)])
def test_a_wrong_shape_is_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    """Another number of channels, or swapped axes, are an error that says what was expected."""
    path = save(tmp_path / "m.nii.gz", np.zeros(shape, np.uint8))
    with pytest.raises(PictureError, match=r"expected \(2, 13, 11, 7\)"):
        read_runs(path, CT, 2)


def test_a_cut_or_damaged_file_is_refused(tmp_path: Path) -> None:
    """The file is read to its end: a lost tail and a flipped bit in it are both noticed."""
    whole = save(tmp_path / "m.nii.gz", findings(3)).read_bytes()
    for cut in (len(whole) // 2, len(whole) - 9, len(whole) - 3):
        with pytest.raises(Truncated):
            read_runs(whole[:cut], CT, 3)
    broken = bytearray(whole)
    broken[-6] ^= 1  # the checksum, behind the last voxel
    with pytest.raises(PictureError, match="damaged"):
        read_runs(bytes(broken), CT, 3)


def test_noise_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More runs than a mask can have are an error, before the memory is gone."""
    monkeypatch.setattr(module, "MAX_RUNS", 50)
    with pytest.raises(Refused, match="noise"):
        read_runs(save(tmp_path / "m.nii.gz", findings(5)), CT, 5, chunk=64)
