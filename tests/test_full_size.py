"""Releases and scans of full size: what must hold there, apart from the clock."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import overread
from overread.pixels.masks import count_voxels, write_mask
from overread.pixels.nifti import read_slices, write_volume

pytestmark = pytest.mark.slow

WORDS = [
    "nodule",
    "in",
    "the",
    "right",
    "upper",
    "lobe",
    "with",
    "spiculated",
    "margins",
    "and",
    "no",
    "calcification",
]


def full_row(number: int, dice: random.Random) -> dict[str, object]:
    """One row with all 49 slots, about seven of them filled."""
    row: dict[str, object] = {
        f"image_{slot:02d}_{field}": None
        for slot in range(1, 50)
        for field in ("id", "path", "caption", "modality", "sub_modality")
    }
    count = dice.randint(4, 10)
    for slot in range(1, count + 1):
        name = f"{number}-{slot}"
        row[f"image_{slot:02d}_id"] = name
        row[f"image_{slot:02d}_path"] = f"images/case{number}/{name}.jpg"
        row[f"image_{slot:02d}_caption"] = " ".join(dice.choices(WORDS, k=30))
        row[f"image_{slot:02d}_modality"] = "CT"
    return row | {
        "title": f"Case number {number}",
        "CLINICAL_HISTORY": " ".join(dice.choices(WORDS, k=80)),
        "discussion": " ".join(dice.choices(WORDS, k=200)),
        "options": {letter: f"diagnosis {letter}" for letter in "ABCDE"},
        "correct_answer": "C",
        "image_count": count,
    }


def test_a_full_train_split_is_held_in_a_few_megabytes(tmp_path: Path) -> None:
    """7,347 rows iterate as cases in under 300 MB; here, in far less, since they are streamed."""
    dice = random.Random(0)
    with (tmp_path / "train.jsonl").open("w") as out:
        for number in range(7347):
            out.write(json.dumps(full_row(number, dice)) + "\n")
    code = (
        "import overread, resource, sys\n"
        "import overread.benchmarks.medthinkvqa\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "before = peak()\n"
        "count = sum(1 for _ in overread.load('medthinkvqa', sys.argv[1], 'train'))\n"
        "print(count, peak() - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    count, grown = map(int, done.stdout.split())
    assert count == 7347
    assert grown < 100_000  # kilobytes


def test_a_full_scan_and_its_mask(tmp_path: Path) -> None:
    """512×512×300: three findings are counted exactly, and ten slices are read alone."""
    shape = (512, 512, 300)
    rng = np.random.default_rng(0)
    channels = [np.zeros(shape, np.uint8) for _ in range(3)]
    expected: list[dict[int, int]] = []
    for labels in channels:
        for entity in range(1, 6):
            i, j, k = (int(rng.integers(20, size - 40)) for size in shape)
            labels[i : i + 18, j : j + 15, k : k + 9] = entity
        values, sizes = np.unique(labels[labels > 0], return_counts=True)
        expected.append(dict(zip(values.tolist(), sizes.tolist(), strict=True)))
    write_mask(tmp_path / "m.nii.gz", channels, np.eye(4))
    assert count_voxels(tmp_path / "m.nii.gz", shape, 3) == expected
    scan = np.broadcast_to(np.arange(300, dtype=np.int16), shape)
    write_volume(tmp_path / "s.nii.gz", scan, np.eye(4))
    assert (read_slices(tmp_path / "s.nii.gz", 100, 109) == np.arange(100, 110)).all()


def test_many_small_cases_check_clean(tmp_path: Path) -> None:
    """Two thousand interleaved records with their crops: no defect, whatever the order of threads."""
    from tests.sketches.release import write_sketch

    write_sketch(tmp_path / "sketch")
    row = json.loads((tmp_path / "sketch/mmrad/test.jsonl").read_text().splitlines()[0])
    source = tmp_path / "sketch/mmrad/IVLImage/sketch00003"
    with (tmp_path / "test.jsonl").open("w") as out:
        for number in range(2000):
            (tmp_path / f"IVLImage/r{number}").parent.mkdir(exist_ok=True)
            (tmp_path / f"IVLImage/r{number}").symlink_to(source)
            images = [file.replace("sketch00003", f"r{number}") for file in row["images"]]
            out.write(json.dumps(row | {"images": images}) + "\n")
    assert list(overread.check("mmrad", tmp_path)) == []
