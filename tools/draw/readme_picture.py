"""Draws docs/picture.png: the three exams of synthetic patients, side by side.

Usage: python tools/draw/readme_picture.py OUT.png
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow
from PIL import ImageDraw, ImageFont

import overread
from overread.phantom.generator import make_population
from overread.phantom.patient import Settings
from overread.phantom.sketch import write_sketch
from overread.pixels.case_overlays import draw_case
from overread.pixels.draw import make_montage, to_rgb

HEIGHT = 440
INK, PAPER = (230, 235, 240), (18, 22, 28)


def fit_height(picture: NDArray[Any], height: int) -> NDArray[Any]:
    """The picture in colour, scaled to a height."""
    image = Pillow.fromarray(to_rgb(picture))
    size = (round(image.width * height / image.height), height)
    return np.asarray(image.resize(size, Pillow.Resampling.LANCZOS))


def draw_panel(title: str, words: str, picture: NDArray[Any]) -> Pillow.Image:
    """One exam: its title, what it asks, its picture."""
    sheet = Pillow.new("RGB", (picture.shape[1] + 24, HEIGHT + 78), PAPER)
    pen = ImageDraw.Draw(sheet)
    pen.text((12, 8), title, fill=INK, font=ImageFont.load_default(size=22))
    pen.text((12, 38), words, fill=(150, 165, 180), font=ImageFont.load_default(size=15))
    sheet.paste(Pillow.fromarray(picture), (12, 68))
    return sheet


def load_pictures(root: Path, benchmark: str, *, truth: bool) -> list[NDArray[Any]]:
    """The pictures of the last training case."""
    release = overread.load(benchmark, root / benchmark, "train")
    entry = list(release.entries())[-1]
    return [pixels for _, pixels in draw_case(release, entry, truth=truth)]


def main(out: Path) -> None:
    """Draw the three panels and save them."""
    with TemporaryDirectory() as folder:
        write_sketch(Path(folder), exams=("medthinkvqa", "mmrad"))
        make_population(Path(folder) / "phantom", 2, Settings(seed=4, mix="even"))
        shots = [
            fit_height(shot, HEIGHT // 2 - 2)
            for shot in load_pictures(Path(folder), "medthinkvqa", truth=False)
        ]
        (scan,) = load_pictures(Path(folder) / "phantom", "rexgroundingct", truth=True)
        (film,) = load_pictures(Path(folder), "mmrad", truth=True)
    panels = [
        draw_panel(
            "MedThinkVQA",
            "several images and a history: which of five?",
            make_montage(shots[:2], columns=1),
        ),
        draw_panel(
            "ReXGroundingCT", "a sentence of a report: where in the CT?", fit_height(scan, HEIGHT)
        ),
        draw_panel(
            "MMRad-IVL-22K", "looks and words in turn, then the report", fit_height(film, HEIGHT)
        ),
    ]
    whole = Pillow.new("RGB", (sum(p.width for p in panels), panels[0].height), PAPER)
    left = 0
    for part in panels:
        whole.paste(part, (left, 0))
        left += part.width
    out.parent.mkdir(parents=True, exist_ok=True)
    whole.save(out, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
