"""How far an answer moved between two readings of the same case: 0 not at all, 1 altogether.

What the answer is follows from the case: a choice of options, a mask for each sentence, an answer
in words, or a report. Where the second reading failed there is no answer any more: that is as far
as an answer can move.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from overread.core import Case, Finding, Mask, Reading, Volume
from overread.metrics.choice import plain

HALF = 0.5
"""Dice under which a mask is another one."""


class Move(NamedTuple):
    """How far one answer moved."""

    far: float
    """From 0 to 1."""
    moved: bool
    """Whether it is another answer."""
    words: float | None = None
    """Share of the words that changed, for answers in words."""


LOST = Move(1.0, moved=True)


def rule_of(case: Case) -> str:
    """What is compared of the readings of a case, in words."""
    if case.options:
        return "choices: another letter; how far: total variation of the probabilities, or 1"
    if case.queries:
        return f"masks: Dice under {HALF:g}; how far: 1 − Dice"
    if case.asks == "answer":
        return "answers: other words; how far: 0 or 1"
    return "reports: other labels; how far: 1 − F1 of the labels"


def moves(
    case: Case,
    before: Reading,
    after: Reading,
    folders: tuple[Path, Path],
    shape: tuple[int, int, int] | None = None,
    *,
    blank: bool = False,
) -> dict[str, Move]:
    """Answer → how far it moved: one for each sentence that was marked, else one for the case.

    `folders` are the runs that hold the masks; `shape` is that of the CT. With `blank` sentences
    count too for which nothing was marked.
    """
    if case.queries:
        return _mask_moves(before, after, folders, shape, blank=blank)
    if after.error is not None:
        return {"": LOST}
    if case.options or case.asks == "answer":
        return {"": _choice_move(case, before, after)}
    return {"": report_move(before.report or "", after.report or "", _labels_for(case))}


def same_words(before: Reading, after: Reading) -> bool:
    """Whether two readings say the same, word for word."""

    def said(reading: Reading) -> tuple[Any, ...]:
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

    return said(before) == said(after)


# ---- choices and words ---------------------------------------------------------------------


def _choice_move(case: Case, before: Reading, after: Reading) -> Move:
    one, two = before.choice or "", after.choice or ""
    if not case.options:
        changed = plain(one) != plain(two)
        return Move(float(changed), changed, words_apart(one, two))
    changed = one != two
    apart = variation(before.probabilities, after.probabilities)
    return Move(float(changed) if apart is None else apart, changed)


def variation(one: Mapping[str, float] | None, two: Mapping[str, float] | None) -> float | None:
    """Total variation of two sets of probabilities: the share that would have to move.

    >>> variation({"A": 0.5, "B": 0.5}, {"A": 1.0})
    0.5
    """
    if not one or not two or sum(one.values()) <= 0 or sum(two.values()) <= 0:
        return None
    first, second = sum(one.values()), sum(two.values())
    letters = one.keys() | two.keys()
    apart = sum(abs(one.get(a, 0.0) / first - two.get(a, 0.0) / second) for a in sorted(letters))
    return min(1.0, apart / 2)


def report_move(before: str, after: str, labels: str = "chexpert") -> Move:
    """How far a report moved: by the labels of the two, as rules read them, and by their words.

    >>> move = report_move("No effusion.", "Small left pleural effusion.")
    >>> move.far, move.moved
    (1.0, True)
    """
    one, two = _labels(before, labels), _labels(after, labels)
    shared = len(one & two)
    f1 = 2 * shared / (len(one) + len(two)) if one or two else 1.0
    return Move(1 - f1, one != two, words_apart(before, after))


@lru_cache(maxsize=4096)
def _labels(report: str, name: str) -> frozenset[str]:
    from overread.language.labels import labels
    from overread.language.statements import statements

    marks = labels(statements(report), name)
    return frozenset(label for label, mark in marks.items() if mark == 1)


def _labels_for(case: Case) -> str:
    return "ctrate" if any(isinstance(p, Volume) for p in case.pictures) else "chexpert"


def words_apart(one: str, two: str) -> float:
    """Share of the words of two texts that only one of them has; how often counts.

    >>> words_apart("a small nodule", "A large nodule.")
    0.33333333333333337
    """
    first, second = Counter(plain(one).split()), Counter(plain(two).split())
    total = first.total() + second.total()
    return 1 - 2 * (first & second).total() / total if total else 0.0


# ---- masks ---------------------------------------------------------------------------------


def _mask_moves(
    before: Reading,
    after: Reading,
    folders: tuple[Path, Path],
    shape: tuple[int, int, int] | None,
    *,
    blank: bool,
) -> dict[str, Move]:
    found = {}
    later = _by_query(after)
    for query, finding in _by_query(before).items():
        mine = _voxels(finding, folders[0], shape)
        if not blank and not _marks(mine):
            continue  # nothing was marked, so that nothing was cited
        if after.error is not None:
            found[query] = LOST
            continue
        theirs = _voxels(later[query], folders[1], shape) if query in later else None
        overlap = _dice(mine, theirs)
        found[query] = Move(1 - overlap, overlap < HALF)
    return found


def _by_query(reading: Reading) -> dict[str, Finding]:
    return {f.query: f for f in reading.findings or () if f.query is not None}


def _voxels(finding: Finding, folder: Path, shape: tuple[int, int, int] | None) -> Any:
    from overread.pixels.masks import read_channel

    whole = None
    for region in finding.regions:
        if isinstance(region, Mask) and shape is not None:
            labels = read_channel(
                folder / region.file, region.channel, shape, region.channels, name=region.file
            )
            marked = labels != 0 if region.entity is None else labels == region.entity
            whole = marked if whole is None else whole | marked
    return whole


def _marks(mask: Any) -> bool:
    return mask is not None and bool(mask.any())


def _dice(one: Any, two: Any) -> float:
    if not _marks(one) or not _marks(two):
        return float(_marks(one) == _marks(two))
    total = int(one.sum()) + int(two.sum())
    return 2 * int((one & two).sum()) / total
