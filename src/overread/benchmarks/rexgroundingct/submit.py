"""Readings as a ReXGroundingCT submission: one mask file a scan, named like it, flat.

A name that ends in .zip becomes a zip, any other a folder. A mask is (F, H, W, D), uint8, with the
findings in the order of the list and the CT's own affine. The format has no way to say that one
finding was not attempted: its channel is empty, and a note says so.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.output import copy_bytes
from overread.benchmarks.rexgroundingct.release import CT
from overread.benchmarks.rexgroundingct.scan_names import scan_stem
from overread.benchmarks.submission_tally import SubmissionTally
from overread.core import Case, Entry, Mask, Progress, Reading, Release, Volume, WrittenSubmission
from overread.core.submission import FindFile, FindReading
from overread.errors import PictureError
from overread.pixels.masks import read_channel, write_mask
from overread.pixels.nifti import read_header
from overread.storage.atomic import open_atomic

Add = Callable[[str, Path], None]
"""Puts a file into the submission under a name."""

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the first date that a zip can hold: equal masks, equal bytes


def submit(
    release: Release, readings: FindReading, source: FindFile, out: Path, *, progress: Progress | None = None
) -> WrittenSubmission:
    """Write a zip or a folder of masks, one for each scan of which any finding was marked."""
    packing = _open_zip if out.suffix.lower() == ".zip" else _open_folder
    return write_submission(release, readings, source, out, packing=packing, progress=progress)


def write_submission(
    release: Release,
    readings: FindReading,
    source: FindFile,
    out: Path,
    *,
    packing: Callable[[Path], AbstractContextManager[Add]],
    progress: Progress | None = None,
) -> WrittenSubmission:
    """Write the masks of all scans, each put where `packing` puts it."""
    going = SubmissionTally(release, readings, progress)
    with TemporaryDirectory() as scratch, packing(out) as add:
        for entry in release.entries():
            reading = going.find_reading(entry)
            if reading is None:
                continue
            name = entry.case.picture(CT).file
            # The official masks are NIfTI, also of a CT that is none.
            name = name if not name.endswith(".mha") else f"{scan_stem(name)}.nii.gz"
            path = Path(scratch, name)
            try:
                absent = _write_scan(path, release, entry.case, reading, source)
            except PictureError as error:
                going.leave_out(entry, f"its mask cannot be used ({error})")
                continue
            if len(absent) == len(entry.case.queries):
                going.leave_out(entry, "no finding was marked")
                continue
            _note_absent(going, entry, absent)
            add(name, path)
            path.unlink()
            going.count_written()
        going.require_written()
    return going.to_result(out)


def _note_absent(going: SubmissionTally, entry: Entry, absent: list[str]) -> None:
    if absent:
        which = ", ".join(absent)
        going.note(entry, f"no mask was drawn for finding {which}; it is handed in as empty")


def _write_scan(path: Path, release: Release, case: Case, reading: Reading, source: FindFile) -> list[str]:
    """Write the mask file of a scan, unless nothing was marked; gives the findings without one."""
    marked: dict[str, list[Mask]] = {query.id: [] for query in case.queries}
    for finding in reading.findings or ():
        masks = [region for region in finding.regions if isinstance(region, Mask)]
        marked.get(finding.query or "", []).extend(masks)
    absent = [query for query, masks in marked.items() if not masks]
    if len(absent) == len(marked):
        return absent
    shape, affine = _ct_space(release, case, next(m for ms in marked.values() for m in ms), source)
    packed = path.name.endswith(".gz")
    file = _find_ready_file(list(marked.values()), shape, affine, source, packed=packed)
    if file is not None:
        copy_bytes(file, path)
        return []
    channels = [_merge_masks(masks, shape, source) for masks in marked.values()]
    write_mask(path, channels, affine)
    return absent


def _ct_space(
    release: Release, case: Case, region: Mask, source: FindFile
) -> tuple[tuple[int, int, int], NDArray[np.float64]]:
    """Shape and affine of the CT; where it is not here, as the list and the mask state them."""
    volume = case.picture(CT)
    try:
        space = release.pictures.geometry(volume)
    except PictureError:
        stated = volume.shape if isinstance(volume, Volume) else None
        if stated is None:
            raise
        return stated, read_header(source(region.file), name=region.file).affine
    return space.shape, np.asarray(space.affine)


def _find_ready_file(
    marked: list[list[Mask]],
    shape: tuple[int, int, int],
    affine: NDArray[np.float64],
    source: FindFile,
    *,
    packed: bool,
) -> Path | bytes | None:
    """The stored file that already has the official layout (runs write such), or None."""
    count = len(marked)
    first = marked[0][0].file if marked[0] else ""
    for channel, masks in enumerate(marked):
        wanted = (first, channel, count, None)
        if [(m.file, m.channel, m.channels, m.entity) for m in masks] != [wanted]:
            return None
    if first.endswith(".gz") != packed or first.endswith(".mha"):
        return None
    found = source(first)
    header = read_header(found, name=first)
    fits = header.shape == (count, *shape) and header.dtype == np.uint8 and not header.is_scaled
    return found if fits and np.allclose(header.affine, affine, atol=1e-4) else None


def _merge_masks(masks: list[Mask], shape: tuple[int, int, int], source: FindFile) -> NDArray[Any]:
    """The voxels that were marked for one finding, as 0 and 1."""
    voxels: NDArray[np.bool_] = np.zeros(shape, dtype=bool)
    for mask in masks:
        found = source(mask.file)
        labels = read_channel(found, mask.channel, shape, mask.channels, name=mask.file)
        voxels |= labels > 0 if mask.entity is None else labels == mask.entity
    return voxels.astype(np.uint8)


@contextmanager
def _open_zip(out: Path) -> Iterator[Add]:
    """A zip that appears when the last mask is in it; masks are packed already, and stored."""
    with open_atomic(out, compress=False) as raw, zipfile.ZipFile(raw, "w") as archive:

        def add(name: str, path: Path) -> None:
            info = zipfile.ZipInfo(name, _EPOCH)
            info.external_attr = 0o644 << 16
            info.compress_type = zipfile.ZIP_STORED if name.endswith(".gz") else zipfile.ZIP_DEFLATED
            info.file_size = path.stat().st_size
            with path.open("rb") as mask, archive.open(info, "w") as entry:
                shutil.copyfileobj(mask, entry, 1 << 20)

        yield add


@contextmanager
def _open_folder(out: Path) -> Iterator[Add]:
    """A new folder."""
    out.mkdir()

    def add(name: str, path: Path) -> None:
        shutil.copyfile(path, out / name)

    yield add
