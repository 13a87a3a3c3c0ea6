"""One vision-language model in memory: questions in, words out, several at once.

torch and transformers are imported here and nowhere else in the reader. What differs between
models (whether the template takes a system turn, where pictures go, what ends an answer) is asked
of the model's own files once, when it is loaded.
"""

from __future__ import annotations

import io
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from overread.core import Message, Reply, Request, SentImage, Usage
from overread.errors import ReaderError, UsageError
from overread.readers.hf.batches import PendingRequest
from overread.readers.hf.decoding import StopCancelled, TokenSampler, decode_tokens, split_reasoning
from overread.readers.hf.loading import (
    first_line,
    free_memory,
    load_model,
    load_processor,
    silence_transformers,
)
from overread.readers.hf.model_folder import ModelFolder

_OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "ALLOC_FAILED", "not enough memory")
_FORMATS = ("PNG", "JPEG")
_SUCCESSES_TO_GROW = 16
_PROBE = ("Keep to the point.", "What is it?")


@dataclass(frozen=True)
class GenerationSettings:
    """The reader's settings that concern generation."""

    max_new_tokens: int
    temperature: float
    top_p: float
    top_k: int
    seed: int
    max_pixels: int | None


@dataclass
class PromptRow:
    """One question as the model takes it."""

    asked: PendingRequest
    prompt: str
    pictures: list[Any]


class LocalModel:
    """A model with its processor, on its device."""

    def __init__(self, folder: ModelFolder, device: str, dtype: str, manner: GenerationSettings) -> None:
        """Load it; a `UsageError` says what about the folder or the machine is in the way."""
        self._name = folder.name
        self._device = device
        self._dtype = dtype
        self._manner = manner
        with silence_transformers():
            self._processor = load_processor(folder)
            self._model = load_model(folder, device, dtype)
        tokenizer = self._processor.tokenizer
        tokenizer.padding_side = "left"
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token
        self._end_tokens = self._configure_end_tokens()
        self._most_tokens = getattr(self._model.config.get_text_config(), "max_position_embeddings", None)
        self._merge_system = self._must_merge_system(folder)
        self._max_rows: int | None = None
        self._successes = 0

    # ---- many at once --------------------------------------------------------------------------

    def answer_batch(self, batch: Sequence[PendingRequest]) -> list[Reply | Exception]:
        """A reply or an error for each question, in their order."""
        answers: dict[PendingRequest, Reply | Exception] = {}
        rows: list[PromptRow] = []
        for asked in batch:
            try:
                rows.append(self._make_row(asked))
            except ReaderError as error:
                answers[asked] = error
        # Processors differ in what they make of a row without pictures among rows with some.
        for some in ([r for r in rows if r.pictures], [r for r in rows if not r.pictures]):
            self._answer_rows(some, answers)
        return [answers[asked] for asked in batch]

    def _answer_rows(self, rows: list[PromptRow], answers: dict[PendingRequest, Reply | Exception]) -> None:
        """Answer rows together, or in smaller parts where together will not do."""
        if not rows:
            return
        if self._max_rows is not None and len(rows) > self._max_rows:
            for begin in range(0, len(rows), self._max_rows):
                self._answer_rows(rows[begin : begin + self._max_rows], answers)
            return
        if all(row.asked.cancelled for row in rows):
            answers.update({row.asked: ReaderError("the request was cancelled") for row in rows})
            return
        try:
            replies = self._generate(rows)
        except Exception as error:
            problem = self._describe_error(error, len(rows)).with_traceback(None)
        else:
            answers.update(zip((row.asked for row in rows), replies, strict=True))
            self._grow_batch(len(rows))
            return
        # Behind the `except`, since the error holds what filled the memory.
        if isinstance(problem, UsageError):
            raise problem
        if len(rows) == 1:
            answers[rows[0].asked] = problem
            return
        parts = [[row] for row in rows]
        if problem is _BATCH_TOO_LARGE:
            half = max(1, len(rows) // 2)
            self._max_rows, self._successes = half, 0
            parts = [rows[:half], rows[half:]]
        free_memory(self._device)
        for part in parts:
            self._answer_rows(part, answers)

    def _grow_batch(self, rows: int) -> None:
        """Double the batch size again after some batches that fitted: the one large case may be
        long past.
        """
        if self._max_rows is not None and rows >= self._max_rows:
            self._successes += 1
            if self._successes == _SUCCESSES_TO_GROW:
                self._max_rows, self._successes = 2 * self._max_rows, 0

    def _describe_error(self, error: Exception, rows: int) -> ReaderError | UsageError:
        """What went wrong, as a sentence."""
        import torch

        text = str(error)
        if isinstance(error, UsageError | ReaderError):
            return error
        known = isinstance(error, MemoryError | torch.OutOfMemoryError)
        if known or (isinstance(error, RuntimeError) and any(w in text for w in _OUT_OF_MEMORY)):
            if rows > 1:
                return _BATCH_TOO_LARGE
            return ReaderError(
                f"one question alone is more than the memory of '{self._device}' holds",
                remedy="show smaller pictures with --reader-arg max_pixels=…",
            )
        lost = getattr(torch, "AcceleratorError", None)
        if (lost is not None and isinstance(error, lost)) or "CUDA error" in text:
            return UsageError(
                f"the device '{self._device}' failed ({first_line(text)})",
                remedy="the same command again goes on where this one stopped",
            )
        told = f"{type(error).__name__}: {first_line(text)}" if text else type(error).__name__
        return ReaderError(f"the model '{self._name}' could not answer ({told})")

    # ---- one batch -----------------------------------------------------------------------------

    def _make_row(self, asked: PendingRequest) -> PromptRow:
        request = asked.request
        conversation = build_conversation(request.messages, folded=self._merge_system)
        shown = [p for m in request.messages for p in m.parts if isinstance(p, SentImage)]
        pictures = [decode_picture(request, picture, self._manner.max_pixels) for picture in shown]
        try:
            prompt = self._render_prompt(conversation)
        except Exception as error:
            told = first_line(str(error))
            raise ReaderError(f"the chat template of '{self._name}' refused the question ({told})") from None
        return PromptRow(asked, prompt, pictures)

    def _generate(self, rows: list[PromptRow]) -> list[Reply]:
        """Have the model write on, row by row side by side."""
        import torch

        begin = time.perf_counter()
        inputs = self._encode_inputs(rows)
        told = inputs["attention_mask"].sum(dim=1).tolist()
        for count in told:
            if self._most_tokens and count + self._manner.max_new_tokens > self._most_tokens:
                raise ReaderError(
                    f"the question has {count} tokens, and '{self._name}' reads and writes "
                    f"{self._most_tokens} at most",
                    remedy="show smaller pictures with --reader-arg max_pixels=…, or ask for less "
                    "with max_new_tokens=…",
                )
        manner = self._manner
        seeds = [_row_random(manner.seed, row.asked.request) for row in rows]
        draws = TokenSampler(seeds, manner.temperature, manner.top_k, manner.top_p, self._dtype)
        with torch.inference_mode(), silence_transformers():
            written = self._model.generate(
                **inputs,
                max_new_tokens=manner.max_new_tokens,
                do_sample=False,
                logits_processor=[draws],
                stopping_criteria=[StopCancelled([row.asked for row in rows])],
            )
        words = written[:, inputs["input_ids"].shape[1] :].tolist()
        seconds = (time.perf_counter() - begin) / len(rows)
        return [
            self._make_reply(row, ids, count, seconds)
            for row, ids, count in zip(rows, words, told, strict=True)
        ]

    def _encode_inputs(self, rows: list[PromptRow]) -> dict[str, Any]:
        import torch

        bos = self._processor.tokenizer.bos_token
        pictures = [row.pictures for row in rows]
        made = self._processor(
            text=[row.prompt for row in rows],
            images=pictures if any(pictures) else None,
            padding=True,
            return_tensors="pt",
            # Many templates begin with the token that the tokenizer would add once more.
            add_special_tokens=not (bos and rows[0].prompt.startswith(bos)),
        )
        dtype = getattr(torch, self._dtype)
        return {
            name: part.to(self._device, dtype if part.is_floating_point() else part.dtype)
            for name, part in made.items()
            if torch.is_tensor(part)
        }

    def _make_reply(self, row: PromptRow, ids: list[int], told: int, seconds: float) -> Reply:
        ended = next((n for n, token in enumerate(ids) if token in self._end_tokens), None)
        written = ids if ended is None else ids[:ended]
        text = decode_tokens(self._processor.tokenizer, written)
        reasoning, answer = split_reasoning(text, prompt=row.prompt)
        return Reply(
            text=answer,
            reasoning=reasoning,
            finish="length" if ended is None else "stop",
            model=self._name,
            usage=Usage(
                input_tokens=told,
                output_tokens=len(ids) if ended is None else ended + 1,
                pictures=len(row.pictures),
                calls=1,
                seconds=seconds,
            ),
        )

    # ---- what differs between models -----------------------------------------------------------

    def _render_prompt(self, conversation: list[dict[str, Any]]) -> str:
        return str(
            self._processor.apply_chat_template(conversation, add_generation_prompt=True, tokenize=False)
        )

    def _must_merge_system(self, folder: ModelFolder) -> bool:
        """Whether the template drops system turns, so that their words must go into the user's;
        refuses unusable ones.
        """
        told, question = _PROBE
        system = {"role": "system", "content": [{"type": "text", "text": told}]}
        words = {"type": "text", "text": question}
        user = {"role": "user", "content": [{"type": "image"}, words]}
        try:
            prompt = self._render_prompt([user])
            blind = self._render_prompt([{"role": "user", "content": [words]}])
        except Exception as error:
            raise UsageError(
                f"the chat template of this model cannot be used ({first_line(str(error))})",
                where=str(folder.path),
                remedy="take the version of the model that was made for conversations "
                "('…-it', '…-Instruct'), with its chat_template.jinja",
            ) from None
        if question not in prompt or prompt == blind:
            raise UsageError(
                "the chat template of this model has no place for "
                + ("pictures" if question in prompt else "what the user says"),
                where=str(folder.path),
                remedy="take the chat_template.jinja that belongs to the model",
            )
        try:
            return told not in self._render_prompt([system, user])
        except Exception:
            return True

    def _configure_end_tokens(self) -> frozenset[int]:
        """The tokens that end an answer; everything else in the folder's generation_config is
        discarded.

        Its sampling settings would change answers behind the reader's own arguments, and a penalty
        on repetition would make a row depend on its padding.
        """
        from transformers import GenerationConfig

        tokenizer = self._processor.tokenizer
        theirs = self._model.generation_config
        ends = theirs.eos_token_id if theirs.eos_token_id is not None else tokenizer.eos_token_id
        listed = [ends] if isinstance(ends, int) else list(ends or ())
        kept = {
            name: getattr(theirs, name, None)
            for name in ("bos_token_id", "bad_words_ids", "suppress_tokens", "begin_suppress_tokens")
        }
        self._model.generation_config = GenerationConfig(
            eos_token_id=listed or None,
            pad_token_id=tokenizer.pad_token_id,
            **{name: value for name, value in kept.items() if value is not None},
        )
        return frozenset(listed)


_BATCH_TOO_LARGE = ReaderError("these questions together are more than the memory holds")


def build_conversation(messages: Sequence[Message], *, folded: bool) -> list[dict[str, Any]]:
    """The messages as chat templates take them; `folded`: the system's words begin the user's.

    >>> build_conversation([Message(role="system", parts=("Be brief.",)),
    ...     Message(role="user", parts=("What is it?",))], folded=True)
    [{'role': 'user', 'content': [{'type': 'text', 'text': 'Be brief.\\n\\n'}, \
{'type': 'text', 'text': 'What is it?'}]}]
    """
    turns: list[dict[str, Any]] = []
    kept: list[dict[str, str]] = []
    for message in messages:
        parts = [
            {"type": "image"} if isinstance(part, SentImage) else {"type": "text", "text": part}
            for part in message.parts
        ]
        if folded and message.role == "system":
            kept += [{**part, "text": f"{part['text']}\n\n"} for part in parts if "text" in part]
            continue
        if kept and message.role == "user":
            parts, kept = [*kept, *parts], []
        turns.append({"role": message.role, "content": parts})
    return turns


def decode_picture(request: Request, picture: SentImage, max_pixels: int | None) -> Any:
    """A picture of the question as the processor takes it."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(request.images[picture.sha256]), formats=_FORMATS) as image:
            made = image.convert("RGB")
    except (KeyError, OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        raise ReaderError(f"the picture '{picture.region.picture}' cannot be opened to be shown") from None
    if max_pixels is not None and made.width * made.height > max_pixels:
        scale = (max_pixels / (made.width * made.height)) ** 0.5
        size = (max(1, int(made.width * scale)), max(1, int(made.height * scale)))
        made = made.resize(size, Image.Resampling.BICUBIC)
    return made


def _row_random(seed: int, request: Request) -> random.Random:
    return random.Random(f"{seed} {request.seed} {request.sample}")  # noqa: S311 - no secret
