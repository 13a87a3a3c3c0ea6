"""RaTEScore: numbers that RaTEScore 0.6.0's `compute` gave, and a plain loop."""

from __future__ import annotations

import math

import numpy as np
import pytest

from overread.errors import UsageError
from overread.metrics.clinical.models.ratescore import find_spans
from overread.metrics.clinical.ratescore import LONG, NO_ENTITY, TYPES, ratescore

OURS = [[-0.8, -1.32, -0.25], [0.42, 1.14, 0.11], [-0.55, -0.78, 0.75]]
THEIRS = [[1.63, 0.27, -1.23], [-0.96, 1.6, 0.2]]
MEASURED = [
    (("DISEASE", "ANATOMY", "NON-DISEASE"), ("NON-DISEASE", "ANATOMY"), -0.011318635235005247),
    (("ABNORMALITY", "NON-ABNORMALITY", "ANATOMY"), ("DISEASE", "ABNORMALITY"), -0.29459807167845936),
]  # fmt: skip


@pytest.mark.parametrize(("ours", "theirs", "expected"), MEASURED)
def test_numbers_of_the_package(ours: tuple[str, ...], theirs: tuple[str, ...], expected: float) -> None:
    """Both directions of RaTEScore 0.6.0's `compute`, joined as its scorer joins them."""
    assert ratescore(OURS, ours, THEIRS, theirs) == pytest.approx(expected, rel=1e-9)


def looped(ours: np.ndarray, ours_types: list[str], theirs: np.ndarray, their_types: list[str]) -> float:
    """Brute force: entity by entity, in plain Python."""

    def one_way(a: np.ndarray, ka: list[str], b: np.ndarray, kb: list[str]) -> float:
        top = bottom = 0.0
        for vector, kind in zip(a, ka, strict=True):
            likes = [
                sum(x * y for x, y in zip(vector, other, strict=True))
                / math.sqrt(sum(x * x for x in vector) * sum(y * y for y in other))
                for other in b
            ]
            at = likes.index(max(likes))
            weight = LONG.weights[TYPES.index(kind)][TYPES.index(kb[at])]
            flipped = kind.startswith("NON-") != kb[at].startswith("NON-")
            flipped = flipped and "ANATOMY" not in (kind, kb[at])
            top += likes[at] * weight * (LONG.contradiction if flipped else 1)
            bottom += weight
        return top / bottom

    one = one_way(ours, ours_types, theirs, their_types)
    two = one_way(theirs, their_types, ours, ours_types)
    return 2 * one * two / (one + two)


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_plain_loop(seed: int) -> None:
    """On random entities of all types; and it does not matter which side is the reference."""
    dice = np.random.default_rng(seed)
    for _ in range(40):
        a, b = dice.uniform(0, 1, (dice.integers(1, 6), 4)), dice.uniform(0, 1, (3, 4))
        ka = [TYPES[n] for n in dice.integers(0, 5, len(a))]
        kb = [TYPES[n] for n in dice.integers(0, 5, len(b))]
        assert ratescore(a, ka, b, kb) == pytest.approx(looped(a, ka, b, kb), rel=1e-9)
        assert ratescore(b, kb, a, ka) == pytest.approx(ratescore(a, ka, b, kb), rel=1e-9)


def test_equal_entities_get_one_and_none_a_half() -> None:
    """The same entities give 1; a side without any gives 0.5, both sides too."""
    assert ratescore(OURS, TYPES[:3], OURS, TYPES[:3]) == pytest.approx(1.0)
    empty = np.zeros((0, 3))
    assert ratescore(OURS, TYPES[:3], empty, []) == ratescore(empty, [], empty, []) == NO_ENTITY == 0.5


def test_a_denied_finding_costs() -> None:
    """The same words, there in one report and denied in the other, lose the published share."""
    got = ratescore([[1.0, 0]], ["DISEASE"], [[1.0, 0]], ["NON-DISEASE"])
    assert got == pytest.approx(LONG.contradiction)


def test_wrong_input_is_refused() -> None:
    """An unknown type, or vectors that are not one an entity."""
    with pytest.raises(UsageError, match="'TUMOUR' is no type"):
        ratescore([[1.0]], ["TUMOUR"], [[1.0]], ["DISEASE"])
    with pytest.raises(UsageError, match="as many vectors"):
        ratescore([[1.0], [2.0]], ["DISEASE"], [[1.0]], ["DISEASE"])


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("O O", []),
        ("B-A I-A O B-D", [(0, 1, "A"), (3, 3, "D")]),
        ("B-A B-A I-A", [(0, 0, "A"), (1, 2, "A")]),
        ("I-A O I-D", []),
        ("B-A I-D I-D", [(0, 2, "A")]),
    ],
)
def test_entities_in_a_row_of_labels(labels: str, expected: list[tuple[int, int, str]]) -> None:
    """B- opens an entity, I- continues it and opens none."""
    assert find_spans(labels.split()) == expected
