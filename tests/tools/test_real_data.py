"""The yardstick of real data: a folder of phantom patients in the same shapes is measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from overread.errors import UsageError
from tools.measure.real_data.__main__ import PARTS, measure_folder
from tools.measure.real_data.cases import modality_word
from tools.measure.real_data.phantom_twin import make_twin
from tools.measure.real_data.table import Measured, Row, area_row, format_markdown, share_row


def test_an_empty_folder_gives_a_sentence_for_each_shape(tmp_path: Path) -> None:
    """What is not there is named, and nothing is raised."""
    found = measure_folder(tmp_path, list(PARTS))
    assert all(not part.rows for part in found)
    assert sum(len(part.missing) for part in found) == sum(len(needed) for needed in PARTS.values())
    assert "cxr_nih/labels.csv, which is not in this folder" in format_markdown(found, [])


def test_no_folder_and_a_broken_file_get_one_sentence(tmp_path: Path) -> None:
    """A folder that is not there is refused; a file of another shape is named."""
    with pytest.raises(UsageError, match="no such folder"):
        measure_folder(tmp_path / "nowhere", ["ct"])
    (tmp_path / "cxr").mkdir()
    (tmp_path / "cxr" / "lung_boxes.json").write_text('{"images": []}')
    (films,) = measure_folder(tmp_path, ["films"])
    assert any("not in the shape that was expected" in sentence for sentence in films.missing)


def test_findings_are_counted_in_their_category(tmp_path: Path) -> None:
    """One finding of two gets its category; the row says so, with Wilson's interval."""
    (tmp_path / "reports").mkdir()
    told = {"0": "A 5 mm nodule in the right upper lobe", "1": "Right pleural effusion"}
    row = {"findings": told, "categories": {"0": "2d", "1": "2d"}}
    file = tmp_path / "reports" / "rexgroundingct_val_findings.json"
    file.write_text(json.dumps({"test": [row]}))
    (reports,) = measure_folder(tmp_path, ["reports"])
    (found,) = reports.rows
    assert (found.n, found.value) == (2, 0.5)
    assert found.low is not None
    assert found.low < 0.5


def test_rows_have_the_projects_intervals() -> None:
    """Few patients have none and say why; areas are DeLong's; the phantom stands beside."""
    few = share_row("ct", "lungs, Dice", [0.9, 0.8])
    assert few.low is None
    assert "no interval under 5" in few.note
    area = area_row("films", "effusion, AUC", [False, True] * 10, [0.1, 0.9, 0.8, 0.3] * 5)
    assert area.value == 0.75
    assert area.low is not None
    text = format_markdown(
        [Measured("ct", (few,))], [Measured("ct", (Row("ct", "lungs, Dice", 9, 0.97, 0.96, 0.98),))]
    )
    assert "| ct | lungs, Dice | 2 | 0.850 | 0.970 (0.960 to 0.980) | 9 |" in text


@pytest.mark.parametrize(
    ("told", "word"), [("MRI", "mr"), ("CT", "ct"), ("X-ray", "film"), ("Nuclear medicine", "nuclear")]
)
def test_modalities_are_told_in_one_word(told: str, word: str) -> None:
    """Releases spell them differently."""
    assert modality_word(told) == word


@pytest.mark.slow
def test_a_phantom_twin_has_every_shape_that_phantoms_have(tmp_path: Path) -> None:
    """The same code measures it: lungs are found, films have labels, cases have choices."""
    found = measure_folder(make_twin(tmp_path, 2, 3), ["ct", "films", "cases", "reports"], most=2)
    rows = {row.key: row for part in found for row in part.rows}
    lungs = rows["ct", "lungs, Dice"]
    assert lungs.n == 4
    assert (lungs.value or 0) > 0.8
    assert rows["films", "lungs' boxes, IoU"].n == 4
    assert rows["cases", "accuracy"].n == 2
    assert (rows["reports", "ReXGroundingCT's categories"].value or 0) > 0.5
