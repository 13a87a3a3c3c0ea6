"""How far two readers of the QA agree on masks: Dice between the mask that each of them stands for.

Who accepts stands for the annotator's mask, who edits for the one handed in, who rejects for none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.build.adjudication.queue import Queue
from overread.build.adjudication.reads import PersonVerdict, person_key
from overread.build.item import Item, Question
from overread.build.ledger.last_run import load_last_context
from overread.build.ledger.queries import load_item_data
from overread.build.rexgroundingct.mask_qa import ACCEPT, EDIT, KIND, find_edits
from overread.build.rexgroundingct.mask_step import load_masks
from overread.build.rexgroundingct.masks import inspect_masks
from overread.build.rexgroundingct.scan_paths import scan_name, scan_path
from overread.build.rexgroundingct.tasks import targets_of
from overread.build.step import StepContext
from overread.errors import PictureError
from overread.metrics.masks.settings import MaskSettings
from overread.metrics.statistics.bootstrap import Interval, interval
from overread.metrics.statistics.interval_rule import Bounds
from overread.metrics.statistics.result import Result

Voxels = NDArray[np.bool_]


@dataclass(frozen=True)
class MaskAgreement(Result):
    """Dice between two readers, over findings that both read and neither rejected."""

    kind: str
    category: str | None
    """None for all categories together."""
    findings: int
    """Findings with a mask of each reader."""
    edited: int
    """Those of them that one of the readers edited, or both."""
    rejected: int
    """Findings that one of the readers rejected, or whose edited mask is missing: without a Dice."""
    dice: Interval
    """Mean over findings, with an interval over scans."""
    edited_dice: Interval
    """The same of those that somebody edited: the others are 1."""


@dataclass(frozen=True)
class _FindingDice:
    item: str
    category: str
    dice: float | None
    edited: bool


def measure_mask_agreement(folder: Path, *, draws: int = 1000, seed: int = 0, level: float = 0.95,
                           ) -> list[MaskAgreement]:  # fmt: skip
    """The agreement of a build's QA: of all findings, then by category; empty without two reads."""
    queue = Queue(folder)
    reads: dict[str, list[PersonVerdict]] = {}
    for given in queue.current_verdicts():
        if given.kind == KIND:
            reads.setdefault(given.question, []).append(given)
    twice = [(queue.questions[name], both[:2]) for name, both in reads.items() if len(both) > 1]
    context = load_last_context(folder) if twice else None
    if context is None:
        return []
    known = load_item_data(folder)
    found = [_finding_dice(question, both, known, context) for question, both in twice]
    categories = sorted({one.category for one in found})
    groups: list[tuple[str | None, list[_FindingDice]]] = [(None, found)]
    groups += [(code, [one for one in found if one.category == code]) for code in categories]
    return [_measure(code, own, draws=draws, seed=seed, level=level) for code, own in groups]


def _measure(
    category: str | None, own: Sequence[_FindingDice], *, draws: int, seed: int, level: float
) -> MaskAgreement:
    measured = [one for one in own if one.dice is not None]
    edited = [one for one in measured if one.edited]

    def mean(rows: Sequence[_FindingDice]) -> Interval:
        return interval(
            lambda sample: sample.ratio("dice", "findings"),
            [{"dice": one.dice, "findings": 1} for one in rows],
            [one.item for one in rows],
            draws=draws,
            seed=seed,
            level=level,
            bounds=Bounds(0.0, 1.0),
        )

    return MaskAgreement(
        kind=KIND,
        category=category,
        findings=len(measured),
        edited=len(edited),
        rejected=len(own) - len(measured),
        dice=mean(measured),
        edited_dice=mean(edited),
    )


def _finding_dice(
    question: Question, reads: Sequence[PersonVerdict], known: dict[str, Any], context: StepContext
) -> _FindingDice:
    item = Item.model_validate({"id": question.item, "data": known[question.item]})
    key = question.id.removeprefix(f"{question.item}/").split("/")[1]
    masks = [_mask_of(read, item, key, context) for read in reads]
    first, second = masks
    dice = None
    if first is not None and second is not None:
        both = int(np.count_nonzero(first & second))
        dice = MaskSettings().dice(both, int(first.sum()), int(second.sum()))
    edited = any(read.verdict == EDIT for read in reads)
    return _FindingDice(question.item, str(question.shown.get("category")), dice, edited)


def _mask_of(read: PersonVerdict, item: Item, key: str, context: StepContext) -> Voxels | None:
    """The voxels that a reader stands for; None where the reader has no mask of it."""
    scan = scan_path(context, scan_name(item))
    try:
        if read.verdict == ACCEPT:
            plain = item.model_copy(update={"data": {**item.data, "edited": {}}})
            masks = load_masks(plain, context, (key,))
            return None if masks is None or masks.problems else masks.labels(key) != 0
        own = {person_key(name): path for name, path in find_edits(item, context, key).items()}
        path = own.get(person_key(read.person)) if read.verdict == EDIT else None
        if path is None or scan is None:
            return None
        handed = inspect_masks(path.parent, scan, tuple(targets_of(item)), (key,))
        return None if handed.problems else handed.labels(key) != 0
    except PictureError:
        return None
