"""CTs in ReXGroundingCT's layout (`ct/`): lungs, lobes, tumours, and sentences that are not true."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import overread
from overread.core import Entry, Geometry, Mask, Query, Release
from overread.phantom.baseline import dice_score
from overread.pixels.geometry import ras_geometry, to_ras
from overread.pixels.masks import read_channel
from overread.readers.atlas import make
from tools.compare.real_cts import fill_between, find_trunk
from tools.measure.real_data.table import Row, share_row

FOLDER = "ct"
Bools = NDArray[np.bool_]

ANATOMY = "anat"
"""The category of organs; findings have one of ReXGroundingCT's."""
TUMOUR = "2d"
UNTRUE = {
    "2g": "Large right-sided pneumothorax with collapse of the lung",
    "2h": "Thick-walled cavity of 5 cm in the left upper lobe",
    "2f": "Honeycombing in both lower lobes",
    "1a": "Cystic bronchiectasis in the middle lobe",
    "1e": "Innumerable miliary nodules in both lungs",
}
"""Category → a sentence that hardly any scan fulfils; not asked where the scan has the category."""
KINDS = {"lungs": r"\blungs?\b", "lobes": r"\blobes?\b"}


@dataclass
class ScanTally:
    """What was counted, with the scan that each number belongs to."""

    values: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    scans: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, what: str, value: float, scan: str) -> None:
        """Note one number."""
        self.values[what].append(float(value))
        self.scans[what].append(scan)


def measure(root: Path, most: int) -> Iterator[Row]:
    """The rows of a folder of CTs."""
    tally = ScanTally()
    for release, entry in list(_entries(root / FOLDER))[:most]:
        _measure_scan(release, entry, tally)
    for what in (
        "lungs, Dice",
        "lobes, Dice",
        "organs it does not know, left unmarked",
        "tumours and nodules, hit",
        "tumours and nodules, Dice",
        "other findings, Dice",
        "five untrue sentences, left unmarked",
        "marked voxels outside the body",
    ):
        yield share_row("ct", what, tally.values[what], tally.scans[what])


def _entries(root: Path) -> Iterator[tuple[Release, Entry]]:
    for split in ("train", "val", "test"):
        release = overread.load("rexgroundingct", root, split)
        for entry in release.entries():
            yield release, entry


def _measure_scan(release: Release, entry: Entry, tally: ScanTally) -> None:
    assert entry.truth is not None
    case, scan = entry.case, entry.case.id
    kinds = {finding.category for finding in entry.truth.findings}
    asked = [text for category, text in UNTRUE.items() if category not in kinds]
    untrue = tuple(Query(id=f"untrue {n}", text=text) for n, text in enumerate(asked))
    longer = case.model_copy(update={"queries": (*case.queries, *untrue)})
    _, masks = make({}).compute_reading(longer, release.pictures, seed=0)
    volume = case.pictures[0]
    space = release.pictures.geometry(volume)
    marked = [np.zeros(space.shape, bool) if mask is None else np.asarray(mask) > 0 for mask in masks]
    for finding, own in zip(entry.truth.findings, marked, strict=False):
        truth = _true_mask(release, finding.regions, space)
        if truth is not None and truth.any():
            _count_finding(finding.text, finding.category, own, truth, scan, tally)
    for own in marked[len(case.queries) :]:
        tally.add("five untrue sentences, left unmarked", not own.any(), scan)
    outside = ~body_mask(release.pictures.pixels(volume), space)
    for own in (to_ras(mask, space) for mask in marked if mask.any()):
        tally.add("marked voxels outside the body", float(outside[own].mean()), scan)


def _count_finding(
    text: str, category: str | None, own: Bools, truth: Bools, scan: str, tally: ScanTally
) -> None:
    if category == ANATOMY:
        # A lobe of the lung is a lobe.
        for kind in ("lobes", "lungs"):
            if re.search(KINDS[kind], text, re.I):
                return tally.add(f"{kind}, Dice", dice_score(own, truth), scan)
        return tally.add("organs it does not know, left unmarked", not own.any(), scan)
    if category == TUMOUR:
        tally.add("tumours and nodules, hit", bool((own & truth).any()), scan)
    name = "tumours and nodules" if category == TUMOUR else "other findings"
    return tally.add(f"{name}, Dice", dice_score(own, truth), scan)


def _true_mask(release: Release, regions: tuple[Any, ...], space: Geometry) -> Bools | None:
    for region in regions:
        if isinstance(region, Mask):
            file = release.source(region.file)
            return np.asarray(read_channel(file, region.channel, space.shape, region.channels)) > 0
    return None


def body_mask(stored: NDArray[Any], space: Geometry) -> Bools:
    """The trunk with all that lies inside it, in the axes of the patient, slice by slice."""
    hu: NDArray[Any] = to_ras(stored, space)
    spacing = ras_geometry(space).spacing
    pixel = float(np.sqrt(spacing[0] * spacing[1]))
    nothing = np.zeros(hu.shape[:2], bool)
    # Lungs that are cut open by the field of view are no holes: filled between two walls instead.
    slices = [fill_between(find_trunk(hu[:, :, k], nothing, pixel)) for k in range(hu.shape[2])]
    return np.stack(slices, axis=2)
