"""The folder of a run: lines that are cut off, damaged, locked, or cannot be written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from overread.core import Exchange, Message, Reading, Reply, SentImage, Usage, Whole
from overread.errors import UsageError
from overread.runs.store import (
    ReadingStore,
    RunUnwritable,
    iter_readings,
    last_readings,
    scan_readings,
    to_line,
)

SHOWN = SentImage(region=Whole(picture="image-1"), media="image/png", sha256="ab", width=8, height=8)


def reading(case: str, sample: int = 0, **more: object) -> Reading:
    return Reading.model_validate(
        {"case_id": case, "reader": "r", "sample": sample, **(more or {"choice": "A"})}
    )


def stored(folder: Path, *readings: Reading) -> Path:
    with ReadingStore(folder) as store:
        for one in readings:
            store.append(one)
    return folder / "readings.jsonl"


def test_what_is_stored_comes_back(tmp_path: Path) -> None:
    """A reading with exchanges, pictures and usage is the same afterwards."""
    exchange = Exchange(
        task="choose",
        messages=(Message(role="user", parts=(SHOWN, "Which?\u2028\n")),),
        reply=Reply(text="Ä", usage=Usage(calls=1)),
    )
    whole = reading("case1", exchanges=[exchange], usage=Usage(seconds=0.5), choice="B")
    stored(tmp_path / "run", whole)
    assert list(iter_readings(tmp_path / "run")) == [whole]


def test_the_last_line_of_a_case_counts(tmp_path: Path) -> None:
    """A reading that failed and was tried again is a reading."""
    stored(tmp_path, reading("a", error="no"), reading("b"), reading("a", 1), reading("a", choice="C"))
    found = last_readings(tmp_path)
    assert {key: one.choice for key, one in found.items()} == {
        ("a", 0): "C", ("b", 0): "A", ("a", 1): "A",
    }  # fmt: skip
    known = scan_readings(tmp_path)
    assert known.done == found.keys()
    assert not known.failed


def test_a_line_that_was_cut_off_is_taken_away_wherever_it_was_cut(tmp_path: Path) -> None:
    """For every length of the torn line, whole lines stay and the next one stands alone."""
    file = stored(tmp_path, reading("a"), reading("b"))
    whole = file.read_bytes()
    torn = to_line(reading("c", rationale="x"))
    for length in range(len(torn)):
        file.write_bytes(whole + torn[:length])
        assert len(scan_readings(tmp_path).done) == 2
        stored(tmp_path, reading("d"))
        assert file.read_bytes() == whole + to_line(reading("d"))


def test_a_long_torn_line_is_taken_away(tmp_path: Path) -> None:
    """Also where it is longer than what is looked at in one go, and where it is all there is."""
    file = stored(tmp_path, reading("a"))
    whole = file.read_bytes()
    file.write_bytes(whole + b"x" * 300_000)
    stored(tmp_path)
    assert file.read_bytes() == whole
    file.write_bytes(b"x" * 300_000)
    stored(tmp_path)
    assert file.read_bytes() == b""


def test_a_damaged_line_is_counted_and_read_again(tmp_path: Path) -> None:
    """What is no JSON, no object or no reading counts as absent; the others stay."""
    file = stored(tmp_path, reading("a"), reading("b", error="why"))
    wrong = b'{"case_id": "d", "reader": "r", "choice": 5}\n'
    file.write_bytes(file.read_bytes() + b"{\x00}\n[1]\n7\n\n" + wrong + to_line(reading("c")))
    known = scan_readings(tmp_path)
    assert known.done == {("a", 0), ("b", 0), ("c", 0)}
    assert known.failed == {("b", 0): "why"}
    assert known.damaged == 4
    assert len(list(iter_readings(tmp_path))) == 3


def test_half_a_mask_is_taken_away(tmp_path: Path) -> None:
    """What a kill left of a mask goes when the run goes on; masks that are whole stay."""
    (tmp_path / "arrays").mkdir()
    half, whole = (tmp_path / "arrays" / name for name in (f".{'0f3a' * 8}.part", "a.nii.gz"))
    for file in (half, whole):
        file.write_bytes(b"x")
    ReadingStore(tmp_path).close()
    assert not half.exists()
    assert whole.exists()


def test_two_cannot_write_one_run(tmp_path: Path) -> None:
    """The second is refused with the remedy; afterwards the folder is free."""
    with ReadingStore(tmp_path), pytest.raises(UsageError, match="another process is writing this run"):
        ReadingStore(tmp_path)
    ReadingStore(tmp_path).close()


def test_a_reading_that_cannot_be_stored_is_a_failed_one() -> None:
    """Half a surrogate pair in a workflow's own words does not lose the case."""
    line = to_line(reading("a", 2, rationale="\ud800"))
    found = Reading.model_validate_json(line)
    assert (found.case_id, found.sample) == ("a", 2)
    assert found.error == "the reading holds text that cannot be stored"


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    """Writing to a device that is always full says so, and what to do."""
    (tmp_path / "readings.jsonl").symlink_to("/dev/full")
    store = ReadingStore(tmp_path)
    with pytest.raises(RunUnwritable, match="No space left on device"):
        store.append(reading("a"))
    store.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_one_sentence(tmp_path: Path) -> None:
    """It says where, and to give another one."""
    tmp_path.chmod(0o500)
    with pytest.raises(RunUnwritable, match="--out"):
        ReadingStore(tmp_path / "run")


def test_a_file_in_place_of_the_folder_is_one_sentence(tmp_path: Path) -> None:
    """A run cannot be written into a file."""
    (tmp_path / "run").touch()
    with pytest.raises(RunUnwritable, match="cannot be written"):
        ReadingStore(tmp_path / "run")
