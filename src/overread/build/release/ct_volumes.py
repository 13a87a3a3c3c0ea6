"""CTs and the masks in them, for formats that take volumes.

The geometry is always the CT's: the header of a mask file is not believed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.build.release.export_job import CannotExport
from overread.core import Entry, Finding, Geometry, Mask, Release, Volume
from overread.pixels.geometry import Array, ras_geometry, to_ras
from overread.pixels.masks import read_channel
from overread.pixels.nifti import read_volume

Labels = NDArray[np.integer[Any]]


def find_volume(entry: Entry) -> Volume:
    """The CT of a case."""
    for picture in entry.case.pictures:
        if isinstance(picture, Volume):
            return picture
    raise CannotExport("it has no volume")


def read_ct(release: Release, entry: Entry) -> tuple[Array, Geometry]:
    """The CT of a case in whole HU where it has them, as its file stores it."""
    picture = find_volume(entry)
    volume, space = read_volume(release.pictures.data(picture), name=picture.name)
    if volume.dtype.kind in "iu" and volume.dtype != np.int16:
        low, high = int(volume.min()), int(volume.max())
        if low >= -32768 and high <= 32767:
            volume = volume.astype(np.int16)
    return volume, space


def read_labels(release: Release, finding: Finding, space: Geometry) -> Labels:
    """The voxels of a finding: 0, or the number of the entity; in the CT's own order."""
    masks = [region for region in finding.regions if isinstance(region, Mask)]
    if not masks:
        raise CannotExport(f"finding {finding.query} has no mask")
    found: Labels | None = None
    for mask in masks:
        source = release.source(mask.file)
        labels: Labels = read_channel(source, mask.channel, space.shape, mask.channels, name=mask.file)
        if mask.entity is not None:
            labels = np.where(labels == mask.entity, labels, 0)
        found = labels if found is None else np.where(found > 0, found, labels)
    assert found is not None
    return found


def mask_blocks(labels: Labels, space: Geometry) -> list[dict[str, Any]]:
    """The box of each entity on axial slices as they are shown, the largest entity first.

    As the prompt 'ground' asks for them: slices counted from the feet, edges as shares of the
    slice, the patient's right on the left and the front at the top.
    """
    from scipy.ndimage import find_objects

    ras: NDArray[Any] = to_ras(labels, space)
    across, down, _ = ras_geometry(space).shape
    sizes = np.bincount(ras[ras > 0])  # of the marked voxels alone: a scan has eighty million
    found = []
    for number, place in enumerate(find_objects(ras), 1):
        if place is None:
            continue
        x, y, z = place
        edges = {
            "left": (across - x.stop) / across,
            "top": (down - y.stop) / down,
            "right": (across - x.start) / across,
            "bottom": (down - y.start) / down,
        }
        block = {"first_slice": z.start, "last_slice": z.stop - 1}
        found.append((int(sizes[number]), block | {k: round(v, 4) for k, v in edges.items()}))
    return [block for _, block in sorted(found, key=lambda pair: -pair[0])]
