"""What has changed, in words: true to what was measured, and readable by our own rules."""

from __future__ import annotations

import numpy as np
import pytest

from overread.language.statements import find_statements
from overread.phantom.case.change_words import write_change, write_changes
from overread.phantom.case.days import FindingChange
from overread.phantom.illness.draft import Turn
from overread.phantom.statement import FindingStatement

NODULE = FindingStatement(
    category="2d", kind="spiculated", side="right", lobes=("RUL",), size_mm=14, countable=True
)
NODULES = FindingStatement(
    category="2d", kind="solid", side="left", lobes=("LLL",), size_mm=14, count=5, countable=True
)
FINDINGS = [
    NODULE,
    NODULES,
    FindingStatement(category="2b", kind="consolidation", side="left", lobes=("LLL",)),
    FindingStatement(category="2e", kind="effusion", side="right"),
    FindingStatement(category="2c", kind="ground-glass", side="both", lobes=("RLL", "LLL")),
    FindingStatement(category="2h", kind="cavity", side="left", lobes=("LUL",), size_mm=30),
]
EVERY = pytest.mark.parametrize("found", FINDINGS, ids=lambda found: found.kind)


def change_of(found: FindingStatement, turn: Turn, size: int | None = None) -> FindingChange:
    """A change of a finding; of a size only where the finding has one."""
    after = found.model_copy(update={"size_mm": size}) if found.size_mm and size else found
    return FindingChange(
        plan=0,
        turn=turn,
        before=None if turn == "new" else found,
        after=None if turn == "gone" else after,
        ratio={"larger": 2.0, "smaller": 0.5, "same": 1.0}.get(turn),
    )


def wordings(change: FindingChange) -> set[str]:
    """All that is said of a change, by many draws."""
    return {write_change(change, np.random.default_rng(seed)) for seed in range(40)}


@EVERY
@pytest.mark.parametrize("turn", ["gone", "smaller", "same", "larger", "new"])
def test_every_change_is_read_as_it_is(found: FindingStatement, turn: Turn) -> None:
    """What is gone is read as absent and the rest as present, in its place, with its new size."""
    more = {"larger": 7, "smaller": -5}.get(turn)
    size = found.size_mm + more if found.size_mm and more else None
    told = wordings(change_of(found, turn, size))
    assert len(told) >= 3
    for text in told:
        assert text[0].isupper()
        assert text.endswith(".")
        assert "{" not in text
        (read,) = find_statements(text)
        assert read.category == found.category
        assert read.presence == ("absent" if turn == "gone" else "present")
        assert read.side == found.side
        assert read.lobes == found.lobes
        assert read.size_mm == size


def test_sizes_that_tell_another_story_are_not_told() -> None:
    """A volume that grew while the longest axis did not is told without a size."""
    for size in (14, 13):
        for text in wordings(change_of(NODULE, "larger", size)):
            assert "mm" not in text


def test_both_sizes_of_a_nodule_are_told() -> None:
    """From what to what, of one and of several."""
    for found in (NODULE, NODULES):
        for text in wordings(change_of(found, "larger", 21)):
            assert "from 14 to 21 mm" in text


def test_all_changes_are_told_and_the_rest_is_said_to_be_the_same() -> None:
    """One sentence for each change, led by the interval; unchanged findings are summed up."""
    found = [change_of(FINDINGS[0], "larger", 21), change_of(FINDINGS[2], "gone")]
    found += [change_of(FINDINGS[3], "same"), change_of(FINDINGS[4], "same")]
    for seed in range(10):
        rng = np.random.default_rng(seed)
        text = write_changes(found, rng, interval="six weeks")
        assert "six weeks" in text.split(",")[0]
        read = {one.category: one.presence for one in find_statements(text)}
        assert read["2d"] == "present"
        assert read["2b"] == "absent"
        assert text.endswith(("unchanged.", "stable."))
        assert "effusion" not in text


def test_no_change_is_said_to_be_none() -> None:
    """Where nothing has changed that is what is said."""
    rng = np.random.default_rng(0)
    assert write_changes([change_of(NODULE, "same")], rng) == "The findings are unchanged."
