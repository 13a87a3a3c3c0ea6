"""Masks that programs leave behind: those that fit are taken, and all others are one sentence."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import nibabel
import numpy as np
import pytest

from overread.core import Geometry
from overread.errors import ReaderError
from overread.pixels.geometry import make_geometry
from overread.readers.command.drawn_file import read_drawn_file

SHAPE = (6, 5, 4)
AFFINE = np.array([[-0.7, 0, 0, 30], [0, -0.7, 0, 40], [0, 0, 1.5, -20], [0, 0, 0, 1.0]])


@pytest.fixture
def space() -> Geometry:
    """A small CT whose axes run to the left, the back and the head."""
    return make_geometry(SHAPE, AFFINE, where="the CT")


def save(path: Path, values: np.ndarray, affine: np.ndarray = AFFINE) -> None:
    """Write a mask as programs do."""
    nibabel.save(nibabel.Nifti1Image(values, affine), path)


def moved(by: float) -> np.ndarray:
    """The affine, shifted."""
    other = AFFINE.copy()
    other[:3, 3] += by
    return other


def write_bomb(path: Path) -> None:
    """A small file whose header promises terabytes."""
    header = nibabel.Nifti1Header()
    header.set_data_shape((30000, 30000, 30000))
    header.set_data_dtype(np.uint8)
    header["vox_offset"] = 352
    header["magic"] = b"n+1"
    path.write_bytes(gzip.compress(header.binaryblock + bytes(5_000_000)))


def write_link(path: Path) -> None:
    """A link to a good mask."""
    save(path.with_name("other.nii.gz"), np.ones(SHAPE, np.uint8))
    path.symlink_to(path.with_name("other.nii.gz"))


def write_cut_off(path: Path) -> None:
    """A good mask without its last bytes."""
    save(path, np.random.default_rng(0).integers(0, 2, SHAPE).astype(np.uint8))
    path.write_bytes(path.read_bytes()[:-30])


NOT_A_MASK: dict[str, tuple[Callable[[Path], object], str]] = {
    "smaller": (
        lambda p: save(p, np.ones((5, 5, 4), np.uint8)),
        r"shape \(5, 5, 4\), and the CT \(6, 5, 4\)",
    ),
    "two masks": (lambda p: save(p, np.ones((*SHAPE, 2), np.uint8)), r"shape \(6, 5, 4, 2\)"),
    "flat": (lambda p: save(p, np.ones((6, 20), np.uint8)), r"shape \(6, 20\)"),
    "moved": (lambda p: save(p, np.ones(SHAPE, np.uint8), moved(7)), r"lies 12\.1 mm away"),
    "turned wrongly": (lambda p: save(p, np.ones((5, 6, 4), np.uint8)), "the CT's size and lies elsewhere"),
    "nowhere": (lambda p: save(p, np.ones(SHAPE, np.uint8), moved(np.nan)), "not a finite 4×4 matrix"),
    "probabilities": (lambda p: save(p, np.full(SHAPE, 0.3)), r"holds the value 0\.3: .*threshold=0\.5"),
    "NaN": (lambda p: save(p, np.full(SHAPE, np.nan)), "no numbers"),
    "infinite": (lambda p: save(p, np.full(SHAPE, np.inf, np.float32)), "no numbers"),
    "negative": (lambda p: save(p, np.full(SHAPE, -1, np.int16)), "holds the value -1"),
    "complex": (lambda p: save(p, np.ones(SHAPE, np.complex64)), "no grey values"),
    "text": (lambda p: p.write_text("sorry"), "cannot be used: this is not a NIfTI file|cut off"),
    "empty": (lambda p: p.write_bytes(b""), "cannot be used: the file is cut off"),
    "link": (write_link, "is a link or a folder"),
    "folder": (lambda p: p.mkdir(), "is a link or a folder"),
    "cut off": (write_cut_off, "cut off|damaged|ends"),
    "bomb": (write_bomb, "30000|claims"),
    "absent": (lambda p: None, "wrote no mask"),
}


@pytest.mark.parametrize("kind", NOT_A_MASK)
def test_what_is_no_mask_of_the_ct_is_one_sentence(kind: str, space: Geometry, tmp_path: Path) -> None:
    """Wrong shapes, wrong places, values that are no labels, files that are no files."""
    make, told = NOT_A_MASK[kind]
    make(tmp_path / "mask.nii.gz")
    with pytest.raises(ReaderError, match=told) as caught:
        read_drawn_file(tmp_path / "mask.nii.gz", space)
    assert str(caught.value).count("the program") >= 1
    assert str(tmp_path) not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint16, np.int32, np.float32, np.float64])
def test_labels_of_any_type_are_taken(dtype: type, space: Geometry, tmp_path: Path) -> None:
    """What is not 0 is marked, in the CT's own order."""
    values = np.arange(np.prod(SHAPE)).reshape(SHAPE) % 3
    save(tmp_path / "mask.nii.gz", values.astype(dtype))
    mask, note = read_drawn_file(tmp_path / "mask.nii.gz", space)
    assert np.array_equal(mask, values != 0)
    assert note == ""


@pytest.mark.parametrize("shape", [(1, *SHAPE), (*SHAPE, 1), (*SHAPE, 1, 1)])
def test_axes_of_length_one_are_dropped(shape: tuple[int, ...], space: Geometry, tmp_path: Path) -> None:
    """As the official layout has one finding, and as some libraries write a time axis."""
    values = np.zeros(SHAPE, np.uint8)
    values[1, 2, 3] = 1
    save(tmp_path / "mask.nii.gz", values.reshape(shape))
    assert np.argwhere(read_drawn_file(tmp_path / "mask.nii.gz", space)[0]).tolist() == [[1, 2, 3]]


@pytest.mark.parametrize("axes", ["RAS", "SAL", "PIR"])
def test_a_mask_with_turned_axes_is_turned_back(axes: str, space: Geometry, tmp_path: Path) -> None:
    """The same grid in another order, as programs write it that reorient what they read."""
    values = np.zeros(SHAPE, np.uint8)
    values[1, 2, 3] = 1
    image = nibabel.Nifti1Image(values, AFFINE)
    ways = nibabel.orientations.ornt_transform(
        nibabel.io_orientation(AFFINE), nibabel.orientations.axcodes2ornt(axes)
    )
    nibabel.save(image.as_reoriented(ways), tmp_path / "mask.nii.gz")
    mask, note = read_drawn_file(tmp_path / "mask.nii.gz", space)
    assert np.argwhere(mask).tolist() == [[1, 2, 3]]
    assert note == f"turned from {axes} axes"


def test_an_affine_that_was_rounded_is_the_same(space: Geometry, tmp_path: Path) -> None:
    """Headers keep single precision, and quaternions lose a little more."""
    save(tmp_path / "mask.nii", np.ones(SHAPE, np.uint8), moved(0.05))
    assert read_drawn_file(tmp_path / "mask.nii", space)[0].all()


def test_probabilities_are_cut_at_the_threshold(space: Geometry, tmp_path: Path) -> None:
    """What is above it is marked, what is at it is not."""
    values = np.linspace(0, 1, 120).reshape(SHAPE).astype(np.float32)
    values[0, 0, 0] = 0.75
    save(tmp_path / "mask.nii.gz", values)
    mask, _ = read_drawn_file(tmp_path / "mask.nii.gz", space, threshold=0.75)
    assert np.array_equal(mask, values > 0.75)
