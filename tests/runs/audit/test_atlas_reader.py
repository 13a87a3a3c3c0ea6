"""The audit of the embedded reader, which truly looks, beside one that looks at nothing."""

from __future__ import annotations

from itertools import count, islice
from pathlib import Path

import pytest

from overread import RunPlan, run
from overread.phantom.generator import make_population
from overread.phantom.population import split_of
from overread.phantom.visit import PatientSettings
from overread.runs.audit.records import Audit, AuditPlan
from overread.runs.audit.runner import audit

PATIENTS = {"rexgroundingct": 8, "mmrad": 24}


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Patients of the test split with CTs and films, and two in train."""
    out = tmp_path_factory.mktemp("people")
    test = islice((number for number in count(1) if split_of(number) == "test"), 24)
    exams = list(PATIENTS)
    assert not make_population(
        out, [*test, 1, 4], PatientSettings(seed=5, difficulty="easy"), exams=exams
    ).failed
    return out


def audited(people: Path, out: Path, benchmark: str, reader: str) -> Audit:
    """The audit of a reader, cited and other regions hidden."""
    limit = PATIENTS[benchmark]
    run(RunPlan(benchmark, people / benchmark, reader, limit=limit), out)
    return audit(AuditPlan(out, arms=("hidden", "other")))


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", PATIENTS)
def test_atlas_rests_on_what_it_cites(people: Path, tmp_path: Path, benchmark: str) -> None:
    """Hiding the cited region moves it clearly more than hiding another, and nothing else does."""
    shares = audited(people, tmp_path / "run", benchmark, "atlas").shares
    assert shares is not None
    moved = {arm: own.moved.value or 0.0 for arm, own in shares.arms.items()}
    assert moved["null"] == 0.0
    assert moved["hidden"] > moved["other"] + 0.3
    far = shares.cited_over_other_far
    assert far is not None
    assert (far.difference.value or 0.0) > 0.1
    if benchmark == "mmrad":  # of eight scans the interval is too wide to say it
        assert (far.difference.low or 0.0) > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", PATIENTS)
def test_majority_rests_on_nothing(people: Path, tmp_path: Path, benchmark: str) -> None:
    """It looks at no picture: no arm moves it."""
    found = audited(people, tmp_path / "run", benchmark, "majority")
    told = [shares for shares in (found.shares, found.shares_uncited) if shares is not None]
    moved = {arm: own.moved for shares in told for arm, own in shares.arms.items()}
    assert {"null", "hidden"} <= set(moved)
    assert all(share.n and share.value == 0.0 for share in moved.values())
