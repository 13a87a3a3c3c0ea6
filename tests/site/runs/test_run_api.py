"""What the API tells of runs: the numbers of the terminal, and no truth where that is withheld."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import overread
from overread import RunPlan
from overread.site.runs.routes import get_runs
from overread.site.shelf import Shelf
from tests.cli.overread_command import run as command
from tests.site.served_site import Site, serve_site

RUNS = ("medthinkvqa", "mmrad", "rexgroundingct")


def card_of(shelf: Path, run: str) -> dict[str, Any]:
    """The card as `overread score` wrote it."""
    found: dict[str, Any] = json.loads((shelf / "runs" / run / "card.json").read_text())
    return found


@pytest.mark.parametrize("benchmark", RUNS)
def test_every_number_is_the_cards(site: Site, shelf_folder: Path, benchmark: str) -> None:
    """Scores, intervals and breakdowns are those of card.json, all of them."""
    card = card_of(shelf_folder, f"{benchmark}/atlas")
    run = site.shelf_id("runs", f"{benchmark}/atlas")
    told = site.get(f"/api/runs/{run}/card")
    assert [score["name"] for score in told["scores"]] == list(card["scores"])
    for score in told["scores"]:
        own = card["scores"][score["name"]]
        assert {key: score[key] for key in own} == own
    groups = {
        one["name"]: {group["name"]: {"n": group["n"], "scores": group["scores"]} for group in one["groups"]}
        for one in site.get(f"/api/runs/{run}/breakdowns")
    }
    assert groups == card["breakdowns"]


@pytest.mark.parametrize("benchmark", RUNS)
def test_cases_score_what_scores_jsonl_says(site: Site, shelf_folder: Path, benchmark: str) -> None:
    """What each case scores by itself is what `overread score` wrote for it."""
    run = site.shelf_id("runs", f"{benchmark}/atlas")
    table = site.get(f"/api/runs/{run}/cases")
    lines = (shelf_folder / "runs" / benchmark / "atlas" / "scores.jsonl").read_text().splitlines()
    written = {(row["case"], row["metric"]): row["value"] for row in map(json.loads, lines)}
    shown = {
        (row["case"], metric): value
        for row in table["rows"]
        for metric, value in zip(table["metrics"], row["values"], strict=True)
    }
    assert shown == written


def test_a_group_has_the_cases_behind_its_number(site: Site, shelf_folder: Path) -> None:
    """The mean over the cases of a group is the group's score, and its cases are all there."""
    card = card_of(shelf_folder, "medthinkvqa/atlas")
    run = site.shelf_id("runs", "medthinkvqa/atlas")
    for group, own in card["breakdowns"]["right option"].items():
        table = site.get(f"/api/runs/{run}/cases?breakdown=right%20option&group={group}")
        at = table["metrics"].index("accuracy")
        values = [row["values"][at] for row in table["rows"]]
        assert len(values) == own["n"]
        assert sum(values) / len(values) == own["scores"]["accuracy"]["value"]
        assert all((row["right"] == [True]) == (row["values"][at] == 1) for row in table["rows"])


def test_a_group_of_findings_counts_only_these(site: Site, shelf_folder: Path) -> None:
    """Where groups are of findings, a case's number is that of its findings in the group."""
    card = card_of(shelf_folder, "rexgroundingct/atlas")
    run = site.shelf_id("runs", "rexgroundingct/atlas")
    for group, own in card["breakdowns"]["category"].items():
        table = site.get(f"/api/runs/{run}/cases?breakdown=category&group={group}")
        at = table["metrics"].index("hit_rate")
        if own["n"] == 1:
            assert [row["values"][at] for row in table["rows"]] == [own["scores"]["hit_rate"]["value"]]


def test_calibration_is_the_cards(site: Site, shelf_folder: Path) -> None:
    """Bins hold all cases, and the gaps between sure and right add up to the card's error."""
    card = card_of(shelf_folder, "medthinkvqa/atlas")
    run = site.shelf_id("runs", "medthinkvqa/atlas")
    found = site.get(f"/api/runs/{run}/calibration")
    many = sum(one["n"] for one in found["bins"]) + found["without"]
    assert many == card["cases"]
    gap = sum(one["n"] * abs(one["right"]["value"] - one["confidence"]) for one in found["bins"])
    told = card["scores"]["calibration_error"]["value"]
    assert gap / many == pytest.approx(told, abs=1e-12)
    without = site.shelf_id("runs", "mmrad/atlas")
    assert site.ask(f"/api/runs/{without}/calibration").status == 404


def test_the_audit_is_its_files(site: Site, shelf_folder: Path) -> None:
    """Shares, arms and answers are those of audit.json."""
    folder = shelf_folder / "runs" / "medthinkvqa" / "atlas" / "audit"
    written = json.loads((folder / "audit.json").read_text())
    run = site.shelf_id("runs", "medthinkvqa/atlas")
    told = site.get(f"/api/runs/{run}/audit")
    assert told["shares"]["rests"]["value"] == written["shares"]["rests"]["value"]
    for arm, own in written["shares"]["arms"].items():
        assert told["shares"]["arms"][arm]["moved"]["value"] == own["moved"]["value"]
    answers = {
        (one["case"], one["query"], arm): (moved["far"], moved["moved"])
        for one in told["answers"]
        for arm, moved in one["arms"].items()
    }
    assert answers == {
        (one["case"], one["query"], one["arm"]): (one["far"], one["moved"]) for one in written["answers"]
    }
    assert site.ask(f"/api/runs/{site.shelf_id('runs', 'mmrad/atlas')}/audit").status == 404


def test_a_run_that_did_not_change_is_not_sent_again(site: Site) -> None:
    """The status has a tag, and whoever has it gets nothing new."""
    run = site.shelf_id("runs", "mmrad/atlas")
    first = site.ask(f"/api/runs/{run}")
    assert first.status == 200
    again = site.ask(f"/api/runs/{run}", headers={"if-none-match": first.headers["etag"]})
    assert again.status == 304
    assert again.body == b""


def test_no_path_of_the_machine_is_sent(site: Site, shelf_folder: Path) -> None:
    """Neither the folder of the runs nor that of the dataset is in any answer."""
    run = site.shelf_id("runs", "medthinkvqa/atlas")
    for part in ("", "/card", "/cases", "/breakdowns", "/audit", "/calibration"):
        body = site.ask(f"/api/runs/{run}{part}").body
        assert str(shelf_folder).encode() not in body
        assert str(shelf_folder.parent).encode() not in body


@pytest.fixture(scope="module")
def withheld(shelf_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The page without truth, on the runs and on a copy of one, since some are left out there."""
    other = tmp_path_factory.mktemp("withheld") / "another"
    shutil.copytree(shelf_folder / "runs" / "medthinkvqa" / "atlas", other)
    with serve_site([shelf_folder, other], "--read-only", "--hide-truth") as found:
        yield found


def test_without_truth_no_case_tells_it(withheld: Site) -> None:
    """Scores of all cases together are there; what single cases score is not, nor their groups."""
    run = withheld.shelf_id("runs", "medthinkvqa/atlas")
    other = withheld.shelf_id("runs", "another")
    assert withheld.get(f"/api/runs/{run}/card")["scores"]
    table = withheld.get(f"/api/runs/{run}/cases")
    assert table["metrics"] == []
    assert all(row["right"] is None and row["values"] == [] for row in table["rows"])
    group = f"/api/runs/{run}/cases?breakdown=right%20option&group=A"
    assert withheld.ask(group).status == 403
    for part in ("calibration", "breakdowns"):
        assert withheld.ask(f"/api/runs/{run}/{part}").status == 403
    both = f"runs={run},{other}"
    told = withheld.get(f"/api/disagreement?{both}&metric=accuracy")
    assert told["metric"] is None
    assert all(row["values"] == [] and row["spread"] is None for row in told["rows"])
    case = told["rows"][0]["case"]
    beside = withheld.get(f"/api/compare/cases/{case}?{both}")
    assert beside["metrics"] == []
    assert all(reading["values"] == {} for reading in beside["readings"])
    assert withheld.ask(f"/api/compare/cases/{case}/truth?{both}").status == 403


def test_nothing_is_scored_where_the_page_is_read_only(site: Site) -> None:
    """Scoring writes, and is refused."""
    run = site.shelf_id("runs", "medthinkvqa/atlas")
    assert site.ask(f"/api/runs/{run}/score", method="POST").status == 403


@pytest.mark.parametrize(
    "path",
    [
        "/api/runs/nothing-abc",
        "/api/runs/..%2F..%2Fetc/card",
        "/api/compare?runs=",
        "/api/compare?runs=nothing,other",
        "/api/compare",
        "/api/compare?runs=" + "a," * 3000,
        "/api/disagreement?runs=x,y",
        "/api/sweeps/nothing",
        "/api/compare/cases/x?runs=a,b",
    ],
)
def test_what_cannot_be_asked_gets_a_sentence(site: Site, path: str) -> None:
    """Strange addresses get a 4xx with one sentence."""
    answer = site.ask(path)
    assert 400 <= answer.status < 500
    assert answer.json()["what"]


def test_the_list_counts_readings(shelf_folder: Path, tmp_path: Path) -> None:
    """Two of each case, less one that is lost; a card of before tells of cases alone."""
    run = tmp_path / "twice"
    overread.run(RunPlan("medthinkvqa", shelf_folder / "medthinkvqa", "random", repeat=2), run)
    lines = (run / "readings.jsonl").read_text().splitlines()
    assert len(lines) == 4
    failed = json.dumps(json.loads(lines[0]) | {"error": "no answer"})
    (run / "readings.jsonl").write_text("\n".join([failed, *lines[1:3], ""]))
    overread.score(run)
    (told,) = get_runs(Shelf([run]))
    assert (told.read, told.failed) == (3, 1)
    assert told.score is not None
    card = json.loads((run / "card.json").read_text())
    old = {key: value for key, value in card.items() if not key.endswith("readings")}
    (run / "card.json").write_text(json.dumps(old))
    assert get_runs(Shelf([run])) == [told]


def test_damaged_files_get_a_sentence(own_shelf: Path) -> None:
    """A card, audit or readings that somebody spoilt are told of, never a fault."""
    run = own_shelf / "runs" / "medthinkvqa" / "atlas"
    with serve_site([own_shelf]) as page:
        name = page.shelf_id("runs", "medthinkvqa/atlas")
        whole = (run / "readings.jsonl").read_bytes()
        (run / "readings.jsonl").write_bytes(b'{"case_id": 3}\n' + whole + b'{"case_id": "cut')
        told = page.get(f"/api/runs/{name}")
        assert (told["read"], told["damaged"]) == (2, 1)
        for spoilt in (b"{", b"[]", b'{"kind": "overread scorecard 1"}', b"\xff\x00"):
            (run / "card.json").write_bytes(spoilt)
            (run / "audit" / "audit.json").write_bytes(spoilt)
            for part in ("card", "breakdowns", "calibration", "audit"):
                answer = page.ask(f"/api/runs/{name}/{part}")
                assert answer.status in (404, 422), (spoilt, part)
                assert answer.json()["what"]
            assert page.get(f"/api/runs/{name}/cases")["metrics"] == []
            assert page.get("/api/runs")
        shutil.rmtree(own_shelf / "medthinkvqa")
        assert page.ask(f"/api/runs/{name}/cases").status == 200


def spoilt_cards(card: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Cards whose form is right and whose numbers are none."""
    signature = card["signature"]
    yield card | {"signature": signature | {"versions": {}}}
    wild = {"draws": float("inf"), "level": float("nan"), "seed": 1e300}
    yield card | {"signature": signature | {"intervals": wild}}
    nothing: tuple[Any, ...] = ("x", float("inf"), None, [])
    for value in nothing:
        told = json.loads(json.dumps(card["statistics"]))
        for own in told.values():
            for rows in own["rows"].values():
                for unit, row in rows.items():
                    rows[unit] = dict.fromkeys(row, value)
        yield card | {"statistics": told}


def test_numbers_that_are_none_get_a_sentence(own_shelf: Path) -> None:
    """A card that has its form and makes no sense, readings too large to add up, a wild spec."""
    folder = own_shelf / "runs" / "medthinkvqa" / "atlas"
    card = json.loads((folder / "card.json").read_text("utf-8"))
    spec = json.loads((folder / "spec.json").read_text("utf-8"))
    lines = [json.loads(line) for line in (folder / "readings.jsonl").read_text().splitlines()]
    with serve_site([own_shelf]) as page:
        run = page.shelf_id("runs", "medthinkvqa/atlas")
        both = f"runs={run},{page.shelf_id('runs', 'medthinkvqa/random')}"
        case = lines[0]["case_id"]
        asked = [f"/api/runs/{run}{part}" for part in ("", "/card", "/cases", "/calibration")]
        asked += [f"/api/compare?{both}", f"/api/disagreement?{both}&metric=accuracy", "/api/runs"]
        asked += [f"/api/compare/cases/{case}?{both}", f"/api/runs/{run}/cases/{case}/verdicts"]

        def told() -> None:
            for path in asked:
                answer = page.ask(path)
                assert answer.status in (200, 404, 422), (path, answer.body[:200])
                json.loads(answer.body, parse_constant=lambda word: pytest.fail(word))

        for spoilt in spoilt_cards(card):
            (folder / "card.json").write_text(json.dumps(spoilt))
            told()
        usage = {"calls": 1, "input_tokens": 10**40, "seconds": 1e308, "cost": 1e308}
        wild = [json.dumps(line | {"usage": usage}) + "\n" for line in lines]
        (folder / "readings.jsonl").write_text("".join(wild))
        (folder / "judge_verdicts.jsonl").mkdir()
        told()
        for root in ("\0", "/" + "a" * 5000, "a/" * 3000):
            (folder / "spec.json").write_text(json.dumps(spec | {"root": root}))
            shelf = page.get("/api/shelf?again=true")
            assert any("names no folder" in problem for problem in shelf["problems"]), root[:9]
            told()


def test_no_problem_names_a_place(own_shelf: Path) -> None:
    """What could not be looked into is told without the folder it lies in."""
    spoilt = own_shelf / "runs" / "a b" / "c d"
    spoilt.mkdir(parents=True)
    (spoilt / "readings.jsonl").touch()
    (spoilt / "spec.json").write_text("{")
    with serve_site([own_shelf, own_shelf / "x y" / "gone"]) as page:
        problems = page.get("/api/shelf")["problems"]
    assert len(problems) == 2
    assert not any(str(own_shelf.parent) in problem for problem in problems)


def test_it_is_scored_as_the_terminal_does(own_shelf: Path) -> None:
    """Scoring on the page writes the card that `overread score` writes."""
    run = own_shelf / "runs" / "mmrad" / "atlas"
    assert command("score", run)[0] == 0
    written = json.loads((run / "card.json").read_text())
    (run / "card.json").unlink()
    with serve_site([own_shelf]) as page:
        name = page.shelf_id("runs", "mmrad/atlas")
        assert page.ask(f"/api/runs/{name}/card").status == 404
        assert page.ask(f"/api/runs/{name}/score", method="POST").status == 202
        while (told := page.get(f"/api/runs/{name}"))["scoring"]["state"] in ("waits", "going"):
            pass
        assert told["scoring"]["state"] == "done", told["scoring"]
        assert told["scored"]
    again = json.loads((run / "card.json").read_text())
    for key in ("scores", "breakdowns", "statistics"):
        assert again[key] == written[key]
