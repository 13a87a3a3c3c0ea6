"""Who has what: shares as in the real data, findings that come together, independent patients."""

from __future__ import annotations

from collections import Counter

import numpy as np

from overread.ontology import finding_tree, lung_anatomy
from overread.phantom.population import (
    draw_extrapulmonary_names,
    draw_plans,
    draw_target,
    load_population_tables,
    seed_for,
)
from overread.phantom.statement import EXTRAPULMONARY, KINDS

PATIENTS = 6000

# Findings by category in the MICCAI lists of ReXGroundingCT: train, val, test.
REAL = {
    "1a": (236, 3, 6), "1b": (282, 11, 11), "1c": (446, 17, 27), "1d": (194, 6, 9),
    "1e": (314, 11, 16), "1f": (150, 4, 4), "2a": (1120, 69, 113), "2b": (1367, 49, 89),
    "2c": (1507, 60, 87), "2d": (1743, 132, 190), "2e": (237, 11, 27), "2f": (16, 0, 0),
    "2g": (18, 1, 1), "2h": (57, 7, 2),
}  # fmt: skip


def population(mix: str = "real") -> list[list[str]]:
    return [
        [p.category for p in draw_plans(np.random.default_rng(seed_for(1, n, "plans")), mix)]  # type: ignore[arg-type]
        for n in range(PATIENTS)
    ]


def test_the_stated_shares_are_the_published_ones() -> None:
    assert load_population_tables()["shares"] == {code: sum(counts) for code, counts in REAL.items()}


def test_the_default_mix_follows_the_real_shares() -> None:
    people = population()
    seen = Counter(category for person in people for category in person)
    total, published = sum(seen.values()), sum(sum(counts) for counts in REAL.values())
    off = sum(abs(seen[c] / total - sum(REAL[c]) / published) for c in REAL) / 2
    assert off < 0.02, "share of the findings that would have to change their category"
    assert 2.2 < total / PATIENTS < 2.8, "findings a scan: 2.4 in the real lists"


def test_findings_come_together_as_they_do() -> None:
    people = [set(person) for person in population()]
    for one, other, least in (("1a", "1b", 0.3), ("2b", "2c", 0.3)):
        having = [person for person in people if one in person]
        given = sum(other in person for person in having) / len(having)
        alone = sum(other in person for person in people) / len(people)
        assert given > least
        assert given > 1.2 * alone


def test_an_even_mix_has_every_category_and_kind() -> None:
    rng = np.random.default_rng(2)
    seen = Counter((p.category, p.kind) for _ in range(3000) for p in draw_plans(rng, "even"))
    assert set(seen) == {(category, kind) for category, kinds in KINDS.items() for kind in kinds}


def test_kinds_and_categories_are_those_of_the_ontology() -> None:
    assert set(KINDS) == {c for c in finding_tree().categories if c[0] in "12" and c[1:].isalpha()}
    assert set(EXTRAPULMONARY.values()) <= set(finding_tree().categories)
    assert set(load_population_tables()["beyond"]) == set(EXTRAPULMONARY)
    for category, table in load_population_tables()["category"].items():
        assert set(table["kinds"]) == set(KINDS[category])


def test_targets_are_real_places() -> None:
    rng = np.random.default_rng(3)
    for category in KINDS:
        for _ in range(200):
            target = draw_target(rng, category)
            assert set(target.lobes) <= {lobe.code for lobe in lung_anatomy().lobes}
            if target.segment is not None:
                assert lung_anatomy().by_code[target.segment].code == target.lobes[0]


def test_age_brings_calcium() -> None:
    rng = np.random.default_rng(4)
    young, old = (
        Counter(n for _ in range(800) for n in draw_extrapulmonary_names(rng, age)) for age in (30, 80)
    )
    assert old["coronary calcification"] > 10 * young["coronary calcification"]
    assert set(old) == set(EXTRAPULMONARY)


def test_streams_of_randomness_do_not_meet() -> None:
    draws = {
        seed_for(seed, patient, purpose).generate_state(2).tobytes()
        for seed in range(5)
        for patient in range(20)
        for purpose in ("body", "words", "noise", "plans")
    }
    assert len(draws) == 400
