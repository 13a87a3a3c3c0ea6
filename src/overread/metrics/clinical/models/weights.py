"""Finds and loads model weights: nothing is downloaded, and no code from weight files is executed.

Each model has a folder of its own name under the models' folder: the one that is given, or
OVERREAD_MODELS, or `models` in the cache folder (`storage/cache_folder.py`). Weights are read as
safetensors or with `torch.load(weights_only=True)`; files with anything else are refused.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from overread.errors import MissingPart, UsageError
from overread.storage.cache_folder import cache_folder
from overread.storage.system import home_folder

ENVIRONMENT = "OVERREAD_MODELS"
INSTALL = "pip install 'overread[models]'"
TRANSFORMER = (
    ("config.json",),
    ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
     "pytorch_model.bin.index.json"),
    ("tokenizer.json", "vocab.txt", "vocab.json", "tokenizer.model", "spm.model"),
)  # fmt: skip
"""The files of a saved transformer: of each line, one must be there."""

Made = TypeVar("Made")


@dataclass(frozen=True)
class WeightFiles:
    """One set of weights that a model needs."""

    model: str
    """What the model is called."""
    folder: str
    """Its folder under the models' folder."""
    files: tuple[tuple[str, ...], ...]
    """Files that are expected; of each line, one is enough."""
    source: str
    """Where they can be had."""

    def find(self, models: Path | None = None) -> Path:
        """The folder with these weights; raises `MissingPart` where a file is not there."""
        folder = models_folder(models) / self.folder
        lacking = self._missing_files(folder)
        # Where they were looked for before, whatever the cache folder was.
        old = Path(home_folder() or "", ".cache", "overread", "models", self.folder)
        named = models is not None or os.environ.get(ENVIRONMENT)
        if lacking and not named and not self._missing_files(old):
            return old
        if lacking:
            files = ", ".join(" or ".join(names) for names in lacking)
            raise MissingPart(
                f"the weights of {self.model} were not found",
                where=str(folder),
                remedy=f"put {files} from {self.source} there, or name the folder that holds "
                f"'{self.folder}' in {ENVIRONMENT}",
            )
        return folder

    def _missing_files(self, folder: Path) -> list[tuple[str, ...]]:
        return [names for names in self.files if not any((folder / name).exists() for name in names)]


def models_folder(models: Path | None = None) -> Path:
    """The folder that holds the folders of all models."""
    named = os.environ.get(ENVIRONMENT)
    if models is not None:
        return models
    return Path(named) if named else cache_folder() / "models"


def import_package(name: str, model: str, install: str = INSTALL) -> Any:
    """An optional package, imported now; raises `MissingPart` where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        root = name.partition(".")[0]
        raise MissingPart(f"{model} needs the package {root} ({error})", remedy=install) from error


def load_tensors(path: Path, model: str) -> dict[str, Any]:
    """The tensors of a weights file by name; a file that holds more than data is refused."""

    def load() -> Any:
        if path.suffix == ".safetensors":
            return import_package("safetensors.torch", model).load_file(path)
        return import_package("torch", model).load(path, map_location="cpu", weights_only=True)

    found = load_or_refuse(load, path, model)
    inner = found.get("model_state_dict", found) if isinstance(found, dict) else None
    if not isinstance(inner, dict):
        raise UsageError(f"this is not a weights file of {model}", where=str(path))
    return inner


def load_or_refuse(load: Callable[[], Made], path: Path, model: str) -> Made:
    """Call `load`; any exception becomes one `UsageError` that names the file."""
    try:
        return load()
    except MissingPart:
        raise
    except Exception as error:
        first = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise UsageError(
            f"the weights of {model} cannot be loaded ({first[:200]})",
            where=str(path),
            remedy="download them again; files that contain anything but tensors are refused",
        ) from error


def load_transformer(folder: Path, kind: str, model: str) -> tuple[Any, Any]:
    """Tokenizer and model of a folder in transformers' form, ready to read on the best device.

    `kind` is a class of transformers ("AutoModel"). Nothing is downloaded, no code of the folder
    is run.
    """
    transformers = import_package("transformers", model)
    torch = import_package("torch", model)
    safe = {"local_files_only": True, "trust_remote_code": False}

    def load() -> tuple[Any, Any]:
        words = transformers.AutoTokenizer.from_pretrained(folder, **safe)
        with torch.random.fork_rng():  # fresh layers are drawn from a copy of the random state
            made = getattr(transformers, kind).from_pretrained(
                folder, dtype="auto", weights_only=True, **safe
            )
        return words, made.eval().to(device(model))

    return load_or_refuse(load, folder, model)


def device(model: str) -> str:
    """Where a model runs: on a graphics card where there is one."""
    return "cuda" if import_package("torch", model).cuda.is_available() else "cpu"
