"""NIfTI volumes, against nibabel; and headers that lie."""

from __future__ import annotations

import gzip
import resource
import struct
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.errors import OverreadError, PictureError, Refused, Truncated
from overread.pixels.nifti import read_geometry, read_header, read_slices, read_volume, write_volume

AFFINE = np.array([[-0.7, 0, 0, 180], [0, -0.7, 0, 170], [0, 0, 1.5, -200], [0, 0, 0, 1.0]])


def saved(path: Path, array: np.ndarray, kind: Any = nib.Nifti1Image, **fields: Any) -> Path:
    """A file written by nibabel, with header fields set."""
    image = kind(array, AFFINE)
    for name, value in fields.items():
        image.header[name] = value
    nib.save(image, path)
    return path


@pytest.mark.parametrize("dtype", ["u1", "i1", "i2", "u2", "i4", "u4", "f4", "f8", ">i2", ">f4"])
@pytest.mark.parametrize("suffix", [".nii", ".nii.gz"])
def test_voxels_equal_nibabels(tmp_path: Path, dtype: str, suffix: str) -> None:
    """Every type, packed or not, either byte order: the same values, shape, affine, spacing."""
    array = np.random.default_rng(0).integers(0, 120, (5, 6, 7)).astype(dtype)
    path = tmp_path / f"scan{suffix}"
    header = nib.Nifti1Header(endianness=">" if dtype.startswith(">") else "<")
    header.set_data_dtype(np.dtype(dtype))
    nib.save(nib.Nifti1Image(array, AFFINE, header), path)
    ours, space = read_volume(path)
    peer = nib.load(path)
    np.testing.assert_array_equal(ours, np.asarray(peer.dataobj))
    np.testing.assert_allclose(space.affine, peer.affine)
    assert space.spacing == pytest.approx(peer.header.get_zooms())
    assert space.axes == "".join(nib.aff2axcodes(peer.affine))


def test_scaled_values_and_nifti_2_equal_nibabels(tmp_path: Path) -> None:
    """Slope and intercept are applied; NIfTI-2 is read too; a slope of 0 means none."""
    array = np.arange(60, dtype=np.int16).reshape(3, 4, 5)
    image = nib.Nifti1Image(array, AFFINE)
    image.header.set_slope_inter(2, -1024)
    nib.save(image, tmp_path / "scaled.nii.gz")
    ours, _ = read_volume(tmp_path / "scaled.nii.gz")
    peer = nib.load(tmp_path / "scaled.nii.gz").get_fdata()
    np.testing.assert_allclose(ours.astype(np.float64), peer)
    two, _ = read_volume(saved(tmp_path / "two.nii", array, nib.Nifti2Image))
    np.testing.assert_array_equal(two, array)
    raw = bytearray((saved(tmp_path / "zero.nii", array)).read_bytes())
    raw[112:120] = struct.pack("<ff", 0, 7)
    assert read_volume(bytes(raw))[0].dtype == np.int16


def test_slices_are_read_without_the_rest(tmp_path: Path) -> None:
    """A range of slices equals the volume's; a file cut off after them is still good for them."""
    array = np.random.default_rng(1).integers(-1000, 1000, (64, 64, 40)).astype(np.int16)
    path = saved(tmp_path / "scan.nii.gz", array)
    np.testing.assert_array_equal(read_slices(path, 3, 9), array[..., 3:10])
    cut = tmp_path / "cut.nii.gz"
    cut.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    np.testing.assert_array_equal(read_slices(cut, 0, 5), array[..., :6])
    with pytest.raises(Truncated):
        read_volume(cut)
    with pytest.raises(PictureError, match="of 40"):
        read_slices(path, 30, 40)


def test_what_we_write_nibabel_reads_and_equal_volumes_give_equal_bytes(tmp_path: Path) -> None:
    """Written volumes open in nibabel with the same voxels and affine, byte for byte repeatable."""
    array = np.random.default_rng(2).integers(-1000, 1000, (4, 5, 6)).astype(np.int16)
    for name in ("a.nii.gz", "b.nii.gz"):
        write_volume(tmp_path / name, array, AFFINE)
    peer = nib.load(tmp_path / "a.nii.gz")
    np.testing.assert_array_equal(np.asarray(peer.dataobj), array)
    np.testing.assert_allclose(peer.affine, AFFINE, atol=1e-5)
    assert (tmp_path / "a.nii.gz").read_bytes() == (tmp_path / "b.nii.gz").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.nii.gz", "b.nii.gz"]


def test_a_trailing_axis_of_one_is_no_axis(tmp_path: Path) -> None:
    """(H, W, D, 1) is a volume; (H, W, D, 3) is none."""
    assert read_geometry(saved(tmp_path / "a.nii", np.zeros((2, 3, 4, 1), "i2"))).shape == (2, 3, 4)
    with pytest.raises(PictureError, match="three axes"):
        read_geometry(saved(tmp_path / "b.nii", np.zeros((2, 3, 4, 3), "i2")))


def test_gzip_in_several_members_is_one_stream(tmp_path: Path) -> None:
    """Files packed in parallel (bgzip, pigz) are several gzip members; all of them are read."""
    raw = saved(tmp_path / "scan.nii", np.arange(60, dtype="i2").reshape(3, 4, 5)).read_bytes()
    packed = gzip.compress(raw[:300]) + gzip.compress(raw[300:400]) + gzip.compress(raw[400:])
    np.testing.assert_array_equal(read_volume(packed)[0], np.arange(60).reshape(3, 4, 5))


def test_a_header_that_claims_petabytes_takes_no_memory(tmp_path: Path) -> None:
    """The claim is held against what the file can hold before a byte is allocated."""
    raw = bytearray(saved(tmp_path / "scan.nii", np.zeros((2, 2, 2), "i2")).read_bytes())
    raw[40:56] = struct.pack("<8h", 3, 32767, 32767, 32767, 1, 1, 1, 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for data in (bytes(raw), gzip.compress(bytes(raw))):
        for read in (read_header, read_geometry, read_volume):
            with pytest.raises(Truncated, match="claims"):
                read(data)
    # A bomb that does hold what it claims is refused all the same, by its size.
    bomb = gzip.compress(bytes(raw[:352]) + bytes(80_000_000), 9)
    raw[40:56] = struct.pack("<8h", 3, 3000, 3000, 300, 1, 1, 1, 1)
    bomb = gzip.compress(bytes(raw[:352]), 9) + gzip.compress(bytes(8_000_000), 9) * 700
    with pytest.raises(Refused, match="more than overread reads"):
        read_volume(bomb)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 300_000  # kilobytes


@pytest.mark.parametrize(
    ("offset", "data", "said"),
    [
        (40, struct.pack("<h", 9), "dimensions"),
        (42, struct.pack("<h", -5), "dimensions"),
        (42, struct.pack("<h", 0), "dimensions"),
        (70, struct.pack("<h", 128), "type 128"),
        (70, struct.pack("<h", 32), "type 32"),
        (108, struct.pack("<f", float("nan")), "begin at byte"),
        (108, struct.pack("<f", -1e30), "begin at byte"),
        (108, struct.pack("<f", 351), "begin at byte"),
        (72, struct.pack("<h", 8), "8 bits"),
        (112, struct.pack("<f", float("inf")), "slope inf"),
        (344, b"ni1\0", "another file"),
        (0, b"junk", "not a NIfTI"),
        (116, struct.pack("<f", float("inf")), "intercept"),
        (280, struct.pack("<4f", *[float("nan")] * 4), "affine"),
    ],
)
def test_a_damaged_header_is_named(tmp_path: Path, offset: int, data: bytes, said: str) -> None:
    """Each field that cannot be true gives one sentence that names it and the file."""
    raw = bytearray(saved(tmp_path / "scan.nii", np.zeros((2, 2, 2), "i2")).read_bytes())
    raw[112:116] = struct.pack("<f", 1)
    raw[offset : offset + len(data)] = data
    (tmp_path / "bad.nii").write_bytes(raw)
    with pytest.raises(PictureError, match=said) as caught:
        read_volume(tmp_path / "bad.nii")
    assert "bad.nii" in str(caught.value)


@given(st.integers(0, 2**32), st.integers(1, 6), st.booleans())
def test_flipped_bytes_never_crash(seed: int, flips: int, packed: bool) -> None:
    """Any damage ends in an array or in one of our errors."""
    rng = np.random.default_rng(seed)
    volume = np.arange(120, dtype=np.int16).reshape(4, 5, 6)
    raw = bytearray(nib.Nifti1Image(volume, AFFINE).to_bytes())
    if packed:
        raw = bytearray(gzip.compress(bytes(raw)))
    for place in rng.integers(0, len(raw), flips):
        raw[place] = rng.integers(256)
    cut = bytes(raw[: rng.integers(1, len(raw) + 1)])
    try:
        array, space = read_volume(cut)
        assert array.shape == space.shape
    except OverreadError as error:
        assert str(error)
