"""Masks in three orders, against nibabel and numpy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.errors import PictureError
from overread.pixels import masks
from overread.pixels.masks import count_voxels, read_channel, write_mask

AFFINE = np.diag([-1.0, -1.0, 2.0, 1.0])


def labels(seed: int, findings: int, shape: tuple[int, int, int]) -> np.ndarray:
    """Sparse labels 0 to 4 for each finding."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(1, 5, (findings, *shape)) * (rng.random((findings, *shape)) < 0.1)
    return drawn.astype(np.uint8)


def stored(array: np.ndarray, order: str) -> np.ndarray:
    """The (F, H, W, D) array in one of the orders of the wild."""
    if order == "HWD":
        return np.asarray(array[0])
    return np.moveaxis(array, 0, -1) if order == "HWDF" else array


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8"])
@pytest.mark.parametrize(("order", "findings"), [("FHWD", 3), ("HWDF", 3), ("HWD", 1), ("FHWD", 1)])
def test_channels_and_tallies_equal_numpys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: str, findings: int, dtype: str
) -> None:
    """Whatever the order and type, each finding's labels and counts are those of the array."""
    monkeypatch.setattr(masks, "_CHUNK", 1000)  # many chunks, none a multiple of the findings
    shape = (7, 8, 9)
    array = labels(0, findings, shape)
    path = tmp_path / "mask.nii.gz"
    nib.save(nib.Nifti1Image(stored(array, order).astype(dtype), AFFINE), path)
    counted = count_voxels(path, shape, findings)
    for channel in range(findings):
        found = read_channel(path, channel, shape, findings)
        np.testing.assert_array_equal(found, array[channel])
        assert found.dtype == np.uint8
        values, sizes = np.unique(array[channel][array[channel] > 0], return_counts=True)
        assert counted[channel] == dict(zip(values.tolist(), sizes.tolist(), strict=True))


@given(
    st.integers(1, 4),
    st.tuples(*[st.integers(1, 7)] * 3),
    st.integers(1, 97),
    st.sampled_from(["FHWD", "HWDF"]),
)
def test_chunks_of_any_size_give_the_same_channels(
    findings: int, shape: tuple[int, int, int], chunk: int, order: str
) -> None:
    """Where a chunk ends in the middle of a voxel's findings, nothing is mixed up."""
    array = labels(1, findings, shape)
    raw = nib.Nifti1Image(stored(array, order), AFFINE).to_bytes()
    if stored(array, order).shape != (findings, *shape):
        order = "HWDF"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(masks, "_CHUNK", chunk)
        kind = masks.detect_layout(stored(array, order).shape, shape, findings, where="m")
        if kind != order:
            return  # a shape that could be both is taken as the official order
        for channel in range(findings):
            found = read_channel(raw, channel, shape, findings)
            np.testing.assert_array_equal(found, array[channel])
        sums = [sum(count.values()) for count in count_voxels(raw, shape, findings)]
    assert sums == [int((channel > 0).sum()) for channel in array]


def test_what_we_write_is_the_official_order(tmp_path: Path) -> None:
    """nibabel reads (F, H, W, D) of uint8 with the CT's affine."""
    array = labels(2, 3, (5, 6, 7))
    write_mask(tmp_path / "m.nii.gz", list(array), AFFINE)
    peer = nib.load(tmp_path / "m.nii.gz")
    assert peer.shape == (3, 5, 6, 7)
    assert peer.get_data_dtype() == np.uint8
    np.testing.assert_array_equal(np.asarray(peer.dataobj), array)
    np.testing.assert_allclose(peer.affine, AFFINE)


def test_many_entities_are_kept_apart(tmp_path: Path) -> None:
    """Labels over 255 are read as they are; they cannot be written as uint8, and that is said."""
    array = np.zeros((2, 3, 3, 3), np.int16)
    array[1, 0, 0, 0] = 300
    nib.save(nib.Nifti1Image(array, AFFINE), tmp_path / "m.nii.gz")
    assert count_voxels(tmp_path / "m.nii.gz", (3, 3, 3), 2)[1] == {300: 1}
    assert read_channel(tmp_path / "m.nii.gz", 1, (3, 3, 3), 2).max() == 300
    with pytest.raises(PictureError, match="0 to 255"):
        write_mask(tmp_path / "n.nii.gz", list(array), AFFINE)


@pytest.mark.parametrize("value", [0.5, -1, np.nan, np.inf, 1e9])
def test_values_that_are_no_entities_are_named(tmp_path: Path, value: float) -> None:
    """Halves, negatives, NaN and the like make no mask."""
    array = np.zeros((1, 3, 3, 3), np.float32)
    array[0, 1, 1, 1] = value
    nib.save(nib.Nifti1Image(array, AFFINE), tmp_path / "m.nii.gz")
    with pytest.raises(PictureError, match="holds the value"):
        count_voxels(tmp_path / "m.nii.gz", (3, 3, 3), 1)


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3, 4), (3, 3, 3), (1, 3, 3, 3, 1)])
def test_a_shape_that_fits_no_order_is_named(shape: tuple[int, ...]) -> None:
    """Neither order fits two findings of a 3×3×3 CT."""
    with pytest.raises(PictureError, match="does not fit 2 finding"):
        masks.detect_layout(shape, (3, 3, 3), 2, where="m.nii.gz")


def test_memory_does_not_grow_with_the_findings(tmp_path: Path) -> None:
    """One channel of a mask of forty is read in the memory of a few, not of forty."""
    import tracemalloc

    shape = (96, 96, 96)
    channels: list[Any] = [np.zeros(shape, np.uint8)] * 40
    write_mask(tmp_path / "m.nii.gz", channels, AFFINE)
    tracemalloc.start()
    read_channel(tmp_path / "m.nii.gz", 7, shape, 40)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 * 96**3 / 3
