"""Which split a case goes to: all cases of a patient to the same one, whoever else is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from overread.build.item import Change, Item, Keep, StepResult
from overread.build.medthinkvqa.fields import patient_of
from overread.build.medthinkvqa.seeded import seeded_share
from overread.build.medthinkvqa.settings import test_share
from overread.build.step import StepContext


def split_of(patient: str, share: float, seed: int) -> str:
    """The split of a patient: by a lot that hangs on his name and the seed alone.

    >>> split_of("p1", 0, 0), split_of("p1", 1, 0)
    ('train', 'test')
    """
    return "test" if seeded_share(seed, patient, "split") < share else "train"


async def assign_splits(items: Sequence[Item], context: StepContext) -> Mapping[str, StepResult]:
    """Give each case the split of its patient; adding patients moves no other one."""
    share = test_share(context)
    outcomes: dict[str, StepResult] = {}
    for item in items:
        split = split_of(patient_of(item), share, context.seed)
        change = Change(what="split", after=split, why="by a lot of the patient's name")
        outcomes[item.id] = Keep(data={"split": split}, changes=(change,))
    return outcomes
