"""Which findings a patient has: categories, kinds and places, drawn before any voxel."""

from __future__ import annotations

import tomllib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import numpy as np

from overread.ontology import lung_anatomy as lung_names
from overread.phantom.film.sign import View
from overread.phantom.findings.scan import EarlierFinding, Target
from overread.phantom.statement import KINDS

Mix = Literal["real", "even", "illness"]

_LOBES = tuple(lobe.code for lobe in lung_names().lobes)
_SPLIT_PATTERN = (*("train", "test", "val", "train", "train"), *("train", "test", "train", "train", "train"))


@dataclass(frozen=True)
class FindingPlan:
    """One finding that a patient is to have; where its place has no room, another is drawn."""

    category: str
    kind: str
    places: tuple[str, ...] = ()
    """Kinds of place, each as likely, of those in population.toml; empty, as the category has."""
    lobes: tuple[str, ...] = ()
    """Lobes of which a lobe or a segment is chosen, or whose lung; empty, as the category has."""
    scale: float = 1.0
    """Scale of its size."""
    count: tuple[int, int] | None = None
    """Fewest and most entities, where it is something that one counts; 0 and 0: it is absent."""
    needed: bool = False
    """Whether the patient would not have his illness without it."""
    span: tuple[float, float] | None = None
    """The smallest and the largest scale of all days of a course; absent outside of one."""
    earlier: EarlierFinding | None = field(default=None, compare=False, repr=False)
    """The same finding on an earlier day, which it is drawn after."""


def split_of(number: int) -> str:
    """The split of a patient: seven of ten train, one val, two test, whoever else is made.

    >>> [split_of(number) for number in (1, 2, 3, 11)]
    ['train', 'test', 'val', 'train']
    """
    return _SPLIT_PATTERN[(number - 1) % len(_SPLIT_PATTERN)]


def seed_for(seed: int, patient: int, *purpose: str | int) -> np.random.SeedSequence:
    """The seed of one purpose for one patient: independent of every other purpose and patient."""
    words = [p if isinstance(p, int) else zlib.crc32(p.encode()) for p in purpose]
    return np.random.SeedSequence([seed, patient, *words])


@cache
def load_population_tables() -> dict[str, Any]:
    """The tables of population.toml."""
    return tomllib.loads((files("overread.phantom") / "population.toml").read_text("utf-8"))


def draw_plans(rng: np.random.Generator, mix: Mix = "real") -> list[FindingPlan]:
    """The findings of one patient, in the order in which they came up."""
    count = 1 + int(rng.choice(len(load_population_tables()["number"]), p=load_population_tables()["number"]))
    chosen: list[str] = []
    for _ in range(count):
        names, weights = _category_weights(tuple(sorted(set(chosen))), mix)
        chosen.append(str(rng.choice(names, p=weights)))
    return [FindingPlan(category, draw_kind(rng, category, mix)) for category in chosen]


def draw_kind(rng: np.random.Generator, category: str, mix: Mix = "real") -> str:
    """What a finding of a category looks like."""
    kinds = load_population_tables()["category"][category]["kinds"]
    weights = np.array(list(kinds.values()), float)
    if mix == "even":
        weights = np.ones_like(weights)
    return str(rng.choice(list(kinds), p=weights / weights.sum()))


def draw_target(rng: np.random.Generator, plan: FindingPlan | str) -> Target:
    """Where a finding goes: a plan's, or any of a category."""
    if isinstance(plan, str):
        plan = FindingPlan(plan, KINDS[plan][0])
    table = load_population_tables()["category"][plan.category]
    if plan.places:
        place = str(rng.choice(plan.places))
    else:
        places = table["places"]
        weights = np.array(list(places.values()), float)
        place = str(rng.choice(list(places), p=weights / weights.sum()))
    return replace(
        _draw_place(rng, place, plan.lobes or table.get("lobes", _LOBES), given=bool(plan.lobes)),
        scale=plan.scale,
        span=plan.span,
        count=plan.count,
    )


def _draw_place(rng: np.random.Generator, place: str, lobes: Sequence[str], *, given: bool) -> Target:
    """A target of one kind of place."""
    if place in ("segment", "lobe"):
        lobe = str(rng.choice(lobes))
        if place == "lobe":
            return Target((lobe,))
        parts = [part.code for part in lung_names().by_code[lobe].segments]
        return Target((lobe,), str(rng.choice(parts)))
    if place == "lung":
        sides = ["right", "left"]
        if given:
            held = {lung_names().by_code[code].side for code in lobes}
            sides = [side for side in sides if side in held]
        side = str(rng.choice(sides))
        return Target(tuple(lobe.code for lobe in lung_names().lobes if lobe.side == side))
    fixed = {"upper": ("RUL", "LUL"), "lower": ("RLL", "LLL"), "both": _LOBES}
    return Target(fixed[place])


def draw_views(seed: int, patient: int) -> tuple[View, ...]:
    """Which films a patient gets, the frontal one first, whatever is found on them."""
    rng = np.random.default_rng(seed_for(seed, patient, "films"))
    choices: tuple[tuple[View, ...], ...] = (("PA", "lateral"), ("PA",), ("AP supine",))
    return choices[int(rng.choice(3, p=(0.45, 0.35, 0.2)))]


def draw_extrapulmonary_names(rng: np.random.Generator, age: int) -> list[str]:
    """What a patient of that age has beyond the lung."""
    share = np.clip((age - 30) / 50, 0, 1)
    return [
        name
        for name, (young, old) in load_population_tables()["beyond"].items()
        if rng.random() < young + (old - young) * share
    ]


@cache
def _category_weights(present: tuple[str, ...], mix: Mix) -> tuple[list[str], list[float]]:
    """Chances of the next category, given those that are there."""
    weights = {
        category: float(load_population_tables()["weights"][category]) if mix == "real" else 1.0
        for category in KINDS
    }
    for row in load_population_tables()["together"] if mix == "real" else ():
        one, other = row["pair"]
        if one in present:
            weights[other] *= row["lift"]
        if other in present:
            weights[one] *= row["lift"]
    total = sum(weights.values())
    return list(weights), [weight / total for weight in weights.values()]
