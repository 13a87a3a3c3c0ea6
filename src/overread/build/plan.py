"""The settings of a build, and its result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from overread import catalog
from overread.build.decision_keys import declares_role, own_role
from overread.build.item import Item
from overread.build.ledger.store import LedgerEntry
from overread.build.reader_pool import PriceOf, RoleSpec
from overread.build.step import AUDITOR, READER, BatchStep, ItemStep, Recipe
from overread.core import Defect
from overread.errors import UsageError
from overread.runs.tally import Tally
from overread.session import SessionSettings

_COMMON_ROLES = (READER, AUDITOR)
"""Roles that may be filled though a recipe has no use for them: the same command serves them all."""
RELEASE = "release"
"""What the last part of every build is called, where steps are chosen by name."""


@dataclass(frozen=True)
class BuildPlan:
    """All settings of one build."""

    recipe: str | Recipe
    """Catalog name, or a recipe itself."""
    source: Path
    """Folder or file of the source."""
    readers: Mapping[str, RoleSpec] = field(default_factory=dict)
    """Role → who has it: 'reader', 'auditor', 'probe-1', 'probe-2' …; none for rules alone.

    The name of a step stands for the reader in that step alone.
    """
    settings: Mapping[str, str] = field(default_factory=dict)
    """Of the recipe, where they differ from its defaults."""
    seed: int = 0
    """Of everything that is drawn by lot."""
    limit: int | None = None
    """Only the first so many items of the source."""
    preview: int | None = None
    """Only try the steps on the first so many items: no release, and the build stays as it is."""
    steps: tuple[str, ...] = ()
    """Only these steps; what the others do is taken from the ledger. Empty for all."""
    begin: str | None = None
    """Do this step and those behind it anew, whatever the ledger holds."""
    concurrency: int = 16
    """Most items at once, and most questions asked of one endpoint."""
    session: SessionSettings = field(default_factory=lambda: SessionSettings(repairs=2))
    """How pictures are shown and questions asked: own prompts, repairs."""
    prices: PriceOf = None
    """Prices, or what gives them for a model's name."""
    max_retries: int = 5
    """How often a question is asked again that a reader could not answer for now."""
    max_wait: float | None = 600.0
    """Most seconds that one question waits before it is asked again, all its pauses together."""
    give_up: int | None = None
    """Items in a row that an endpoint may fail before the build stops; None for the rule, 0 for any."""
    retry_failed: bool = False
    """Whether steps that failed before are tried again."""

    def find_recipe(self) -> Recipe:
        """The recipe; refuses steps, settings and numbers that it does not have."""
        recipe = self.recipe
        if isinstance(recipe, str):
            recipe = cast(Recipe, catalog.find("recipes", recipe))
        names = [step.name for step in recipe.steps]
        twice = [name for name, count in Counter((*names, RELEASE)).items() if count > 1]
        if twice:
            raise UsageError(f"the recipe '{recipe.name}' has two steps called '{twice[0]}'")
        for name in (*self.steps, *((self.begin,) if self.begin else ())):
            if name not in (*names, RELEASE):
                raise catalog.unknown_name(f"step of {recipe.name}", name, (*names, RELEASE))
        own = [step.name for step in recipe.steps if own_role(step) is not None]
        for name in self.readers:
            if name not in own and not any(declares_role(step, name) for step in recipe.steps):
                if name in names:
                    told = f"the step '{name}' of {recipe.name} asks no reader"
                    raise UsageError(told, remedy=f"steps that ask one: {', '.join(own)}")
                if name not in _COMMON_ROLES and not name.startswith("probe-"):
                    raise catalog.unknown_name(f"step of {recipe.name}", name, own)
        for name in self.settings:
            if name not in recipe.settings:
                raise catalog.unknown_name(f"setting of {recipe.name}", name, recipe.settings)
        for name in ("limit", "preview", "concurrency"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"{name} is {value}", remedy="it is 1 or more")
        return recipe


@dataclass
class StepCount:
    """What became of the items that came to one step."""

    name: str
    came: int = 0
    """Items that came to it."""
    kept: int = 0
    """Items that went on."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Reason → items that ended here."""
    waiting: int = 0
    """Items that wait for people."""
    failed: Counter[str] = field(default_factory=Counter)
    """Kind of failure → items that it met."""
    known: int = 0
    """Items whose decision was in the ledger already."""
    undone: int = 0
    """Items without a result: this step or an earlier one was left out, or would ask a model."""
    asking: int = 0
    """Items for which a model would be asked; of a dry run."""
    calls: int = 0
    """Questions that these would take at least; of a dry run."""
    tokens: int = 0
    """Tokens that these would be to read, by the rule of `overread run --dry-run`."""

    def count(self, entry: LedgerEntry) -> None:
        """Count one decision."""
        if entry.outcome == "kept":
            self.kept += 1
        elif entry.outcome == "waiting":
            self.waiting += 1
        else:
            (self.dropped if entry.outcome == "dropped" else self.failed)[entry.reason] += 1


@dataclass
class ItemPreview:
    """What a preview made of one item."""

    source: Item
    """As it came."""
    entries: list[LedgerEntry] = field(default_factory=list)
    """What each step decided."""


@dataclass
class BuildOutcome:
    """What became of a build."""

    folder: Path
    recipe: str
    tally: Tally
    """How far it came; a reading is a decision on an item in a step."""
    steps: list[StepCount] = field(default_factory=list)
    """What became of the items, step by step."""
    items: list[Item] = field(default_factory=list)
    """What is left at the end, in the order of the source."""
    defects: list[Defect] = field(default_factory=list)
    """What is wrong with the source."""
    release: Path | None = None
    """The release, where one stands."""
    written: bool = False
    """Whether it was written now; False where it was there already."""
    problem: str | None = None
    """Why there is no release, where there should be one."""
    previews: list[ItemPreview] = field(default_factory=list)
    """What a preview showed."""
    stopped: int | None = None
    """The signal that stopped it."""
    dry: bool = False
    """Whether nothing was asked and nothing written."""
    cost: float | None = None
    """Of a dry run: what reading the questions would cost at least."""

    @property
    def complete(self) -> bool:
        """Whether every item ended as released, dropped, waiting or failed."""
        return self.stopped is None and not any(step.undone for step in self.steps)

    @property
    def waiting(self) -> int:
        """Items that wait for people."""
        return sum(step.waiting for step in self.steps)

    @property
    def failed(self) -> int:
        """Items that a step failed on."""
        return sum(step.failed.total() for step in self.steps)


def group_steps(steps: Iterable[ItemStep | BatchStep]) -> list[list[ItemStep] | BatchStep]:
    """Group the steps between two batch steps: an item can pass such a group on its own."""
    found: list[list[ItemStep] | BatchStep] = []
    for step in steps:
        if isinstance(step, BatchStep):
            found.append(step)
        elif found and isinstance(found[-1], list):
            found[-1].append(step)
        else:
            found.append([step])
    return found
