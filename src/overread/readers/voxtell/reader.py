"""VoxTell: a released model that finds a sentence in a CT, run in an environment of its own.

The weights are looked for on this machine. VoxTell's own Python loads them once, and is asked for all
sentences of a case together, so that the CT goes through its encoder once.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from overread.core import ReleaseRef
from overread.errors import UsageError
from overread.readers.arguments import settings_from
from overread.readers.command.reader import CommandReader, CommandSettings
from overread.readers.voxtell.weights import TEXT_REPOSITORY, find_model, find_text_encoder, weights_digest

_PROGRAM = Path(__file__).with_name("predictor_program.py")


@dataclass(frozen=True)
class VoxTellSettings:
    """The arguments of the reader `voxtell`."""

    model: Path | None = None
    """Folder with plans.json and fold_0; else VOXTELL_MODEL, else the hub's cache."""
    text_encoder: Path | None = None
    """Folder of Qwen3-Embedding-4B; else the hub's cache."""
    embeddings: Path | None = None
    """Sentences with their vectors (.npz), which then need no text encoder."""
    python: Path | None = None
    """The Python of the environment that has `voxtell`; else the one that runs overread."""
    device: Literal["auto", "cuda", "cpu", "mps"] = "auto"
    """Where it computes; 'auto' takes a graphics card where there is one."""
    programs: int = 1
    """How many predictors run at once; each holds the weights."""
    timeout: float = 1800.0
    """Seconds for all sentences of a case."""
    start_timeout: float = 1800.0
    """Seconds for loading the weights."""


def make(arguments: Mapping[str, str], *, place: ReleaseRef | None = None) -> CommandReader:
    """The reader for these arguments; nothing is loaded yet."""
    told = settings_from(VoxTellSettings, arguments)
    model = find_model(told.model)
    encoder = find_text_encoder(told.text_encoder)
    if told.embeddings is not None and not told.embeddings.is_file():
        raise UsageError(f"there is no file {told.embeddings} with embeddings of sentences")
    if encoder is None and told.embeddings is None:
        raise UsageError(
            "VoxTell reads sentences with a text encoder that is not on this machine",
            remedy=f"fetch it (hf download {TEXT_REPOSITORY} --local-dir DIR) and give "
            "--reader-arg text_encoder=DIR, or give embeddings=FILE",
        )
    python = shutil.which(str(told.python)) if told.python else sys.executable
    if python is None:
        raise UsageError(
            f"there is no Python at {told.python}",
            remedy="make an environment (python -m venv DIR; DIR/bin/pip install voxtell) "
            "and give --reader-arg python=DIR/bin/python",
        )
    words = [python, str(_PROGRAM), "--model", str(model), "--device", told.device]
    words += ["--text-encoder", str(encoder)] if encoder else []
    words += ["--embeddings", str(told.embeddings)] if told.embeddings else []
    identity: dict[str, JsonValue] = {
        "model": f"VoxTell {model.name}",
        "weights": weights_digest(model),
        "text encoder": encoder.name if encoder else None,
    }
    if told.embeddings:
        identity["embeddings"] = told.embeddings.name
    settings = CommandSettings(
        command="voxtell",
        stays=True,
        programs=told.programs,
        timeout=told.timeout,
        start_timeout=told.start_timeout,
    )
    # Its Python must not find overread's packages, nor the network.
    environment = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "PYTHONPATH": ""}
    if not told.python:
        environment["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
    return CommandReader("voxtell", words, settings, identity=identity, environment=environment)
