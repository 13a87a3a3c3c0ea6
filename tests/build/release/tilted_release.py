"""A release of small tilted scans with two findings that overlap, for what is exported of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import overread
from overread.benchmarks.memory_release import MemoryRelease
from overread.core import Case, Entry, Finding, Mask, Query, Truth, Volume
from overread.pixels.masks import write_mask
from overread.pixels.nifti import write_volume

SHAPE = (9, 7, 6)


def tilted(axes: str = "LPS", spacing: tuple[float, float, float] = (0.7, 0.9, 2.5)) -> Any:
    """An affine with odd spacing and origin, turned by a few degrees, its axes as told."""
    angle = np.radians(4)
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    affine = np.eye(4)
    for column, letter in enumerate(axes):
        world = {"L": 0, "R": 0, "P": 1, "A": 1, "I": 2, "S": 2}[letter]
        sign = 1 if letter in "RAS" else -1
        affine[:3, column] = turn[:, world] * sign * spacing[column]
    affine[:3, 3] = (31.5, -12.25, 140.125)
    return affine


def block(*corners: tuple[int, int]) -> NDArray[np.uint8]:
    """A mask of one block, given as (first, end) along each axis."""
    mask = np.zeros(SHAPE, np.uint8)
    mask[tuple(slice(*pair) for pair in corners)] = 1
    return mask


BIG = block((1, 6), (1, 5), (1, 5))
SMALL = block((4, 8), (3, 6), (3, 4))
SMALL[0, 0, 0] = 2  # a second entity, at a corner of the scan, so that a flip is seen


def release_of(
    out: Path,
    affine: Any,
    *,
    splits: tuple[str, ...] = ("train", "val", "test"),
    categories: tuple[str | None, ...] = ("2b", "2d"),
    scan: Any = None,
    mask_affine: Any = None,
) -> Path:
    """A release with one scan a split: a consolidation and a nodule that overlap."""
    made = np.random.default_rng(5).integers(-1000, 400, SHAPE).astype(np.int16)
    volume = made if scan is None else scan
    for number, split in enumerate(splits, 1):
        name = f"{split}_{number}_a_1.nii.gz"
        scratch = out.parent / f"made-{split}"
        write_volume(scratch / name, volume, affine)
        write_mask(scratch / "mask.nii.gz", [BIG, SMALL], np.eye(4) if mask_affine is None else mask_affine)
        file = f"segmentations/{name}"
        texts = ("Consolidation of the right lower lobe", "Nodules")
        findings = tuple(
            Finding(
                text=text,
                query=str(n),
                category=category,
                entities=n + 1,
                voxels=int((mask > 0).sum()),
                regions=(Mask(picture="ct", file=file, channel=n, channels=2),),
            )
            for n, (text, category, mask) in enumerate(zip(texts, categories, (BIG, SMALL), strict=True))
        )
        case = Case(
            id=name.removesuffix(".nii.gz"),
            benchmark="rexgroundingct",
            split=split,
            patient=f"{split}_{number}",
            pictures=(Volume(name="ct", file=name, shape=SHAPE),),
            queries=tuple(Query(id=str(n), text=text) for n, text in enumerate(texts)),
        )
        files = {name: scratch / name, file: scratch / "mask.nii.gz"}
        entry = Entry(case=case, truth=Truth(findings=findings, protocol="protocol1"))
        overread.write(MemoryRelease("rexgroundingct", split, [entry], files.__getitem__), out)
    return out
