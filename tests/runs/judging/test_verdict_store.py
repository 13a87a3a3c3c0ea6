"""The file of a run's verdicts: its two names, torn lines, one writer at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from overread.core.verdicts import StepVerdict, StepVerdicts
from overread.errors import UsageError
from overread.runs.judging.verdict_store import (
    OLD_VERDICTS_FILE,
    VERDICTS_FILE,
    VerdictStore,
    load_verdicts,
    select_verdicts,
)


def verdicts(case: str) -> StepVerdicts:
    steps = (StepVerdict(text="A mass.", factual=True),)
    return StepVerdicts(case_id=case, judge="owl", about="", rule="r", steps=steps)


def judge(folder: Path, *cases: str) -> None:
    with VerdictStore(folder) as store:
        for case in cases:
            store.append(verdicts(case))


def test_a_new_run_has_the_new_name(tmp_path: Path) -> None:
    """What judges say has a name of its own."""
    judge(tmp_path, "a")
    assert [path.name for path in tmp_path.iterdir()] == [VERDICTS_FILE] == ["judge_verdicts.jsonl"]


def test_a_run_judged_before_goes_on_in_its_file(tmp_path: Path) -> None:
    """The old name is read and added to, so that all verdicts of a run stand in one file."""
    judge(tmp_path, "a")
    old = (tmp_path / VERDICTS_FILE).rename(tmp_path / OLD_VERDICTS_FILE)
    judge(tmp_path, "b")
    assert old.read_bytes().count(b"\n") == 2
    assert not (tmp_path / VERDICTS_FILE).exists()
    assert set(select_verdicts(tmp_path)[0]) == {"a", "b"}


def test_two_files_with_half_the_verdicts_each_are_refused(tmp_path: Path) -> None:
    """Whoever mixed two folders is told, wherever the verdicts are asked for."""
    judge(tmp_path, "a")
    (tmp_path / OLD_VERDICTS_FILE).write_bytes((tmp_path / VERDICTS_FILE).read_bytes())
    for act in (load_verdicts, VerdictStore):
        with pytest.raises(UsageError, match=r"both judge_verdicts\.jsonl and verdicts\.jsonl"):
            act(tmp_path)


def test_a_torn_line_stays_and_is_not_believed(tmp_path: Path) -> None:
    """It gets an end of its own; the bytes that were there stay."""
    judge(tmp_path, "a", "b")
    file = tmp_path / VERDICTS_FILE
    torn = file.read_bytes()[:-9]
    file.write_bytes(torn)
    judge(tmp_path, "c")
    assert file.read_bytes().startswith(torn + b"\n{")
    assert [key[1] for key in load_verdicts(tmp_path)] == ["a", "c"]


def test_two_cannot_judge_one_run(tmp_path: Path) -> None:
    """The second is refused; afterwards the file is free."""
    with VerdictStore(tmp_path), pytest.raises(UsageError, match="another process is judging"):
        VerdictStore(tmp_path)
    judge(tmp_path, "a")
