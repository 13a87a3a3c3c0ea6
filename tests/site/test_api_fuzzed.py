"""The API as docs/openapi.json describes it, asked everything that schemathesis can think of.

Each generated request is sent twice: as it is, and with ids that are really there, so that it gets
past the first door. Nothing may be answered by a server error.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings

from overread.build.adjudication import write_questions
from tests.build.adjudication.sample_questions import question
from tests.site.served_site import Site, serve_site

pytestmark = pytest.mark.slow

HOUSE = Path(__file__).resolve().parents[2]
LONG = bool(os.environ.get("OVERREAD_FUZZ_LONG"))
"""Every border of every parameter too, some thousand requests: minutes, before a release."""
SCHEMA = schemathesis.openapi.from_path(
    HOUSE / "docs" / "openapi.json",
    config=schemathesis.Config.from_dict({"phases": {"coverage": {"enabled": LONG}}}),
)


@pytest.fixture(scope="module")
def fuzzed(shelf_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A page that may be written to, on a copy."""
    folder = tmp_path_factory.mktemp("fuzzed")
    shutil.copytree(shelf_folder, folder / "shelf")
    (folder / "build").mkdir()
    write_questions(folder / "build", [question(1), question(2)])
    with serve_site([folder]) as site:
        site.get("/api/shelf")
        yield site


@pytest.fixture(scope="module")
def known(fuzzed: Site) -> dict[str, str]:
    """Names of things that are there, by the parameter that takes them."""
    shelf = fuzzed.get("/api/shelf")
    dataset = next(d for d in shelf["datasets"] if d["benchmark"] == "rexgroundingct")
    run = next(r for r in shelf["runs"] if r["name"].endswith("rexgroundingct/atlas"))
    cases = fuzzed.get(f"/api/runs/{run['id']}/cases")
    return {
        "dataset": dataset["id"],
        "split": "test",
        "case": cases["rows"][0]["case"],
        "name": "ct",
        "picture": "ct",
        "run": run["id"],
        "build": shelf["builds"][0]["id"],
    }


@SCHEMA.parametrize()
@settings(max_examples=12, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_request_is_a_server_error(case: Any, fuzzed: Site, known: dict[str, str]) -> None:
    """Neither what is wrong nor what is right makes the server fail."""
    cookie = "; ".join(f"{one.name}={one.value}" for one in fuzzed._jar)
    for real in (False, True):
        if real:
            there = {name: known.get(name, value) for name, value in case.path_parameters.items()}
            case.path_parameters = there
        answer = case.call(base_url=fuzzed.base, headers={"cookie": cookie}, timeout=600)
        assert answer.status_code < 500, (case.method, case.formatted_path, answer.text[:500])
        assert answer.status_code != 401
