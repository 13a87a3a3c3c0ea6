"""Solid things in the lung, from either window: nodules, masses, airspace disease, cavities."""

from __future__ import annotations

import numpy as np

from overread.readers.atlas.case_signs import sureness
from overread.readers.atlas.slice_body import Bools, Slice, dilated
from overread.readers.atlas.slice_dense import Part
from overread.readers.atlas.slice_notes import Notes

AT_WALL = 0.3
"""Share of a part's outline at the ribs from which on it belongs to the wall."""


def _loose(part: Part) -> bool:
    return part.size > 5 and (part.wall < AT_WALL or (part.wall < 0.5 and part.round > 0.6))


def _column(part: Part) -> float:
    return float(np.nonzero(part.mask)[1].mean())


def solid_signs(hold: Notes) -> None:
    """Nodules, masses, airspace disease and cavities, from either window."""
    parts = [part for part in hold.dense.parts if _loose(part)]
    low = hold.level != "upper"
    x1, _, x2, _ = hold.cut.frame
    near = 0.05 * (x2 - x1)
    parts = [p for p in parts if abs(_column(p) - hold.cut.middle) > near]
    # In the lower chest a large smooth round area is rather the top of liver or spleen.
    doubt = 0.4 if low else 1.0
    air = dilated(hold.mask("rings") | hold.mask("cavities"), 3.0)
    hollow = [p for p in parts if p.hollow > 0.08 and p.size > 11]
    parts = [p for p in parts if not (p.mask & air).any()]
    smooth = [p for p in parts if p.round > 0.72 and p.ragged < 1.5 and p.hollow < 0.08]
    chalk = [p for p in smooth if p.chalk > 0.3]
    balls = [p for p in smooth if 5.5 < p.size < 30 and p.chalk <= 0.3]
    large = [p for p in smooth if p.size > 26 and p.chalk <= 0.3]
    ragged = [p for p in parts if p.size > 12 and p not in smooth and p.round > 0.3]
    share = sum(p.size**2 for p in ragged) * np.pi / 4 / _lung_area(hold.cut)
    outer = hold.number("outer ragged")
    hold.add(
        "consolidation",
        max(sureness(share, 0.025, 0.01), sureness(outer, 0.03, 0.012)),
        f"ragged dense areas as large as {share:.1%} of the lungs, and in {outer:.1%} of the "
        "outer lung",
        _union(hold, ragged) | hold.mask("outer ragged"),
        amount=max(share, outer),
    )
    hold.add(
        "nodules",
        sureness(len(balls), 2.6, 0.7),
        f"{len(balls)} round dense spots of at least 5.5 mm",
        _union(hold, balls),
        amount=len(balls),
        number=len(balls),
    )
    most = max((p.size for p in balls), default=0.0)
    hold.add(
        "nodule",
        sureness(most, 8.5, 1.5) * (1 - sureness(len(balls), 2.6, 0.7)),
        f"the largest round dense spot measures {most:.0f} mm",
        _union(hold, sorted(balls, key=lambda p: -p.size)[:1]),
        amount=most,
    )
    widest = max((p.size for p in (*large, *ragged)), default=0.0)
    hold.add(
        "mass",
        sureness(widest, 31, 4) * (doubt if not ragged else 0.9),
        f"the widest dense area measures {widest:.0f} mm",
        _union(hold, sorted((*large, *ragged), key=lambda p: -p.size)[:1]),
        amount=widest,
    )
    ball = max((p.size for p in large if p.ragged < 1.3), default=0.0)
    hold.add(
        "fluid cyst",
        sureness(ball, 25, 4) * 0.85 * doubt,
        f"a smooth round dense area of {ball:.0f} mm",
        _union(hold, large[:1]),
        amount=ball,
    )
    hold.add(
        "calcified nodule",
        0.92 if chalk else 0.08,
        f"{len(chalk)} spots as bright as bone within the lung",
        _union(hold, chalk),
        amount=len(chalk),
        number=len(chalk),
    )
    deep = max((p.hollow for p in hollow), default=0.0)
    caves, wide = hold.number("cavities"), hold.number("cavities mm")
    hold.add(
        "cavity",
        max(sureness(deep, 0.14, 0.05), 0.93 if caves else 0.05),
        f"a dense area with air in {deep:.0%} of it; {caves:.0f} air spaces in dense walls, up to "
        f"{wide:.0f} mm",
        _union(hold, hollow) | hold.mask("cavities"),
        amount=deep,
        number=max(1, len(hollow)),
    )


def _union(hold: Notes, parts: list[Part]) -> Bools:
    mask = np.zeros_like(hold.cut.body)
    for part in parts:
        mask |= part.mask
    return mask


def _lung_area(cut: Slice) -> float:
    return max(float(cut.lungs.sum()) * cut.mm**2, 1.0)
