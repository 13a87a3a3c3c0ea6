"""Where a dense lesion meets the chest wall."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from overread.phantom.body.boxes import to_inner
from overread.phantom.body.canvas import ORGAN_NUMBERS
from overread.phantom.findings.scan import Entity, Scan


def close_seam(scan: Scan, entity: Entity) -> None:
    """Take the lung out of the voxels that a dense lesion shares with the chest wall.

    Those lie outside the lung and hold some of it: left as they are, a dark line would part the
    lesion from the wall.
    """
    z, y, x = (
        slice(max(part.start - 1, 0), min(part.stop + 1, size))
        for part, size in zip(entity.cut, scan.canvas.grid.shape, strict=True)
    )
    cut = z, y, x
    mask = np.zeros(scan.canvas.hu[cut].shape, bool)
    mask[to_inner(entity.cut, cut)] = entity.mask
    rim = ndimage.binary_dilation(mask) & ~mask & (scan.canvas.lobes[cut] == 0)
    # Neither the air of an airway nor another finding, such as a pneumothorax, is a seam.
    rim &= (scan.canvas.organs[cut] != ORGAN_NUMBERS["trachea and bronchi"]) & ~scan.claimed[cut]
    view = scan.canvas.hu[cut]
    view[rim] = np.maximum(view[rim], -20)
