"""What the project says of its de-identification, measured: planted identifiers, real reports."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tools.measure.deid.planted_headers import measure_headers
from tools.measure.deid.planted_pictures import measure_pictures
from tools.measure.deid.planted_reports import listed_by_mistake, measure_reports
from tools.measure.deid.survival import measure_real


def test_names_said_to_be_in_no_list_are_in_none() -> None:
    """The half of the planted names that is held out is unknown to the lists."""
    assert listed_by_mistake() == []


def test_planted_reports() -> None:
    """In 60 reports no id and no date survives, 98 of 100 names go, measurements stay."""
    found = measure_reports(60, seed=20)
    assert found["left"]["ids"] == found["left"]["dates"] == found["left"]["telephones"] == 0
    assert found["left"]["names"] <= 0.02 * found["planted"]["names"]
    assert found["lost"] == 0


@pytest.mark.slow
def test_two_hundred_planted_reports() -> None:
    """In 200 reports no id and no date survives, and at least 98 of 100 names go."""
    found = measure_reports(200, seed=0)
    assert found["left"]["ids"] == found["left"]["dates"] == 0
    assert found["left"]["names"] <= 0.02 * found["planted"]["names"]
    assert found["left"]["names in no list"] <= 0.03 * found["planted"]["names in no list"]
    assert found["lost"] == 0


@pytest.mark.slow
def test_two_hundred_planted_headers() -> None:
    """No planted value is left in any byte of 200 headers."""
    found = measure_headers(200, seed=0)
    assert found["planted"] > 4000
    assert found["left"] == 0, found["shown"]


@pytest.mark.slow
def test_two_hundred_planted_pictures() -> None:
    """Nine of ten prints are covered whole, and hardly anything else."""
    found = measure_pictures(200, seed=0)
    assert found["covered"] >= 180, found["shown"]
    assert found["beside"] < 0.005


@pytest.mark.shared
@pytest.mark.slow
def test_real_reports_lose_nothing_but_dates(shared: Path) -> None:
    """200 real reports keep every finding and every number that is no date."""
    with (shared / "reports" / "ctrate_validation_reports.csv").open(encoding="utf-8") as file:
        texts = [f"{row['Findings_EN']}\n{row['Impressions_EN']}" for row in csv.DictReader(file)]
    with (shared / "reports" / "ctrate_labelled_reports.csv").open(encoding="utf-8") as file:
        texts += [row["report_text"] for row in csv.DictReader(file)]
    found = measure_real(texts[::9])
    assert found["reports"] == 200
    assert found["removals"]["date"] > 10
    assert found["numbers"] > 300
    assert found["numbers lost"] == found["findings lost"] == 0
