"""Draws the pictures of the pages on the phantom: a patient, his findings, films and a case.

Usage: python -m tools.draw.phantom_figures FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from overread.phantom.body.anatomy import Body
from overread.phantom.body.canvas import Canvas
from overread.phantom.difficulty import find_difficulty
from overread.phantom.exams.patient_exams import write_exams
from overread.phantom.film.renderer import FilmRenderer
from overread.phantom.film.sign import View
from overread.phantom.findings.dispatch import find_drawing_function
from overread.phantom.findings.scan import Scan
from overread.phantom.illness.entries import picture_file
from overread.phantom.illness.sampler import draw_draft
from overread.phantom.patient import make_patient
from overread.phantom.population import FindingPlan, draw_plans, draw_target, seed_for
from overread.phantom.scanner import add_noise
from overread.phantom.statement import KINDS
from overread.phantom.visit import PatientSettings
from overread.pixels.draw import draw_title, make_montage
from overread.pixels.geometry import to_ras
from overread.pixels.planes import Plane, extract_slice, resample_square
from overread.pixels.windows import apply_window

TILE = 230
STEP = 1.0
VIEWS: tuple[tuple[Plane, int, float], ...] = (
    ("axial", 2, 0.62),
    ("axial", 2, 0.45),
    ("coronal", 1, 0.52),
    ("sagittal", 0, 0.68),
)


def draw_tile(body: Body, clean: Canvas, category: str, kind: str) -> NDArray[np.uint8]:
    """The slice with most of one finding, cut out around it, without a hint of where it is."""
    for seed in range(20):
        canvas = clean.copy()
        scan = Scan(body, canvas, find_difficulty("easy"))
        rng = np.random.default_rng([seed, *category.encode()])
        found = find_drawing_function(FindingPlan(category, kind))(
            scan, rng, kind, draw_target(rng, category)
        )
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
    grey = apply_window(part.astype(np.float32), "mediastinum" if category == "2e" else "lung")
    big = Pillow.fromarray(grey).resize((TILE, TILE), Pillow.Resampling.BICUBIC)
    return draw_title(np.asarray(big), f"{category}  {kind}")


def patient_sheet() -> NDArray[np.uint8]:
    """Three planes of a patient in two windows."""
    patient = make_patient(1, PatientSettings(seed=2, size="full"))
    volume = patient.hu.transpose(2, 1, 0)
    shots = []
    for name in ("lung", "mediastinum"):
        ras = to_ras(volume, patient.geometry).shape
        for plane, axis, share in VIEWS:
            grey = apply_window(extract_slice(volume, patient.geometry, plane, int(ras[axis] * share)), name)
            shots.append(resample_square(grey, patient.geometry, plane, longest=380, smooth=True))
    return make_montage(shots, columns=4)


def film_sheet() -> NDArray[np.uint8]:
    """Films of several patients with what they show in words."""
    shots = []
    wanted: list[tuple[int, View, str]] = [
        (1, "PA", ""), (3, "lateral", ""), (9, "AP supine", ""),
        (0, "PA", "effusion"), (0, "PA", "pneumothorax"), (0, "PA", "mass"),
    ]  # fmt: skip
    for number, view, kind in wanted:
        settings = PatientSettings(seed=4, mix="even")
        numbers = [number] if number else range(1, 400)
        number = next(n for n in numbers if not kind or kinds_of(n, settings) == [kind])
        film = FilmRenderer(make_patient(number, settings).visit).render(view).pixels
        picture = Pillow.fromarray(film)
        picture.thumbnail((460, 460), Pillow.Resampling.LANCZOS)
        shots.append(draw_title(np.asarray(picture), f"{view}{', ' + kind if kind else ''}"))
    return make_montage(shots, columns=3)


def kinds_of(number: int, settings: PatientSettings) -> list[str]:
    """What a patient is planned to have; quick, since nothing is drawn."""
    rng = np.random.default_rng(seed_for(settings.seed, number, "plans"))
    return [plan.kind for plan in draw_plans(rng, settings.mix)]


def case_sheet(number: int = 2) -> NDArray[np.uint8]:
    """The pictures of one case, with no word of what it is."""
    settings = PatientSettings(seed=4, mix="illness")
    with TemporaryDirectory() as folder:
        write_exams(number, settings, ("medthinkvqa",), Path(folder))
        draft = draw_draft(number, settings)
        shots = []
        for look in draft.pictures:
            picture = Pillow.open(Path(folder, "medthinkvqa", picture_file(draft, look)))
            picture.thumbnail((300, 300), Pillow.Resampling.LANCZOS)
            shots.append(np.asarray(picture))
    return make_montage(shots, columns=4)


def main(folder: Path) -> None:
    """Draw and save all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    Pillow.fromarray(patient_sheet()).save(folder / "phantom-patient.png", optimize=True)
    body = Body(np.random.SeedSequence([11, 3]))
    clean = body.draw(body.make_grid(STEP))
    tiles = [draw_tile(body, clean, category, kind) for category in KINDS for kind in KINDS[category]]
    Pillow.fromarray(make_montage(tiles, columns=8)).save(folder / "phantom-findings.png", optimize=True)
    Pillow.fromarray(film_sheet()).save(folder / "phantom-films.png", optimize=True)
    Pillow.fromarray(case_sheet()).save(folder / "phantom-case.png", optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
