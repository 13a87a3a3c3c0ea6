"""ReXGroundingCT submissions: one mask a scan, named like it, flat in a folder or a zip.

Only headers are read here, since they tell what most often goes wrong; values are checked when the
masks are scored. Shape and orientation are held against the CT itself where it is there, else
against what the list of cases states.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from overread.benchmarks.intake import Intake, format_few, make_printable
from overread.benchmarks.rexgroundingct.grand_challenge import find_outputs
from overread.benchmarks.rexgroundingct.label_maps import OWN_FILES, label_reading, read_label_numbers
from overread.benchmarks.rexgroundingct.release import CT
from overread.benchmarks.rexgroundingct.scan_names import scan_stem
from overread.benchmarks.submitted_files import FolderFiles, Member, ZipFiles, open_submitted_files
from overread.core import Case, Entry, Finding, Geometry, Mask, Reading, Release, Submission, Volume
from overread.errors import PictureError, SubmissionError

if TYPE_CHECKING:
    from overread.pixels.nifti import NiftiHeader

_MASKS = (".nii.gz", ".nii", ".mha")
_RENAME_REMEDY = "name each mask like its CT"
# What people add to the name of a scan: nnU-Net's channel, or a word for what the file is.
_NAME_ADDITIONS = re.compile(r"(_0000|[_-](seg|segmentation|mask|masks|pred|prediction|label|labels))+$")
_SLACK = 1 << 20


@dataclass
class _MaskFiles:
    """The usable files of a submission, and where they lie."""

    flat: dict[str, list[Member]]
    """Name → files of that name where they belong; more than one is one too many."""
    deeper: dict[str, list[Member]]
    """Name → files of that name in folders below."""
    refused: dict[str, list[Member]]
    """Name → files of that name that are not opened."""

    def all_members(self) -> Iterator[tuple[str, Member]]:
        for places in (self.flat, self.deeper):
            for name, members in places.items():
                yield from ((name, member) for member in members)


def read_submission(release: Release, path: Path, entries: Collection[Entry] | None = None) -> Submission:
    """The masks of a folder or a zip, matched to the scans by their names."""
    cases = {_ct_name(entry.case): entry.case for entry in entries or release.entries()}
    files = open_submitted_files(path)
    intake = Intake(path, (case.id for case in cases.values()), unit="file")
    members = files.members()
    labels = read_label_numbers(files, members, intake)
    chosen = find_outputs(files, cases, intake) if labels is None else None
    if chosen is None:
        expected = frozenset() if labels is None else OWN_FILES
        chosen = _choose_by_name(files, members, cases, intake, expected=expected)
    sizes = {member.name: member.size for member in members}
    unchecked = 0
    for member_name, header in files.read_headers(chosen):
        case = chosen[member_name]
        space, shape = _ct_space(release, case)
        unchecked += space is None
        channels = len(case.queries) if labels is None else None
        wrong = _find_misfit(header, channels, shape, sizes[member_name])
        if labels is None:
            reading = _make_reading(case, member_name, intake.reader)
        else:
            reading = label_reading(case, member_name, intake.reader, labels, intake)
        if wrong is not None:
            intake.fail(case.id, *wrong, file=make_printable(member_name), findings=reading.findings)
            continue
        if not isinstance(header, PictureError):
            _note_header(header, channels, space, shape, member_name, intake)
        intake.add_reading(reading)
    if labels is not None:
        what = "these are label maps of nnU-Net: each finding was given the label of its category"
        intake.warn(what, "the category was read by rules in the finding's sentence; see docs/grading.md")
    if unchecked:
        what = f"the orientation of {unchecked:,} masks could not be checked"
        intake.warn(what, "name the folder of the CTs with --pictures")
    return intake.to_submission(files)


def _choose_by_name(
    files: FolderFiles | ZipFiles,
    members: list[Member],
    cases: dict[str, Case],
    intake: Intake,
    *,
    expected: frozenset[str],
) -> dict[str, Case]:
    """File of a mask → its case, by the name that both have."""
    placed = _sort_files(members, intake, expected=expected)
    chosen: dict[str, Case] = {}
    used: set[str] = set()
    near = _similar_names(placed)
    for name, case in cases.items():
        own = name if name in placed.flat or name in placed.refused else _metaimage_name(name, placed)
        member = _choose_file(own, case, placed, files, intake)
        if member is not None:
            chosen[member.name] = case
            used |= {own, *(twin.base for twin in _gzip_variants(own, placed))}
        elif intake.lacks(case.id):
            used |= _note_similar_names(name, case, placed, near, intake)
    _note_surplus(placed, cases, used, intake)
    return chosen


def _metaimage_name(name: str, placed: _MaskFiles) -> str:
    """The name of a scan's mask as .mha, or as NIfTI of a CT that is .mha, where it is there."""
    stem = scan_stem(name)
    return next((one for one in (f"{stem}.mha", f"{stem}.nii.gz") if one in placed.flat), name)


def _ct_name(case: Case) -> str:
    return case.picture(CT).file


def _sort_files(members: list[Member], intake: Intake, *, expected: frozenset[str]) -> _MaskFiles:
    """The NIfTI files by name; what else is there, and is not expected, is noted."""
    wanted = [member for member in members if not member.is_clutter]
    masks = [m for m in wanted if m.base.lower().endswith(_MASKS)]
    others = [
        make_printable(m.name)
        for m in wanted
        if not m.base.lower().endswith(_MASKS) and m.base not in expected
    ]
    if not masks:
        what = "there is no NIfTI file" if members else "there is nothing in it"
        remedy = "put one .nii.gz a scan into it, named like the scan"
        raise SubmissionError(what, where=intake.file, remedy=remedy)
    if len(wanted) < len(members):
        what = f"{len(members) - len(wanted):,} hidden file(s) were left out"
        intake.warn(what, "hand in the masks and nothing else")
    if others:
        names = format_few(others, len(others))
        what = f"{len(others):,} file(s) are no NIfTI and were left out ({names})"
        intake.warn(what, "hand in the masks and nothing else")
    top = _common_folder([member.name for member in masks if not member.refusal])
    if top:
        what = f"the masks lie in the folder '{make_printable(top)}'"
        intake.warn(what, "put them flat; they were read all the same")
    placed = _MaskFiles({}, {}, {})
    for member in masks:
        name = member.name.removeprefix(f"{top}/") if top else member.name
        places = placed.refused if member.refusal else placed.flat
        if not member.refusal and "/" in name:
            places = placed.deeper
        places.setdefault(member.base, []).append(member)
    return placed


def _common_folder(names: list[str]) -> str:
    """The one folder that all files lie in, or nothing."""
    tops = {name.partition("/")[0] if "/" in name else "" for name in names}
    return tops.pop() if len(tops) == 1 else ""


def _choose_file(
    name: str, case: Case, placed: _MaskFiles, files: FolderFiles | ZipFiles, intake: Intake
) -> Member | None:
    """The file of a scan; where there is none that can be used, the case has failed or is left."""
    found = placed.flat.get(name, [])
    below, refused = placed.deeper.get(name, []), placed.refused.get(name, [])
    if not found:
        if refused:
            what = f"the file is not read: {refused[0].refusal}"
            where = make_printable(refused[0].name)
            intake.fail(case.id, what, refused[0].remedy, file=where)
        elif len(below) > 1:
            where = format_few([make_printable(member.name) for member in below], len(below))
            what = f"there are {len(below)} files for one scan ({where})"
            intake.fail(case.id, what, "put the right one flat into the folder or zip", file=name)
        return None
    first, *more = found
    if any(not files.same_bytes(first, other) for other in more):
        what = f"the name is there {len(found)} times, with different bytes"
        intake.fail(case.id, what, "pack each mask once", file=make_printable(first.name))
        return None
    if more:
        intake.warn("the same mask is there more than once", "pack each mask once", file=name)
    for member in (*below, *refused, *_gzip_variants(name, placed)):
        what = "there is another file for a scan that has its mask; it was left out"
        intake.warn(what, "hand in one file a scan", file=make_printable(member.name))
    return first


def _gzip_variants(name: str, placed: _MaskFiles) -> list[Member]:
    """Files of the same name with .gz added or removed."""
    return placed.flat.get(name.removesuffix(".gz") if name.endswith(".gz") else f"{name}.gz", [])


def _similar_names(placed: _MaskFiles) -> dict[str, list[str]]:
    """Bare name of a scan → names of files that may be meant for it."""
    near: dict[str, list[str]] = {}
    for name, member in placed.all_members():
        near.setdefault(_bare_name(name), []).append(member.name)
    return near


def _bare_name(name: str) -> str:
    """A name without its endings and what people add to it, in small letters."""
    return _NAME_ADDITIONS.sub("", re.sub(r"((\.nii)?(\.gz)?|\.mha)$", "", name.lower()))


def _note_similar_names(
    name: str, case: Case, placed: _MaskFiles, near: dict[str, list[str]], intake: Intake
) -> set[str]:
    """A scan without a file, where a file has nearly its name; gives the names that were told."""
    meant = near.get(_bare_name(name), [])
    if not meant:
        return set()
    told = format_few([f"'{make_printable(found)}'" for found in meant], len(meant))
    what = f"there is no file '{name}', but {told}"
    intake.error(what, _RENAME_REMEDY, case=case.id)
    return {found.rpartition("/")[2] for found in meant}


def _ct_space(release: Release, case: Case) -> tuple[Geometry | None, tuple[int, ...] | None]:
    """The geometry of the CT where it is there, and its shape from wherever it can be had."""
    from overread.pixels.nifti import read_header

    volume = case.picture(CT)
    try:
        space = release.pictures.geometry(volume)
    except PictureError:
        if isinstance(volume, Volume) and volume.shape is not None:
            return None, volume.shape
    else:
        return space, space.shape
    try:
        mask = f"segmentations/{volume.file}"
        shape = read_header(release.source(mask), name=mask).shape
    except PictureError:
        return None, None
    return None, shape[1:] if len(shape) == 4 and shape[0] == len(case.queries) else None


def _find_misfit(
    header: NiftiHeader | PictureError, channels: int | None, shape: tuple[int, ...] | None, size: int
) -> tuple[str, str] | None:
    """Why a mask of so many channels cannot be used, and what to do about it; None is a label map."""
    from overread.benchmarks.rexgroundingct.axes import describe_misfit
    from overread.pixels.masks import detect_layout

    if not size:
        return "the file is empty", "write the mask again"
    if isinstance(header, PictureError):
        return header.what, header.remedy or "write the mask again"
    if channels is None:
        if shape is not None and header.shape != tuple(shape):
            what = f"the label map has the shape {header.shape}, and the CT {tuple(shape)}"
            return what, "write it in the CT's own array, as nnU-Net does"
        return _find_surplus_bytes(header, size)
    count = channels
    ct = shape if shape is not None else header.shape[1:]
    try:
        detect_layout(header.shape, (ct[0], ct[1], ct[2]) if len(ct) == 3 else (0, 0, 0), count, where="")
    except PictureError:
        if shape is None:
            what = f"the mask has the shape {header.shape}, not ({count}, H, W, D)"
            return what, "write one channel for each finding, then the CT's own array"
        return describe_misfit(header.shape, ct, count)
    return _find_surplus_bytes(header, size)


def _find_surplus_bytes(header: NiftiHeader, size: int) -> tuple[str, str] | None:
    most = header.offset + header.size + header.size // 1000 + _SLACK
    if size > most:
        what = f"the file has {size:,} bytes, and a mask of its shape at most {most:,}"
        return what, "write the mask again; what comes after it is not read"
    return None


def _note_header(
    header: NiftiHeader,
    channels: int | None,
    space: Geometry | None,
    shape: tuple[int, ...] | None,
    name: str,
    intake: Intake,
) -> None:
    """What is odd about a mask that can be used."""
    from overread.benchmarks.rexgroundingct.axes import describe_orientation

    where = make_printable(name)
    # One finding in .mha is a plain volume: the format cannot say that a voxel has one channel.
    single = channels == 1 and header.shape == shape and name.lower().endswith(".mha")
    if channels is not None and shape is not None and header.shape != (channels, *shape) and not single:
        official = "(H, W, D)" if len(header.shape) == 3 else "(H, W, D, F)"
        what = f"the mask is stored as {official}; it was understood all the same"
        intake.warn(what, "the official order is (F, H, W, D)", file=where)
    if header.dtype.kind == "f" or header.is_scaled:
        what = "the mask is stored as floats" if header.dtype.kind == "f" else "the mask is scaled"
        remedy = "store uint8: 0, or the number of an entity; other values count as the worst"
        intake.warn(what, remedy, file=where)
    if space is not None:
        hint = describe_orientation(header.affine, header.shape, space)
        if hint is not None:
            intake.warn(*hint, file=where)


def _make_reading(case: Case, file: str, reader: str) -> Reading:
    count = len(case.queries)
    findings = tuple(
        Finding(
            text=query.text,
            query=query.id,
            regions=(Mask(picture=CT, file=file, channel=channel, channels=count),),
        )
        for channel, query in enumerate(case.queries)
    )
    return Reading(case_id=case.id, reader=reader, findings=findings)


def _note_surplus(placed: _MaskFiles, cases: dict[str, Case], used: set[str], intake: Intake) -> None:
    """Files that are for no scan of the split, and those that are not opened."""
    for name, member in placed.all_members():
        if name not in cases and name not in used:
            intake.note_unknown_case(member.name)
    for members in placed.refused.values():
        for member in members:
            if member.base not in cases:
                what = f"a file is not read: {member.refusal}"
                intake.warn(what, member.remedy, file=make_printable(member.name))
