"""Bringing a model from its folder into memory; what is in the way of that, as a sentence."""

from __future__ import annotations

import gc
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from overread.errors import UsageError
from overread.readers.hf.model_folder import ModelFolder


def load_processor(folder: ModelFolder) -> Any:
    """What turns words and pictures into numbers for the model."""
    from transformers import AutoProcessor

    try:
        found = AutoProcessor.from_pretrained(
            str(folder.path), local_files_only=True, trust_remote_code=False
        )
    except Exception as error:
        raise _load_error(folder, "processor", error) from None
    if getattr(found, "tokenizer", None) is None or not hasattr(found, "image_processor"):
        raise UsageError(
            f"a model of the kind '{folder.kind}' reads no pictures",
            where=str(folder.path),
            remedy="give a vision-language model",
        )
    return found


def load_model(folder: ModelFolder, device: str, dtype: str) -> Any:
    """The model itself, on its device."""
    import torch
    import transformers

    # Straight onto the device where that is possible: a large model may not fit beside it.
    direct = importlib.util.find_spec("accelerate") is not None and device != "cpu"
    try:
        model, told = transformers.AutoModelForImageTextToText.from_pretrained(
            str(folder.path),
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            dtype=getattr(torch, dtype),
            output_loading_info=True,
            **({"device_map": {"": device}} if direct else {}),
        )
        missing = sorted(told["missing_keys"])
        model = (model if direct else model.to(device)).eval()
    except Exception as error:
        raise _load_error(folder, "model", error) from None
    if missing:
        raise UsageError(
            f"the weights lack {len(missing)} tensors that the model needs ('{missing[0]}' first)",
            where=str(folder.path),
            remedy="fetch the weights that belong to its config.json; if they do, another "
            f"transformers than {transformers.__version__} may know them by these names",
        )
    return model


def _load_error(folder: ModelFolder, part: str, error: Exception) -> UsageError:
    import torch
    import transformers

    where, text = str(folder.path), str(error)
    if isinstance(error, torch.OutOfMemoryError | MemoryError) or "out of memory" in text:
        return UsageError(
            "the model is larger than the memory of the device",
            where=where,
            remedy="give --reader-arg dtype=bfloat16 or another device, or serve the model on "
            "several and use the reader 'openai'",
        )
    if "trust_remote_code" in text or "auto_map" in text:
        return UsageError(
            f"the {part} comes with code of its own, which is never run",
            where=where,
            remedy="take a model that transformers knows, or serve it and use the reader 'openai'",
        )
    if isinstance(error, ImportError):
        return UsageError(
            f"the {part} needs a package that is not installed ({first_line(text)})",
            where=where,
            remedy="install it beside torch; most processors of pictures need torchvision",
        )
    return UsageError(
        f"transformers {transformers.__version__} cannot load the {part} of a model of the kind "
        f"'{folder.kind}' ({type(error).__name__}: {first_line(text)})",
        where=where,
        remedy="it must be a whole vision-language model; a newer transformers may know it",
    )


def first_line(text: str) -> str:
    """The first line of an error that has words in it, not too long."""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "no words")
    return first if len(first) <= 200 else f"{first[:199]}…"


@contextmanager
def silence_transformers() -> Iterator[None]:
    """Keep transformers from talking into the progress of a run."""
    from transformers.utils import logging

    before, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(logging.CRITICAL)
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        if bars:
            logging.enable_progress_bar()


def free_memory(device: str) -> None:
    """Give back what memory of a device is not in use."""
    import torch

    gc.collect()
    if device.startswith("cuda"):
        torch.cuda.empty_cache()
    elif device.startswith("mps"):
        torch.mps.empty_cache()
