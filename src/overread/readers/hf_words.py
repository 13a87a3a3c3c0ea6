"""From a model's numbers to words: the next token, the end of a row, what was thought aloud."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from overread.errors import ReaderError
from overread.readers.hf_batches import Asked

THINKING = (
    ("<think>", "</think>"),
    ("[THINK]", "[/THINK]"),
    ("<unused94>thought", "<unused95>"),
)
"""How models mark what they think aloud; the last is MedGemma's."""


class Draws:
    """Chooses each next token: the likeliest, or one drawn by lot, by each row's own dice.

    A row's dice are thrown once a token, whoever else is in the batch, so a drawn answer depends
    on its own seed and not on its neighbours. The chosen token is the only one left possible, and
    the greedy search around it takes it.
    """

    def __init__(
        self,
        dice: Sequence[random.Random],
        temperature: float,
        top_k: int,
        top_p: float,
        dtype: str,
    ) -> None:
        """One die a row; with a `temperature` of 0 none is thrown."""
        self._dice = dice
        self._temperature = temperature
        self._top_k = top_k
        self._top_p = top_p
        self._dtype = dtype

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """The scores of the next token, all but the chosen one out of the question."""
        import torch

        if bool(scores.isnan().any()):
            raise ReaderError(
                f"the model computed no numbers (NaN) in {self._dtype}",
                remedy="give --reader-arg dtype=bfloat16 or float32",
            )
        if not self._temperature:
            return scores
        ranked, tokens = (scores.float() / self._temperature).sort(descending=True, stable=True)
        if self._top_k:
            ranked[:, self._top_k :] = float("-inf")
        shares = ranked.softmax(dim=-1)
        shares = shares * (shares.cumsum(dim=-1) - shares < self._top_p)
        sums = shares.cumsum(dim=-1)
        thrown = torch.tensor([[die.random()] for die in self._dice], device=sums.device)
        place = torch.searchsorted(sums, thrown * sums[:, -1:], right=True)
        place = place.clamp(max=(shares > 0).sum(dim=-1, keepdim=True) - 1)
        chosen = tokens.gather(-1, place)
        return torch.full_like(scores, float("-inf")).scatter(-1, chosen, 0.0)


class Dropping:
    """Ends the rows whose askers have gone away."""

    def __init__(self, rows: Sequence[Asked]) -> None:
        """The questions, in the order of the batch."""
        self._rows = rows

    def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
        """Which rows are done for."""
        import torch

        return torch.tensor([row.dropped for row in self._rows], device=input_ids.device)


def spoken(tokenizer: Any, ids: Sequence[int]) -> str:
    """The words of some tokens, without those that only steer a model, but with its thinking's."""
    marks = {part for pair in THINKING for part in pair}
    kept = {tokenizer.convert_tokens_to_ids(mark) for mark in marks} - {tokenizer.unk_token_id}
    added = tokenizer.added_tokens_decoder
    steering = {token for token, how in added.items() if how.special} - kept
    words = [token for token in ids if token not in steering]
    return str(
        tokenizer.decode(words, skip_special_tokens=False, clean_up_tokenization_spaces=False)
    )


def split_thoughts(text: str, *, prompt: str = "") -> tuple[str | None, str]:
    """What a model thought aloud, and what it answered.

    Where the prompt itself opened the thinking, the text begins in the middle of it; thinking
    that never ended was cut off, and there is no answer.

    >>> split_thoughts("<think>Nodules.</think>\\n\\nSarcoidosis")
    ('Nodules.', 'Sarcoidosis')
    >>> split_thoughts("Nodules.</think>Sarcoidosis", prompt="assistant: <think>")
    ('Nodules.', 'Sarcoidosis')
    >>> split_thoughts("<think>Nodules, or")
    ('Nodules, or', '')
    >>> split_thoughts("Sarcoidosis")
    (None, 'Sarcoidosis')
    """
    for begins, ends in THINKING:
        opened = prompt.rstrip().endswith(begins) or text.lstrip().startswith(begins)
        thought, closed, answer = text.partition(ends)
        if closed or opened:
            before, inside, rest = thought.partition(begins)
            thought, answer = (rest, before + answer) if inside else (before, answer)
            return thought.strip() or None, answer.strip()
    return None, text
