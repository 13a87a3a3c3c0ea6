"""GREEN's judge: a language model that lists the errors of a report in a fixed form."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from overread.errors import OverreadError, UsageError
from overread.metrics.clinical.models.weights import (
    TRANSFORMER,
    WeightFiles,
    import_package,
    load_transformer,
)

NAME = "GREEN"
LONGEST = 2048
"""Tokens of prompt and reply together; more than that the judge was not trained with."""
PROMPT = "prompt.txt"
_PLACEHOLDER = re.compile(r"\{(reference|candidate)\}")
WEIGHTS = WeightFiles(
    NAME,
    "green",
    (*TRANSFORMER, (PROMPT,)),
    "StanfordAIMI/GREEN-RadLlama2-7b on the hub (prompt.txt: the prompt of the package "
    "green-score, with {reference} and {candidate} where the two reports go)",
)


class GreenJudge:
    """The loaded judge. It answers without chance: always the likeliest token."""

    def __init__(self, folder: Path, longest: int = LONGEST) -> None:
        """`folder` is in transformers' form, with the prompt that the model was trained with."""
        self._torch = import_package("torch", NAME)
        self._prompt = (folder / PROMPT).read_text("utf-8")
        if set(_PLACEHOLDER.findall(self._prompt)) != {"reference", "candidate"}:
            raise UsageError(
                "the prompt of the GREEN judge does not say where the two reports go",
                where=str(folder / PROMPT),
                remedy="write {reference} and {candidate} into it",
            )
        self._words, self._model = load_transformer(folder, "AutoModelForCausalLM", NAME)
        self._longest = min(longest, self._model.config.max_position_embeddings)

    def reply(self, reference: str, candidate: str) -> str:
        """What the judge says of a candidate; `OverreadError` where both are too long for it."""
        told = self._words(
            self._chat(reference, candidate), return_tensors="pt", add_special_tokens=False
        ).to(self._model.device)
        length = told["input_ids"].shape[1]
        if length >= self._longest:
            raise OverreadError(
                f"two reports and the prompt of the GREEN judge are {length} tokens, "
                f"and it reads {self._longest}"
            )
        with self._torch.inference_mode():
            made = self._model.generate(
                input_ids=told["input_ids"],
                attention_mask=told["attention_mask"],
                max_length=self._longest,
                do_sample=False,
                pad_token_id=self._words.eos_token_id,
            )
        answer: str = self._words.decode(made[0, length:], skip_special_tokens=True)
        return answer

    def _chat(self, reference: str, candidate: str) -> str:
        """The prompt in the form of a conversation, by the tokenizer's own template if it has one.

        Templates differ in what they call speaker and words, so that both names are given.
        """
        # In one pass: what a report says cannot become the place of the other.
        texts = {"reference": reference, "candidate": candidate}
        prompt = _PLACEHOLDER.sub(lambda place: texts[place.group(1)], self._prompt)
        if not self._words.chat_template:
            return f"<|user|>\n{prompt}{self._words.eos_token}\n<|assistant|>\n"
        turn = {"role": "user", "content": prompt, "from": "human", "value": prompt}
        chat: str = self._words.apply_chat_template([turn], tokenize=False, add_generation_prompt=True)
        return chat


def load_green(models: Path | None = None) -> GreenJudge:
    """The judge from the models' folder; the same object for the same folder."""
    import_package("torch", NAME)
    import_package("transformers", NAME)
    return _load_cached(WEIGHTS.find(models))


@lru_cache(maxsize=1)
def _load_cached(folder: Path) -> GreenJudge:
    return GreenJudge(folder)
