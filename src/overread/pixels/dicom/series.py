"""A folder of DICOM slices to one volume: slices in order, geometry true, defects named.

Slices are ordered by where they lie along the normal of their plane, never by file name or
InstanceNumber. Nothing is mended: a tilted gantry stays in the affine as a shear, a missing
slice stays missing, and whatever was left out stands in the defects with its file.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import Dataset

from overread.core import Defect, Geometry
from overread.errors import PictureError, Refused, UsageError
from overread.pixels.dicom.file import LIMIT, frame_group, open_dicom, read_hu, wrap_decoder_errors
from overread.pixels.geometry import make_geometry

Vector = NDArray[np.float64]

SAME_PLACE: Final = 0.01
"""Millimetres within which two slices lie at one place."""
UNEVEN: Final = 0.1
"""Part of the usual distance between slices by which one distance may differ."""
SIDEWAYS: Final = 0.2
"""Millimetres that a slice may lie beside the line of the others."""
TILT: Final = 0.1
"""Degrees from which a gantry is called tilted; less is rounding of the positions."""

_TO_RAS = np.diag([-1.0, -1.0, 1.0])


@dataclass(frozen=True, eq=False)
class Series:
    """One series as a volume."""

    volume: NDArray[np.int16] = field(repr=False)
    """HU, indexed (column i, row j, slice k)."""
    geometry: Geometry
    """Where the voxels lie; its affine is sheared where the gantry was tilted."""
    defects: tuple[Defect, ...]
    """What was wrong with the folder, and what was left out."""
    files: tuple[Path, ...] = field(repr=False)
    """The file of each slice, in slice order; one file many times where it has many frames."""


@dataclass(frozen=True, eq=False)
class _Slice:
    """One slice by its header."""

    path: Path
    frame: int
    many: bool
    """Whether its file has other frames too."""
    series: str
    modality: str
    scout: bool
    shape: tuple[int, int]
    """(columns, rows)"""
    across: Vector
    """Direction in which the column index grows, LPS."""
    down: Vector
    """Direction in which the row index grows, LPS."""
    spacing: tuple[float, float]
    """Millimetres between (columns, rows)."""
    place: Vector
    """Centre of the first pixel, LPS millimetres."""
    thickness: float | None
    """Distance to the next slice as the header states it; needed only for a lone slice."""
    order: tuple[int, int, str, int]
    """Which of two slices at one place is kept: the smaller."""

    @property
    def normal(self) -> Vector:
        """Direction in which slices are counted, LPS."""
        return np.cross(self.across, self.down)


def read_series(folder: Path | Sequence[Path], *, series: str | None = None) -> Series:
    """The one series in a folder (searched to its depths), or among files, as a volume.

    Scouts and files that are no slices are left out and named. Where several series remain,
    `series` picks one by its SeriesInstanceUID. One enhanced multi-frame file is a series too.
    """
    if isinstance(folder, Path):
        where = str(folder)
        if not folder.is_dir():
            raise PictureError("there is no such folder", where=where, remedy="check the path")
        root, paths = folder, _files_below(folder)
    else:
        paths = list(folder)
        where, root = f"{len(paths)} files", Path()
    defects = _Defects(root)
    found = [one for path in paths for one in _read_headers(path, defects)]
    slices = _largest_group(_select_series(found, series, where, defects), defects)
    normal = slices[0].normal
    slices.sort(key=lambda one: (float(one.place @ normal), one.order))
    slices = _drop_duplicates(slices, defects)
    step = _slice_step(slices, defects)
    affine = np.eye(4)
    first = slices[0]
    affine[:3, 0] = _TO_RAS @ first.across * first.spacing[0]
    affine[:3, 1] = _TO_RAS @ first.down * first.spacing[1]
    affine[:3, 2] = _TO_RAS @ step
    affine[:3, 3] = _TO_RAS @ first.place
    space = make_geometry((*first.shape, len(slices)), affine, where=where)
    volume = _read_voxels(slices, where, defects)
    return Series(volume, space, tuple(defects.found), tuple(one.path for one in slices))


def _files_below(folder: Path) -> list[Path]:
    """Every file in a folder and below it, also behind links to folders, each folder once."""
    found: list[Path] = []
    seen: set[str] = set()
    for here, below, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(here)
        if real in seen:
            below.clear()  # a link that leads back
            continue
        seen.add(real)
        found += [path for name in names if (path := Path(here, name)).is_file()]
    return sorted(found)


class _Defects:
    """The defects found so far, with files named as seen from the folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.found: list[Defect] = []

    def add(self, code: str, place: Path | _Slice, *, expected: str, found: str) -> None:
        path, row = place if isinstance(place, Path) else place.path, None
        if isinstance(place, _Slice) and place.many:
            row = place.frame + 1
        inside = path.relative_to(self.root) if path.is_relative_to(self.root) else path
        self.found.append(Defect(code=code, file=inside.as_posix(), row=row, expected=expected, found=found))


def _read_headers(path: Path, defects: _Defects) -> list[_Slice]:
    """The slices of one file, by its header alone; a file without any is named."""
    try:
        dataset = open_dicom(path, pixels=False)
        with wrap_decoder_errors(str(path)):
            if "Rows" not in dataset:
                kind = getattr(dataset.get("SOPClassUID"), "name", "") or "unknown kind"
                raise PictureError(f"DICOM without a picture ({kind})")
            frames = int(dataset.get("NumberOfFrames") or 1)
            groups = dataset.get("PerFrameFunctionalGroupsSequence") or ()
            if frames > 1 and len(groups) != frames:
                raise PictureError("a multi-frame file that does not say where its frames lie")
            return [_read_header(path, dataset, frame, many=frames > 1) for frame in range(frames)]
    except PictureError as error:
        defects.add("foreign-file", path, expected="a slice that lies in space", found=error.what)
        return []


def _read_header(path: Path, dataset: Dataset, frame: int, *, many: bool) -> _Slice:
    """What the header says of one slice; raises where the slice does not lie in space."""
    orientation = _vector(dataset, "PlaneOrientationSequence", "ImageOrientationPatient", frame, 6)
    place = _vector(dataset, "PlanePositionSequence", "ImagePositionPatient", frame, 3)
    rows, columns = _vector(dataset, "PixelMeasuresSequence", "PixelSpacing", frame, 2)
    lengths = np.sqrt((orientation.reshape(2, 3) ** 2).sum(axis=1))
    across, down = orientation[:3] / lengths[0], orientation[3:] / lengths[1]
    if np.abs(lengths - 1).max() > 0.01 or abs(across @ down) > 0.01 or min(rows, columns) <= 0:
        raise PictureError("ImageOrientationPatient or PixelSpacing cannot be true")
    measures = frame_group(dataset, "PixelMeasuresSequence", frame)
    measures = dataset if measures is None else measures
    thickness = measures.get("SpacingBetweenSlices") or measures.get("SliceThickness")
    kind = [str(word).upper() for word in dataset.get("ImageType") or ()]
    return _Slice(
        path=path,
        frame=frame,
        many=many,
        series=str(dataset.get("SeriesInstanceUID") or "without a SeriesInstanceUID"),
        modality=str(dataset.get("Modality") or "?"),
        scout="LOCALIZER" in kind or "SCOUT" in kind,
        shape=(int(dataset.Columns), int(dataset.Rows)),
        across=across,
        down=down,
        spacing=(float(columns), float(rows)),
        place=place,
        thickness=abs(float(thickness)) if thickness else None,
        order=(
            int(dataset.get("AcquisitionNumber") or 0),
            int(dataset.get("InstanceNumber") or 0),
            path.name,
            frame,
        ),
    )


def _vector(dataset: Dataset, macro: str, keyword: str, frame: int, size: int) -> Vector:
    """Numbers of a slice's header, from its functional group where it has one."""
    group = frame_group(dataset, macro, frame)
    value = (dataset if group is None else group).get(keyword)
    numbers = np.array([float(number) for number in value or ()])
    if numbers.shape != (size,) or not np.isfinite(numbers).all():
        raise PictureError(f"DICOM without {keyword}")
    return numbers


def _select_series(found: list[_Slice], series: str | None, where: str, defects: _Defects) -> list[_Slice]:
    """The slices of the one series that is meant; scouts beside it are named."""
    if not found:
        reasons = [f"{defect.file}: {defect.found}" for defect in defects.found]
        why = f" ({len(reasons)} files, such as {reasons[0]})" if reasons else ""
        raise PictureError(
            f"there is no DICOM slice with a position in space{why}",
            where=where,
            remedy="give a folder of CT slices",
        )
    counts = Counter((one.series, one.modality) for one in found)
    listed = ", ".join(f"{name} ({kind}, {n} slices)" for (name, kind), n in counts.items())
    if series is not None:
        chosen = [one for one in found if one.series == series]
        if not chosen:
            raise UsageError(f"there is no series {series}", where=where, remedy=f"give {listed}")
    else:
        chosen = found
    body = [one for one in chosen if not one.scout]
    for one in chosen if body else ():
        if one.scout:
            defects.add("foreign-file", one, expected="a slice", found="a scout")
    body = body or chosen
    if len({one.series for one in body}) > 1:
        raise PictureError(
            f"there are several series: {listed}",
            where=where,
            remedy="pick one with series=UID (--series UID)",
        )
    return body


def _largest_group(slices: list[_Slice], defects: _Defects) -> list[_Slice]:
    """The largest group of slices with one size, spacing and orientation; the rest is named."""
    groups: list[list[_Slice]] = []
    for one in slices:
        for group in groups:
            if _matches(group[0], one):
                group.append(one)
                break
        else:
            groups.append([one])
    groups.sort(key=len, reverse=True)
    for group in groups[1:]:
        for one in group:
            defects.add("mixed-slices", one, expected=_describe(groups[0][0]), found=_describe(one))
    return groups[0]


def _matches(one: _Slice, other: _Slice) -> bool:
    return (
        one.shape == other.shape
        and np.allclose(one.spacing, other.spacing, rtol=1e-3, atol=0)
        and np.allclose(one.across, other.across, rtol=0, atol=2e-3)
        and np.allclose(one.down, other.down, rtol=0, atol=2e-3)
    )


def _describe(one: _Slice) -> str:
    turned = "\\".join(f"{number:.3g}" for number in (*one.across, *one.down))
    return (
        f"{one.shape[0]} × {one.shape[1]} pixels of {one.spacing[0]:.4g} × {one.spacing[1]:.4g} mm "
        f"turned {turned}"
    )


def _drop_duplicates(slices: list[_Slice], defects: _Defects) -> list[_Slice]:
    """One slice for each place along the normal; the others are compared with it and named."""
    kept = [slices[0]]
    for one in slices[1:]:
        before = kept[-1]
        if (one.place - before.place) @ before.normal > SAME_PLACE:
            kept.append(one)
            continue
        try:
            aside = float(np.abs(one.place - before.place).max()) > SAME_PLACE
            same = not aside and np.array_equal(
                read_hu(open_dicom(one.path, pixels=True), frame=one.frame),
                read_hu(open_dicom(before.path, pixels=True), frame=before.frame),
            )
        except PictureError:
            # Whichever of the two cannot be read, they are not the same slice twice; that it
            # cannot be read is said when the volume is filled.
            same = False
        defects.add(
            "doubled-slice" if same else "conflicting-slice",
            one,
            expected="one slice at each place",
            found=f"{'the same' if same else 'other'} pixels where {before.path.name} lies",
        )
    return kept


def _slice_step(slices: list[_Slice], defects: _Defects) -> Vector:
    """From one slice to the next, LPS millimetres; gaps, uneven places and tilt are named."""
    first = slices[0]
    if len(slices) == 1:
        if first.thickness is None:
            raise PictureError(
                "a single slice without a thickness cannot become a volume",
                where=str(first.path),
                remedy="give the folder of the whole series",
            )
        return first.normal * first.thickness
    places = np.array([one.place for one in slices])
    moves = np.diff(places, axis=0)
    distances = moves @ first.normal
    usual = float(np.median(distances))
    regular = np.abs(distances - usual) <= UNEVEN * usual
    step: Vector = moves[regular].mean(axis=0) if regular.any() else first.normal * usual
    for k in np.flatnonzero(~regular):
        missing = round(distances[k] / usual) - 1
        gap = f"{distances[k]:.2f} mm after {slices[k].path.name}"
        defects.add(
            "missing-slice" if missing > 0 else "uneven-slices",
            slices[k + 1],
            expected=f"{usual:.2f} mm between slices",
            found=f"{gap}, so {missing} missing" if missing > 0 else gap,
        )
    forward = float(step @ first.normal)
    drift = step / forward - first.normal
    from_first = places - places[0]
    beside = from_first - np.outer(from_first @ first.normal, first.normal + drift)
    for k in np.flatnonzero(np.sqrt((beside**2).sum(axis=1)) > SIDEWAYS):
        defects.add(
            "uneven-slices",
            slices[k],
            expected="slices on one line",
            found=f"{np.sqrt((beside[k] ** 2).sum()):.2f} mm beside it",
        )
    tilt = float(np.degrees(np.arctan(np.sqrt((drift**2).sum()))))
    if tilt >= TILT:
        defects.add(
            "gantry-tilt",
            first,
            expected="slices straight above each other",
            found=f"a tilt of {tilt:.1f} degrees",
        )
    return step


def _read_voxels(slices: list[_Slice], where: str, defects: _Defects) -> NDArray[np.int16]:
    """The volume, slice by slice; what int16 cannot hold exactly is named."""
    columns, rows = slices[0].shape
    claimed = columns * rows * len(slices) * 2
    if claimed > LIMIT:
        raise Refused(
            f"the volume would take {claimed} bytes, more than {LIMIT}",
            where=where,
            remedy="give fewer slices",
        )
    limits = np.iinfo(np.int16)
    # Fortran order: each slice is one stretch of memory.
    volume = np.empty((columns, rows, len(slices)), dtype=np.int16, order="F")
    opened: tuple[Path, Dataset] | None = None
    rounded: list[_Slice] = []
    for k, one in enumerate(slices):
        if opened is None or opened[0] != one.path:
            opened = (one.path, open_dicom(one.path, pixels=True))
        values = read_hu(opened[1], frame=one.frame)
        if values.shape != (rows, columns) or not np.isfinite(values).all():
            raise PictureError(
                "the pixels of the slice are not what its header states",
                where=str(one.path),
                remedy="export the series again from where it came",
            )
        if values.dtype != np.int16:
            whole = np.clip(np.rint(values), limits.min, limits.max)
            if not np.array_equal(whole, values):
                rounded.append(one)
            volume[:, :, k] = whole.T
        else:
            volume[:, :, k] = values.T
    if rounded:
        defects.add(
            "rounded-values",
            rounded[0],
            expected="whole numbers from -32768 to 32767",
            found=f"others in {len(rounded)} slices, rounded or cut off",
        )
    return volume
