"""GREEN: the arithmetic, and the reading of a judge's reply."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.errors import OverreadError
from overread.metrics import Sample
from overread.metrics.clinical.green import ERRORS, green, parse_green
from overread.metrics.clinical.model_scores import METRICS

NAMES = ["False report", "Missing a finding", "Wrong place", "Severity", "Extra comparison", "Lost change"]
PIECES = [
    "[Clinically Significant Errors]", "[Matched Findings]:", "[Clinically Insignificant Errors]:",
    "\n", "(a)", "(f) x", "(3)", "(7)", ": 2", ":", " 12.", "3. a; b", "None.", "No", "0", "9" * 30, "½", "²",
]  # fmt: skip


def section(counts: dict[str, int], *, numbered: bool = False, some: bool = False) -> str:
    lines = []
    for n, (letter, count) in enumerate(counts.items(), 1):
        if some and not count:
            continue
        words = " It measures: 7 mm, not 9; another one." if count else ""
        lines.append(f"({n if numbered else letter}) {NAMES[n - 1]}: {count}.{words}")
    return "\n".join(lines) or "None."


def reply(significant: str, insignificant: str, matched: str) -> str:
    return (
        f":\nBoth agree on 2. things.\n\n[Clinically Significant Errors]:\n{significant}\n\n"
        f"[Clinically Insignificant Errors]:\n{insignificant}\n\n[Matched Findings]:\n{matched}</s>"
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("form", [{}, {"numbered": True}, {"some": True}])
def test_counts_come_back_as_they_were_written(seed: int, form: dict[str, bool]) -> None:
    """All three forms of a section that the published parser reads give the counts behind them."""
    dice = random.Random(seed)
    for _ in range(50):
        counts = {letter: dice.choice([0, 0, 1, 2, 11]) for letter in ERRORS}
        minor = {letter: dice.choice([0, 1]) for letter in ERRORS}
        matched = dice.randint(0, 12)
        told = parse_green(
            reply(section(counts, **form), section(minor, **form), f"{matched}. Nodule; heart.")
        )
        assert (told.matched, dict(told.significant)) == (matched, counts)
        assert dict(told.insignificant) == minor
        errors = sum(counts.values())
        expected = 0.0 if matched == 0 else matched / (matched + errors)
        assert told.score == expected


def test_real_forms() -> None:
    """'None.', a bare number, other cases of letters, headings in any order."""
    told = parse_green(reply("No significant errors.", "None", "0"))
    assert told.score == 0.0
    assert sum(told.significant.values()) == 0
    told = parse_green(
        "[MATCHED FINDINGS]: 2. a; b\n[Clinically significant errors]:\n  (c) Wrong place : 2. x; y"
    )
    assert (told.matched, told.significant["c"], told.score) == (2, 2, 0.5)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no section .Clinically Significant Errors"),
        ("The candidate report is fine.", "no section .Clinically Significant Errors"),
        (":\n[Clinically Significant Errors]:\nNone.\n", "no section .Matched Findings"),
        (reply("(a) False report: 1.", "None", "Nodule; no effusion."), "how many findings matched"),
        (reply("(a) False report: 1.", "None", "No effusion; no nodule."), "how many findings matched"),
        (reply("(a) False report: several.", "None", "2. x"), "no number for .a."),
        (reply("(a) False report: 1.\n(a) False report: 2.", "None", "2. x"), "counts .a. twice"),
        (reply("(a) False report: 1.\n(1) False report: 2.", "None", "2. x"), "counts .1. twice"),
        (reply("There are two.", "None", "2. x"), "counts nothing"),
        (reply("", "None", "2. x"), "counts nothing"),
    ],
)
def test_a_reply_that_cannot_be_read_is_an_error(text: str, why: str) -> None:
    """It says what is missing; no count is guessed."""
    with pytest.raises(OverreadError, match=why):
        parse_green(text)


@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_no_reply_breaks_the_reader(text: str) -> None:
    """Whatever the judge says, there are counts of all six errors, or one sentence why not."""
    try:
        told = parse_green(text)
    except OverreadError as error:
        assert "\n" not in str(error)
        return
    assert list(told.significant) == list(told.insignificant) == list(ERRORS)
    assert 0 <= told.score <= 1


def test_the_score() -> None:
    """Matched over matched and errors; nothing matched is 0, errors or not."""
    assert [green(0, 0), green(0, 3), green(3, 0), green(1, 3)] == [0.0, 0.0, 1.0, 0.25]


def test_unreadable_replies_are_counted_and_not_scored() -> None:
    """One of three replies unreadable: the mean is over the other two, and a third is reported."""
    rows: list[dict[str, Any]] = [
        {"asked": 1, "parsed": 1, "green": 1.0},
        {"asked": 1, "parsed": 1, "green": 0.5},
        {"asked": 1, "parsed": 0, "unparseable": 1, "problem": "…"},
    ]
    assert METRICS["green"].combine(Sample(rows))[0] == 0.75
    assert METRICS["green_unparseable"].combine(Sample(rows))[0] == pytest.approx(1 / 3)
