"""The CT exam of synthetic patients, in the layout of ReXGroundingCT.

    rexgroundingct/dataset.json            train, val and test, by patient
    rexgroundingct/images/NAME             the CTs rexgroundingct/segmentations/NAME      (findings,
    H, W, D): one value an entity rexgroundingct/anatomy/…/NAME          organs, lobes and segments
    in the CT's space rexgroundingct/anatomy/labels.json     what their numbers mean
    rexgroundingct/anatomical_cot.json     the chain of thought of every finding
    rexgroundingct/phantom.jsonl           all that is known of each patient
    sources/rexgroundingct/reports.csv     the raw reports, as CT-RATE has them

The big files are written patient by patient; what the lists need of a patient is his `ScanRecord`,
so that they can be written at any time without looking at a voxel again.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.rexgroundingct.release import SPLITS, read_scan
from overread.benchmarks.row_fields import RowFields
from overread.core import Entry, Record
from overread.errors import OverreadError
from overread.ontology import finding_tree
from overread.ontology import lung_anatomy as lung_names
from overread.phantom.body.canvas import ORGANS
from overread.phantom.body.lungs import LOBES, SEGMENTS
from overread.phantom.exams.anatomical_chain import (
    build_chain,
    find_structure_boxes,
    label_boxes,
    segment_name,
)
from overread.phantom.exams.dataset_card import Counts
from overread.phantom.exams.list_files import write_entries, write_lines, write_text
from overread.phantom.patient import Patient
from overread.phantom.population import split_of
from overread.phantom.statement import KINDS
from overread.pixels.masks import write_mask
from overread.pixels.nifti import write_volume

NAME = "rexgroundingct"
ANATOMY = ("organs", "lobes", "segments")

PROTOCOL = "protocol2"
"""Every entity of every finding is marked, in all splits, as the benchmark does in val and test."""


class ScanRecord(Record):
    """What the lists need to know of one patient whose files are written."""

    number: int
    """The patient's number."""
    row: dict[str, Any]
    """His row of dataset.json."""
    chain: dict[str, list[dict[str, Any]]]
    """Finding → its chain of thought."""
    line: dict[str, Any]
    """His line of phantom.jsonl."""
    report: dict[str, str]
    """His row of reports.csv."""


def scan_name(number: int) -> str:
    """The file name of a patient's CT.

    >>> scan_name(2)
    'test_2_a_1.nii.gz'
    """
    return f"{split_of(number)}_{number}_a_1.nii.gz"


def list_scan_files(number: int) -> list[str]:
    """The big files of a patient, relative to the folder of the phantom."""
    folders = ("images", "segmentations", *(f"anatomy/{part}" for part in ANATOMY))
    return [f"{NAME}/{folder}/{scan_name(number)}" for folder in folders]


def write_scan(patient: Patient, out: Path) -> ScanRecord:
    """Write the CT, the masks and the anatomy of one patient; each file appears whole."""
    affine = np.asarray(patient.geometry.affine)
    image, mask, *anatomy = (out / file for file in list_scan_files(patient.number))
    write_volume(image, _to_stored_order(patient.hu), affine)
    for path, labels in zip(anatomy, (patient.organs, patient.lobes, patient.segments), strict=True):
        write_volume(path, _to_stored_order(labels), affine)
    channels = [patient.labels(n) for n in range(len(patient.findings))]
    write_mask(mask, [_to_stored_order(labels) for labels in channels], affine)
    return _make_record(patient, channels)


def read_scan_entry(record: ScanRecord) -> Entry:
    """The row of a patient as the loader reads it."""
    reader = RowFields(dict(record.row), file="dataset.json", number=record.number)
    entry = read_scan(reader, split=split_of(record.number), withheld=False, chains=record.chain)
    if entry is None or reader.defects:
        raise OverreadError(f"patient {record.number} gives no valid row: {reader.defects[0]}")
    return entry


def counts(records: Sequence[ScanRecord]) -> Counts:
    """Patients and findings by category, split by split."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for record in records:
        split = record.line["split"]
        found["patients"][split] += 1
        for category in record.row["categories"].values():
            found[category][split] += 1
            found["all"][split] += 1
    names = finding_tree().categories
    rows = [(f"findings {code}", names[code].name, found[code]) for code in KINDS]
    return [("patients", "", found["patients"]), *rows, ("findings", "all", found["all"])]


def write_lists(out: Path, records: Sequence[ScanRecord]) -> None:
    """Write everything that is about all patients; what is there is replaced, file by file."""
    root = out / NAME
    write_lines(root / "phantom.jsonl", (record.line for record in records))
    write_text(root / "anatomy" / "labels.json", json.dumps(label_names(), indent=1) + "\n")
    table = io.StringIO()
    rows = csv.DictWriter(table, list(records[0].report), lineterminator="\n")
    rows.writeheader()
    rows.writerows(record.report for record in records)
    write_text(out / "sources" / NAME / "reports.csv", table.getvalue())
    entries: dict[str, list[Entry]] = {split: [] for split in SPLITS}
    for record in records:
        entries[split_of(record.number)].append(read_scan_entry(record))
    write_entries(root, NAME, entries)


def label_names() -> dict[str, dict[str, str]]:
    """What the numbers in each of the anatomy's arrays mean."""
    named = {
        "organs": ORGANS,
        "lobes": [lung_names().by_code[code].name for code in LOBES],
        "segments": [segment_name(code) for code in SEGMENTS],
    }
    return {
        part: {str(number): name for number, name in enumerate(names, 1)} for part, names in named.items()
    }


def _make_record(patient: Patient, channels: Sequence[NDArray[np.uint8]]) -> ScanRecord:
    name = scan_name(patient.number)
    where = find_structure_boxes(patient)
    row: dict[str, Any] = {
        "name": name,
        **{key: {} for key in ("findings", "categories", "entity_counts", "pixels")},
        "shape": list(patient.geometry.shape),
        "protocol": PROTOCOL,
    }
    chains, told = {}, []
    for number, (finding, labels) in enumerate(zip(patient.findings, channels, strict=True)):
        key = str(number)
        # What counts is what the mask shows, entity by entity.
        voxels = [int((labels[entity.cut] == n).sum()) for n, entity in enumerate(finding.entities, 1)]
        boxes = [box for box in label_boxes(labels, len(voxels)) if box is not None]
        if len(boxes) < len(voxels):
            raise OverreadError(f"finding {number} has an entity without a voxel of its own")
        row["findings"][key] = finding.sentence.text
        row["categories"][key] = finding.statement.category
        row["entity_counts"][key] = len(voxels)
        row["pixels"][key] = sum(voxels)
        chains[key] = [
            thought.model_dump(mode="json", exclude_none=True)
            for thought in build_chain(patient, where, finding, boxes)
        ]
        told.append(
            {
                "key": key,
                **finding.sentence.model_dump(mode="json"),
                "statement": finding.statement.model_dump(mode="json"),
                "voxels": voxels,
            }
        )
    line = {
        "patient": patient.number,
        "name": name,
        "split": split_of(patient.number),
        "settings": patient.settings.model_dump(mode="json"),
        "habitus": asdict(patient.habitus),
        "findings": told,
        "beyond": [
            {"statement": one.statement.model_dump(mode="json"), "centre": list(one.centre)}
            for one in patient.extrapulmonary
        ],
        "report": patient.report.model_dump(mode="json"),
    }
    who = "woman" if patient.habitus.sex == "female" else "man"
    report = patient.report.to_row(name)
    report["ClinicalInformation_EN"] = f"{patient.habitus.age}-year-old {who}."
    return ScanRecord(number=patient.number, row=row, chain=chains, line=line, report=report)


def _to_stored_order(array: NDArray[Any]) -> NDArray[Any]:
    """A (z, y, x) array as the (H, W, D) one that is stored: another view, no copy."""
    return array.transpose(2, 1, 0)
