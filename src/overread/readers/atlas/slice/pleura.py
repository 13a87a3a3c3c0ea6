"""Signs between ribs and lung and behind the heart, in either window: effusion, thickening,
calcification, hernia.
"""

from __future__ import annotations

import numpy as np

from overread.readers.atlas.slice.dense import rays_mask
from overread.readers.atlas.slice.morphology import open_mask
from overread.readers.atlas.slice.sign_collector import SignCollector
from overread.readers.atlas.slice.signs import confidence_from
from overread.readers.atlas.slice.wall import ChestWall, right_rays, sector_rays


def add_wall_signs(hold: SignCollector, wall: ChestWall) -> None:
    """Fluid, thickening and chalk between ribs and lung, from either window."""
    cut, dense = hold.cut, hold.dense
    right = right_rays()
    depth = {side: dense.numbers[f"behind {side}"] for side in ("right", "left")}
    ahead = {side: dense.numbers[f"front {side}"] for side in ("right", "left")}
    # A ragged inner border is airspace disease that reaches the wall.
    rough = max(0.0, hold.number("rough") - 1.25) if hold.number("outer ragged") > 0.03 else 0.0
    fluid = {side: (depth[side] - 0.5 * ahead[side]) / (1 + 6 * rough) for side in depth}
    worst = max(fluid, key=lambda side: fluid[side])
    mask = np.zeros_like(cut.body)
    for side, rays in (("right", right), ("left", ~right)):
        if fluid[side] > 8:
            mask |= rays_mask(cut, wall, sector_rays(75, 155) & rays, 5.0)
    hold.add_sign(
        "effusion",
        confidence_from(fluid[worst], 9, 3),
        f"{depth[worst]:.0f} mm of fluid-like density between ribs and lung behind on the {worst}",
        mask,
        amount=fluid[worst],
    )
    thick = dense.numbers["thick most"]
    rind = rays_mask(cut, wall, sector_rays(35, 150), dense.numbers["usual gap"] + 2.5)
    hold.add_sign(
        "pleural thickening",
        confidence_from(thick, 0.33, 0.08) * (1 - 0.7 * confidence_from(fluid[worst], 9, 3)),
        f"a rind beyond the usual along {thick:.0%} of one side's wall",
        rind,
        amount=thick,
    )
    shine = dense.numbers["shine most"]
    hold.add_sign(
        "pleural calcification",
        confidence_from(shine, 0.06, 0.03),
        f"bright as bone along {shine:.0%} of one side's pleura",
        rind,
        amount=shine,
    )


def add_hernia_sign(hold: SignCollector, wall: ChestWall) -> None:
    """Gas behind the heart that is no lung: a stomach that came through the diaphragm."""
    cut = hold.cut
    low = hold.level == "lower"
    rows = np.flatnonzero(cut.lungs.any(axis=1))
    ys, xs = np.indices(cut.body.shape)
    x1, _, x2, _ = cut.frame
    behind = (ys > (rows[0] + rows[-1]) / 2) & (np.abs(xs - cut.middle) < 0.14 * (x2 - x1))
    dark = cut.values < cut.air + max(8.0, 0.12 * (cut.soft - cut.air))
    gas = open_mask(np.asarray(wall.cavity & ~cut.lungs & behind & dark), cut.to_pixels(2.0))
    size = float(gas.sum()) * cut.mm**2 if low else 0.0
    hold.add_sign(
        "hernia",
        confidence_from(size, 70.0, 30.0) if low else 0.1,
        f"{size:.0f} mm² of gas behind the heart",
        gas,
        amount=size,
    )
