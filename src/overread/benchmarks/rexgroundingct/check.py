"""Every defect of a copy of ReXGroundingCT."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from overread.benchmarks.checking import Gaps, Ids, ahead, picture_defect, shared_patients
from overread.benchmarks.release import Scanned
from overread.benchmarks.rexgroundingct.release import CT, FORMS, ReXGroundingCTRelease
from overread.core import Defect, Entry, Geometry, Progress, Truth, Volume
from overread.errors import PictureError
from overread.ontology import findings


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
    seen: set[str] = set()
    yield from _check_list(first, seen, look=open_pictures, progress=progress)
    for other in FORMS if form is None else ():
        if other != first.form and first.fence.has(FORMS[other]):
            twin = ReXGroundingCTRelease(root, split, form=other, pictures=pictures)
            yield from _check_list(twin, seen, look=open_pictures, progress=progress)


def _check_list(
    release: ReXGroundingCTRelease, seen: set[str], *, look: bool, progress: Progress | None
) -> Iterator[Defect]:
    """Defects of one list of cases; scans in `seen` were looked at already."""
    ids, gaps = Ids(), Gaps()
    patients: dict[str, int] = {}
    stated = False

    def work(scanned: Scanned) -> list[Defect]:
        if scanned.entry is None or scanned.entry.case.id in seen:
            return []
        return list(_file_defects(release, scanned, scanned.entry, look=look))

    rows = 0
    for scanned, file_defects in ahead(release.scan(), work):
        rows += bool(scanned.row)
        yield from scanned.defects
        yield from file_defects
        if scanned.entry is not None:
            case, truth = scanned.entry.case, scanned.entry.truth or Truth()
            yield from ids.defects(scanned, case.id, column="name")
            if case.patient is not None:
                patients.setdefault(case.patient, scanned.row)
            yield from _category_defects(scanned, truth)
            _note_gaps(gaps, scanned.row, scanned.entry, truth)
            stated |= any(finding.voxels is not None for finding in truth.findings)
        if progress is not None:
            progress(rows, release.count())
    seen.update(ids.seen)
    yield from gaps.defects(release.file)
    if not rows and release.count() is None:
        return  # the list itself is broken, and that was told
    if not rows:
        others = [f"{count} in {name}" for name, count in release.splits().items() if count]
        found = "none" + (f" ({', '.join(others)})" if others else "")
        yield Defect(
            code="empty-split",
            file=release.file,
            field=release.split,
            expected="scans",
            found=found,
        )
        return
    yield from _absent(release, stated=stated)
    yield from shared_patients(release, patients, release.other_splits())


def _absent(release: ReXGroundingCTRelease, *, stated: bool) -> Iterator[Defect]:
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


def _note_gaps(gaps: Gaps, row: int, entry: Entry, truth: Truth) -> None:
    volume = entry.case.picture(CT)
    gaps.saw("shape", row, filled=isinstance(volume, Volume) and volume.shape is not None)
    gaps.saw("protocol", row, filled=truth.protocol is not None)
    for finding in truth.findings:
        gaps.saw("categories", row, filled=finding.category is not None)
        gaps.saw("entity_counts", row, filled=finding.entities is not None)
        gaps.saw("pixels", row, filled=finding.voxels is not None)


def _category_defects(scanned: Scanned, truth: Truth) -> Iterator[Defect]:
    known = findings().categories
    for finding in truth.findings:
        if finding.category is not None and finding.category not in known:
            yield _at(
                scanned,
                "unknown-category",
                f"categories.{finding.query}",
                "a code of `overread list categories`",
                f"'{finding.category}'",
            )


def _file_defects(
    release: ReXGroundingCTRelease, scanned: Scanned, entry: Entry, *, look: bool
) -> Iterator[Defect]:
    """Defects of the CT and of the mask of one scan."""
    volume = entry.case.picture(CT)
    space: Geometry | None = None
    if release.has_scans:
        try:
            path = release.source(volume.file)
            if look:
                space = _whole_scan(path, volume.file)
        except PictureError as error:
            yield picture_defect(
                error, file=volume.file, row=scanned.row, case=entry.case.id, field="name"
            )
    stated = volume.shape if isinstance(volume, Volume) else None
    if space is not None and stated is not None and stated != space.shape:
        yield _at(scanned, "shape-mismatch", "shape", f"{space.shape}, as the CT", str(stated))
    shape = space.shape if space is not None else stated
    if release.masks_withheld or entry.truth is None:
        return
    mask = f"segmentations/{volume.file}"
    try:
        path = release.source(mask)
        if look and shape is not None:
            yield from _mask_defects(scanned, entry.truth, path, mask, shape, space)
    except PictureError as error:
        yield picture_defect(error, file=mask, row=scanned.row, case=entry.case.id, field="name")


def _whole_scan(path: Path, name: str) -> Geometry:
    """The geometry of a CT that was read to its last byte."""
    from overread.pixels.bytestream import opened
    from overread.pixels.nifti import read_geometry, start

    space = read_geometry(path, name=name)
    scratch = memoryview(bytearray(1 << 20))
    with opened(path, name=name) as stream:
        stream.skip(start(stream).size, scratch)
        stream.finish()
    return space


def _mask_defects(
    scanned: Scanned,
    truth: Truth,
    path: Path,
    mask: str,
    shape: tuple[int, int, int],
    space: Geometry | None,
) -> Iterator[Defect]:
    from overread.pixels.masks import layout, tally
    from overread.pixels.nifti import read_header

    header = read_header(path, name=mask)
    count = len(truth.findings)
    try:
        kind = layout(header.shape, shape, count, where=mask)
    except PictureError:
        expected = f"{(count, *shape)}"
        yield _at(scanned, "shape-mismatch", "mask", expected, f"{header.shape}", file=mask)
        return
    if kind != "FHWD":
        expected = f"{(count, *shape)}"
        yield _at(scanned, "mask-variant", "mask", expected, f"{header.shape}", file=mask)
    if header.dtype != np.uint8 or header.is_scaled:
        found = f"{header.dtype.name}" + (", scaled" if header.is_scaled else "")
        yield _at(scanned, "wrong-encoding", "mask", "uint8, not scaled", found, file=mask)
    if space is not None and not np.allclose(header.affine, space.affine, rtol=0, atol=1e-3):
        expected, found = "the affine of its CT", "another one"
        yield _at(scanned, "mask-header", "mask", expected, found, file=mask)
    for finding, labels in zip(truth.findings, tally(path, shape, count, name=mask), strict=True):
        voxels = sum(labels.values())
        for field, stated, there in (
            ("entity_counts", finding.entities, len(labels)),
            ("pixels", finding.voxels, voxels),
        ):
            if stated is not None and stated != there:
                name = f"{field}.{finding.query}"
                yield _at(scanned, "count-mismatch", name, f"{there}, as in {mask}", str(stated))
        if not voxels:
            name = f"findings.{finding.query}"
            yield _at(scanned, "empty-mask", name, "at least one voxel", "none", file=mask)


def _at(
    scanned: Scanned, code: str, field: str, expected: str, found: str, *, file: str | None = None
) -> Defect:
    return Defect(
        code=code,
        file=file or scanned.file,
        row=scanned.row,
        case=scanned.entry.case.id if scanned.entry else None,
        field=field,
        expected=expected,
        found=found,
    )
