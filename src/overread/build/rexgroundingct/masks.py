"""Masks that came back from annotators: read, checked against the CT, counted.

Three forms are taken: one (findings, H, W, D) file under the scan's name, as the benchmark has it;
a folder of the scan's name with KEY.nii.gz for each finding; one (H, W, D) file with all findings,
beside which NAME.json says which value belongs to which: {"segments": {"1": "0", "2": "1"}}.
What is missing or cannot be used waits for people, with the reason.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.rexgroundingct.axes import describe_misfit, describe_orientation
from overread.core import Geometry
from overread.errors import PictureError
from overread.pixels.masks import detect_layout, read_channel
from overread.pixels.nifti import read_geometry, read_header

Labels = NDArray[np.integer[Any]]


@dataclass
class ReturnedMasks:
    """The masks of one scan: where each finding's is, and what is wrong with them."""

    path: Path
    space: Geometry
    keys: tuple[str, ...]
    form: str = ""
    """'channels', 'folder' or 'values'."""
    problems: list[str] = field(default_factory=list)
    """What makes them unusable."""
    doubts: list[str] = field(default_factory=list)
    """What a person should look at: a header that speaks of another orientation."""
    values: dict[int, str] = field(default_factory=dict)
    """Value → finding, in the third form."""
    channels: tuple[str, ...] = ()
    """Findings in the order of the channels, in the first form."""
    edited: dict[str, Path] = field(default_factory=dict)
    """Finding → the file that took its place in QA."""

    def labels(self, key: str) -> Labels:
        """The entity numbers of one finding in the CT's own voxels; all 0 where it has none."""
        shape = self.space.shape
        if key in self.edited:
            return read_channel(self.edited[key], 0, shape, 1, name=self.edited[key].name)
        if self.form == "folder":
            file = find_mask_file(self.path, key)
            if file is None:
                return np.zeros(shape, np.uint8)
            return read_channel(file, 0, shape, 1, name=file.name)
        if self.form == "values":
            every = read_channel(self.path, 0, shape, 1, name=self.path.name)
            own = sorted(value for value, finding in self.values.items() if finding == key)
            found = np.zeros(shape, np.uint8)
            for number, value in enumerate(own, 1):
                found[every == value] = number
            return found
        at = self.channels.index(key) if key in self.channels else None
        if at is None:
            return np.zeros(shape, np.uint8)
        return read_channel(self.path, at, shape, len(self.channels), name=self.path.name)

    def count_voxels(self) -> dict[str, dict[int, int]]:
        """Finding → entity → voxels; a mask that is none is a problem, not an error."""
        found: dict[str, dict[int, int]] = {}
        for key in self.keys:
            try:
                labels = self.labels(key)
            except PictureError as error:
                told = str(error.what) + (f" ({error.remedy})" if error.remedy else "")
                self.problems.append(f"finding {key}: {told}")
                continue
            numbers, sizes = np.unique(labels[labels != 0], return_counts=True)
            found[key] = dict(zip(numbers.tolist(), sizes.tolist(), strict=True))
            if found[key] and max(found[key]) > 255:
                self.problems.append(f"finding {key}: entities are numbered 1 to 255")
        return found

    def digest(self) -> str:
        """What tells these masks from others."""
        made = hashlib.sha256()
        for file in sorted(self.path.iterdir()) if self.path.is_dir() else [self.path]:
            if file.is_file():
                made.update(file.name.encode() + b"\0" + file.read_bytes())
        for key, file in sorted(self.edited.items()):
            made.update(f"\0edited {key}\0".encode() + file.read_bytes())
        return made.hexdigest()[:16]


def inspect_masks(path: Path, scan: Path, keys: tuple[str, ...], kept: tuple[str, ...]) -> ReturnedMasks:
    """Look at what came back for a scan; `kept` are those of its findings that were not excluded.

    Raises PictureError where the CT itself cannot be read.
    """
    found = ReturnedMasks(path, read_geometry(scan, name=scan.name), kept)
    if path.is_dir():
        found.form = "folder"
        _check_folder(found, keys)
        return found
    try:
        header = read_header(path, name=path.name)
    except PictureError as error:
        found.problems.append(str(error))
        return found
    beside = path.with_name(path.name.removesuffix(".gz").removesuffix(".nii") + ".json")
    if len(header.shape) == 3 and beside.is_file():
        found.form = "values"
        _check_values(found, beside, keys)
        _check_header(found, path)
        return found
    found.form = "channels"
    for channels in dict.fromkeys((keys, kept)):
        try:
            detect_layout(header.shape, found.space.shape, len(channels), where=path.name)
        except PictureError:
            continue
        found.channels = channels
        break
    else:
        found.problems.append(": ".join(describe_misfit(header.shape, found.space.shape, len(kept))))
        return found
    doubt = describe_orientation(header.affine, header.shape, found.space)
    if doubt is not None:
        found.doubts.append(doubt[0])
    return found


def _check_folder(found: ReturnedMasks, keys: tuple[str, ...]) -> None:
    for file in sorted(found.path.iterdir()):
        if not file.name.endswith((".nii", ".nii.gz")) or file.name.startswith((".", "ct.")):
            continue
        key = file.name.removesuffix(".gz").removesuffix(".nii")
        if key not in keys:
            told = f"the findings are {', '.join(keys)}"
            found.problems.append(f"{file.name} is of no known finding; {told}")
            continue
        _check_header(found, file)


def _check_header(found: ReturnedMasks, file: Path) -> None:
    """A mask of three axes has a header that means something: it must be the CT's."""
    try:
        space = read_geometry(file, name=file.name)
    except PictureError as error:
        found.problems.append(str(error))
        return
    if space.shape != found.space.shape:
        told = ": ".join(describe_misfit(space.shape, found.space.shape, 1))
        found.problems.append(f"{file.name}: {told}")
    elif not np.allclose(space.affine, found.space.affine, rtol=1e-3, atol=0.05):
        where = f"{space.axes} at {_format_origin(space)}, the CT {found.space.axes} at "
        found.problems.append(
            f"{file.name} lies elsewhere than the CT: its header says {where}{_format_origin(found.space)}"
        )


def _format_origin(space: Geometry) -> str:
    return str(tuple(round(row[3], 1) for row in space.affine[:3]))


def _check_values(found: ReturnedMasks, beside: Path, keys: tuple[str, ...]) -> None:
    try:
        told = json.loads(beside.read_text("utf-8"))["segments"]
        values = {int(value): str(key) for value, key in told.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        example = '{"segments": {"1": "0"}}'
        found.problems.append(f"{beside.name} does not say {example}: value → finding")
        return
    strange = sorted({key for key in values.values() if key not in keys})
    if strange:
        found.problems.append(f"{beside.name} names the finding {', '.join(strange)[:60]}")
    found.values = values
    try:
        labels = read_channel(found.path, 0, found.space.shape, 1, name=found.path.name)
    except PictureError as error:
        found.problems.append(str(error))
        return
    unnamed = sorted(set(np.unique(labels[labels != 0]).tolist()) - values.keys())
    if unnamed:
        shown = ", ".join(str(value) for value in unnamed[:5])
        found.problems.append(f"the values {shown} are of no finding in {beside.name}")


def find_mask_file(folder: Path, key: str) -> Path | None:
    """The mask file of a finding in a folder with one file a finding."""
    places: Iterator[Path] = (folder / f"{key}{end}" for end in (".nii.gz", ".nii"))
    return next((place for place in places if place.is_file()), None)
