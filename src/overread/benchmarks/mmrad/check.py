"""Every defect of a copy of MMRad-IVL or of GEMeX-ThinkVG rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from overread.benchmarks.checks import (
    FormContents,
    UniqueIds,
    UnknownWords,
    check_in_threads,
    picture_defect,
    shard_defects,
    shared_patient_defects,
)
from overread.benchmarks.mmrad.release import MMRadRelease
from overread.core import Box, Defect, Entry, Progress, ScannedRow, Truth
from overread.errors import PictureError
from overread.ontology import xray_regions


def check(
    root: Path,
    split: str,
    *,
    form: str | None = None,
    pictures: Path | None = None,
    open_pictures: bool = True,
    progress: Progress | None = None,
) -> Iterator[Defect]:
    """Every defect of one split, in each form it is there in (or in the one asked for)."""
    first = MMRadRelease(root, split, form=form, pictures=pictures)
    patients: dict[str, int] = {}
    told = FormContents(first.files[0])
    yield from _check_form(first, told, patients, look=open_pictures, progress=progress)
    for other in first.forms() if form is None else ():
        release = MMRadRelease(root, split, form=other, pictures=pictures)
        if release.files == first.files:
            continue
        # Questions beside traces are no twins of theirs; a twin names the same pictures again.
        is_twin = release.is_thinkvg == first.is_thinkvg
        again = FormContents(release.files[0])
        look = None if is_twin else open_pictures
        yield from _check_form(release, again, patients, look=look, progress=progress)
        if is_twin:
            yield from told.differences(again)
    yield from shard_defects(first.files)
    yield from shared_patient_defects(first, patients, first.other_splits())


def _check_form(
    release: MMRadRelease,
    teller: FormContents,
    patients: dict[str, int],
    *,
    look: bool | None,
    progress: Progress | None,
) -> Iterator[Defect]:
    """Defects of one file of rows; `look` None leaves its pictures alone."""
    ids, words = UniqueIds(), UnknownWords("a name of `overread list regions`")
    rows = told = failed = 0
    untold: list[ScannedRow] = []
    total = release.count()

    def work(scanned: ScannedRow) -> list[Defect]:
        if scanned.entry is None or look is None or release.lacks_radiographs:
            return []
        return list(_picture_defects(release, scanned, scanned.entry, look=look))

    for scanned, picture_defects in check_in_threads(release.scan(), work, look=bool(look)):
        rows += bool(scanned.row)
        failed += scanned.entry is None
        yield from scanned.defects
        yield from picture_defects
        if scanned.entry is not None:
            case, truth = scanned.entry.case, scanned.entry.truth
            yield from ids.defects(scanned, case.id, column="images")
            teller.add(scanned, scanned.entry)
            if case.patient is not None:
                patients.setdefault(case.patient, scanned.row)
            told += truth is not None
            if truth is None:
                untold.append(scanned)
            for box in trace_boxes(truth):
                if not box.is_proper:
                    expected = "x1 < x2 and y1 < y2"
                    yield scanned.defect("inverted-box", "response", expected, _format_box(box))
                if box.label is not None and not xray_regions().find(box.label):
                    words.add(scanned, "unknown-region", "response", box.label)
        if progress is not None:
            progress(rows, total)
    file = release.files[0]
    if not rows and not failed:
        yield Defect(code="empty-split", file=file, expected="traces", found="none")
    elif told:
        for scanned in untold:
            yield scanned.defect("missing-field", "response", "a response", "nothing")
    elif untold:
        yield Defect(
            code="withheld-truth",
            file=file,
            field="response",
            expected="responses",
            found=f"none in {rows} rows",
        )
    if rows and look is not None and release.lacks_radiographs:
        yield Defect(
            code="no-pictures",
            file=file,
            field="image_path",
            expected="radiographs; they are MIMIC-CXR-JPG's (name their folder with --pictures)",
            found="none",
        )
    yield from words.defects()


def trace_boxes(truth: Truth | None) -> Iterator[Box]:
    """All boxes of a trace, in order, each once."""
    steps = truth.trace.steps if truth is not None and truth.trace is not None else ()
    found = [region for step in steps for region in step.regions if isinstance(region, Box)]
    return iter(dict.fromkeys(found))


def _picture_defects(
    release: MMRadRelease, scanned: ScannedRow, entry: Entry, *, look: bool
) -> Iterator[Defect]:
    """Are the radiograph and the crops there, whole, and do the boxes stay inside?"""
    from overread.pixels.image_files import verify_image

    sizes: dict[str, tuple[int, int]] = {}
    files = [(picture.name, picture.file) for picture in entry.case.pictures]
    steps = entry.truth.trace.steps if entry.truth and entry.truth.trace else ()
    files += [("crop", step.crop) for step in steps if step.crop is not None]
    for name, file in files:
        try:
            source = release.source(file)
            if look:
                sizes[name] = verify_image(source, name=file)
        except PictureError as error:
            yield picture_defect(error, file=file, row=scanned.row, case=entry.case.id, field="images")
    for box in trace_boxes(entry.truth):
        width, height = sizes.get(box.picture, (0, 0))
        inside = min(box.x1, box.x2) >= 0 and min(box.y1, box.y2) >= 0
        inside = inside and max(box.x1, box.x2) <= width and max(box.y1, box.y2) <= height
        if width and not inside:
            expected = f"a box inside {width}×{height} pixels"
            yield scanned.defect("box-outside-picture", "response", expected, _format_box(box))


def _format_box(box: Box) -> str:
    return f"[{box.x1:g}, {box.y1:g}, {box.x2:g}, {box.y2:g}]"
