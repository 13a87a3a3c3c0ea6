"""What is cited, how far answers move, and what that comes to: each by itself."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from overread.core import (
    Box,
    Case,
    Finding,
    Image,
    Mask,
    Option,
    Query,
    Reading,
    Slices,
    Step,
    Trace,
    Volume,
    Whole,
)
from overread.errors import Refused
from overread.pixels.masks import write_mask
from overread.runs.audit.citations import cited_regions, cites_all
from overread.runs.audit.shares import compute_shares, resting_interval
from overread.runs.audit.shifts import AnswerShift, measure_shifts, report_shift, same_words, total_variation

OPTIONS = tuple(Option(letter=letter, text=letter * 3) for letter in "ABC")
PICTURES = tuple(Image(name=f"image-{n}", file=f"{n}.png") for n in (1, 2, 3))
CHOICE = Case(id="c", benchmark="b", split="test", pictures=PICTURES, options=OPTIONS)
FOUND = Case(
    id="f",
    benchmark="b",
    split="test",
    pictures=(Volume(name="ct", file="ct.nii.gz"),),
    queries=(Query(id="0", text="A nodule."), Query(id="1", text="An effusion.")),
)
ASKED = Case(id="a", benchmark="b", split="test", pictures=PICTURES[:1], asks="answer")
REPORT = Case(id="r", benchmark="b", split="test", pictures=PICTURES[:1])
BOX = Box(picture="image-1", x1=1, y1=2, x2=3, y2=4)


def whole(number: int) -> Whole:
    return Whole(picture=f"image-{number}")


def reading(*steps: Step, **parts: Any) -> Reading:
    return Reading(case_id="c", reader="r", trace=Trace(steps=steps) if steps else None, **parts)


ALL = Step(kind="ask", regions=(whole(1), whole(2), whole(3)))
TABLE = {
    "the conclusion's box": ([ALL, Step(kind="conclude", regions=(BOX,))], (), {BOX}),
    "a finding's box where the conclusion names pictures": (
        [ALL, Step(kind="conclude", regions=(whole(1),))], [BOX], {BOX},
    ),
    "the conclusion before the findings": (
        [Step(kind="conclude", regions=(BOX,))], [BOX.model_copy(update={"x2": 9})], {BOX},
    ),
    "a look's box where nothing else is named": ([Step(kind="look", regions=(BOX,)), ALL], (), {BOX}),
    "one picture of three": ([ALL, Step(kind="conclude", regions=(whole(2),))], (), {whole(2)}),
    "the findings' pictures where the conclusion names all": (
        [Step(kind="conclude", regions=ALL.regions)], [whole(3)], {whole(3)},
    ),
    "everything": ([Step(kind="conclude", regions=ALL.regions)], (), set(ALL.regions)),
    "nothing": ([Step(kind="conclude", text="So it is.")], (), None),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_what_is_cited(name: str) -> None:
    """Parts before pictures, fewer pictures before all, the conclusion before the rest."""
    steps, found, expected = TABLE[name]
    findings = tuple(Finding(text="It.", regions=(region,)) for region in found)
    levels = cited_regions(CHOICE, reading(*steps, findings=findings))
    assert [set(level) for level in levels] == ([] if expected is None else [expected])
    assert all(cites_all(CHOICE, level) == (name == "everything") for level in levels)


def test_pictures_named_by_number() -> None:
    """Where all pictures were concluded from, the reasons may name some; else it is all."""
    conclusion = Step(kind="conclude", text="Images 1 and 3 show it.", regions=ALL.regions)
    assert cited_regions(CHOICE, reading(ALL, conclusion)) == ((whole(1), whole(3)),)
    [found] = cited_regions(CHOICE, reading(ALL, conclusion, rationale="As Picture 2 shows."))
    assert found == (whole(2),)
    for words in ("Pictures 1, 2, and 3.", "A 2 cm nodule.", "Picture 12.", ""):
        told = reading(Step(kind="conclude", text=words, regions=ALL.regions))
        assert cites_all(CHOICE, cited_regions(CHOICE, told)[0])
    nowhere = reading(rationale="Picture 2 shows it.")
    assert cited_regions(CHOICE, nowhere) == ((whole(2),),)


def test_the_same_place_is_cited_once() -> None:
    """Whatever it is called."""
    boxes = tuple(BOX.model_copy(update={"label": name}) for name in ("heart", "lung", None))
    assert cited_regions(CHOICE, reading(Step(kind="look", regions=boxes))) == ((BOX,),)


def test_sentences_cite_their_masks() -> None:
    """The masks of findings that answer them; looks count only after these."""
    mask, lung = (Mask(picture="ct", file="m.nii.gz", channel=n, channels=2) for n in (0, 1))
    look = Slices(picture="ct", first=3, last=5)
    told = reading(
        Step(kind="look", regions=(Whole(picture="ct"), look)),
        Step(kind="conclude", regions=(lung,)),
        findings=(Finding(text="A nodule.", query="0", regions=(mask,)),),
    )
    assert cited_regions(FOUND, told) == ((mask,), (look,))


# ---- how far -------------------------------------------------------------------------------

NOWHERE = (Path("nowhere"), Path("nowhere"))


def test_choices_move_by_their_letters_and_probabilities() -> None:
    """Another letter is another answer; how far is the probability that changed hands."""
    one = reading(choice="A", probabilities={"A": 0.6, "B": 0.4})
    two = reading(choice="A", probabilities={"A": 0.9, "B": 0.1})
    [same] = measure_shifts(CHOICE, one, two, NOWHERE).values()
    assert (same.moved, same.words) == (False, None)
    assert same.far == pytest.approx(0.3)
    [other] = measure_shifts(CHOICE, one, reading(choice="B"), NOWHERE).values()
    assert other == AnswerShift(1.0, moved=True)
    assert total_variation({"A": 2.0, "B": 2.0}, {"A": 1.0, "B": 1.0}) == 0.0
    assert total_variation({"A": 0.0}, {"A": 1.0}) is None


def test_answers_move_by_their_words() -> None:
    """Punctuation and case are no other answer."""
    [same] = measure_shifts(ASKED, reading(choice="Yes."), reading(choice=" yes"), NOWHERE).values()
    assert same == AnswerShift(0.0, moved=False, words=0.0)
    [other] = measure_shifts(ASKED, reading(choice="Yes."), reading(choice="No"), NOWHERE).values()
    assert other == AnswerShift(1.0, moved=True, words=1.0)


def test_reports_move_by_their_labels() -> None:
    """One label of two in common is half; other words for the same are no other report."""
    one = "Small left pleural effusion. Cardiomegaly."
    assert report_shift(one, "The heart is enlarged. There is a pleural effusion.")[:2] == (0.0, False)
    far = report_shift(one, "Small left pleural effusion. Right pneumothorax.")
    assert far.moved
    assert far.far == pytest.approx(0.5)
    assert far.words == pytest.approx(1 - 2 * 4 / (5 + 6))
    [move] = measure_shifts(REPORT, reading(report=one), reading(report=one), NOWHERE).values()
    assert move == AnswerShift(0.0, moved=False, words=0.0)


def test_a_failed_reading_is_as_far_as_can_be() -> None:
    """No answer is another answer."""
    failed = reading(error="it would not")
    assert measure_shifts(CHOICE, reading(choice="A"), failed, NOWHERE) == {"": AnswerShift(1.0, moved=True)}


def test_masks_move_by_their_dice(tmp_path: Path) -> None:
    """Each sentence by itself; one for which nothing was marked counts only where none was."""
    marks: list[Any] = [np.zeros((10, 10, 10), np.uint8) for _ in range(4)]
    marks[0][:4] = 1
    marks[1][2:6] = 1
    for name, one in (("before", marks[0]), ("after", marks[1])):
        (tmp_path / name).mkdir()
        write_mask(tmp_path / name / "m.nii.gz", [one, marks[2]], np.eye(4))
    findings = tuple(
        Finding(text="It.", query=str(n), regions=(Mask(picture="ct", file="m.nii.gz", channel=n, channels=2),))
        for n in (0, 1)
    )  # fmt: skip
    told = reading(findings=findings)
    folders = (tmp_path / "before", tmp_path / "after")
    assert measure_shifts(FOUND, told, told, folders, (10, 10, 10)) == {"0": AnswerShift(0.5, moved=False)}
    blank = measure_shifts(FOUND, told, told, folders, (10, 10, 10), blank=True)
    assert blank["1"] == AnswerShift(0.0, moved=False)
    gone = measure_shifts(FOUND, told, reading(findings=findings[1:]), folders, (10, 10, 10))
    assert gone == {"0": AnswerShift(1.0, moved=True)}


def test_masks_outside_the_run_are_not_opened(tmp_path: Path) -> None:
    """A reading may name any file; those that do not lie in its run are refused."""
    for folder in ("run", "arm"):
        (tmp_path / folder).mkdir()
    write_mask(tmp_path / "secret.nii.gz", [np.ones((10, 10, 10), np.uint8)], np.eye(4))
    (tmp_path / "run" / "link.nii.gz").symlink_to(tmp_path / "secret.nii.gz")
    for file in ("../secret.nii.gz", str(tmp_path / "secret.nii.gz"), "link.nii.gz"):
        mask = Mask(picture="ct", file=file, channel=0, channels=1)
        told = reading(findings=(Finding(text="It.", query="0", regions=(mask,)),))
        with pytest.raises(Refused):
            measure_shifts(FOUND, told, told, (tmp_path / "run", tmp_path / "arm"), (10, 10, 10))


def test_the_same_words() -> None:
    """What was said counts; how long it took does not."""
    assert same_words(reading(choice="A", rationale="x"), reading(ALL, choice="A", rationale="x"))
    assert not same_words(reading(choice="A", rationale="x"), reading(choice="A", rationale="y"))


# ---- what it comes to ----------------------------------------------------------------------


def made(flags: Any, patients: int | None = None) -> tuple[dict[Any, AnswerShift], dict[Any, str]]:
    keys = [(f"case{n}", "") for n in range(len(flags))]
    found = {key: AnswerShift(float(flag), moved=bool(flag)) for key, flag in zip(keys, flags, strict=True)}
    return found, {key: f"patient {n % (patients or len(keys))}" for n, key in enumerate(keys)}


def test_shares_of_known_answers() -> None:
    """Counted by hand: 10 answers, 6 moved by the cited, 2 by the other, 1 by nothing."""
    hidden, clusters = made([1, 1, 1, 1, 1, 1, 0, 0, 0, 0])
    other, _ = made([1, 0, 0, 0, 0, 0, 1, 0, 0, 0])
    null, _ = made([1, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    found = compute_shares({"null": null, "hidden": hidden, "other": other}, clusters)
    assert found.arms["hidden"].moved.value == pytest.approx(0.6)
    assert found.arms["hidden"].moved_beyond is not None
    assert found.arms["hidden"].moved_beyond.difference.value == pytest.approx(0.5)
    assert found.cited_over_other_moved is not None
    assert found.cited_over_other_moved.difference.value == pytest.approx(0.4)
    assert found.rests is not None
    assert found.rests_on_shown is not None
    assert found.rests.value == pytest.approx(0.4 / 0.9)
    assert found.rests_on_shown.value == pytest.approx(0.5 / 0.9)
    assert found.arms["null"].moved_beyond is None


def test_answers_without_another_region_do_not_count_for_the_share() -> None:
    """The share is of those that have every arm, and says of how many."""
    hidden, clusters = made([1, 1, 1, 1])
    null, _ = made([0, 0, 0, 0])
    other = dict(list(made([0, 1, 0, 0])[0].items())[:2])
    found = compute_shares({"null": null, "hidden": hidden, "other": other}, clusters)
    assert found.rests is not None
    assert (found.rests.n, found.rests.value) == (2, 0.5)
    assert found.arms["hidden"].moved.n == 4
    alone = compute_shares({"null": null, "hidden": hidden}, clusters)
    assert alone.rests is None


def test_where_everything_is_noise_nothing_is_said() -> None:
    """Answers that always move anyway rest on nothing that could be told."""
    moved, clusters = made([1] * 6)
    found = compute_shares({"null": moved, "hidden": moved, "other": moved}, clusters)
    assert found.rests is not None
    assert found.rests.value is None


def simulated(dice: np.random.Generator, count: int, rest: float, noise: Any) -> Any:
    """Answers of which a share rests on the cited region, and that noise moves besides."""
    noise = np.broadcast_to(noise, count)
    rests = dice.random(count) < rest
    null, other, hidden = (dice.random(count) < noise for _ in range(3))
    clusters = made(null)[1]
    arms = {"null": null, "other": other, "hidden": hidden | rests}
    moved = {arm: made(flags)[0] for arm, flags in arms.items()}
    return resting_interval(moved, clusters, against="other", draws=400)


@pytest.mark.parametrize(("rest", "noise"), [(0.0, 0.3), (0.4, 0.0), (0.4, 0.3), (0.9, 0.2)])
def test_the_interval_covers_the_share_that_rests(rest: float, noise: float) -> None:
    """In about 95 of 100 simulated audits of a noisy reader, and it is right on the average."""
    dice = np.random.default_rng(int(100 * rest + 10 * noise))
    found = [simulated(dice, 60, rest, noise) for _ in range(200)]
    covered = np.mean([one.low <= rest <= one.high for one in found])
    assert 0.89 <= covered <= 0.99
    assert abs(np.mean([one.value for one in found]) - rest) < 0.03


def test_noise_that_differs_from_case_to_case_is_no_evidence() -> None:
    """Hard cases move in every arm; a reader that does not look is still found out."""
    dice = np.random.default_rng(5)
    values = []
    for _ in range(100):
        noise = dice.beta(0.4, 1.0, 60)
        values.append(simulated(dice, 60, 0.0, noise).value)
    assert abs(np.mean(values)) < 0.03
    assert not any(math.isnan(value) for value in values)


def test_patients_are_drawn_whole() -> None:
    """Ten cases of each patient that all do the same leave a wider interval."""
    flags = [n % 6 < 3 for n in range(60)]
    zero = made([0] * 60)[0]
    widths = []
    for patients in (60, 6):
        hidden, clusters = made(flags, patients)
        found = compute_shares({"null": zero, "hidden": hidden, "other": zero}, clusters).rests
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        widths.append(found.high - found.low)
    assert widths[1] > 2 * widths[0]
