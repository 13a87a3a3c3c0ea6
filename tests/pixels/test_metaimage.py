"""MetaImage files against SimpleITK: voxels and millimetres, in and out; damage is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import SimpleITK as sitk  # noqa: N813

from overread.errors import PictureError, Truncated
from overread.pixels.formats import read_picture, sniff_format
from overread.pixels.geometry import voxel_to_world
from overread.pixels.masks import read_channel
from overread.pixels.metaimage import write_metaimage
from overread.pixels.nifti import read_geometry, read_slices, read_volume
from tests.build.release.tilted_release import BIG, SHAPE, SMALL, tilted

TYPES = ("u1", "i1", "i2", "u2", "i4", "u4", "f4", "f8")


def written(path: Path, array: Any, affine: Any, *, compress: bool = True) -> Path:
    """The array as SimpleITK writes it, lying where the RAS affine says."""
    image = sitk.GetImageFromArray(np.asarray(array).transpose(2, 1, 0))
    lps = np.diag([-1.0, -1.0, 1.0]) @ affine[:3]
    spacing = np.linalg.norm(lps[:, :3], axis=0)
    image.SetSpacing(spacing.tolist())
    image.SetDirection((lps[:, :3] / spacing).ravel().tolist())
    image.SetOrigin(lps[:, 3].tolist())
    sitk.WriteImage(image, str(path), useCompression=compress)
    return path


@pytest.mark.parametrize("compress", [True, False])
@pytest.mark.parametrize("axes", ["LPS", "RAS", "PIR"])
def test_volumes_of_simpleitk_are_read_where_they_lie(tmp_path: Path, axes: str, compress: bool) -> None:
    """Every type, packed or not: the same voxels at the same millimetres."""
    affine = tilted(axes)
    generator = np.random.default_rng(0)
    for kind in TYPES:
        array = generator.integers(0, 100, SHAPE).astype(kind)
        path = written(tmp_path / f"{kind}.mha", array, affine, compress=compress)
        assert sniff_format(path) == "metaimage"
        volume, space = read_volume(path)
        assert np.array_equal(volume, array)
        assert volume.dtype == np.dtype(kind)
        assert np.allclose(space.affine, affine, atol=1e-9)
        assert read_geometry(path) == space
        assert np.array_equal(read_slices(path, 2, 4), array[..., 2:5])
        assert np.array_equal(read_picture(path), array)
        image = sitk.ReadImage(str(path))
        for index in ((0, 0, 0), (8, 6, 5), (3, 1, 4)):
            left, back, up = image.TransformIndexToPhysicalPoint(index)
            assert np.allclose(voxel_to_world(space, index), (-left, -back, up), atol=1e-6)


@pytest.mark.parametrize("axes", ["LPS", "RAS", "PIR"])
def test_simpleitk_reads_what_is_written(tmp_path: Path, axes: str) -> None:
    """Voxels, spacing, direction and origin; several findings are channels of a voxel."""
    affine = tilted(axes)
    array = np.random.default_rng(1).integers(-1000, 1000, SHAPE).astype(np.int16)
    write_metaimage(tmp_path / "ct.mha", array, affine)
    image = sitk.ReadImage(str(tmp_path / "ct.mha"))
    assert np.array_equal(sitk.GetArrayFromImage(image).transpose(2, 1, 0), array)
    wanted = sitk.ReadImage(str(written(tmp_path / "other.mha", array, affine)))
    for told in ("GetSpacing", "GetOrigin", "GetDirection"):
        assert np.allclose(getattr(image, told)(), getattr(wanted, told)(), atol=1e-9)
    write_metaimage(tmp_path / "mask.mha", np.stack([BIG, SMALL]), affine)
    masks = sitk.ReadImage(str(tmp_path / "mask.mha"))
    assert masks.GetNumberOfComponentsPerPixel() == 2
    assert np.allclose(masks.GetOrigin(), image.GetOrigin())
    for number, mask in enumerate((BIG, SMALL)):
        own = sitk.VectorIndexSelectionCast(masks, number)
        assert np.array_equal(sitk.GetArrayFromImage(own).transpose(2, 1, 0), mask)
        assert np.array_equal(read_channel(tmp_path / "mask.mha", number, SHAPE, 2), mask)


def test_other_writers_headers_are_read(tmp_path: Path) -> None:
    """Big-endian voxels, older names of fields, none at all: as MetaIO reads them."""
    array = np.arange(24, dtype=">i2").reshape((2, 3, 4), order="F")
    head = (
        b"NDims = 3\r\nDimSize = 2 3 4\r\nElementType = MET_SHORT\r\nElementSize = 1 2 3\r\n"
        b"ElementByteOrderMSB = True\r\nPosition = 4 5 6\r\nComment = made by hand\r\n"
    )
    path = tmp_path / "a.mha"
    path.write_bytes(head + b"ElementDataFile = LOCAL\r\n" + array.tobytes(order="F"))
    volume, space = read_volume(path)
    assert np.array_equal(volume, array)
    assert space.spacing == (1, 2, 3)
    assert voxel_to_world(space, (0, 0, 0)) == (-4, -5, 6)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ((b"LOCAL", b"a.raw"), "keeps its voxels in another file"),
        ((b"MET_SHORT", b"MET_STRING"), "MET_STRING are no grey values"),
        ((b"DimSize = 9 7 6", b"DimSize = 9 x 6"), "header is damaged"),
        ((b"DimSize = 9 7 6", b"DimSize = 9 7"), "numbers instead of"),
        ((b"DimSize = 9 7 6", b"DimSize = 9 0 6"), "gives the dimensions"),
        ((b"DimSize = 9 7 6", b"DimSize = 9000 9000 900"), "the header claims"),
        ((b"BinaryData = True", b"BinaryData = False"), "keeps its voxels as text"),
        ((b"ElementDataFile", b"Elsewhere"), "damaged or cut off"),
        ((b"TransformMatrix = ", b"TransformMatrix = 7 "), "numbers instead of 9"),
    ],
)
def test_a_damaged_header_is_one_sentence(tmp_path: Path, change: tuple[bytes, bytes], said: str) -> None:
    """What is wrong, in which file, and what to do."""
    path = written(tmp_path / "a.mha", np.zeros(SHAPE, np.int16), tilted())
    whole = path.read_bytes()
    assert change[0] in whole
    path.write_bytes(whole.replace(*change))
    with pytest.raises(PictureError, match=said) as told:
        read_volume(path, name="a.mha")
    assert told.value.where == "a.mha"
    assert told.value.remedy


@pytest.mark.parametrize("compress", [True, False])
def test_a_file_that_is_cut_off_is_called_so(tmp_path: Path, compress: bool) -> None:
    """Packed or not, the missing end is noticed; flipped bytes give an array or one sentence."""
    noise = np.random.default_rng(2).integers(-1000, 1000, SHAPE).astype(np.int16)
    path = written(tmp_path / "a.mha", noise, tilted(), compress=compress)
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    with pytest.raises(Truncated, match=r"cut off|at most"):
        read_volume(path)
    generator = np.random.default_rng(5)
    for _ in range(200):
        broken = bytearray(whole)
        for at in generator.integers(0, len(broken), 3):
            broken[int(at)] = int(generator.integers(0, 256))
        try:
            read_volume(bytes(broken))
        except PictureError as error:
            assert str(error)
