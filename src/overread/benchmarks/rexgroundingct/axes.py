"""Why a mask does not fit its CT: swapped axes, other channels, another orientation.

A mask is stored as (F, H, W, D), where (H, W, D) are the axes of the CT's own array, whatever they
are in the patient. Most tools hand arrays out in another order, and each has its own.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from overread.core import Geometry
from overread.errors import PictureError
from overread.pixels.geometry import make_geometry

Shape = tuple[int, ...]

_KNOWN_ORDERS = {
    "FWHD": "H and W are swapped",
    "DFHW": "as torchio and MONAI return it",
    "DWHF": "as SimpleITK returns it",
    "FDWH": "as nnU-Net and VoxTell return it, (F, Z, Y, X)",
    "FDHW": "with the slices first",
    "WHD": "H and W are swapped",
    "DWH": "as SimpleITK, nnU-Net and VoxTell return it, (Z, Y, X)",
    "DHW": "with the slices first",
}
_ORIENTATION_REMEDY = (
    "turn the array back into the CT's own order before it is written; the header of a mask is not "
    "used, so where the array is right nothing is lost"
)


def describe_misfit(shape: Shape, ct: Shape, findings: int) -> tuple[str, str]:
    """What is wrong with the shape of a mask, and what to do about it.

    >>> what, remedy = describe_misfit((2, 7, 9, 6), (9, 7, 6), 2)
    >>> print(what)
    the mask has the shape (2, 7, 9, 6), not (2, 9, 7, 6): (F, W, H, D), H and W are swapped
    >>> print(remedy)
    write np.transpose(mask, (0, 2, 1, 3))
    """
    expected = (findings, *ct)
    what = f"the mask has the shape {shape}, not {expected}"
    if len(shape) > 4 and 1 in shape:
        bare = tuple(n for n in shape if n != 1)
        if bare in (expected, tuple(n for n in expected if n != 1)):
            return f"{what}: it has an axis too many", f"write mask.reshape({expected})"
    orders = _fitting_orders(shape, ct, findings)
    if orders:
        told = " or ".join(
            f"({', '.join(order)})" + (f", {_KNOWN_ORDERS[order]}" if order in _KNOWN_ORDERS else "")
            for order in orders
        )
        ways = " or ".join(_format_transpose(order) for order in orders)
        return f"{what}: {told}", f"write {ways}"
    for channels, space in ((shape[:1], shape[1:]), (shape[3:], shape[:3])):
        if len(channels) == 1 and space == ct:
            what = f"the mask has {channels[0]} channel(s), the case {findings} finding(s)"
            return what, f"write one channel for each finding, in their order: {expected}"
    if shape == ct:
        what = f"the mask has one channel, the case {findings} findings"
        return what, f"write one channel for each finding, in their order: {expected}"
    if len(shape) == 4 and shape[0] == findings:
        return what, f"resample the mask to the CT's own voxels, {tuple(ct)}"
    return what, f"write {expected}: the findings in their order, then the CT's own array"


def _fitting_orders(shape: Shape, ct: Shape, findings: int) -> list[str]:
    """Orders of the axes in which a mask of that shape would fit, those that are known first."""
    letters, sizes = "FHWD", (findings, *ct)
    if len(shape) == 3 and findings == 1:
        letters, sizes = "HWD", ct
    if len(shape) != len(sizes) or sorted(shape) != sorted(sizes):
        return []
    size = dict(zip(letters, sizes, strict=True))
    fitting = ["".join(p) for p in permutations(letters) if tuple(size[a] for a in p) == shape]
    known = [order for order in _KNOWN_ORDERS if order in fitting]
    return known[:2] or fitting[:1]


def _format_transpose(order: str) -> str:
    official = "FHWD" if len(order) == 4 else "HWD"
    return f"np.transpose(mask, ({', '.join(str(order.index(axis)) for axis in official)}))"


def describe_orientation(affine: NDArray[np.float64], shape: Shape, ct: Geometry) -> tuple[str, str] | None:
    """A warning if the mask's header contradicts the CT's orientation, else None.

    Headers of mask files are unreliable, even the official ones, so this is only a hint. The affine
    of an (F, H, W, D) file applies to its first three axes; it only shows which three directions
    the writer had in mind. An identity affine, and the default that readers fill in, say nothing.
    """
    try:
        own = make_geometry((1, 1, 1), affine, where="a mask")
    except PictureError:
        return None
    if own.axes == ct.axes or _is_default_affine(affine, shape, own.spacing):
        return None
    pairs = list(zip(own.axes, ct.axes, "HWD", strict=True))
    if all(_axis_of(mine) == _axis_of(its) for mine, its, _ in pairs):
        flipped = [axis for mine, its, axis in pairs if mine != its]
        how = f"it may be flipped along {' and '.join(flipped)}"
    else:
        how = "its axes may be swapped"
    what = (
        f"the shape is right and the orientation perhaps not: the mask's header says {own.axes}, "
        f"the CT's {ct.axes}, so {how}"
    )
    return what, _ORIENTATION_REMEDY


def _is_default_affine(
    affine: NDArray[np.float64], shape: Shape, spacing: tuple[float, float, float]
) -> bool:
    if np.allclose(affine, np.eye(4), rtol=0, atol=1e-6):
        return True
    # Without an affine NIfTI readers centre the array and let the first axis run to the left.
    steps = np.asarray(spacing) * (-1, 1, 1)
    centred = np.diag([*steps, 1.0])
    centred[:3, 3] = -steps * (np.asarray(shape[:3]) - 1) / 2
    return bool(np.allclose(affine, centred, rtol=1e-4, atol=1e-3))


def _axis_of(letter: str) -> str:
    """The anatomical axis of a direction letter, regardless of sign."""
    return {"L": "R", "P": "A", "I": "S"}.get(letter, letter)
