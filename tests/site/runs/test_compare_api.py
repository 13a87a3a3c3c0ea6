"""Comparisons in the API: the numbers of `overread compare`, and where readers disagree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from overread.metrics.choice import normalise_answer
from overread.runs.audit.shifts import word_difference
from overread.runs.store import last_readings
from overread.site.access import Access
from overread.site.runs.side_by_side import get_side_by_side
from overread.site.shelf import Shelf
from tests.cli.overread_command import run as command
from tests.site.served_site import READERS, Site, serve_site


def ids(site: Site, benchmark: str) -> list[str]:
    """The three runs of a benchmark."""
    return [site.shelf_id("runs", f"{benchmark}/{reader}") for reader in READERS]


@pytest.mark.parametrize(
    ("benchmark", "metric"),
    [("medthinkvqa", "accuracy"), ("mmrad", "clinical_score"), ("rexgroundingct", "hit_rate")],
)
def test_it_is_what_the_terminal_says(site: Site, shelf_folder: Path, benchmark: str, metric: str) -> None:
    """Scores, differences, McNemar, ranks and tests are those of `overread compare --json`."""
    runs = ids(site, benchmark)
    told = site.get(f"/api/compare?runs={','.join(runs)}&baseline={runs[1]}&metric={metric}")
    folders = [shelf_folder / "runs" / benchmark / reader for reader in READERS]
    names = [word for one in runs for word in ("--name", one)]
    code, out, _ = command("compare", *folders, "--json", "--metric", metric, *names, "--baseline", runs[1])
    assert code == 0
    said: dict[str, Any] = json.loads(out)
    own = said["metrics"][metric]
    assert told["baseline"] == runs[1]
    for run in runs:
        shown = told["scores"][run][metric]
        assert shown == {key: said["scores"][run][metric][key] for key in shown}
    assert told["differences"].keys() == own["differences"].keys()
    for run, apart in own["differences"].items():
        shown = told["differences"][run]
        assert (shown["first"], shown["second"], shown["p"]) == (apart["first"], apart["second"], apart["p"])
        for end in ("value", "low", "high"):
            assert shown["difference"][end] == apart["difference"][end]
    for run, test in own["mcnemar"].items():
        shown = told["mcnemar"][run]
        assert (shown["this_only"], shown["baseline_only"], shown["exact_p"]) == (
            test["first_only"],
            test["second_only"],
            test["exact_p"],
        )
    ranks = [(one["run"], one["rank"], one["low"], one["high"]) for one in told["ranking"]]
    assert ranks == [(one["reader"], one["rank"], one["low"], one["high"]) for one in own["ranking"]["ranks"]]
    adjusted = [(one["first"], one["second"], one["adjusted"]) for one in told["pairs"]]
    assert adjusted == [
        (one["first"], one["second"], one["adjusted"]) for one in own["significance"]["tests"]
    ]


def test_runs_of_two_splits_are_refused(site: Site) -> None:
    """Readers of different exams are not compared."""
    one, other = ids(site, "mmrad")[0], ids(site, "medthinkvqa")[0]
    answer = site.ask(f"/api/compare?runs={one},{other}")
    assert answer.status == 422
    assert "medthinkvqa" in answer.json()["what"]


def test_a_run_without_scores_is_left_out(own_shelf: Path) -> None:
    """The others are compared all the same, and one alone is not."""
    (own_shelf / "runs" / "mmrad" / "random" / "card.json").unlink()
    with serve_site([own_shelf]) as page:
        runs = ids(page, "mmrad")
        told = page.get(f"/api/compare?runs={','.join(runs)}")
        assert [one["id"] for one in told["runs"]] == [runs[0], runs[2]]
        assert list(told["unscored"]) == [runs[1]]
        assert page.ask(f"/api/compare?runs={runs[0]},{runs[1]}").status == 422


def test_disagreement_on_choices(site: Site, shelf_folder: Path) -> None:
    """A case is apart where the letters differ, and the spread is that of the values."""
    runs = ids(site, "medthinkvqa")[1:]
    told = site.get(f"/api/disagreement?runs={','.join(runs)}&metric=accuracy")
    folder = shelf_folder / "runs" / "medthinkvqa"
    chosen = [last_readings(folder / reader) for reader in READERS[1:]]
    for row in told["rows"]:
        letters = [found[row["case"], 0].choice for found in chosen]
        assert row["answers"] == letters
        assert row["differ"] == (letters[0] != letters[1])
        assert row["spread"] == max(row["values"]) - min(row["values"])
        assert row["values"][1] == 1  # the oracle


def test_disagreement_on_reports(site: Site, shelf_folder: Path) -> None:
    """Reports are as far apart as their words."""
    runs = ids(site, "mmrad")[1:]
    told = site.get(f"/api/disagreement?runs={','.join(runs)}")
    folder = shelf_folder / "runs" / "mmrad"
    one, two = (last_readings(folder / reader) for reader in READERS[1:])
    for row in told["rows"]:
        texts = [found[row["case"], 0].report or "" for found in (one, two)]
        assert row["apart"] == word_difference(*texts)
        assert (row["apart"] == 0) == (
            normalise_answer(texts[0]).split() == normalise_answer(texts[1]).split()
        )


def test_the_overlap_of_masks_is_measured(site: Site) -> None:
    """The overlap of a case's masks is measured on the voxels."""
    atlas, _, oracle = ids(site, "rexgroundingct")
    rows = site.get(f"/api/disagreement?runs={atlas},{oracle}")["rows"]
    case = rows[0]["case"]
    found = site.get(f"/api/compare/cases/{case}/masks?runs={atlas},{oracle}")
    assert found
    assert all(0 <= one["dice"] <= 1 for one in found)
    back = site.get(f"/api/compare/cases/{case}/masks?runs={oracle},{atlas}")
    assert {o["query"]: o["dice"] for o in back} == {o["query"]: o["dice"] for o in found}
    # The oracle's mask is the truth, so that the overlap with it is the score.
    beside = site.get(f"/api/compare/cases/{case}?runs={atlas},{oracle}")
    mean = beside["readings"][0]["values"]["global_only_mean_global_dice_per_finding"]
    assert sum(one["dice"] for one in found) / len(found) == pytest.approx(mean)
    films = ids(site, "mmrad")
    film = site.get(f"/api/disagreement?runs={films[0]},{films[1]}")["rows"][0]["case"]
    assert site.ask(f"/api/compare/cases/{film}/masks?runs={films[0]},{films[1]}").status == 422


def test_a_reading_cannot_name_a_mask_elsewhere(own_shelf: Path) -> None:
    """A mask outside of the run is refused, and its path is not told."""
    file = own_shelf / "runs" / "rexgroundingct" / "atlas" / "readings.jsonl"
    file.write_text(file.read_text().replace('"arrays/', '"../../../../arrays/'))
    with serve_site([own_shelf]) as page:
        atlas, _, oracle = ids(page, "rexgroundingct")
        case = page.get(f"/api/disagreement?runs={atlas},{oracle}")["rows"][0]["case"]
        answer = page.ask(f"/api/compare/cases/{case}/masks?runs={atlas},{oracle}")
        assert 400 <= answer.status < 500
        assert str(own_shelf).encode() not in answer.body


def test_masks_are_measured_while_one_looks(site: Site) -> None:
    """Cases of a CT are as far apart as the masks of the first two runs; others have no masks."""
    atlas, _, oracle = ids(site, "rexgroundingct")
    both = f"runs={atlas},{oracle}"
    while (told := site.get(f"/api/disagreement/masks?{both}"))["done"] < told["of"]:
        pass
    cases = [row["case"] for row in site.get(f"/api/disagreement?{both}")["rows"]]
    assert list(told["apart"]) == cases
    for case, apart in told["apart"].items():
        dice = [one["dice"] for one in site.get(f"/api/compare/cases/{case}/masks?{both}")]
        assert apart == pytest.approx(1 - sum(dice) / len(dice))
    films = ",".join(ids(site, "mmrad"))
    assert site.ask(f"/api/disagreement/masks?runs={films}").status == 422


def test_a_case_that_one_run_has_not_read_is_missing_there(own_shelf: Path) -> None:
    """The other run's reading is shown beside it."""
    shelf = Shelf([own_shelf])
    runs = [run for run in shelf.runs.values() if run.name in ("runs/mmrad/atlas", "runs/mmrad/random")]
    file = runs[0].folder / "readings.jsonl"
    first, *others = file.read_text().splitlines(keepends=True)
    file.write_text("".join(others))
    told = get_side_by_side(json.loads(first)["case_id"], runs, shelf, Access())
    assert [one.state for one in told.readings] == ["missing", "read"]
