"""Parquet with image features: pictures embedded, columns of plain types, loaded by `datasets`.

The features stand in the file's metadata under 'huggingface', where `datasets` looks for them, so
that nothing needs to be said on loading. CTs and masks are embedded as NIfTI features; a CT is also
among the images, as a montage. Truth that is hidden or was never there is null.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from overread.build.release.ct_volumes import find_volume, read_labels
from overread.build.release.export_job import ExportJob
from overread.build.release.picture_files import crop_bytes, flat_bytes
from overread.core import Box, Entry, Finding, Mask, Release, Step, Truth, Volume
from overread.core.notice import RELEASE_NOTICE
from overread.storage.system import write_text

_BATCH_BYTES = 64 << 20
_SHARD_BYTES = 512 << 20
_IMAGE = {"_type": "Image"}
_NIFTI = {"_type": "Nifti"}


def _value_feature(kind: str) -> dict[str, str]:
    return {"dtype": kind, "_type": "Value"}


_TEXT, _WHOLE, _NUMBER = (_value_feature("string"), _value_feature("int64"), _value_feature("float64"))
_BOXES = [{"picture": _TEXT, "x1": _NUMBER, "y1": _NUMBER, "x2": _NUMBER, "y2": _NUMBER, "label": _TEXT}]
FEATURES: dict[str, Any] = {
    "id": _TEXT,
    "patient": _TEXT,
    "images": [_IMAGE],
    "image_names": [_TEXT],
    "image_timepoints": [_WHOLE],
    "volume": _NIFTI,
    "history": _TEXT,
    "instruction": _TEXT,
    "options": [{"letter": _TEXT, "text": _TEXT}],
    "queries": [{"id": _TEXT, "text": _TEXT}],
    "title": _TEXT,
    "answer": _TEXT,
    "answer_text": _TEXT,
    "report": _TEXT,
    "discussion": _TEXT,
    "findings": [{"text": _TEXT, "category": _TEXT, "query": _TEXT, "entities": _WHOLE, "boxes": _BOXES}],
    "masks": [_NIFTI],
    "trace": [{"kind": _TEXT, "text": _TEXT, "crop": _WHOLE, "boxes": _BOXES}],
    "crops": [_IMAGE],
    "image_modalities": [_TEXT],
    "icd_category": _TEXT,
    "longitudinal": _value_feature("bool"),
}
"""Column → feature, as `datasets` writes them down."""

_VOLUME_COLUMNS = ("volume", "masks")


def write_parquet(job: ExportJob) -> None:
    """`data/SPLIT-NNNNN.parquet`, and a README.md that says which files are which split."""
    flat = not any(
        isinstance(picture, Volume)
        for split in job.splits
        for entry in job.peek_entries(split)
        for picture in entry.case.pictures
    )
    features = {k: v for k, v in FEATURES.items() if not (flat and k in _VOLUME_COLUMNS)}
    (job.out / "data").mkdir()
    for release in job.load_splits():
        _Shards(job, release.split, features).write(_rows(job, release, features))
    _write_readme(job)


def _rows(job: ExportJob, release: Release, features: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for entry in job.entries(release):
        row: dict[str, Any] | None = None
        with job.track_case(entry):
            told = _row(release, entry)
            row = {column: told.get(column) for column in features}
        if row is not None:
            yield row


def _row(release: Release, entry: Entry) -> dict[str, Any]:
    case, truth = entry.case, entry.truth
    row: dict[str, Any] = {
        "id": case.id,
        "patient": case.patient,
        "images": [_image_cell(flat_bytes(release, one)[0], one.name) for one in case.pictures],
        "image_names": [picture.name for picture in case.pictures],
        "image_timepoints": [picture.timepoint for picture in case.pictures],
        "history": case.history,
        "instruction": case.instruction,
        "options": [{"letter": one.letter, "text": one.text} for one in case.options],
        "queries": [{"id": query.id, "text": query.text} for query in case.queries],
    }
    if any(isinstance(picture, Volume) for picture in case.pictures):
        source = release.pictures.data(find_volume(entry))
        data = source if isinstance(source, bytes) else source.read_bytes()
        row["volume"] = {"bytes": data, "path": _nifti_name("ct", data)}
    return row if truth is None else row | _truth_columns(release, entry, truth)


def _truth_columns(release: Release, entry: Entry, truth: Truth) -> dict[str, Any]:
    notes = {note.picture: note.modality for note in truth.notes}
    row: dict[str, Any] = {
        "title": truth.title,
        "answer": truth.answer,
        "answer_text": truth.answer_text,
        "report": truth.report,
        "discussion": truth.discussion,
        "findings": [_finding_row(finding) for finding in truth.findings],
        "image_modalities": [notes.get(picture.name) for picture in entry.case.pictures],
        "icd_category": truth.icd_category,
        "longitudinal": truth.longitudinal,
    }
    if any(isinstance(region, Mask) for one in truth.findings for region in one.regions):
        row["masks"] = _mask_cells(release, entry, truth.findings)
    if truth.trace is not None:
        crops: list[dict[str, Any]] = []
        row["trace"] = [_step_row(release, step, crops) for step in truth.trace.steps]
        row["crops"] = crops
    return row


def _image_cell(data: bytes, name: str) -> dict[str, Any]:
    ending = "png" if data.startswith(b"\x89PNG") else "jpg"
    return {"bytes": data, "path": f"{name}.{ending}"}


def _nifti_name(name: str, data: bytes) -> str:
    return f"{name}.nii.gz" if data.startswith(b"\x1f\x8b") else f"{name}.nii"


def _finding_row(finding: Finding) -> dict[str, Any]:
    return {
        "text": finding.text,
        "category": finding.category,
        "query": finding.query,
        "entities": finding.entities,
        "boxes": _box_rows(finding.regions),
    }


def _box_rows(regions: tuple[Any, ...]) -> list[dict[str, Any]]:
    own = [region for region in regions if isinstance(region, Box)]
    return [box.model_dump(include=set(_BOXES[0])) for box in own]


def _step_row(release: Release, step: Step, crops: list[dict[str, Any]]) -> dict[str, Any]:
    place = None
    if step.crop is not None:
        place = len(crops)
        crops.append(_image_cell(crop_bytes(release, step.crop)[0], f"crop-{place + 1}"))
    return {"kind": step.kind, "text": step.text, "crop": place, "boxes": _box_rows(step.regions)}


def _mask_cells(release: Release, entry: Entry, found: tuple[Finding, ...]) -> list[dict[str, Any]]:
    """A 3D NIfTI for each finding, in their order, with the affine of the CT."""
    import gzip

    import numpy as np

    from overread.build.release.finding_masks import shrink_dtype
    from overread.pixels.nifti import header_bytes

    space = release.pictures.geometry(find_volume(entry))
    made = []
    for number, finding in enumerate(found):
        labels = shrink_dtype(read_labels(release, finding, space))
        head = header_bytes(labels.shape, labels.dtype, np.asarray(space.affine))
        data = gzip.compress(head + labels.tobytes(order="F"), 4, mtime=0)
        made.append({"bytes": data, "path": f"finding-{finding.query or number}.nii.gz"})
    return made


class _Shards:
    """Rows into as many files as their size asks for."""

    def __init__(self, job: ExportJob, split: str, features: dict[str, Any]) -> None:
        import pyarrow as pa

        self._job = job
        self._split = split
        told = {"info": {"features": {k: _to_datasets_feature(v) for k, v in features.items()}}}
        fields = [(column, _to_arrow_type(feature)) for column, feature in features.items()]
        self._schema = pa.schema(fields, metadata={"huggingface": json.dumps(told)})

    def write(self, rows: Iterator[dict[str, Any]]) -> None:
        """All rows; an empty split gets a file without any."""
        import pyarrow as pa
        from pyarrow import parquet

        number = 0
        more = True
        row = next(rows, None)
        while more:
            path = self._job.out / "data" / f"{self._split}-{number:05d}.parquet"
            written = 0
            with parquet.ParquetWriter(path, self._schema, write_page_checksum=True) as writer:
                while row is not None and written < _SHARD_BYTES:
                    batch: list[dict[str, Any]] = []
                    size = 0
                    while row is not None and len(batch) < 16 and size < _BATCH_BYTES:
                        batch.append(row)
                        size += _picture_bytes(row)
                        row = next(rows, None)
                    writer.write_table(pa.Table.from_pylist(batch, schema=self._schema))
                    written += size
            number += 1
            more = row is not None


def _picture_bytes(row: dict[str, Any]) -> int:
    """Bytes of the pictures of a row."""
    cells = [*(row.get("images") or ()), *(row.get("crops") or ()), *(row.get("masks") or ())]
    cells += [row["volume"]] if row.get("volume") else []
    return sum(len(cell["bytes"]) for cell in cells)


def _to_datasets_feature(feature: Any) -> Any:
    """A feature as `datasets` of version 4 and later stores it: lists by name."""
    if isinstance(feature, list):
        return {"feature": _to_datasets_feature(feature[0]), "_type": "List"}
    if "_type" in feature:
        return feature
    return {name: _to_datasets_feature(part) for name, part in feature.items()}


def _to_arrow_type(feature: Any) -> Any:
    import pyarrow as pa

    if isinstance(feature, list):
        return pa.list_(_to_arrow_type(feature[0]))
    kind = feature.get("_type")
    if kind in ("Image", "Nifti"):
        return pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    if kind == "Value":
        return {"string": pa.string(), "int64": pa.int64(), "float64": pa.float64()}.get(
            feature["dtype"], pa.bool_()
        )
    return pa.struct([(name, _to_arrow_type(part)) for name, part in feature.items()])


def _write_readme(job: ExportJob) -> None:
    """A card that tells `datasets` which files are which split."""
    files = "".join(f"  - split: {s}\n    path: data/{s}-*.parquet\n" for s in job.splits)
    hidden = ", ".join(split for split in job.splits if job.hides(split))
    note = f"\nThe truth of {hidden} is not here: its columns are null.\n" if hidden else ""
    write_text(
        job.out / "README.md",
        f"---\nconfigs:\n- config_name: default\n  data_files:\n{files}---\n\n"
        f"# {job.benchmark}, exported by overread\n\n"
        f"{RELEASE_NOTICE} The licence and the terms are those of "
        f"the release it was made from.\n{note}\n"
        '```python\nfrom datasets import load_dataset\n\ndata = load_dataset("THIS FOLDER")\n```\n',
    )
