"""Files of rows that were handed in: ways to store them, ways to break them."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import overread
from overread.benchmarks.intake import MAX_NOTED, Intake
from overread.benchmarks.medthinkvqa.submission import read_submission
from overread.core import Reading, Release, Submission
from overread.errors import SubmissionError
from tests.jsonl_rows import read_rows

Row = dict[str, Any]


@pytest.fixture
def release(sketch: Path) -> Release:
    """The two test cases of the sketch."""
    return overread.load("medthinkvqa", sketch / "medthinkvqa")


@pytest.fixture
def good(sketch: Path) -> list[Row]:
    """Original rows with the right predictions."""
    rows = read_rows(sketch / "medthinkvqa" / "test.jsonl")
    return [row | {"prediction": row["correct_answer"]} for row in rows]


def said(submission: Submission, severity: str = "error") -> list[str]:
    return [str(problem) for problem in submission.problems if problem.severity == severity]


def test_ways_to_store_the_same_rows(release: Release, good: list[Row], tmp_path: Path) -> None:
    """Marks, line ends, lists, gzip and parquet give the same readings."""
    lines = "".join(json.dumps(row) + "\n" for row in good).encode()
    packed = [{k: json.dumps(v) if k == "options" else v for k, v in row.items()} for row in good]
    parquet.write_table(pa.Table.from_pylist(packed), tmp_path / "mine.parquet")
    (tmp_path / "mine.jsonl").write_bytes(b"\xef\xbb\xbf" + lines.replace(b"\n", b"\r\n\r\n"))
    (tmp_path / "mine.json").write_text(json.dumps(good))
    (tmp_path / "mine.jsonl.gz").write_bytes(gzip.compress(lines[:700]) + gzip.compress(lines[700:]))
    (tmp_path / "mine.json.gz").write_bytes(gzip.compress(json.dumps(good).encode()))
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "mine.jsonl").symlink_to(tmp_path / "mine.jsonl")
    first: Submission | None = None
    for name in ("mine.jsonl", "mine.json", "mine.jsonl.gz", "mine.json.gz", "mine.parquet",
                 "away/mine.jsonl"):  # fmt: skip
        submission = read_submission(release, tmp_path / name)
        assert submission.problems == [], name
        first = first or submission
        assert submission == first


def test_broken_rows_cost_only_themselves(release: Release, good: list[Row], tmp_path: Path) -> None:
    """A line that is no JSON, a number, a cut gzip: told, and the rest is read."""
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps(good[0]) + "\n7\n{broken\n")
    submission = read_submission(release, path)
    assert list(submission.readings) == ["case00003"]
    assert [p.row for p in submission.problems] == [None, 2, 3]
    # A row is one line: the parser's count of lines would point at the head of the file.
    assert "at letter 2 (in mine.jsonl, row 3)" in said(submission)[2]
    path = tmp_path / "mine.jsonl.gz"
    rng = random.Random(0)
    noise = [row | {"x": rng.randbytes(60000).hex()} for row in good]
    raw = gzip.compress("".join(json.dumps(row) + "\n" for row in noise).encode())
    path.write_bytes(raw[: len(raw) * 3 // 4])
    submission = read_submission(release, path)
    assert list(submission.readings) == ["case00003"]
    assert "the gzip stream is cut off" in said(submission)[0]


def test_a_packed_file_has_a_limit(
    release: Release, good: list[Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gzip bomb is read up to the limit, and no further."""
    monkeypatch.setattr("overread.benchmarks.prediction_rows.MAX_INFLATED", 5000)
    path = tmp_path / "mine.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(good[0]).encode() + b"\n" * 50_000_000))
    submission = read_submission(release, path)
    assert "unpacks to more than 5,000 bytes" in said(submission)[0]
    assert list(submission.readings) == ["case00003"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the file has no rows"),
        (b"\n\n", "the file has no rows"),
        (b"\x89PNG\r\n\x1a\n\xff\xff", "expected UTF-8"),
        (b"[1, 2]", "expected a JSON object"),
        (b"PK\x03\x04zip", "this is a zip"),
        (b"\x1f\x8bno gzip", "the compressed data are damaged"),
        (b'{"id": "case00099", "prediction": "A"}', "is this the right split?"),
        (b'{"prediction": "A"}', "neither the original fields nor an id"),
        (b'{"id": 5}', "neither the original fields nor an id"),
    ],
)
def test_files_that_cannot_be_graded(release: Release, tmp_path: Path, content: bytes, words: str) -> None:
    """A file in which nothing is about any case raises one sentence that names it."""
    path = tmp_path / "mine.jsonl"
    path.write_bytes(content)
    with pytest.raises(SubmissionError) as error:
        read_submission(release, path)
    assert words in str(error.value)
    assert "mine.jsonl" in str(error.value)


def test_paths_that_are_no_file(release: Release, sketch: Path, tmp_path: Path) -> None:
    """A folder, nothing and a device are told apart."""
    with pytest.raises(SubmissionError, match=r"this is a folder.*for instance test\.jsonl"):
        read_submission(release, sketch / "medthinkvqa")
    with pytest.raises(SubmissionError, match="there is no such file"):
        read_submission(release, tmp_path / "nothing.jsonl")
    with pytest.raises(SubmissionError, match="no regular file"):
        read_submission(release, Path("/dev/null"))


def test_a_million_broken_rows_are_counted(tmp_path: Path) -> None:
    """Problems beyond a thousand are counted, and strangers beyond ten."""
    intake = Intake(tmp_path / "mine.jsonl", ["a"])
    for row in range(MAX_NOTED + 50):
        intake.error("broken", "mend", row=row)
        intake.warn(f"odd {row}", "mend", row=row)
        intake.note_unknown_case(f"x{row}", row=row)
    intake.add_reading(Reading(case_id="a", reader="mine"))
    problems = intake.to_submission().problems
    assert len(problems) < 2 * MAX_NOTED + 20
    assert any("111 more rows have problems like these" in str(p) for p in problems)
    assert any(p.what.startswith("broken") and p.severity == "error" for p in problems)
