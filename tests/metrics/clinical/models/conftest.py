"""A models' folder for the tests of scoring models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.metrics.clinical.tiny_models import forget_models


@pytest.fixture
def fresh_models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """An own models' folder, nothing remembered, the same random weights every time."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    monkeypatch.setenv("OVERREAD_MODELS", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    forget_models()
    with torch.random.fork_rng():
        torch.manual_seed(7)
        yield tmp_path
