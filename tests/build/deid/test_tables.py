"""Tables as they come: line ends inside JSON, delimiters, encodings; nobody's name is missed."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from overread.build.deid import DeidSecret, deidentify
from overread.build.deid.results import Options
from overread.build.deid.tables import TableContext, clean_table, read_rows
from overread.errors import OverreadError

SECRET = DeidSecret(b"a key for the tests, nothing else")
ROWS = [
    {"patient_id": "4471023", "patient_name": "Yarrow Quillfeather", "note": "a\u2028b\x85c\x0cd"},
    {"patient_id": "4471024", "patient_name": "Umberto Zorblat", "note": "No effusion."},
]
LINES = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)


def test_only_newlines_end_a_json_line(tmp_path: Path) -> None:
    """U+2028, U+0085 and form feeds in a text neither refuse the file nor end the search for names."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "rows.jsonl").write_text(LINES, "utf-8")
    done = deidentify(source, tmp_path / "out", secret=SECRET)
    assert not done.refused
    made = (tmp_path / "out" / "rows.jsonl").read_bytes().split(b"\n")
    rows = [json.loads(line) for line in made[:-1]]
    assert [row["note"] for row in rows] == [row["note"] for row in ROWS]
    assert [row["patient_name"] for row in read_rows(LINES, "jsonl")] == [
        "Yarrow Quillfeather",
        "Umberto Zorblat",
    ]


def test_a_broken_row_hides_no_name() -> None:
    """The file is refused, and the names in its other rows are known for other files."""
    broken = "{broken\n" + LINES
    assert len(list(read_rows(broken, "jsonl"))) == 2
    with pytest.raises(OverreadError, match="line 1 is not JSON"):
        clean_table(broken, "jsonl", TableContext(SECRET, Options()))


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_the_delimiter_stays(sign: str) -> None:
    """A table is written as it came; the limit of the csv module is left as it was."""
    limit = csv.field_size_limit()
    text = f"patient_id{sign}report\n4471023{sign}{'No effusion. ' * 20_000}\n"
    made = clean_table(text, "csv", TableContext(SECRET, Options())).data
    assert made.startswith(f"patient_id{sign}report\n")
    assert "4471023" not in made
    assert made.count("No effusion.") == 20_000
    assert csv.field_size_limit() == limit


def test_a_bad_byte_is_named_with_its_line(tmp_path: Path) -> None:
    """A file whose letters are not known is refused, and told where."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "rows.csv").write_bytes("report\nfine\nMüller\n".encode("latin-1"))
    (refused,) = deidentify(source, tmp_path / "out", secret=SECRET).refused
    assert "line 3 holds byte 0xfc, which is not UTF-8" in refused.why


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json"])
def test_rows_nested_too_deeply_are_named(tmp_path: Path, name: str) -> None:
    """Deep enough that reading goes well and cleaning does not."""
    source = tmp_path / "source"
    source.mkdir()
    (source / name).write_text('{"note": ' + "[" * 900 + '"Ann"' + "]" * 900 + "}\n", "utf-8")
    done = deidentify(source, tmp_path / "out", secret=SECRET)
    assert [one.why for one in done.refused] == [
        f"{'line 1' if name == 'rows.jsonl' else 'the file'} is nested too deeply to be cleaned"
    ]
