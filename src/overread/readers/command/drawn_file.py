"""The mask that a program left behind, read as what it may be: anything.

What is not a mask of the CT that was asked about is one sentence, before memory is taken for it.
"""

from __future__ import annotations

import math
import stat
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.core import Geometry
from overread.errors import PictureError, ReaderError
from overread.pixels.bytestream import open_stream
from overread.pixels.geometry import from_ras, make_geometry, ras_geometry, to_ras
from overread.pixels.nifti import NiftiHeader, read_header, read_stream_header

Voxels = NDArray[np.bool_]

NAME = "the program's mask"
_CHUNK = 3 << 20
_NEAR = 0.25
"""How far apart two grids may lie to be the same one, in shares of the smallest voxel spacing."""
_AS_CT = "write it with the shape and the affine of the CT"


def read_drawn_file(path: Path, space: Geometry, *, threshold: float | None = None) -> tuple[Voxels, str]:
    """The mask in the CT's own axes, and what was done to it, in words.

    Whole numbers mark what is not 0. With a `threshold` what is above it is marked, so that a program
    may write probabilities.
    """
    try:
        status = path.lstat()
    except FileNotFoundError:
        raise ReaderError(
            "the program ended without an error and wrote no mask",
            remedy="it must write a NIfTI file to the path that stands for {mask}",
        ) from None
    if not stat.S_ISREG(status.st_mode):
        raise ReaderError(f"{NAME} is a link or a folder, not a file", remedy="write the file itself")
    try:
        header = read_header(path, name=NAME)
        grid = _mask_grid(header, space)
        marked = _read_marked(path, header, threshold)
    except PictureError as problem:
        told = problem.what if NAME in problem.what else f"{NAME} cannot be used: {problem.what}"
        raise ReaderError(told, remedy=problem.remedy if told == problem.what else _AS_CT) from None
    if grid is None:
        return marked.reshape(space.shape, order="F"), ""
    stored = marked.reshape(grid.shape, order="F")
    return np.asarray(from_ras(to_ras(stored, grid), space), dtype=bool), f"turned from {grid.axes} axes"


def _mask_grid(header: NiftiHeader, space: Geometry) -> Geometry | None:
    """The mask's own grid, where it is the CT's with its axes in another order; None where it is the CT's."""
    shape = header.shape
    while len(shape) > 3 and shape[-1] == 1:
        shape = shape[:-1]
    if len(shape) == 4 and shape[0] == 1 and shape[1:] == space.shape:
        return None  # (1, H, W, D): an affine cannot say how it lies, so the CT's is taken
    if len(shape) != 3 or sorted(shape) != sorted(space.shape):
        raise PictureError(
            f"{NAME} has the shape {header.shape}, and the CT {space.shape}",
            remedy=_AS_CT,
        )
    grid = make_geometry((shape[0], shape[1], shape[2]), header.affine, where=NAME)
    if shape == space.shape and _distance(grid, space) <= _tolerance(space):
        return None
    turned, expected = ras_geometry(grid), ras_geometry(space)
    if turned.shape != expected.shape or _distance(turned, expected) > _tolerance(space):
        away = "elsewhere" if turned.shape != expected.shape else f"{_distance(turned, expected):.1f} mm away"
        raise PictureError(f"{NAME} has the CT's size and lies {away}", remedy=_AS_CT)
    return grid


def _tolerance(space: Geometry) -> float:
    return _NEAR * min(space.spacing)


def _distance(one: Geometry, other: Geometry) -> float:
    """The farthest that a corner of one grid lies from that of the other, in millimetres."""
    corners = np.array([(*c, 1.0) for c in product(*((0.0, n - 1.0) for n in one.shape))])
    apart = corners @ (np.asarray(one.affine) - np.asarray(other.affine)).T
    return float(np.sqrt((apart[:, :3] ** 2).sum(axis=1)).max())


def _read_marked(path: Path, header: NiftiHeader, threshold: float | None) -> Voxels:
    """Whether each voxel is marked, in the order of the file; a few megabytes of values at a time."""
    item = header.dtype.itemsize
    total = math.prod(header.shape)
    marked = np.zeros(total, dtype=bool)
    buffer = bytearray(_CHUNK // item * item)
    with open_stream(path, name=NAME) as stream:
        read_stream_header(stream)
        done = 0
        while done < total:
            view = memoryview(buffer)[: min(len(buffer), (total - done) * item)]
            stream.fill(view)
            raw: NDArray[Any] = np.frombuffer(view, dtype=header.dtype)
            marked[done : done + len(raw)] = _is_marked(raw, header, threshold)
            done += len(raw)
        stream.finish()
    return marked


def _is_marked(raw: NDArray[Any], header: NiftiHeader, threshold: float | None) -> Voxels:
    if raw.dtype.kind == "u" and not header.is_scaled and threshold is None:
        return np.asarray(raw != 0)
    values = raw.astype(np.float64) * header.slope + header.intercept
    if not np.isfinite(values).all():
        raise PictureError(f"{NAME} holds values that are no numbers", remedy="write 0 and 1")
    if threshold is not None:
        return np.asarray(values > threshold)
    odd = values[(values != np.rint(values)) | (values < 0)]
    if odd.size:
        raise PictureError(
            f"{NAME} holds the value {odd[0]:g}",
            remedy="write 0 and 1, or say from where on a voxel counts (--reader-arg threshold=0.5)",
        )
    return np.asarray(values != 0)
