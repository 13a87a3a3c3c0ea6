"""Where a dense lesion meets the chest wall."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from overread.phantom.body.canvas import NUMBER, Cut
from overread.phantom.findings.scan import Entity, Scan


def close_seam(scan: Scan, entity: Entity) -> None:
    """Take the lung out of the voxels that a dense lesion shares with the chest wall.

    Those lie outside the lung and hold some of it: left as they are, a dark line would part the
    lesion from the wall.
    """
    shape = scan.canvas.grid.shape
    cut: Cut = tuple(  # type: ignore[assignment]
        slice(max((s.start or 0) - 1, 0), min(s.stop + 1, n))
        for s, n in zip(entity.cut, shape, strict=True)
    )
    mask = np.zeros([s.stop - s.start for s in cut], bool)
    inner = tuple(
        slice(e.start - s.start, e.stop - s.start) for e, s in zip(entity.cut, cut, strict=True)
    )
    mask[inner] = entity.mask
    rim = ndimage.binary_dilation(mask) & ~mask & (scan.canvas.lobes[cut] == 0)
    # Neither the air of an airway nor another finding, such as a pneumothorax, is a seam.
    rim &= (scan.canvas.organs[cut] != NUMBER["trachea and bronchi"]) & ~scan.taken[cut]
    view = scan.canvas.hu[cut]
    view[rim] = np.maximum(view[rim], -20)
