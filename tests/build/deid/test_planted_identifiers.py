"""What the project says of its de-identification, measured: planted identifiers, real reports."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

TOOLS = Path(__file__).resolve().parents[3] / "tools"


@pytest.fixture(scope="module")
def measuring() -> SimpleNamespace:
    """What the tool measures with; its modules stand beside it."""
    sys.path.insert(0, str(TOOLS))
    try:
        from tools.measure.deid import planted_headers as deid_headers
        from tools.measure.deid import planted_pictures as deid_pictures
        from tools.measure.deid import planted_reports as deid_reports
        from tools.measure.deid import survival as measure_deid
    finally:
        sys.path.remove(str(TOOLS))
    return SimpleNamespace(
        held_out=deid_reports.listed_by_mistake,
        measure_reports=deid_reports.measure_reports,
        measure_headers=deid_headers.measure_headers,
        measure_pictures=deid_pictures.measure_pictures,
        measure_real=measure_deid.measure_real,
    )


def test_names_said_to_be_in_no_list_are_in_none(measuring: SimpleNamespace) -> None:
    """The half of the planted names that is held out is unknown to the lists."""
    assert measuring.held_out() == []


def test_planted_reports(measuring: SimpleNamespace) -> None:
    """In 60 reports no id and no date survives, 98 of 100 names go, measurements stay."""
    found = measuring.measure_reports(60, seed=20)
    assert found["left"]["ids"] == found["left"]["dates"] == found["left"]["telephones"] == 0
    assert found["left"]["names"] <= 0.02 * found["planted"]["names"]
    assert found["lost"] == 0


@pytest.mark.slow
def test_two_hundred_planted_reports(measuring: SimpleNamespace) -> None:
    """In 200 reports no id and no date survives, and at least 98 of 100 names go."""
    found = measuring.measure_reports(200, seed=0)
    assert found["left"]["ids"] == found["left"]["dates"] == 0
    assert found["left"]["names"] <= 0.02 * found["planted"]["names"]
    assert found["left"]["names in no list"] <= 0.03 * found["planted"]["names in no list"]
    assert found["lost"] == 0


@pytest.mark.slow
def test_two_hundred_planted_headers(measuring: SimpleNamespace) -> None:
    """No planted value is left in any byte of 200 headers."""
    found = measuring.measure_headers(200, seed=0)
    assert found["planted"] > 4000
    assert found["left"] == 0, found["shown"]


@pytest.mark.slow
def test_two_hundred_planted_pictures(measuring: SimpleNamespace) -> None:
    """Nine of ten prints are covered whole, and hardly anything else."""
    found = measuring.measure_pictures(200, seed=0)
    assert found["covered"] >= 180, found["shown"]
    assert found["beside"] < 0.005


@pytest.mark.shared
@pytest.mark.slow
def test_real_reports_lose_nothing_but_dates(measuring: SimpleNamespace, shared: Path) -> None:
    """200 real reports keep every finding and every number that is no date."""
    with (shared / "reports" / "ctrate_validation_reports.csv").open(encoding="utf-8") as file:
        texts = [f"{row['Findings_EN']}\n{row['Impressions_EN']}" for row in csv.DictReader(file)]
    with (shared / "reports" / "ctrate_labelled_reports.csv").open(encoding="utf-8") as file:
        texts += [row["report_text"] for row in csv.DictReader(file)]
    found = measuring.measure_real(texts[::9])
    assert found["reports"] == 200
    assert found["removals"]["date"] > 10
    assert found["numbers"] > 300
    assert found["numbers lost"] == found["findings lost"] == 0
