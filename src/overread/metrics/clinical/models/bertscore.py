"""BERTScore as RadCliQ takes it: distilroberta-base, fifth layer, rescaled, no idf."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from overread.metrics.clinical.models.weights import (
    TRANSFORMER,
    WeightFiles,
    import_package,
    load_transformer,
)
from overread.metrics.sample import Numbers

NAME = "BERTScore"
LAYER = 5
"""The layer whose vectors are compared; bert-score's choice for distilroberta-base."""
BASELINE = 0.8473319
"""F of unrelated English sentences at that layer, published with bert-score 0.3.13."""
LONGEST = 512
"""Word pieces that are read of a text, with the two marks at its ends."""
EMPTY = (0 - BASELINE) / (1 - BASELINE)
"""What an empty text gets: F 0, rescaled."""
WEIGHTS = WeightFiles(NAME, "distilroberta-base", TRANSFORMER, "distilbert/distilroberta-base on the hub")


def greedy_f(reference: Numbers, other: Numbers) -> float:
    """F of two rows of unit vectors, those of the marks at both ends first and last.

    Each word piece is held against the nearest of the other text; the marks can be such a nearest
    one, but are not averaged themselves.

    >>> marks = np.array([[1.0, 0, 0], [0, 1.0, 0], [1.0, 0, 0]])
    >>> greedy_f(marks, marks)
    1.0
    """
    if len(reference) <= 2 or len(other) <= 2:
        return 0.0
    cosines = other @ reference.T
    precision = float(cosines.max(axis=1)[1:-1].mean())
    recall = float(cosines.max(axis=0)[1:-1].mean())
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def rescale(f: float) -> float:
    """F on the scale where unrelated sentences get 0 and equal ones 1.

    >>> rescale(1.0), round(rescale(0.0), 4)
    (1.0, -5.5502)
    """
    return (f - BASELINE) / (1 - BASELINE)


class BertScore:
    """The loaded model."""

    def __init__(self, folder: Path, layer: int = LAYER) -> None:
        """`folder` is in transformers' form."""
        self._torch = import_package("torch", NAME)
        self._words, self._model = load_transformer(folder, "AutoModel", NAME)
        self._layer = layer

    def vectors(self, text: str) -> Numbers:
        """One unit vector a word piece, the marks at both ends among them."""
        torch = self._torch
        clean = re.sub(" +", " ", text).strip()
        # The space before the first word is what bert-score asks of byte-level tokenizers.
        ids = self._words(f" {clean}" if clean else "", truncation=True, max_length=LONGEST)
        rows = torch.tensor([ids["input_ids"]], device=self._model.device)
        with torch.inference_mode():
            told: Any = self._model(rows, attention_mask=torch.ones_like(rows), output_hidden_states=True)
        layer = told.hidden_states[self._layer][0].float().cpu()
        found = np.asarray(layer.tolist(), dtype=np.float64)
        unit: Numbers = found / np.linalg.norm(found, axis=1, keepdims=True)
        return unit

    def score(self, reference: str, other: str) -> float:
        """Rescaled F of two texts; an empty one gives the F of 0."""
        return rescale(greedy_f(self.vectors(reference), self.vectors(other)))


def load_bertscore(models: Path | None = None) -> BertScore:
    """The model from the models' folder; the same object for the same folder."""
    import_package("torch", NAME)
    import_package("transformers", NAME)
    return _load_cached(WEIGHTS.find(models))


@lru_cache(maxsize=1)
def _load_cached(folder: Path) -> BertScore:
    return BertScore(folder)


def bertscore(reference: str, other: str) -> float:
    """BERTScore of two texts by the model of the models' folder, remembered."""
    return _score_cached(reference, other, WEIGHTS.find())


@lru_cache(maxsize=4096)
def _score_cached(reference: str, other: str, folder: Path) -> float:
    return load_bertscore(folder.parent).score(reference, other)
