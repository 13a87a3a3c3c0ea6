"""Cases that were made here: written whole, or refused with what would be lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import overread
from conftest import read_rows, write_rows
from overread.benchmarks.made import MadeRelease
from overread.core import Entry, Finding, Mask, Step, Trace, Whole
from overread.errors import ReleaseError, UsageError


def truth_with(entry: Entry, **changes: Any) -> Entry:
    assert entry.truth is not None
    return entry.model_copy(update={"truth": entry.truth.model_copy(update=changes)})


def two_findings_on_one_picture(entry: Entry) -> Entry:
    """MedThinkVQA has one caption a picture."""
    assert entry.truth is not None
    more = Finding(text="A second finding.", regions=(Whole(picture="image-1"),))
    return truth_with(entry, findings=(*entry.truth.findings, more))


def a_trace(entry: Entry) -> Entry:
    """MedThinkVQA has no place for a trace."""
    return truth_with(entry, trace=Trace(steps=(Step(kind="say", text="I look."),)))


def swapped_channels(entry: Entry) -> Entry:
    """ReXGroundingCT's channels are in the order of its sentences."""
    assert entry.truth is not None
    swapped = tuple(
        finding.model_copy(
            update={
                "regions": (
                    Mask(
                        picture="ct", file=finding.regions[0].file, channel=1 - number, channels=2
                    ),
                )
            }
        )
        for number, finding in enumerate(entry.truth.findings)
        if isinstance(finding.regions[0], Mask)
    )
    return truth_with(entry, findings=swapped)


def a_report_without_a_cue(entry: Entry) -> Entry:
    """In MMRad's layout a report follows a clause that announces it."""
    assert entry.truth is not None
    assert entry.truth.trace is not None
    return truth_with(entry, trace=Trace(steps=entry.truth.trace.steps[:-1]))


@pytest.mark.parametrize(
    ("benchmark", "change", "lost"),
    [
        ("medthinkvqa", two_findings_on_one_picture, r"truth\.findings"),
        ("medthinkvqa", a_trace, r"truth\.trace"),
        ("rexgroundingct", swapped_channels, r"truth\.findings"),
        ("mmrad", a_report_without_a_cue, r"truth\.report"),
    ],
)
def test_what_a_layout_cannot_hold_is_refused(
    sketch: Path, tmp_path: Path, benchmark: str, change: Callable[[Entry], Entry], lost: str
) -> None:
    """Nothing of a made case is dropped in silence: the writer names it and writes no row."""
    source = overread.load(benchmark, sketch / benchmark)
    entries = [change(entry) for entry in list(source.entries())[1:]]
    made = MadeRelease(benchmark, "test", entries, source.source)
    with pytest.raises(UsageError, match=lost):
        overread.write(made, tmp_path / "out")
    assert not list((tmp_path / "out").glob("test.*"))


@pytest.mark.parametrize("benchmark", ["medthinkvqa", "rexgroundingct", "mmrad"])
def test_made_cases_can_be_made_as_they_are_asked_for(
    sketch: Path, tmp_path: Path, benchmark: str
) -> None:
    """Entries may be a lazy thing that is gone through more than once; they come out equal."""
    source = overread.load(benchmark, sketch / benchmark)

    class Lazily:
        def __iter__(self) -> Any:
            return source.entries()

    made = MadeRelease(benchmark, "test", Lazily(), source.source)
    overread.write(made, tmp_path / "out")
    again = overread.load(benchmark, tmp_path / "out")
    assert list(again.entries()) == list(source.entries())
    assert made.entry("#2") == source.entry("#2")
    picture = next(iter(made)).pictures[0]
    assert (made.pictures.pixels(picture) == source.pictures.pixels(picture)).all()


def test_one_broken_row_keeps_nobody_from_another(copy: Callable[[str], Path]) -> None:
    """A healthy case is found beside a broken one; asking for the broken one says what it is."""
    root = copy("medthinkvqa")
    rows = read_rows(root / "test.jsonl")
    rows[0]["discussion"] = ["The diagnosis is sarcoidosis"]
    write_rows(root / "test.jsonl", rows)
    release = overread.load("medthinkvqa", root)
    assert release.entry("case00004").case.id == "case00004"
    with pytest.raises(ReleaseError) as told:
        release.entry("#1")
    assert "discussion" in str(told.value)
    with pytest.raises(ReleaseError) as told:
        list(release)
    # What was found may be the truth, and this exception may come up in a reader.
    assert "sarcoidosis" not in str(told.value)
    assert "sarcoidosis" in next(iter(overread.check("medthinkvqa", root))).found


def test_a_last_line_without_its_end_is_a_row(copy: Callable[[str], Path]) -> None:
    """One row and no line end: counted, and not passed over by 'all'."""
    root = copy("medthinkvqa")
    line = (root / "test.jsonl").read_bytes().splitlines()[0]
    (root / "test.jsonl").write_bytes(line)
    assert overread.load("medthinkvqa", root).count() == 1
    from overread.benchmarks import splits_of

    assert splits_of("medthinkvqa", root) == ["train", "test"]
    (root / "test.jsonl").write_bytes(b"")
    assert splits_of("medthinkvqa", root) == ["train", "test"]
