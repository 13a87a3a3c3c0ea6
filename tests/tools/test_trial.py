"""The trials with other people's programs: environments that are whole or made again."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools.works_with.trial import Trial, ensure_environment


def test_an_environment_that_broke_off_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python alone is no program: pip is asked again until it has ended well once."""
    asked: list[list[str]] = []
    ends = iter([1, 0])

    def install(command: list[str], **_: object) -> None:
        asked.append(command)
        if next(ends):
            raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr(subprocess, "run", install)
    python = tmp_path / "venv/bin/python"
    python.parent.mkdir(parents=True)
    python.touch()
    trial = Trial("none", ("program",), prepare=lambda _: None, job=lambda _: {})
    with pytest.raises(subprocess.CalledProcessError):
        ensure_environment(tmp_path / "venv", trial)
    for _ in range(2):
        assert ensure_environment(tmp_path / "venv", trial) == python
    assert [command[-1] for command in asked] == ["program", "program"]
