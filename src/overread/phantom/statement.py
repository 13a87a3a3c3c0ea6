"""What is said of a finding before it is put into words: every claim that a sentence may make."""

from __future__ import annotations

from typing import Literal

from overread.core import Record

Side = Literal["right", "left", "both"]
Severity = Literal["mild", "moderate", "severe"]

KINDS: dict[str, tuple[str, ...]] = {
    "1a": ("wall thickening",),
    "1b": ("cylindrical", "varicose", "cystic"),
    "1c": ("centrilobular", "paraseptal", "bullous"),
    "1d": ("interlobular", "reticulation"),
    "1e": ("centrilobular", "tree-in-bud", "perilymphatic"),
    "1f": ("mosaic attenuation", "mucus plugging"),
    "2a": ("band", "scar"),
    "2b": ("consolidation", "atelectasis"),
    "2c": ("ground-glass", "crazy-paving"),
    "2d": ("solid", "part-solid", "calcified", "spiculated", "mass"),
    "2e": ("effusion", "thickening"),
    "2f": ("honeycombing",),
    "2g": ("pneumothorax",),
    "2h": ("cavity", "air cyst", "fluid cyst"),
}
"""Lung and pleura: the fourteen categories that have masks, and what each looks like."""

PLEURAL = ("2e", "2g")
"""Categories of the pleura; the others are of the lung."""

EXTRAPULMONARY: dict[str, str] = {
    "cardiomegaly": "8d",
    "pericardial effusion": "8f",
    "coronary calcification": "8a",
    "aortic calcification": "8a",
    "aortic ectasia": "8b",
    "lymph nodes": "3a",
    "hiatal hernia": "6a",
    "rib fracture": "4a",
    "osteophytes": "4b",
    "steatosis": "9e",
}
"""Beyond the lung: in the report, without a mask."""


SPREADS = ("subpleural", "peripheral", "central", "apical", "basal", "dependent", "anterior")
"""Where within a lung, a lobe or a pleural space something lies."""

TRAITS = ("lobulated", "smooth", "air bronchograms", "calcified", "thick-walled", "thin-walled")
"""What a kind may have besides."""


class FindingStatement(Record):
    """One finding as the voxels bear it out: a sentence may say less, and never anything else."""

    category: str
    """Code in the finding ontology ('2d')."""
    kind: str
    """What it looks like, of `KINDS` or `EXTRAPULMONARY`."""
    side: Side | None = None
    """Which lung or half of the chest holds it; absent where there is no side."""
    lobes: tuple[str, ...] = ()
    """Codes of the lobes that hold it; empty for the pleura and beyond the lung."""
    segments: tuple[str, ...] = ()
    """Codes of the segments that hold it, where these are few enough to be named."""
    size_mm: int | None = None
    """Longest axis of the largest entity, where it is a size that one would give."""
    count: int = 1
    """How many entities it is."""
    countable: bool = False
    """Whether its entities are things that one would count: nodules, not patches."""
    severity: Severity | None = None
    """How much of it there is."""
    spread: tuple[str, ...] = ()
    """Where within its place, of SPREADS."""
    traits: tuple[str, ...] = ()
    """What else is seen of it, of TRAITS."""
