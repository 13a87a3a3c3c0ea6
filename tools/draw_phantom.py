"""Draws the pictures of docs/phantom.md: one patient, and one finding of every kind.

Usage: python tools/draw_phantom.py FOLDER
"""

from __future__ import annotations

import sys
from copy import copy
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from overread.phantom.body.anatomy import Body
from overread.phantom.body.canvas import Canvas
from overread.phantom.difficulty import difficulty
from overread.phantom.drawing import drawer
from overread.phantom.findings.scan import Scan
from overread.phantom.patient import Settings, make_patient
from overread.phantom.population import Plan, draw_target
from overread.phantom.scanner import add_noise
from overread.phantom.statement import KINDS
from overread.pixels.draw import montage, titled
from overread.pixels.geometry import to_ras
from overread.pixels.planes import Plane, cut, square
from overread.pixels.windows import window

TILE = 230
STEP = 1.0
VIEWS: tuple[tuple[Plane, int, float], ...] = (
    ("axial", 2, 0.62),
    ("axial", 2, 0.45),
    ("coronal", 1, 0.52),
    ("sagittal", 0, 0.68),
)


def copied(canvas: Canvas) -> Canvas:
    """A canvas to draw on while the first stays clean."""
    other = copy(canvas)
    other.hu, other.organs = canvas.hu.copy(), canvas.organs.copy()
    other.lobes, other.segments = canvas.lobes.copy(), canvas.segments.copy()
    return other


def tile(body: Body, clean: Canvas, category: str, kind: str) -> NDArray[np.uint8]:
    """The slice with most of one finding, cut out around it, without a hint of where it is."""
    for seed in range(20):
        canvas = copied(clean)
        scan = Scan(body, canvas, difficulty("easy"))
        rng = np.random.default_rng([seed, *category.encode()])
        found = drawer(Plan(category, kind))(scan, rng, kind, draw_target(rng, category))
        if found is not None:
            break
    else:
        raise SystemExit(f"{category} {kind} fits nowhere")
    mask = np.zeros(canvas.grid.shape, bool)
    for entity in found.entities:
        mask[entity.cut] |= entity.mask
    level = int(np.argmax(mask.sum(axis=(1, 2))))
    rows, columns = np.nonzero(mask[level])
    hu = add_noise(canvas, body.habitus, 12.0, np.random.SeedSequence(1))
    half = 75
    y = int(np.clip(rows.mean(), half, hu.shape[1] - half))
    x = int(np.clip(columns.mean(), half, hu.shape[2] - half))
    part = hu[level, y - half : y + half, x - half : x + half]
    grey = window(part.astype(np.float32), "mediastinum" if category == "2e" else "lung")
    big = Pillow.fromarray(grey).resize((TILE, TILE), Pillow.Resampling.BICUBIC)
    return titled(np.asarray(big), f"{category}  {kind}")


def patient_sheet() -> NDArray[np.uint8]:
    """Three planes of a patient in two windows."""
    patient = make_patient(1, Settings(seed=2, size="full"))
    volume = patient.hu.transpose(2, 1, 0)
    shots = []
    for name in ("lung", "mediastinum"):
        ras = to_ras(volume, patient.space).shape
        for plane, axis, share in VIEWS:
            grey = window(cut(volume, patient.space, plane, int(ras[axis] * share)), name)
            shots.append(square(grey, patient.space, plane, longest=380, smooth=True))
    return montage(shots, columns=4)


def main(folder: Path) -> None:
    """Draw and save both."""
    folder.mkdir(parents=True, exist_ok=True)
    Pillow.fromarray(patient_sheet()).save(folder / "phantom-patient.png", optimize=True)
    body = Body(np.random.SeedSequence([11, 3]))
    clean = body.draw(body.grid(STEP))
    tiles = [tile(body, clean, category, kind) for category in KINDS for kind in KINDS[category]]
    Pillow.fromarray(montage(tiles, columns=8)).save(folder / "phantom-findings.png", optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
