"""`overread sweep` as a process of its own: its table, its JSON, its files, what it refuses."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.runs.ablation_cases import pictured
from tests.runs.processes import commanded, logged, served


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three cases of four pictures."""
    return pictured(tmp_path_factory.mktemp("swept") / "release", 3, 4)


def swept(root: Path, out: Path, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    told = ["sweep", "medthinkvqa", str(root), "--reader", "random", "--out", str(out)]
    return commanded(*told, "--draws", "50", *words, code=code)


def test_a_sweep_prints_a_table_and_leaves_its_files(root: Path, tmp_path: Path) -> None:
    """One line a point, the differences, and where everything is; again, nothing is read."""
    words = ("--vary", "image_ratio=0,50,100", "--metric", "accuracy")
    first = swept(root, tmp_path / "out", *words)
    assert "3 of 3 points" in first.stdout
    assert "against the first" in first.stdout
    assert first.stderr == ""  # no bar where nobody watches
    lines = [line.split() for line in first.stdout.splitlines()]
    assert [line[0] for line in lines if line and line[0].isdigit()] == ["0", "50", "100"]
    found = {path.name for path in (tmp_path / "out").iterdir()}
    assert found == {
        "sweep.json", "sweep.csv", "sweep.svg", "sweep.png",
        "image_ratio=0", "image_ratio=50", "image_ratio=100",
    }  # fmt: skip
    again = json.loads(swept(root, tmp_path / "out", *words, "--json").stdout)
    assert again["complete"] is True
    assert [point["readings"] for point in again["points"]] == [3, 3, 3]
    assert again["axes"] == {"image_ratio": ["0", "50", "100"]}


def test_points_without_the_part_say_so(root: Path, tmp_path: Path) -> None:
    """A metric that no point can be scored by ends nothing; what was read is kept."""
    words = ("--vary", "image_ratio=0,100", "--metric", "findings_rougeL")
    told = swept(root, tmp_path / "out", *words).stdout
    assert "2 of 2 points" in told
    assert "findings_rougeL not scored: no prediction holds findings" in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--vary", "image_ratoi=1"), "did you mean 'image_ratio'"),
        (("--vary", "image_ratio=1,2", "--setting", "image_ratio=5"), "both set and varied"),
        (("--vary", "shuffle=none,options"), "--repeat 2"),
        (("--vary", "image_ratio=0,200"), "0 to 100"),
        (("--vary", "image_ratio"), "lacks its '='"),
    ],
)
def test_mistakes_are_one_sentence(root: Path, tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    """Exit code 2, the nearest name, and no folder."""
    done = swept(root, tmp_path / "out", *words, code=2)
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_model_is_swept_over_two_axes_and_replies_are_shared(root: Path, tmp_path: Path) -> None:
    """Dry run first; then every point is asked once, and a second sweep asks only what is new."""
    log = tmp_path / "log.jsonl"
    with served("--log", str(log)) as url:
        base = [
            "sweep", "medthinkvqa", str(root), "--reader", "openai",
            "--reader-arg", f"base_url={url}", "--reader-arg", "model=m",
            "--cache", str(tmp_path / "replies.sqlite"), "--draws", "20",
        ]  # fmt: skip
        two = [*base, "--vary", "image_ratio=0,100", "--vary", "reasoning_effort=low,high"]
        told = json.loads(commanded(*two, "--out", tmp_path / "a", "--dry-run", "--json").stdout)
        assert [point["pictures"] for point in told["points"]] == [0, 0, 12, 12]
        assert told["total"]["calls"] == 12
        assert not log.exists() or not logged(log)
        table = commanded(*two, "--out", tmp_path / "a", "--dry-run").stdout
        assert "what these 4 points would take" in table
        assert not (tmp_path / "a").exists()
        commanded(*two, "--out", tmp_path / "a")
        asked = [row for row in logged(log) if row["what"] == "came"]
        assert len({row["key"] for row in asked}) == len(asked) == 12
        more = [*base, "--vary", "image_ratio=0,100", "--vary", "reasoning_effort=low,medium"]
        commanded(*more, "--out", tmp_path / "b")
        assert len([row for row in logged(log) if row["what"] == "came"]) == 12 + 6
    svg = (tmp_path / "a" / "sweep.svg").read_text()
    assert "reasoning_effort low" in svg
    assert "reasoning_effort high" in svg
    assert "not for patient care" in svg
