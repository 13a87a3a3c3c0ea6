"""Reports come in: good tables and folders, and everything that can be wrong with them."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from overread.build.item import Item
from overread.build.rexgroundingct import RECIPE
from overread.build.rexgroundingct.reports import items
from overread.build.runner import run_build
from overread.core import Defect
from overread.errors import OverreadError, UsageError

GOOD = "There is a 6 mm nodule in the right upper lobe. The heart is normal in size."
TURKISH = (
    "Trakea ve her iki ana bronş açıktır. Sağ akciğer üst lobda 5 mm çapında nodül izlendi. "
    "Plevral efüzyon saptanmadı. Kalp boyutları doğal sınırlardadır."
)


def table(rows: list[list[str]], header: str = "VolumeName,Findings_EN,Impressions_EN") -> bytes:
    """A table of reports as bytes."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([header.split(","), *rows])
    return out.getvalue().encode("utf-8")


def source(tmp_path: Path, content: bytes) -> Path:
    """A source with one table."""
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "reports.csv").write_bytes(content)
    return folder


def read(folder: Path, **settings: str) -> tuple[list[Item], list[Defect]]:
    """The items and the defects of a source."""
    found = list(items(folder, settings))
    return [f for f in found if isinstance(f, Item)], [f for f in found if isinstance(f, Defect)]


def test_a_row_becomes_an_item_with_its_patient_and_its_other_columns(tmp_path: Path) -> None:
    """Name, patient, texts and all other columns of a row are in its item."""
    content = table(
        [["train_7_a_2.nii.gz", GOOD, "Nodule.", "62-year-old"]],
        "VolumeName,Findings_EN,Impressions_EN,ClinicalInformation_EN",
    )
    (item,), defects = read(source(tmp_path, content))
    assert not defects
    assert (item.id, item.patient) == ("train_7_a_2", "train_7")
    assert item.data["name"] == "train_7_a_2.nii.gz"
    assert item.data["findings"] == GOOD
    assert item.data["columns"] == {"ClinicalInformation_EN": "62-year-old"}


def test_other_columns_can_be_named_and_else_are_an_error_that_lists_them(tmp_path: Path) -> None:
    """A table with other columns is refused with their names, and read once they are told."""
    folder = source(tmp_path, table([["7", GOOD]], "AccessionNo,report_text"))
    with pytest.raises(UsageError, match="no column VolumeName") as caught:
        read(folder)
    assert "AccessionNo, report_text" in str(caught.value)
    (item,), _ = read(folder, columns="id=AccessionNo,findings=report_text")
    assert item.data["findings"] == GOOD
    with pytest.raises(UsageError, match="id and one for findings"):
        read(folder, columns="findings=report_text")


def test_a_folder_of_texts_is_a_source_and_headings_part_the_impression(tmp_path: Path) -> None:
    """One .txt a report; what stands under Impression is the impression, the technique is not."""
    text = f"TECHNIQUE: Without contrast, 1 mm.\nFINDINGS: {GOOD}\nIMPRESSION: Nodule.\n"
    (tmp_path / "P7.txt").write_text(text)
    (item,), _ = read(tmp_path)
    assert (item.id, item.data["findings"]) == ("P7", GOOD)
    assert item.data["impressions"] == "Nodule."


def test_rows_that_make_no_item_are_defects_with_their_numbers(tmp_path: Path) -> None:
    """A doubled name, no name, a path for a name, a row with too many fields: one defect each."""
    content = table(
        [
            ["a_1", GOOD, ""],
            ["a_1.nii.gz", GOOD, ""],
            ["", GOOD, ""],
            ["../b", GOOD, ""],
            ["c\0d", GOOD, ""],
            ["e", GOOD, "", "more"],
            ["f", GOOD, ""],
        ]
    )
    found, defects = read(source(tmp_path, content))
    assert [item.id for item in found] == ["a_1", "f"]
    assert [(defect.code, defect.row) for defect in defects] == [
        ("duplicate-id", 2),
        ("missing-field", 3),
        ("refused-file", 4),
        ("refused-file", 5),
        ("bad-row", 6),
    ]


def test_a_row_in_another_encoding_is_a_defect_and_the_others_are_read(tmp_path: Path) -> None:
    """Latin-1 bytes in one row do not spoil the table; a byte-order mark is none of the name."""
    raw = b"\xef\xbb\xbf" + table([["a", GOOD, ""], ["b", "BYTE", ""], ["c", GOOD, ""]])
    found, (defect,) = read(source(tmp_path, raw.replace(b"BYTE", b"n\xf6dule")))
    assert [item.id for item in found] == ["a", "c"]
    assert (defect.code, defect.row, "0xf6" in defect.found) == ("wrong-encoding", 2, True)


def test_utf_16_and_semicolons_are_understood(tmp_path: Path) -> None:
    """A spreadsheet's own way of writing tables is read as it is meant."""
    text = table([["a", GOOD, ""]]).decode().replace(",", ";")
    found, defects = read(source(tmp_path, text.encode("utf-16")))
    assert [item.data["findings"] for item in found] == [GOOD]
    assert not defects


def test_a_broken_table_and_a_missing_one_are_one_clear_error(tmp_path: Path) -> None:
    """An unclosed quotation mark, an empty table, a folder without reports, two tables."""
    folder = source(tmp_path, b'VolumeName,Findings_EN,Impressions_EN\na,"never closed,x\n')
    with pytest.raises(OverreadError, match="this is not CSV"):
        read(folder)
    (folder / "reports.csv").write_bytes(b"")
    with pytest.raises(UsageError, match="the table is empty"):
        read(folder)
    (folder / "reports.csv").unlink()
    with pytest.raises(UsageError, match="there are no reports"):
        read(folder)
    for name in ("one.csv", "two.csv"):
        (folder / name).write_bytes(table([]))
    with pytest.raises(UsageError, match="2 tables"):
        read(folder)


def test_reports_that_cannot_be_worked_on_end_in_the_ledger_with_the_reason(tmp_path: Path) -> None:
    """Empty, too long, Turkish and NUL-ridden reports are dropped, each for its own reason."""
    content = table(
        [
            ["good_1", GOOD, ""],
            ["empty_1", " . ", "Nodule."],
            ["long_1", "No nodule is seen in the lung. " * 70_000, ""],
            ["turkish_1", TURKISH, ""],
            ["nul_1", GOOD.replace("6", "\0"), ""],
        ]
    )
    outcome = run_build(RECIPE, source(tmp_path, content), tmp_path / "out")
    split = outcome.steps[0]
    assert dict(split.dropped) == {"empty-report": 1, "too-long": 1, "not-english": 1, "unreadable-text": 1}
    assert split.kept == 1
    assert not outcome.tally.bugs
    assert outcome.failed == 0
