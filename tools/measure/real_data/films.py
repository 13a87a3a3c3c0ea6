"""Chest films: findings against a list of labels (`cxr_nih/`), lungs against boxes (`cxr/`)."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

from overread.readers.atlas.film.signs import FilmSigns
from tools.measure.atlas_film import iou, measure_file
from tools.measure.real_data.table import Row, area_row, share_row

FOLDER = "cxr_nih"
BOXES_FOLDER = "cxr"

OPACITY_LABELS = ("Infiltration", "Consolidation", "Pneumonia", "Atelectasis", "Edema", "Mass", "Nodule")
OPACITY_SIGNS = (
    "lung opacity", "consolidation", "nodule", "nodules", "lung mass", "atelectasis", "infiltrate",
    "pulmonary oedema", "interstitial opacity",
)  # fmt: skip
FINDINGS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "effusion": (("Effusion",), ("pleural effusion",)),
    "opacity": (OPACITY_LABELS, OPACITY_SIGNS),
    "cardiomegaly": (("Cardiomegaly",), ("cardiomegaly",)),
    "pneumothorax": (("Pneumothorax",), ("pneumothorax",)),
}
"""Finding → the labels that mean it, and the signs of the reader that do."""


def measure(root: Path, most: int) -> Iterator[Row]:
    """Areas, sensitivities and specificities of four findings; a film not understood shows none."""
    with (root / FOLDER / "labels.csv").open(newline="", encoding="utf-8") as file:
        listed = list(csv.DictReader(file))[:most]
    films = [measure_file(root / FOLDER / "images" / row["image"]) for row in listed]
    labels = [set(row["labels"].split("|")) for row in listed]
    yield share_row("films", "taken for frontal films", [film.lungs_found for film in films])
    for name, (meant, signs) in FINDINGS.items():
        there = [bool(own & set(meant)) for own in labels]
        found = [any(sign.present and sign.name in signs for sign in film.signs) for film in films]
        yield area_row("films", f"{name}, AUC", there, [_strength(film, signs) for film in films])
        ill = [float(mark) for mark, truth in zip(found, there, strict=True) if truth]
        well = [float(not mark) for mark, truth in zip(found, there, strict=True) if not truth]
        yield share_row("films", f"{name}, sensitivity", ill)
        yield share_row("films", f"{name}, specificity", well)


def _strength(film: FilmSigns, names: tuple[str, ...]) -> float:
    """How far the strongest of some signs goes; 0 where none was measured."""
    return max((sign.strength for sign in film.signs if sign.name in names), default=0.0)


def measure_boxes(root: Path, most: int) -> Iterator[Row]:
    """Overlap of the lungs with boxes in COCO's form; a lung that is not found has none."""
    folder = root / BOXES_FOLDER
    told = json.loads((folder / "lung_boxes.json").read_text(encoding="utf-8"))
    names = {one["id"]: str(one["name"]).lower() for one in told["categories"]}
    images = {one["id"]: folder / "images" / one["file_name"] for one in told["images"][:most]}
    films = {number: measure_file(file) for number, file in images.items()}
    overlaps: list[float] = []
    owners: list[str] = []
    for note in told["annotations"]:
        if (film := films.get(note["image_id"])) is not None:
            x, y, wide, tall = note["bbox"]
            place = film.places.get(names[note["category_id"]])
            overlaps.append(iou((x, y, x + wide, y + tall), place) if place else 0.0)
            owners.append(str(note["image_id"]))
    yield share_row("films", "lungs' boxes, IoU", overlaps, owners)
