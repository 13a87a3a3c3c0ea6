"""Metrics of multiple choice: accuracy, calibration, and bias by position or length.

A case without an answer counts as wrong, chooses no position, and counts as fully confident in a
wrong option: what is missing never improves a number.
"""

from __future__ import annotations

import math
import re
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
    names = {name for row in sample.rows for name in row}
    ends = {n.partition(":")[2] for n in names if n.partition(":")[0] in (chosen, key)}
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
    ACCURACY, ANSWER_ACCURACY, ANSWER_RATE, POSITION_BIAS, LENGTH_BIAS, CALIBRATION_ERROR, BRIER, LOG_LOSS
)
