"""A sign: one thing that was measured in one picture, how sure it is, and where it lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from overread.readers.atlas.slice.morphology import BoxXY

Plane = Literal["axial", "coronal", "sagittal"]
"""How a slice cuts the body."""


@dataclass(frozen=True)
class PictureSign:
    """One thing that was measured in one picture."""

    name: str
    """What it is, in the words of the knowledge table: 'consolidation', 'honeycombing'."""
    confidence: float
    """From 0, not there, over 0.5, undecided, to 1, certain."""
    measured: str
    """The measurement in words."""
    box: BoxXY | None = None
    """Where, in pixels of the working copy; None where it is all of the picture."""
    side: str | None = None
    """'right', 'left', 'both', or None where it has none."""
    level: str | None = None
    """'upper', 'lower', or None where the picture does not tell."""
    depth: str | None = None
    """'central', 'peripheral', or None where it is neither."""
    amount: float = 0.0
    """What was measured, in its own unit, for comparing two times."""
    number: int = 1
    """How many there are."""

    @property
    def present(self) -> bool:
        """Whether it is more likely there than not."""
        return self.confidence >= 0.5


def confidence_from(value: float, limit: float, width: float) -> float:
    """How sure a measurement makes a sign: a half at the limit, nearly 1 two widths beyond it.

    >>> confidence_from(3.0, 3.0, 1.0)
    0.5
    >>> confidence_from(0.0, 3.0, 1.0) < 0.01 < 0.99 < confidence_from(6.0, 3.0, 1.0)
    True
    """
    return float(1 / (1 + np.exp(-np.clip(2.2 * (value - limit) / width, -30, 30))))
