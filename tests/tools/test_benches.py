"""The tools of `make bench` still fit what they measure; how fast anything is, is not asked here."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"


def tool(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(TOOLS))
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(__import__("sys").modules, name, module)
    spec.loader.exec_module(module)
    return module


def test_words_are_measured_and_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole run over report metrics finds them, and gives seconds and bytes."""
    bench = tool("bench_words", monkeypatch)
    measured, drawn, size = bench.whole(bench.phantom_pairs(3, 12))
    assert min(measured, drawn) > 0
    assert size > 100


@pytest.mark.parametrize("name", ["bench_masks", "bench_surfaces", "bench_grading"])
def test_the_other_tools_can_be_loaded(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """What they import is still there."""
    assert callable(tool(name, monkeypatch).main)
