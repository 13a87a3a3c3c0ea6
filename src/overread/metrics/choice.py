"""Metrics of multiple choice: accuracy, calibration, and bias by position or length.

A case without an answer counts as wrong, chooses no position, and counts as fully confident in a
wrong option: what is missing never improves a number.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from overread.core import Option, Reading
from overread.metrics.contract import Measured, Metric, Subject, by_name, stored_as
from overread.metrics.sample import Numbers, Sample, safe_divide
from overread.metrics.shares import share_metric

BINS = 15
"""Equally wide bins of confidence for the calibration error."""
FLOOR = 1e-12
"""The smallest probability that the log score believes: -ln(FLOOR), 27.6, is its worst value."""
_STEPS = 8
"""Newton's steps in which the debiased calibration error is found: to nine decimals and more."""
LENGTHS = 5
"""Ranks of length that are told apart, 1 the longest; what comes after counts as the last."""

_NONE = "none"


@stored_as("choice.measure_choice")
def measure_choice(subject: Subject) -> Measured:
    """One row a case: right or not, which position and length was chosen, how sure it was.

    >>> from overread.core import Case, Entry, Truth
    >>> options = tuple(Option(letter=a, text=a * n) for a, n in (("A", 3), ("B", 9)))
    >>> case = Case(id="c", benchmark="medthinkvqa", split="test", options=options)
    >>> entry = Entry(case=case, truth=Truth(answer="B"))
    >>> reading = Reading(case_id="c", reader="r", choice="A")
    >>> row = measure_choice(Subject(entry, reading))[""]
    >>> row["right"], row["chose:A"], row["key:B"], row["chose_length:2"]
    (0, 1, 1, 1)
    """
    truth, options = subject.entry.truth, subject.entry.case.options
    if truth is None or truth.answer is None or not options:
        return {}
    reading = subject.usable_reading
    choice = reading.choice if reading else None
    letters = {option.letter for option in options}
    chosen = choice if choice in letters else _NONE
    ranks = length_ranks(options)
    shown = _shown_letters(reading, options)
    row: dict[str, Any] = {
        "asked": 1,
        "answered": int(chosen != _NONE),
        "right": int(chosen == truth.answer),
        f"chose:{shown.get(chosen, chosen)}": 1,
        f"key:{shown.get(truth.answer, truth.answer)}": 1,
        f"chose_length:{ranks.get(chosen, _NONE)}": 1,
        f"key_length:{ranks.get(truth.answer, _NONE)}": 1,
    }
    return {"": row | _calibration_row(reading, truth.answer, [option.letter for option in options])}


def _shown_letters(reading: Reading | None, options: tuple[Option, ...]) -> dict[str, str]:
    """The release's letter → the one it was shown under, where the order was another."""
    order = reading.order if reading else None
    letters = [option.letter for option in options]
    if order is None or sorted(order) != sorted(letters):
        return {}
    return dict(zip(order, letters, strict=True))


@stored_as("choice.measure_answer")
def measure_answer(subject: Subject) -> Measured:
    """One row a question without options: whether the answer says what the reference says."""
    truth = subject.entry.truth
    if truth is None or not truth.answer_text or subject.entry.case.options:
        return {}
    reading = subject.usable_reading
    given = normalise_answer(reading.choice or "") if reading else ""
    right = bool(given) and given == normalise_answer(truth.answer_text)
    return {"": {"asked": 1, "answered": int(bool(given)), "right": int(right)}}


def normalise_answer(text: str) -> str:
    """A text as it is compared: its words in lower case, without punctuation.

    >>> normalise_answer(" Yes, left-sided. ")
    'yes left sided'
    """
    return " ".join(re.findall(r"\w+", text.casefold()))


def length_ranks(options: tuple[Option, ...]) -> dict[str, int]:
    """Letter → rank of its text by length, 1 the longest; equally long ones by their letter."""
    ordered = sorted(options, key=lambda option: (-len(option.text), option.letter))
    return {option.letter: min(n, LENGTHS) for n, option in enumerate(ordered, 1)}


def _calibration_row(reading: Reading | None, answer: str, letters: list[str]) -> dict[str, Any]:
    """Statistics of calibration; without probabilities an answer counts as certain and wrong."""
    told = reading.probabilities if reading else None
    if not told or not math.isfinite(sum(told.values())) or sum(told.values()) <= 0:
        # A bin of their own: among unsure answers that are right they would even things out.
        worst = {"brier": 2.0, "log_loss": -math.log(FLOOR)}
        return {**worst, f"bin:{BINS}:n": 1, f"bin:{BINS}:sure": 1.0}
    total = sum(told.values())
    chances = {letter: told.get(letter, 0.0) / total for letter in letters}
    top = max(letters, key=lambda letter: chances[letter])
    sure = chances[top]
    place = min(max(math.ceil(sure * BINS) - 1, 0), BINS - 1)
    return {
        "brier": sum((chances[a] - (a == answer)) ** 2 for a in letters),
        "log_loss": -math.log(max(chances.get(answer, 0.0), FLOOR)),
        f"bin:{place}:n": 1,
        f"bin:{place}:sure": sure,
        f"bin:{place}:right": int(top == answer),
    }


def calibration_error(sample: Sample) -> Numbers:
    """Mean over cases of how far the bin's share of right answers is from its mean confidence."""
    gap = np.zeros(sample.draws)
    for place in range(BINS + 1):
        sure, right = sample.total(f"bin:{place}:sure"), sample.total(f"bin:{place}:right")
        gap += np.abs(right - sure)
    return safe_divide(gap, sample.total("asked"))


def calibration_error_debiased(sample: Sample) -> Numbers:
    """The calibration error that a reader must have who shows, chance included, the one found.

    Even a perfectly calibrated reader's shares of right answers scatter about its confidence, and the
    fewer cases, the more. So the gaps of all bins are taken times one number from 0 to 1, such that these
    gaps with their scatter (normal, of the size of a binomial count's) are on the average as large as
    those found; the answer is what is left of them. Where the gaps found are no larger than scatter
    alone makes them, it is how far they stay below that: 0 or less.

    >>> fair = [{"asked": 1, "bin:7:n": 1, "bin:7:sure": 0.5, "bin:7:right": i % 2} for i in range(4)]
    >>> calibration_error(Sample(fair)), calibration_error_debiased(Sample(fair))
    (array([0.]), array([-0.1875]))
    """
    bins = range(BINS + 1)
    n, sure, right = (
        np.stack([sample.total(f"bin:{place}:{name}") for place in bins], axis=1)
        for name in ("n", "sure", "right")
    )
    gaps, chance = np.abs(right - sure), expected_gap(n, safe_divide(sure, n))
    # Where a bin is certain there is no scatter: its gap, say that of missing answers, counts whole.
    certain = np.where(chance > 0, 0.0, gaps).sum(axis=1)
    gaps = np.where(chance > 0, gaps, 0.0)
    seen, scatter = gaps.sum(axis=1), chance.sum(axis=1)
    left = seen - scatter
    above = left > 0
    left[above] = seen[above] * _true_part(gaps[above], chance[above])
    return safe_divide(certain + left, sample.total("asked"))


def _true_part(gaps: Numbers, chance: Numbers) -> Numbers:
    """For each line, the part of the gaps that with scatter is on the average as large as the gaps.

    By Newton's steps for the square of that part: what is sought is concave in it, so that every step
    stays below the answer and comes nearer.
    """
    from scipy.special import ndtr

    root = math.sqrt(2 / math.pi)
    spread = np.where(chance > 0, chance, 1.0) / root
    gaps = np.where(chance > 0, gaps, 0.0)
    apart, wanted = gaps / spread, gaps.sum(axis=1) - chance.sum(axis=1)
    square = np.minimum(1.0, wanted / (spread * apart**2 * root / 2).sum(axis=1))
    for _ in range(_STEPS):
        part = np.sqrt(square)
        scaled = part[:, None] * apart
        rise = gaps * (1 - 2 * ndtr(-scaled))
        reached = (spread * root * np.expm1(-(scaled**2) / 2) + part[:, None] * rise).sum(axis=1)
        square = np.clip(square + (wanted - reached) * 2 * part / rise.sum(axis=1), 0.0, 1.0)
    found: Numbers = np.sqrt(square)
    return found


def expected_gap(n: Numbers, share: Numbers) -> Numbers:
    """How far a binomial count is from n times the share, on the average (de Moivre); 0 for n = 0.

    >>> expected_gap(np.array([1.0, 2.0, 0.0]), np.array([0.5, 0.5, np.nan]))
    array([0.5, 0.5, 0. ])
    """
    from scipy.special import gammaln, xlogy

    gaps = np.zeros(n.shape)
    # Confidences that add up to a hair more than their number are certain.
    uncertain = (n > 0) & (share > 0) & (share < 1 - 1e-12)
    count, chance = n[uncertain], share[uncertain]
    above = np.floor(count * chance) + 1
    ways = gammaln(count + 1) - gammaln(above + 1) - gammaln(count - above + 1)
    gaps[uncertain] = 2 * above * np.exp(ways + xlogy(above, chance) + xlogy(count - above + 1, 1 - chance))
    return gaps


def reliability(sample: Sample) -> list[dict[str, float]]:
    """The calibration curve of the first draw: for each bin that is used, n, confidence, right.

    Cases without probabilities are not on it.
    """
    curve = []
    for place in range(BINS):
        n = float(sample.total(f"bin:{place}:n")[0])
        if n:
            sure = float(sample.total(f"bin:{place}:sure")[0])
            right = float(sample.total(f"bin:{place}:right")[0])
            curve.append({"n": n, "confidence": sure / n, "right": right / n})
    return curve


def position_bias(sample: Sample) -> Numbers:
    """How far the positions chosen are from the positions of the right options."""
    return _distribution_distance(sample, "chose", "key")


def length_bias(sample: Sample) -> Numbers:
    """How far the lengths chosen, as ranks, are from the lengths of the right options."""
    return _distribution_distance(sample, "chose_length", "key_length")


def _distribution_distance(sample: Sample, chosen: str, key: str) -> Numbers:
    """Half the summed difference of two distributions: the share that would have to move."""
    ends = {n.partition(":")[2] for n in sample.names if n.partition(":")[0] in (chosen, key)}
    moved = np.zeros(sample.draws)
    for end in sorted(ends):
        moved += np.abs(sample.total(f"{chosen}:{end}") - sample.total(f"{key}:{end}"))
    return safe_divide(moved / 2, sample.total("asked"))


_share = partial(share_metric, needs=("choice",), bottom="asked")

ACCURACY = _share(
    "accuracy",
    "share of cases answered right; what was not answered is wrong",
    measure=measure_choice,
    top="right",
    reference="scikit-learn accuracy_score",
    symmetric=True,
    binary="right",
)
ANSWER_ACCURACY = _share(
    "answer_accuracy",
    "share of questions without options whose answer has the reference's words",
    measure=measure_answer,
    top="right",
    reference="counted in the tests",
    settings={"compared": "lower case, without punctuation"},
    binary="right",
)
ANSWER_RATE = _share(
    "answer_rate",
    "share of cases answered with one of the options",
    measure=measure_choice,
    top="answered",
    reference="counted in the tests",
)
POSITION_BIAS = Metric(
    name="position_bias",
    about="share of choices that would have to move for A to E to be chosen as often as right",
    better="lower",
    needs=("choice",),
    measure=measure_choice,
    combine=position_bias,
    best=0.0,
    worst=1.0,
    reference="total variation distance, counted in the tests",
    symmetric=True,
)
LENGTH_BIAS = Metric(
    name="length_bias",
    about="the same for the longest, second longest, … option",
    better="lower",
    needs=("choice",),
    measure=measure_choice,
    combine=length_bias,
    best=0.0,
    worst=1.0,
    reference="total variation distance, counted in the tests",
    settings={"ties": "the earlier letter counts as longer"},
    symmetric=True,
)
CALIBRATION_ERROR = Metric(
    name="calibration_error",
    about="expected calibration error of the most likely option",
    better="lower",
    needs=("probabilities",),
    measure=measure_choice,
    combine=calibration_error,
    best=0.0,
    worst=1.0,
    reference="brute force in the tests",
    settings={"bins": BINS, "width": "equal", "missing": "sure and wrong, in a bin of their own"},
)
CALIBRATION_ERROR_DEBIASED = replace(
    CALIBRATION_ERROR,
    name="calibration_error_debiased",
    about="the same without what chance adds: about 0 for a reader who is perfectly calibrated",
    combine=calibration_error_debiased,
    reference="binomial counts summed up and a root found by scipy in the tests",
    settings={**CALIBRATION_ERROR.settings, "chance": "binomial in each bin, at its mean confidence"},
)
BRIER = Metric(
    name="brier",
    about="Brier score over all options: 0 sure and right, 2 sure and wrong",
    better="lower",
    needs=("probabilities",),
    measure=measure_choice,
    combine=partial(Sample.ratio, top="brier", bottom="asked"),
    best=0.0,
    worst=2.0,
    reference="scikit-learn brier_score_loss",
)
LOG_LOSS = Metric(
    name="log_loss",
    about="minus the logarithm of the right option's probability",
    better="lower",
    needs=("probabilities",),
    measure=measure_choice,
    combine=partial(Sample.ratio, top="log_loss", bottom="asked"),
    best=0.0,
    worst=-math.log(FLOOR),
    reference="scikit-learn log_loss",
    settings={"floor": FLOOR},
)

METRICS = by_name(
    ACCURACY,
    ANSWER_ACCURACY,
    ANSWER_RATE,
    POSITION_BIAS,
    LENGTH_BIAS,
    CALIBRATION_ERROR,
    CALIBRATION_ERROR_DEBIASED,
    BRIER,
    LOG_LOSS,
)
