"""The arms of an audit: what is changed in the pictures of each case when it is asked again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from overread.core import (
    Box,
    Case,
    Image,
    Mask,
    Picture,
    Pictures,
    Record,
    Region,
    Release,
    ReleaseRef,
    Slices,
    Volume,
    VoxelBox,
    Whole,
)
from overread.core.seeded import hash_seed
from overread.errors import PictureError, UnknownName
from overread.pixels.edits.altered_pictures import Edit, flat_mask, volume_mask
from overread.pixels.edits.control_regions import control_boxes, control_shifts, control_slices, merge_ranges
from overread.pixels.planes import slice_count
from overread.runs.audit.citations import Regions, cites_all
from overread.runs.workers import open_release

ARMS: dict[str, str] = {
    "null": "asked again, nothing changed",
    "hidden": "the cited regions hidden",
    "other": "as large other regions hidden",
    "swapped": "the cited regions swapped for another patient's",
    "only": "only the cited regions shown",
}
"""Arm → what is done in it."""

_TRIES = 20


class CasePlan(Record):
    """What an audit does with one case."""

    case: str
    """Whose pictures are changed."""
    cited: tuple[Region, ...] = ()
    """What its reading cites and can be hidden; all its pictures where it cites nothing."""
    uncited: bool = False
    """Whether the reading cites nothing, so that all its pictures stand for what it was shown."""
    edits: dict[str, tuple[Edit, ...]] = Field(default_factory=dict)
    """Arm → what is changed."""
    without: dict[str, str] = Field(default_factory=dict)
    """Arm → why it cannot be had for this case."""
    refused: str | None = None
    """Why the case cannot be audited at all."""


class Donor(Record):
    """A picture of another patient, used in the arm 'swapped'."""

    case: str
    """Whose case it is of."""
    patient: str | None = None
    """Whose it is, where the release tells."""
    picture: Picture
    """The picture."""


def seeded(seed: int, *words: object) -> np.random.Generator:
    """A random generator seeded by a seed and these words only."""
    return np.random.default_rng(hash_seed(seed, *words))


# ---- donors --------------------------------------------------------------------------------


class Donors:
    """Every picture of a release, with its patient and its kind."""

    def __init__(self, release: Release) -> None:
        """Go through the release once; kinds are what it calls the pictures, where it does."""
        self._kinds: dict[str, list[Donor]] = {}
        self._own: dict[tuple[str, str], str] = {}
        for scanned in release.scan():
            if scanned.entry is None:
                continue
            case, truth = scanned.entry.case, scanned.entry.truth
            told = {note.picture: note.modality or "" for note in truth.notes} if truth else {}
            for picture in case.pictures:
                kind = f"{picture.kind} {told.get(picture.name, '')}"
                donor = Donor(case=case.id, patient=case.patient, picture=picture)
                self._own[case.id, picture.name] = kind
                for name in {kind, f"any {picture.kind}"}:
                    self._kinds.setdefault(name, []).append(donor)

    def choose(self, case: Case, seed: int) -> dict[str, Picture]:
        """Picture → another patient's of the same kind, by lot; of any kind where there is none."""
        found = {}
        for picture in case.pictures:
            kind = self._own.get((case.id, picture.name), "")
            dice = seeded(seed, case.id, "donor", picture.name)
            for name in (kind, f"any {picture.kind}"):
                donor = self._pick(self._kinds.get(name, []), case, dice)
                if donor is not None:
                    found[picture.name] = donor.picture
                    break
        return found

    def _pick(self, donors: Sequence[Donor], case: Case, dice: np.random.Generator) -> Donor | None:
        def another(donor: Donor) -> bool:
            same = case.patient is not None and donor.patient == case.patient
            return donor.case != case.id and not same

        for _ in range(_TRIES if donors else 0):  # nearly all are others: no need to sort them
            donor = donors[int(dice.integers(len(donors)))]
            if another(donor):
                return donor
        others = [donor for donor in donors if another(donor)]
        return others[int(dice.integers(len(others)))] if others else None


# ---- planning ------------------------------------------------------------------------------


def plan_case(
    case: Case,
    levels: Sequence[Regions],
    place: ReleaseRef,
    folder: Path,
    donors: Mapping[str, Picture],
    seed: int,
) -> CasePlan:
    """What is done with one case in every arm; `folder` is the run that holds its masks.

    `levels` are what it cites, best first: the first that marks anything counts.
    """
    pictures = open_release(place).pictures
    by_picture: dict[str, list[Region]] = {}
    try:
        for regions in levels:
            by_picture = by_picture or _group_by_picture(case, regions, pictures, folder)
    except (PictureError, UnknownName) as error:
        return CasePlan(case=case.id, refused=f"what it cites cannot be hidden: {error}")
    uncited = not by_picture
    if uncited:
        by_picture = {p.name: [Whole(picture=p.name)] for p in case.pictures}
    if not by_picture:
        return CasePlan(case=case.id, refused="it has no picture that could be hidden")
    kept = tuple(region for own in by_picture.values() for region in own)
    arms = _ArmEdits(case, by_picture, pictures, folder, seed)
    edits: dict[str, tuple[Edit, ...]] = {"null": (), "hidden": arms.hide_cited()}
    without: dict[str, str] = {}
    all_cited = cites_all(case, kept)
    other = None if all_cited else arms.hide_other()
    if other is not None:
        edits["other"] = other
    else:
        without["other"] = "it cites everything" if all_cited else "there is no room for it"
    if set(by_picture) <= set(donors):
        edits["swapped"] = arms.swap_cited(donors)
    else:
        without["swapped"] = "nobody else has such a picture"
    if all_cited:
        without["only"] = "it cites everything"
    else:
        edits["only"] = arms.keep_cited()
    return CasePlan(case=case.id, cited=kept, uncited=uncited, edits=edits, without=without)


def plan_job(case_id: str, *job: Any) -> CasePlan:
    """`planned`, for workers: the first argument names the job."""
    return plan_case(*job)


def _group_by_picture(
    case: Case, regions: Regions, pictures: Pictures, folder: Path
) -> dict[str, list[Region]]:
    """Picture → what is cited of it; checked, and empty masks left out."""
    found: dict[str, list[Region]] = {}
    for region in regions:
        picture = case.picture(region.picture)
        if isinstance(region, Whole):
            pass
        elif isinstance(picture, Image):
            flat_mask(pictures.pixels(picture).shape[:2], picture, (region,))
        else:
            edit = Edit(picture=picture.name, how="hide", regions=(region,), files=str(folder))
            if not volume_mask(pictures.geometry(picture), edit).any():
                continue
        found.setdefault(picture.name, []).append(region)
    return found


class _ArmEdits:
    """The edits of one case."""

    def __init__(
        self, case: Case, cited: Mapping[str, Sequence[Region]], pictures: Pictures, folder: Path, seed: int
    ) -> None:
        self._case = case
        self._cited = cited
        self._pictures = pictures
        self._folder = folder
        self._seed = seed

    def _edit(self, name: str, how: Any, regions: Sequence[Region], **more: Any) -> Edit:
        seed = hash_seed(self._seed, self._case.id, "grain", name)
        return Edit(picture=name, how=how, regions=tuple(regions), seed=seed, **more)

    def hide_cited(self) -> tuple[Edit, ...]:
        return tuple(self._edit(name, "hide", own) for name, own in self._cited.items())

    def swap_cited(self, donors: Mapping[str, Picture]) -> tuple[Edit, ...]:
        return tuple(self._edit(name, "swap", own, donor=donors[name]) for name, own in self._cited.items())

    def keep_cited(self) -> tuple[Edit, ...]:
        """What is cited is kept; pictures of which nothing is cited are hidden whole."""
        return tuple(
            self._edit(picture.name, "keep", self._cited[picture.name])
            if picture.name in self._cited
            else self._edit(picture.name, "hide", (Whole(picture=picture.name),))
            for picture in self._case.pictures
        )

    def hide_other(self) -> tuple[Edit, ...] | None:
        """As large other regions of the same pictures; other pictures for whole ones."""
        edits: list[Edit] = []
        free = [picture.name for picture in self._case.pictures if picture.name not in self._cited]
        dice = seeded(self._seed, self._case.id, "other")
        boxes: dict[str, list[Box]] = {}
        for name, own in self._cited.items():
            if any(isinstance(region, Whole) for region in own):
                if not free:
                    return None
                other = free.pop(int(dice.integers(len(free))))
                edits.append(self._edit(other, "hide", (Whole(picture=other),)))
                continue
            picture = self._case.picture(name)
            if isinstance(picture, Image):
                boxes[name] = [region for region in own if isinstance(region, Box)]
                continue
            found = self._hide_other_voxels(picture, own, dice)
            if found is None:
                return None
            edits.append(found)
        if boxes:
            elsewhere = control_boxes(self._flat_pictures([*boxes, *free]), boxes, dice)
            if elsewhere is None:
                return None
            edits += [self._edit(name, "hide", found) for name, found in elsewhere.items()]
        return tuple(edits)

    def _flat_pictures(self, names: Sequence[str]) -> dict[str, Any]:
        """The flat pictures of these names that boxes may be moved to."""
        films = {}
        for picture in self._case.pictures:
            if picture.name in names and isinstance(picture, Image):
                films[picture.name] = self._pictures.pixels(picture)
        return films

    def _hide_other_voxels(
        self, picture: Volume, own: Sequence[Region], dice: np.random.Generator
    ) -> Edit | None:
        """Slices go to other slices of their plane, masks to other voxels; boxes of voxels stay."""
        if any(isinstance(region, VoxelBox) for region in own):
            return None
        space = self._pictures.geometry(picture)
        regions: list[Region] = []
        shifts: tuple[tuple[int, int, int], ...] = ()
        slabs = [region for region in own if isinstance(region, Slices)]
        for axis in sorted({slab.axis for slab in slabs}):
            mine = merge_ranges((slab.first, slab.last) for slab in slabs if slab.axis == axis)
            ranges = control_slices(slice_count(space, axis), mine, dice)
            if ranges is None:
                return None
            regions += [
                Slices(picture=picture.name, axis=axis, first=first, last=last) for first, last in ranges
            ]
        masks = tuple(region for region in own if isinstance(region, Mask))
        if masks:
            marked = Edit(picture=picture.name, how="hide", regions=masks, files=str(self._folder))
            voxels = volume_mask(space, marked)
            moves = control_shifts(self._pictures.pixels(picture), space, voxels, dice)
            if moves is None:
                return None
            regions += masks
            shifts = moves
        return self._edit(picture.name, "hide", regions, shifts=shifts)
