"""Looks merged into major regions: their sentences, and the box around all that they look at."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from overread.build.item import Change, Drop, Item, Keep, StepResult
from overread.build.mmrad.major_regions import Corners, core_regions, sort_regions, union_box
from overread.build.mmrad.pairs import boxes_of
from overread.build.mmrad.trace_looks import RegionLook, looks_of
from overread.build.step import StepContext
from overread.core import Record
from overread.errors import UsageError
from overread.ontology import xray_regions

MAX_SENTENCES = 3
"""Sentences of one round; a major region of which more is said is looked at again."""
ORDERS = ("report", "list", "lot")
BOXES = ("looked", "told")
_MIN_CROP = 8
"""Pixels of the shorter side of a crop; less shows nothing."""


class RegionRound(Record):
    """One look at a major region, as the record tells it."""

    major: str
    """The major region."""
    regions: tuple[str, ...]
    """The regions whose boxes make its box."""
    box: Corners
    """Where it is, and what its crop shows."""
    sentences: tuple[str, ...]
    """What is said of it."""


async def merge_looks(item: Item, context: StepContext) -> StepResult:
    """Put the looks of each major region together; its box is the union of their regions' boxes."""
    looks, boxes = looks_of(item), boxes_of(item)
    rounds = make_rounds(
        looks,
        boxes,
        order=read_choice(context, "order", ORDERS),
        core=read_choice(context, "boxes", BOXES) == "looked",
        seed=f"{context.seed}/{item.id}",
    )
    small = next((r for r in rounds if min(r.box[2] - r.box[0], r.box[3] - r.box[1]) < _MIN_CROP), None)
    if small is not None or not rounds:
        met = f"the box {list(small.box)} of the {small.major}" if small else "no look at all"
        return Drop(reason="nothing-to-crop", why=f"{met} makes no crop of {_MIN_CROP} pixels")
    kept = [one.model_dump(mode="json") for one in rounds]
    why = f"{len(looks)} looks became {len(rounds)} rounds over major regions"
    change = Change(what="rounds", before=len(looks), after=kept, why=why)
    return Keep(data={"rounds": kept}, changes=(change,))


def make_rounds(
    looks: Sequence[RegionLook],
    boxes: Mapping[str, Corners],
    *,
    order: str = "report",
    core: bool = True,
    seed: str = "0",
) -> list[RegionRound]:
    """The rounds of a trace.

    `order` is that of the looks ('report'), of the list of regions ('list'), or drawn by lot. With
    `core` the box also holds the regions that whoever looks there looks at.
    """
    majors = list(dict.fromkeys(look.major for look in looks))
    if order == "list":
        majors = [one.name for one in xray_regions().groups if one.name in majors]
    elif order == "lot":
        majors.sort(key=lambda name: hashlib.sha256(f"{seed}/{name}".encode()).digest())
    rounds: list[RegionRound] = []
    for major in majors:
        said: dict[str, set[str]] = {}
        for look in looks:
            for sentence in look.sentences if look.major == major else ():
                said.setdefault(sentence, set()).update(look.regions)
        texts = list(said)
        for first in range(0, len(texts), MAX_SENTENCES):
            some = texts[first : first + MAX_SENTENCES]
            names = sort_regions(
                {*(n for text in some for n in said[text]), *(core_regions(major) if core else ())}
            )
            box = union_box(boxes, names)
            if box is not None:
                rounds.append(RegionRound(major=major, regions=names, box=box, sentences=tuple(some)))
    return rounds


def rounds_of(item: Item) -> list[RegionRound]:
    """The rounds of an item that went through this step."""
    given = item.data["rounds"]
    assert isinstance(given, list)  # this step wrote it
    return [RegionRound.model_validate(one) for one in given]


def read_choice(context: StepContext, name: str, among: Sequence[str]) -> str:
    """A setting that is one of some words; the first of them where it is not set."""
    told = context.settings.get(name) or among[0]
    if told not in among:
        raise UsageError(f"{name}={told} is no choice", remedy=f"use one of {', '.join(among)}")
    return told
