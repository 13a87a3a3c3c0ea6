"""Every constant of the mask scores, in one place: they are part of the signature of a score."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from overread.errors import UsageError

EpsPlace = Literal["both", "denominator", "none"]
Connectivity = Literal[6, 18, 26]
Assd = Literal["pooled", "mean_of_means"]


@dataclass(frozen=True)
class MaskSettings:
    """What the official ReXGroundingCT rule leaves to constants, and what it leaves open.

    >>> MaskSettings().as_settings()["connectivity"]
    18
    """

    eps: float = 1e-6
    """Added in the Dice coefficient, so that two empty masks have one."""
    eps_place: EpsPlace = "both"
    """Where it is added. With "none" two empty masks are given 1, since they agree."""
    hit_threshold: float = 0.1
    """A finding is hit at this global Dice or above."""
    connectivity: Connectivity = 18
    """Which voxels hang together: over a face (6), an edge too (18), or a corner too (26)."""
    min_voxels: int = 10
    """Predicted components of fewer voxels are dropped."""
    max_instances: int = 50
    """Of the rest the largest so many are kept; of equal ones the first in scan order."""
    match_threshold: float = 0.2
    """Truth and prediction can be matched at this Dice or above."""
    unmatched_dice: float | None = 0.0
    """What a finding without any match brings into the honest mean matched Dice; None leaves it out.
    The official one is of all matched pairs of the split at once."""
    distance_factor: float = 2.0
    """Matched by distance within so many times the largest voxel spacing, that included."""
    assd: Assd = "pooled"
    """Over all surface voxels of both at once, or the mean of the two directed means."""
    surface: Literal["faces"] = "faces"
    """Surface voxels are those with one of six neighbours outside; beyond the scan is outside."""
    # Nothing is measured with it, so what was measured before is found again: not in the repr.
    zero_denominator: float | None = field(default=None, repr=False)
    """Precision and recall where there is nothing to divide by. None: 1 by the official rule, as its
    scorer has it, and 0 where missing predictions are the worst."""

    def __post_init__(self) -> None:
        """Refuse what cannot be scored with."""
        if self.connectivity not in (6, 18, 26):
            raise UsageError(f"masks cannot be {self.connectivity}-connected", remedy="use 6, 18 or 26")
        if self.eps_place not in ("both", "denominator", "none"):
            raise UsageError(
                f"eps_place cannot be '{self.eps_place}'", remedy="use both, denominator or none"
            )
        if self.assd not in ("pooled", "mean_of_means"):
            raise UsageError(f"there is no ASSD called '{self.assd}'", remedy="use pooled or mean_of_means")
        for name in ("eps", "hit_threshold", "match_threshold", "distance_factor"):
            _number(name, getattr(self, name), (int, float))
        for name in ("min_voxels", "max_instances"):
            _number(name, getattr(self, name), int)
        for name in ("unmatched_dice", "zero_denominator"):
            if getattr(self, name) is not None:
                _number(name, getattr(self, name), (int, float))

    def as_settings(self) -> dict[str, Any]:
        """The settings as plain values, for the signature of a score."""
        return asdict(self)

    def dice(self, both: float, one: float, other: float) -> float:
        """The Dice coefficient of two masks, from the voxels in both and in each.

        >>> MaskSettings().dice(0, 0, 0), MaskSettings(eps_place="denominator").dice(0, 0, 0)
        (1.0, 0.0)
        """
        above = self.eps if self.eps_place == "both" else 0.0
        below = self.eps if self.eps_place != "none" else 0.0
        total = one + other + below
        return (2.0 * both + above) / total if total else 1.0


def _number(name: str, value: Any, kind: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, kind) or not 0 <= value < math.inf:
        number = "a whole number" if kind is int else "a number"
        raise UsageError(f"{name} cannot be {value!r}", remedy=f"give {number}, 0 or more")
