"""Lobes and segments, approximately: fissures fitted to what is seen of them, segments by place.

A fissure is a thin sheet, a little denser than the lung beside it, that no vessel of note crosses.
Its surface is a polynomial over the plane of the table, begun where textbooks put it (the oblique
fissure from about the fifth thoracic vertebra to the front of the diaphragm, the horizontal one
at mid height) and moved to where most of it is seen. Where nothing is seen it stays where it was.
Segments are the parts of a lobe that lie nearest to the places that their names say.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from overread.ontology import lung_anatomy as lung_names
from overread.readers.atlas.ct.chest import ChestCt
from overread.readers.atlas.ct.morphology import Bools, Floats

LOBES = tuple(lobe.code for lobe in lung_names().lobes)
"""Codes of the lobes; lobe n of a map is LOBES[n - 1]."""
# Heights are shares of the lung's own height; the terms are 1, front, out, front², front·out, out².
Terms = tuple[float, float, float, float, float, float]
OBLIQUE: dict[str, Terms] = {
    "right": (0.38, -0.80, 0.0, 0.0, 0.0, 0.0),
    "left": (0.42, -0.85, 0.0, 0.0, 0.0, 0.0),
}
HORIZONTAL: Terms = (0.50, -0.10, 0.0, 0.0, 0.0, 0.0)
TERM_SPREAD: Terms = (0.10, 0.20, 0.12, 0.25, 0.2, 0.25)
"""How far each term usually is from what textbooks say."""
ADULT_HEIGHT_MM = 220.0
"""Millimetres that a lung of an adult is high, about."""
PRIOR_WEIGHT = 1.5
"""HU of sheet that a term must gain for being that far off."""

# Where segments lie in their lobe: in from 0 to out 1, back 0 to front 1, low 0 to high 1.
SEGMENT_PLACES: dict[str, tuple[float, float, float]] = {
    "RS1": (0.45, 0.45, 0.88), "RS2": (0.65, 0.15, 0.45), "RS3": (0.55, 0.80, 0.30),
    "RS4": (0.80, 0.40, 0.50), "RS5": (0.30, 0.70, 0.45),
    "RS6": (0.50, 0.30, 0.85), "RS7": (0.15, 0.55, 0.20), "RS8": (0.60, 0.88, 0.20),
    "RS9": (0.85, 0.50, 0.20), "RS10": (0.45, 0.12, 0.25),
    "LS1+2": (0.50, 0.25, 0.82), "LS3": (0.55, 0.75, 0.62),
    "LS4": (0.60, 0.70, 0.32), "LS5": (0.50, 0.80, 0.10),
    "LS6": (0.50, 0.30, 0.85), "LS7+8": (0.40, 0.80, 0.20),
    "LS9": (0.85, 0.50, 0.20), "LS10": (0.45, 0.12, 0.25),
}  # fmt: skip


def find_lobes(chest: ChestCt) -> NDArray[np.uint8]:
    """Number of the lobe at each voxel of the rooms, 0 elsewhere."""
    out: NDArray[np.uint8] = np.zeros(chest.hu.shape, np.uint8)
    number = {code: n for n, code in enumerate(LOBES, 1)}
    # Sheets run along x: smoothing along it keeps them and takes the grain away.
    from scipy import ndimage

    sheet = ndimage.gaussian_filter1d(chest.hu, 4.0 / chest.mm[0], axis=0, truncate=2)
    heights = np.arange(out.shape[2])[None, None, :]
    for side in ("right", "left"):
        room = chest.lung_space[side]
        if not room.any():
            continue
        frame = _LungFrame(chest, side)
        oblique = frame.fit_surface(OBLIQUE[side], _sheet_contrast(sheet, chest, slanted=True))
        low = room & (heights < oblique[..., None])
        out[room] = number["RUL" if side == "right" else "LUL"]
        if side == "right":
            level = frame.fit_surface(
                HORIZONTAL, _sheet_contrast(sheet, chest, slanted=False), above=oblique, front=0.45
            )
            out[room & (heights < level[..., None])] = number["RML"]
        out[low] = number["RLL" if side == "right" else "LLL"]
    return out


def _sheet_contrast(sheet: Floats, chest: ChestCt, *, slanted: bool) -> Floats:
    """How much denser a voxel is than what lies 6 mm to both sides of a sheet through it."""
    dy = max(1, round(4.2 / chest.mm[1])) if slanted else 0
    dz = max(1, round((4.2 if slanted else 6.0) / chest.mm[2]))
    beside = (np.roll(sheet, (dy, dz), (1, 2)) + np.roll(sheet, (-dy, -dz), (1, 2))) / 2
    out: Floats = np.clip(sheet - beside, -60, 60)
    # Only lung that holds air can show a fissure; vessels and disease tell nothing.
    out[~chest.air | (sheet > -650)] = np.nan
    return out


class _LungFrame:
    """One lung's own coordinates over the plane of the table."""

    def __init__(self, chest: ChestCt, side: str) -> None:
        room = chest.lung_space[side]
        columns = room.any(axis=2)
        at = [np.flatnonzero(room.any(axis=other)) for other in ((1, 2), (0, 2), (0, 1))]
        self.bottom, self.height = float(at[2][0]), float(at[2][-1] - at[2][0] + 1)
        # Of a lung that runs out of the picture at one end, the rest is thought on.
        cut_below, cut_above = at[2][0] == 0, at[2][-1] == room.shape[2] - 1
        if cut_below != cut_above:
            whole = max(self.height, ADULT_HEIGHT_MM / chest.mm[2])
            self.bottom -= whole - self.height if cut_below else 0.0
            self.height = whole
        x, y = np.meshgrid(np.arange(room.shape[0]), np.arange(room.shape[1]), indexing="ij")
        out = (x - at[0][0]) / max(1, at[0][-1] - at[0][0])
        self.out = (out if side == "right" else 1 - out) - 0.5
        self.front = (y - at[1][0]) / max(1, at[1][-1] - at[1][0]) - 0.5
        u, v = self.out, self.front
        self.basis = np.stack([np.ones_like(u), v, u, v * v, v * u, u * u], axis=-1)
        self.columns = columns

    def surface(self, terms: NDArray[np.float64]) -> NDArray[np.float64]:
        """Height in slices, at each column."""
        return self.bottom + self.height * (self.basis @ terms)

    def fit_surface(
        self, start: Terms, contrast: Floats, *, above: NDArray[np.float64] | None = None, front: float = 0.0
    ) -> NDArray[np.float64]:
        """The surface near `start` on which the sheet is seen best."""
        used = self.columns & (self.front > front - 0.5)
        used[::2] = used[:, ::2] = False
        i, j = np.nonzero(used)
        basis, tops = self.basis[used], contrast.shape[2]
        over = above[used] if above is not None else None
        prior, loose = np.array(start), np.array(TERM_SPREAD)

        def seen(terms: NDArray[np.float64]) -> float:
            height = self.bottom + self.height * (basis @ terms)
            k = np.rint(height).astype(int)
            fits = (k >= 0) & (k < tops)
            if over is not None:
                fits &= height > over
            values = contrast[i[fits], j[fits], k[fits]]
            known = np.isfinite(values)
            if known.sum() < 30:
                return -1e9
            mean = float(values[known].sum() / (known.sum() + 60))
            return mean - PRIOR_WEIGHT * float((((terms - prior) / loose) ** 2).sum())

        best, score = prior, seen(prior)
        for a, b in product(np.linspace(-0.2, 0.2, 17), np.linspace(-0.35, 0.35, 9)):
            tried = prior + np.array([a, b, 0, 0, 0, 0])
            if (value := seen(tried)) > score:
                best, score = tried, value
        for size in (0.5, 0.25, 0.12):
            for _ in range(3):
                before = score
                for term in range(len(best)):
                    for sign in (-1, 1):
                        tried = best.copy()
                        tried[term] += sign * size * loose[term]
                        if (value := seen(tried)) > score:
                            best, score = tried, value
                if score <= before:
                    break
        return self.surface(best)


def find_segments(chest: ChestCt, codes: tuple[str, ...]) -> dict[str, Bools]:
    """Segment → the part of its lobe that lies nearest to where its name says it is."""
    found: dict[str, Bools] = {}
    names = lung_names()
    for code in codes:
        lobe = names.by_code[code]
        if code in found or lobe.code not in LOBES:
            continue
        mask = chest.lobes == LOBES.index(lobe.code) + 1
        if not mask.any():
            continue
        at = np.nonzero(mask)
        axes = []
        for index in at:
            low, high = np.percentile(index, (1, 99))
            axes.append((index - low) / max(1.0, high - low))
        if lobe.side == "left":
            axes[0] = 1 - axes[0]
        parts = [part.code for part in lobe.segments]
        seeds = np.array([SEGMENT_PLACES[part] for part in parts])
        points = np.stack(axes, axis=-1)
        nearest = ((points[:, None] - seeds[None]) ** 2).sum(axis=-1).argmin(axis=1)
        for n, part in enumerate(parts):
            where = np.zeros(mask.shape, bool)
            chosen = nearest == n
            where[at[0][chosen], at[1][chosen], at[2][chosen]] = True
            found[part] = where
    return {code: found[code] for code in codes if code in found}
