"""Statements as the labels of others: CT-RATE's 18, CheXpert's 14, ReXGroundingCT's categories."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from overread.catalog import unknown_name
from overread.language.main_statement import find_main_statement
from overread.language.statements import THERE, Statement
from overread.language.vocabulary import vocabulary
from overread.ontology import finding_tree

CTRATE = (
    "Medical material", "Arterial wall calcification", "Cardiomegaly", "Pericardial effusion",
    "Coronary artery wall calcification", "Hiatal hernia", "Lymphadenopathy", "Emphysema",
    "Atelectasis", "Lung nodule", "Lung opacity", "Pulmonary fibrotic sequela",
    "Pleural effusion", "Mosaic attenuation pattern", "Peribronchial thickening",
    "Consolidation", "Bronchiectasis", "Interlobular septal thickening",
)  # fmt: skip
CHEXPERT = (
    "No Finding", "Enlarged Cardiomediastinum", "Cardiomegaly", "Lung Opacity", "Lung Lesion",
    "Edema", "Consolidation", "Pneumonia", "Atelectasis", "Pneumothorax", "Pleural Effusion",
    "Pleural Other", "Fracture", "Support Devices",
)  # fmt: skip

UNSPECIFIC = "lung opacity"
"""The observation that is no more than a change of density."""
SPECIFIC = frozenset(
    {"fibrotic sequela", "consolidation", "centrilobular opacities", "reticulation", "interstitial disease"}
)
"""What such a change is called where its sentence says what it is."""


def ctrate_labels(found: Iterable[Statement]) -> dict[str, int]:
    """CT-RATE's 18 abnormality labels.

    They are read as they were given: 'Lung opacity' is ground glass, and any density that is not
    called something else (one "consistent with consolidation" is a consolidation only); 'Lung
    nodule' leaves masses out; 'Lymphadenopathy' is any lymph node worth a word, calcified ones too;
    'Peribronchial thickening' is not that of the bronchial wall.

    >>> from overread.language.statements import find_statements
    >>> report = "A 5 mm nodule in the right upper lobe. No pleural effusion."
    >>> marks = ctrate_labels(find_statements(report))
    >>> [label for label, mark in marks.items() if mark]
    ['Lung nodule']
    """
    there = [statement for statement in found if statement.presence in THERE]
    named = {statement.sentence.start for statement in there if statement.observation in SPECIFIC}
    known = vocabulary().observations
    given = {
        label
        for statement in there
        if statement.observation != UNSPECIFIC or statement.sentence.start not in named
        for label in known[statement.observation].ctrate
    }
    return {label: int(label in given) for label in CTRATE}


def chexpert_labels(found: Iterable[Statement]) -> dict[str, int]:
    """CheXpert's 14 observations; 'No Finding' where none of the others but devices is there."""
    known = vocabulary().observations
    there = {
        label
        for statement in found
        if statement.presence in THERE
        for label in known[statement.observation].chexpert
    }
    marks = {label: int(label in there) for label in CHEXPERT}
    marks["No Finding"] = int(not there - {"Support Devices"})
    return marks


def rexgroundingct_labels(found: Iterable[Statement]) -> dict[str, int]:
    """ReXGroundingCT's categories, all of its ontology."""
    there = {statement.category for statement in found if statement.presence in THERE}
    return {code: int(code in there) for code in finding_tree().categories}


LABELS: dict[str, Callable[[Iterable[Statement]], dict[str, int]]] = {
    "ctrate": ctrate_labels,
    "chexpert": chexpert_labels,
    "rexgroundingct": rexgroundingct_labels,
}


def compute_labels(found: Iterable[Statement], name: str) -> dict[str, int]:
    """The labels of a set, by its name."""
    if name not in LABELS:
        raise unknown_name("label set", name, LABELS)
    return LABELS[name](found)


def main_category(found: Iterable[Statement]) -> str | None:
    """The category of one finding's sentence: that of the statement it is about."""
    main = find_main_statement(found)
    return main.category if main is not None else None
