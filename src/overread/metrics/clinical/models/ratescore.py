"""RaTEScore's two models: one that names the entities of a report, one that gives them vectors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from overread.language.text import split_sentences
from overread.metrics.clinical import ratescore as arithmetic
from overread.metrics.clinical.models.weights import (
    TRANSFORMER,
    WeightFiles,
    import_package,
    load_transformer,
)
from overread.metrics.sample import Numbers

NAME = "RaTEScore"
LONGEST, LONGEST_ENTITY = 512, 30
"""Word pieces that are read of a sentence, and of an entity."""
ENTITIES = WeightFiles(NAME, "ratescore/ner", TRANSFORMER, "Angelakeke/RaTE-NER-Deberta on the hub")
ENCODER = WeightFiles(NAME, "ratescore/encoder", TRANSFORMER, "FremyCompany/BioLORD-2023-C on the hub")


def find_spans(labels: Sequence[str]) -> list[tuple[int, int, str]]:
    """Entities in a row of labels: first and last place, and type. B- opens one, I- goes on.

    >>> find_spans(["O", "B-ANATOMY", "I-ANATOMY", "B-DISEASE", "O", "I-DISEASE"])
    [(1, 2, 'ANATOMY'), (3, 3, 'DISEASE')]
    """
    found: list[tuple[int, int, str]] = []
    going = False
    for at, label in enumerate(labels):
        if label.startswith("B-"):
            found.append((at, at, label[2:]))
            going = True
        elif label.startswith("I-") and going:
            found[-1] = (found[-1][0], at, found[-1][2])
        else:
            going = False
    return found


class RaTEScore:
    """The two loaded models."""

    def __init__(self, entities: Path, encoder: Path) -> None:
        """Both folders are in transformers' form."""
        self._torch = import_package("torch", NAME)
        self._words, self._namer = load_transformer(entities, "AutoModelForTokenClassification", NAME)
        self._pieces, self._encoder = load_transformer(encoder, "AutoModel", NAME)

    def entities(self, text: str) -> list[tuple[str, str]]:
        """The entities of a report in order: words and type."""
        found = []
        for sentence in split_sentences(text):
            told = self._words(
                text[sentence.start : sentence.end], truncation=True, max_length=LONGEST, return_tensors="pt"
            ).to(self._namer.device)
            with self._torch.inference_mode():
                best = self._namer(**told).logits[0].argmax(dim=-1).tolist()
            names = [self._namer.config.id2label[n] for n in best]
            pieces = self._words.convert_ids_to_tokens(told["input_ids"][0].tolist())
            marks = {self._words.cls_token, self._words.sep_token}
            names = ["O" if p in marks else n for p, n in zip(pieces, names, strict=True)]
            for first, last, kind in find_spans(names):
                words = self._words.convert_tokens_to_string(pieces[first : last + 1])
                found.append((words.strip(), kind.upper()))
        return found

    def vectors(self, words: Sequence[str]) -> Numbers:
        """One vector an entity: that of its first mark."""
        if not words:
            return np.zeros((0, 1))
        told = self._pieces(
            list(words), truncation=True, padding=True, max_length=LONGEST_ENTITY, return_tensors="pt"
        ).to(self._encoder.device)
        with self._torch.inference_mode():
            first = self._encoder(**told).last_hidden_state[:, 0, :].float().cpu()
        return np.asarray(first.tolist(), dtype=np.float64)

    def score(self, reference: str, other: str) -> float:
        """RaTEScore of two reports, with the weights for whole reports."""
        ours, theirs = self.entities(reference), self.entities(other)
        return arithmetic.ratescore(
            self.vectors([words for words, _ in ours]),
            [kind for _, kind in ours],
            self.vectors([words for words, _ in theirs]),
            [kind for _, kind in theirs],
        )


def load_ratescore(models: Path | None = None) -> RaTEScore:
    """The models from the models' folder; the same object for the same folder."""
    import_package("torch", NAME)
    import_package("transformers", NAME)
    return _load_cached(ENTITIES.find(models), ENCODER.find(models))


@lru_cache(maxsize=1)
def _load_cached(entities: Path, encoder: Path) -> RaTEScore:
    return RaTEScore(entities, encoder)
