"""Looks merged into major regions: their sentences, and the box around all that they look at."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from overread.build.item import Change, Dropped, Item, Kept, Outcome
from overread.build.mmrad.major import Corners, core_regions, in_order, union
from overread.build.mmrad.pairs import boxes_of
from overread.build.mmrad.tracing import Look, looks_of
from overread.build.step import Desk
from overread.core import Record
from overread.errors import UsageError
from overread.ontology import xray_regions

MOST_SENTENCES = 3
"""Sentences of one round; a major region of which more is said is looked at again."""
ORDERS = ("report", "list", "lot")
BOXES = ("looked", "told")
_SMALLEST = 8
"""Pixels of the shorter side of a crop; less shows nothing."""


class Round(Record):
    """One look at a major region, as the record tells it."""

    major: str
    """The major region."""
    regions: tuple[str, ...]
    """The regions whose boxes make its box."""
    box: Corners
    """Where it is, and what its crop shows."""
    sentences: tuple[str, ...]
    """What is said of it."""


async def merge(item: Item, desk: Desk) -> Outcome:
    """Put the looks of each major region together; its box is the union of their regions' boxes."""
    looks, boxes = looks_of(item), boxes_of(item)
    rounds = merged(
        looks,
        boxes,
        order=chosen(desk, "order", ORDERS),
        core=chosen(desk, "boxes", BOXES) == "looked",
        seed=f"{desk.seed}/{item.id}",
    )
    small = next(
        (r for r in rounds if min(r.box[2] - r.box[0], r.box[3] - r.box[1]) < _SMALLEST), None
    )
    if small is not None or not rounds:
        met = f"the box {list(small.box)} of the {small.major}" if small else "no look at all"
        return Dropped(reason="nothing-to-crop", why=f"{met} makes no crop of {_SMALLEST} pixels")
    kept = [one.model_dump(mode="json") for one in rounds]
    why = f"{len(looks)} looks became {len(rounds)} rounds over major regions"
    change = Change(what="rounds", before=len(looks), after=kept, why=why)
    return Kept(data={"rounds": kept}, changes=(change,))


def merged(
    looks: Sequence[Look],
    boxes: Mapping[str, Corners],
    *,
    order: str = "report",
    core: bool = True,
    seed: str = "0",
) -> list[Round]:
    """The rounds of a trace.

    `order` is that of the looks ('report'), of the list of regions ('list'), or drawn by lot. With
    `core` the box also holds the regions that whoever looks there looks at.
    """
    majors = list(dict.fromkeys(look.major for look in looks))
    if order == "list":
        majors = [one.name for one in xray_regions().groups if one.name in majors]
    elif order == "lot":
        majors.sort(key=lambda name: hashlib.sha256(f"{seed}/{name}".encode()).digest())
    rounds: list[Round] = []
    for major in majors:
        said: dict[str, set[str]] = {}
        for look in looks:
            for sentence in look.sentences if look.major == major else ():
                said.setdefault(sentence, set()).update(look.regions)
        texts = list(said)
        for first in range(0, len(texts), MOST_SENTENCES):
            some = texts[first : first + MOST_SENTENCES]
            names = in_order(
                {*(n for text in some for n in said[text]), *(core_regions(major) if core else ())}
            )
            box = union(boxes, names)
            if box is not None:
                rounds.append(Round(major=major, regions=names, box=box, sentences=tuple(some)))
    return rounds


def rounds_of(item: Item) -> list[Round]:
    """The rounds of an item that went through this step."""
    given = item.data["rounds"]
    assert isinstance(given, list)  # this step wrote it
    return [Round.model_validate(one) for one in given]


def chosen(desk: Desk, name: str, among: Sequence[str]) -> str:
    """A setting that is one of some words; the first of them where it is not set."""
    told = desk.settings.get(name) or among[0]
    if told not in among:
        raise UsageError(f"{name}={told} is no choice", remedy=f"use one of {', '.join(among)}")
    return told
