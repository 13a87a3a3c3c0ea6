"""What a copy of ReXGroundingCT holds: findings and entities by category and split, voxels, places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from overread.benchmarks.description.collecting import Part
from overread.benchmarks.description.reading import (
    Published,
    RowReader,
    count_of,
    describe_releases,
    total_of,
)
from overread.benchmarks.rexgroundingct.release import CT
from overread.core import ChainLevel, Entry, Finding, Progress, Release, Truth
from overread.core.description import Description
from overread.language.statements import find_statements
from overread.ontology import finding_tree, lung_anatomy

_FOCAL = ("focal", "not focal")
_FEW = 3
"""Entities a finding that train marks at most, by the paper's rule."""
_MANY = f"findings of more than {_FEW} entities"
_CHAINS = "anatomical_cot.json"
_LEVELS: tuple[str, ...] = get_args(ChainLevel)
_SIDES = ("right", "left", "both sides")


def _codes() -> list[str]:
    return list(finding_tree().categories)


def _category_name(code: str) -> str:
    known = finding_tree().categories.get(code)
    return f"{code} {known.name}" if known else code


def _places() -> list[str]:
    return [*_SIDES, *(lobe.name for lobe in lung_anatomy().lobes)]


_NO_CATEGORIES = "no row has categories; `overread read-text` names the category of a sentence"
_NO_ENTITIES = "no row has entity_counts"
_NO_VOXELS = "no row has pixels (voxels a finding)"
_NO_HEADERS = "the headers of the CTs were not read; --headers reads them"

PARTS = (
    Part("numbers", "findings", "Findings a CT", "CTs", "sentences of the scan that have a mask"),
    Part(
        "counts",
        "finding_category",
        "Findings by category",
        "findings",
        "category of the ontology",
        absent=_NO_CATEGORIES,
        order=_codes,
        name=_category_name,
    ),
    Part(
        "counts",
        "entity_category",
        "Entities by category",
        "entities",
        "entity_counts of the findings of the category",
        absent=_NO_ENTITIES,
        order=_codes,
        name=_category_name,
    ),
    Part(
        "counts",
        "finding_focal",
        "Focal findings",
        "findings",
        "whether the category is typically focal",
        absent=_NO_CATEGORIES,
        order=lambda: _FOCAL,
    ),
    Part(
        "counts",
        "entity_focal",
        "Entities of focal findings",
        "entities",
        "whether the category is typically focal",
        order=lambda: _FOCAL,
    ),
    Part(
        "numbers",
        "entities",
        "Entities a finding",
        "findings",
        "entity_counts of the row",
        absent=_NO_ENTITIES,
        order=_codes,
        name=_category_name,
    ),
    Part(
        "numbers",
        "voxels",
        "Voxels a finding",
        "findings",
        "pixels of the row",
        absent=_NO_VOXELS,
        order=_codes,
        name=_category_name,
    ),
    Part(
        "numbers",
        "millilitres",
        "Volume of a finding",
        "findings",
        "millilitres: pixels of the row times the voxel of the CT's header",
        absent=_NO_HEADERS,
        order=_codes,
        name=_category_name,
    ),
    Part(
        "counts",
        "protocol",
        "Annotation protocol",
        "CTs",
        "protocol of the row",
        absent="no row has a protocol",
    ),
    Part("numbers", "words", "Words of a finding", "findings", "the sentence, cut at white space"),
    Part(
        "counts",
        "place",
        "Places that findings name",
        "findings",
        "sides and lobes that overread's language rules find in the sentence; 'not stated' names none",
        several=True,
        order=_places,
    ),
    Part(
        "counts",
        "chain",
        "Anatomical chain of thought",
        "findings",
        f"deepest level of the finding's chain in {_CHAINS}; 'not stated' has no chain",
        absent=f"there is no {_CHAINS} that overread can read",
        order=lambda: _LEVELS,
    ),
    Part(
        "numbers",
        "spacing_across",
        "Voxel size across",
        "CTs",
        "mm along the first axis as stored; from the header",
        absent=_NO_HEADERS,
    ),
    Part(
        "numbers",
        "spacing_through",
        "Voxel size through",
        "CTs",
        "mm along the third axis as stored; from the header",
    ),
    Part("numbers", "slices", "Slices a CT", "CTs", "third number of the row's shape"),
)

_BASE = "ReXGroundingCT, abstract and data"
_MICCAI = "ReXGroundingCT, MICCAI 2026 challenge"
_SPLIT_NUMBERS = {
    "base": (_BASE, {"train": (2992, 7687), "val": (50, 115), "test": (100, 226), "all": (3142, 8028)}),
    "miccai": (_MICCAI, {"train": (2992, 7687), "val": (200, 381), "test": (300, 582)}),
}
_CATEGORY_NUMBERS = {
    "1a": (236, 3, 6),
    "1b": (282, 11, 11),
    "1c": (446, 17, 27),
    "1d": (194, 6, 9),
    "1e": (314, 11, 16),
    "1f": (150, 4, 4),
    "2a": (1120, 69, 113),
    "2b": (1367, 49, 89),
    "2c": (1507, 60, 87),
    "2d": (1743, 132, 190),
    "2e": (237, 11, 27),
    "2f": (16, 0, 0),
    "2g": (18, 1, 1),
    "2h": (57, 7, 2),
}


def published_numbers(form: str | None) -> list[Published]:
    """What was published of the base list of cases, or of the challenge's."""
    source, splits = _SPLIT_NUMBERS["miccai" if form == "miccai" else "base"]
    found = []
    for split, (cases, findings) in splits.items():
        found.append(Published("CTs", split, cases, source, total_of("CTs")))
        found.append(Published("findings", split, findings, source, total_of("findings")))
    if form != "miccai":
        found.append(Published("entities", "all", 16301, source, total_of("entities")))
        share = count_of("finding_focal", "focal", share=True)
        found.append(Published("share of focal findings", "all", 0.79, source, share))
        found.append(Published(_MANY, "train", 209, source, total_of(_MANY)))
    for code, numbers in _CATEGORY_NUMBERS.items():
        for split, number in zip(("train", "val", "test"), numbers, strict=True):
            if form == "miccai" or split == "train":  # train is the same in both
                find = count_of("finding_category", _category_name(code))
                found.append(Published(f"findings of {code}", split, number, _MICCAI, find))
    return found


def describe(
    releases: Sequence[Release],
    *,
    headers: bool = False,
    column: str | None = None,
    progress: Progress | None = None,
) -> Description:
    """Findings and entities by category and split, and what the rows tell beside."""
    return describe_releases(
        releases,
        _collect,
        PARTS,
        totals=("CTs", "findings", "entities", _MANY, "CTs whose truth is withheld"),
        headers=headers,
        column=column,
        progress=progress,
        published=published_numbers(releases[0].form),
    )


def _collect(entry: Entry, row: RowReader) -> None:
    case, found, truth = entry.case, row.found, entry.truth
    found.total("CTs")
    found.distinct("patients", case.patient)
    found.total("findings", len(case.queries))
    found.total("CTs whose truth is withheld", truth is None)
    found.number("findings", len(case.queries))
    scan = case.picture(CT)
    shape = getattr(scan, "shape", None)
    found.number("slices", shape[2] if shape else None)
    geometry = row.geometry(scan)
    millilitre = None
    if geometry is not None:
        across, other, through = geometry.spacing
        millilitre = across * other * through / 1000
        found.number("spacing_across", across)
        found.number("spacing_through", through)
    for query in case.queries:
        found.number("words", len(query.text.split()))
        found.word("place", *_named_places(query.text))
    if truth is None:
        return
    found.word("protocol", truth.protocol)
    deepest = _deepest_levels(truth)
    for query in case.queries:
        found.word("chain", deepest.get(query.id))
    for finding in truth.findings:
        _collect_finding(finding, row, millilitre)


def _collect_finding(finding: Finding, row: RowReader, millilitre: float | None) -> None:
    found, code = row.found, finding.category
    group = (code,) if code else ()
    known = finding_tree().categories.get(code) if code else None
    focal = None if known is None else _FOCAL[0] if known.focal else _FOCAL[1]
    found.word("finding_category", code)
    found.word("finding_focal", focal)
    if finding.entities is not None:
        found.total("entities", finding.entities)
        found.total(_MANY, finding.entities > _FEW)
        found.number("entities", finding.entities, *group)
        found.word("entity_category", code, times=finding.entities)
        found.word("entity_focal", focal, times=finding.entities)
    if finding.voxels is not None:
        found.number("voxels", finding.voxels, *group)
        if millilitre is not None:
            found.number("millilitres", finding.voxels * millilitre, *group)


def _named_places(sentence: str) -> list[str]:
    """Sides and lobes that a sentence names."""
    names = {lobe.code: lobe.name for lobe in lung_anatomy().lobes}
    found: list[str] = []
    for statement in find_statements(sentence):
        if statement.side is not None:
            found.append("both sides" if statement.side == "both" else statement.side)
        found += [names[code] for code in statement.lobes if code in names]
    return found


def _deepest_levels(truth: Truth) -> dict[str, str]:
    """Finding → the deepest level of its chain of thought."""
    levels: dict[str, set[str]] = {}
    for step in truth.trace.steps if truth.trace else ():
        if step.link is not None:
            levels.setdefault(step.link.query, set()).add(step.link.level)
    return {query: max(found, key=_LEVELS.index) for query, found in levels.items()}
