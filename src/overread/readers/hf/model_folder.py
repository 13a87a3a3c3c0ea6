"""The folder of a local model: checks that it is complete, and computes a digest of its weights.

Done before anything heavy is imported. Nothing is ever downloaded, and weights are taken from
safetensors files only: a pickle can run code.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from overread.errors import UsageError

_INDEX = "model.safetensors.index.json"
_SINGLE = "model.safetensors"
_PICKLES = ("pytorch_model*.bin", "*.pt", "*.pth", "*.ckpt", "model*.bin")
_CONFIG_SUFFIXES = (".json", ".jinja", ".model", ".txt")
_LFS = b"version https://git-lfs"
_LONGEST_HEADER = 100 * 2**20
_SAMPLE_BYTES = 4096
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


@dataclass(frozen=True)
class ModelFolder:
    """A folder with everything that a vision-language model needs."""

    path: Path
    """Where it is."""
    name: str
    """What the model is called: the folder's name, or the hub's where it lies in a hub cache."""
    digest: str
    """Of its configuration, words, template and a sample of every tensor."""
    config: Mapping[str, Any]
    """What stands in config.json."""

    @property
    def kind(self) -> str:
        """The architecture, in the words of transformers."""
        return str(self.config.get("model_type", "unknown"))

    @property
    def dtype(self) -> str | None:
        """The type of number that the weights are meant for, where the folder says."""
        text = self.config.get("text_config")
        for part in (self.config, text if isinstance(text, dict) else {}):
            for word in ("dtype", "torch_dtype"):
                if isinstance(part.get(word), str):
                    return str(part[word]).removeprefix("torch.")
        return None


def open_model_folder(given: str) -> ModelFolder:
    """The model in a folder; a `UsageError` says what is missing there and how to get it."""
    path = Path(given).expanduser()
    if not path.is_dir():
        raise _missing_folder(given, path)
    config = _load_config(path)
    if config.get("quantization_config"):
        raise UsageError(
            "the weights of this model are quantised, and the reader 'hf' takes none such",
            where=str(path),
            remedy="take the model's full weights, or serve it (vLLM, Ollama) and use the reader 'openai'",
        )
    digest = hashlib.sha256()
    for file in sorted(path.iterdir()):
        if file.suffix in _CONFIG_SUFFIXES and file.is_file():
            digest.update(f"{file.name}\0".encode())
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
    for file in _weight_files(path):
        digest.update(f"{file.name}\0{file.stat().st_size}\0".encode())
        digest.update(_weights_digest(file))
    return ModelFolder(path, model_name(path), digest.hexdigest()[:16], config)


def model_name(path: Path) -> str:
    """What a model is called by where it lies.

    >>> model_name(Path("models/medgemma-4b-it"))
    'medgemma-4b-it'
    >>> model_name(Path("hub/models--google--medgemma-4b-it/snapshots/0a1b2c"))
    'google/medgemma-4b-it'
    """
    whole = path.resolve()
    if whole.parent.name == "snapshots" and whole.parents[1].name.startswith("models--"):
        return whole.parents[1].name.removeprefix("models--").replace("--", "/")
    return whole.name


def _missing_folder(given: str, path: Path) -> UsageError:
    what = f"there is no folder with a model at {path}"
    if path.exists():
        what = f"{path} is a file, and a folder with a model was expected"
    hub = given if _HUB_NAME.fullmatch(given) else "ORG/NAME"
    near = hub.rpartition("/")[2] if hub == given else path.name
    return UsageError(
        f"{what}, with config.json and *.safetensors in it",
        where=f"{Path.cwd()}" if not path.is_absolute() else "",
        remedy="nothing is downloaded here; fetch it first with "
        f"`hf download {hub} --local-dir {near}` and give that folder",
    )


def _load_config(path: Path) -> dict[str, Any]:
    file = path / "config.json"
    if not file.is_file():
        adapter = (path / "adapter_config.json").is_file()
        raise UsageError(
            "this folder holds an adapter and no model" if adapter else "there is no config.json",
            where=str(path),
            remedy="merge the adapter into its model and save that"
            if adapter
            else "give the folder that holds the model's config.json and *.safetensors",
        )
    try:
        found = json.loads(file.read_bytes())
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise UsageError("config.json is no JSON object", where=str(path), remedy="fetch it again")
    return found


def _weight_files(path: Path) -> list[Path]:
    """The files with the weights, in the order of their names."""
    if (path / _INDEX).is_file():
        try:
            names = sorted(set(json.loads((path / _INDEX).read_bytes())["weight_map"].values()))
            plain = all(Path(name).name == name for name in names)
        except (ValueError, RecursionError, KeyError, AttributeError, TypeError):
            plain, names = False, []
        if not plain or not names:
            raise UsageError(
                f"{_INDEX} does not name the files of its weights", where=str(path), remedy="fetch it again"
            )
    else:
        names = [_SINGLE]
    missing = [name for name in names if not (path / name).is_file()]
    if not missing:
        return [path / name for name in names]
    if names == [_SINGLE] and any(next(path.glob(word), None) for word in _PICKLES):
        raise UsageError(
            "the weights of this model are pickles, which can run code and are never opened",
            where=str(path),
            remedy="fetch its *.safetensors, or save it once more with safe_serialization=True",
        )
    told = ", ".join(missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
    raise UsageError(f"weights are missing: {told}", where=str(path), remedy="fetch them as well")


def _weights_digest(file: Path) -> bytes:
    """Hash of a weight file's header and of a few bytes out of the middle of every tensor.

    Two models of one architecture have the same header and the same size; training changes every
    tensor it touches nearly everywhere. Reading all of it would take longer than a short run.
    """
    size = file.stat().st_size
    with file.open("rb") as stream:
        first = stream.read(8)
        if (first + stream.read(len(_LFS) - 8)).startswith(_LFS):
            raise UsageError(
                f"{file.name} is a pointer of git-lfs and not the weights",
                where=str(file.parent),
                remedy="run `git lfs pull` there",
            )
        length = int.from_bytes(first, "little")
        stream.seek(8)
        header = stream.read(length) if 0 < length <= min(size - 8, _LONGEST_HEADER) else b""
        spans = _tensor_spans(header)
        if spans is None or (spans and 8 + length + spans[-1][1] != size):
            raise UsageError(
                f"{file.name} is no whole safetensors file",
                where=str(file.parent),
                remedy="its download was cut off, perhaps: fetch it again",
            )
        digest = hashlib.sha256(header)
        for begin, end in spans:
            digest.update(_read_middle(stream, 8 + length + begin, end - begin))
    return digest.digest()


def _tensor_spans(header: bytes) -> list[tuple[int, int]] | None:
    """Where the tensors lie behind the header, in order; None where it is no such header."""
    try:
        told = json.loads(header)
        spans = [
            (int(b), int(e))
            for name, t in told.items()
            if name != "__metadata__"
            for b, e in [t["data_offsets"]]
        ]
    except (ValueError, RecursionError, KeyError, AttributeError, TypeError):
        return None
    return sorted(spans) if all(0 <= begin <= end for begin, end in spans) else None


def _read_middle(stream: BinaryIO, begin: int, length: int) -> bytes:
    stream.seek(begin + max(0, length - _SAMPLE_BYTES) // 2)
    return stream.read(min(length, _SAMPLE_BYTES))
