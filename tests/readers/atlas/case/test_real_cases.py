"""The case part of atlas on real pictures, where they are beside the checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

from overread.benchmarks.medthinkvqa import BENCHMARK
from overread.readers.atlas.case.reading import measure_picture, read_case


@pytest.mark.shared
def test_real_cases_of_all_kinds_are_read(shared: Path) -> None:
    """Heads, knees, abdomens and chests: each gets a choice, all probabilities and a trace."""
    release = BENCHMARK.load(shared / "cases", "test")
    for case in list(release)[:8]:
        reading = read_case(case, release.pictures)
        assert reading.error is None
        assert reading.choice in {option.letter for option in case.options}
        assert sum((reading.probabilities or {}).values()) == pytest.approx(1)
        assert reading.trace is not None
        assert reading.trace.steps


@pytest.mark.shared
def test_most_pictures_of_other_parts_are_not_understood(shared: Path) -> None:
    """Of the first pictures of real cases, hardly any of MRI is taken for a chest."""
    release = BENCHMARK.load(shared / "cases", "train")
    taken = asked = 0
    for entry in list(release.entries())[:25]:
        assert entry.truth is not None
        note = entry.truth.notes[0]
        if note.modality != "MR":
            continue
        asked += 1
        kind = measure_picture(entry.case.pictures[0], release.pictures).kind
        taken += kind.name != "other"
    assert asked >= 5
    assert taken <= 0.25 * asked
