"""What a finding is on a radiograph: seen, doubtful or hidden, and where."""

from __future__ import annotations

from typing import Literal

from overread.core import Record
from overread.phantom.statement import FindingStatement

View = Literal["PA", "AP supine", "lateral"]
"""How a film was taken; AP supine is the bedside film of a patient who lies on the back."""
FRONTAL: tuple[View, ...] = ("PA", "AP supine")

HEART_LIMIT: dict[View, float] = {"PA": 0.50, "AP supine": 0.55}
"""The cardiothoracic ratio above which a heart is called large; bedside films enlarge it."""

Visibility = Literal["seen", "doubtful", "hidden"]
"""Whether a finding stands out on the film: by the rule in `visibility`."""

FilmBox = tuple[int, int, int, int]
"""A box on the film: left, top, right, bottom in pixels, right and bottom not included."""


class Sign(Record):
    """One finding as a frontal film shows it; a report may say less, and never anything else."""

    key: str
    """'finding-0', as the scan numbers them, or 'beyond-cardiomegaly'."""
    statement: FindingStatement
    """What is true of it, as the voxels bear it out."""
    seen: Visibility
    """Whether it stands out."""
    strength: float
    """Grey levels that the film changes without it; what was measured, of the body's own build."""
    area_mm2: float = 0.0
    """How much of the film it changes that far."""
    zones: tuple[str, ...] = ()
    """Regions of the X-ray ontology that hold it ('right lower lung zone'), the fullest first."""
    boxes: tuple[FilmBox, ...] = ()
    """Its box, or one for each side; empty where it is hidden."""
    size_mm: int | None = None
    """Longest axis on the film, of one that one would measure (nodule, mass, cavity, cyst)."""


class FilmContents(Record):
    """A frontal film as data: its regions and all signs of the patient, hidden ones included."""

    view: View
    """How it was taken."""
    columns: int
    """Width of the film in pixels."""
    rows: int
    """Height of the film in pixels."""
    regions: dict[str, FilmBox]
    """Region of the ontology → its exact box."""
    signs: tuple[Sign, ...] = ()
    """Every finding of the patient, hidden ones too."""
    heart_ratio: float
    """Cardiothoracic ratio: the heart's widest extent over the inner width of the chest."""
