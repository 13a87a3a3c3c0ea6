"""How hard the findings are to see: contrast, size, look-alikes and noise."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Difficulty:
    """One level; `medium` is the reference and does not change."""

    name: str
    contrast: float
    """Scale of the HU difference between a faint finding and the lung around it."""
    size: float
    """Scale of lesions' sizes."""
    noise: float
    """Deviation of the noise in HU in the middle of the body."""
    lookalikes: float
    """How many innocent look-alikes a patient has, on average: bulging vessels, dependent haze."""


DIFFICULTIES = {
    level.name: level
    for level in (
        Difficulty("easy", contrast=1.4, size=1.25, noise=9.0, lookalikes=1.0),
        Difficulty("medium", contrast=1.0, size=1.0, noise=16.0, lookalikes=4.0),
        Difficulty("hard", contrast=0.6, size=0.8, noise=22.0, lookalikes=10.0),
    )
}


def find_difficulty(name: str) -> Difficulty:
    """The level of that name."""
    if name not in DIFFICULTIES:
        from overread.catalog import unknown_name

        raise unknown_name("difficulty", name, DIFFICULTIES)
    return DIFFICULTIES[name]
