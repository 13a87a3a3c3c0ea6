"""Draws docs/picture.png: one synthetic patient, and what each of the three benchmarks asks of him.

Usage: python tools/draw/readme_picture.py OUT.png
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow
from PIL import ImageDraw, ImageFont

import overread
from overread.core import Box, Entry, Release, Truth
from overread.ontology import finding_tree
from overread.phantom.generator import make_population
from overread.phantom.visit import PatientSettings
from overread.pixels.case_overlays import draw_plane, truth_labels
from overread.pixels.draw import COLOURS, Colour, draw_boxes, make_montage, to_rgb
from overread.pixels.planes import Plane

PATIENT = 21  # A pleural effusion: nobody needs to be told where it is, on film and CT alike.
SETTINGS = PatientSettings(seed=0, size="full", mix="illness", difficulty="easy")
HEIGHT = WIDTH = 444
TILE, MARGIN, WORDS = WIDTH // 2 - 2, 14, 200
PLANES: tuple[tuple[Plane, str], ...] = (
    *(("axial", "mediastinum"), ("axial", "lung")),
    *(("coronal", "lung"), ("sagittal", "lung")),
)
INK, GREY, PAPER = (230, 235, 240), (150, 165, 180), (18, 22, 28)

Line = tuple[str, Colour]


def open_exam(root: Path, benchmark: str) -> tuple[Release, Entry]:
    """The patient's only case of a benchmark."""
    release = overread.load(benchmark, root / benchmark, "train")
    return release, next(iter(release.entries()))


def fit(picture: NDArray[Any], width: int, height: int) -> NDArray[Any]:
    """The picture in colour, as large as there is room for."""
    image = Pillow.fromarray(to_rgb(picture))
    scale = min(width / image.width, height / image.height)
    size = (round(image.width * scale), round(image.height * scale))
    return np.asarray(image.resize(size, Pillow.Resampling.LANCZOS))


def diagnosis(root: Path) -> tuple[NDArray[Any], list[Line]]:
    """Four pictures of the case; the beginning of the history, and the options."""
    release, entry = open_exam(root, "medthinkvqa")
    lateral, frontal, *slices = (release.pictures.pixels(one) for one in entry.case.pictures)
    tiles = [fit(pixels, TILE, TILE) for pixels in (frontal, lateral, *slices[:2])]
    history = ". ".join((entry.case.history or "").split(". ")[:2]) + ". …"
    answer = entry.truth.answer if entry.truth else None
    options = [
        (f"{one.letter} · {one.text}", COLOURS[0] if one.letter == answer else INK)
        for one in entry.case.options
    ]
    return make_montage(tiles, columns=2), [(history, GREY), *options]


def grounding(root: Path) -> tuple[NDArray[Any], list[Line]]:
    """Planes of the CT with the mask of the first finding; its sentence, its category, its size."""
    release, entry = open_exam(root, "rexgroundingct")
    ct, finding = entry.case.pictures[0], (entry.truth or Truth()).findings[0]
    space, volume = release.pictures.geometry(ct), release.pictures.pixels(ct)
    marked = truth_labels(release, entry, space)
    tiles = [
        draw_plane(volume, space, plane, marked=marked, setting=setting, longest=TILE)
        for plane, setting in PLANES
    ]
    category = finding_tree().categories[finding.category or ""]
    litres = np.count_nonzero(marked == 1) * np.prod(space.spacing) / 1e6
    return make_montage(tiles, columns=2), [
        (f"“{finding.text}”", COLOURS[0]),
        (f"{category.code} · {category.name}: one mask, {litres:.1f} litres", GREY),
    ]


def looking(root: Path) -> tuple[NDArray[Any], list[Line]]:
    """The film with the first looks of the trace, and what is said of them."""
    release, entry = open_exam(root, "mmrad")
    truth = entry.truth or Truth()
    looks = [(one.text, box) for one in truth.findings[:3] for box in one.regions if isinstance(box, Box)]
    boxes = [box.model_copy(update={"label": None}) for _, box in looks]
    film = draw_boxes(release.pictures.pixels(entry.case.pictures[0]), boxes, width=5)
    lines = [(f"{box.label}: {text}", COLOURS[n]) for n, (text, box) in enumerate(looks)]
    return fit(film, WIDTH, HEIGHT), lines


def draw_panel(title: str, question: str, picture: NDArray[Any], lines: Sequence[Line]) -> Pillow.Image:
    """One exam: its name, what it asks, its pictures, its words."""
    sheet = Pillow.new("RGB", (WIDTH + 2 * MARGIN, HEIGHT + 68 + WORDS), PAPER)
    pen = ImageDraw.Draw(sheet)
    pen.text((MARGIN, 8), title, fill=INK, font=ImageFont.load_default(size=23))
    pen.text((MARGIN, 38), question, fill=GREY, font=ImageFont.load_default(size=16))
    left = MARGIN + (WIDTH - picture.shape[1]) // 2
    sheet.paste(Pillow.fromarray(picture), (left, 68 + (HEIGHT - picture.shape[0]) // 2))
    top, font = 68 + HEIGHT + 10, ImageFont.load_default(size=16)
    for text, tint in lines:
        for line in wrap(text, pen, font):
            pen.text((MARGIN, top), line, fill=tint, font=font)
            top += 21
        top += 3
    return sheet


def wrap(text: str, pen: ImageDraw.ImageDraw, font: Any) -> list[str]:
    """Lines no wider than a panel."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if pen.textlength(longer, font) <= WIDTH:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def main(out: Path) -> None:
    """Make the patient, draw the three panels and save them."""
    with TemporaryDirectory() as folder:
        make_population(Path(folder), [PATIENT], SETTINGS)
        panels = [
            draw_panel(title, question, *draw(Path(folder)))
            for title, question, draw in (
                ("MedThinkVQA", "images and a history: which diagnosis?", diagnosis),
                ("ReXGroundingCT", "a sentence of the report: where in the CT?", grounding),
                ("MMRad-IVL-22K", "looks and words in turn, then the report", looking),
            )
        ]
    whole = Pillow.new("RGB", (sum(panel.width for panel in panels), panels[0].height), PAPER)
    for number, panel in enumerate(panels):
        whole.paste(panel, (number * panel.width, 0))
    out.parent.mkdir(parents=True, exist_ok=True)
    whole.save(out, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
