"""CheXbert: BERT with 14 heads; its labels, and the vector that SembScore compares."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from overread.metrics.clinical.chexbert import CLASSES
from overread.metrics.clinical.models.weights import (
    WeightFiles,
    device,
    import_package,
    load_or_refuse,
    load_tensors,
)
from overread.metrics.sample import Numbers

NAME = "CheXbert"
LONGEST = 512
"""Word pieces that are read of a report; the rest is cut, as in the published code."""
WEIGHTS = WeightFiles(
    NAME,
    "chexbert",
    (("chexbert.safetensors", "chexbert.pth"), ("vocab.txt",)),
    "StanfordAIMI/RRG_scorers (chexbert.pth) and bert-base-uncased (vocab.txt) on the hub",
)


class CheXbert:
    """The loaded model. `config.json` in its folder is read where there is one; BERT-base else."""

    def __init__(self, folder: Path) -> None:
        """`folder` holds the weights and bert-base-uncased's `vocab.txt`."""
        self._torch = import_package("torch", NAME)
        transformers = import_package("transformers", NAME)
        words = import_package("tokenizers", NAME)
        self._words = load_or_refuse(
            lambda: words.BertWordPieceTokenizer(str(folder / "vocab.txt"), lowercase=True),
            folder / "vocab.txt",
            NAME,
        )
        self._words.enable_truncation(LONGEST)
        path = next(folder / name for name in WEIGHTS.files[0] if (folder / name).exists())
        state = {name.removeprefix("module."): t for name, t in load_tensors(path, NAME).items()}

        def load() -> tuple[Any, list[tuple[Any, Any]]]:
            known = folder / "config.json"
            config = (
                transformers.BertConfig.from_json_file(known) if known.exists() else transformers.BertConfig()
            )
            with self._torch.random.fork_rng():  # the layers are filled from the file
                bert = transformers.BertModel(config)
            bert.load_state_dict(_strip_prefix("bert.", state))
            heads = [(state[f"{at}.weight"], state[f"{at}.bias"]) for at in _head_names()]
            return bert.eval().to(device(NAME)), heads

        self._bert, self._heads = load_or_refuse(load, path, NAME)

    def read(self, text: str) -> tuple[tuple[int, ...], Numbers]:
        """The 14 labels of a report in CheXbert's encoding, and its CLS vector."""
        torch = self._torch
        ids = self._words.encode(" ".join(text.split())).ids
        with torch.inference_mode():
            rows = torch.tensor([ids], device=self._bert.device)
            first = self._bert(rows, attention_mask=torch.ones_like(rows))[0][0, 0].float().cpu()
            scores = [torch.nn.functional.linear(first, *head) for head in self._heads]
        labels = tuple(int(score.argmax()) for score in scores)
        return labels, np.asarray(first.tolist(), dtype=np.float64)


def load_chexbert(models: Path | None = None) -> CheXbert:
    """CheXbert from the models' folder; the same object for the same folder."""
    import_package("torch", NAME)
    import_package("transformers", NAME)
    return _load_cached(WEIGHTS.find(models))


@lru_cache(maxsize=1)
def _load_cached(folder: Path) -> CheXbert:
    return CheXbert(folder)


def read_chexbert(text: str) -> tuple[tuple[int, ...], Numbers]:
    """Labels and vector of a report by the model of the models' folder, remembered."""
    return _read_cached(text, WEIGHTS.find())


@lru_cache(maxsize=4096)
def _read_cached(text: str, folder: Path) -> tuple[tuple[int, ...], Numbers]:
    return load_chexbert(folder.parent).read(text)


def sembscore(reference: Numbers, other: Numbers) -> float:
    """SembScore: the cosine of two CLS vectors; 0 where one of them is zero.

    >>> sembscore(np.array([1.0, 0.0]), np.array([3.0, 4.0]))
    0.6
    """
    long = float(np.linalg.norm(reference) * np.linalg.norm(other))
    return float(reference @ other) / long if long else 0.0


def _head_names() -> list[str]:
    return [f"linear_heads.{n}" for n in range(len(CLASSES))]


def _strip_prefix(prefix: str, state: Mapping[str, Any]) -> dict[str, Any]:
    """The tensors under a prefix, without the row of numbers that old versions saved with them."""
    found = {n.removeprefix(prefix): t for n, t in state.items() if n.startswith(prefix)}
    found.pop("embeddings.position_ids", None)
    return found
