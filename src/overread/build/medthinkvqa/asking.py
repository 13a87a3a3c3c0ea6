"""What is noted where a model was asked and gave no answer that could be used."""

from __future__ import annotations

from overread.build.item import Change
from overread.build.step import Desk


def no_answer(desk: Desk, what: str, role: str = "reader") -> Change:
    """A change that says so: the attempts are in the ledger, and rules decided alone."""
    return Change(
        what=what,
        by=desk.name(role),
        why="no answer was good after all repairs; what stands was decided without it",
    )
