"""Masks and other files that a reader hands in beside its words: `arrays/` of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from overread.core import Case, Mask, Pictures, Reading
from overread.core.submission import FindFile
from overread.errors import ReaderError
from overread.session import mask_file
from overread.storage.atomic import open_atomic
from overread.storage.fence import Fence


@dataclass(frozen=True)
class RunFiles:
    """The files of a run that its readings name; it can be pickled."""

    folder: Path

    def source(self, file: str) -> Path:
        """The path of a mask or a crop of the run."""
        return Fence(self.folder).path(file)


def write_masks(path: Path, case: Case, pictures: Pictures, masks: Mapping[str, Any]) -> None:
    """Write what was drawn for a case: one channel a query, in their order, empty where none."""
    import numpy as np

    from overread.pixels.masks import write_mask

    space = pictures.geometry(case.pictures[0])
    empty = np.zeros(space.shape, np.uint8)
    channels = []
    for query in case.queries:
        drawn = masks.get(query.id)
        shape = space.shape if drawn is None else np.shape(drawn)
        if shape != space.shape:
            raise ReaderError(f"a mask of shape {shape} was drawn for a CT of shape {space.shape}")
        mask = empty if drawn is None else np.asarray(drawn)
        # A mask of yes and no is the same bytes as one of 1 and 0.
        marked = mask.view(np.uint8) if mask.dtype == np.bool_ else mask
        channels.append(marked if marked.dtype == np.uint8 else (mask != 0).astype(np.uint8))
    write_mask(path, channels, np.asarray(space.affine))


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write what else a reading names, cut-outs for instance, under the names that it gave them."""
    for name, data in files.items():
        with open_atomic(folder / name, compress=False) as out:
            out.write(data)


def copy_reading_files(folder: Path, reading: Reading, source: FindFile) -> Reading:
    """Copy the files that a whole reading names into the run, and have it name the copies.

    `source` gives the bytes of a file that the reading names, or where they are: that of a
    submission, or of a release. Masks become `arrays/<case>.nii.gz`; what else there is keeps its
    suffix and is numbered.
    """
    named: dict[str, str] = {}
    stem = mask_file(reading.case_id, reading.sample).removesuffix(".nii.gz")

    def copy_once(file: str) -> str:
        if file not in named:
            number = f"+{len(named)}" if named else ""
            target = f"{stem}{number}{_suffix(file)}"
            found = source(file)
            data = found if isinstance(found, bytes) else found.read_bytes()
            with open_atomic(folder / target, compress=False) as out:
                out.write(data)
            named[file] = target
        return named[file]

    def with_copied_mask(one: Any) -> Any:
        return one.model_copy(update={"file": copy_once(one.file)}) if isinstance(one, Mask) else one

    changes: dict[str, Any] = {}
    if reading.findings:
        changes["findings"] = tuple(
            finding.model_copy(update={"regions": tuple(map(with_copied_mask, finding.regions))})
            for finding in reading.findings
        )
    if reading.trace:
        steps = tuple(
            step.model_copy(
                update={
                    "regions": tuple(map(with_copied_mask, step.regions)),
                    "crop": copy_once(step.crop) if step.crop else None,
                }
            )
            for step in reading.trace.steps
        )
        changes["trace"] = reading.trace.model_copy(update={"steps": steps})
    return reading.model_copy(update=changes)


def _suffix(file: str) -> str:
    """What a file's name ends in; dots before that belong to the name."""
    name = PurePosixPath(file)
    return f"{PurePosixPath(name.stem).suffix}.gz" if name.suffix == ".gz" else name.suffix
