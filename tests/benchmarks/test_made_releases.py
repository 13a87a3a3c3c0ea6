"""Cases that were made here: written whole, or refused with what would be lost."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest

import overread
from overread.benchmarks.memory_release import MemoryRelease
from overread.core import Entry, Finding, Mask, Step, Trace, Whole
from overread.errors import ReleaseError, UsageError
from tests.jsonl_rows import read_rows, write_rows


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
                "regions": (Mask(picture="ct", file=finding.regions[0].file, channel=1 - number, channels=2),)
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


def a_question_in_between(entry: Entry) -> Entry:
    """MMRad's layout knows looks, words and a conclusion, and no questions."""
    assert entry.truth is not None
    assert entry.truth.trace is not None
    asked = Step(kind="ask", text="Is there an effusion? ")
    return truth_with(entry, trace=Trace(steps=(asked, *entry.truth.trace.steps)))


@pytest.mark.parametrize(
    ("benchmark", "change", "lost"),
    [
        ("medthinkvqa", two_findings_on_one_picture, r"truth\.findings"),
        ("medthinkvqa", a_trace, r"truth\.trace"),
        ("rexgroundingct", swapped_channels, r"truth\.findings"),
        ("mmrad", a_report_without_a_cue, r"truth\.report"),
        ("mmrad", a_question_in_between, r"truth\.trace"),
    ],
)
def test_what_a_layout_cannot_hold_is_refused(
    sketch: Path, tmp_path: Path, benchmark: str, change: Callable[[Entry], Entry], lost: str
) -> None:
    """Nothing of a made case is dropped in silence: the writer names it and writes no row."""
    source = overread.load(benchmark, sketch / benchmark)
    entries = [change(entry) for entry in list(source.entries())[1:]]
    made = MemoryRelease(benchmark, "test", entries, source.source)
    with pytest.raises(UsageError, match=lost):
        overread.write(made, tmp_path / "out")
    assert not list((tmp_path / "out").glob("test.*"))


@pytest.mark.parametrize("benchmark", ["medthinkvqa", "rexgroundingct", "mmrad"])
def test_made_cases_can_be_made_as_they_are_asked_for(sketch: Path, tmp_path: Path, benchmark: str) -> None:
    """Entries may be a lazy thing that is gone through more than once; they come out equal."""
    source = overread.load(benchmark, sketch / benchmark)

    class Lazily:
        def __iter__(self) -> Any:
            return source.entries()

    made = MemoryRelease(benchmark, "test", Lazily(), source.source)
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


def test_two_writers_in_one_folder_lose_nothing(sketch: Path, tmp_path: Path) -> None:
    """Two splits of one list at once: both are there; one split twice at once: it is there, whole."""
    words = [sys.executable, "-m", "overread", "write"]
    root = sketch / "rexgroundingct"
    both = [
        subprocess.Popen([*words, "rexgroundingct", root, tmp_path / "a", "--split", split])
        for split in ("train", "test")
    ]
    assert [process.wait(300) for process in both] == [0, 0]
    for split in ("train", "test"):
        again = overread.load("rexgroundingct", tmp_path / "a", split)
        assert list(again.entries()) == list(overread.load("rexgroundingct", root, split).entries())
    same = [
        subprocess.Popen([*words, "mmrad", sketch / "mmrad", tmp_path / "b"], stderr=subprocess.DEVNULL)
        for _ in range(2)
    ]
    assert [process.wait(300) for process in same] == [0, 0]
    assert list(overread.check("mmrad", tmp_path / "b")) == []


@pytest.mark.parametrize("benchmark", ["medthinkvqa", "mmrad", "rexgroundingct"])
def test_a_write_that_was_cut_off_is_taken_up_again(sketch: Path, tmp_path: Path, benchmark: str) -> None:
    """Whatever part of it is there, and with parts half written, the same command completes it."""

    def write() -> dict[str, bytes]:
        release = overread.load(benchmark, sketch / benchmark, "test")
        overread.write(release, tmp_path / "out")
        files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
        return {str(path.relative_to(tmp_path)): path.read_bytes() for path in files}

    whole = write()
    for gone in list(whole)[:: max(1, len(whole) // 6)]:
        (tmp_path / gone).unlink()
        (tmp_path / gone).with_name(f".{'0' * 32}.part").write_bytes(b"half")
        assert write() == whole
    assert write() == whole


def test_a_mended_mask_never_replaces_another(copy: Callable[[str], Path], tmp_path: Path) -> None:
    """A mask that is written anew is held against what stands there, as a copied one is."""
    root = copy("rexgroundingct")
    overread.write(overread.load("rexgroundingct", root), tmp_path / "out")
    path = root / "segmentations" / "test_3_a_1.nii.gz"
    labels = np.asarray(nib.load(path).dataobj)[0]
    data = json.loads((root / "dataset.json").read_text())
    data["val"], data["test"] = data["test"][:1], []
    data["val"][0]["pixels"]["0"] = 1
    (root / "dataset.json").write_text(json.dumps(data))
    other = np.zeros_like(labels)
    other[5, 5, 5] = 1
    nib.save(nib.Nifti1Image(other, np.eye(4)), path)
    with pytest.raises(UsageError, match="another file"):
        overread.write(overread.load("rexgroundingct", root, "val"), tmp_path / "out")
    assert list(overread.check("rexgroundingct", tmp_path / "out")) == []


def test_a_blank_line_is_no_row(copy: Callable[[str], Path], tmp_path: Path) -> None:
    """Ids count rows, so a copy without the blank line has the same ones."""
    root = copy("mmrad")
    rows = [
        {"image_path": row["images"][0], "question": "What is seen?", "response": "<answer>x</answer>"}
        for row in read_rows(root / "test.jsonl")
    ]
    write_rows(root / "test.jsonl", rows)
    text = (root / "test.jsonl").read_text().replace("\n", "\n\n")
    (root / "test.jsonl").write_text(text)
    release = overread.load("mmrad", root)
    overread.write(release, tmp_path / "out")
    assert list(overread.load("mmrad", tmp_path / "out").entries()) == list(release.entries())
