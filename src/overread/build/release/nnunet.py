"""nnU-Net raw data: `imagesTr`, `labelsTr`, `imagesTs` and `dataset.json`, as its version 2 reads.

A label is a category of findings, numbered without gaps from 1. Label maps have one value a voxel;
where findings of different categories overlap, the smaller finding keeps the voxel, and what the
other one lost stands in `overlaps.json`. CT and label map are written with the same header, so
that their geometry is equal by construction.

Training cases are those of train and val; which of them are val's is told in `splits_final.json`,
to be copied to nnU-Net's folder of preprocessed data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread import catalog
from overread.build.release.ct_volumes import read_ct, read_labels
from overread.build.release.export_job import TEST_SPLIT, CannotExport, ExportJob
from overread.core import Entry, Geometry, Release
from overread.ontology import finding_tree
from overread.pixels.nifti import write_volume
from overread.storage.system import write_text

ENDING = ".nii.gz"
NO_CATEGORY = "uncategorised"
_FOLDER = re.compile(r"Dataset\d{3}_\w+")


def write_nnunet(job: ExportJob) -> None:
    """`DatasetNNN_Name/` with everything in it; the export's own folder if it is called so."""
    numbers = _number_categories(job)
    folder = "" if _FOLDER.fullmatch(job.name) else f"{_dataset_name(job.benchmark)}/"
    maker = _DatasetWriter(job, numbers, folder)
    for release in job.load_splits():
        for entry in job.entries(release):
            with job.track_case(entry):
                maker.write(release, entry)
    maker.finish()


def _dataset_name(benchmark: str) -> str:
    title = catalog.find("benchmarks", benchmark).title
    return f"Dataset501_{re.sub('[^A-Za-z0-9]', '', title)}"


def _number_categories(job: ExportJob) -> dict[str, int]:
    """Category → label, for the categories of the training cases."""
    training = [split for split in job.splits if split != TEST_SPLIT]
    met = {category for split in training for category in _list_categories(job.peek_entries(split))}
    if training and not met:
        raise CannotExport(
            f"no finding of {' or '.join(training)} has its place in the release",
            remedy="nnU-Net needs masks to train on",
        )
    if not training:  # images to be segmented, or labels to be compared with
        met = set(_list_categories(job.peek_entries(TEST_SPLIT)))
    known = list(finding_tree().categories)
    ordered = sorted(met, key=lambda one: (known.index(one) if one in known else 999, one))
    return {category: number for number, category in enumerate(ordered, 1)}


def _list_categories(entries: Iterator[Entry]) -> Iterator[str]:
    for entry in entries:
        for finding in entry.truth.findings if entry.truth else ():
            if finding.regions:
                yield finding.category or NO_CATEGORY


class _DatasetWriter:
    """Writes case by case, and in the end what is known of all of them."""

    def __init__(self, job: ExportJob, numbers: dict[str, int], folder: str) -> None:
        self.job = job
        self.numbers = numbers
        self.folder = folder
        self.names: dict[str, list[str]] = {}
        self.overlaps: dict[str, list[dict[str, Any]]] = {}
        self.voxels = dict.fromkeys(numbers, 0)

    def write(self, release: Release, entry: Entry) -> None:
        """The CT and, unless the truth is hidden, its label map."""
        name = entry.case.id
        if any(name in names for names in self.names.values()):
            raise CannotExport("a case of another split has the same name")
        test = release.split == TEST_SPLIT
        volume, space = read_ct(release, entry)
        labels = None
        if not self.job.hides(release.split):
            labels = self._make_labels(release, entry, space)
        affine = np.asarray(space.affine)
        place = "Ts" if test else "Tr"
        self._write_volume(f"images{place}/{name}_0000{ENDING}", volume, affine)
        if labels is not None:
            self._write_volume(f"labels{place}/{name}{ENDING}", labels, affine)
        self.names.setdefault(release.split, []).append(name)

    def _write_volume(self, file: str, volume: Any, affine: NDArray[np.float64]) -> None:
        write_volume(self.job.out / f"{self.folder}{file}", volume, affine)

    def _make_labels(self, release: Release, entry: Entry, space: Geometry) -> NDArray[np.uint8]:
        found = entry.truth.findings if entry.truth else ()
        if not found or not all(finding.regions for finding in found):
            raise CannotExport("the release does not give where its findings are")
        masks = []
        for finding in found:
            category = finding.category or NO_CATEGORY
            if category not in self.numbers:
                self.job.notes.append(
                    f"{entry.case.id}: finding {finding.query} is of category {category}, which no "
                    "training case has; it is background here"
                )
                continue
            masks.append((category, finding.query, read_labels(release, finding, space) > 0))
        # The smallest last, so that a nodule within a consolidation stays one.
        masks.sort(key=lambda one: -int(one[2].sum()))
        labels = np.zeros(space.shape, np.uint8)
        lost: list[dict[str, Any]] = []
        for number, (category, query, mask) in enumerate(masks):
            own = self.numbers[category]
            labels[mask] = own
            for other, other_query, below in masks[:number]:
                shared = int((mask & below).sum()) if other != category else 0
                if shared:
                    lost.append(
                        {
                            "kept_by": {"finding": query, "category": category},
                            "lost_by": {"finding": other_query, "category": other},
                            "voxels": shared,
                        }
                    )
        counts = np.bincount(labels[labels > 0], minlength=len(self.numbers) + 1)
        for category, number in self.numbers.items():
            self.voxels[category] += int(counts[number])
        if lost:
            self.overlaps[entry.case.id] = lost
        return labels

    def finish(self) -> None:
        """`dataset.json`, the overlaps, and which cases are val's."""
        training = [n for split, names in self.names.items() if split != TEST_SPLIT for n in names]
        for category, count in self.voxels.items():
            if training and not count:
                self.job.notes.append(f"the label of {category} has no voxel in any case")
        labels = {"background": 0} | {_label_name(c): number for c, number in self.numbers.items()}
        page = {
            "channel_names": {"0": "CT"},
            "labels": labels,
            "numTraining": len(training),
            "file_ending": ENDING,
            "overwrite_image_reader_writer": "SimpleITKIO",
        }
        self._write_json("dataset.json", page)
        if self.overlaps:
            total = sum(one["voxels"] for many in self.overlaps.values() for one in many)
            self.job.notes.append(
                f"findings of different categories overlap in {len(self.overlaps)} case(s), by "
                f"{total} voxel(s): the smaller finding kept them, see overlaps.json"
            )
            self._write_json("overlaps.json", self.overlaps)
        if self.names.get("val") and self.names.get("train"):
            fold = {"train": self.names["train"], "val": self.names["val"]}
            self._write_json("splits_final.json", [fold])

    def _write_json(self, file: str, value: Any) -> None:
        path = self.job.out / f"{self.folder}{file}"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def _label_name(category: str) -> str:
    known = finding_tree().categories.get(category)
    return f"{category} {known.name}" if known else category
