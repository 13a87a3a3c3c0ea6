"""`overread grade` and `overread compare`, as a user types them."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest

from tests.cli import overread_command
from tests.sketches.release import write_sketch


@pytest.fixture(scope="module")
def sketch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sketch")
    write_sketch(root, seed=5)
    return root


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OVERREAD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def run(*words: str | Path, code: int = 0) -> str:
    # Two processes take longer to start than two scans to be measured.
    alone = ("--workers", "1") if words[0] == "grade" and "--workers" not in words else ()
    found, out, err = overread_command.run(*words, *alone)
    assert found == code, err + out
    return err if code else out


def graded(*words: str | Path) -> dict[str, Any]:
    card: dict[str, Any] = json.loads(run("grade", *words, "--json"))
    return card


def answers(sketch: Path, out: Path, letter: str | None = None) -> Path:
    """Predictions of the test split: one letter throughout, or the right one."""
    rows = map(json.loads, (sketch / "medthinkvqa/test.jsonl").read_text().splitlines())
    with out.open("w") as lines:
        for row in rows:
            row["prediction"] = letter or row["correct_answer"]
            lines.write(json.dumps(row) + "\n")
    return out


def masks(sketch: Path, out: Path) -> Path:
    """The truth of the test split as predictions, binary."""
    out.mkdir()
    for case in json.loads((sketch / "rexgroundingct/dataset.json").read_text())["test"]:
        image = nib.load(sketch / "rexgroundingct/segmentations" / case["name"])
        labels = (np.asarray(image.dataobj) > 0).astype(np.uint8)
        nib.save(nib.Nifti1Image(labels, image.affine), out / case["name"])
    return out


def test_a_perfect_choice(sketch: Path, tmp_path: Path) -> None:
    """The right letters give accuracy 1 at the top of the JSON, with signature and intervals."""
    root = sketch / "medthinkvqa"
    card = graded("medthinkvqa", root, answers(sketch, tmp_path / "p.jsonl"))
    assert card["accuracy"] == 1.0
    found = card["scores"]["accuracy"]
    assert (found["low"], found["method"]) == (None, "none")
    assert found["note"] == f"only {found['n']} patients: no interval under 5"
    assert card["scores"]["accuracy"]["n"] == card["cases"] == 2
    assert card["signature"]["versions"]["overread"]
    assert card["signature"]["intervals"]["draws"] == 1000
    assert "brier" in card["not_attempted"]
    assert set(card["breakdowns"]) >= {"modality", "right option", "images"}


def test_an_answer_f_is_named_and_wrong(sketch: Path, tmp_path: Path) -> None:
    """A letter that is none costs its case and is told with file, row and remedy."""
    said = run("grade", "medthinkvqa", sketch / "medthinkvqa", answers(sketch, tmp_path / "p.jsonl", "F"))
    assert "'F' is none of A, B, C, D, E (in p.jsonl, row 1" in " ".join(said.split())
    assert "2 failed" in said
    run("grade", "medthinkvqa", sketch / "medthinkvqa", tmp_path / "p.jsonl", "--strict", code=1)


def test_the_official_mask_numbers_stand_at_the_top(sketch: Path, tmp_path: Path) -> None:
    """A perfect reader is at the ceiling, and at 1 in global-only mode."""
    found = masks(sketch, tmp_path / "m")
    card = graded("rexgroundingct", sketch / "rexgroundingct", found, "--workers", "2")
    for name in card["official"]:
        assert card[name] == pytest.approx(card["scores"][f"ceiling_{name}"]["value"])
    assert card["scores"]["global_only_mean_global_dice_per_finding"]["value"] == pytest.approx(1.0)
    assert set(card["breakdowns"]) >= {"category"}


def test_a_missing_and_a_broken_scan(sketch: Path, tmp_path: Path) -> None:
    """Official numbers leave them out, honest ones count them as worst; both are named."""
    folder = masks(sketch, tmp_path / "m")
    first, second = sorted(folder.iterdir())
    first.unlink()
    card = graded("rexgroundingct", sketch / "rexgroundingct", folder)
    whole = card["scores"]["ceiling_mean_global_dice_per_finding"]["n"]
    assert card["missing"] == 1
    assert card["scores"]["mean_global_dice_per_finding"]["n"] < whole
    assert card["scores"]["honest_hit_rate"]["value"] < card["scores"]["hit_rate"]["value"]
    assert any("have no prediction" in problem for problem in card["problems"])
    image = nib.load(second)
    broken = np.asarray(image.dataobj).astype(np.float32)
    broken[0, 0, 0, 0] = np.nan
    nib.save(nib.Nifti1Image(broken, image.affine), second)
    card = graded("rexgroundingct", sketch / "rexgroundingct", folder)
    assert (card["missing"], card["failed"]) == (1, 1)
    assert card["mean_global_dice_per_finding"] > 0  # the official scorer casts NaN, and goes on
    assert card["scores"]["honest_mean_global_dice_per_finding"]["value"] == 0.0
    assert any("the mask holds the value nan" in problem for problem in card["problems"])


def test_the_right_shape_in_the_wrong_orientation_gets_a_hint(sketch: Path, tmp_path: Path) -> None:
    """Masks that would fit when flipped score as they are, and the user is told."""
    folder = masks(sketch, tmp_path / "m")
    for path in folder.iterdir():
        image = nib.load(path)
        flipped = np.asarray(image.dataobj)[:, ::-1, ::-1]
        nib.save(nib.Nifti1Image(np.ascontiguousarray(flipped), image.affine), path)
    card = graded("rexgroundingct", sketch / "rexgroundingct", folder)
    assert card["hit_rate"] < 0.5
    assert any("when flipped along H" in problem for problem in card["problems"])


def test_a_zip_is_graded_like_its_folder(sketch: Path, tmp_path: Path) -> None:
    """The same masks in a zip give the same numbers; a hostile zip gives one sentence."""
    folder = masks(sketch, tmp_path / "m")
    packed = tmp_path / "p.zip"
    with zipfile.ZipFile(packed, "w") as out:
        for path in folder.iterdir():
            out.write(path, path.name)
    root = sketch / "rexgroundingct"
    one, two = graded("rexgroundingct", root, folder), graded("rexgroundingct", root, packed)
    assert one["scores"] == two["scores"]
    with zipfile.ZipFile(tmp_path / "empty.zip", "w"):
        pass
    said = run("grade", "rexgroundingct", root, tmp_path / "empty.zip", code=1)
    assert said.startswith("overread: there is nothing in it")


def test_what_was_measured_is_not_measured_again(sketch: Path, tmp_path: Path, own_cache: Path) -> None:
    """A second grading adds no line to what is kept; a changed file is measured again."""
    folder = masks(sketch, tmp_path / "m")
    root = sketch / "rexgroundingct"
    first = graded("rexgroundingct", root, folder)
    (kept,) = (own_cache / "grades").iterdir()
    lines = kept.read_text().count('"key"')
    assert graded("rexgroundingct", root, folder)["scores"] == first["scores"]
    assert kept.read_text().count('"key"') == lines == 2
    path = sorted(folder.iterdir())[0]
    image = nib.load(path)
    nib.save(nib.Nifti1Image(np.zeros(image.shape, np.uint8), image.affine), path)
    assert graded("rexgroundingct", root, folder)["hit_rate"] < first["hit_rate"]
    assert kept.read_text().count('"key"') == 3


def test_settings_change_the_number_and_the_signature(sketch: Path, tmp_path: Path) -> None:
    """A setting is passed on and told; one that nobody knows is refused with the nearest name."""
    folder = masks(sketch, tmp_path / "m")
    root = sketch / "rexgroundingct"
    card = graded("rexgroundingct", root, folder, "--setting", "min_voxels=1000000")
    assert card["hit_rate"] == 0.0
    assert card["signature"]["settings"]["hit_rate"]["min_voxels"] == 1000000
    said = run("grade", "rexgroundingct", root, folder, "--setting", "min_voxel=3", code=2)
    assert "did you mean 'min_voxels'" in said


def test_traces_are_graded(sketch: Path) -> None:
    """The reference responses of MMRad score best as predictions of themselves."""
    root = sketch / "mmrad"
    card = graded("mmrad", root, root / "test.jsonl")
    assert card["scores"]["clinical_score"]["value"] == 1.0
    assert card["scores"]["clinical_errors"]["value"] == 0.0
    assert card["scores"]["clinical_f1"]["value"] == 1.0
    assert card["scores"]["trace_box_iou"]["value"] == pytest.approx(1.0)
    assert card["scores"]["trace_crop_agreement"]["value"] == pytest.approx(1.0)


def test_readers_side_by_side(sketch: Path, tmp_path: Path) -> None:
    """Three graded files are compared, paired, with ranks; the JSON says the same."""
    root = sketch / "medthinkvqa"
    cards = []
    for letter in (None, "A", "B"):
        name = tmp_path / f"{letter or 'right'}.jsonl"
        cards.append(tmp_path / f"{letter or 'right'}.json")
        run("grade", "medthinkvqa", root, answers(sketch, name, letter), "--out", cards[-1])
    said = run("compare", *cards)
    for part in ("against right", "ranks by accuracy", "McNemar"):
        assert part in said
    told = json.loads(run("compare", *cards, "--json", "--baseline", "A"))
    assert told["baseline"] == "A"
    compared = told["metrics"]["accuracy"]
    assert compared["differences"]["right"]["difference"]["value"] > 0
    assert compared["ranking"]["ranks"][0]["reader"] == "right"


def test_what_cannot_be_compared_is_refused(sketch: Path, tmp_path: Path) -> None:
    """Another split, a card without its cases, no card at all: one sentence each."""
    root = sketch / "medthinkvqa"
    one = tmp_path / "one.json"
    run("grade", "medthinkvqa", root, answers(sketch, tmp_path / "p.jsonl"), "--out", one)
    bare = tmp_path / "bare.json"
    run("grade", "medthinkvqa", root, tmp_path / "p.jsonl", "--out", bare, "--no-statistics")
    assert "without --no-statistics" in run("compare", one, bare, code=2)
    assert "at least two" in run("compare", one, code=2)
    other = tmp_path / "other.json"
    run("grade", "mmrad", sketch / "mmrad", sketch / "mmrad/test.jsonl", "--out", other)
    assert "compare readers of one split" in run("compare", one, other, code=2)
    assert "this is not a scorecard" in run("compare", one, sketch / "rexgroundingct/dataset.json", code=1)


def test_a_comparison_shows_honest_numbers_where_something_is_missing(sketch: Path, tmp_path: Path) -> None:
    """Whoever leaves out a scan is set beside the others with that scan as the worst, too."""
    root = sketch / "rexgroundingct"
    folder = masks(sketch, tmp_path / "m")
    run("grade", "rexgroundingct", root, folder, "--out", tmp_path / "whole.json")
    assert "honest_hit_rate" not in run("compare", *[tmp_path / "whole.json"] * 2)
    sorted(folder.iterdir())[0].unlink()
    run("grade", "rexgroundingct", root, folder, "--out", tmp_path / "part.json")
    said = run("compare", tmp_path / "whole.json", tmp_path / "part.json")
    assert "honest_hit_rate" in said
    assert "1 missing" in said


def test_what_cannot_be_written_is_told_before_grading(sketch: Path, tmp_path: Path) -> None:
    """A folder, a pipe or a place below a file as --out ends at once; a link is followed."""
    right = answers(sketch, tmp_path / "p.jsonl")
    root = sketch / "medthinkvqa"
    os.mkfifo(tmp_path / "pipe")
    for out, told in (
        (tmp_path, "is a folder"),
        (tmp_path / "pipe", "is no regular file"),
        (right / "card.json", "nothing can be written to"),
    ):
        said = run("grade", "medthinkvqa", root, right, "--out", out, code=2)
        assert told in said
        assert len(said.splitlines()) == 1
    (tmp_path / "link.json").symlink_to(tmp_path / "card.json")
    run("grade", "medthinkvqa", root, right, "--out", tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "card.json").read_text())["accuracy"] == 1


def test_a_metric_without_weights_is_said_to_be_missing(
    sketch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are scored, and the table says which is not and why."""
    monkeypatch.setenv("OVERREAD_MODELS", str(tmp_path / "models"))
    rows = [json.loads(line) for line in (sketch / "medthinkvqa/test.jsonl").read_text().splitlines()]
    for row in rows:
        told = {"step1_per_image_findings": ["Seen."], "step2_integrated_summary": "All is well."}
        row |= {"prediction": "A", "prediction_twi": {**told, "step3_differential_reasoning": "So."}}
    file = tmp_path / "mine.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ("medthinkvqa", sketch / "medthinkvqa", file, "--metric", "radcliq_v1", "--metric", "rougeL")
    assert set(graded(*words)["scores"]) == {"rougeL"}
    out = " ".join(run("grade", *words).split())
    assert "not scored, the weights of RadGraph (radgraph) were not found" in out
    assert "radcliq_v1" in out
