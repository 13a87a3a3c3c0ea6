"""Geometry of volumes: orientation to RAS and back, without a voxel lost.

Arrays are kept as their file stores them. An affine maps a voxel index (i, j, k) to RAS+
millimetres, with x to the right, y to the front, z to the head, as NIfTI has it (DICOM counts x to
the left and y to the back, LPS). `axes` spells where each stored axis points: 'LPS' means that i
grows to the left, j to the back, k to the head.

Masks are reoriented with the geometry of their CT, never with their own header: the affine of
a (F, H, W, D) mask file binds to the wrong axes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.core import Geometry
from overread.errors import PictureError

Array = NDArray[np.generic]

_LETTERS = (("L", "R"), ("P", "A"), ("I", "S"))


def make_geometry(shape: tuple[int, int, int], affine: NDArray[np.float64], *, where: str) -> Geometry:
    """The geometry record of a volume, after checking that its affine can be one."""
    matrix = np.asarray(affine, dtype=np.float64)
    if matrix.shape != (4, 4) or not np.isfinite(matrix).all():
        raise PictureError(
            "the affine is not a finite 4×4 matrix",
            where=where,
            remedy="write the file again from its DICOM series",
        )
    spacing = np.sqrt((matrix[:3, :3] ** 2).sum(axis=0))
    # A direction of length zero, or three directions in one plane, place no voxel.
    if (spacing <= 0).any() or abs(np.linalg.det(matrix[:3, :3] / spacing)) < 1e-4:
        raise PictureError(
            "the affine is singular: its axes do not span space",
            where=where,
            remedy="write the file again from its DICOM series",
        )
    rows = tuple(tuple(float(value) for value in row) for row in matrix)
    return Geometry.model_validate(
        {
            "shape": shape,
            "spacing": tuple(float(value) for value in spacing),
            "affine": rows,
            "axes": _axis_letters(matrix),
        }
    )


def to_ras(volume: Array, space: Geometry) -> Array:
    """A view of the volume with its axes nearest to right, anterior, superior.

    Only transposes and flips, so nothing is interpolated; `from_ras` is its exact inverse.
    """
    _check_shape(volume.shape, space.shape)
    order, flips = ras_order(space.axes)
    return volume.transpose(order)[tuple(slice(None, None, step) for step in flips)]


def from_ras(volume: Array, space: Geometry) -> Array:
    """A view of a RAS volume in the file's own axes: the inverse of `to_ras`."""
    order, flips = ras_order(space.axes)
    _check_shape(volume.shape, tuple(space.shape[axis] for axis in order))
    flipped = volume[tuple(slice(None, None, step) for step in flips)]
    return flipped.transpose(np.argsort(order))


def ras_geometry(space: Geometry) -> Geometry:
    """The geometry that `to_ras` leaves a volume in."""
    order, flips = ras_order(space.axes)
    affine = np.asarray(space.affine)
    turned = np.eye(4)
    turned[:3, 3] = affine[:3, 3]
    for axis, (stored, step) in enumerate(zip(order, flips, strict=True)):
        turned[:3, axis] = affine[:3, stored] * step
        if step < 0:
            turned[:3, 3] += affine[:3, stored] * (space.shape[stored] - 1)
    shape = (space.shape[order[0]], space.shape[order[1]], space.shape[order[2]])
    return make_geometry(shape, turned, where="a reoriented volume")


def voxel_to_world(space: Geometry, index: tuple[float, float, float]) -> tuple[float, float, float]:
    """RAS+ millimetres of a voxel index of the stored array."""
    point = np.asarray(space.affine) @ np.array([*index, 1.0])
    return (float(point[0]), float(point[1]), float(point[2]))


def world_to_voxel(space: Geometry, point: tuple[float, float, float]) -> tuple[float, float, float]:
    """Index in the stored array of a point in RAS+ millimetres; not rounded."""
    index = np.linalg.solve(np.asarray(space.affine), np.array([*point, 1.0]))
    return (float(index[0]), float(index[1]), float(index[2]))


def _axis_letters(affine: NDArray[np.float64]) -> str:
    """Letters of the directions nearest to each stored axis, each world axis used once."""
    directions = affine[:3, :3] / np.sqrt((affine[:3, :3] ** 2).sum(axis=0))
    strength = np.abs(directions)
    letters = ["", "", ""]
    for _ in range(3):
        world_axis, stored = np.unravel_index(int(np.argmax(strength)), (3, 3))
        letters[stored] = _LETTERS[world_axis][int(directions[world_axis, stored] > 0)]
        strength[world_axis, :] = -1
        strength[:, stored] = -1
    return "".join(letters)


def ras_order(axes: str) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """For each RAS axis: which stored axis it is, and +1 or -1 for its direction."""
    order: list[int] = []
    flips: list[int] = []
    for negative, positive in _LETTERS:
        stored = next(i for i, letter in enumerate(axes) if letter in (negative, positive))
        order.append(stored)
        flips.append(1 if axes[stored] == positive else -1)
    return (order[0], order[1], order[2]), (flips[0], flips[1], flips[2])


def _check_shape(found: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if tuple(found) != tuple(expected):
        raise PictureError(
            f"an array of shape {tuple(found)} does not belong to a geometry of {tuple(expected)}",
            remedy="take the geometry from the CT that the array was made on",
        )
