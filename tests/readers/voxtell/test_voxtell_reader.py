"""The reader `voxtell` as far as it goes without its package: weights are found, what lacks is told.

With the package itself it is tried by tools/works_with/try_voxtell.py.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from overread.core import ReleaseRef, Request, make_reader
from overread.errors import Unavailable, UsageError
from overread.readers.voxtell.weights import find_model, find_text_encoder


@pytest.fixture(autouse=True)
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the hub, and nothing named by variables."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.delenv("VOXTELL_MODEL", raising=False)
    return tmp_path / "hub"


def write_weights(folder: Path) -> Path:
    """A folder as VoxTell's is laid out."""
    (folder / "fold_0").mkdir(parents=True)
    (folder / "plans.json").write_text("{}")
    (folder / "fold_0/checkpoint_final.pth").write_bytes(b"weights")
    return folder


def arguments(folder: Path) -> dict[str, str]:
    """What the reader needs, all of it there."""
    model = write_weights(folder / "voxtell_v1.1")
    (folder / "bank.npz").write_bytes(b"")
    return {"model": str(model), "embeddings": str(folder / "bank.npz")}


def test_weights_are_found_where_they_are_named_or_in_the_cache(
    tmp_path: Path, hub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The argument wins over the variable, and that over the hub's cache."""
    cached = write_weights(hub / "models--mrokuss--VoxTell/snapshots/0a1b/voxtell_v1.1")
    assert find_model(None) == cached
    named = write_weights(tmp_path / "named")
    monkeypatch.setenv("VOXTELL_MODEL", str(named))
    assert find_model(None) == named
    given = write_weights(tmp_path / "given")
    assert find_model(given) == given
    assert find_text_encoder(None) is None
    encoder = hub / "models--Qwen--Qwen3-Embedding-4B/snapshots/77"
    encoder.mkdir(parents=True)
    (encoder / "config.json").write_text("{}")
    assert find_text_encoder(None) == encoder


def test_what_is_not_there_is_told_with_what_to_fetch(tmp_path: Path) -> None:
    """Weights, a half folder, the text encoder, embeddings, the environment."""
    with pytest.raises(UsageError, match=r"weights are not on this machine.*hf download mrokuss/VoxTell"):
        make_reader("voxtell", {}, None)
    (tmp_path / "half").mkdir()
    with pytest.raises(UsageError, match=r"there is no plans\.json"):
        make_reader("voxtell", {"model": str(tmp_path / "half")}, None)
    full = arguments(tmp_path)
    with pytest.raises(UsageError, match=r"text encoder that is not on this machine.*Qwen3-Embedding-4B"):
        make_reader("voxtell", {"model": full["model"]}, None)
    with pytest.raises(UsageError, match=r"no file .*gone"):
        make_reader("voxtell", {**full, "embeddings": str(tmp_path / "gone.npz")}, None)
    with pytest.raises(UsageError, match=r"no Python at .*nowhere.*pip install voxtell"):
        make_reader("voxtell", {**full, "python": str(tmp_path / "nowhere")}, None)


def test_other_weights_are_another_reader(tmp_path: Path) -> None:
    """A run does not go on with weights that were trained further."""
    full = arguments(tmp_path)
    before = make_reader("voxtell", full, None).identity
    Path(full["model"], "fold_0/checkpoint_final.pth").write_bytes(b"weightz")
    assert make_reader("voxtell", full, None).identity != before


def test_a_python_without_the_package_is_told_in_one_sentence(sketch: Path, tmp_path: Path) -> None:
    """The program is really started, by a Python that has no VoxTell."""
    release = ReleaseRef("rexgroundingct", sketch / "rexgroundingct", "test").open()
    case = next(iter(release))
    request = Request(task="ground", case=case, pictures=release.pictures, query=case.queries[0])

    async def asked() -> None:
        reader = make_reader("voxtell", {**arguments(tmp_path), "python": "python3"}, None)
        try:
            await reader.read(request)
        finally:
            await reader.close()

    with pytest.raises(Unavailable, match=r"before it was ready: .*(No module named|Error)"):
        asyncio.run(asked())
