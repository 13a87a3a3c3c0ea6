"""A case before any voxel: who comes with what, what may be chosen, what will be shown.

Everything that a reader gets to see besides pixels is here, and none of it depends on which of the
five diagnoses is the true one: that is drawn last, from a stream of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from overread.core import Option, Record
from overread.phantom.film.sign import View
from overread.phantom.population import FindingPlan

Turn = Literal["gone", "smaller", "same", "larger", "new"]
"""What became of a finding between two time points."""


class PictureSpec(Record):
    """One picture that the case is to show."""

    id: str
    """Its id in the release: the stem of its file, drawn by lot."""
    time: int = 0
    """Which time point, 0 the first."""
    view: View | None = None
    """The film; absent for a CT slice."""
    plane: Literal["axial", "coronal", "sagittal"] | None = None
    """Plane of the CT slice; absent for a film."""
    window: Literal["lung", "mediastinum", "bone"] | None = None
    """Window of the CT slice; absent for a film."""


@dataclass(frozen=True)
class Draft:
    """One case of one patient, as text and as a plan of what is to be drawn."""

    patient: int
    """Number of the patient."""
    age: int
    sex: Literal["female", "male"]
    group: str
    """Code of the presentation: what all five diagnoses are plausible for."""
    history: str
    options: tuple[Option, ...]
    """Five diagnoses with letters A to E, in the order of the letters."""
    pictures: tuple[PictureSpec, ...]
    """The pictures in the order they are shown; those of an earlier time come first."""
    interval: str | None
    """Time between the two time points in words ('six weeks'); absent with one time point."""
    answer: str
    """Letter of the true diagnosis."""
    disease: str
    """Code of the true diagnosis in the disease model."""
    plans: tuple[FindingPlan, ...]
    """What the illness looks like, and then what else the patient has by chance."""
    extrapulmonary: tuple[str, ...]
    """Findings beyond the lung: those of the illness, then those that the person has anyway."""
    turns: tuple[Turn, ...]
    """For each plan what became of it at the second time point; empty with one time point. A plan
    that is 'new' is not drawn at the first."""
    extrapulmonary_turns: tuple[Turn, ...]
    """The same for `beyond`: gone, same or new, and always the same for the body's build."""
    illness_plans: int = 0
    """How many of the plans, from the first on, belong to the illness."""
    illness_extrapulmonary: int = 0
    """How many of the findings beyond the lung, from the first on, belong to the illness."""

    @property
    def longitudinal(self) -> bool:
        """Whether the patient is shown at two time points."""
        return self.interval is not None
