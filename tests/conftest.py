"""What the tests share: the sketched releases, copies of them to break, the real data."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from overread.phantom.generator import make_population
from overread.phantom.visit import PatientSettings
from tests.made_once import made_once
from tests.sketches.release import write_sketch

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

PATIENTS = (2, 7, 1, 3)
"""Two of the test split, one of train, one of val."""
ILLNESS = PatientSettings(seed=0, mix="illness")
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def once_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all test processes put what is made once for all of them."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if base.name.startswith("popen-") else base) / "once"


@pytest.fixture(scope="session")
def sketch(once_folder: Path) -> Path:
    """A folder with a small intact release of each benchmark; not to be changed."""
    return made_once(once_folder / "sketch", write_sketch)


@pytest.fixture(scope="session")
def patients(once_folder: Path) -> Path:
    """Synthetic patients in all three exams, with their sources; not to be changed."""

    def make(folder: Path) -> None:
        outcome = make_population(folder, PATIENTS, ILLNESS, workers=2)
        assert (outcome.made, outcome.failed) == (len(PATIENTS), {})

    return made_once(once_folder / "patients", make)


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
