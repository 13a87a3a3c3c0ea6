"""Releases for the tests of the engine: as many MedThinkVQA cases as one likes, without pictures."""

from __future__ import annotations

import json
from pathlib import Path


def write_cases(folder: Path, count: int, *, pictures: int = 0) -> Path:
    """A release with one split, `test`; `pictures` names so many files for each case."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "test.jsonl").open("w", encoding="utf-8") as out:
        for number in range(1, count + 1):
            options = {letter: f"Diagnosis {number} {letter}" for letter in "ABCDE"}
            row = {
                "title": f"Case {number}",
                "CLINICAL_HISTORY": f"Patient {number} came with a cough. " + "Words. " * 40,
                "IMAGING_FINDINGS": "Hidden findings.",
                "discussion": "Hidden discussion.",
                "options": options,
                "correct_answer": "B",
                "correct_answer_text": options["B"],
                "ICD Chapter": "Chapter X - Diseases of the respiratory system",
                "ICD Block": "J95-J99 - Other diseases of the respiratory system",
                "ICD Category": "J98 - Other respiratory disorders",
                "is_longitudinal": False,
                "timepoint_count": 1,
                "interval_text": None,
                "image_count": pictures,
            }
            for slot in range(1, pictures + 1):
                name = f"{number:05d}{slot:02d}"
                row[f"image_{slot:02d}_id"] = name
                row[f"image_{slot:02d}_path"] = f"images/case{number:05d}/{name}.png"
                row[f"image_{slot:02d}_caption"] = "Hidden caption."
                row[f"image_{slot:02d}_modality"] = "CT"
                row[f"image_{slot:02d}_sub_modality"] = "HRCT / Thin-slice CT"
            out.write(json.dumps(row) + "\n")
    return folder
