"""Bugs are counted by their words, and the first few are kept."""

from __future__ import annotations

from overread.runs.tally import Tally


def test_a_bug_is_one_line_with_its_first_case_and_trace() -> None:
    """However long its words are, and whatever is in them."""
    tally = Tally()
    assert tally.note_bug(ValueError("two\nlines \ud800"), "case1") == "ValueError: two lines ?"
    tally.note_bug(ValueError("two lines ?"), "case2")
    [bug] = tally.bugs.values()
    assert (bug.case, bug.count) == ("case1", 2)
    assert "ValueError: two\nlines" in bug.trace
    assert tally.note_bug(KeyError(), "case3") == "KeyError"
    assert len(tally.note_bug(ValueError("x" * 999), "case4")) == 300


def test_only_the_first_bugs_are_kept() -> None:
    """A thousand different ones say no more than ten."""
    tally = Tally()
    for number in range(12):
        tally.note_bug(ValueError(f"{number}"), "case")
    assert len(tally.bugs) == 10
