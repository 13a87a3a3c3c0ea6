"""`--hide-truth` and `--read-only` on every route of docs/openapi.json, those to come included."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from overread.build.adjudication import write_questions
from overread.core import ReleaseRef
from tests.build.adjudication.sample_questions import question
from tests.site.api_addresses import addresses, operations, values_on
from tests.site.served_site import BENCHMARKS, Answer, Site, serve_site

HIDDEN = "the finding that nobody may be told"
"""What a question of a build shows: it will be the truth of the benchmark that is built."""
JUDGES = {"right", "met", "hit", "correct", "holds"}
"""Fields that would say of one case what is right; empty wherever they are sent."""


@pytest.fixture(scope="module")
def folder(shelf_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Datasets, runs of readers that were given the truth and others, and questions."""
    made = tmp_path_factory.mktemp("withheld")
    shutil.copytree(shelf_folder, made / "shelf")
    for spec in made.glob("shelf/runs/*/*/spec.json"):  # a copy's runs read the copy
        told = spec.read_text("utf-8").replace(str(shelf_folder), str(made / "shelf"))
        spec.write_text(told, "utf-8")
    (made / "build").mkdir()
    shown = {"report": HIDDEN, "category": HIDDEN}
    write_questions(made / "build", [question(number, shown=shown) for number in (1, 2)])
    return made


@pytest.fixture(scope="module")
def withheld(folder: Path) -> Iterator[Site]:
    """The page that never sends the truth, and could be written to."""
    with serve_site([folder], "--hide-truth") as site:
        yield site


def texts(value: Any) -> Iterator[str]:
    """Every text in some plain JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts(inner)


def told_by_nobody(folder: Path, benchmark: str) -> set[str]:
    """Texts of the truth that neither a case nor a reader who was not given the truth says."""
    entries = list(ReleaseRef(benchmark, folder / "shelf" / benchmark, "test").open().entries())
    said = [entry.case.model_dump_json() for entry in entries]
    readings = folder / "shelf" / "runs" / benchmark
    honest = ("atlas",) if benchmark == "mmrad" else ("atlas", "random")
    said += [(readings / reader / "readings.jsonl").read_text("utf-8") for reader in honest]
    names = {picture.name for entry in entries for picture in entry.case.pictures}
    found = set()
    for entry in entries:
        assert entry.truth is not None
        for text in texts(entry.truth.model_dump(mode="json")):
            if len(text) > 8 and text not in names:
                found.add(json.dumps(text, ensure_ascii=False)[1:-1])
    return {text for text in found if not any(text in words for words in said)}


def judged(value: Any, at: str = "") -> Iterator[str]:
    """Where some JSON says of one case what is right."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in JUDGES and inner not in (None, [], {}, ""):
                yield f"{at}.{name}"
            yield from judged(inner, f"{at}.{name}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from judged(inner, f"{at}[{place}]")


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_no_route_tells_the_truth(withheld: Site, folder: Path, benchmark: str) -> None:
    """Every text of every truth is looked for in every answer, its headers and its refusals."""
    hidden = {*told_by_nobody(folder, benchmark), HIDDEN}
    assert len(hidden) > 3
    values = values_on(withheld, benchmark)
    assert values["run"], "readers that were not given the truth are there"
    answered = 0
    for method, path, parameters in operations():
        if method != "GET":
            continue
        for address in addresses(path, parameters, values):
            answer = withheld.ask(address)
            assert answer.status < 500, address
            answered += answer.status == 200
            told = answer.body.decode("utf-8", "replace") + json.dumps(answer.headers)
            leaks = [text for text in hidden if text in told]
            assert not leaks, (address, leaks)
            assert str(folder) not in told, address
            if "json" in answer.headers.get("content-type", "") and answer.status == 200:
                assert not list(judged(answer.json())), address
    assert answered > 30


def test_whoever_was_given_the_truth_is_left_out(withheld: Site, site: Site) -> None:
    """The oracle's readings are the truth; where it is withheld there is no such run."""
    there = {one["reader"] for one in site.get("/api/shelf")["runs"]}
    shelf = withheld.get("/api/shelf")
    assert "oracle" in there
    assert "oracle" not in {one["reader"] for one in shelf["runs"]}
    assert any("repeats the truth" in told for told in shelf["problems"])


def test_a_guess_cannot_be_scored(withheld: Site) -> None:
    """Whoever reads one case and has that scored would learn whether it was right."""
    values = values_on(withheld, "medthinkvqa")
    case = f"/api/cases/{values['dataset'][0]}/test/{values['case'][0]}/own"
    kept = withheld.ask(case, method="POST", body={"name": "guesser", "choice": "A"})
    assert kept.status == 200
    run = kept.json()["run"]
    assert run
    assert withheld.ask(f"/api/runs/{run}/score", method="POST").status == 403


def test_nothing_can_be_written_where_the_page_is_read_only(folder: Path, shelf_folder: Path) -> None:
    """Every operation that is no GET is refused, whatever is sent, and no file changes."""

    def files() -> dict[str, int]:
        return {str(f): f.stat().st_mtime_ns for f in folder.rglob("*") if f.is_file()}

    bodies: list[Any] = [None, {}, {"name": "x", "choice": "A", "report": "x"}]
    asked = 0
    with serve_site([folder], "--read-only") as site:
        before = files()
        values = values_on(site, "medthinkvqa")
        for method, path, parameters in operations():
            if method == "GET":
                continue
            for address in addresses(path, parameters, values):
                for body in bodies:
                    answer: Answer = site.ask(address, method=method, body=body)
                    asked += 1
                    # Without a body some are refused as not to be asked; none is answered.
                    assert answer.status in (403, 422), (method, address, answer.status)
                assert answer.status == 403 or "queue" in address, (method, address)
        assert asked >= 9
        assert files() == before
