"""Cases as a ReXGroundingCT release: the list, the CTs flat, the masks in the official order."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from overread.benchmarks.output import copy_bytes, copy_file, require_same, watched, write_once
from overread.benchmarks.release import FolderRelease
from overread.benchmarks.rexgroundingct.chains import CHAINS, chain_rows
from overread.benchmarks.rexgroundingct.release import (
    CT,
    FORMS,
    REPORTS,
    SPLITS,
    ReXGroundingCTRelease,
    read_scan,
)
from overread.benchmarks.rexgroundingct.scan_names import scan_stem
from overread.benchmarks.row_fields import RowFields
from overread.benchmarks.rows import read_json
from overread.core import Entry, Mask, Progress, Release, Truth, Volume
from overread.errors import UsageError
from overread.storage.atomic import LEFTOVER, open_atomic, remove_leftovers
from overread.storage.fence import Fence
from overread.storage.locks import lock_folder


def write(
    release: Release,
    out: Path,
    *,
    form: str | None = None,
    pictures: bool = True,
    progress: Progress | None = None,
) -> Path:
    """Write one split to `out`, beside the splits that are there, and return the list file."""
    path = out / FORMS[form or release.form or "base"]
    rows: list[dict[str, Any]] = []
    chains: dict[str, Any] = {}
    for done, entry in enumerate(release.entries(), 1):
        row = row_of(entry)
        reader = RowFields(dict(row), file=path.name, number=done)
        truth = entry.truth or Truth()
        withheld = not any(finding.regions for finding in truth.findings)
        own = chain_rows(truth.trace)
        require_same(entry, read_scan(reader, split=release.split, withheld=withheld, chains=own))
        rows.append(row)
        if own:
            chains[row["name"]] = own
    _read_list_beside(path, release.split, rows)  # refused here, before a picture is touched
    remove_leftovers(out, f"**/{LEFTOVER}")
    for entry in watched(release, progress):
        if pictures:
            _write_pictures(release, entry, out)
    out.mkdir(parents=True, exist_ok=True)
    with lock_folder(out):  # another split may be on its way into the same list
        _copy_reports(release, out)
        _write_chains(release, chains, out)
        listed = _read_list_beside(path, release.split, rows)
        if isinstance(release, ReXGroundingCTRelease):
            listed = release.other_keys() | listed
        listed[release.split] = rows
        with open_atomic(path) as stream:
            stream.write(json.dumps(listed, ensure_ascii=False, indent=1).encode("utf-8"))
    return path


def _copy_reports(release: Release, out: Path) -> None:
    """The file beside the list that no record holds (its keys are unpublished), byte for byte."""
    if isinstance(release, FolderRelease) and release.fence.has(REPORTS) and not (out / REPORTS).exists():
        copy_bytes(release.fence.path(REPORTS), Fence(out).path_to_write(REPORTS))


def _write_chains(release: Release, chains: dict[str, Any], out: Path) -> None:
    """The chains of the split, beside those of splits that are there.

    Of a loaded release the file's own words are taken, with keys that no record holds; one that is no
    mapping of scans is copied whole.
    """
    path = Fence(out).path_to_write(CHAINS)
    if isinstance(release, ReXGroundingCTRelease) and release.fence.has(CHAINS):
        raw = release.chain_file.raw
        if raw is None:
            if not path.exists():
                copy_bytes(release.fence.path(CHAINS), path)
            return
        names = {scan_stem(name) for name in release.names()}
        chains = {name: value for name, value in raw.items() if scan_stem(name) in names}
    if not chains:
        return
    there: Any = {}
    if path.exists():
        there, defect = read_json(path, CHAINS)
        if defect is not None or not isinstance(there, dict):
            raise UsageError(f"{path} holds no chains of scans", remedy="choose another folder")
    with open_atomic(path) as stream:
        stream.write(json.dumps({**there, **chains}, ensure_ascii=False).encode("utf-8"))


def row_of(entry: Entry) -> dict[str, Any]:
    """The row of one entry."""
    volume, truth = entry.case.picture(CT), entry.truth or Truth()
    found = {finding.query: finding for finding in truth.findings}
    row: dict[str, Any] = {
        "name": volume.file,
        "findings": {query.id: query.text for query in entry.case.queries},
        "categories": {key: f.category for key, f in found.items() if f.category is not None},
        "entity_counts": {key: f.entities for key, f in found.items() if f.entities is not None},
        "pixels": {key: f.voxels for key, f in found.items() if f.voxels is not None},
        "shape": list(volume.shape) if isinstance(volume, Volume) and volume.shape else None,
        "protocol": truth.protocol,
    }
    return {key: value for key, value in row.items() if value} | entry.extra


def _read_list_beside(path: Path, split: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The list that is there, or an empty one; refused where it has the split already with other rows."""
    if not path.exists():
        return {name: [] for name in SPLITS}
    data, defect = read_json(path, path.name)
    if defect is not None or not isinstance(data, dict):
        raise UsageError(f"{path} is no list of cases", remedy="choose another folder")
    if data.get(split) and data[split] != json.loads(json.dumps(rows)):
        raise UsageError(f"{path} has a split '{split}' already", remedy="choose another folder")
    return data


def _write_pictures(release: Release, entry: Entry, out: Path) -> None:
    """The CT, where it is here, and the masks; these are mended where their order is a variant."""
    from overread.pixels.masks import detect_layout, read_channel, write_mask
    from overread.pixels.nifti import read_header

    volume = entry.case.picture(CT)
    stated = volume.shape if isinstance(volume, Volume) else None
    here = not (isinstance(release, ReXGroundingCTRelease) and not release.has_scans)
    if here:  # the release itself brings no CTs, and is written without them too
        copy_file(release, volume.file, out, to=f"images/{volume.file}")
    truth = entry.truth or Truth()
    masks = {r.file for f in truth.findings for r in f.regions if isinstance(r, Mask)}
    for file in masks:
        source = release.source(file)
        header = read_header(source, name=file)
        shape = release.pictures.geometry(volume).shape if here else stated
        count = len(entry.case.queries)
        kind = detect_layout(header.shape, shape, count, where=file) if shape else "FHWD"
        plain = header.dtype == np.uint8 and not header.is_scaled
        if shape is None or (kind == "FHWD" and plain):
            copy_file(release, file, out)
            continue
        affine = np.asarray(release.pictures.geometry(volume).affine) if here else header.affine
        channels = [read_channel(source, n, shape, count, name=file) for n in range(count)]
        write_once(Fence(out).path_to_write(file), partial(write_mask, channels=channels, affine=affine))
