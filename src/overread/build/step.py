"""What a recipe is made of: steps over single items, and steps over all of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from pydantic import JsonValue

from overread.build.item import Change, Data, Item, StepResult
from overread.core import Defect
from overread.errors import BadReply
from overread.prompts.replies import ReplyParser

T = TypeVar("T")

READER, AUDITOR = "reader", "auditor"
"""The roles of who reads and writes, and of who checks that; a step may have its own reader."""


class StepContext(Protocol):
    """What a step may use: models, prompts, verdicts of people, the source's folder."""

    source: Path
    """Folder of the source; pictures are named relative to it."""
    folder: Path
    """Folder of the build: what a step hands out to people, or gets back, lies under it."""
    settings: Mapping[str, str]
    """Of the recipe, as `--setting k=v` gives them."""
    seed: int
    """Of everything that is drawn by lot."""

    def has(self, role: str = "reader") -> bool:
        """Whether there is a model for this role: 'reader', 'auditor', 'probe-1' …"""

    def name(self, role: str = "reader") -> str:
        """The name of this role's reader in the ledger; 'rules' where the role has none."""

    async def ask(
        self,
        prompt: str,
        values: Mapping[str, str],
        parse: ReplyParser[T],
        *,
        role: str = "reader",
        pictures: Sequence[str] = (),
        check: Callable[[T], str | None] | None = None,
        sample: int = 0,
    ) -> T:
        """Ask a model with a bundled prompt; ask again, with the reason, if the answer is unusable.

        `parse` reads the reply and `check` says what is wrong with the result, or None. Raises
        `overread.errors.BadReply` if no answer was usable after all repairs; every attempt is
        in the ledger. `pictures` are paths relative to the source, or absolute ones under the
        build's folder. `sample` tells several answers to the same question apart.
        """

    def verdict(self, question: str) -> str | None:
        """What people decided on a question by its id; None where they have not yet."""

    def correction(self, question: str) -> Data | None:
        """The corrected data that people gave for a question; None where they gave none."""


async def answer_or_note(asking: Awaitable[T], changes: list[Change], note: Change) -> T | None:
    """What a model answers; where no answer was usable, None, and `note` goes to `changes`.

    '{problem}' in the note's `why` becomes what was wrong with the last answer.
    """
    try:
        return await asking
    except BadReply as error:
        why = note.why.replace("{problem}", error.what)[:600]
        changes.append(note.model_copy(update={"why": why}))
        return None


StepFunction = Callable[[Item, StepContext], Awaitable[StepResult]]
BatchFunction = Callable[[Sequence[Item], StepContext], Awaitable[Mapping[str, StepResult]]]


@dataclass(frozen=True)
class ItemStep:
    """Runs on each item separately; the result depends on its data, models and version."""

    name: str
    run: StepFunction
    version: int = 1
    """Counted up whenever the code would decide differently."""
    about: str = ""
    """One line for people."""
    reads: tuple[str, ...] | None = None
    """Fields of the data that it is shown; None for all. Others may change without redoing it."""
    prompts: tuple[str, ...] = ()
    """Prompts of the house that it may ask by, and no others: their texts are part of its key."""
    roles: tuple[str, ...] = ("reader",)
    """Whom it may ask, and whose identity is part of its key; 'probe-*' stands for all probes."""
    settings: tuple[str, ...] | None = None
    """Settings that it looks at; None for all."""
    external_state: Callable[[Item, StepContext], JsonValue] | None = None
    """State outside the item that it depends on, as a plain value: files that people return."""


@dataclass(frozen=True)
class BatchStep:
    """Runs on all remaining items together: balancing, splitting, choosing among scans.

    It runs again whenever one of its items changed, was added or removed. An item that it
    returns no result for is kept unchanged.
    """

    name: str
    run: BatchFunction
    version: int = 1
    about: str = ""
    reads: tuple[str, ...] | None = None
    """As of a step."""
    prompts: tuple[str, ...] = ()
    """As of a step."""
    roles: tuple[str, ...] = ("reader",)
    """As of a step."""
    settings: tuple[str, ...] | None = None
    """As of a step."""
    external_state: Callable[[Item, StepContext], JsonValue] | None = None
    """As of a step; it is asked for each item."""


@dataclass(frozen=True)
class Recipe:
    """How one kind of benchmark is made."""

    name: str
    about: str
    items: Callable[[Path, Mapping[str, str]], Iterable[Item | Defect]]
    """The items of a source, and what is wrong with rows that make none."""
    steps: tuple[ItemStep | BatchStep, ...]
    release: Callable[[Sequence[Item], Path, StepContext], Sequence[Change]]
    """Writes the release of what is left into a folder, in the benchmark's layout."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Setting → its default, as text."""
    version: int = 1
    """Of what `release` writes: counted up whenever it would write something else."""
    benchmark: str = ""
    """In whose layout `release` writes: the folder then gets its card, Croissant and checksums."""


__all__ = ["BatchStep", "Change", "Item", "ItemStep", "JsonValue", "Recipe", "StepContext", "StepResult"]
