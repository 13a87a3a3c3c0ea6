"""From logits to text: token sampling, stopping of cancelled rows, splitting off the reasoning."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from overread.errors import ReaderError
from overread.readers.hf.batches import PendingRequest

REASONING_MARKS = (("<think>", "</think>"), ("[THINK]", "[/THINK]"), ("<unused94>thought", "<unused95>"))
"""How models mark what they think aloud; the last is MedGemma's."""


class TokenSampler:
    """Chooses each next token: the likeliest, or one sampled with the row's own random generator.

    Each row's generator is called once per token, whatever else is in the batch, so that a sampled
    answer depends on its own seed only. All other tokens get -inf, so that the greedy search takes
    the chosen one.
    """

    def __init__(
        self, dice: Sequence[random.Random], temperature: float, top_k: int, top_p: float, dtype: str
    ) -> None:
        """One random generator for each row; unused where `temperature` is 0."""
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


class StopCancelled:
    """Stopping criterion: ends the rows whose request was cancelled."""

    def __init__(self, rows: Sequence[PendingRequest]) -> None:
        """The questions, in the order of the batch."""
        self._rows = rows

    def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
        """For each row, whether it is to stop."""
        import torch

        return torch.tensor([row.cancelled for row in self._rows], device=input_ids.device)


def decode_tokens(tokenizer: Any, ids: Sequence[int]) -> str:
    """The text of some tokens, without special tokens except those that mark reasoning."""
    marks = {part for pair in REASONING_MARKS for part in pair}
    kept = {tokenizer.convert_tokens_to_ids(mark) for mark in marks} - {tokenizer.unk_token_id}
    added = tokenizer.added_tokens_decoder
    steering = {token for token, how in added.items() if how.special} - kept
    words = [token for token in ids if token not in steering]
    return str(tokenizer.decode(words, skip_special_tokens=False, clean_up_tokenization_spaces=False))


def split_reasoning(text: str, *, prompt: str = "") -> tuple[str | None, str]:
    """What a model thought aloud, and what it answered.

    Where the prompt itself opened the thinking, the text begins in the middle of it; thinking
    that never ended was cut off, and there is no answer.

    >>> split_reasoning("<think>Nodules.</think>\\n\\nSarcoidosis")
    ('Nodules.', 'Sarcoidosis')
    >>> split_reasoning("Nodules.</think>Sarcoidosis", prompt="assistant: <think>")
    ('Nodules.', 'Sarcoidosis')
    >>> split_reasoning("<think>Nodules, or")
    ('Nodules, or', '')
    >>> split_reasoning("Sarcoidosis")
    (None, 'Sarcoidosis')
    """
    for begins, ends in REASONING_MARKS:
        opened = prompt.rstrip().endswith(begins) or text.lstrip().startswith(begins)
        thought, closed, answer = text.partition(ends)
        if closed or opened:
            before, inside, rest = thought.partition(begins)
            thought, answer = (rest, before + answer) if inside else (before, answer)
            return thought.strip() or None, answer.strip()
    return None, text
