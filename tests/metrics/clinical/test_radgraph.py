"""RadGraph F1: numbers of the package radgraph 0.1.18 (its `rewards`), and a plain brute force."""

from __future__ import annotations

import random
from typing import Any

import pytest

from overread.errors import UsageError
from overread.metrics.clinical.radgraph import (
    entities_of,
    radgraph_bar_er,
    radgraph_combined,
    radgraph_e,
    radgraph_er,
)

Row = tuple[str, str, list[tuple[str, int]]]

# (reference, other, what compute_reward(other, reference, "all") of radgraph 0.1.18 gave)
MEASURED: list[tuple[list[Row], list[Row], tuple[float, float, float]]] = [
    (
        [("left", "OBS-DP", [("located_at", 1)]), ("nodule", "ANAT-DP", []), ("small", "ANAT-DP", []), ("Nodule", "ANAT-DP", [])],
        [("nodule", "OBS-DA", [("suggestive_of", 3)]), ("nodule", "ANAT-DP", []), ("small", "OBS-DA", [("located_at", 4)]), ("Effusion", "ANAT-DP", []), ("small", "ANAT-DP", [("suggestive_of", 4)])],
        (0.4444444444444445, 0.22222222222222224, 0.22222222222222224),
    ),
    (
        [("effusion", "OBS-DA", []), ("effusion", "ANAT-DP", []), ("Effusion", "OBS-DP", [("modify", 1), ("modify", 3)]), ("Nodule", "OBS-DP", [])],
        [("effusion", "ANAT-DP", []), ("Nodule", "ANAT-DP", [("modify", 4), ("located_at", 3)]), ("effusion", "OBS-DA", [("modify", 1)]), ("Effusion", "ANAT-DP", []), ("small", "ANAT-DP", [("modify", 3)])],
        (0.4444444444444445, 0.22222222222222224, 0.2),
    ),
    (
        [("small", "OBS-DA", [("modify", 1)]), ("left", "OBS-DA", []), ("nodule", "OBS-DP", [("located_at", 2)])],
        [("left", "OBS-DA", [("located_at", 3)]), ("pleural", "ANAT-DP", [("suggestive_of", 2)]), ("nodule", "OBS-DP", [("modify", 1), ("modify", 5)]), ("left", "OBS-DA", []), ("left", "OBS-DP", [("modify", 2), ("modify", 1)])],
        (0.5714285714285715, 0.5, 0.2222222222222222),
    ),
    (
        [("Effusion", "OBS-DP", [("located_at", 4)]), ("Nodule", "OBS-DP", [("located_at", 4)]), ("small", "ANAT-DP", [("suggestive_of", 2)]), ("effusion", "OBS-DA", [("located_at", 2), ("suggestive_of", 1)])],
        [("effusion", "OBS-DA", [("located_at", 2)]), ("Nodule", "OBS-DP", [("suggestive_of", 1)])],
        (0.6666666666666666, 0.6666666666666666, 0.28571428571428575),
    ),
    (
        [("pleural", "ANAT-DP", [("located_at", 1)]), ("nodule", "OBS-DA", [("located_at", 2)])],
        [("nodule", "OBS-DA", [("located_at", 1), ("suggestive_of", 1)]), ("pleural", "OBS-DP", [("located_at", 3), ("modify", 1)]), ("pleural", "ANAT-DP", [("suggestive_of", 1), ("modify", 1)])],
        (0.8, 0.8, 0.25),
    ),
    (
        [("effusion", "OBS-DP", [("located_at", 1)]), ("nodule", "ANAT-DP", []), ("Effusion", "OBS-DA", [("suggestive_of", 1), ("modify", 5)]), ("Nodule", "OBS-DA", [("modify", 3)]), ("Nodule", "ANAT-DP", [("suggestive_of", 5)])],
        [("Effusion", "OBS-DP", [("modify", 1)]), ("left", "OBS-DP", [])],
        (0.0, 0.0, 0.0),
    ),
    (
        [("left", "OBS-DP", [("suggestive_of", 4)]), ("Effusion", "OBS-DA", []), ("Nodule", "OBS-DA", []), ("nodule", "OBS-DA", [("modify", 3)])],
        [("Nodule", "OBS-DA", []), ("Effusion", "ANAT-DP", []), ("Nodule", "OBS-DA", [("located_at", 4), ("located_at", 2)]), ("small", "ANAT-DP", [("suggestive_of", 5), ("located_at", 3)]), ("left", "OBS-DP", [("located_at", 2)])],
        (0.5, 0.4444444444444445, 0.18181818181818182),
    ),
]  # fmt: skip


def annotation(rows: list[Row]) -> dict[str, Any]:
    """Rows in RadGraph's own JSON form."""
    return {
        str(n): {
            "tokens": tokens,
            "label": label,
            "start_ix": n,
            "end_ix": n,
            "relations": [[kind, str(to)] for kind, to in relations],
        }
        for n, (tokens, label, relations) in enumerate(rows, 1)
    }


@pytest.mark.parametrize(("ours", "theirs", "expected"), MEASURED)
def test_the_three_variants_are_those_of_the_package(
    ours: list[Row], theirs: list[Row], expected: tuple[float, float, float]
) -> None:
    """E, ER and bar ER equal simple, partial and complete of radgraph 0.1.18, both ways round."""
    a, b = annotation(ours), annotation(theirs)
    for one, two in ((a, b), (b, a)):
        got = radgraph_e(one, two), radgraph_er(one, two), radgraph_bar_er(one, two)
        assert got == pytest.approx(expected, abs=1e-12)


def listed(rows: list[Row], variant: str) -> list[tuple[Any, ...]]:
    """Brute force: what is compared, as a list without repetitions."""
    found: list[tuple[Any, ...]] = []
    for tokens, label, relations in rows:
        items: list[tuple[Any, ...]] = []
        if variant == "e":
            items = [(tokens, label)]
        elif variant == "er":
            items = [(tokens, label, len(relations) > 0)]
        elif variant == "bar_er":
            for kind, to in relations:
                items.append((tokens.lower(), label, kind, rows[to - 1][0].lower()))
            if not relations:
                items = [(tokens, label)]
        else:
            for kind, to in relations:
                items.append((tokens, label, kind, rows[to - 1][0], rows[to - 1][1]))
        for item in items:
            if item not in found:
                found.append(item)
    return found


def brute(ours: list[Row], theirs: list[Row], variant: str) -> float:
    a, b = listed(ours, variant), listed(theirs, variant)
    shared = len([item for item in a if item in b])
    if not shared:
        return 0.0
    precision, recall = shared / len(b), shared / len(a)
    return 2 * precision * recall / (precision + recall)


def random_rows(dice: random.Random) -> list[Row]:
    words = ["effusion", "Effusion", "left", "nodule"]
    n = dice.randint(0, 5)
    return [
        (
            dice.choice(words),
            dice.choice(["OBS-DP", "ANAT-DP"]),
            [(dice.choice(["modify", "located_at"]), dice.randint(1, n)) for _ in range(dice.randint(0, 2))],
        )
        for _ in range(n)
    ]


@pytest.mark.parametrize("seed", range(4))
def test_all_variants_equal_plain_counting(seed: int) -> None:
    """On random annotations, the four scores are those of lists searched item by item."""
    dice = random.Random(seed)
    seen = set()
    for _ in range(200):
        ours, theirs = random_rows(dice), random_rows(dice)
        a, b = annotation(ours), annotation(theirs)
        assert radgraph_e(a, b) == pytest.approx(brute(ours, theirs, "e"), abs=1e-12)
        assert radgraph_er(a, b) == pytest.approx(brute(ours, theirs, "er"), abs=1e-12)
        assert radgraph_bar_er(a, b) == pytest.approx(brute(ours, theirs, "bar_er"), abs=1e-12)
        both = (brute(ours, theirs, "e") + brute(ours, theirs, "relations")) / 2
        assert radgraph_combined(a, b) == pytest.approx(both, abs=1e-12)
        seen.add(round(both, 3))
    assert len(seen) > 20


def test_empty_sides_give_zero() -> None:
    """Nothing on one side, or on both, is 0 in every variant."""
    some = annotation([("effusion", "OBS-DP", [])])
    for score in (radgraph_e, radgraph_er, radgraph_bar_er, radgraph_combined):
        assert score({}, {}) == score(some, {}) == score({}, some) == 0.0


def test_equal_annotations_get_one_and_half_without_relations() -> None:
    """The same entities and relations give 1; RadCliQ's mean gives a half where none are related."""
    tied = annotation([("effusion", "OBS-DP", [("located_at", 2)]), ("pleural", "ANAT-DP", [])])
    loose = annotation([("effusion", "OBS-DP", [])])
    for score in (radgraph_e, radgraph_er, radgraph_bar_er, radgraph_combined):
        assert score(tied, tied) == 1.0
    assert radgraph_combined(loose, loose) == 0.5


def test_whole_annotations_are_taken_too() -> None:
    """The object that holds the entities may be given instead of the entities."""
    rows = annotation([("effusion", "OBS-DP", [])])
    assert radgraph_e({"text": "effusion", "entities": rows}, rows) == 1.0
    with pytest.raises(UsageError, match="number → entity"):
        entities_of({"entities": ["effusion"]})


def test_a_relation_to_nowhere_is_an_error() -> None:
    """It names both numbers."""
    broken = annotation([("effusion", "OBS-DP", [("modify", 7)])])
    with pytest.raises(UsageError, match=r"entity 1 .* relation to 7"):
        radgraph_bar_er(broken, broken)
