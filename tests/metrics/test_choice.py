"""Choosing an option: held to scikit-learn and to plain counting."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, foldnorm
from sklearn.metrics import accuracy_score, brier_score_loss
from sklearn.metrics import log_loss as sklearn_log_loss

from overread.core import Case, Entry, Image, Option, PictureNote, Reading, Truth
from overread.metrics import Metric, Sample, Subject
from overread.metrics import choice as c
from overread.metrics.groups import find_groups
from tools.measure.coverage import calibration_bias

LETTERS = "ABCDE"


def entry(number: int, answer: str, dice: random.Random) -> Entry:
    options = tuple(Option(letter=a, text="x" * dice.randint(1, 30)) for a in LETTERS)
    case = Case(id=f"c{number}", benchmark="medthinkvqa", split="test", options=options)
    return Entry(case=case, truth=Truth(answer=answer))


def many(n: int, seed: int, *, answered: float = 0.9) -> list[tuple[Entry, Reading | None]]:
    """Random cases and readings with probabilities, some of them missing or failed."""
    dice = random.Random(seed)
    found: list[tuple[Entry, Reading | None]] = []
    for number in range(n):
        one = entry(number, dice.choice(LETTERS), dice)
        if dice.random() > answered:
            failed = Reading(case_id=one.case.id, reader="r", choice="A", error="cut off")
            found.append((one, dice.choice([None, failed])))
            continue
        weights = [dice.random() ** 3 + 1e-3 for _ in LETTERS]
        chances = {a: w / sum(weights) for a, w in zip(LETTERS, weights, strict=True)}
        top = max(LETTERS, key=lambda a: chances[a])
        found.append((one, Reading(case_id="c", reader="r", choice=top, probabilities=chances)))
    return found


def value(metric: Metric, cases: list[tuple[Entry, Reading | None]]) -> float:
    rows = [row for e, r in cases for row in metric.measure(Subject(e, r)).values()]
    return float(metric.combine(Sample(rows))[0])


def answer_of(one: Entry) -> str:
    assert one.truth is not None
    assert one.truth.answer is not None
    return one.truth.answer


@pytest.mark.parametrize("seed", range(5))
def test_accuracy_is_scikit_learns_with_no_answer_as_a_wrong_one(seed: int) -> None:
    """Missing and failed readings count as an answer that is none of the options."""
    cases = many(200, seed)
    chosen = [r.choice or "" if r and not r.error else "none" for _, r in cases]
    keys = [answer_of(e) for e, _ in cases]
    assert value(c.ACCURACY, cases) == pytest.approx(accuracy_score(keys, chosen))
    assert value(c.ANSWER_RATE, cases) == pytest.approx(np.mean([x != "none" for x in chosen]))


@pytest.mark.parametrize("seed", range(5))
def test_brier_and_log_loss_are_scikit_learns(seed: int) -> None:
    """Where every case comes with probabilities the scores are scikit-learn's."""
    cases = many(150, seed, answered=2)
    keys = [answer_of(e) for e, _ in cases]
    table = [[r.probabilities[a] for a in LETTERS] for _, r in cases if r and r.probabilities]
    ours = value(c.BRIER, cases)
    theirs = brier_score_loss(keys, table, labels=list(LETTERS), scale_by_half=False)
    assert ours == pytest.approx(theirs)
    assert value(c.LOG_LOSS, cases) == pytest.approx(sklearn_log_loss(keys, table, labels=list(LETTERS)))


@pytest.mark.parametrize("seed", range(5))
def test_calibration_error_is_the_plain_one(seed: int) -> None:
    """Bins (0, 1/15], (1/15, 2/15], …: |share right − mean confidence|, weighted by size."""
    cases = many(300, seed, answered=2)
    bins: dict[int, list[tuple[float, bool]]] = {}
    for e, r in cases:
        assert r is not None
        assert r.probabilities is not None
        sure = max(r.probabilities.values())
        place = next(k for k in range(15) if sure <= (k + 1) / 15 or k == 14)
        bins.setdefault(place, []).append((sure, r.choice == answer_of(e)))
    plain = sum(
        abs(np.mean([ok for _, ok in found]) - np.mean([s for s, _ in found])) * len(found)
        for found in bins.values()
    ) / len(cases)
    assert value(c.CALIBRATION_ERROR, cases) == pytest.approx(float(plain))
    rows = [row for e, r in cases for row in c.measure_choice(Subject(e, r)).values()]
    curve = c.reliability(Sample(rows))
    assert [point["n"] for point in curve] == [len(bins[k]) for k in sorted(bins)]


@pytest.mark.parametrize("seed", range(8))
def test_debiased_calibration_error_is_the_root_that_scipy_finds(seed: int) -> None:
    """Gaps times one number, scattered, are as large as those found; all summed up by hand."""
    cases = many((20, 60, 300, 1000)[seed % 4], seed, answered=2)
    if seed > 3:  # calibrated ones, whose gaps are mostly scatter
        dice = np.random.default_rng(seed)
        for place, (e, r) in enumerate(cases):
            assert r is not None
            assert r.probabilities is not None
            chances = r.probabilities
            top = max(chances, key=lambda a: chances[a])
            key = top if dice.random() < chances[top] else next(a for a in LETTERS if a != top)
            cases[place] = (e.model_copy(update={"truth": Truth(answer=key)}), r)
    rows = [row for e, r in cases for row in c.measure_choice(Subject(e, r)).values()]
    bins = []
    for place in range(15):
        n = sum(row.get(f"bin:{place}:n", 0) for row in rows)
        if n:
            sure = sum(row.get(f"bin:{place}:sure", 0) for row in rows)
            right = sum(row.get(f"bin:{place}:right", 0) for row in rows)
            counts = np.arange(n + 1)
            chance = float((binom.pmf(counts, n, sure / n) * abs(counts - sure)).sum())
            bins.append((abs(right - sure), chance))
    seen, scatter = sum(g for g, _ in bins), sum(k for _, k in bins)

    def excess(part: float) -> float:
        sizes = [k * np.sqrt(np.pi / 2) for _, k in bins]
        sums = sum(foldnorm.mean(part * g / s, scale=s) for (g, _), s in zip(bins, sizes, strict=True))
        return float(sums - seen)

    plain = seen * brentq(excess, 0, 1, xtol=1e-12) if seen > scatter else seen - scatter
    assert value(c.CALIBRATION_ERROR_DEBIASED, cases) == pytest.approx(plain / len(cases), abs=1e-8)


def test_debiased_calibration_error_is_near_the_truth() -> None:
    """Of 100 cases the plain error shows .10 where there is none; this one is within .03 of the truth."""
    random = np.random.default_rng(0)
    none, some = (calibration_bias(random, 100, 200, too_sure=by) for by in (0.0, 0.1))
    assert none.plain > 0.09
    assert abs(none.debiased) < 0.03
    assert abs(some.debiased - 0.1) < 0.03


def test_without_probabilities_calibration_is_worst() -> None:
    """A choice without probabilities is as sure and as wrong as can be."""
    dice = random.Random(1)
    cases: list[tuple[Entry, Reading | None]] = [
        (entry(n, "A", dice), Reading(case_id="c", reader="r", choice="A")) for n in range(4)
    ]
    for metric in (c.BRIER, c.LOG_LOSS, c.CALIBRATION_ERROR, c.CALIBRATION_ERROR_DEBIASED):
        assert value(metric, cases) == pytest.approx(metric.worst)


@pytest.mark.parametrize(
    "metric", [m for m in c.METRICS.values() if m is not c.ANSWER_ACCURACY], ids=lambda metric: metric.name
)
@pytest.mark.parametrize("seed", range(3))
def test_a_case_more_that_is_missing_never_helps(metric: Metric, seed: int) -> None:
    """Leaving one answer out makes no number better, not even among unsure answers."""
    cases = many(25, seed, answered=2)
    unsure: list[tuple[Entry, Reading | None]] = []
    for e, _ in cases:
        key = answer_of(e)
        chances = {a: 0.95 if a == key else 0.0125 for a in LETTERS}
        own = Reading(case_id=e.case.id, reader="r", choice=key, probabilities=chances)
        unsure.append((e, own))
    for readings in (cases, unsure):
        full = value(metric, readings)
        for place in range(len(readings)):
            less = [(e, None if n == place else r) for n, (e, r) in enumerate(readings)]
            worse = full - value(metric, less)
            # What chance adds is estimated from all bins, and moves a little with every case.
            hair = 0.02 if metric is c.CALIBRATION_ERROR_DEBIASED else 1e-12
            assert worse * (1 if metric.better == "higher" else -1) >= -hair or np.isnan(full)


@pytest.mark.parametrize("seed", range(5))
def test_biases_are_the_share_that_would_have_to_move(seed: int) -> None:
    """Position and length bias equal half the summed difference of plain counts."""
    cases = many(120, seed)
    chosen = [r.choice or "" if r and not r.error else "none" for _, r in cases]
    keys = [answer_of(e) for e, _ in cases]
    assert value(c.POSITION_BIAS, cases) == pytest.approx(_apart(chosen, keys))
    ranks = []
    for e, _ in cases:
        texts = sorted(e.case.options, key=lambda o: (-len(o.text), o.letter))
        ranks.append({o.letter: n for n, o in enumerate(texts)} | {"none": -1})
    by_length = [r[x] for r, x in zip(ranks, chosen, strict=True)]
    right = [r[x] for r, x in zip(ranks, keys, strict=True)]
    assert value(c.LENGTH_BIAS, cases) == pytest.approx(_apart(by_length, right))


def _apart(one: Sequence[object], two: Sequence[object]) -> float:
    a, b = Counter(one), Counter(two)
    return sum(abs(a[k] - b[k]) for k in a.keys() | b.keys()) / 2 / len(one)


def test_always_the_first_position_is_seen() -> None:
    """A reader that always says A on keys spread evenly is four fifths biased."""
    dice = random.Random(0)
    cases: list[tuple[Entry, Reading | None]] = [
        (entry(n, LETTERS[n % 5], dice), Reading(case_id="c", reader="r", choice="A")) for n in range(50)
    ]
    assert value(c.POSITION_BIAS, cases) == pytest.approx(0.8)
    assert value(c.ACCURACY, cases) == pytest.approx(0.2)


def test_an_answer_that_is_no_option_is_no_answer() -> None:
    """'F' is counted as not answered, and wrong."""
    one = entry(1, "A", random.Random(0))
    row = c.measure_choice(Subject(one, Reading(case_id="c", reader="r", choice="F")))[""]
    assert (row["right"], row["answered"], row["asked"]) == (0, 0, 1)


def test_a_case_without_a_key_is_not_judged() -> None:
    """Where the truth is withheld there is nothing to count."""
    one = entry(1, "A", random.Random(0)).model_copy(update={"truth": None})
    assert c.measure_choice(Subject(one, None)) == {}


def test_groups_of_a_case() -> None:
    """A case is in every modality it shows, one size class, one chapter, one letter."""
    options = tuple(Option(letter=a, text="y" * n) for n, a in enumerate(LETTERS, 1))
    case = Case(
        id="c",
        benchmark="medthinkvqa",
        split="test",
        options=options,
        pictures=tuple(Image(name=f"image-{n}") for n in range(1, 5)),
    )
    notes = [PictureNote(picture="image-1", modality="ct"), PictureNote(picture="image-2", modality="MRI")]
    truth = Truth(answer="E", notes=tuple(notes), longitudinal=True, icd_chapter="X")
    one = Entry(case=case, truth=truth)
    assert find_groups(one, "") == {
        "modality": ("CT", "MRI"),
        "images": ("4–6",),
        "longitudinal": ("longitudinal",),
        "icd chapter": ("X",),
        "right option": ("E",),
        "longest option": ("is right",),
    }
    assert find_groups(one, "image-2")["modality"] == ("MRI",)
