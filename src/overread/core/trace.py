"""Findings, steps and readings: what was seen, thought and concluded, and where."""

from __future__ import annotations

from typing import Literal, TypeAlias

from overread.core.exchange import Exchange, Usage
from overread.core.record import Record
from overread.core.regions import Region


class Finding(Record):
    """One observation in words, with the places it was seen."""

    text: str
    """The observation, in the words of whoever made it."""
    regions: tuple[Region, ...] = ()
    """Where it was seen; empty when no place is known."""
    category: str | None = None
    """Code in the finding ontology ('2d'), when one was given."""
    query: str | None = None
    """The query of the case that this finding answers, when it answers one."""
    entities: int | None = None
    """How many separate lesions it is said to be, as the release states it."""
    voxels: int | None = None
    """How many voxels it is said to fill, as the release states it."""


ChainLevel: TypeAlias = Literal["scan", "pleura", "lung", "lobe", "segment", "lesion"]
"""How near its finding a link of a chain is; a structure smaller than a lobe counts as a segment."""


class ChainLink(Record):
    """What makes a step a link of an anatomical chain of thought: whole scan → … → lesion."""

    query: str
    """The query of the case that the chain leads to."""
    level: ChainLevel
    """How near the finding it is."""
    structures: tuple[str, ...] = ()
    """The structures that are looked at; the regions of the step bear the same names."""
    within: tuple[int, ...] | None = None
    """Places, within the same chain, of the links that it is reached from, where that is told."""


class Step(Record):
    """One move of a reader: words said, a look taken, a conclusion drawn."""

    kind: Literal["say", "look", "ask", "conclude"]
    """What sort of move it was."""
    text: str = ""
    """The words of the step, exactly as they were written."""
    regions: tuple[Region, ...] = ()
    """What the step looked at or spoke of."""
    crop: str | None = None
    """File of the cut-out that was shown at this look, relative to the release or run."""
    exchange: int | None = None
    """Which exchange of the reading it came from, counted from 0; absent where nobody was asked."""
    link: ChainLink | None = None
    """Where it stands in an anatomical chain of thought; absent where it is in none."""


class Trace(Record):
    """The steps of one reading, in order."""

    steps: tuple[Step, ...] = ()
    """The steps, first to last."""


class Reading(Record):
    """What one reader made of one case. Absent means not attempted."""

    case_id: str
    """The case that was read."""
    reader: str
    """Who read it."""
    choice: str | None = None
    """The chosen option's letter; where the question has no options, the answer in words."""
    order: tuple[str, ...] | None = None
    """The release's letters in the order they were shown in, where that was not its own."""
    probabilities: dict[str, float] | None = None
    """How likely each option is in the reader's eyes, by letter, where it tells."""
    rationale: str | None = None
    """Why the choice was made, in the reader's words."""
    findings: tuple[Finding, ...] | None = None
    """What was observed."""
    report: str | None = None
    """The report, or the integrated summary of several pictures."""
    discussion: str | None = None
    """The teaching discussion."""
    trace: Trace | None = None
    """How the reading went."""
    sample: int = 0
    """Which of several readings of the case by the same reader this is."""
    exchanges: tuple[Exchange, ...] = ()
    """Every question that was asked, and its answer."""
    usage: Usage | None = None
    """What the reading cost, all exchanges together."""
    error: str | None = None
    """Why there is no reading; a failed reading scores the worst value."""
