"""The regions of the chest radiograph that a statement lies in."""

from __future__ import annotations

from overread.language.segments import SIDES_OF
from overread.language.statements import Statement
from overread.ontology import lung_anatomy, xray_regions

# A zone is a third of a radiograph, a lobe is not: the middle lobe lies beside the heart, the upper
# lobe of the left lung reaches down into the middle with its lingula.
_ZONES = {"upper": "upper lung zone", "middle": "mid lung zone", "lower": "lower lung zone"}
_LINGULA = frozenset({"LS4", "LS5"})
_TOLD_ZONES = {"upper": "upper lung zone", "mid": "mid lung zone", "lower": "lower lung zone"}
_SPREADS = {"apical": "apical zone", "basal": "lower lung zone", "central": "hilar structures"}
_BY_OBSERVATION = {
    "pleural effusion": "costophrenic angle",
    "cardiomegaly": "cardiac silhouette",
    "chamber enlargement": "cardiac silhouette",
    "pericardial effusion": "cardiac silhouette",
    "pericardial thickening": "cardiac silhouette",
    "coronary calcification": "cardiac silhouette",
    "valvular calcification": "cardiac silhouette",
    "aneurysm": "aortic arch",
    "tortuous aorta": "aortic arch",
    "enlarged pulmonary artery": "mediastinum",
    "enlarged cardiomediastinal silhouette": "cardiac silhouette",
    "elevated hemidiaphragm": "hemidiaphragm",
    "flattened diaphragm": "hemidiaphragm",
    "diaphragm contour change": "hemidiaphragm",
    "blunted costophrenic angle": "costophrenic angle",
    "hilar enlargement": "hilar structures",
    "mediastinal shift": "mediastinum",
    "tracheal deviation": "trachea",
    "pneumomediastinum": "mediastinum",
    "endotracheal tube": "trachea",
    "tracheostomy tube": "trachea",
    "mediastinal widening": "mediastinum",
    "hiatal hernia": "mediastinum",
    "lymph node": "mediastinum",
    "calcified lymph node": "mediastinum",
    "spinal curvature": "spine",
}
_BY_PLACE = {
    "aorta": "aortic arch",
    "heart": "cardiac silhouette",
    "pericardium": "cardiac silhouette",
    "coronary": "cardiac silhouette",
    "valve": "cardiac silhouette",
    "esophagus": "mediastinum",
    "disc": "spine",
}
_ORGANS = {
    "liver": "right upper abdomen",
    "hepatic": "right upper abdomen",
    "gallbladder": "right upper abdomen",
    "gallstone": "right upper abdomen",
    "spleen": "left upper abdomen",
    "splenic": "left upper abdomen",
    "splenomegaly": "left upper abdomen",
    "renal": "upper abdomen",
    "adrenal": "upper abdomen",
}
_BY_REPORT_REGION = {"M": "mediastinum", "H": "cardiac silhouette", "A": "abdomen"}


def xray_regions_of(statement: Statement) -> tuple[str, ...]:
    """Names of the regions, in the order of the list; none where no region shows it.

    >>> from overread.language.statements import find_statements
    >>> (one,) = find_statements("Consolidation in the right lower lobe.")
    >>> xray_regions_of(one)
    ('right lower lung zone',)
    """
    known = xray_regions()
    found: set[str] = set()
    for words in _names(statement):
        found |= set(known.find(words))
    return tuple(name for name in known.names if name in found)


def _names(statement: Statement) -> list[str]:
    """What the regions are called; without a side where both are meant."""
    sides = SIDES_OF.get(statement.side or "", ())
    # What is named goes before what is usual: an effusion may stand in a fissure.
    named = [name for mark in statement.landmarks for name in _add_sides(mark, sides)]
    if statement.region == "L":
        named = _lung_zones(statement, sides) or named
    fixed = _BY_OBSERVATION.get(statement.observation)
    if named or fixed is not None:
        return named or _add_sides(str(fixed), sides)
    placed = [_BY_PLACE[place] for place in statement.places if place in _BY_PLACE]
    placed += [_ORGANS[word] for word in statement.observation.split() if word in _ORGANS]
    if not placed:
        placed = [_BY_REPORT_REGION.get(statement.region, "lung" * (statement.region == "L"))]
    return [name for place in placed if place for name in _add_sides(place, sides)]


def _lung_zones(statement: Statement, sides: tuple[str, ...]) -> list[str]:
    """Zones of the lungs: those of its lobes, those that are told, or an end of a lung."""
    zones = [name for code in statement.lobes for name in _lobe_zones(code, statement.segments)]
    zones += [f"{side} {_TOLD_ZONES[zone]}" for zone in statement.zones for side in sides]
    if zones:
        return zones
    # "Basal" of a lobe is a part of the lobe; of a lung, or of nothing, it is a zone.
    spots = [_SPREADS[word] for word in statement.spread if word in _SPREADS]
    return [name for spot in spots for name in _add_sides(spot, sides)]


def _lobe_zones(code: str, segments: tuple[str, ...]) -> list[str]:
    """The zones of a lobe; only those of its segments, where these are told."""
    lobe = lung_anatomy().by_code[code]
    own = {part.code for part in lobe.segments} & set(segments)
    level = lobe.name.split()[1]
    if code == "LUL" and own and own <= _LINGULA:
        level = "middle"
    if code in ("RUL", "LUL") and own and own <= {"RS1", "LS1+2"}:
        return [f"{lobe.side} apical zone", f"{lobe.side} upper lung zone"]
    return [f"{lobe.side} {_ZONES[level]}"]


def _add_sides(name: str, sides: tuple[str, ...]) -> list[str]:
    """The name on each side, or as it is; a region that exists once has no side."""
    if not sides or not xray_regions().find(f"{sides[0]} {name}"):
        return [name]
    return [f"{side} {name}" for side in sides]
