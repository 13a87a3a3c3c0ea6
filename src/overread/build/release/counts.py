"""How much there is in a release: cases, patients, pictures, findings, by split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from overread.core import Entry, Picture, Release, Volume
from overread.ontology import finding_tree

UNSTATED = "not stated"


@dataclass
class SplitCount:
    """What one split has."""

    cases: int = 0
    patients: set[str] = field(default_factory=set)
    nameless: int = 0
    """Cases that do not tell whose they are."""
    pictures: int = 0
    withheld: int = 0
    """Cases without their truth."""
    findings: int = 0
    categories: Counter[str] = field(default_factory=Counter)
    modalities: Counter[str] = field(default_factory=Counter)

    @property
    def is_withheld(self) -> bool:
        """Whether no case has its truth here."""
        return bool(self.cases) and self.withheld == self.cases

    def add(self, entry: Entry) -> None:
        """Count one case."""
        case, truth = entry.case, entry.truth
        self.cases += 1
        self.pictures += len(case.pictures)
        if case.patient is None:
            self.nameless += 1
        else:
            self.patients.add(case.patient)
        if truth is None:
            self.withheld += 1
        told = {note.picture: note.modality for note in truth.notes} if truth else {}
        for picture in case.pictures:
            self.modalities[told.get(picture.name) or _picture_kind(picture)] += 1
        if truth is not None:
            self.findings += len(truth.findings)
            self.categories.update(one.category for one in truth.findings if one.category)


def count_split(release: Release) -> SplitCount:
    """Count one split; no picture is opened."""
    found = SplitCount()
    for entry in release.entries():
        found.add(entry)
    return found


def format_counts(counts: dict[str, SplitCount]) -> list[tuple[str, dict[str, str]]]:
    """Rows of a table: what is counted, and split → how many ('–' where it is withheld)."""
    rows: list[tuple[str, dict[str, str]]] = []

    def row(name: str, count: Callable[[SplitCount], int | None]) -> None:
        values = {split: count(one) for split, one in counts.items()}
        rows.append((name, {split: "–" if v is None else f"{v:,}" for split, v in values.items()}))

    row("cases", lambda one: one.cases)
    row("patients", lambda one: None if one.nameless else len(one.patients))
    row("pictures", lambda one: one.pictures)
    for kind in sorted({kind for one in counts.values() for kind in one.modalities}):
        if kind != UNSTATED:
            row(f"pictures: {kind}", partial(_count_modality, kind=kind))
    row("findings", lambda one: None if one.is_withheld else one.findings)
    known = list(finding_tree().categories)
    met = {code for one in counts.values() for code in one.categories}
    for code in sorted(met, key=lambda one: (known.index(one) if one in known else 999, one)):
        name = f"{code} {finding_tree().categories[code].name}" if code in known else code
        row(f"findings: {name}", partial(_count_category, code=code))
    return rows


def _count_modality(one: SplitCount, kind: str) -> int | None:
    """Pictures of a modality; None where some of them may be, and the release does not tell."""
    return None if one.modalities[UNSTATED] and not one.modalities[kind] else one.modalities[kind]


def _count_category(one: SplitCount, code: str) -> int | None:
    return None if one.is_withheld else one.categories[code]


def _picture_kind(picture: Picture) -> str:
    """What can be told of a picture without the truth."""
    if isinstance(picture, Volume):
        return "CT (volume)"
    return "X-ray" if picture.name.startswith("xray") else UNSTATED
