"""The note for a model that gave no usable answer."""

from __future__ import annotations

from overread.build.item import Change
from overread.build.step import StepContext


def missing_answer(context: StepContext, what: str, role: str = "reader") -> Change:
    """A change that says that no reply was usable and rules decided alone."""
    return Change(
        what=what,
        by=context.name(role),
        why="no answer was good after all repairs; what stands was decided without it",
    )
