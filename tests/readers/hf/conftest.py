"""What the tests of the reader `hf` share: models that were never trained, and no network."""

from __future__ import annotations

import importlib.util
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.readers.hf.tiny_vlm import Kind, make_model


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Kind], Path]:
    """Makes each kind of model once; not to be changed."""
    made: dict[Kind, Path] = {}

    def model(kind: Kind) -> Path:
        if kind == "qwen3_vl" and importlib.util.find_spec("torchvision") is None:
            pytest.skip("the processor of Qwen3-VL needs torchvision")
        if kind not in made:
            made[kind] = make_model(tmp_path_factory.mktemp("models") / kind, kind)
        return made[kind]

    return model


@pytest.fixture
def model(models: Callable[[Kind], Path]) -> Path:
    """The model that most tests read with; not to be changed."""
    return models("gemma3")


@pytest.fixture
def changed(model: Path, tmp_path: Path) -> Path:
    """A copy of it, to be broken."""
    return Path(shutil.copytree(model, tmp_path / "changed"))


@pytest.fixture
def nobody_outside(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Any attempt to reach another machine fails the test."""
    tried: list[object] = []

    def refuse(self: socket.socket, address: object) -> None:
        tried.append(address)
        raise OSError("no network in tests")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    yield
    assert not tried
