"""What a tracker is given, and what it does with it.

Only settings and numbers of a whole split go to a tracker: no case's id, no words, no pictures, no
path of this machine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from overread import catalog
from overread.errors import OverreadError, UsageError

Setting = str | int | float | bool


@dataclass(frozen=True)
class TrackedRun:
    """One run as trackers list it."""

    key: str
    """The same for the same folder or submission, so that scoring adds to what running began."""
    name: str
    """What people call it: the name of its folder, or of the submission's file."""
    settings: Mapping[str, Setting] = field(default_factory=dict)
    """What was read, by whom and how."""
    numbers: Mapping[str, float] = field(default_factory=dict)
    """What came of it; a number that is undefined is not among them."""
    step: int = 0
    """Where on a curve the numbers lie, for what is logged again and again."""


class Tracker(Protocol):
    """A program that keeps settings and numbers."""

    def log(self, run: TrackedRun) -> str:
        """Keep them; says in a few words where they are."""


class Trackers:
    """The trackers of one command; made before the work begins, so that a missing one is told then."""

    def __init__(self, targets: Sequence[str]) -> None:
        """`targets` are as typed: 'mlflow:./mlruns', 'wandb', 'tensorboard:DIR'."""
        self._trackers: list[tuple[str, Tracker]] = []
        for target in targets:
            name, _, place = target.partition(":")
            if not name.strip():
                raise UsageError(
                    f"'{target}' names no tracker", remedy=f"there are {', '.join(catalog.names('trackers'))}"
                )
            self._trackers.append((name, catalog.find("trackers", name)(place)))

    def log(self, run: TrackedRun) -> list[str]:
        """Hand a run to each of them; what each says, in a sentence."""
        told: list[str] = []
        problem: OverreadError | None = None
        for name, tracker in self._trackers:
            try:
                told.append(f"logged to {name}: {tracker.log(run)}")
            except OverreadError as error:
                problem = problem or error
            except Exception as error:  # whatever others raise must not take our results along
                words = " ".join(str(error).split())[:300]
                problem = problem or OverreadError(
                    f"{name} could not log the results ({type(error).__name__}: {words})",
                    remedy="they are kept; mend this, and the same command logs them",
                )
        if problem is not None:
            raise problem
        return told


def finite_numbers(numbers: Mapping[str, float | int | None]) -> dict[str, float]:
    """The numbers that are defined.

    >>> finite_numbers({"accuracy": 0.5, "auroc": None, "brier": float("nan")})
    {'accuracy': 0.5}
    """
    return {name: float(n) for name, n in numbers.items() if n is not None and math.isfinite(n)}


def flat_settings(settings: Mapping[str, object], prefix: str = "") -> dict[str, Setting]:
    """Nested settings under names with dots; absent ones are left out.

    >>> flat_settings({"reader": {"name": "openai", "seed": None}, "metrics": ["a", "b"]})
    {'reader.name': 'openai', 'metrics': 'a, b'}
    """
    found: dict[str, Setting] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            found |= flat_settings(value, f"{prefix}{name}.")
        elif isinstance(value, list | tuple):
            if value:
                found[f"{prefix}{name}"] = ", ".join(str(one) for one in value)
        elif isinstance(value, str | int | float | bool):
            found[f"{prefix}{name}"] = value
    return found
