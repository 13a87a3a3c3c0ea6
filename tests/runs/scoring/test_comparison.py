"""Comparing scorecards: only what belongs together, and only cards whose numbers are their own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest

from overread.core.notice import NOTICE
from overread.errors import OverreadError, UsageError
from overread.metrics.statistics.paired_tests import mcnemar
from overread.runs.scoring.aggregation import BootstrapSettings
from overread.runs.scoring.card import Card, read_card
from overread.runs.scoring.comparison import compare
from overread.runs.scoring.from_submission import grade
from tests.jsonl_rows import read_rows, write_rows

Change = Callable[[dict[str, Any]], object]
DRAWING = BootstrapSettings(draws=50)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVERREAD_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def cards(sketch: Path, tmp_path: Path) -> list[Card]:
    """Two readers of MedThinkVQA: always right, and always A."""
    rows = read_rows(sketch / "medthinkvqa" / "test.jsonl")
    found = []
    for name, letter in (("right", None), ("first", "A")):
        told = [row | {"prediction": letter or row["correct_answer"]} for row in rows]
        write_rows(tmp_path / f"{name}.jsonl", told)
        path = tmp_path / f"{name}.jsonl"
        found.append(grade("medthinkvqa", sketch / "medthinkvqa", path, bootstrap=DRAWING))
    return found


def mask_card(sketch: Path, folder: Path, *, without: int | None = None, **more: Any) -> Card:
    """A card of the truth as prediction, shifted a little, perhaps without one of the scans."""
    folder.mkdir()
    data = json.loads((sketch / "rexgroundingct/dataset.json").read_text())["test"]
    for place, case in enumerate(data):
        if place != without:
            image = nib.load(sketch / "rexgroundingct/segmentations" / case["name"])
            array = np.roll(np.asarray(image.dataobj) > 0, 1, axis=1).astype(np.uint8)
            nib.save(nib.Nifti1Image(array, image.affine), folder / case["name"])
    return grade("rexgroundingct", sketch / "rexgroundingct", folder, bootstrap=DRAWING, **more)


def written(card: Card, path: Path, change: Change) -> Path:
    body = json.loads(json.dumps(card.as_json()))
    change(body)
    path.write_text(json.dumps(body))
    return path


def rows_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    first = next(iter(body["statistics"].values()))
    return [row for units in first["rows"].values() for row in units.values()]


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body["scores"]["accuracy"].update(value=0.99),
        lambda body: body["statistics"].popitem(),
        lambda body: [row.update(right="abc") for row in rows_of(body)],
        lambda body: [row.update(right=[1]) for row in rows_of(body)],
        lambda body: [row.update(right=1e308, asked=1e308) for row in rows_of(body)],
        lambda body: [row.update(dict.fromkeys(row)) for row in rows_of(body)],
        lambda body: [case.update(rows={}) for case in body["statistics"].values()],
    ],
    ids=["value", "case", "text", "list", "huge", "null", "none"],
)
def test_a_card_that_was_changed_by_hand_is_refused(
    cards: list[Card], tmp_path: Path, change: Change
) -> None:
    """Numbers that do not follow from the statistics beside them are not compared."""
    path = written(cards[1], tmp_path / "card.json", change)
    with pytest.raises(OverreadError, match="does not follow from the statistics on its card"):
        compare([cards[0], read_card(path)], metrics=["accuracy"], bootstrap=DRAWING)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda body: body.update(signature={}), r"signature\.versions"),
        (lambda body: body["signature"].pop("release"), r"signature\.release"),
        (lambda body: body["signature"].update(settings=[1]), r"signature\.settings"),
        (lambda body: body["signature"].update(release="x"), r"signature\.release"),
        (lambda body: body["scores"]["accuracy"].update(value="x"), r"scores\.accuracy\.value"),
    ],
)
def test_a_damaged_card_says_where(cards: list[Card], tmp_path: Path, change: Change, place: str) -> None:
    """A card in which something is missing or of another kind is one sentence, and no crash."""
    path = written(cards[0], tmp_path / "card.json", change)
    with pytest.raises(OverreadError, match=f"the scorecard is damaged at {place}"):
        read_card(path)


def test_other_settings_are_named(sketch: Path, tmp_path: Path) -> None:
    """Cards of different settings have nothing in common, and the sentence says what differs."""
    usual = mask_card(sketch, tmp_path / "usual")
    other = mask_card(sketch, tmp_path / "other", settings={"connectivity": 26})
    with pytest.raises(UsageError, match="different settings: connectivity 18 and 26"):
        compare([usual, other], bootstrap=DRAWING)


def test_cases_that_one_reader_lacks_are_named(sketch: Path, tmp_path: Path) -> None:
    """A scan whose truth could not be read for one card is told, or left out on request."""
    whole = mask_card(sketch, tmp_path / "whole")
    lost = sorted(whole.statistics)[0]
    kept = {case: own for case, own in whole.statistics.items() if case != lost}
    part = whole.model_copy(update={"statistics": kept, "reader": "part"})
    name = "ceiling_hit_rate"  # the same with and without the scan
    part = part.model_copy(update={"scores": {"hit_rate": whole.scores["hit_rate"]}})
    assert whole.scores[name].value == whole.scores["hit_rate"].value == 1
    with pytest.raises(UsageError, match=rf"of 'whole' were not measured of 'part' \({lost}\)"):
        compare([whole, part], metrics=["hit_rate"], bootstrap=DRAWING)
    found = compare([whole, part], metrics=["hit_rate"], units="common", bootstrap=DRAWING)
    assert sum(found.metrics["hit_rate"].differences["part"].left_out) > 0


def test_another_truth_is_refused(sketch: Path, tmp_path: Path) -> None:
    """Cards whose statistics tell of other masks of the truth are not compared."""
    one = mask_card(sketch, tmp_path / "one")
    body = json.loads(json.dumps(one.as_json()))
    rows_of(body)[0]["truth_voxels"] += 1
    (tmp_path / "card.json").write_text(json.dumps(body))
    with pytest.raises(UsageError, match="graded against another truth of"):
        compare([one, read_card(tmp_path / "card.json")], metrics=["hit_rate"], bootstrap=DRAWING)


def test_mcnemar_leaves_out_what_the_official_rule_does(sketch: Path, tmp_path: Path) -> None:
    """Scans that were not handed in are wrong for the honest test, and absent for the other."""
    whole = mask_card(sketch, tmp_path / "whole")
    part = mask_card(sketch, tmp_path / "part", without=0)
    found = compare([whole, part], bootstrap=DRAWING).metrics
    official = found["hit_rate"].mcnemar["part"]
    honest = found["honest_hit_rate"].mcnemar["part"]
    assert official.n == part.scores["hit_rate"].n < honest.n == whole.scores["hit_rate"].n
    assert (official.first_only, official.second_only) == (0, 0)
    missing = honest.n - official.n
    right = dict.fromkeys(range(honest.n), 1)
    less = {n: int(n >= missing) for n in range(honest.n)}
    assert honest.second_only == missing
    assert honest.exact_p == mcnemar(less, right).exact_p


def test_a_metric_that_is_not_installed_is_left_out(cards: list[Card]) -> None:
    """A card with somebody's own metric is compared by the others, and the metric is named."""
    more = [
        card.model_copy(update={"scores": card.scores | {"mine:words": card.scores["accuracy"]}})
        for card in cards
    ]
    found = compare(more, bootstrap=DRAWING)
    assert found.left_out["mine:words"] == "no metric of that name is installed"
    assert "accuracy" in found.metrics
    with pytest.raises(UsageError, match="no metric is called 'mine:words'"):
        compare(more, metrics=["mine:words"], bootstrap=DRAWING)


def test_a_comparison_shows_itself(cards: list[Card]) -> None:
    """Every reader of every metric, with the difference from the baseline; texts are escaped."""
    found = compare(cards, names=("<b>one</b>", "two"), metrics=("accuracy",), bootstrap=DRAWING)
    html = found._repr_html_()
    apart = found.metrics["accuracy"].differences["two"].difference.value
    assert f"<td>two</td><td>{cards[1].scores['accuracy'].value:.4g}</td><td>{apart:.4g}</td>" in html
    assert "minus &lt;b&gt;one&lt;/b&gt;" in html
    assert "<b>" not in html
    assert html.count(NOTICE) == 1
