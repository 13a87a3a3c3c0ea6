"""Lets builds of torchvision and torchaudio for GPUs be imported beside a torch for CPUs.

PyPI has them for GPUs only. What is written in Python works beside any torch; what is compiled (a
few operators on boxes, decoding of pictures and sound) does not, and no trial needs it.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_KEPT: list[Any] = []


def allow_gpu_builds() -> None:
    """To be called before the program is imported; does nothing beside a torch for GPUs."""
    import torch

    if torch.version.cuda is not None or _KEPT:
        return
    names = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):  # torchvision describes these two when it is imported
        names.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _KEPT.append(names)
    if importlib.util.find_spec("torchaudio") is not None:
        silent = ModuleType("torchaudio")
        silent.__spec__ = ModuleSpec("torchaudio", None)
        sys.modules["torchaudio"] = silent
