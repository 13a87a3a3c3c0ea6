"""A vision-language model on this machine, through transformers: several questions at once.

The model is a folder; nothing is downloaded, no code out of the folder is run, and weights come
from safetensors files only. It is loaded when the first question is asked, in the thread that will
answer it, so that a dry run costs nothing.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import JsonValue

from overread.core import Reader, ReleaseRef, Reply, Request
from overread.errors import MissingPart, OverreadError, ReaderError, UsageError
from overread.readers.arguments import settings_from
from overread.readers.hf.batches import BatchQueue, PendingRequest
from overread.readers.hf.model_folder import ModelFolder, open_model_folder

_DEVICE = re.compile(r"auto|cpu|mps|cuda(?::\d{1,3})?")


@dataclass(frozen=True)
class HFSettings:
    """The arguments of the reader `hf`."""

    model: str
    """Folder with the model: config.json, *.safetensors, its tokenizer and its processor."""
    device: str = "auto"
    """'cpu', 'cuda', 'cuda:1' or 'mps'; 'auto' takes the first accelerator there is."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Type of number to compute in; 'auto' takes the folder's, and float32 on a CPU."""
    batch: int = 8
    """How many questions are answered at once; halved by itself where the memory is too small."""
    wait_ms: int = 50
    """How long to wait for the next question before a batch that is not full is answered."""
    max_new_tokens: int = 1024
    """Longest answer in tokens, thinking included."""
    temperature: float = 0.0
    """How freely it samples; 0 takes the likeliest token always."""
    top_p: float = 1.0
    """Share of the likeliest tokens it samples from."""
    top_k: int = 0
    """How many of the likeliest tokens it samples from; 0 for all."""
    seed: int = 0
    """Of the dice, together with the seed of the run, the case and the sample."""
    max_pixels: int | None = None
    """Larger pictures are scaled down to so many pixels before the model's own processor."""
    trust_remote_code: bool = False
    """Always no: code that comes with a model is never run."""

    def __post_init__(self) -> None:
        """Refuse what cannot be, before anything is loaded."""
        if self.trust_remote_code:
            raise UsageError(
                "code that comes with a model is never run, so 'trust_remote_code' cannot be set",
                remedy="take a model that transformers knows, or serve it and use the reader 'openai'",
            )
        checks = (
            ("model", bool(self.model.strip()), "a folder"),
            ("device", bool(_DEVICE.fullmatch(self.device)), "auto, cpu, cuda, cuda:N or mps"),
            ("batch", 0 < self.batch <= 4096, "from 1 to 4096"),
            ("wait_ms", 0 <= self.wait_ms <= 60_000, "from 0 to 60000"),
            ("max_new_tokens", self.max_new_tokens > 0, "1 or more"),
            ("temperature", self.temperature >= 0, "0 or more"),
            ("top_p", 0 < self.top_p <= 1, "above 0 and at most 1"),
            ("top_k", self.top_k >= 0, "0 or more"),
            ("max_pixels", self.max_pixels is None or self.max_pixels >= 1024, "1024 or more"),
        )
        for name, holds, expected in checks:
            if not holds:
                raise UsageError(f"the reader argument '{name}' must be {expected}")


def make(arguments: Mapping[str, str], *, place: ReleaseRef | None = None) -> Reader:
    """The reader for these arguments; the benchmark makes no difference to it."""
    return HFReader(settings_from(HFSettings, arguments))


class HFReader(Reader):
    """Reads with one model on one device, in batches."""

    name = "hf"
    skills = frozenset(("words", "pictures"))
    cached = True

    def __init__(self, settings: HFSettings) -> None:
        """Look at the folder and the machine; the model itself is loaded later."""
        self.settings = settings
        self.folder = open_model_folder(settings.model)
        for package in ("torch", "transformers"):
            if importlib.util.find_spec(package) is None:
                raise MissingPart(
                    f"the reader 'hf' needs {package}, which is not installed",
                    remedy="pip install 'overread[models]'",
                )
        self.device = choose_device(settings.device)
        self.dtype = choose_dtype(settings.dtype, self.folder, self.device)
        self.seeded = settings.temperature > 0
        self.identity = _identity(settings, self.folder, self.dtype)
        self._model: Any = None
        self._load_error: OverreadError | None = None
        self._batches = BatchQueue(self._answer_batch, most=settings.batch, wait=settings.wait_ms / 1000)

    def __repr__(self) -> str:
        return f"HFReader({self.folder.name!r}, {self.dtype} on {self.device})"

    async def read(self, request: Request) -> Reply:
        """The model's answer, written together with those to other questions that wait."""
        if not request.messages:
            raise ReaderError("the reader 'hf' answers prompts and cannot draw masks")
        return await self._batches.ask(request)

    async def close(self) -> None:
        """Stop what is being written, and give back the memory of the model."""
        await self._batches.close()
        if self._model is not None:
            from overread.readers.hf.loading import free_memory

            self._model = None
            free_memory(self.device)

    def _answer_batch(self, batch: Sequence[PendingRequest]) -> list[Reply | Exception]:
        """Answer a batch, in the worker thread."""
        if self._load_error is not None:
            raise self._load_error
        try:
            if self._model is None:
                self._model = self._load_model()
            return list(self._model.answer_batch(batch))
        except UsageError as error:
            # It would refuse every other question for the same reason.
            self._load_error = error
            raise

    def _load_model(self) -> Any:
        from overread.readers.hf.model import GenerationSettings, LocalModel

        told = self.settings
        manner = GenerationSettings(
            max_new_tokens=told.max_new_tokens,
            temperature=told.temperature,
            top_p=told.top_p,
            top_k=told.top_k,
            seed=told.seed,
            max_pixels=told.max_pixels,
        )
        return LocalModel(self.folder, self.device, self.dtype, manner)


def choose_device(wanted: str) -> str:
    """The device to compute on; a `UsageError` where this machine has none such."""
    import torch

    cards = torch.cuda.device_count() if torch.cuda.is_available() else 0
    apple = torch.backends.mps.is_available()
    if wanted == "auto":
        return "cuda" if cards else "mps" if apple else "cpu"
    there = ["cpu", *(f"cuda:{number}" for number in range(cards)), *(["mps"] if apple else [])]
    if wanted in there or (wanted == "cuda" and cards):
        return wanted
    raise UsageError(
        f"there is no device '{wanted}' that this torch ({torch.__version__}) can compute on",
        remedy=f"there is {', '.join(there)}; give --reader-arg device=auto, or install a torch "
        "that was built for the card",
    )


def choose_dtype(wanted: str, folder: ModelFolder, device: str) -> str:
    """The type of number to compute in."""
    import torch

    if wanted != "auto":
        return wanted
    if device == "cpu":
        return "float32"
    told = folder.dtype if folder.dtype in ("float32", "bfloat16", "float16") else "bfloat16"
    if told == "bfloat16" and device.startswith("cuda") and not torch.cuda.is_bf16_supported():
        return "float16"
    return str(told)


def _identity(settings: HFSettings, folder: ModelFolder, dtype: str) -> dict[str, JsonValue]:
    """What changes the answers: not where the folder lies, nor how many are read at once."""
    told: dict[str, JsonValue] = {
        "reader": "hf",
        "model": folder.name,
        "weights": folder.digest,
        "dtype": dtype,
        "max_new_tokens": settings.max_new_tokens,
        "max_pixels": settings.max_pixels,
        "temperature": settings.temperature,
    }
    if settings.temperature:
        told |= {"top_p": settings.top_p, "top_k": settings.top_k, "seed": settings.seed}
    return told
