"""Expert-written against self-written steps: `reveal` in `direct` as in `twi`, in one sweep."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from overread.runs.engine import RunPlan
from overread.runs.scoring.aggregation import BootstrapSettings
from overread.runs.sweep.axes import parse_axes
from overread.runs.sweep.runner import sweep
from overread.session import SessionSettings
from tests.runs.ablation_cases import pictured
from tests.workflows.scripted_model import Asked, js, scripted, served

CASES, PICTURES = 4, 2


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four cases of two pictures with the experts' words."""
    return pictured(tmp_path_factory.mktemp("experts") / "release", CASES, PICTURES)


def choose_by_words(asked: Asked) -> str:
    """A model that knows the case when experts sum it up, half of them from captions, none alone."""
    if "Say what this picture shows" in asked.words:
        return "Something grey."
    if "Write one summary" in asked.words:
        return "All of it is grey."
    number = int(re.search(r"Diagnosis (\d+) ", asked.words)[1])  # type: ignore[index]
    right = "B" if number % 2 else "D"
    knows = "together show it" in asked.words or ("Expert on picture" in asked.words and number < 3)
    return js(answer=right if knows else "A", explanation="So it is.", differential=[])


def test_the_table_of_self_and_expert_written_steps_is_one_sweep(root: Path, tmp_path: Path) -> None:
    """Two workflows by four sets of experts' words; scored beside each other against the first."""
    with served(choose_by_words) as (url, asked):
        plan = RunPlan(
            "medthinkvqa",
            root,
            "openai",
            arguments={"model": "m", "base_url": url},
            settings=SessionSettings(discussion=False),
            use_cache=False,
        )
        found = sweep(
            plan,
            parse_axes(["workflow=direct,twi", "reveal=none,captions,summary,captions+summary"]),
            tmp_path / "sweep",
            metrics=["accuracy", "findings_rougeL"],
            bootstrap=BootstrapSettings(draws=0),
        )
    assert [one.card.scores["accuracy"].value for one in found.points] == [0, 0.5, 1, 1] * 2
    scored = [one.point.name for one in found.points if "findings_rougeL" in one.card.scores]
    assert scored == ["workflow=twi, reveal=none"]
    calls = [one.outcome.tally.read for one in found.points]
    assert calls == [CASES] * 8
    # direct: one question each; twi: findings and summary of its own, a summary, or none of them.
    assert len(asked) == CASES * (4 * 1 + (PICTURES + 2) + 2 + 1 + 1)


@pytest.mark.parametrize("ratio", [0, 100])
def test_direct_tells_the_experts_words_under_their_headings(root: Path, tmp_path: Path, ratio: int) -> None:
    """Captions by picture, then the summary; of pictures that are not shown nothing is told."""
    settings = {"reveal": ("captions", "summary"), "image_ratio": ratio}
    done = scripted(
        "medthinkvqa", root, tmp_path / "run", choose_by_words, "direct", settings=settings, limit=1
    )
    (asked,) = done.asked
    summary = "Summary of the imaging findings:\nAll pictures of case 1 together show it."
    assert summary in asked.words
    captions = "What each picture shows:\nPicture 1: Expert on picture 1 of case 1.\nPicture 2: Expert"
    assert (captions in asked.words) == bool(ratio)
    assert len(asked.pictures) == (PICTURES if ratio else 0)
    assert done.reading.choice == "B"
    assert (done.reading.findings, done.reading.report) == (None, None)
