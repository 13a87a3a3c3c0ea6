"""The masks of one case: from files to statistics, whatever was handed in."""

from __future__ import annotations

import json
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
from numpy.typing import NDArray

from overread.core import Case, Entry, Finding, Geometry, Mask, Query, Reading, Truth, Volume
from overread.errors import NotThere, PictureError, UsageError
from overread.metrics import Measured, Subject
from overread.metrics.masks.measure import measure_masks
from overread.metrics.masks.settings import MaskSettings
from overread.metrics.masks.surface.statistics import surface_statistics
from overread.pixels.nifti import read_geometry, write_volume
from tests.metrics.masks.brute_force import blobs, drawn, near, save, scored

CT = (30, 26, 16)
SPACING = (0.8, 0.9, 1.5)
CATEGORIES = ("2d", "1c", "3a")


class Files:
    """A folder as a release and as a submission; counts how often each file is asked for."""

    def __init__(self, folder: Path, *, ct: bool = True) -> None:
        self.folder, self.ct = folder, ct
        self.asked: list[str] = []

    def source(self, file: str) -> Path:
        self.asked.append(file)
        if not (self.folder / file).exists():
            raise NotThere("there is no such file", where=file)
        return self.folder / file

    @property
    def pictures(self) -> Any:
        return self

    def geometry(self, picture: Any) -> Geometry:
        if not self.ct:
            raise NotThere(f"the file of {picture.name} is not there")
        return read_geometry(self.folder / "ct.nii.gz")


def findings(file: str, count: int = 3, **changes: Any) -> tuple[Finding, ...]:
    """One finding a channel of a file."""
    return tuple(
        Finding(
            text="opacity",
            query=str(n),
            category=CATEGORIES[n],
            regions=(Mask(picture="ct", file=file, channel=n, channels=count, **changes),),
        )
        for n in range(count)
    )


def masks(seed: int = 0) -> tuple[NDArray[Any], NDArray[Any]]:
    """Three findings, and a prediction of them."""
    dice = np.random.default_rng(seed)
    truth, predicted = [], []
    for n in range(3):
        mask = blobs(dice, CT, part=0.05, width=1.7)
        truth.append(drawn(dice, mask, 2 + n))
        predicted.append(np.roll(mask, 1, axis=n) & ~blobs(dice, CT, part=0.02, width=1))
    return np.stack(truth), np.stack(predicted).astype(np.uint8)


def subject(
    folder: Path,
    truth: NDArray[Any],
    predicted: NDArray[Any] | None,
    *,
    ct: bool = True,
    shape: tuple[int, int, int] | None = CT,
    reading: tuple[Finding, ...] | None = None,
    error: str | None = None,
) -> Subject:
    """A case with its files."""
    write_volume(folder / "ct.nii.gz", np.zeros(CT, np.int16), np.diag([*SPACING, 1.0]))
    save(folder / "t.nii.gz", truth)
    if predicted is not None:
        save(folder / "p.nii.gz", predicted)
    case = Case(
        id="c",
        benchmark="rexgroundingct",
        split="test",
        pictures=(Volume(name="ct", shape=shape),),
        queries=tuple(Query(id=str(n), text="opacity") for n in range(len(truth))),
    )
    entry = Entry(case=case, truth=Truth(findings=findings("t.nii.gz", len(truth))))
    answer = None
    if predicted is not None or reading is not None:
        own = findings("p.nii.gz", len(truth)) if reading is None else reading
        answer = Reading(case_id="c", reader="r", findings=own, error=error)
    files = Files(folder, ct=ct)
    return Subject(entry, answer, files, files)


def plain(rows: Measured) -> Any:
    """What is left of statistics that were stored."""
    return json.loads(json.dumps(rows, allow_nan=False))


@pytest.mark.parametrize("seed", range(3))
def test_statistics_are_brute_forces(tmp_path: Path, seed: int) -> None:
    """Every statistic of every finding, and its ceiling, is what whole arrays give."""
    truth, predicted = masks(seed)
    one = subject(tmp_path, truth, predicted)
    rows = measure_masks(one)
    assert plain(rows) == rows
    assert sorted(one.truth_files.asked) == ["p.nii.gz", "t.nii.gz"]  # type: ignore[union-attr]
    for n, row in rows.items():
        channel = int(n)
        focal = CATEGORIES[channel] != "1c"
        expected = scored(truth[channel], predicted[channel])
        expected |= near(truth[channel], predicted[channel], SPACING, focal=focal)
        assert {name: row[name] for name in expected} == pytest.approx(expected, abs=1e-12)
        best = scored(truth[channel], truth[channel])
        best |= near(truth[channel], truth[channel], SPACING, focal=focal)
        assert {k: row[f"ceiling_{k}"] for k in best} == pytest.approx(best, abs=1e-12)
        both = (truth[channel] > 0) & (predicted[channel] > 0)
        assert row["shared_voxels"] == both.sum()
        assert row["truth_voxels"] == np.count_nonzero(truth[channel])
        assert row["predicted_voxels"] == np.count_nonzero(predicted[channel])
        assert row["matched_dice"] == pytest.approx(
            expected["matched_dice_sum"] / expected["tp"] if expected["tp"] else 0.0
        )
        assert (row["judged"], row["findings"], row["no_spacing"]) == (1, 1, 0)
        assert row["focal"] == int(focal)
        assert row["case_share"] == row["judged_share"] == pytest.approx(1 / 3)
        assert row["dice_share"] == pytest.approx(row["dice"] / 3)
        assert "problem" not in row


def test_labels_of_a_prediction_do_not_matter(tmp_path: Path) -> None:
    """A prediction with numbered lesions scores as one without numbers."""
    truth, predicted = masks(4)
    numbered = np.where(predicted > 0, np.arange(1, CT[0] + 1, dtype=np.uint8)[:, None, None], 0)
    assert measure_masks(subject(tmp_path, truth, numbered.astype(np.uint8))) == measure_masks(
        subject(tmp_path, truth, predicted)
    )


@pytest.mark.parametrize("kind", ["HWDF", "float"])
def test_variants_of_a_file_score_alike(tmp_path: Path, kind: str) -> None:
    """Findings behind each other, or stored as floats, score as in the official order."""
    truth, predicted = masks(5)
    expected = measure_masks(subject(tmp_path, truth, predicted))
    other = np.moveaxis(predicted, 0, -1) if kind == "HWDF" else predicted.astype(np.float32)
    rows = measure_masks(subject(tmp_path, truth, other))
    if kind == "float":
        assert rows == expected
    for unit, row in rows.items():
        assert all(row[name] == expected[unit][name] for name in ("dice", "hit", "tp", "fp", "fn"))
        # The official scorer casts floats, and stops at another shape.
        assert (row.get("stops", 0), row["judged"]) == ((1, 0) if kind == "HWDF" else (0, 1))


def test_the_order_of_findings_does_not_matter(tmp_path: Path) -> None:
    """Another order of the channels gives the same rows under other numbers."""
    truth, predicted = masks(6)
    order = [2, 0, 1]
    rows = measure_masks(subject(tmp_path, truth, predicted))
    one = subject(tmp_path, truth[order], predicted[order])
    assert one.entry.truth is not None
    turned = tuple(
        finding.model_copy(update={"category": CATEGORIES[n]})
        for finding, n in zip(one.entry.truth.findings, order, strict=True)
    )
    entry = one.entry.model_copy(update={"truth": Truth(findings=turned)})
    again = measure_masks(Subject(entry, one.reading, one.truth_files, one.reading_files))
    assert [again[str(n)] for n in range(3)] == [rows[str(n)] for n in order]


def test_a_missing_prediction_is_the_worst_and_not_judged(tmp_path: Path) -> None:
    """Without a reading, or with a failed one: no Dice, every entity missed, no complaint."""
    truth, _ = masks()
    failed = Reading(case_id="c", reader="p", error="out of memory")
    missing = subject(tmp_path, truth, None)
    for one in (missing, Subject(missing.entry, failed, missing.truth_files, missing.reading_files)):
        rows = measure_masks(one)
        assert plain(rows) == rows
        for n, row in rows.items():
            entities = len(np.unique(truth[int(n)])) - 1
            assert (row["judged"], row["dice"], row["hit"], row["tp"], row["fp"]) == (0, 0, 0, 0, 0)
            assert row["fn"] == row["distance_fn"] == entities
            assert row["fn_judged"] == row["distance_fn_judged"] == row["judged_share"] == 0
            assert row["ceiling_tp"] > 0
            assert "problem" not in row


def broken(folder: Path, predicted: NDArray[Any], how: str) -> None:
    """Spoil the prediction's file."""
    path = folder / "p.nii.gz"
    if how == "gone":
        path.unlink()
    elif how == "cut":
        path.write_bytes(path.read_bytes()[:-20])
    elif how == "swapped":
        save(path, np.swapaxes(predicted, 1, 3))
    elif how == "channels":
        save(path, predicted[:2])
    elif how == "nan":
        save(path, np.where(predicted > 0, np.nan, 0).astype(np.float32))
    elif how == "scores":
        save(path, predicted.astype(np.float32) * 0.7)
    else:
        path.write_bytes(b"not a picture")


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("gone", "no such file"),
        ("cut", "cut off"),
        ("swapped", "shape"),
        ("channels", "shape"),
        ("nan", "value nan"),
        ("scores", "value 0.7"),
        ("junk", "not a NIfTI"),
    ],
)
def test_a_broken_prediction_is_the_worst_and_says_why(tmp_path: Path, how: str, told: str) -> None:
    """A file that cannot be used costs its findings, each with one sentence that names it."""
    truth, predicted = masks()
    one = subject(tmp_path, truth, predicted)
    broken(tmp_path, predicted, how)
    rows = measure_masks(one)
    # The scorer casts what is no label, leaves out what is not there, and stops at everything else.
    seen = {"nan": (1, 0), "scores": (1, 0), "gone": (0, 0)}.get(how, (0, 1))
    assert {(row["judged"], row.get("stops", 0)) for row in rows.values()} == {seen}
    for row in rows.values():
        assert told in row["problem"]
        assert "p.nii.gz" in row["problem"]
        assert "\n" not in row["problem"]
        assert row["dice"] == 0


def test_a_broken_truth_is_an_error(tmp_path: Path) -> None:
    """What is wrong with the release is raised, and no reader pays for it."""
    truth, predicted = masks()
    one = subject(tmp_path, truth, predicted)
    save(tmp_path / "t.nii.gz", truth[:, :-1])
    with pytest.raises(PictureError, match="shape"):
        measure_masks(one)


def test_findings_without_an_answer_are_the_worst_and_empty_to_the_scorer(tmp_path: Path) -> None:
    """Honestly nothing could be worse; a file that was handed in has an empty channel for them."""
    truth, predicted = masks()
    answers = list(findings("p.nii.gz"))
    answers[0] = answers[0].model_copy(update={"regions": ()})
    elsewhere = Mask(picture="mri", file="p.nii.gz", channel=1, channels=3)
    answers[1] = answers[1].model_copy(update={"regions": (elsewhere,)})
    one = subject(tmp_path, truth, predicted, reading=tuple(answers))
    rows = measure_masks(one)
    assert [row["judged"] for row in rows.values()] == [1, 1, 1]
    assert rows["0"]["dice"] == rows["1"]["dice"] == 0
    assert "no mask" in rows["0"]["problem"]
    assert "'mri'" in rows["1"]["problem"]
    assert rows["2"]["dice_judged_share"] == rows["2"]["dice"] / 3 > 0
    empty = 1e-6 / (rows["0"]["truth_voxels"] + 1e-6)
    assert rows["0"]["official_change_dice"] == pytest.approx(empty, rel=1e-9)
    rows = measure_masks(subject(tmp_path, truth, predicted, reading=tuple(answers[:1])))
    assert [row["judged"] for row in rows.values()] == [0, 0, 0]
    beyond = findings("p.nii.gz")[2].regions[0].model_copy(update={"channel": 7})
    last = answers[2].model_copy(update={"regions": (beyond,)})
    rows = measure_masks(subject(tmp_path, truth, predicted, reading=(last,)))
    assert "channel 7" in rows["2"]["problem"]


def test_several_regions_of_a_finding_are_one_mask(tmp_path: Path) -> None:
    """A reader may mark a finding in several channels, or one entity of a channel."""
    truth, predicted = masks(7)
    parts = predicted.copy()
    parts[1] = predicted[0]
    parts[0, : CT[0] // 2], parts[1, CT[0] // 2 :] = 0, 0
    regions = tuple(Mask(picture="ct", file="p.nii.gz", channel=n, channels=3) for n in (1, 0))
    halves = (Finding(text="", query="0", regions=regions),)
    whole = measure_masks(subject(tmp_path, truth, predicted))["0"]
    rows = measure_masks(subject(tmp_path, truth, parts, reading=halves))
    same = ("dice", "raw_dice", "tp", "fp", "fn", "distance_tp", "shared_voxels")
    assert {name: rows["0"][name] for name in same} == {name: whole[name] for name in same}
    numbered = predicted.copy()
    numbered[0] = np.where(predicted[0] > 0, 2, 1)
    entity = Mask(picture="ct", file="p.nii.gz", channel=0, channels=3, entity=2)
    second = (Finding(text="", query="0", regions=(entity,)),)
    rows = measure_masks(subject(tmp_path, truth, numbered, reading=second))
    assert {name: rows["0"][name] for name in same} == {name: whole[name] for name in same}


@pytest.mark.parametrize("shape", [CT, None])
def test_without_the_ct_there_are_no_millimetres(tmp_path: Path, shape: tuple[int, int, int] | None) -> None:
    """Distances are left out where the CT is, whatever the header of a mask says."""
    truth, predicted = masks()
    rows = measure_masks(subject(tmp_path, truth, predicted, ct=False, shape=shape), surfaces=True)
    full = measure_masks(subject(tmp_path, truth, predicted))
    for n, row in rows.items():
        assert row["no_spacing"] == 1
        assert not [name for name in row if "distance" in name or "surface" in name]
        assert row.items() <= {**full[n], "no_spacing": 1}.items()


def test_the_spacing_is_the_cts(tmp_path: Path) -> None:
    """A mask header with another spacing changes nothing."""
    truth, predicted = masks(1)
    one = subject(tmp_path, truth, predicted)
    expected = measure_masks(one)
    nib.save(nib.Nifti1Image(predicted, np.diag([9.0, 9, 9, 1])), tmp_path / "p.nii.gz")
    assert measure_masks(one) == expected


def test_surfaces_are_measured_on_request(tmp_path: Path) -> None:
    """The surface statistics are those of the whole masks; the worst where there is none."""
    truth, predicted = masks(2)
    rows = measure_masks(subject(tmp_path, truth, predicted), surfaces=True)
    spacing = read_geometry(tmp_path / "ct.nii.gz").spacing
    diagonal = float(np.linalg.norm(np.multiply(CT, spacing)))
    for n, row in rows.items():
        expected = surface_statistics(truth[int(n)] > 0, predicted[int(n)] > 0, spacing, diagonal=diagonal)
        assert {name: row[name] for name in expected} == pytest.approx(expected)
    for row in measure_masks(subject(tmp_path, truth, None), surfaces=True).values():
        assert row["hd95"] == pytest.approx(diagonal)
    assert plain(rows) == rows


def test_empty_masks_are_as_eps_says(tmp_path: Path) -> None:
    """An empty truth with an empty prediction is right; with a full one it is not."""
    truth, predicted = masks()
    truth[0] = predicted[0] = 0
    rows = measure_masks(subject(tmp_path, truth, predicted), surfaces=True)
    row = rows["0"]
    assert (row["dice"], row["hit"], row["tp"], row["fp"], row["fn"]) == (1.0, 1, 0, 0, 0)
    assert row["matched_counted"] == 0
    predicted[0] = 1
    row = measure_masks(subject(tmp_path, truth, predicted))["0"]
    assert row["dice"] < 1e-6
    assert (row["hit"], row["fp"], row["matched_counted"]) == (0, 1, 1)


def test_nothing_to_judge(tmp_path: Path) -> None:
    """A case whose truth is withheld, or has no masks, has no rows."""
    truth, predicted = masks()
    one = subject(tmp_path, truth, predicted)
    bare = tuple(f.model_copy(update={"regions": ()}) for f in findings("t.nii.gz"))
    for known in (None, Truth(), Truth(findings=bare)):
        entry = one.entry.model_copy(update={"truth": known})
        assert measure_masks(Subject(entry, one.reading, one.truth_files, one.reading_files)) == {}


def test_files_must_be_there(tmp_path: Path) -> None:
    """A subject without the files of its release or reading is a mistake of the caller."""
    truth, predicted = masks()
    one = subject(tmp_path, truth, predicted)
    with pytest.raises(UsageError):
        measure_masks(Subject(one.entry, one.reading, None, one.reading_files))
    with pytest.raises(UsageError):
        measure_masks(Subject(one.entry, one.reading, one.truth_files, None))


def test_settings_reach_the_rule(tmp_path: Path) -> None:
    """A measure with other constants gives other statistics, and can be sent to a worker."""
    truth, predicted = masks(3)
    one = subject(tmp_path, truth, predicted)
    measure = partial(measure_masks, settings=MaskSettings(min_voxels=40, hit_threshold=1.0))
    rows = pickle.loads(pickle.dumps(measure))(one)
    for n, row in rows.items():
        expected = scored(truth[int(n)], predicted[int(n)], min_voxels=40, hit_threshold=1.0)
        assert {name: row[name] for name in expected} == pytest.approx(expected, abs=1e-12)
