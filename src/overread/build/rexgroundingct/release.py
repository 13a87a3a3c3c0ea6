"""The release: dataset.json, the CTs, the masks in the official order, chains and reports."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from overread.benchmarks import write
from overread.benchmarks.memory_release import MemoryRelease
from overread.benchmarks.output import copy_bytes
from overread.benchmarks.rexgroundingct.release import MASKS, SPLITS, read_scan
from overread.benchmarks.row_fields import RowFields
from overread.build.item import Change, Item
from overread.build.rexgroundingct.chain_step import annotated_of
from overread.build.rexgroundingct.mask_step import load_masks
from overread.build.rexgroundingct.protocols import protocol_of
from overread.build.rexgroundingct.scan_paths import scan_name, scan_path
from overread.build.rexgroundingct.settings import read_setting
from overread.build.step import StepContext
from overread.core import Entry
from overread.errors import NotThere, OverreadError
from overread.storage.atomic import open_atomic

_SCRATCH = ".masks"


def write_release(items: Sequence[Item], out: Path, context: StepContext) -> list[Change]:
    """Write all scans that are left, split by split, through the benchmark's own writer."""
    scans = [item for item in items if annotated_of(item)]
    copying = read_setting(context.settings, "copy-cts") == "yes"
    scratch = out / _SCRATCH
    counts: dict[str, int] = {}
    try:
        for item in scans:
            _write_masks(item, context, scratch)
        for split in SPLITS:
            own = [item for item in scans if item.data["split"] == split]
            if not own:
                continue
            entries = [_make_entry(item, n, context) for n, item in enumerate(own, 1)]
            places = {scan_name(item): scan_path(context, scan_name(item)) for item in own}

            def find(file: str, places: dict[str, Path | None] = places) -> Path:
                place = scratch / file.removeprefix(f"{MASKS}/") if "/" in file else places[file]
                if place is None or not place.is_file():
                    raise NotThere(f"there is no file {file}", where=str(out))
                return place

            made = MemoryRelease("rexgroundingct", split, entries, find, count=len(own))
            write(made, out, pictures=copying)
            if not copying:
                for item in own:
                    copy_bytes(scratch / scan_name(item), out / MASKS / scan_name(item))
            counts[split] = len(own)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    _write_json(out / "reports_dataset.json", {scan_name(item): _report(item) for item in scans})
    told = ", ".join(f"{split} {count}" for split, count in counts.items()) or "no scan"
    return [Change(what="dataset.json", after=told, why="what was left after all steps")]


def _release_keys(item: Item) -> dict[str, str]:
    """Key of a finding during the build → its key in the release."""
    return {key: str(n) for n, key in enumerate(annotated_of(item))}


def _make_entry(item: Item, number: int, context: StepContext) -> Entry:
    """The row of a scan, as the loader reads it."""
    found = annotated_of(item)
    keys = _release_keys(item)
    row: dict[str, Any] = {
        "name": scan_name(item),
        "findings": {keys[key]: f["text"] for key, f in found.items()},
        "categories": {keys[key]: f["category"] for key, f in found.items()},
        "entity_counts": {keys[key]: f["entities"] for key, f in found.items()},
        "pixels": {keys[key]: f["voxels"] for key, f in found.items()},
        "shape": item.data["shape"],
        "protocol": protocol_of(item, context.settings),
    }
    reader = RowFields(row, file="dataset.json", number=number)
    entry = read_scan(reader, split=str(item.data["split"]), withheld=False, chains=_chains(item))
    if entry is None or reader.defects:
        raise OverreadError(f"{item.id} makes no row: {reader.defects[0]}")
    return entry


def _write_masks(item: Item, context: StepContext, scratch: Path) -> None:
    """The masks of a scan as the benchmark stores them, with the CT's own affine."""
    import numpy as np

    from overread.pixels.masks import write_mask

    keys = tuple(annotated_of(item))
    masks = load_masks(item, context, keys)
    if masks is None or masks.digest() != item.data["mask"]:
        raise OverreadError(
            f"the mask or the CT of {item.id} was changed or taken away since it was checked",
            remedy="build again",
        )
    channels = [masks.labels(key) for key in keys]
    write_mask(scratch / scan_name(item), channels, np.asarray(masks.space.affine))


def _chains(item: Item) -> dict[str, Any]:
    chains = item.data["chains"]
    assert isinstance(chains, dict)
    return {new: chains[key] for key, new in _release_keys(item).items()}


def _report(item: Item) -> dict[str, Any]:
    """What became of a report, in the forms that were published for the steps."""
    fields = ("sentences", "regions", "phrases", "positives", "categories")
    return {name: item.data[name] for name in fields}


def _write_json(path: Path, value: object) -> None:
    with open_atomic(path) as stream:
        stream.write(json.dumps(value, ensure_ascii=False).encode("utf-8"))
