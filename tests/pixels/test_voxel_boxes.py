"""Boxes of the stored array and where they lie on the slices as they are shown."""

from __future__ import annotations

from typing import Any

import nibabel as nib
import numpy as np
import pytest

from overread.core import VoxelBox
from overread.pixels.geometry import make_geometry
from overread.pixels.planes import extract_slice
from overread.pixels.voxel_boxes import from_shown, to_shown


@pytest.mark.parametrize("axes", ["LPS", "RAS", "SLA", "PIR", "ARI"])
def test_a_box_is_shown_where_its_voxels_are(axes: str) -> None:
    """The voxels of the box, drawn on every slice, fill the shown box and nothing else."""
    shape = (12, 9, 7)
    turned = nib.orientations.inv_ornt_aff(
        nib.orientations.ornt_transform(
            nib.orientations.axcodes2ornt(tuple("RAS")), nib.orientations.axcodes2ornt(tuple(axes))
        ),
        shape,
    )
    space = make_geometry(shape, np.asarray(turned), where="here")
    assert space.axes == axes
    box = VoxelBox(picture="ct", low=(2, 3, 1), high=(7, 5, 4))
    volume = np.zeros(shape, np.uint8)
    volume[2:7, 3:5, 1:4] = 1
    shown = to_shown(box, space)
    slices: Any = range(shown.first, shown.last + 1)
    drawn = sum(int(extract_slice(volume, space, "axial", n).sum()) for n in slices)
    assert drawn == volume.sum()
    for index in slices:
        flat = extract_slice(volume, space, "axial", index)
        assert flat[shown.top : shown.bottom, shown.left : shown.right].all()
    assert from_shown(shown, space) == (box.low, box.high)
