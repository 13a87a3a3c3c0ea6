"""RaTEScore: how near the medical entities of two reports are to each other, weighted by type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.errors import UsageError
from overread.metrics.sample import Numbers

TYPES = ("ABNORMALITY", "ANATOMY", "DISEASE", "NON-ABNORMALITY", "NON-DISEASE")
"""What an entity can be."""
NO_ENTITY = 0.5
"""The score where a text has no entity."""
_THERE = np.array([kind in ("ABNORMALITY", "DISEASE") for kind in TYPES])
_DENIED = np.array([kind.startswith("NON-") for kind in TYPES])


@dataclass(frozen=True)
class Affinity:
    """How much a pair of types counts, and what is left of a pair that contradicts itself."""

    weights: tuple[tuple[float, ...], ...]
    """One line a type of the entity that looks for a partner, one column a type of the partner."""
    contradiction: float
    """What a likeness is multiplied with where one entity is there and the other denied."""


LONG = Affinity(
    (
        (
            0.4276119164393705,
            0.6240929990607657,
            0.0034478181112993847,
            0.5431049700217344,
            0.27005425386213877,
        ),
        (
            0.7487824274337533,
            0.2856134859160784,
            0.4592143222158069,
            0.02097055139911715,
            0.00013736314126696204,
        ),
        (0.8396510075734789, 0.9950209388542061, 0.8460555030578727, 0.9820689020512646, 0.3789136708096537),
        (
            0.16546764653692908,
            0.018670610691852826,
            0.719397354576018,
            0.0009357166071730684,
            0.0927333564267591,
        ),
        (
            0.7759420231214385,
            0.1839139293714062,
            0.10073046076318157,
            0.03860183811876373,
            0.34065681486566446,
        ),
    ),
    0.8716553966489615,
)
"""RaTEScore's 0.6.0 default, for whole reports."""


def ratescore(
    reference: ArrayLike,
    reference_types: Sequence[str],
    other: ArrayLike,
    other_types: Sequence[str],
    affinity: Affinity = LONG,
) -> float:
    """RaTEScore of two sets of entities, each a vector and a type.

    Every entity looks for the nearest one of the other side by cosine. The likeness of the two,
    times `contradiction` where one is there and the other denied, is averaged with the weight of
    their types; both directions give a harmonic mean. 0.5 where a side has no entity.

    >>> round(ratescore([[1, 0], [0, 1]], ["DISEASE", "ANATOMY"], [[2, 0]], ["DISEASE"]), 4)
    0.7865
    """
    if not len(reference_types) or not len(other_types):
        return NO_ENTITY
    ours, theirs = _directions(reference, reference_types), _directions(other, other_types)
    cosines = ours @ theirs.T
    a, b = _kinds(reference_types), _kinds(other_types)
    one = _best(cosines, a, b, affinity)
    two = _best(cosines.T, b, a, affinity)
    return 2 * one * two / (one + two) if one + two else 0.0


def _best(cosines: Numbers, own: NDArray[np.intp], far: NDArray[np.intp], table: Affinity) -> float:
    """The weighted mean of each entity's best likeness."""
    partner = cosines.argmax(axis=1)
    best = cosines[np.arange(len(own)), partner]
    kinds = far[partner]
    against = (_THERE[own] & _DENIED[kinds]) | (_DENIED[own] & _THERE[kinds])
    weights = np.array(table.weights)[own, kinds]
    total = float(weights.sum())
    left = best * np.where(against, table.contradiction, 1.0)
    return float((left * weights).sum()) / total if total else 0.0


def _directions(vectors: ArrayLike, types: Sequence[str]) -> Numbers:
    rows = np.asarray(vectors, dtype=np.float64)
    if rows.ndim != 2 or len(rows) != len(types):
        raise UsageError(f"{len(types)} entities need as many vectors, not {rows.shape}")
    unit: Numbers = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return unit


def _kinds(types: Sequence[str]) -> NDArray[np.intp]:
    unknown = [kind for kind in types if kind.upper() not in TYPES]
    if unknown:
        raise UsageError(f"'{unknown[0]}' is no type of RaTEScore: they are {', '.join(TYPES)}")
    return np.array([TYPES.index(kind.upper()) for kind in types], dtype=np.intp)
