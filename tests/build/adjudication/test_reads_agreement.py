"""How far two reads agree, held against scikit-learn, statsmodels, nltk and plain counting."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from nltk.metrics.agreement import AnnotationTask
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa

from overread.build.adjudication import CANNOT_JUDGE
from overread.build.adjudication.agreement import measure_agreement
from overread.build.item import Question
from overread.errors import UsageError
from tests.build.adjudication.sample_questions import question, queue_of

CHOICES = ("accept", "reject", "adjust")


def read(
    folder: Path, rows: list[tuple[str, str]], people: tuple[str, str] = ("ann", "bob")
) -> list[Question]:
    """Questions that two people have read, each with these two verdicts; who was first changes."""
    questions = [
        question(n, choices=CHOICES, item=f"item{n // 2}", shown={"category": "ab"[n % 2]})
        for n in range(len(rows))
    ]
    offers = []
    from overread.build.adjudication.queue import VerdictInput

    for n, (asked, both) in enumerate(zip(questions, rows, strict=True)):
        pair = list(zip(people, both, strict=True))
        for person, verdict in pair if n % 3 else reversed(pair):
            offers.append(("", VerdictInput(person, asked.id, verdict)))
    queue_of(folder, questions).submit_all(offers)
    return questions


def drawn(n: int, seed: int, labels: tuple[str, ...] = CHOICES) -> list[tuple[str, str]]:
    random_ = random.Random(seed)
    first = random_.choices(labels, weights=range(len(labels), 0, -1), k=n)
    return [(one, one if random_.random() < 0.7 else random_.choice(labels)) for one in first]


@pytest.mark.parametrize("seed", range(4))
def test_kappa_is_that_of_others(tmp_path: Path, seed: int) -> None:
    """Cohen's kappa equals scikit-learn's and statsmodels', alpha nltk's, whoever came first."""
    rows = drawn(60, seed, (*CHOICES, CANNOT_JUDGE))
    found = measure_agreement(tmp_path, read(tmp_path, rows), draws=0)[0]
    ann, bob = zip(*rows, strict=True)
    labels = list(found.labels)
    assert set(labels) == {*CHOICES, CANNOT_JUDGE}
    table = np.array([[sum(r == (a, b) for r in rows) for b in labels] for a in labels])
    assert found.kappa is not None
    assert found.kappa.value == pytest.approx(cohen_kappa_score(ann, bob), abs=1e-12)
    assert found.kappa.value == pytest.approx(cohens_kappa(table).kappa, abs=1e-12)
    assert found.pairs[0].agreement.confusion == tuple(map(tuple, table.tolist()))
    same = sum(a == b for a, b in rows)
    assert found.share.value == pytest.approx(same / 60)
    assert found.differ == 60 - same
    triples = [(who, n, v) for n, both in enumerate(rows) for who, v in zip("ab", both, strict=True)]
    assert found.alpha.value == pytest.approx(AnnotationTask(triples).alpha(), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_ac1_is_what_its_definition_says(tmp_path: Path, seed: int) -> None:
    """AC1 by exact fractions: chance is the mean of p(1 − p) over the labels that may be given."""
    rows = drawn(40, seed)
    found = measure_agreement(tmp_path, read(tmp_path, rows), draws=0)[0]
    said = [verdict for both in rows for verdict in both]
    shares = [Fraction(said.count(label), len(said)) for label in CHOICES]
    chance = sum(p * (1 - p) for p in shares) / (len(CHOICES) - 1)
    observed = Fraction(sum(a == b for a, b in rows), len(rows))
    expected = (observed - chance) / (1 - chance)
    assert found.ac1.value == pytest.approx(float(expected), abs=1e-12)


def test_where_all_is_one_verdict_kappa_is_undefined_and_ac1_is_not(tmp_path: Path) -> None:
    """All 'accept': chance leaves kappa and alpha no room, AC1 is 1."""
    found = measure_agreement(tmp_path, read(tmp_path, [("accept", "accept")] * 10))[0]
    assert found.kappa is not None
    assert (found.kappa.value, found.alpha.value, found.ac1.value) == (None, None, 1.0)


def test_kinds_and_categories_stand_apart(tmp_path: Path) -> None:
    """Each kind by itself, below it each category; their questions add up."""
    rows = drawn(30, 1)
    questions = read(tmp_path, rows)
    leak = [question(n, "leak", shown={}) for n in range(100, 104)]
    queue = queue_of(tmp_path, questions + leak)
    for person in ("ann", "bob"):
        queue.submit(person, leak[0].id, "accept")
    queue.submit("ann", leak[1].id, "accept")
    found = measure_agreement(tmp_path, questions + leak, draws=100)
    assert [(g.kind, g.category, g.questions) for g in found] == [
        ("leak", None, 1), ("verify-trace", None, 30), ("verify-trace", "a", 15), ("verify-trace", "b", 15),
    ]  # fmt: skip
    odd = [both for n, both in enumerate(rows) if n % 2]
    assert found[3].kappa is not None
    assert found[3].kappa.value == pytest.approx(cohen_kappa_score(*zip(*odd, strict=True)))
    only = measure_agreement(tmp_path, questions + leak, kind="leak", draws=0)
    assert [g.kind for g in only] == ["leak"]
    with pytest.raises(UsageError, match="did you mean 'leak'"):
        measure_agreement(tmp_path, questions + leak, kind="leaks")


def test_intervals_are_over_whole_items_and_repeat(tmp_path: Path) -> None:
    """Two questions an item are one cluster; so few need no draws, and the seed says nothing."""
    questions = read(tmp_path, drawn(60, 2))
    one, other = (measure_agreement(tmp_path, questions, seed=7)[0] for _ in range(2))
    assert one == other
    assert (one.share.n, one.share.clusters) == (60, 30)
    for span in (one.share, one.kappa, one.ac1, one.alpha):
        assert span is not None
        assert span.low is not None
        assert span.high is not None
        assert span.value is not None
        assert span.low < span.value < span.high
    assert measure_agreement(tmp_path, questions, seed=8)[0] == one


def test_third_reads_and_what_was_taken_back_do_not_count(tmp_path: Path) -> None:
    """Agreement is that of the two blinded reads as they stand."""
    questions = read(tmp_path, [("accept", "reject")] * 3 + [("accept", "accept")] * 5)
    before = measure_agreement(tmp_path, questions, draws=0)
    queue = queue_of(tmp_path, questions)
    queue.submit("cem", questions[0].id, "reject")
    assert measure_agreement(tmp_path, questions, draws=0) == before
    queue.undo("bob")
    assert measure_agreement(tmp_path, questions, draws=0)[0].questions == 7


def test_with_more_people_kappa_is_given_by_pairs(tmp_path: Path) -> None:
    """Kappa belongs to two people; with three it stands by pair, and alpha for all."""
    questions = [question(n) for n in range(30)]
    queue = queue_of(tmp_path, questions)
    random_ = random.Random(3)
    said: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for n, asked in enumerate(questions):
        people = [("ann", "bob"), ("ann", "cem"), ("bob", "cem")][n % 3]
        both = (random_.choice(("accept", "reject")), random_.choice(("accept", "reject")))
        said.setdefault(people, []).append(both)
        for person, verdict in zip(people, both, strict=True):
            queue.submit(person, asked.id, verdict)
    found = measure_agreement(tmp_path, questions, draws=50)[0]
    assert found.kappa is None
    assert found.alpha.value is not None
    assert [(p.first, p.second) for p in found.pairs] == sorted(said)
    for pair in found.pairs:
        expected = cohen_kappa_score(*zip(*said[pair.first, pair.second], strict=True))
        assert pair.agreement.kappa.value == pytest.approx(expected)
    import json

    assert json.loads(json.dumps(found.as_dict()))["pairs"][0]["first"] == "ann"
