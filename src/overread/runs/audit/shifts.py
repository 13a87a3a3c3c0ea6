"""How far an answer shifted between two readings of the same case: 0 the same, 1 entirely
different.

What the answer is follows from the case: a choice of options, a mask for each sentence, an answer
in words, or a report. Where the second reading failed there is no answer any more, which counts as
1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from overread.core import Case, Finding, Mask, Reading, Volume
from overread.metrics.choice import normalise_answer

SAME_MASK_DICE = 0.5
"""Dice under which a mask is another one."""


class AnswerShift(NamedTuple):
    """How far one answer moved."""

    far: float
    """From 0 to 1."""
    moved: bool
    """Whether it is another answer."""
    words: float | None = None
    """Share of the words that changed, for answers in words."""


LOST = AnswerShift(1.0, moved=True)


def describe_rule(case: Case) -> str:
    """What is compared of the readings of a case, in words."""
    if case.options:
        return "choices: another letter; how far: total variation of the probabilities, or 1"
    if case.queries:
        return f"masks: Dice under {SAME_MASK_DICE:g}; how far: 1 − Dice"
    if case.asks == "answer":
        return "answers: other words; how far: 0 or 1"
    return "reports: other labels; how far: 1 − F1 of the labels"


def measure_shifts(
    case: Case,
    before: Reading,
    after: Reading,
    folders: tuple[Path, Path],
    shape: tuple[int, int, int] | None = None,
    *,
    blank: bool = False,
) -> dict[str, AnswerShift]:
    """Answer → how far it moved: one for each sentence that was marked, else one for the case.

    `folders` are the runs that hold the masks; `shape` is that of the CT. With `blank` sentences
    count too for which nothing was marked.
    """
    if case.queries:
        return _mask_shifts(before, after, folders, shape, blank=blank)
    if after.error is not None:
        return {"": LOST}
    if case.options or case.asks == "answer":
        return {"": _choice_shift(case, before, after)}
    return {"": report_shift(before.report or "", after.report or "", _labels_for(case))}


def same_words(before: Reading, after: Reading) -> bool:
    """Whether two readings say the same, word for word."""

    def answer_fields(reading: Reading) -> tuple[Any, ...]:
        findings = tuple(finding.text for finding in reading.findings or ())
        probabilities = tuple(sorted((reading.probabilities or {}).items()))
        return (
            reading.error,
            reading.choice,
            probabilities,
            reading.rationale,
            reading.report,
            reading.discussion,
            findings,
        )

    return answer_fields(before) == answer_fields(after)


# ---- choices and words ---------------------------------------------------------------------


def _choice_shift(case: Case, before: Reading, after: Reading) -> AnswerShift:
    one, two = before.choice or "", after.choice or ""
    if not case.options:
        changed = normalise_answer(one) != normalise_answer(two)
        return AnswerShift(float(changed), changed, word_difference(one, two))
    changed = one != two
    apart = total_variation(before.probabilities, after.probabilities)
    return AnswerShift(float(changed) if apart is None else apart, changed)


def total_variation(one: Mapping[str, float] | None, two: Mapping[str, float] | None) -> float | None:
    """Total variation of two sets of probabilities: the share that would have to move.

    >>> total_variation({"A": 0.5, "B": 0.5}, {"A": 1.0})
    0.5
    """
    if not one or not two or sum(one.values()) <= 0 or sum(two.values()) <= 0:
        return None
    first, second = sum(one.values()), sum(two.values())
    letters = one.keys() | two.keys()
    apart = sum(abs(one.get(a, 0.0) / first - two.get(a, 0.0) / second) for a in sorted(letters))
    return min(1.0, apart / 2)


def report_shift(before: str, after: str, labels: str = "chexpert") -> AnswerShift:
    """How far a report moved: by the labels of the two, as rules read them, and by their words.

    >>> move = report_shift("No effusion.", "Small left pleural effusion.")
    >>> move.far, move.moved
    (1.0, True)
    """
    one, two = _labels(before, labels), _labels(after, labels)
    shared = len(one & two)
    f1 = 2 * shared / (len(one) + len(two)) if one or two else 1.0
    return AnswerShift(1 - f1, one != two, word_difference(before, after))


@lru_cache(maxsize=4096)
def _labels(report: str, name: str) -> frozenset[str]:
    from overread.language.labels import compute_labels
    from overread.language.statements import find_statements

    marks = compute_labels(find_statements(report), name)
    return frozenset(label for label, mark in marks.items() if mark == 1)


def _labels_for(case: Case) -> str:
    return "ctrate" if any(isinstance(p, Volume) for p in case.pictures) else "chexpert"


def word_difference(one: str, two: str) -> float:
    """Share of the words of two texts that only one of them has; how often counts.

    >>> word_difference("a small nodule", "A large nodule.")
    0.33333333333333337
    """
    first, second = Counter(normalise_answer(one).split()), Counter(normalise_answer(two).split())
    total = first.total() + second.total()
    return 1 - 2 * (first & second).total() / total if total else 0.0


# ---- masks ---------------------------------------------------------------------------------


def _mask_shifts(
    before: Reading,
    after: Reading,
    folders: tuple[Path, Path],
    shape: tuple[int, int, int] | None,
    *,
    blank: bool,
) -> dict[str, AnswerShift]:
    found = {}
    later = _by_query(after)
    for query, finding in _by_query(before).items():
        mine = _voxels(finding, folders[0], shape)
        if not blank and not _has_voxels(mine):
            continue  # nothing was marked, so that nothing was cited
        if after.error is not None:
            found[query] = LOST
            continue
        theirs = _voxels(later[query], folders[1], shape) if query in later else None
        overlap = _dice(mine, theirs)
        found[query] = AnswerShift(1 - overlap, overlap < SAME_MASK_DICE)
    return found


def _by_query(reading: Reading) -> dict[str, Finding]:
    return {f.query: f for f in reading.findings or () if f.query is not None}


def _voxels(finding: Finding, folder: Path, shape: tuple[int, int, int] | None) -> Any:
    from overread.pixels.edits.altered_pictures import region_voxels

    whole = None
    for region in finding.regions:
        if isinstance(region, Mask) and shape is not None:
            marked = region_voxels(region, shape, folder)
            whole = marked if whole is None else whole | marked
    return whole


def _has_voxels(mask: Any) -> bool:
    return mask is not None and bool(mask.any())


def _dice(one: Any, two: Any) -> float:
    if not _has_voxels(one) or not _has_voxels(two):
        return float(_has_voxels(one) == _has_voxels(two))
    total = int(one.sum()) + int(two.sum())
    return 2 * int((one & two).sum()) / total
