"""What the tests share: the sketched releases, copies of them to break, the real data."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from overread.phantom.sketch import write_sketch

# Derandomised: a failure here is a failure everywhere, and CI does not roll dice.
settings.register_profile(
    "house",
    derandomize=True,
    deadline=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("house")

# Who starts the tests in the background has Ctrl-C ignored, and every program below inherits that:
# those that a test stops with it would never end.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def sketch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small intact release of each benchmark; not to be changed."""
    folder = tmp_path_factory.mktemp("sketch")
    write_sketch(folder)
    return folder


@pytest.fixture
def copy(sketch: Path, tmp_path: Path) -> Callable[[str], Path]:
    """A copy of one benchmark's release, to be broken at will."""

    def make(benchmark: str) -> Path:
        target = tmp_path / benchmark
        if target.exists():
            shutil.rmtree(target)
        shutil.copytree(sketch / benchmark, target)
        return target

    return make


@pytest.fixture
def shared() -> Path:
    """The real data beside the checkout."""
    if not SHARED.is_dir():
        pytest.skip("no real data beside this checkout (../shared/data)")
    return SHARED


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Rows of a jsonl file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write_rows(path: Path, rows: list[Any]) -> None:
    """Rows as a jsonl file."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@pytest.fixture
def fresh_models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """An own models' folder, nothing remembered, the same random weights every time."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    monkeypatch.setenv("OVERREAD_MODELS", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    from tests.metrics.clinical.tiny_models import forget_models

    forget_models()
    with torch.random.fork_rng():
        torch.manual_seed(7)
        yield tmp_path
