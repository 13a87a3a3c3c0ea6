"""Which voxels of a volume are asked for, and where those lie in the patient.

Two frames. In `stored` the box and the step count voxels along the axes of the file, and the
answer has these axes. In `patient` the box is in millimetres to the right, the front and the head
(RAS+), and the answer's axes run that way: nothing is interpolated, axes are only turned round. A
box in millimetres takes every voxel whose centre lies in it and, where the scan lies aslant, the
whole block of voxels around these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from overread.core import Geometry
from overread.core.notice import NOTICE
from overread.errors import UsageError
from overread.pixels.geometry import ras_geometry, to_ras
from overread.pixels.nifti import header_bytes

Frame = Literal["stored", "patient"]
MAX_STEP = 16
_MAX_MM = 100_000.0
"""Millimetres; no scan reaches there."""


@dataclass(frozen=True)
class VoxelBlock:
    """A block of voxels (every n-th along each axis) in stored or patient axes."""

    frame: Frame
    first: tuple[int, int, int]
    stop: tuple[int, int, int]
    step: tuple[int, int, int]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Voxels of the answer along its axes."""
        sizes = [len(range(a, b, s)) for a, b, s in zip(self.first, self.stop, self.step, strict=True)]
        return sizes[0], sizes[1], sizes[2]

    @property
    def key(self) -> str:
        """A key that is unique to this block, for the ETag."""
        return "-".join(map(str, (self.frame[0], *self.first, *self.stop, *self.step)))

    def extract(self, volume: NDArray[Any], space: Geometry) -> NDArray[Any]:
        """The voxels; a view."""
        turned: NDArray[Any] = to_ras(volume, space) if self.frame == "patient" else volume
        return turned[tuple(slice(a, b, s) for a, b, s in zip(self.first, self.stop, self.step, strict=True))]

    def affine(self, space: Geometry) -> NDArray[np.float64]:
        """Index in the answer → RAS+ millimetres."""
        own = np.asarray(geometry_in_frame(space, self.frame).affine)
        cut = np.diag([*map(float, self.step), 1.0])
        cut[:3, 3] = self.first
        made: NDArray[np.float64] = own @ cut
        return made


def geometry_in_frame(space: Geometry, frame: Frame) -> Geometry:
    """The geometry of a volume in a frame."""
    return ras_geometry(space) if frame == "patient" else space


def parse_block(space: Geometry, *, bbox: str = "", frame: Frame = "stored", step: str = "1") -> VoxelBlock:
    """The cut that a query asks for; raises `UsageError` where there is no such one."""
    own = geometry_in_frame(space, frame)
    steps = _parse_step(step)
    first, stop = [0, 0, 0], list(own.shape)
    if bbox:
        first, stop = (
            _block_around_mm(own, _parse_six_numbers(bbox)) if frame == "patient" else _parse_voxel_box(bbox)
        )
    for axis, size in enumerate(own.shape):
        first[axis], stop[axis] = max(0, first[axis]), min(size, stop[axis])
        if first[axis] >= stop[axis]:
            raise UsageError(
                "the box holds no voxel of the volume",
                remedy=f"the volume has {own.shape[0]}×{own.shape[1]}×{own.shape[2]} voxels",
            )
    return VoxelBlock(
        frame, (first[0], first[1], first[2]), (stop[0], stop[1], stop[2]), (steps[0], *steps[1:])
    )


def _parse_step(text: str) -> tuple[int, int, int]:
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    found = found * 3 if len(found) == 1 else found
    if len(found) != 3 or any(not 1 <= one <= MAX_STEP for one in found):
        raise UsageError(
            f"step is not one or three whole numbers from 1 to {MAX_STEP}",
            remedy="for example step=2, or step=2,2,1",
        )
    return found[0], found[1], found[2]


def _parse_six_numbers(text: str) -> list[float]:
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = []
    if len(found) != 6 or not all(math.isfinite(n) and abs(n) <= _MAX_MM for n in found):
        raise UsageError(
            "bbox is not six numbers", remedy="for example bbox=0,64,0,64,0,32: from and to, by axis"
        )
    return found


def _parse_voxel_box(text: str) -> tuple[list[int], list[int]]:
    numbers = _parse_six_numbers(text)
    if any(n != int(n) for n in numbers):
        raise UsageError("a box of voxels has whole numbers", remedy="or give frame=patient")
    return [int(n) for n in numbers[0::2]], [int(n) for n in numbers[1::2]]


def _block_around_mm(own: Geometry, numbers: Sequence[float]) -> tuple[list[int], list[int]]:
    """The block of voxels around a box in the patient."""
    ends = [(min(a, b), max(a, b)) for a, b in zip(numbers[0::2], numbers[1::2], strict=True)]
    corners = np.array([[*corner, 1.0] for corner in product(*ends)]).T
    index = np.linalg.solve(np.asarray(own.affine), corners)[:3]
    # What is within a millionth of a voxel's centre is on it.
    low, high = np.ceil(index.min(axis=1) - 1e-6), np.floor(index.max(axis=1) + 1e-6)
    return [int(n) for n in low], [int(n) + 1 for n in high]


def nifti_header(
    shape: tuple[int, int, int], dtype: Any, affine: NDArray[np.float64], *, low: float = 0, high: float = 0
) -> bytes:
    """A NIfTI-1 header with the notice in it; `low` and `high` are how it is first shown."""
    head = bytearray(header_bytes(shape, dtype, affine))
    head[124:132] = np.array([high, low], dtype="<f4").tobytes()
    head[148 : 148 + len(NOTICE)] = NOTICE.encode()
    return bytes(head)
