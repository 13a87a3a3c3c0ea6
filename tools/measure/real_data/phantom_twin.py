"""A folder of phantom patients in the shapes of the real one, so that the same code measures both.

python -m tools.measure.real_data.phantom_twin OUT [--patients 12] [--seed 11]

Films get the labels that their own reports state, CTs their lungs and lobes as further sentences.
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

from overread.errors import OverreadError
from overread.language.labels import chexpert_labels
from overread.language.statements import find_statements
from overread.phantom.generator import make_population
from overread.phantom.visit import PatientSettings
from overread.pixels.masks import read_channel, write_mask
from overread.pixels.nifti import read_volume

ORGANS = {
    "Right lung": (1, 2, 3),
    "Left lung": (4, 5),
    "Upper lobe of the right lung": (1,),
    "Middle lobe of the right lung": (2,),
    "Lower lobe of the right lung": (3,),
    "Upper lobe of the left lung": (4,),
    "Lower lobe of the left lung": (5,),
}
"""Sentence → the phantom's numbers of the lobes that it means."""
LABELS = {
    "Pleural Effusion": "Effusion",
    "Lung Opacity": "Infiltration",
    "Consolidation": "Consolidation",
    "Pneumonia": "Pneumonia",
    "Atelectasis": "Atelectasis",
    "Edema": "Edema",
    "Lung Lesion": "Mass",
    "Cardiomegaly": "Cardiomegaly",
    "Pneumothorax": "Pneumothorax",
}
"""CheXpert's label of a report → the list's."""


def make_twin(out: Path, patients: int, seed: int) -> Path:
    """Make the patients, if they are not there yet, and lay them out."""
    made = out / "patients"
    make_population(made, range(1, patients + 1), PatientSettings(seed=seed, mix="illness"))
    shutil.copytree(made / "medthinkvqa", out / "cases", dirs_exist_ok=True)
    _lay_out_cts(made / "rexgroundingct", out)
    _lay_out_films(made / "mmrad", out)
    return out


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _lay_out_cts(made: Path, out: Path) -> None:
    """CTs with lungs and lobes as further findings; their sentences once more as a list of findings."""
    folder = out / "ct"
    shutil.copytree(made / "images", folder / "images", dirs_exist_ok=True)
    (folder / "segmentations").mkdir(parents=True, exist_ok=True)
    (out / "reports").mkdir(exist_ok=True)
    listed = json.loads((made / "dataset.json").read_text(encoding="utf-8"))
    told = [row for rows in listed.values() for row in rows]
    findings = {"test": [{key: row[key] for key in ("name", "findings", "categories")} for row in told]}
    (out / "reports" / "rexgroundingct_val_findings.json").write_text(json.dumps(findings))
    longer = {split: [_add_organs(made, folder, row) for row in rows] for split, rows in listed.items()}
    (folder / "dataset.json").write_text(json.dumps(longer), encoding="utf-8")


def _add_organs(made: Path, folder: Path, row: dict[str, Any]) -> dict[str, Any]:
    lobes, space = read_volume(made / "anatomy" / "lobes" / row["name"])
    count = len(row["findings"])
    drawn = made / "segmentations" / row["name"]
    channels = [np.asarray(read_channel(drawn, n, space.shape, count), np.uint8) for n in range(count)]
    longer: dict[str, Any] = {**row}
    for key in ("findings", "categories", "entity_counts", "pixels"):
        longer[key] = dict(row[key])
    for n, (text, numbers) in enumerate(ORGANS.items(), start=count):
        mask = np.isin(lobes, numbers).astype(np.uint8)
        channels.append(mask)
        longer["findings"][str(n)], longer["categories"][str(n)] = text, "anat"
        longer["entity_counts"][str(n)], longer["pixels"][str(n)] = 1, int(mask.sum())
    write_mask(folder / "segmentations" / row["name"], channels, np.asarray(space.affine))
    return longer


def _lay_out_films(made: Path, out: Path) -> None:
    """Films with the labels of their reports, and the boxes of their lungs."""
    for folder in ("cxr_nih", "cxr"):
        (out / folder / "images").mkdir(parents=True, exist_ok=True)
    lungs = ("right lung", "left lung")
    boxes: dict[str, list[dict[str, Any]]] = {
        "categories": [{"id": n, "name": name.title()} for n, name in enumerate(lungs)],
        "images": [],
        "annotations": [],
    }
    with (out / "cxr_nih" / "labels.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["image", "patient", "labels", "view", "age", "sex"])
        for row in _rows(made / "phantom.jsonl"):
            name = f"{row['name']}{Path(row['image']).suffix}"
            for folder in ("cxr_nih", "cxr"):
                shutil.copyfile(made / row["image"], out / folder / "images" / name)
            found = chexpert_labels(find_statements(row["report"]))
            labels = [label for key, label in LABELS.items() if found[key]]
            table.writerow([name, row["patient"], "|".join(labels) or "No Finding", row["view"], "", ""])
            size = {"width": row["columns"], "height": row["rows"]}
            boxes["images"].append({"id": row["patient"], "file_name": name, **size})
            for n, lung in enumerate(lungs):
                x1, y1, x2, y2 = row["regions"][lung]
                note = {"image_id": row["patient"], "category_id": n, "bbox": [x1, y1, x2 - x1, y2 - y1]}
                boxes["annotations"].append({"id": len(boxes["annotations"]), **note})
    (out / "cxr" / "lung_boxes.json").write_text(json.dumps(boxes), encoding="utf-8")


def main() -> int:
    """Make the folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--patients", type=int, default=12)
    parser.add_argument("--seed", type=int, default=11)
    given = parser.parse_args()
    try:
        make_twin(given.out, given.patients, given.seed)
    except OverreadError as error:
        print(f"phantom_twin: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
