"""Which split a case goes to: all cases of a patient to the same one, whoever else is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from overread.build.item import Change, Item, Kept, Outcome
from overread.build.medthinkvqa.fields import patient_of
from overread.build.medthinkvqa.lots import lot
from overread.build.medthinkvqa.settings import share_of_test
from overread.build.step import Desk


def split_of(patient: str, share: float, seed: int) -> str:
    """The split of a patient: by a lot that hangs on his name and the seed alone.

    >>> split_of("p1", 0, 0), split_of("p1", 1, 0)
    ('train', 'test')
    """
    return "test" if lot(seed, patient, "split") < share else "train"


async def deal_splits(items: Sequence[Item], desk: Desk) -> Mapping[str, Outcome]:
    """Give each case the split of its patient; who comes later changes nobody else's."""
    share = share_of_test(desk)
    outcomes: dict[str, Outcome] = {}
    for item in items:
        split = split_of(patient_of(item), share, desk.seed)
        change = Change(what="split", after=split, why="by a lot of the patient's name")
        outcomes[item.id] = Kept(data={"split": split}, changes=(change,))
    return outcomes
