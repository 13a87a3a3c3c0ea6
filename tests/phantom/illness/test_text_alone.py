"""Pictures are needed: readers of text alone guess, and would notice if text told the key."""

from __future__ import annotations

import pytest

from overread.core import Entry
from overread.phantom.visit import PatientSettings
from tools.measure import text_only as tool

SETTINGS = PatientSettings(seed=0)


@pytest.fixture(scope="module")
def few() -> tuple[list[Entry], list[Entry]]:
    train = tool.draw_cases(1001, 2000, SETTINGS, control=False)
    return train, tool.draw_cases(1, 1000, SETTINGS, control=False)


BLIND = (
    "most frequent letter",
    "longest option",
    "word overlap",
    "bag of words, logistic",
    "diagnosis names, logistic",
)
SLOW = "numbers and names, boosted"


@pytest.mark.parametrize("name", BLIND)
def test_text_alone_guesses(few: tuple[list[Entry], list[Entry]], name: str) -> None:
    """On 1,000 cases no reader of text alone is above the 99.9 % bound of chance."""
    assert {*BLIND, SLOW} == set(tool.BLIND)
    assert tool.accuracy(tool.BLIND[name], *few) <= 0.2 + 3.09 * (0.16 / 1000) ** 0.5


def test_findings_and_key_do_better(few: tuple[list[Entry], list[Entry]]) -> None:
    """The oracle is always right, and a trained reader of imaging findings nearly always."""
    assert tool.accuracy(tool.oracle, *few) == 1
    assert tool.accuracy(tool.findings_words, *few) > 0.95


@pytest.mark.slow
def test_a_history_that_knows_the_key_is_found_out() -> None:
    """With histories drawn from the true diagnosis the same reader is far above chance."""
    train = tool.draw_cases(1001, 1500, SETTINGS, control=True)
    test = tool.draw_cases(1, 400, SETTINGS, control=True)
    assert tool.accuracy(tool.words_of_pairs, train, test) > 0.6


@pytest.mark.slow
def test_text_alone_guesses_on_many_cases() -> None:
    """On 2,000 cases, trained on 8,000 others, each reader stays at or under 22.8 %."""
    test = tool.draw_cases(1, 2000, SETTINGS, control=False)
    train = tool.draw_cases(2001, 8000, SETTINGS, control=False)
    for name, reader in tool.BLIND.items():
        assert tool.accuracy(reader, train, test) <= tool.CEILING, name
    assert tool.accuracy(tool.oracle, train, test) == 1
