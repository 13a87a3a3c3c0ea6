"""Splits by patient, and the release: records, films and crops through the benchmark's writer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from overread.benchmarks import write
from overread.benchmarks.memory_release import MemoryRelease
from overread.benchmarks.mmrad.release import SPLITS, read_trace
from overread.benchmarks.row_fields import RowFields
from overread.build.item import Change, Item, Keep, StepResult
from overread.build.mmrad.interleaved_row import crop_files, image_file
from overread.build.mmrad.rounds import rounds_of
from overread.build.step import StepContext
from overread.core import Box, Entry
from overread.core.seeded import draw_split, hash_share
from overread.errors import OverreadError, UsageError
from overread.storage.fence import Fence

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

QUALITY = 92
"""Of the crops' JPEGs."""


async def assign_splits(items: Sequence[Item], context: StepContext) -> Mapping[str, StepResult]:
    """Give each patient a split: the one that the source gives, else one that the id draws.

    What is drawn hangs on seed and patient alone, so that more films move nobody.
    """
    shares = parse_shares(context.settings.get("split") or "70/10/20")
    given: dict[str, set[str]] = {}
    for item in items:
        told = item.data.get("split")
        if isinstance(told, str):
            given.setdefault(_patient_of(item), set()).add(told)
    found: dict[str, StepResult] = {}
    for item in items:
        own, before = given.get(_patient_of(item), set()), item.data.get("split")
        if len(own) == 1:
            split, why = next(iter(own)), "as the source has it"
        else:
            lot = hash_share(context.seed, _patient_of(item))
            split = draw_split(lot, dict(zip(SPLITS, shares, strict=True)))
            why = "the source has the patient in two splits" if own else "drawn by the patient's id"
        change = Change(what="split", before=before, after=split, why=why)
        changes = (change,) if before != split else ()
        found[item.id] = Keep(data={"split": split}, changes=changes)
    return found


def parse_shares(told: str) -> tuple[float, ...]:
    """Shares of train, val and test from '70/10/20'.

    >>> parse_shares("8/1/1")
    (0.8, 0.1, 0.1)
    """
    try:
        numbers = [float(part) for part in told.split("/")]
    except ValueError:
        numbers = []
    whole = sum(numbers)
    if len(numbers) != len(SPLITS) or min(numbers) < 0 or not 0 < whole < 1e9:
        raise UsageError(f"split={told} are no three shares", remedy="give --setting split=70/10/20")
    return tuple(number / whole for number in numbers)


def write_release(items: Sequence[Item], out: Path, context: StepContext) -> Sequence[Change]:
    """Write the records of every split with their films and crops."""
    fence = Fence(context.source)
    by_folder = {item.id: item for item in items}

    @lru_cache(maxsize=4)
    def pixels(image: str) -> NDArray[np.uint8]:
        from overread.pixels.draw import to_eight_bit
        from overread.pixels.image_files import read_image

        # The whole film at once: each crop by itself would be stretched to greys of its own.
        return to_eight_bit(read_image(fence.path(image), name=image))

    def find(file: str) -> Path | bytes:
        from overread.pixels.draw import crop
        from overread.pixels.encode import encode

        item = by_folder[file.split("/")[1]]
        image = str(item.data["image"])
        if file == image_file(item.id, image):
            return fence.path(image)
        rounds = rounds_of(item)
        x1, y1, x2, y2 = rounds[crop_files(item.id, len(rounds)).index(file)].box
        box = Box(picture="xray", x1=x1, y1=y1, x2=x2, y2=y2)
        return encode(crop(pixels(image), box), kind="jpeg", quality=QUALITY)

    changes: list[Change] = []
    for split in SPLITS:
        some = [item for item in items if item.data["split"] == split]
        if not some:
            continue
        entries = [_make_entry(item, split, place) for place, item in enumerate(some, 1)]
        write(MemoryRelease("mmrad", split, entries, find, count=len(entries)), out)
        changes.append(Change(what=f"{split}.jsonl", after=len(entries), why="records written"))
    return changes


def _make_entry(item: Item, split: str, place: int) -> Entry:
    row = item.data["record"]
    assert isinstance(row, dict)  # the step `record` wrote it
    entry = read_trace(RowFields(dict(row), file=split, number=place), split=split, place=place)
    if entry is None:
        raise OverreadError(f"the record of {item.id} cannot be read back")
    return entry


def _patient_of(item: Item) -> str:
    """Whose film it is; a film of nobody known is a patient of its own."""
    return item.patient or f"film {item.id}"
