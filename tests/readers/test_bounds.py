"""Readers that look at no picture: the truth itself, chance, habit, length, silence."""

from __future__ import annotations

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overread
from overread.core import Case, Mask, ReleaseRef, Trace, Truth
from overread.errors import NotThere, ReaderError, UsageError
from overread.pixels.masks import read_channel
from overread.readers.bounds import most_typical, random_ball
from tests.jsonl_rows import read_rows, write_rows
from tests.runs.sketch_runs import (
    BENCHMARKS,
    WITHOUT_MODEL,
    all_metrics,
    made,
    questions,
    ran,
    readings_in,
    run_scores,
)

SHAPE = (96, 72, 64)


@pytest.fixture(scope="module")
def exams(sketch: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, Path]]:
    """Name → (benchmark, folder), of the sketched exams and one of question rows."""
    asked = questions(tmp_path_factory.mktemp("questions") / "mmrad")
    return {name: (name, sketch / name) for name in BENCHMARKS} | {"questions": ("mmrad", asked)}


def truths_of(benchmark: str, root: Path) -> dict[str, Truth]:
    """Case → its truth."""
    return {e.case.id: e.truth or Truth() for e in overread.load(benchmark, root).entries()}


@pytest.mark.parametrize("exam", [*BENCHMARKS, "questions"])
def test_the_oracle_is_perfect(exams: dict[str, Any], exam: str, tmp_path: Path) -> None:
    """The truth, through a run, scores best or at the ceiling of the official rule."""
    benchmark, root = exams[exam]
    for split in ("test", "train"):
        outcome = ran("oracle", benchmark, root, tmp_path / split, split=split)
        assert (outcome.tally.failed, outcome.tally.bugs) == (0, {})
    found = run_scores(benchmark, root, test=tmp_path / "test", train=tmp_path / "train")
    assert len(found) >= 2
    for name, value in found.items():
        metric = all_metrics()[name]
        if metric.ceiling:
            assert value == pytest.approx(found[metric.ceiling], abs=1e-9), name
        elif not name.startswith("ceiling_"):
            assert value == pytest.approx(metric.best, abs=1e-9), name


def test_the_oracle_has_all_there_is_to_judge(exams: dict[str, Any], tmp_path: Path) -> None:
    """Nothing of the truth gets lost on the way into a run: cut-outs, masks, discussion."""
    kinds = {}
    for exam, (benchmark, root) in exams.items():
        ran("oracle", benchmark, root, tmp_path / exam)
        kinds[exam] = readings_in(tmp_path / exam)
        truths = truths_of(benchmark, root)
        for case, reading in kinds[exam].items():
            assert reading.report == truths[case].report
            assert reading.discussion == truths[case].discussion
            assert reading.choice == (truths[case].answer or truths[case].answer_text)
    traces = [reading.trace or Trace() for reading in kinds["mmrad"].values()]
    crops = [step.crop for trace in traces for step in trace.steps if step.crop]
    assert len(crops) == len(set(crops)) == 4
    assert all((tmp_path / "mmrad" / crop).is_file() for crop in crops)


def test_the_oracle_is_one_in_global_only_mode(sketch: Path, tmp_path: Path) -> None:
    """Masks handed in as they are score 1 where lesions are not told apart."""
    root = sketch / "rexgroundingct"
    ran("oracle", "rexgroundingct", root, tmp_path / "run")
    found = run_scores("rexgroundingct", root, test=tmp_path / "run")
    assert found["global_only_mean_global_dice_per_finding"] == pytest.approx(1, abs=1e-12)
    assert found["global_only_mean_global_dice_per_case"] == pytest.approx(1, abs=1e-12)
    assert found["global_only_hit_rate"] == 1


@pytest.mark.parametrize("exam", [*BENCHMARKS, "questions"])
def test_nothing_is_worst(exams: dict[str, Any], exam: str, tmp_path: Path) -> None:
    """Silence scores worst on everything; where an official rule drops it, what that says of nothing."""
    benchmark, root = exams[exam]
    for split in ("test", "train"):
        outcome = ran("nothing", benchmark, root, tmp_path / split, split=split)
        assert (outcome.tally.failed, outcome.tally.read) == (0, 3 if exam == "questions" else 2)
    found = run_scores(benchmark, root, test=tmp_path / "test", train=tmp_path / "train")
    judged = [name for name in found if not name.startswith("ceiling_")]
    assert judged
    for name in judged:
        metric = all_metrics()[name]
        if metric.drops_missing and name.startswith("distance_"):
            assert math.isnan(found[name]), name
        elif metric.drops_missing:
            assert found[name] == float(name.endswith(("precision", "recall", "f1"))), name
        elif not math.isnan(metric.worst):
            assert found[name] == pytest.approx(metric.worst, abs=1e-9), name


@pytest.mark.parametrize("exam", ["medthinkvqa", "rexgroundingct", "mmrad"])
def test_the_oracle_says_where_there_is_no_truth(exam: str, copy: Any, tmp_path: Path) -> None:
    """A split whose truth is withheld fails case by case, in one sentence."""
    root = copy(exam)
    if exam == "mmrad":
        rows = read_rows(root / "test.jsonl")
        bare = [{"prompt": r["prompt"], "images": r["images"][:1]} for r in rows]
        write_rows(root / "test.jsonl", bare)
    elif exam == "medthinkvqa":
        rows = read_rows(root / "test.jsonl")
        bare = [{k: v for k, v in row.items() if "correct_answer" not in k} for row in rows]
        write_rows(root / "test.jsonl", bare)
    else:
        for path in (root / "segmentations").glob("test_*"):
            path.unlink()
    outcome = ran("oracle", exam, root, tmp_path / "run")
    assert outcome.tally.failed == 2
    for reading in readings_in(tmp_path / "run").values():
        assert reading.error is not None
        assert "not in this copy" in reading.error


def test_random_letters(sketch: Path, tmp_path: Path) -> None:
    """The same seed gives the same letters, others give all five, and none is more probable."""
    root = sketch / "medthinkvqa"
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        ran("random", "medthinkvqa", root, tmp_path / name, seed=seed, repeat=40)
    lines = [(tmp_path / name / "readings.jsonl").read_text() for name in "abc"]
    assert sorted(lines[0].splitlines()) == sorted(lines[1].splitlines()) != sorted(lines[2].splitlines())
    read = [json.loads(line) for line in lines[0].splitlines()]
    assert {row["choice"] for row in read} == set("ABCDE")
    assert all(row["probabilities"] == dict.fromkeys("ABCDE", 0.2) for row in read)


def test_random_masks(sketch: Path, tmp_path: Path) -> None:
    """Each sentence gets a ball of its own inside the CT; another sample gets other balls."""
    root = sketch / "rexgroundingct"
    ran("random", "rexgroundingct", root, tmp_path / "run", repeat=2)
    seen = set()
    for sample in (0, 1):
        for reading in readings_in(tmp_path / "run", sample).values():
            for finding in reading.findings or ():
                (region,) = finding.regions
                assert isinstance(region, Mask)
                path = tmp_path / "run" / region.file
                mask = read_channel(path, region.channel, SHAPE, region.channels)
                assert set(np.unique(mask)) == {0, 1}
                seen.add(mask.tobytes())
    assert len(seen) == 6


@pytest.mark.parametrize("radius", [1.0, 9.0, 400.0])
def test_a_ball_is_round_and_inside(sketch: Path, radius: float) -> None:
    """Every voxel within the radius of some voxel of the middle half, and no other."""
    release = overread.load("rexgroundingct", sketch / "rexgroundingct")
    space = release.pictures.geometry(next(iter(release)).pictures[0])
    mask = random_ball(space, np.random.default_rng(3), radius)
    dice = np.random.default_rng(3)
    centre = [int(dice.integers(n // 4, n - n // 4)) for n in space.shape]
    places = np.indices(space.shape).reshape(3, -1).T
    far = np.linalg.norm((places - centre) * space.spacing, axis=1).reshape(space.shape)
    assert np.array_equal(mask, far <= radius)
    assert mask[tuple(centre)]


def test_random_reports_are_other_cases(exams: dict[str, Any], tmp_path: Path) -> None:
    """A report, or an answer to a question, is that of another case of the split."""
    ran("random", "mmrad", exams["mmrad"][1], tmp_path / "run")
    truths = truths_of("mmrad", exams["mmrad"][1])
    one, two = truths
    found = readings_in(tmp_path / "run")
    assert (found[one].report, found[two].report) == (truths[two].report, truths[one].report)
    ran("random", "mmrad", exams["questions"][1], tmp_path / "asked")
    assert {r.choice for r in readings_in(tmp_path / "asked").values()} <= {"Yes", "No"}


def test_a_report_of_nobody_else(copy: Any, tmp_path: Path) -> None:
    """Where there is no other case, there is no report, and no error."""
    root = copy("mmrad")
    write_rows(root / "test.jsonl", read_rows(root / "test.jsonl")[:1])
    assert ran("random", "mmrad", root, tmp_path / "run").tally.failed == 0
    assert [r.report for r in readings_in(tmp_path / "run").values()] == [None]


def keyed(root: Path, split: str, letters: str) -> None:
    """Rows of MedThinkVQA with these keys."""
    first = read_rows(root / f"{split}.jsonl")[0]
    rows = []
    for number, letter in enumerate(letters):
        row = {**first, "title": f"Case number {number}", "correct_answer": letter}
        rows.append({**row, "correct_answer_text": first["options"][letter]})
        rows[-1]["image_01_path"] = f"images/case{number}/a.jpg"
    write_rows(root / f"{split}.jsonl", rows)


def test_majority_learns_from_train(copy: Any, tmp_path: Path) -> None:
    """The most frequent key of train is chosen in test, with the shares as probabilities."""
    root = copy("medthinkvqa")
    keyed(root, "train", "ABBDDDDC")
    keyed(root, "test", "AAB")
    reader = made("majority", ReleaseRef("medthinkvqa", root, "test"))
    assert reader.identity["learned from"] == "train"
    assert reader.identity["cases"] == 8
    ran(reader, "medthinkvqa", root, tmp_path / "run")
    for reading in readings_in(tmp_path / "run").values():
        assert reading.choice == "D"
        assert reading.probabilities == {"A": 1 / 8, "B": 2 / 8, "C": 1 / 8, "D": 4 / 8, "E": 0}


@pytest.mark.parametrize("lost", ["file", "keys", "damaged"])
def test_majority_learns_from_the_split_itself(copy: Any, tmp_path: Path, lost: str) -> None:
    """Without a train split, or one with keys, the split itself is learned from, and it says so."""
    root = copy("medthinkvqa")
    keyed(root, "test", "CAACB")
    train = root / "train.jsonl"
    if lost == "file":
        train.unlink()
    elif lost == "damaged":
        train.write_text("{\n")
    else:
        rows = read_rows(train)
        gone = ("correct_answer", "correct_answer_text")
        write_rows(train, [{k: v for k, v in row.items() if k not in gone} for row in rows])
    reader = made("majority", ReleaseRef("medthinkvqa", root, "test"))
    assert reader.identity["learned from"] == "test"
    ran(reader, "medthinkvqa", root, tmp_path / "run")
    assert {r.choice for r in readings_in(tmp_path / "run").values()} == {"A"}


def test_majority_of_answers_and_masks(exams: dict[str, Any], tmp_path: Path) -> None:
    """The most frequent answer in words; the most typical report; empty masks."""
    ran("majority", "mmrad", exams["questions"][1], tmp_path / "asked")
    assert {r.choice for r in readings_in(tmp_path / "asked").values()} == {"No"}
    ran("majority", "mmrad", exams["mmrad"][1], tmp_path / "reports")
    train = overread.load("mmrad", exams["mmrad"][1], "train")
    reports = {e.truth.report for e in train.entries() if e.truth}
    assert {r.report for r in readings_in(tmp_path / "reports").values()} <= reports
    root = exams["rexgroundingct"][1]
    ran("majority", "rexgroundingct", root, tmp_path / "masks")
    for reading in readings_in(tmp_path / "masks").values():
        for finding in reading.findings or ():
            (region,) = finding.regions
            assert isinstance(region, Mask)
            path = tmp_path / "masks" / region.file
            assert not read_channel(path, region.channel, SHAPE, region.channels).any()


def test_the_typical_report() -> None:
    """By brute force: the text with the largest mean overlap of words; none of none."""
    texts = ["a b c", "a b", "a b d e f", "x y", "a b c"]
    words = [set(text.split()) for text in texts]
    means = [np.mean([2 * len(w & v) / (len(w) + len(v)) for v in words]) for w in words]
    assert most_typical(texts) == texts[int(np.argmax(means))]
    assert most_typical([]) is None
    many = [f"word{n} heart" for n in range(5000)]
    assert most_typical(many) in many


def test_the_longest_option(copy: Any, tmp_path: Path) -> None:
    """The longest text is chosen, of equally long ones the first letter."""
    root = copy("medthinkvqa")
    rows = read_rows(root / "test.jsonl")
    for row, texts in zip(rows, (("a", "bb", "ccc", "ddd", "e"), "vwxyz"), strict=True):
        row["options"] = dict(zip("ABCDE", texts, strict=True))
        row["correct_answer_text"] = row["options"][row["correct_answer"]]
    write_rows(root / "test.jsonl", rows)
    ran("longest", "medthinkvqa", root, tmp_path / "run")
    assert [r.choice for r in readings_in(tmp_path / "run").values()] == ["C", "A"]


def test_longest_needs_options(sketch: Path, tmp_path: Path) -> None:
    """A case without options is a failed one, in one sentence."""
    outcome = ran("longest", "mmrad", sketch / "mmrad", tmp_path / "run")
    assert outcome.tally.failed == 2
    assert "no options" in outcome.tally.reasons[0][1]


@pytest.mark.parametrize("name", sorted({*WITHOUT_MODEL} - {"longest", "nothing"}))
def test_a_reader_of_the_release_needs_one(name: str) -> None:
    """Without a release it says so in one sentence."""
    with pytest.raises(UsageError, match="release"):
        made(name, None)


def test_a_ball_needs_a_radius(sketch: Path) -> None:
    """No radius, or one below 0, is refused before anything is read."""
    place = ReleaseRef("medthinkvqa", sketch / "medthinkvqa", "test")
    for radius in ("0", "-3", "wide"):
        with pytest.raises(UsageError):
            made("random", place, radius=radius)


def test_masks_are_drawn_when_they_are_asked_for(sketch: Path) -> None:
    """A reader that made readings of many cases holds no mask of any."""
    place = ReleaseRef("rexgroundingct", sketch / "rexgroundingct", "test")
    reader, release = made("random", place), place.open()
    cases: list[Case] = list(release)
    made_of = [asyncio.run(reader.reading(c, release.pictures, seed=n)) for n, c in enumerate(cases)]
    sizes = [v for pair in reader._drawings.values() for v in pair if isinstance(v, np.ndarray)]
    assert sum(array.nbytes for array in sizes) < 1000
    file = made_of[0].findings[0].regions[0].file
    assert read_channel(reader.source(file), 0, SHAPE, len(cases[0].queries)).any()
    with pytest.raises(NotThere):
        reader.source(file)


def test_the_oracle_holds_few_entries(copy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cases in any order, again and again, give their own truth, and few are held."""
    from overread.readers import oracle

    monkeypatch.setattr(oracle, "MAX_ENTRIES_HELD", 3)
    root = copy("medthinkvqa")
    keyed(root, "test", "ABCDEABCDE")
    place = ReleaseRef("medthinkvqa", root, "test")
    reader, release = made("oracle", place), place.open()
    cases = list(release)
    for number in (0, 1, 1, 9, 0, 5, 8, 2):
        reading = asyncio.run(reader.reading(cases[number], release.pictures, seed=0))
        assert reading.choice == "ABCDEABCDE"[number]
        assert len(reader._entry_cache) <= 3
    stranger = cases[0].model_copy(update={"id": "nobody"})
    with pytest.raises(ReaderError, match="not in this copy"):
        asyncio.run(reader.reading(stranger, release.pictures, seed=0))
