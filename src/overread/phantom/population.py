"""Who has what: categories, kinds and places, drawn before any voxel."""

from __future__ import annotations

import tomllib
import zlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import numpy as np

from overread.ontology import lungs as lung_names
from overread.phantom.findings.scan import Target
from overread.phantom.statement import KINDS

Mix = Literal["real", "even"]

_LOBES = tuple(lobe.code for lobe in lung_names().lobes)


@dataclass(frozen=True)
class Plan:
    """One finding that a patient is to have; where it does not fit, it goes elsewhere."""

    category: str
    kind: str


def stream(seed: int, patient: int, *purpose: str | int) -> np.random.SeedSequence:
    """The randomness of one purpose for one patient: independent of every other."""
    words = [p if isinstance(p, int) else zlib.crc32(p.encode()) for p in purpose]
    return np.random.SeedSequence([seed, patient, *words])


@cache
def facts() -> dict[str, Any]:
    """The tables of population.toml."""
    return tomllib.loads((files("overread.phantom") / "population.toml").read_text("utf-8"))


def draw_plans(rng: np.random.Generator, mix: Mix = "real") -> list[Plan]:
    """The findings of one patient, in the order in which they came up."""
    count = 1 + int(rng.choice(len(facts()["number"]), p=facts()["number"]))
    chosen: list[str] = []
    for _ in range(count):
        names, weights = _weights(tuple(sorted(set(chosen))), mix)
        chosen.append(str(rng.choice(names, p=weights)))
    return [Plan(category, draw_kind(rng, category, mix)) for category in chosen]


def draw_kind(rng: np.random.Generator, category: str, mix: Mix = "real") -> str:
    """What a finding of a category looks like."""
    kinds = facts()["category"][category]["kinds"]
    weights = np.array(list(kinds.values()), float)
    if mix == "even":
        weights = np.ones_like(weights)
    return str(rng.choice(list(kinds), p=weights / weights.sum()))


def draw_target(rng: np.random.Generator, category: str) -> Target:
    """Where a finding of a category goes."""
    table = facts()["category"][category]
    places = table["places"]
    weights = np.array(list(places.values()), float)
    place = str(rng.choice(list(places), p=weights / weights.sum()))
    if place in ("segment", "lobe"):
        lobe = str(rng.choice(table.get("lobes", _LOBES)))
        if place == "lobe":
            return Target((lobe,))
        parts = [part.code for part in lung_names().by_code[lobe].segments]
        return Target((lobe,), str(rng.choice(parts)))
    if place == "lung":
        side = str(rng.choice(["right", "left"]))
        return Target(tuple(lobe.code for lobe in lung_names().lobes if lobe.side == side))
    fixed = {"upper": ("RUL", "LUL"), "lower": ("RLL", "LLL"), "both": _LOBES}
    return Target(fixed[place])


def draw_beyond(rng: np.random.Generator, age: int) -> list[str]:
    """What a patient of that age has beyond the lung."""
    share = np.clip((age - 30) / 50, 0, 1)
    return [
        name
        for name, (young, old) in facts()["beyond"].items()
        if rng.random() < young + (old - young) * share
    ]


@cache
def _weights(present: tuple[str, ...], mix: Mix) -> tuple[list[str], list[float]]:
    """Chances of the next category, given those that are there."""
    weights = {
        category: float(facts()["weights"][category]) if mix == "real" else 1.0
        for category in KINDS
    }
    for row in facts()["together"] if mix == "real" else ():
        one, other = row["pair"]
        if one in present:
            weights[other] *= row["lift"]
        if other in present:
            weights[one] *= row["lift"]
    total = sum(weights.values())
    return list(weights), [weight / total for weight in weights.values()]
