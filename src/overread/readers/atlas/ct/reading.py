"""A CT and sentences to be found in it: understand each, measure the lungs, mark what fits."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from overread.core import Case, Finding, Mask, Pictures, Query, Reading, Slices, Step, Trace, Volume, Whole
from overread.core.pictures import Picture
from overread.readers.atlas.ct.chest import SIDES, ChestCt, find_chest
from overread.readers.atlas.ct.detectors.search import Detector, DetectorResult, Search
from overread.readers.atlas.ct.lobes import LOBES
from overread.readers.atlas.ct.morphology import Bools
from overread.readers.atlas.ct.target import NamedOrgan, SearchTarget, parse_organ, parse_target
from overread.readers.atlas.identity import NAME

DETECTORS: dict[str, str] = {
    "1a": "airways:mark_bronchi",
    "1b": "airways:mark_bronchi",
    "1c": "low_density:mark_emphysema",
    "1d": "lines:mark_reticulation",
    "1e": "micronodules:mark_micronodules",
    "1f": "low_density:mark_mosaic",
    "2a": "lines:mark_bands",
    "2b": "opacities:mark_consolidation",
    "2c": "opacities:mark_ground_glass",
    "2d": "nodules:mark_nodules",
    "2e": "pleura:mark_pleura",
    "2f": "lines:mark_reticulation",
    "2g": "low_density:mark_pneumothorax",
    "2h": "airways:mark_cavity",
}
"""Category → who marks it."""
OBSERVATION_DETECTORS = {"mucus plugging": "airways:mark_plugs"}
"""Observation → who marks it in place of its category's detector."""


def find_detector(wanted: SearchTarget) -> Detector:
    """Who marks what a sentence speaks of."""
    target = OBSERVATION_DETECTORS.get(wanted.observation) or DETECTORS[wanted.category]
    module, _, name = target.partition(":")
    found: Detector = getattr(import_module(f"overread.readers.atlas.ct.detectors.{module}"), name)
    return found


def run_detector(search: Search) -> DetectorResult:
    """Mark what one sentence says in one chest."""
    return find_detector(search.target)(search)


def read_scan(case: Case, pictures: Pictures) -> tuple[Reading, list[Any]]:
    """The reading of a CT: one finding and one mask for each sentence, in the case's order.

    Where no lungs are found, or a sentence speaks of something else, a step says so and the mask
    is empty.
    """
    volume = next((one for one in case.pictures if isinstance(one, Volume)), None)
    steps: list[Step] = []
    chest: ChestCt | None = None
    if volume is None:
        steps.append(Step(kind="say", text="There is no CT among the pictures."))
    else:
        chest = find_chest(pictures.pixels(volume), pictures.geometry(volume))
        steps += _chest_steps(volume, chest)
    masks: list[Any] = []
    findings: list[Finding] = []
    known: dict[str, tuple[Bools | None, list[Step]]] = {}
    for channel, query in enumerate(case.queries):
        if query.text not in known:
            known[query.text] = _mark_query(volume, chest, query)
        mask, told = known[query.text]
        masks.append(mask)
        regions: tuple[Mask, ...] = ()
        if volume is not None and mask is not None:
            regions = (Mask(picture=volume.name, file="", channel=channel),)
            told = [*told[:-1], told[-1].model_copy(update={"regions": regions})]
        steps += told
        wanted = parse_target(query.text)
        category = wanted.category if wanted else None
        findings.append(Finding(text=query.text, query=query.id, category=category, regions=regions))
    reading = Reading(case_id=case.id, reader=NAME, findings=tuple(findings), trace=Trace(steps=tuple(steps)))
    return reading, masks


def _chest_steps(volume: Picture, chest: ChestCt | None) -> list[Step]:
    """What was found of the chest before anything was looked for."""
    whole = (Whole(picture=volume.name),)
    if chest is None:
        text = "No lungs are found in this volume, so nothing can be marked."
        return [Step(kind="look", text=text, regions=whole)]
    rooms = [f"{side} {chest.volume(chest.aerated[side]):.0f} ml" for side in SIDES]
    dense = chest.volume(chest.lung_spaces & ~chest.air)
    lobes = "/".join(f"{chest.volume(chest.lobes == n):.0f}" for n in range(1, 6))
    text = (
        f"Air-holding lungs: {', '.join(rooms)}; healthy lung of this patient has "
        f"{chest.normal_hu:.0f} HU. Inside the ribs and beside the lungs lie {dense:.0f} ml that "
        f"hold no air; trachea and main bronchi hold {chest.volume(chest.airways):.0f} ml. The "
        f"fissures, as far as they are seen, cut the lungs into lobes of about {lobes} ml (right "
        f"upper, middle, lower, left upper, lower)."
    )
    return [Step(kind="look", text=text, regions=whole)]


def _mark_query(
    volume: Volume | None, chest: ChestCt | None, query: Query
) -> tuple[Bools | None, list[Step]]:
    """The mask of one sentence and the steps that led to it, the conclusion last."""
    named = parse_organ(query.text)
    if named is not None and chest is not None:
        return _mark_organ(chest, named, query)
    wanted = parse_target(query.text)
    if wanted is None:
        text = f"Sentence {query.id} speaks of nothing in lung or pleura: nothing is marked."
        return _empty_mask(volume, chest), [Step(kind="conclude", text=text)]
    said = Step(kind="say", text=f"Sentence {query.id} asks for {wanted.description}.")
    if chest is None or volume is None:
        return None, [said, Step(kind="conclude", text="Without lungs nothing is marked.")]
    search = Search(chest, wanted)
    if not search.place.any():
        text = f"There is no {search.place_name} in this volume: nothing is marked."
        return _empty_mask(volume, chest), [said, Step(kind="conclude", text=text)]
    where = _slice_range(volume, chest, search.focus)
    marked = run_detector(search)
    steps = [said, *(Step(kind="look", text=text, regions=where) for text in marked.measured)]
    steps.append(Step(kind="conclude", text=f"Sentence {query.id}: {marked.why}"))
    return chest.to_stored(marked.mask), steps


def _mark_organ(chest: ChestCt, named: NamedOrgan, query: Query) -> tuple[Bools, list[Step]]:
    """A lung or lobes, where a sentence names these and nothing that is wrong with them."""
    lungs = chest.lungs
    assert lungs is not None
    mask = {"right": lungs.right, "left": lungs.left}.get(named.side or "", lungs.both)
    if named.lobes:
        numbers = [LOBES.index(code) + 1 for code in named.lobes]
        mask = mask & chest.to_stored(np.isin(chest.lobes, numbers))
    ml = float(np.count_nonzero(mask)) * float(np.prod(chest.space.spacing)) / 1000
    text = f"Sentence {query.id} names an organ: its air-holding part is marked, {ml:.0f} ml."
    return mask, [Step(kind="conclude", text=text)]


def _empty_mask(volume: Volume | None, chest: ChestCt | None) -> Bools | None:
    return np.zeros(chest.space.shape, bool) if volume is not None and chest is not None else None


def _slice_range(volume: Picture, chest: ChestCt, place: Bools) -> tuple[Slices, ...]:
    """The slices that hold a place, from the feet."""
    levels = np.flatnonzero(place.any(axis=(0, 1)))
    if not levels.size:
        return ()
    stored = count_slices(chest)
    levels += chest.corner[2]
    first = int(levels[0]) * chest.steps[2]
    last = min(stored, (int(levels[-1]) + 1) * chest.steps[2]) - 1
    return (Slices(picture=volume.name, axis="axial", first=first, last=last),)


def count_slices(chest: ChestCt) -> int:
    """How many axial slices the CT has."""
    axis = next(n for n, letter in enumerate(chest.space.axes) if letter in "SI")
    return int(chest.space.shape[axis])
