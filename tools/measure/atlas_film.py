"""Measure the film part of `atlas`: `python -m tools.measure.atlas_film FOLDER…`.

A folder of phantom films (with `phantom.jsonl`) gives findings by observation, what the ratio of
the heart is off, and the overlap of the regions; a folder with `lung_boxes.json` gives the overlap
of the lungs; any other folder of pictures how many of them are taken for frontal films.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from overread.language.compare import compare_reports
from overread.readers.atlas.film.report import compose_report, compose_sentences
from overread.readers.atlas.film.signs import FilmSigns, read_signs

SUFFIXES = {".png", ".jpg", ".jpeg"}


def main() -> None:
    """Measure every folder that is named."""
    for folder in map(Path, sys.argv[1:]):
        print(f"{folder}")
        if (folder / "phantom.jsonl").is_file():
            measure_phantom(folder)
        elif (folder / "lung_boxes.json").is_file():
            measure_boxes(folder)
        else:
            measure_kinds(folder)


def measure_phantom(folder: Path) -> None:
    """Findings against the phantom's own reports, the heart's ratio and the regions."""
    tally: Counter[tuple[str, str]] = Counter()
    overlaps: defaultdict[str, list[float]] = defaultdict(list)
    off, films, start = [], 0, time.process_time()
    for line in (folder / "phantom.jsonl").read_text().splitlines():
        row = json.loads(line)
        signs = measure_file(folder / row["image"])
        films += 1
        report = compose_report(compose_sentences(signs)) if signs.lungs_found else ""
        count_findings(tally, row["report"], report)
        for name, edges in row["regions"].items():
            overlaps[name].append(iou(edges, signs.places.get(name, (0, 0, 1, 1))))
        if signs.heart_ratio is not None:
            off.append(signs.heart_ratio - row["heart_ratio"])
    found = sum(count for (_, what), count in tally.items() if what == "found")
    all_told = found + sum(tally.values())  # those found stand in both reports
    print(f"  {films} films, {(time.process_time() - start) / films:.2f} s each")
    print(f"  F1 of findings {2 * found / max(all_told, 1):.3f}")
    print(f"  heart ratio off by {np.mean(off):+.3f}, spread {np.std(off):.3f}")
    for (name, what), count in sorted(tally.items()):
        print(f"  {name:28} {what:8} {count}")
    for name, values in sorted(overlaps.items()):
        print(f"  {name:28} IoU {np.mean(values):.2f}")


def count_findings(tally: Counter[tuple[str, str]], reference: str, report: str) -> None:
    """Add what is found, missed and added of one report, by observation."""
    compared = compare_reports(reference, report)
    for match in compared.matches:
        ours, theirs = match.reference, match.other
        if match.both_present:
            tally[ours.statement.observation, "found"] += 1
            continue
        if ours.is_there:
            tally[ours.statement.observation, "missed"] += 1
        if theirs.is_there:
            tally[theirs.statement.observation, "added"] += 1
    for one in compared.omissions:
        tally[one.statement.observation, "missed"] += 1
    for one in compared.additions:
        tally[one.statement.observation, "added"] += 1


def measure_boxes(folder: Path) -> None:
    """Lungs against boxes in COCO's form."""
    told = json.loads((folder / "lung_boxes.json").read_text())
    files = {image["id"]: folder / "images" / image["file_name"] for image in told["images"]}
    lungs = {one["id"]: one["name"].lower() for one in told["categories"]}
    found = {number: measure_file(file) for number, file in files.items()}
    overlaps = []
    for one in told["annotations"]:
        x, y, wide, tall = one["bbox"]
        place = found[one["image_id"]].places.get(lungs[one["category_id"]], (0, 0, 1, 1))
        overlaps.append(iou((x, y, x + wide, y + tall), place))
    print(f"  {len(overlaps)} lungs, mean IoU {np.mean(overlaps):.3f}, least {min(overlaps):.3f}")
    measure_kinds(folder / "images")


def measure_kinds(folder: Path) -> None:
    """How many pictures are taken for frontal films."""
    files = [file for file in sorted(folder.rglob("*")) if file.suffix.lower() in SUFFIXES]
    taken = sum(measure_file(file).lungs_found for file in files)
    print(f"  {taken} of {len(files)} pictures are taken for frontal films")


def measure_file(file: Path) -> FilmSigns:
    """What is measured of one file."""
    with Image.open(file) as picture:
        return read_signs(np.asarray(picture.convert("RGB")))


def iou(one: Any, other: Any) -> float:
    """Overlap of two boxes."""
    wide = min(one[2], other[2]) - max(one[0], other[0])
    tall = min(one[3], other[3]) - max(one[1], other[1])
    shared = max(wide, 0) * max(tall, 0)
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    return float(shared / (areas - shared))


if __name__ == "__main__":
    main()
