"""The quality table: a sample of what the steps made, marked by people, and its error rates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from overread.build.adjudication import Queue, load_questions
from overread.build.adjudication.error_rates import measure_error_rates
from overread.build.rexgroundingct import RECIPE
from overread.build.rexgroundingct.quality import draw_sample, quality_folder
from overread.build.runner import run_build
from overread.cli.main import app
from overread.errors import UsageError

FINDINGS = (
    "There are motion artifacts. A {size} mm nodule is seen in the right upper lobe. No pleural effusion."
)


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build of twenty short reports, by rules."""
    folder = tmp_path_factory.mktemp("quality")
    rows = [f'train_{n}_a_1.nii.gz,"{FINDINGS.format(size=n + 4)}",""' for n in range(20)]
    (folder / "reports.csv").write_text("VolumeName,Findings_EN,Impressions_EN\n" + "\n".join(rows))
    run_build(RECIPE, folder / "reports.csv", folder / "mine")
    return folder / "mine"


def test_marks_of_two_people_become_error_rates(build: Path) -> None:
    """Drawn by lot, the smaller sample in the larger; shares, Wilson's ends, each person's own."""
    assert draw_sample(build, 6, seed=1) == {"rewrite": 60, "extraction": 40, "category": 20}
    folder = quality_folder(build)
    few = {question.id for question in load_questions(folder)}
    draw_sample(build, 20, seed=1)
    questions = load_questions(folder)
    assert few < {question.id for question in questions}
    assert len(questions) == 60
    assert any("left out" in question.shown for question in questions)
    queue = Queue(folder)
    wrong = sorted(q.id for q in questions if q.kind == "quality-category")[:5]
    for person in ("ann", "ben"):
        for question in queue.open_questions(person, kind="quality-category"):
            bad = question.id in wrong
            reasons = ["wrong-parent"] if bad else []
            queue.submit(person, question.id, "wrong" if bad else "right", reasons=reasons)
    rates = {(one.kind, one.by): one for one in measure_error_rates(folder)}
    shares = {one.error: one for one in rates["quality-category", "all"].shares}
    assert [shares[code].count for code in ("wrong", "wrong-parent", "too-broad")] == [5, 5, 0]
    found = shares["wrong"]
    assert (found.share, found.judged) == (0.25, 20)
    assert found.low is not None
    assert found.high is not None
    assert 0.08 < found.low < 0.13
    assert 0.45 < found.high < 0.51
    assert rates["quality-category", "ben"].shares[0].share == 0.25
    assert rates["quality-rewrite", "all"].shares[0].share is None
    told = CliRunner().invoke(app, ["quality", str(build)])
    assert told.exit_code == 0
    assert "quality-category: 20 of 20 decided" in told.output
    assert "wrong-parent         0.250 (95 % 0." in told.output


def test_a_build_without_a_sample_and_another_recipe_are_told(build: Path, tmp_path: Path) -> None:
    """One sentence each."""
    with pytest.raises(UsageError, match="no sample of this build has been drawn"):
        CliRunner().invoke(app, ["quality", str(tmp_path)], catch_exceptions=False, standalone_mode=False)
    run_build(replace(RECIPE, name="mine"), build.parent / "reports.csv", tmp_path / "other", limit=1)
    with pytest.raises(UsageError, match="this is a build of mine"):
        draw_sample(tmp_path / "other", 3)
