"""Solid things in the lung, from either window: nodules, masses, airspace disease, cavities."""

from __future__ import annotations

import numpy as np

from overread.readers.atlas.slice.body import CtSlice
from overread.readers.atlas.slice.dense import DensePart
from overread.readers.atlas.slice.morphology import Bools, dilate
from overread.readers.atlas.slice.sign_collector import SignCollector
from overread.readers.atlas.slice.signs import confidence_from

AT_WALL = 0.3
"""Share of a part's outline at the ribs from which on it belongs to the wall."""


def _is_loose(part: DensePart) -> bool:
    return part.size > 5 and (part.wall < AT_WALL or (part.wall < 0.5 and part.round > 0.6))


def _mean_column(part: DensePart) -> float:
    return float(np.nonzero(part.mask)[1].mean())


def add_solid_signs(hold: SignCollector) -> None:
    """Nodules, masses, airspace disease and cavities, from either window."""
    parts = [part for part in hold.dense.parts if _is_loose(part)]
    low = hold.level != "upper"
    x1, _, x2, _ = hold.cut.frame
    near = 0.05 * (x2 - x1)
    parts = [p for p in parts if abs(_mean_column(p) - hold.cut.middle) > near]
    # In the lower chest a large smooth round area is rather the top of liver or spleen.
    doubt = 0.4 if low else 1.0
    air = dilate(hold.mask("rings") | hold.mask("cavities"), 3.0)
    hollow = [p for p in parts if p.hollow > 0.08 and p.size > 11]
    parts = [p for p in parts if not (p.mask & air).any()]
    smooth = [p for p in parts if p.round > 0.72 and p.ragged < 1.5 and p.hollow < 0.08]
    chalk = [p for p in smooth if p.calcified > 0.3]
    balls = [p for p in smooth if 5.5 < p.size < 30 and p.calcified <= 0.3]
    large = [p for p in smooth if p.size > 26 and p.calcified <= 0.3]
    ragged = [p for p in parts if p.size > 12 and p not in smooth and p.round > 0.3]
    share = sum(p.size**2 for p in ragged) * np.pi / 4 / _lung_area(hold.cut)
    outer = hold.number("outer ragged")
    hold.add_sign(
        "consolidation",
        max(confidence_from(share, 0.025, 0.01), confidence_from(outer, 0.03, 0.012)),
        f"ragged dense areas as large as {share:.1%} of the lungs, and in {outer:.1%} of the outer lung",
        _union_mask(hold, ragged) | hold.mask("outer ragged"),
        amount=max(share, outer),
    )
    hold.add_sign(
        "nodules",
        confidence_from(len(balls), 2.6, 0.7),
        f"{len(balls)} round dense spots of at least 5.5 mm",
        _union_mask(hold, balls),
        amount=len(balls),
        number=len(balls),
    )
    most = max((p.size for p in balls), default=0.0)
    hold.add_sign(
        "nodule",
        confidence_from(most, 8.5, 1.5) * (1 - confidence_from(len(balls), 2.6, 0.7)),
        f"the largest round dense spot measures {most:.0f} mm",
        _union_mask(hold, sorted(balls, key=lambda p: -p.size)[:1]),
        amount=most,
    )
    widest = max((p.size for p in (*large, *ragged)), default=0.0)
    hold.add_sign(
        "mass",
        confidence_from(widest, 31, 4) * (doubt if not ragged else 0.9),
        f"the widest dense area measures {widest:.0f} mm",
        _union_mask(hold, sorted((*large, *ragged), key=lambda p: -p.size)[:1]),
        amount=widest,
    )
    ball = max((p.size for p in large if p.ragged < 1.3), default=0.0)
    hold.add_sign(
        "fluid cyst",
        confidence_from(ball, 25, 4) * 0.85 * doubt,
        f"a smooth round dense area of {ball:.0f} mm",
        _union_mask(hold, large[:1]),
        amount=ball,
    )
    hold.add_sign(
        "calcified nodule",
        0.92 if chalk else 0.08,
        f"{len(chalk)} spots as bright as bone within the lung",
        _union_mask(hold, chalk),
        amount=len(chalk),
        number=len(chalk),
    )
    deep = max((p.hollow for p in hollow), default=0.0)
    caves, wide = hold.number("cavities"), hold.number("cavities mm")
    hold.add_sign(
        "cavity",
        max(confidence_from(deep, 0.14, 0.05), 0.93 if caves else 0.05),
        f"a dense area with air in {deep:.0%} of it; {caves:.0f} air spaces in dense walls, up to "
        f"{wide:.0f} mm",
        _union_mask(hold, hollow) | hold.mask("cavities"),
        amount=deep,
        number=max(1, len(hollow)),
    )


def _union_mask(hold: SignCollector, parts: list[DensePart]) -> Bools:
    mask = np.zeros_like(hold.cut.body)
    for part in parts:
        mask |= part.mask
    return mask


def _lung_area(cut: CtSlice) -> float:
    return max(float(cut.lungs.sum()) * cut.mm**2, 1.0)
