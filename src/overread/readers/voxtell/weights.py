"""Where VoxTell's weights lie on this machine: where they are named, else in the hub's cache.

Nothing is downloaded.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from overread.errors import UsageError
from overread.storage.system import home_folder

MODEL = "voxtell_v1.1"
MODEL_REPOSITORY = "mrokuss/VoxTell"
TEXT_REPOSITORY = "Qwen/Qwen3-Embedding-4B"
_ENDS = 1 << 20
"""Bytes at the beginning and the end of a file of weights that tell it from another."""


def find_model(given: Path | None) -> Path:
    """The folder with plans.json and fold_0/checkpoint_final.pth."""
    named = given or (Path(os.environ["VOXTELL_MODEL"]) if os.environ.get("VOXTELL_MODEL") else None)
    folder = named or _newest_snapshot(MODEL_REPOSITORY, f"{MODEL}/plans.json", MODEL)
    if folder is None:
        raise UsageError(
            "VoxTell's weights are not on this machine: neither the reader argument 'model' nor "
            f"VOXTELL_MODEL names them, and the hub's cache ({_hub_cache()}) has none",
            remedy=f"fetch them (hf download {MODEL_REPOSITORY} --include '{MODEL}/*' --local-dir DIR) "
            f"and give --reader-arg model=DIR/{MODEL}",
        )
    for file in ("plans.json", "fold_0/checkpoint_final.pth"):
        if not (folder / file).is_file():
            raise UsageError(
                f"there is no {file}",
                where=str(folder),
                remedy="name the folder that holds plans.json and fold_0",
            )
    return folder


def find_text_encoder(given: Path | None) -> Path | None:
    """The folder of the model that reads the sentences; None where there is none."""
    if given is not None:
        if not (given / "config.json").is_file():
            raise UsageError(
                "there is no config.json", where=str(given), remedy=f"name a copy of {TEXT_REPOSITORY}"
            )
        return given
    return _newest_snapshot(TEXT_REPOSITORY, "config.json", "")


def weights_digest(folder: Path) -> str:
    """What tells one folder of weights from another, without reading gigabytes."""
    digest = hashlib.sha256((folder / "plans.json").read_bytes())
    file = folder / "fold_0/checkpoint_final.pth"
    size = file.stat().st_size
    digest.update(f"{size}".encode())
    with file.open("rb") as stream:
        digest.update(stream.read(_ENDS))
        stream.seek(max(0, size - _ENDS))
        digest.update(stream.read(_ENDS))
    return digest.hexdigest()[:16]


def _newest_snapshot(repository: str, file: str, inner: str) -> Path | None:
    """A folder of the hub's cache that has the file; the one that was fetched last."""
    snapshots = _hub_cache() / f"models--{repository.replace('/', '--')}" / "snapshots"
    found = [one for one in snapshots.glob("*") if (one / file).is_file()]
    return max(found, key=lambda one: one.stat().st_mtime) / inner if found else None


def _hub_cache() -> Path:
    """Where the hub's own tools keep what they fetched."""
    if os.environ.get("HF_HUB_CACHE"):
        return Path(os.environ["HF_HUB_CACHE"])
    home = os.environ.get("HF_HOME")
    return Path(home) / "hub" if home else (home_folder() or Path()) / ".cache" / "huggingface" / "hub"
