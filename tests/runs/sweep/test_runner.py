"""A sweep: points, known curves, going on, and what is written down."""

from __future__ import annotations

import csv
import io
import json
import signal
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pillow

from overread import catalog
from overread.core.notice import NOTICE
from overread.errors import MissingPart, UsageError
from overread.runs.engine import RunOutcome, RunPlan, run
from overread.runs.scoring.aggregation import BootstrapSettings
from overread.runs.spec import read_spec
from overread.runs.sweep import runner as sweeping
from overread.runs.sweep.axes import Axis, make_points, parse_axes
from overread.runs.sweep.files import make_chart, sweep_to_json, write_sweep
from overread.runs.sweep.runner import SweepResult, estimate_points, sweep
from overread.runs.tally import Tally
from overread.session import SessionSettings
from tests.runs.ablation_cases import Counting, pictured

RATIOS = ("0", "20", "40", "60", "80", "100")


@pytest.fixture(scope="module", autouse=True)
def _counting() -> Any:
    """Readers of whole cases by name: a sweep varies their arguments."""
    readers = catalog.TABLES["readers"]
    readers["test-counting"] = "tests.runs.ablation_cases:make_counting"
    readers["test-noting"] = "tests.runs.ablation_cases:make_noting"
    yield
    del readers["test-counting"], readers["test-noting"]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten cases of five pictures."""
    return pictured(tmp_path_factory.mktemp("sweep") / "release", 10, 5)


def plan(root: Path, **more: Any) -> RunPlan:
    return RunPlan("medthinkvqa", root, "test-counting", use_cache=False, **more)


def swept(root: Path, out: Path, *axes: Axis, **more: Any) -> SweepResult:
    return sweep(plan(root, **more), axes, out, bootstrap=BootstrapSettings(draws=100))


@pytest.fixture(scope="module")
def known(root: Path, tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    """A curve that is known: wrong below three pictures of five, right from there on."""
    return swept(root, tmp_path_factory.mktemp("known") / "out", Axis("image_ratio", RATIOS))


# ---- axes and points -----------------------------------------------------------------------


def test_axes_are_read_as_they_are_typed() -> None:
    """Names, values, and numbers where all values are some."""
    one, other = parse_axes(["image-ratio=0, 50,100", "reveal=none,captions+summary"])
    assert one == Axis("image_ratio", ("0", "50", "100"))
    assert one.numbers == (0, 50, 100)
    assert other.values == ("none", "captions+summary")
    assert other.numbers is None


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["image_ratio"], "lacks its '='"),
        (["image_ratio=0,,5"], "empty value"),
        (["image_ratio="], "empty value"),
        (["image_ratio=0,0"], "a value twice"),
        (["looks=1", "looks=2"], "was given twice"),
    ],
)
def test_what_is_no_axis_is_refused(words: list[str], told: str) -> None:
    """One sentence each."""
    with pytest.raises(UsageError, match=told):
        parse_axes(words)


def test_points_are_the_cross_product(root: Path) -> None:
    """Each axis goes where it belongs, the last one fastest; the rest is as it was given."""
    base = plan(root, settings=SessionSettings(longest=99, windows=("bone", "lung")), repeat=2)
    axes = parse_axes(
        ["image_ratio=0,100", "shuffle=none,options+images", "enough=1,4", "workflow=direct,twi"]
    )
    points = make_points(base, axes)
    assert len({point.folder for point in points}) == len(points) == 16
    first, second, last = points[0], points[1], points[-1]
    assert first.name == "image_ratio=0, shuffle=none, enough=1, workflow=direct"
    assert first.folder == "image_ratio=0,shuffle=none,enough=1,workflow=direct"
    assert second.values == {**first.values, "workflow": "twi"}
    assert (first.plan.workflow, second.plan.workflow) == ("direct", "twi")
    assert first.plan.settings == SessionSettings(longest=99, windows=("bone", "lung"), image_ratio=0)
    assert last.plan.settings.shuffle == ("options", "images")
    assert (first.plan.arguments, last.plan.arguments) == ({"enough": "1"}, {"enough": "4"})
    assert last.plan.repeat == 2


def test_folders_hold_any_value(root: Path) -> None:
    """What no folder can be called is replaced, and two such values stay two."""
    axis = Axis("model", ("a/b c", "a/b:c"))
    local = {"base_url": "http://localhost:9/v1"}
    points = make_points(
        RunPlan("medthinkvqa", root, "openai", local), [Axis("reasoning_effort", ("low",)), axis]
    )
    assert len({point.folder for point in points}) == 2
    assert all("/" not in point.folder and " " not in point.folder for point in points)


@pytest.mark.parametrize(
    ("axis", "told"),
    [
        (Axis("image_ratoi", ("1",)), "no setting or reader argument is called 'image_ratoi': did "
         "you mean 'image_ratio'"),
        (Axis("enouhg", ("1",)), "did you mean 'enough'"),
        (Axis("image_ratio", ("many",)), "'image_ratio' has an invalid value"),
        (Axis("image_ratio", ("400",)), "0 to 100"),
        (Axis("evidence", ("none",)), "'multimodal', 'boxes', 'text' or 'words'"),
    ],
)  # fmt: skip
def test_what_cannot_be_varied_is_refused(root: Path, axis: Axis, told: str) -> None:
    """A name is told apart from settings and arguments alike, with the nearest of both."""
    with pytest.raises(UsageError, match=told):
        make_points(plan(root), [axis])


def test_nothing_is_both_set_and_varied(root: Path) -> None:
    """Neither a setting nor an argument; and something must be varied."""
    with pytest.raises(UsageError, match="both set and varied"):
        make_points(plan(root), [Axis("looks", ("1",))], fixed=["looks"])
    with pytest.raises(UsageError, match="both set and varied"):
        make_points(plan(root, arguments={"enough": "2"}), [Axis("enough", ("1",))])
    with pytest.raises(UsageError, match="nothing is varied"):
        make_points(plan(root), [])


def test_all_points_are_made_sure_of_before_the_first_is_read(root: Path, tmp_path: Path) -> None:
    """The last point is impossible: nothing is read, and no folder is made."""
    with pytest.raises(UsageError, match="--repeat 2"):
        swept(root, tmp_path / "out", Axis("shuffle", ("none", "options")))
    with pytest.raises(UsageError, match="takes no prompts"):
        swept(root, tmp_path / "out", Axis("reveal", ("none", "summary")))
    with pytest.raises(UsageError, match="is the same run as 'looks=1'"):
        swept(root, tmp_path / "out", Axis("looks", ("1", "2")))  # it has no workflow
    assert not (tmp_path / "out").exists()


def test_a_run_is_no_sweep(root: Path, tmp_path: Path) -> None:
    """A folder that holds a run is left alone."""
    run(plan(root, limit=1), tmp_path / "run")
    with pytest.raises(UsageError, match="this folder is a run"):
        swept(root, tmp_path / "run", Axis("image_ratio", RATIOS))


# ---- a known curve -------------------------------------------------------------------------


def test_the_curve_is_the_known_one(known: SweepResult) -> None:
    """Wrong, wrong, wrong, then right three times; each point says so in its spec."""
    values = [known.score(one, "accuracy") for one in known.points]
    assert [score.value for score in values if score] == [0, 0, 0, 1, 1, 1]
    assert known.metrics == ("accuracy",)
    for one, ratio in zip(known.points, RATIOS, strict=True):
        settings = read_spec(known.folder / f"image_ratio={ratio}").workflow.settings
        assert settings == ({"image_ratio": int(ratio)} if ratio != "100" else {})
        assert one.agreement is None


def test_a_sweep_shows_itself(known: SweepResult) -> None:
    """One row a point and metric."""
    html = known._repr_html_()
    assert html.count("<tr><td>image_ratio=") == len(RATIOS)
    assert "<td>image_ratio=100</td><td>accuracy</td><td>1</td>" in html
    assert "6 of 6 points." in html
    assert html.count(NOTICE) == 1


def test_differences_are_to_the_first_point(known: SweepResult) -> None:
    """Paired, with intervals: nothing at first, then a whole point on each case; never quite sure."""
    assert not known.points[0].differences
    told = [one.differences["accuracy"].difference for one in known.points[1:]]
    assert [d.value for d in told] == [0, 0, 1, 1, 1]
    same, better = told[0], told[-1]
    assert same.low == -(same.high or 0) < 0
    assert 0 < (better.low or 0) < better.high == 1  # type: ignore[operator]
    assert not known.not_compared


def test_the_same_call_goes_on(root: Path, tmp_path: Path) -> None:
    """Nothing is read twice; more values and more cases are read beside what is there."""
    few = Axis("image_ratio", ("0", "100"))
    assert [o.outcome.tally.read for o in swept(root, tmp_path, few, limit=3).points] == [3, 3]
    assert [o.outcome.tally.read for o in swept(root, tmp_path, few, limit=3).points] == [0, 0]
    more = swept(root, tmp_path, Axis("image_ratio", ("0", "60", "100")), limit=5)
    assert [one.outcome.tally.read for one in more.points] == [2, 5, 2]


def test_a_stopped_sweep_tells_what_it_has(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The points before the signal are scored and written; none after it is begun."""
    begun: list[str] = []

    def stops(told: RunPlan, out: Path, **more: Any) -> RunOutcome:
        begun.append(out.name)
        if len(begun) < 3:
            return run(told, out, **more)
        return RunOutcome(out, read_spec(out.parent / begun[0]), Tally(), stopped=signal.SIGINT)

    monkeypatch.setattr(sweeping, "run", stops)
    found = swept(root, tmp_path, Axis("image_ratio", RATIOS), limit=2)
    assert (found.stopped, len(found.points), found.total) == (signal.SIGINT, 2, 6)
    assert begun == ["image_ratio=0", "image_ratio=20", "image_ratio=40"]
    assert sweep_to_json(found)["complete"] is False
    write_sweep(found)
    assert len(json.loads((tmp_path / "sweep.json").read_text())["points"]) == 2


def test_repeats_tell_how_far_a_reader_agrees_with_itself(root: Path, tmp_path: Path) -> None:
    """It knows the texts when it sees enough, and loves the letter A when it does not."""
    axes = (Axis("image_ratio", ("0", "100")), Axis("shuffle", ("none", "options")))
    found = swept(root, tmp_path, *axes, repeat=3, limit=6)
    told = [one.agreement.value if one.agreement else None for one in found.points]
    assert told[0] == told[2] == told[3] == 1
    assert told[1] is not None
    assert told[1] < 0.5


def test_a_metric_that_does_not_apply_is_told(root: Path, tmp_path: Path) -> None:
    """No curve is drawn of it, and the reason stands beside the points."""
    found = sweep(
        plan(root, limit=2),
        [Axis("image_ratio", ("0", "100"))],
        tmp_path,
        metrics=["accuracy", "rougeL"],
        bootstrap=BootstrapSettings(draws=0),
    )
    names = {file.name for file in write_sweep(found)}
    assert names == {"sweep.json", "sweep.csv", "sweep.svg", "sweep.png"}
    told = sweep_to_json(found)
    assert told["points"][0]["not_scored"]["rougeL"]
    assert told["points"][0]["scores"]["accuracy"]["low"] is None
    with pytest.raises(UsageError, match="did you mean 'accuracy'"):
        sweep(plan(root), [Axis("looks", ("1",))], tmp_path, metrics=["acuracy"])


def test_estimates_ask_nobody(root: Path, tmp_path: Path) -> None:
    """Pictures are counted as they would be shown, and no folder is made."""
    base = RunPlan("medthinkvqa", root, "openai", {"base_url": "http://localhost:9/v1", "model": "m"})
    found = estimate_points(base, [Axis("image_ratio", ("0", "20", "100"))], tmp_path / "out")
    assert [told.pictures for _, told in found] == [0, 10, 50]
    assert [told.calls for _, told in found] == [10, 10, 10]
    assert not (tmp_path / "out").exists()


# ---- what is written -----------------------------------------------------------------------


def test_the_table_and_the_json_tell_the_same(known: SweepResult) -> None:
    """One line a point; the numbers, intervals, differences and folders are those of the sweep."""
    files = {file.name: file for file in write_sweep(known)}
    rows = list(csv.DictReader(io.StringIO(files["sweep.csv"].read_text())))
    told = json.loads(files["sweep.json"].read_text())
    assert [row["image_ratio"] for row in rows] == list(RATIOS)
    assert [float(row["value"]) for row in rows] == [0, 0, 0, 1, 1, 1]
    assert [row["difference"] for row in rows] == ["", "0.0", "0.0", "1.0", "1.0", "1.0"]
    for row, point in zip(rows, told["points"], strict=True):
        assert row["run"] == point["run"]
        assert float(row["low"]) == point["scores"]["accuracy"]["low"]
        assert (known.folder / point["run"] / "card.json").exists()
    assert told["complete"] is True
    assert told["axes"] == {"image_ratio": list(RATIOS)}
    assert told["intervals"]["draws"] == 100
    assert "not for patient care" in told["note"]
    with Pillow.open(files["sweep.png"]) as image:
        assert image.size == (1600, 1000)


def test_curves_run_along_the_first_axis_of_numbers(known: SweepResult, root: Path, tmp_path: Path) -> None:
    """The other axes name the curves; without numbers the values stand side by side."""
    chart = make_chart(known, "accuracy")
    assert chart is not None
    assert [dot.x for dot in chart.curves[0].dots] == [0, 20, 40, 60, 80, 100]
    assert (chart.curves[0].name, chart.ticks) == ("", None)
    axes = (Axis("shuffle", ("none", "options")), Axis("enough", ("5", "1")))
    found = swept(root, tmp_path / "a", *axes, repeat=2, limit=2)
    two = make_chart(found, "accuracy")
    assert two is not None
    assert [curve.name for curve in two.curves] == ["shuffle none", "shuffle options"]
    assert [[dot.x for dot in curve.dots] for curve in two.curves] == [[1, 5], [1, 5]]
    words = swept(root, tmp_path / "b", axes[0], repeat=2, limit=2)
    named = make_chart(words, "accuracy")
    assert named is not None
    assert named.ticks is not None
    assert [bar.name for bar in named.ticks] == ["none", "options"]


def test_a_reader_of_ones_own_can_be_swept(root: Path, tmp_path: Path) -> None:
    """From Python a reader that was made already; its arguments cannot be varied."""
    base = RunPlan("medthinkvqa", root, Counting(), limit=2)
    found = sweep(base, [Axis("image_ratio", ("0", "100"))], tmp_path, bootstrap=BootstrapSettings(draws=0))
    assert [found.score(one, "accuracy").value for one in found.points] == [0, 1]  # type: ignore[union-attr]
    with pytest.raises(UsageError, match="no setting or reader argument is called 'enough'"):
        sweep(base, [Axis("enough", ("1",))], tmp_path)


def test_a_point_without_the_part_does_not_end_the_sweep(root: Path, tmp_path: Path) -> None:
    """Asked alone for what the first point's readings lack: every point is read, and says why."""
    found = sweep(
        plan(root, limit=2),
        [Axis("image_ratio", ("0", "100"))],
        tmp_path,
        metrics=["findings_rougeL"],
        bootstrap=BootstrapSettings(draws=0),
    )
    assert len(found.points) == 2
    told = sweep_to_json(found)
    assert [one["not_scored"]["findings_rougeL"] for one in told["points"]] == [
        "no prediction holds findings"
    ] * 2
    assert {file.name for file in write_sweep(found)} == {"sweep.json", "sweep.csv"}


def test_points_are_compared_where_they_have_the_score(root: Path, tmp_path: Path) -> None:
    """A later point without a score leaves the differences of the others."""
    found = sweep(
        RunPlan("medthinkvqa", root, "test-noting", limit=2, use_cache=False),
        [Axis("says", ("much", "nothing", "little"))],
        tmp_path,
        metrics=["findings_rougeL"],
        bootstrap=BootstrapSettings(draws=20),
    )
    scores = [found.score(one, "findings_rougeL") for one in found.points]
    assert [score is not None for score in scores] == [True, False, True]
    assert [list(one.differences) for one in found.points] == [[], [], ["findings_rougeL"]]
    assert not found.not_compared


def test_a_sweep_says_which_weights_are_missing_and_scores_the_rest(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With another metric it goes on; where all lack weights nobody is asked."""
    monkeypatch.setenv("OVERREAD_MODELS", str(tmp_path / "models"))
    axes = [Axis("says", ("much", "little"))]
    noting = RunPlan("medthinkvqa", root, "test-noting", limit=2, use_cache=False)
    quick = BootstrapSettings(draws=0)
    found = sweep(
        noting, axes, tmp_path / "a", metrics=["findings_radcliq_v1", "findings_rouge1"], bootstrap=quick
    )
    for one in found.points:
        assert set(one.card.scores) == {"findings_rouge1"}
        assert (
            "weights of RadGraph (radgraph) were not found" in one.card.not_attempted["findings_radcliq_v1"]
        )
    with pytest.raises(MissingPart, match="weights of"):
        sweep(noting, axes, tmp_path / "b", metrics=["findings_radcliq_v1", "green"], bootstrap=quick)
    assert not (tmp_path / "b").exists()
