"""A threshold baseline: in the lobes that the sentence names, every voxel within the category's
band of HU.

It knows category, place and lobes and nothing of shape: a reader should do better. The difficulty
`medium` was set so that its mean Dice lies between .15 and .30.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.ontology import lung_anatomy as lung_names
from overread.phantom.body.boxes import bounding_box
from overread.phantom.body.canvas import ORGAN_NUMBERS
from overread.phantom.body.lungs import LOBES
from overread.phantom.statement import FindingStatement

BANDS: dict[str, tuple[float, float]] = {
    "1a": (-600, 200),
    "1b": (-600, 200),
    "1c": (-1100, -945),
    "1d": (-780, -300),
    "1e": (-650, 200),
    "1f": (-1100, -905),
    "2a": (-600, 200),
    "2b": (-400, 200),
    "2c": (-750, -300),
    "2d": (-300, 3071),
    "2e": (-20, 40),
    "2f": (-800, -200),
    "2g": (-1100, -970),
    "2h": (-300, 200),
}
"""HU from and to, by category: what a textbook would give, not what the phantom draws."""


def baseline_mask(
    hu: NDArray[np.int16],
    lobes: NDArray[np.uint8],
    organs: NDArray[np.uint8],
    statement: FindingStatement,
    said: tuple[str, ...],
) -> NDArray[np.bool_]:
    """The voxels in the category's band, in the lobes or the side that the sentence names."""
    low, high = BANDS[statement.category]
    band = (hu >= low) & (hu <= high)
    if statement.category in ("2e", "2g"):
        return band & _lung_boxes(organs, statement.side if "side" in said else "both")
    if "lobes" in said and statement.lobes:
        numbers = [LOBES.index(code) + 1 for code in statement.lobes]
        return band & np.isin(lobes, numbers)
    if "side" in said and statement.side in ("right", "left"):
        sides = (lung_names().by_code[code].side for code in LOBES)
        own = [number for number, side in enumerate(sides, 1) if side == statement.side]
        return band & np.isin(lobes, own)
    return band & (lobes > 0)


def _lung_boxes(organs: NDArray[np.uint8], side: str | None) -> NDArray[np.bool_]:
    """Within the box of the lung of that side: where fluid or air beside it must lie."""
    sides = ("right", "left") if side not in ("right", "left") else (side,)
    out = np.zeros(organs.shape, bool)
    for name in sides:
        box = bounding_box(organs == ORGAN_NUMBERS[f"{name} lung"])
        if box is not None:
            out[box] = True
    return out


def dice_score(a: NDArray[np.bool_], b: NDArray[np.bool_]) -> float:
    """Twice what two masks share over what both have; 1 where both are empty."""
    both = int(a.sum()) + int(b.sum())
    return 2 * int((a & b).sum()) / both if both else 1.0
