"""Breakdowns: which groups a case, or one finding of it, belongs to."""

from __future__ import annotations

from functools import cache

from overread.core import Entry
from overread.metrics.choice import length_ranks
from overread.ontology import finding_tree, modalities

_SIZES = ((1, 1, "1"), (2, 3, "2–3"), (4, 6, "4–6"), (7, 10, "7–10"))

BREAKDOWNS = {
    "modality": "cases with at least one picture of it: a case may be in several",
    "images": "how many pictures the case has",
    "longitudinal": "whether the pictures show more than one time",
    "icd chapter": "ICD-10 chapter of the diagnosis",
    "right option": "the letter of the right option",
    "longest option": "whether the longest option is the right one",
    "category": "code of the finding's category",
    "focal": "whether the finding's category is typically focal",
}


def find_groups(entry: Entry, unit: str) -> dict[str, tuple[str, ...]]:
    """Breakdown → the groups that this unit of a case is in; absent where nothing is known.

    >>> from overread.core import Case, Finding, Truth
    >>> case = Case(id="c", benchmark="rexgroundingct", split="test")
    >>> truth = Truth(findings=(Finding(text="A nodule.", query="0", category="2d"),))
    >>> find_groups(Entry(case=case, truth=truth), "0")
    {'category': ('2d',), 'focal': ('focal',)}
    """
    truth, case = entry.truth, entry.case
    if truth is None:
        return {}
    for finding in truth.findings:
        if unit and finding.query == unit:
            if finding.category is None:
                return {}
            known = finding_tree().categories.get(finding.category)
            groups: dict[str, tuple[str, ...]] = {"category": (finding.category,)}
            if known is not None:
                groups["focal"] = ("focal" if known.focal else "not focal",)
            return groups
    found: dict[str, tuple[str, ...]] = {}
    of_unit = [note for note in truth.notes if note.picture == unit] or truth.notes
    seen = {_modality(note.modality) for note in of_unit if note.modality}
    if seen:
        found["modality"] = tuple(sorted(seen))
    if case.pictures and case.options:
        found["images"] = (_size(len(case.pictures)),)
    if truth.longitudinal is not None:
        found["longitudinal"] = ("longitudinal" if truth.longitudinal else "one time",)
    if truth.icd_chapter:
        found["icd chapter"] = (truth.icd_chapter,)
    if truth.answer is not None and case.options:
        found["right option"] = (truth.answer,)
        longest = length_ranks(case.options).get(truth.answer) == 1
        found["longest option"] = ("is right" if longest else "is wrong",)
    return found


def _size(count: int) -> str:
    return next((name for low, high, name in _SIZES if low <= count <= high), "11 or more")


def _modality(text: str) -> str:
    """The ontology's name of a modality, or the release's own where it is not in it."""
    return _modality_names().get(text.casefold(), text)


@cache
def _modality_names() -> dict[str, str]:
    return {item.name.casefold(): item.name for item in modalities().items}
