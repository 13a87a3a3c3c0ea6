"""The official column against the public scorer's rule, on submissions good, odd and hostile."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
from numpy.typing import NDArray

import overread
from overread.benchmarks.rexgroundingct.submission import read_submission
from overread.cli.main import main
from overread.errors import SubmissionError
from overread.metrics import Sample, Subject
from overread.metrics.masks.scores import METRICS
from tests.metrics.masks.brute_force import blobs, drawn
from tests.metrics.masks.official_scorer import summary

CT = (17, 14, 11)
AFFINE = np.diag([0.7, 0.7, 1.0, 1.0])
Array = NDArray[Any]
NAMES = ("mean_global_dice_per_finding", "overall_instance_f1", "mean_matched_dice_per_finding")


def save(path: Path, array: Array, *, slope: float | None = None) -> None:
    image = nib.Nifti1Image(array, AFFINE, dtype=array.dtype)
    if slope is not None:
        image.header.set_slope_inter(slope, 0.0)
    nib.save(image, path)


def write_release(folder: Path, truths: dict[str, Array]) -> None:
    """A release with nothing in its CTs, and these masks."""
    for part in ("images", "segmentations"):
        (folder / part).mkdir(parents=True)
    rows = []
    for name, mask in truths.items():
        save(folder / "segmentations" / name, mask)
        save(folder / "images" / name, np.zeros(CT, np.int16))
        keys = [str(n) for n in range(len(mask))]
        rows.append(
            {
                "name": name,
                "findings": {key: f"Nodule number {key}." for key in keys},
                "categories": dict.fromkeys(keys, "2d"),
                "entity_counts": {key: len(np.unique(mask[int(key)])) - 1 for key in keys},
                "pixels": {key: int((mask[int(key)] > 0).sum()) for key in keys},
                "shape": list(CT),
                "protocol": "protocol1",
            }
        )
    (folder / "dataset.json").write_text(json.dumps({"train": [], "val": [], "test": rows}))


def truth_mask(random: np.random.Generator) -> Array:
    """One to three findings: drawn blobs, two equal cubes (so that pairs tie), or nothing."""
    channels = []
    for _ in range(random.integers(1, 4)):
        kind = random.choice(["blobs", "blobs", "cubes", "nothing"], p=[0.4, 0.3, 0.2, 0.1])
        mask = np.zeros(CT, np.uint8)
        if kind == "blobs":
            mask = drawn(random, blobs(random, CT, part=0.08, width=1.5), int(random.integers(1, 5)))
        elif kind == "cubes":
            labels = random.choice(np.arange(1, 256), 3, replace=False)
            for place, label in zip((1, 6, 11), labels, strict=True):
                mask[place : place + 3, 2:5, 2:5] = label
        channels.append(mask)
    return np.stack(channels)


def prediction(random: np.random.Generator, truth: Array) -> Array:
    """Something that a reader may hand in, as bytes: right, wrong, empty, specks, too much."""
    channels = []
    for mask in truth:
        kind = random.choice(["exact", "shifted", "flipped", "blobs", "empty", "specks", "many", "between"])
        there = (mask > 0).astype(np.uint8)
        if kind == "shifted":
            there = np.roll(there, 1, axis=int(random.integers(0, 3)))
        elif kind == "flipped":
            there = there[::-1].copy()
        elif kind == "blobs":
            there = blobs(random, CT, part=0.1, width=1.2).astype(np.uint8)
        elif kind in ("empty", "specks", "many"):
            there = np.zeros(CT, np.uint8)
            if kind == "specks":
                there[tuple(random.integers(0, side, 9) for side in CT)] = 1
            elif kind == "many":  # more than fifty lesions, many of them of the same size
                for h in range(0, 15, 3):
                    for w in range(0, 12, 3):
                        for d in range(0, 9, 4):
                            there[h : h + 2, w : w + 2, d : d + 3] = random.random() < 0.95
        elif kind == "between":  # a lesion that meets two equal entities alike
            there = np.zeros(CT, np.uint8)
            there[2:8, 2:5, 2:5] = 1
        channels.append(there * int(random.choice([1, 1, 2, 255])))
    return np.stack(channels).astype(np.uint8)


def write_prediction(path: Path, mask: Array, how: str, random: np.random.Generator) -> None:
    """The file as somebody may store it."""
    on = mask > 0
    odd = blobs(random, CT, part=0.1, width=1.0)
    if how == "missing":
        return
    if how == "floats":
        save(path, mask.astype(np.float32))
    elif how == "scores":
        save(path, np.where(on, 0.6, np.where(odd, 1.0, 0.0)).astype(np.float64))
    elif how == "256":
        save(path, np.where(on, 256, np.where(odd, 3, 0)).astype(np.int16))
    elif how == "-1":
        save(path, np.where(on, -1, 0).astype(random.choice(["i2", "i4", "f4"])))
    elif how == "NaN":
        save(path, np.where(on, np.nan, np.where(odd, 1.0, 0.0)).astype(random.choice(["f4", "f8"])))
    elif how == "scaled":
        save(path, on.astype(np.int16) * 4, slope=float(random.choice([0.2, 0.25, 64.0])))
    elif how == "HWDF":
        save(path, np.moveaxis(mask, 0, -1))
    elif how == "3D":
        save(path, mask[0])
    elif how == "extra channel":
        save(path, np.concatenate([mask, mask[:1]]))
    elif how == "channel less":
        save(path, mask[1:] if len(mask) > 1 else np.concatenate([mask, mask]))
    elif how == "cut":
        save(path, mask)
        path.write_bytes(path.read_bytes()[:-40])
    elif how == "not NIfTI":
        path.write_bytes(b"no picture at all, and too short to be one")
    else:
        save(path, mask)


ODD = ("missing", "floats", "scores", "256", "-1", "NaN", "scaled")
STOPPING = ("HWDF", "3D", "extra channel", "channel less", "cut", "not NIfTI")


def official_column(root: Path, folder: Path) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """Ours: the submission read, every case measured, all of them combined."""
    release = overread.load("rexgroundingct", root, "test")
    submission = read_submission(release, folder)
    rows: list[dict[str, Any]] = []
    for entry in release.entries():
        one = Subject(entry, submission.readings.get(entry.case.id), release, submission)
        rows += [dict(row) for row in METRICS["hit_rate"].measure(one).values()]
    sample = Sample(rows)
    names = [n for n, m in METRICS.items() if m.drops_missing and not n.startswith("distance_")]
    return {name: float(METRICS[name].combine(sample)[0]) for name in names}, rows


def compare(folder: Path, seed: int) -> str:
    """One random release and submission by both; gives what happened."""
    random = np.random.default_rng(seed)
    truths = {f"test_{n}_a_1.nii.gz": truth_mask(random) for n in range(int(random.integers(1, 4)))}
    write_release(folder / "release", truths)
    handed_in = folder / "submission"
    handed_in.mkdir()
    for name, mask in truths.items():
        how = str(random.choice(["plain", *ODD], p=[0.5, *(0.5 / len(ODD) for _ in ODD)]))
        if random.random() < 0.05:
            how = str(random.choice(STOPPING))
        write_prediction(handed_in / name, prediction(random, mask), how, random)
    try:
        ours, rows = official_column(folder / "release", handed_in)
    except SubmissionError:
        assert not list(handed_in.iterdir())  # nothing at all: refused before it is scored
        return "nothing"
    try:
        theirs = {
            name: value
            for mode in (False, True)
            for name, value in summary(
                folder / "release" / "segmentations", handed_in, list(truths), global_only=mode
            ).items()
        }
    except Exception:
        assert all(math.isnan(value) for value in ours.values()), ours
        assert any(row.get("official_stop") for row in rows)
        return "stops"
    assert set(theirs) == set(ours)
    for name, value in theirs.items():
        assert ours[name] == pytest.approx(value, abs=1e-12), (name, seed)
    return "equal"


def compare_many(folder: Path, seeds: range) -> dict[str, int]:
    outcomes = [compare(folder / str(seed), seed) for seed in seeds]
    return {outcome: outcomes.count(outcome) for outcome in set(outcomes)}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_official_column_is_the_scorers(tmp_path: Path) -> None:
    """Random submissions, odd ones among them."""
    found = compare_many(tmp_path, range(25))
    assert found["equal"] >= 18
    assert found["stops"] >= 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_official_column_is_the_scorers_on_many(tmp_path: Path) -> None:
    """Four hundred more, of which at least three hundred give numbers."""
    found = compare_many(tmp_path, range(1000, 1400))
    assert found["equal"] >= 300
    assert found["stops"] >= 20


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("how", [*ODD, *STOPPING])
def test_every_odd_file(tmp_path: Path, how: str) -> None:
    """One exact scan beside one that is stored oddly: the scorer's number, or none."""
    random = np.random.default_rng(7)
    truths = {}
    for n in range(2):
        mask = np.stack([drawn(random, blobs(random, CT, part=0.1, width=1.5), 2)])
        truths[f"test_{n}_a_1.nii.gz"] = mask
    write_release(tmp_path / "release", truths)
    handed_in = tmp_path / "submission"
    handed_in.mkdir()
    (first, one), (second, other) = truths.items()
    write_prediction(handed_in / first, (one > 0).astype(np.uint8), "plain", random)
    write_prediction(handed_in / second, (other > 0).astype(np.uint8), how, random)
    ours, _ = official_column(tmp_path / "release", handed_in)
    if how in STOPPING:
        with pytest.raises(Exception):  # noqa: B017, PT011  whatever it is that ends the scorer
            summary(tmp_path / "release" / "segmentations", handed_in, list(truths))
        assert all(math.isnan(value) for value in ours.values())
        return
    theirs = summary(tmp_path / "release" / "segmentations", handed_in, list(truths))
    for name in NAMES:
        assert ours[name] == pytest.approx(theirs[name], abs=1e-12)


@pytest.mark.parametrize(("labels", "matches"), [((1, 2), 2), ((2, 1), 1), ((5, 200), 1), ((200, 5), 2)])
def test_of_equal_pairs_the_scorers_first_is_taken(
    tmp_path: Path, labels: tuple[int, int], matches: int
) -> None:
    """A lesion meets two entities alike, and another lesion only the second: who is first decides."""
    truth, predicted = np.zeros((2, 1, *CT), np.uint8)
    truth[0, 0:4, 0:4, 0:4], truth[0, 5:9, 0:4, 0:4] = labels
    predicted[0, 2:7, 0:4, 0:4] = 1  # two of its layers in each
    predicted[0, 8:11, 0:4, 0:4] = 1
    write_release(tmp_path / "release", {"test_1_a_1.nii.gz": truth})
    (tmp_path / "mine").mkdir()
    save(tmp_path / "mine" / "test_1_a_1.nii.gz", predicted)
    ours, rows = official_column(tmp_path / "release", tmp_path / "mine")
    theirs = summary(tmp_path / "release" / "segmentations", tmp_path / "mine", ["test_1_a_1.nii.gz"])
    assert ours["overall_instance_f1"] == theirs["overall_instance_f1"]
    assert rows[0]["tp"] == matches


def test_grade_says_where_the_scorer_stops(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No official number, the honest ones, and one sentence with the remedy."""
    monkeypatch.setenv("COLUMNS", "200")
    random = np.random.default_rng(3)
    truths = {f"test_{n}_a_1.nii.gz": truth_mask(random) for n in range(3)}
    write_release(tmp_path / "release", truths)
    (tmp_path / "mine").mkdir()
    for n, (name, mask) in enumerate(truths.items()):
        stored = np.moveaxis(mask, 0, -1) if n == 1 else mask
        save(tmp_path / "mine" / name, np.ascontiguousarray(stored))
    out = tmp_path / "card.json"
    words = [
        "grade",
        "rexgroundingct",
        tmp_path / "release",
        tmp_path / "mine",
        "--split",
        "test",
        "--out",
        out,
    ]
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    assert ended.value.code in (0, None, 1)
    card = json.loads(out.read_text())
    assert card["mean_global_dice_per_finding"] is None
    assert card["scores"]["honest_mean_global_dice_per_finding"]["value"] > 0.9
    told = capsys.readouterr().out
    assert "the official scorer stops at 1 case(s) (test_1_a_1)" in " ".join(told.split())
