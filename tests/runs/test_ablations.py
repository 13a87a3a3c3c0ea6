"""How cases are handed out: fewer pictures, other orders, revealed words, and what is refused."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import overread
from overread.core import Case, Image, Option, Reading, Release
from overread.core.case import captions_of
from overread.errors import UsageError
from overread.pixels.edits.altered_pictures import AlteredPictures, Edit
from overread.runs.ablations import Presenter, sample_order, subset_pictures, undo_nothing
from overread.runs.engine import RunPlan, run
from overread.runs.spec import read_spec
from overread.runs.store import last_readings
from overread.session import SessionSettings
from tests.jsonl_rows import read_rows, write_rows
from tests.runs.ablation_cases import Counting, pictured, telling
from tests.runs.fake_readers import Echo, WholeReader, plain

LETTERS = "ABCDE"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four cases of five pictures."""
    return pictured(tmp_path_factory.mktemp("presenting") / "release")


def opened(root: Path) -> Release:
    return overread.load("medthinkvqa", root)


def presenter(root: Path, *, seed: int = 0, **settings: Any) -> Presenter:
    return Presenter(SessionSettings(**settings), seed=seed, release=opened(root))


def made_of(pictures: int = 0, options: int = 0) -> Case:
    return Case(
        id="c1",
        benchmark="medthinkvqa",
        split="test",
        pictures=tuple(Image(name=f"image-{n}") for n in range(1, pictures + 1)),
        options=tuple(Option(letter=a, text=f"text {a}") for a in LETTERS[:options]),
    )


# ---- as it is ------------------------------------------------------------------------------


def test_without_settings_the_very_same_objects_pass_through(root: Path) -> None:
    """Neither case nor pictures nor reading is copied, and nothing is revealed."""
    handing = presenter(root)
    for case in opened(root):
        for sample in (0, 1, 5):
            found = handing.present(case, sample)
            assert found.case is case
            assert found.pictures is handing.present(case, 0).pictures
            assert found.undo is undo_nothing
            assert (found.hints.captions, found.hints.summary, found.edits) == ({}, None, ())


def test_edits_concern_their_case_alone(root: Path) -> None:
    """The case with edits gets altered pictures; the others the plain ones."""
    edit = Edit(picture="image-1", how="hide")
    cases = list(opened(root))
    handing = Presenter(SessionSettings(), seed=0, release=opened(root), edits={cases[1].id: (edit,)})
    found = [handing.present(case, 0) for case in cases]
    altered = [isinstance(one.pictures, AlteredPictures) for one in found]
    assert altered == [False, True, False, False]
    assert [one.edits for one in found] == [(), (edit,), (), ()]


# ---- fewer pictures ------------------------------------------------------------------------


@given(st.integers(0, 49), st.integers(0, 3), st.text("abc019", min_size=1, max_size=6))
def test_less_is_always_part_of_more(count: int, seed: int, case_id: str) -> None:
    """Over all ratios from 0 to 100: nested, in the case's own order, and as many as is said."""
    case = made_of(count)
    before: set[str] = set()
    for percent in range(101):
        shown = subset_pictures(case.pictures, percent, seed=seed, case_id=case_id)
        names = [picture.name for picture in shown]
        assert names == sorted(names, key=lambda name: int(name.removeprefix("image-")))
        assert before <= set(names)
        before = set(names)
        if not percent:
            assert not names
        else:
            assert len(names) == max(min(1, count), int(count * percent / 100 + 0.5))
    assert subset_pictures(case.pictures, 100, seed=seed, case_id=case_id) is case.pictures


def test_which_pictures_are_shown_hangs_on_seed_and_case_alone() -> None:
    """Known names once and for all: no other process, version or order of cases changes them."""
    pictures = made_of(6).pictures
    found = {
        (seed, case): [p.name[-1] for p in subset_pictures(pictures, 50, seed=seed, case_id=case)]
        for seed in (0, 1)
        for case in ("case00001", "case00002")
    }
    assert len({tuple(names) for names in found.values()}) > 1
    assert found == {
        (0, "case00001"): ["3", "5", "6"],
        (0, "case00002"): ["1", "2", "5"],
        (1, "case00001"): ["1", "2", "3"],
        (1, "case00002"): ["1", "4", "6"],
    }


def test_a_ratio_is_the_same_subset_in_every_sample(root: Path) -> None:
    """Samples repeat the reading, not the lots; nothing else of the case changes."""
    handing = presenter(root, image_ratio=40)
    for case in opened(root):
        first, second = handing.present(case, 0).case, handing.present(case, 3).case
        assert first == second
        assert len(first.pictures) == 2
        assert first.model_copy(update={"pictures": case.pictures}) == case


# ---- other orders --------------------------------------------------------------------------


@given(st.integers(2, 5), st.integers(0, 9))
def test_every_sample_has_an_order_of_its_own(count: int, seed: int) -> None:
    """Sample 0 is as it is; no order comes again before all of them have been there."""
    every = len(list(permutations(range(count))))
    orders = [
        sample_order(count, sample, seed=seed, case_id="c", what="options")
        for sample in range(min(every, 24))
    ]
    assert orders[0] == tuple(range(count))
    assert len(set(orders)) == len(orders)
    assert all(sorted(order) == list(range(count)) for order in orders)


def test_orders_of_options_and_of_images_are_drawn_apart() -> None:
    """The same case and sample, another thing: over some cases not always the same order."""
    cases = [f"c{n}" for n in range(8)]
    orders = {
        what: [sample_order(5, 1, seed=0, case_id=case, what=what) for case in cases]
        for what in ("options", "images")
    }
    assert orders["options"] != orders["images"]
    assert len(set(orders["options"])) > 4


@pytest.mark.parametrize("sample", range(1, 7))
def test_letters_stay_and_texts_move_and_readings_are_put_back(root: Path, sample: int) -> None:
    """Whoever chooses a text by its shown letter has chosen that text's letter in the release."""
    handing = presenter(root, shuffle=("options",))
    for case in opened(root):
        found = handing.present(case, sample)
        assert [option.letter for option in found.case.options] == list(LETTERS)
        assert {o.text for o in found.case.options} == {o.text for o in case.options}
        assert found.case.options != case.options
        assert found.case.pictures is case.pictures
        theirs = {option.text: option.letter for option in case.options}
        for option in found.case.options:
            reading = Reading(
                case_id=case.id,
                reader="r",
                choice=option.letter,
                probabilities={option.letter: 0.75, "A" if option.letter != "A" else "B": 0.25},
                rationale=f"{option.letter} fits",
            )
            back = found.undo(reading)
            assert back.choice == theirs[option.text]
            assert back.probabilities is not None
            assert back.probabilities[theirs[option.text]] == 0.75
            assert sorted(back.probabilities.values()) == [0.25, 0.75]
            assert back.rationale == reading.rationale  # words stay as they were said
            assert back.order == tuple(theirs[shown.text] for shown in found.case.options)
        nothing = found.undo(Reading(case_id=case.id, reader="r", error="no"))
        assert (nothing.choice, nothing.probabilities) == (None, None)


def test_images_are_put_into_another_order(root: Path) -> None:
    """The same pictures in sample 1 as in sample 0, elsewhere; readings need no putting back."""
    handing = presenter(root, shuffle=("images",))
    for case in opened(root):
        assert handing.present(case, 0).case is case
        found = handing.present(case, 1)
        assert found.case.pictures != case.pictures
        assert set(found.case.pictures) == set(case.pictures)
        assert found.case.options is case.options
        assert found.undo is undo_nothing


# ---- revealed words ------------------------------------------------------------------------


def test_what_is_revealed_is_what_the_setting_says(root: Path) -> None:
    """Captions, the summary, or both; of pictures that are not shown nothing is told."""
    case = next(iter(opened(root)))
    captions = {f"image-{n}": f"Expert on picture {n} of case 1." for n in range(1, 6)}
    summary = "All pictures of case 1 together show it."
    both = presenter(root, reveal=("captions", "summary")).present(case, 0).hints
    assert (both.captions, both.summary) == (captions, summary)
    one = presenter(root, reveal=("captions",)).present(case, 0).hints
    assert (one.captions, one.summary) == (captions, None)
    other = presenter(root, reveal=("summary",)).present(case, 0).hints
    assert (other.captions, other.summary) == ({}, summary)
    few = presenter(root, reveal=("captions",), image_ratio=40).present(case, 0)
    assert list(few.hints.captions) == [picture.name for picture in few.case.pictures]
    assert len(few.hints.captions) == 2


def test_captions_are_of_whole_pictures(root: Path) -> None:
    """One text for each picture that has one."""
    truth = opened(root).entry("#2").truth
    assert truth is not None
    assert captions_of(truth)["image-3"] == "Expert on picture 3 of case 2."


def without(root: Path, tmp_path: Path, *columns: str) -> Path:
    """A copy of the rows that withholds some columns."""
    rows = read_rows(root / "test.jsonl")
    kept = [{k: v for k, v in row.items() if not k.endswith(columns)} for row in rows]
    target = tmp_path / "withheld"
    target.mkdir()
    write_rows(target / "test.jsonl", kept)
    return target


@pytest.mark.parametrize(("column", "reveal"), [("_caption", "captions"), ("IMAGING_FINDINGS", "summary")])
def test_what_is_withheld_cannot_be_revealed(root: Path, tmp_path: Path, column: str, reveal: str) -> None:
    """One sentence before anything is read, and no folder of a run."""
    plan = RunPlan(
        "medthinkvqa",
        without(root, tmp_path, column),
        Echo(),
        workflow=telling,
        settings=SessionSettings(reveal=(reveal,)),
        use_cache=False,
    )
    with pytest.raises(UsageError, match="gives no expert"):
        run(plan, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_workflow_that_does_not_tell_is_refused(root: Path, tmp_path: Path) -> None:
    """A run whose spec says that the summary was revealed has told it."""
    settings = SessionSettings(reveal=("summary",))
    with pytest.raises(UsageError, match="does not pass an expert summary on"):
        run(
            RunPlan("medthinkvqa", root, Echo(), workflow=plain, settings=settings, use_cache=False),
            tmp_path / "run",
        )


# ---- refusing ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("benchmark", "settings", "told"),
    [
        ("rexgroundingct", {"shuffle": ("options",)}, "no options to shuffle"),
        ("rexgroundingct", {"image_ratio": 50}, "has one picture"),
        ("rexgroundingct", {"shuffle": ("images",)}, "has one picture"),
        ("rexgroundingct", {"image_ratio": 0}, "cannot be read without pictures"),
        ("mmrad", {"image_ratio": 0}, "cannot be read without pictures"),
        ("mmrad", {"reveal": ("summary",)}, "is the expected answer"),
        ("mmrad", {"reveal": ("captions",)}, "gives no expert captions"),
        ("rexgroundingct", {"reveal": ("trace",)}, "gives no expert traces"),
    ],
)
def test_what_a_release_cannot_show_is_refused(
    sketch: Path, benchmark: str, settings: dict[str, Any], told: str
) -> None:
    """One sentence, when the presenter is made."""
    release = overread.load(benchmark, sketch / benchmark)
    with pytest.raises(UsageError, match=told):
        Presenter(SessionSettings(**settings), seed=0, release=release)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"image_ratio": 101}, "0 to 100"),
        ({"image_ratio": -1}, "0 to 100"),
        ({"looks": 0}, "'looks' must be 1 or more"),
        ({"shuffle": ("option",)}, "did you mean 'options'"),
        ({"reveal": ("sumary",)}, "did you mean 'summary'"),
        ({"evidence": "box"}, "did you mean 'boxes'"),
    ],
)
def test_settings_that_cannot_be_are_refused(wrong: dict[str, Any], told: str) -> None:
    """One sentence, with the nearest word."""
    with pytest.raises(UsageError, match=told):
        SessionSettings(**wrong)


def test_words_of_a_setting_have_one_order() -> None:
    """The same words named otherwise are the same setting, and the same spec."""
    assert SessionSettings(shuffle=("images", "options", "images")) == SessionSettings(
        shuffle=("options", "images")
    )


def test_a_single_reading_cannot_be_shuffled(root: Path) -> None:
    """Sample 0 is as it is, so that there must be another."""
    with pytest.raises(UsageError, match="--repeat 2"):
        RunPlan("medthinkvqa", root, Echo(), settings=SessionSettings(shuffle=("images",)))


def test_a_reader_that_does_not_look_is_refused(root: Path, tmp_path: Path) -> None:
    """The oracle answers in the release's letters whatever it is shown."""
    settings = SessionSettings(shuffle=("options",))
    plan = RunPlan("medthinkvqa", root, "oracle", settings=settings, repeat=2)
    with pytest.raises(UsageError, match="answers whatever it is shown, so that shuffle"):
        run(plan, tmp_path / "run")


def test_a_reader_of_whole_cases_cannot_be_told(root: Path, tmp_path: Path) -> None:
    """Hints are for workflows."""
    settings = SessionSettings(reveal=("summary",))
    with pytest.raises(UsageError, match="takes no prompts"):
        run(RunPlan("medthinkvqa", root, WholeReader(), settings=settings), tmp_path / "run")


# ---- runs ----------------------------------------------------------------------------------


def test_readers_of_whole_cases_get_what_is_presented(root: Path, tmp_path: Path) -> None:
    """Fewer pictures, moved options, letters put back; the spec says so and nothing else."""
    few = SessionSettings(image_ratio=40)
    run(RunPlan("medthinkvqa", root, Counting(), settings=few), tmp_path / "few")
    assert {r.choice for r in last_readings(tmp_path / "few").values()} == {"A"}
    assert read_spec(tmp_path / "few").workflow.settings == {"image_ratio": 40}
    moved = SessionSettings(shuffle=("options",))
    run(RunPlan("medthinkvqa", root, Counting(), settings=moved, repeat=4), tmp_path / "moved")
    found = last_readings(tmp_path / "moved")
    assert {(case, r.choice) for (case, _), r in found.items()} == {
        ("case00001", "B"), ("case00002", "D"), ("case00003", "B"), ("case00004", "D"),
    }  # fmt: skip
    assert all((r.order is None) == (sample == 0) for (_, sample), r in found.items())
    run(RunPlan("medthinkvqa", root, Counting()), tmp_path / "plain")
    assert read_spec(tmp_path / "plain").workflow.settings == {}


def test_a_run_goes_on_only_as_it_was_begun(root: Path, tmp_path: Path) -> None:
    """The same ratio goes on with more cases; another one is another run."""
    few = SessionSettings(image_ratio=40)
    plan = RunPlan("medthinkvqa", root, Counting(), settings=few, limit=2)
    run(plan, tmp_path / "run")
    more = RunPlan("medthinkvqa", root, Counting(), settings=few)
    assert run(more, tmp_path / "run").tally.read == 2
    other = RunPlan("medthinkvqa", root, Counting(), settings=SessionSettings(image_ratio=60))
    with pytest.raises(UsageError, match="image_ratio is 60 and was 40"):
        run(other, tmp_path / "run")
