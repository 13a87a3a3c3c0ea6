"""Grading as a whole: what is left out is told, what cannot be set is refused, n means what it says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest

from overread.errors import ReleaseError, UsageError
from overread.runs.scoring.aggregation import BootstrapSettings
from overread.runs.scoring.card import Card
from overread.runs.scoring.from_submission import grade
from tests.jsonl_rows import read_rows, write_rows

Copy = Callable[[str], Path]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVERREAD_CACHE", str(tmp_path / "cache"))


def graded(benchmark: str, root: Path, predictions: Path, **more: Any) -> Card:
    return grade(benchmark, root, predictions, bootstrap=BootstrapSettings(draws=0), **more)


@pytest.fixture
def masks(sketch: Path, tmp_path: Path) -> Path:
    """The truth of the two test scans as predictions, binary."""
    folder = tmp_path / "masks"
    folder.mkdir()
    for case in json.loads((sketch / "rexgroundingct/dataset.json").read_text())["test"]:
        image = nib.load(sketch / "rexgroundingct/segmentations" / case["name"])
        changed(folder / case["name"], image, np.asarray(image.dataobj) > 0)
    return folder


def changed(path: Path, image: Any, array: Any) -> None:
    nib.save(nib.Nifti1Image(np.ascontiguousarray(array).astype(np.uint8), image.affine), path)


def test_where_everything_failed_the_honest_numbers_are_worst(sketch: Path, masks: Path) -> None:
    """Masks that all have swapped axes score 0 honestly; officially there is no number."""
    for path in masks.iterdir():
        image = nib.load(path)
        changed(path, image, np.asarray(image.dataobj).transpose(0, 3, 1, 2))
    card = graded("rexgroundingct", sketch / "rexgroundingct", masks)
    assert card.failed == card.cases == 2
    assert all(name.startswith("chain_") for name in card.not_attempted)
    for name in card.official:
        assert card.scores[name].value is None
        assert card.scores[f"honest_{name}"].value == 0
        assert card.scores[f"ceiling_{name}"].value is not None


def test_where_no_answer_can_be_used_the_choice_is_worst(sketch: Path, tmp_path: Path) -> None:
    """Answers that are all no letter were attempts at a choice, and at nothing else."""
    rows = read_rows(sketch / "medthinkvqa" / "test.jsonl")
    write_rows(tmp_path / "p.jsonl", [row | {"prediction": "F"} for row in rows])
    card = graded("medthinkvqa", sketch / "medthinkvqa", tmp_path / "p.jsonl")
    assert (card.scores["accuracy"].value, card.scores["answer_rate"].value) == (0, 0)
    assert {"brier", "rouge1"} <= set(card.not_attempted)


def test_n_of_a_mean_over_cases_counts_cases(sketch: Path, masks: Path) -> None:
    """Means over scans rest on scans, the other mask scores on findings."""
    card = graded("rexgroundingct", sketch / "rexgroundingct", masks)
    data = json.loads((sketch / "rexgroundingct/dataset.json").read_text())["test"]
    findings = sum(len(case["findings"]) for case in data)
    assert findings > len(data)
    for name, score in card.scores.items():
        assert score.n == (len(data) if name.endswith("_per_case") else findings), name
    sorted(masks.iterdir())[0].unlink()
    card = graded("rexgroundingct", sketch / "rexgroundingct", masks)
    assert card.scores["mean_global_dice_per_case"].n == 1
    assert card.scores["honest_mean_global_dice_per_case"].n == 2


def test_the_hint_names_the_scans_and_counts_findings_once(sketch: Path, masks: Path) -> None:
    """Masks upside down are told with their scans, also where two measures looked at them."""
    for path in masks.iterdir():
        image = nib.load(path)
        changed(path, image, np.asarray(image.dataobj)[:, ::-1])
    root = sketch / "rexgroundingct"
    once = graded("rexgroundingct", root, masks)
    twice = graded("rexgroundingct", root, masks, metrics=["hit_rate", "hd95"])
    (hint,) = [problem for problem in once.problems if "flipped along H " in problem]
    assert hint in twice.problems
    assert any(path.name.removesuffix(".nii.gz") in hint for path in masks.iterdir())


@pytest.mark.parametrize("name", ["mode", "missing", "values"])
def test_what_tells_metrics_apart_cannot_be_set(sketch: Path, masks: Path, name: str) -> None:
    """A setting that nothing would follow is refused instead of taken in silence."""
    root = sketch / "rexgroundingct"
    with pytest.raises(UsageError, match=f"'{name}' tells metrics apart and cannot be set"):
        graded("rexgroundingct", root, masks, settings={name: "other"})


def test_zero_denominators_can_be_set(sketch: Path, masks: Path) -> None:
    """Both columns then follow it, and the signature tells."""
    card = graded("rexgroundingct", sketch / "rexgroundingct", masks, settings={"zero_denominator": 0.5})
    for name in ("overall_instance_precision", "honest_overall_instance_f1"):
        assert card.signature["settings"][name]["zero_denominator"] == 0.5
    with pytest.raises(UsageError, match="zero_denominator cannot be"):
        graded("rexgroundingct", sketch / "rexgroundingct", masks, settings={"zero_denominator": "other"})


def test_metrics_without_settings_say_so(sketch: Path, tmp_path: Path) -> None:
    """A setting for metrics that have none ends with one sentence."""
    rows = read_rows(sketch / "medthinkvqa" / "test.jsonl")
    write_rows(tmp_path / "p.jsonl", [row | {"prediction": "A"} for row in rows])
    root, rows_file = sketch / "medthinkvqa", tmp_path / "p.jsonl"
    with pytest.raises(UsageError, match="these metrics have no setting 'bins', nor any other"):
        graded("medthinkvqa", root, rows_file, settings={"bins": 10}, metrics=["accuracy"])
    with pytest.raises(UsageError, match="no setting of these metrics is called 'bins'"):
        graded("medthinkvqa", root, rows_file, settings={"bins": 10})


def test_cases_without_truth_are_told(copy: Copy, tmp_path: Path) -> None:
    """Where the key of one case is withheld, the card says what its accuracy rests on."""
    root = copy("medthinkvqa")
    rows = read_rows(root / "test.jsonl")
    write_rows(tmp_path / "p.jsonl", [row | {"prediction": row["correct_answer"]} for row in rows])
    del rows[0]["correct_answer"], rows[0]["correct_answer_text"]
    write_rows(root / "test.jsonl", rows)
    card = graded("medthinkvqa", root, tmp_path / "p.jsonl")
    assert (card.scores["accuracy"].value, card.scores["accuracy"].n) == (1, 1)
    (problem,) = [p for p in card.problems if "no truth for 1 of 2 cases" in p]
    assert problem.endswith("the others alone count in accuracy")


def test_truth_that_cannot_be_read_is_named(copy: Copy, masks: Path) -> None:
    """Where no mask of the truth can be read the error says why, not that it is withheld."""
    root = copy("rexgroundingct")
    for path in (root / "segmentations").iterdir():
        path.write_bytes(b"no mask")
    with pytest.raises(ReleaseError, match=r"cannot be read; the first of it: .*not a NIfTI file"):
        graded("rexgroundingct", root, masks)


def test_a_field_of_a_later_version_changes_no_digest(sketch: Path, masks: Path) -> None:
    """What is empty in an entry is not part of what tells two releases apart."""
    from overread.runs.scoring.card_builder import _drop_empty

    plain = {"id": "a", "parts": [{"n": 0, "on": False}]}
    later = {"id": "a", "parts": [{"n": 0, "on": False, "new": None}], "more": [], "told": {}}
    assert _drop_empty(later) == _drop_empty(plain) == plain
