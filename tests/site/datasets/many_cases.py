"""A dataset of very many cases that share a few pictures: for the grid of the page."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from overread.pixels.image_files import write_image

_WORDS = (
    "fever cough weakness pain swelling dyspnoea haemoptysis fatigue trauma surgery smoking "
    "chronic acute right left upper lower known former weeks days months treated relapsing"
).split()
_MODALITIES = ("CT", "MRI", "X-ray", "Ultrasound")
_CHAPTERS = tuple(f"Chapter {number} - Diseases of part {number}" for number in range(1, 12))


def make_many(folder: Path, count: int, *, pictures: int = 24, side: int = 512) -> Path:
    """A test split of MedThinkVQA with `count` cases on `pictures` files."""
    dice = random.Random(count)
    (folder / "images").mkdir(parents=True)
    for number in range(pictures):
        write_image(folder / "images" / f"p{number}.jpg", _film(number, side))
    with (folder / "test.jsonl").open("w", encoding="utf-8") as out:
        for number in range(1, count + 1):
            options = {letter: f"{dice.choice(_WORDS)} {letter}" for letter in "ABCDE"}
            shown = min(20, max(1, round(dice.gauss(6, 4))))
            row: dict[str, object] = {
                "title": f"Case number {number:05d}",
                "CLINICAL_HISTORY": " ".join(dice.choices(_WORDS, k=dice.randint(30, 90))),
                "IMAGING_FINDINGS": " ".join(dice.choices(_WORDS, k=30)),
                "discussion": " ".join(dice.choices(_WORDS, k=30)),
                "options": options,
                "correct_answer": (letter := dice.choice("ABCDE")),
                "correct_answer_text": options[letter],
                "ICD Chapter": dice.choice(_CHAPTERS),
                "is_longitudinal": number % 5 == 0,
                "timepoint_count": 2 if number % 5 == 0 else 1,
                "image_count": shown,
            }
            for slot in range(1, shown + 1):
                row[f"image_{slot:02d}_path"] = f"images/p{(number + slot) % pictures}.jpg"
                row[f"image_{slot:02d}_modality"] = dice.choice(_MODALITIES)
            out.write(json.dumps(row) + "\n")
    return folder


def _film(number: int, side: int) -> NDArray[np.uint8]:
    y, x = np.mgrid[0:side, 0:side] / side
    waves = np.sin((3 + number % 7) * x * 6) * np.cos((2 + number % 5) * y * 6 + number)
    grains = np.random.default_rng(number).normal(0, 12, (side, side))
    grey: NDArray[np.float64] = np.clip(128 + 90 * waves + grains, 0, 255)
    return grey.astype(np.uint8)
