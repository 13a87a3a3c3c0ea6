"""Going on: the same folder takes the same run, larger perhaps, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from overread.core import Case, Reading, Request
from overread.errors import UsageError
from overread.prompts.replies import letter_parser
from overread.runs.engine import RunOutcome, RunPlan, run
from overread.runs.estimate import estimate
from overread.runs.spec import read_spec
from overread.runs.store import last_readings
from overread.session import ParsedReply, Session, SessionSettings
from tests.runs.fake_readers import ANSWER, Echo, plain
from tests.runs.medthinkvqa_cases import write_cases


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A release of twelve cases."""
    return write_cases(tmp_path / "release", 12)


def ran(root: Path, reader: Any, **more: Any) -> RunOutcome:
    """A run into the folder `run` beside the release."""
    told = {"workflow": plain, "cache": root.parent / "replies.sqlite", **more}
    return run(RunPlan("medthinkvqa", root, reader, **told), root.parent / "run")


def lines(root: Path) -> list[dict[str, Any]]:
    """The lines of that run."""
    text = (root.parent / "run" / "readings.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def identity(**more: Any) -> Mapping[str, Any]:
    return {"model": "echo", "endpoint": "here", **more}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"seed": 5}, "seed is 5 and was 0"),
        ({"repeat": 1}, "repeat is 1 and was 2"),
        ({"limit": 2}, "limit is 2 and was 4"),
        ({"cases": ("case1",)}, "only 1 named cases were asked for and it was all cases"),
        ({"reader": Echo(identity=identity(model="other"))}, 'reader.identity.model is "other"'),
        (
            {"reader": Echo(identity=identity(temperature=0.5))},
            "reader.identity.temperature is 0.5 and was absent",
        ),
    ],
)
def test_another_setting_in_the_same_folder_is_refused(root: Path, change: dict[str, Any], told: str) -> None:
    """What differs is named, with what to do, and nothing is written."""
    ran(root, Echo(), limit=4, repeat=2)
    before = lines(root)
    changed = {"reader": Echo(), "limit": 4, "repeat": 2, **change}
    with pytest.raises(UsageError, match="choose another --out") as caught:
        ran(root, **changed)
    assert told in str(caught.value)
    assert lines(root) == before


def test_a_run_may_grow(root: Path) -> None:
    """More cases and more samples are read into the same folder; nothing is read twice."""
    reader = Echo()
    ran(root, reader, limit=4)
    ran(root, reader, limit=6, repeat=2)
    ran(root, reader, repeat=2)
    assert len(lines(root)) == 24
    assert len(reader.asked) == 24
    assert read_spec(root.parent / "run").limit is None


def test_a_reworded_prompt_is_refused(root: Path) -> None:
    """A run whose prompt has another wording by now does not go on."""
    folder = root.parent / "prompts"
    folder.mkdir()
    (folder / "mine.md").write_text("What for\n---\nSay {{what}}.\n")
    settings = SessionSettings(prompts=str(folder))

    async def asks(case: Case, session: Session) -> Reading:
        said = await session.ask("mine", {"what": case.id}, ParsedReply, task="say")
        return session.reading(rationale=said)

    ran(root, Echo(), workflow=asks, settings=settings, limit=1)
    assert list(read_spec(root.parent / "run").prompts) == ["mine"]
    ran(root, Echo(), workflow=asks, settings=settings, limit=2)
    (folder / "mine.md").write_text("What for\n---\nShout {{what}}.\n")
    with pytest.raises(UsageError, match="the prompt 'mine' is"):
        ran(root, Echo(), workflow=asks, settings=settings, limit=3)


def test_a_folder_of_something_else_is_left_alone(root: Path) -> None:
    """A folder with other files, or with readings of nobody, is refused."""
    folder = root.parent / "run"
    folder.mkdir()
    (folder / "thesis.docx").touch()
    with pytest.raises(UsageError, match="not empty and is not a run"):
        ran(root, Echo())
    assert [path.name for path in folder.iterdir()] == ["thesis.docx"]
    (folder / "thesis.docx").unlink()
    (folder / "readings.jsonl").write_text("{}\n")
    with pytest.raises(UsageError, match=r"no spec\.json"):
        ran(root, Echo())


async def twice(case: Case, session: Session) -> Reading:
    """Two questions, a letter each."""
    said = []
    for turn in ("first", "second"):
        values = {"history": f"{turn}: {case.history}", "options": str(case.options)}
        said.append(await session.ask("choose", values, letter_parser(case.options), task="choose"))
    return session.reading(choice=said[-1])


def test_a_known_answer_of_no_use_is_asked_for_again(root: Path) -> None:
    """--retry-failed asks what was answered badly, and nothing that was answered well."""
    bad = {"case2"}

    def answer(request: Request) -> str:
        second = "second" in str(request.messages)
        return "no idea" if request.case.id in bad and second else ANSWER

    told: dict[str, Any] = {"workflow": twice, "cache": root.parent / "replies.sqlite", "limit": 4}
    outcome = ran(root, Echo(answer), **told)
    assert outcome.tally.failed == 1
    plan = RunPlan("medthinkvqa", root, Echo(answer), retry_failed=True, **told)
    guessed = estimate(plan, root.parent / "run")
    assert (guessed.readings, guessed.calls, guessed.cached) == (1, 1, 1)
    still = Echo(answer)
    assert ran(root, still, retry_failed=True, **told).tally.failed == 1
    assert len(still.asked) == 2  # the question, and the repair
    bad.clear()
    reader = Echo(answer)
    again = ran(root, reader, retry_failed=True, **told)
    assert (again.tally.failed, len(reader.asked), again.tally.spent.cached) == (0, 1, 1)
    assert last_readings(root.parent / "run")["case2", 0].choice == "B"
    # The better answer took the place of the old one.
    other = Echo(answer)
    outcome = run(RunPlan("medthinkvqa", root, other, **told), root.parent / "other")
    assert (outcome.tally.failed, other.asked) == (0, [])
