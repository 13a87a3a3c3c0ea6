"""Every defect of a copy of ReXGroundingCT."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from overread.benchmarks.checks import (
    MissingValues,
    UniqueIds,
    check_in_threads,
    picture_defect,
    shared_patient_defects,
)
from overread.benchmarks.rexgroundingct.chains import unused_chains
from overread.benchmarks.rexgroundingct.release import CT, FORMS, MASKS, ReXGroundingCTRelease
from overread.core import Defect, Entry, Geometry, Progress, ScannedRow, Truth, Volume
from overread.errors import PictureError
from overread.ontology import finding_tree


@dataclass(frozen=True)
class _ScanFiles:
    """What the files of one scan hold: kept, so that a twin list is held against it too."""

    shape: tuple[int, int, int] | None = None
    """Of the CT."""
    tallies: list[dict[int, int]] | None = None
    """Of each finding: entity → voxels."""


def check(
    root: Path,
    split: str,
    *,
    form: str | None = None,
    pictures: Path | None = None,
    open_pictures: bool = True,
    progress: Progress | None = None,
) -> Iterator[Defect]:
    """Every defect of one split, in each list of cases that is there (or in the one asked for)."""
    first = ReXGroundingCTRelease(root, split, form=form, pictures=pictures)
    known: dict[str, _ScanFiles] = {}
    yield from _check_list(first, known, look=open_pictures, progress=progress)
    for other in FORMS if form is None else ():
        if other != first.form and first.fence.has(FORMS[other]):
            twin = ReXGroundingCTRelease(root, split, form=other, pictures=pictures)
            yield from _check_list(twin, known, look=open_pictures, progress=progress)


def _check_list(
    release: ReXGroundingCTRelease, known: dict[str, _ScanFiles], *, look: bool, progress: Progress | None
) -> Iterator[Defect]:
    """Defects of one list of cases; the files of `known` scans were looked at already."""
    ids, gaps = UniqueIds(), MissingValues()
    patients: dict[str, int] = {}
    stated = False
    before = frozenset(known)

    def work(scanned: ScannedRow) -> list[Defect]:
        if scanned.entry is None:
            return []
        defects: list[Defect] = []
        if scanned.entry.case.id not in before:
            files, defects = _check_files(release, scanned, scanned.entry, look=look)
            known.setdefault(scanned.entry.case.id, files)
        return defects + list(_stated_defects(scanned, scanned.entry, known))

    rows = 0
    for scanned, file_defects in check_in_threads(release.scan(), work, look=look):
        rows += bool(scanned.row)
        yield from scanned.defects
        yield from file_defects
        if scanned.entry is not None:
            case, truth = scanned.entry.case, scanned.entry.truth or Truth()
            yield from ids.defects(scanned, case.id, column="name")
            if case.patient is not None:
                patients.setdefault(case.patient, scanned.row)
            yield from _category_defects(scanned, truth)
            _note_gaps(gaps, scanned, scanned.entry, truth, chains=release.form == "base")
            stated |= any(finding.voxels is not None for finding in truth.findings)
        if progress is not None:
            progress(rows, release.count())
    yield from gaps.defects()
    if not rows and release.count() is None:
        return  # the list itself is broken, and that was told
    if not rows:
        others = [f"{count} in {name}" for name, count in release.splits().items() if count]
        found = "none" + (f" ({', '.join(others)})" if others else "")
        yield Defect(
            code="empty-split", file=release.file, field=release.split, expected="scans", found=found
        )
        return
    for key in release.other_keys():
        where = {"file": release.file, "field": key}
        yield Defect(code="unknown-key", **where, expected="train, val or test", found=f"'{key}'")
    yield from _absence_defects(release, stated=stated)
    yield from _chain_defects(release)
    yield from shared_patient_defects(release, patients, release.other_splits())


def _absence_defects(release: ReXGroundingCTRelease, *, stated: bool) -> Iterator[Defect]:
    """What is missing altogether: the CTs come from elsewhere, the truth may be withheld."""
    if not release.has_scans:
        yield Defect(
            code="no-pictures",
            file=release.file,
            field="name",
            expected="CTs; they come from CT-RATE (name their folder with --pictures)",
            found="none",
        )
    if release.masks_withheld and (release.split == "test" or not stated):
        yield Defect(
            code="withheld-truth", file=release.file, field="segmentations", expected="masks",
            found=f"none for split '{release.split}'",
        )  # fmt: skip
    elif release.masks_withheld:
        for name in release.names():
            yield Defect(
                code="missing-file",
                file=f"segmentations/{name}",
                expected="a mask, since its voxels are stated",
                found="nothing",
            )


def _chain_defects(release: ReXGroundingCTRelease) -> Iterator[Defect]:
    """Chains of scans that no split of any list has; told once, by the first split that has scans."""
    lists = [
        ReXGroundingCTRelease(release.root, release.split, form=form)
        for form, file in FORMS.items()
        if release.fence.has(file)
    ]
    everywhere = [name for one in lists for split in (one, *one.other_splits()) for name in split.names()]
    first = next((split for split, count in release.splits().items() if count), release.split)
    unused = unused_chains(release.chain_file, everywhere) if release.split == first else None
    if unused is not None and release.form == lists[0].form:
        yield unused


def _note_gaps(gaps: MissingValues, scanned: ScannedRow, entry: Entry, truth: Truth, *, chains: bool) -> None:
    """What some scans have and others lack; chains were made for the scans of the base list."""
    volume = entry.case.picture(CT)
    gaps.add("shape", scanned, filled=isinstance(volume, Volume) and volume.shape is not None)
    gaps.add("protocol", scanned, filled=truth.protocol is not None)
    chained = {step.link.query for step in (truth.trace.steps if truth.trace else ()) if step.link}
    for finding in truth.findings:
        gaps.add("categories", scanned, filled=finding.category is not None)
        gaps.add("entity_counts", scanned, filled=finding.entities is not None)
        gaps.add("pixels", scanned, filled=finding.voxels is not None)
        if chains:
            gaps.add("anatomical_cot", scanned, filled=finding.query in chained)


def _category_defects(scanned: ScannedRow, truth: Truth) -> Iterator[Defect]:
    known = finding_tree().categories
    for finding in truth.findings:
        if finding.category is not None and finding.category not in known:
            yield scanned.defect(
                "unknown-category",
                f"categories.{finding.query}",
                "a code of `overread list categories`",
                f"'{finding.category}'",
            )


def _check_files(
    release: ReXGroundingCTRelease, scanned: ScannedRow, entry: Entry, *, look: bool
) -> tuple[_ScanFiles, list[Defect]]:
    """What the CT and the mask of one scan hold, and what is wrong with them."""
    volume = entry.case.picture(CT)
    defects: list[Defect] = []
    space: Geometry | None = None
    tallies: list[dict[int, int]] | None = None
    if release.has_scans:
        try:
            path = release.source(volume.file)
            if look:
                space, surplus = _read_whole_ct(path, volume.file)
                if surplus:
                    defects.append(scanned.defect("surplus-bytes", "name", "none", f"{surplus:,}"))
        except PictureError as error:
            where = {"row": scanned.row, "case": entry.case.id, "field": "name"}
            defects.append(picture_defect(error, file=volume.file, **where))
    if entry.truth is not None and not release.masks_withheld:
        mask = f"{MASKS}/{volume.file}"
        stated = volume.shape if isinstance(volume, Volume) else None
        try:
            path = release.source(mask)
            if look:
                shape = space.shape if space is not None else stated
                found, tallies = _check_mask(scanned, entry, path, mask, shape, space)
                defects += found
        except PictureError as error:
            where = {"row": scanned.row, "case": entry.case.id, "field": "name"}
            defects.append(picture_defect(error, file=mask, **where))
    return _ScanFiles(space.shape if space is not None else None, tallies), defects


def _read_whole_ct(path: Path, name: str) -> tuple[Geometry, int]:
    """The geometry of a CT that was read to its last byte, and the bytes after its last voxel."""
    from overread.pixels.bytestream import open_stream
    from overread.pixels.nifti import read_geometry, read_stream_header

    space = read_geometry(path, name=name)
    with open_stream(path, name=name) as stream:
        stream.skip(read_stream_header(stream).size, memoryview(bytearray(1 << 20)))
        return space, stream.finish()


def _check_mask(
    scanned: ScannedRow,
    entry: Entry,
    path: Path,
    mask: str,
    shape: tuple[int, int, int] | None,
    space: Geometry | None,
) -> tuple[list[Defect], list[dict[int, int]] | None]:
    """Defects of a mask file, and its counts where its shape fits."""
    from overread.pixels.masks import count_voxels, detect_layout
    from overread.pixels.nifti import read_header

    header = read_header(path, name=mask)
    count = len(entry.case.queries)
    if shape is None and len(header.shape) == 4:
        shape = header.shape[1:]  # neither a CT nor a stated shape: it can only be itself
    defects: list[Defect] = []
    expected = f"{(count, *shape)}" if shape is not None else f"({count}, H, W, D)"
    try:
        kind = detect_layout(header.shape, shape or (0, 0, 0), count, where=mask)
    except PictureError:
        defects.append(scanned.defect("shape-mismatch", "mask", expected, f"{header.shape}", file=mask))
        return defects, None
    if kind != "FHWD":
        defects.append(scanned.defect("mask-variant", "mask", expected, f"{header.shape}", file=mask))
    if header.dtype != np.uint8 or header.is_scaled:
        found = f"{header.dtype.name}" + (", scaled" if header.is_scaled else "")
        defects.append(scanned.defect("wrong-encoding", "mask", "uint8, not scaled", found, file=mask))
    if space is not None and not np.allclose(header.affine, space.affine, rtol=0, atol=1e-3):
        told = [f"{_format_affine(np.asarray(affine))}" for affine in (space.affine, header.affine)]
        defects.append(scanned.defect("mask-header", "mask", *told, file=mask))
    return defects, count_voxels(path, shape or (0, 0, 0), count, name=mask)


def _format_affine(affine: NDArray[np.float64]) -> str:
    """An affine in a few words: its diagonal and its origin."""
    steps = ", ".join(f"{n:.3g}" for n in np.diag(affine)[:3])
    origin = ", ".join(f"{n:.4g}" for n in affine[:3, 3])
    return f"steps ({steps}) from ({origin})"


def _stated_defects(scanned: ScannedRow, entry: Entry, known: dict[str, _ScanFiles]) -> Iterator[Defect]:
    """Where a row states something else than its files hold."""
    files = known[entry.case.id]
    volume = entry.case.picture(CT)
    stated = volume.shape if isinstance(volume, Volume) else None
    if files.shape is not None and stated is not None and stated != files.shape:
        yield scanned.defect("shape-mismatch", "shape", f"{files.shape}, as the CT", str(stated))
    findings = entry.truth.findings if entry.truth is not None else ()
    if files.tallies is not None and len(files.tallies) != len(findings):
        expected = f"{len(files.tallies)}, as the mask has channels"
        yield scanned.defect("count-mismatch", "findings", expected, str(len(findings)))
        return
    for finding, labels in zip(findings, files.tallies or (), strict=False):
        for field, said, there in (
            ("entity_counts", finding.entities, len(labels)),
            ("pixels", finding.voxels, sum(labels.values())),
        ):
            if said is not None and said != there:
                name = f"{field}.{finding.query}"
                yield scanned.defect("count-mismatch", name, f"{there}, as in its mask", str(said))
        if not labels:
            name = f"findings.{finding.query}"
            yield scanned.defect("empty-mask", name, "at least one voxel", "none")
