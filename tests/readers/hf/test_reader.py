"""The reader `hf`, with real transformers and models that were never trained."""

from __future__ import annotations

import asyncio
import gc
import json
import random
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from overread.core import Message, Pictures, Reply, Request
from overread.errors import ReaderError
from overread.readers.hf import loading
from overread.readers.hf import model as hf_model
from overread.readers.hf.decoding import TokenSampler
from overread.readers.hf.model_folder import ModelFolder
from overread.readers.hf.reader import HFReader
from tests.readers.hf.questions import (
    answer,
    asked_of,
    finished,
    one_by_one,
    png,
    question,
    reader,
    several,
    together,
)
from tests.readers.hf.tiny_vlm import KINDS, Kind
from tests.readers.openai.questions import CASE
from tests.timing import wait_in_loop

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("nobody_outside")]


# ---- batches -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_a_batch_answers_as_each_question_alone(
    models: Callable[[Kind], Path], kind: Kind, temperature: float
) -> None:
    """Rows of different lengths and numbers of pictures do not touch each other, nor their order."""
    folder = models(kind)
    more = {"temperature": temperature, "top_p": 0.95, "top_k": 40}
    questions = several(system="You are a radiologist.", seed=3)
    many = together(reader(folder, **more), questions)
    alone = one_by_one(reader(folder, batch=1, **more), questions)
    assert [reply.text for reply in many] == [reply.text for reply in alone]
    assert len({reply.text for reply in many}) == len(questions)  # else a mix-up would not show
    for reply, lone, asked in zip(many, alone, questions, strict=True):
        assert reply.usage.input_tokens == lone.usage.input_tokens
        assert reply.usage.output_tokens == lone.usage.output_tokens
        assert reply.usage.pictures == len(asked.images)
        assert reply.model == kind


@pytest.mark.parametrize("kind", KINDS)
def test_every_picture_and_every_word_counts(models: Callable[[Kind], Path], kind: Kind) -> None:
    """Another picture, another order, another system turn or another word is another answer."""
    one, two = png(1, 40, 40), png(2, 40, 40)
    questions = [
        asked_of([one, two], "which lobe"),
        asked_of([two, one], "which lobe"),
        asked_of([one], "which lobe"),
        asked_of([one, two], "which side"),
        asked_of([one, two], "which lobe", system="the heart"),
        asked_of([one, two], "which lobe", system="the brain"),
    ]
    replies = together(reader(models(kind)), questions)
    assert len({reply.text for reply in replies}) == len(questions)
    counts = [reply.usage.input_tokens for reply in replies]
    assert counts[0] == counts[1] == counts[3] > counts[2]


def test_several_turns_are_all_told(model: Path) -> None:
    """What was answered before is part of the question, and the template's turns alternate."""
    first = question()
    again = Message(role="user", parts=("answer again",))
    talks = [
        Request(
            task="choose",
            case=CASE,
            pictures=cast(Pictures, None),
            messages=(*first.messages, Message(role="assistant", parts=(said,)), again),
            images=first.images,
        )
        for said in ("the left lobe", "the right lobe")
    ]
    left, right = together(reader(model), talks)
    assert left.text != right.text


# ---- drawing by lot ------------------------------------------------------------------------


def test_a_drawn_answer_depends_on_its_own_seed_alone(model: Path) -> None:
    """The same seed draws the same words in any company; other seeds and settings draw others."""
    mine = question(1, seed=7)
    others = [question(1, seed=seed) for seed in range(20, 25)]
    first = together(reader(model, temperature=1.5), [*others, mine])
    second = together(reader(model, temperature=1.5), [mine, question(4, pictures=3)])
    assert first[-1].text == second[0].text
    assert len({reply.text for reply in first}) == len(first)
    assert answer(reader(model, temperature=1.5, seed=1), mine).text != first[-1].text
    assert reader(model, temperature=1.5).seeded
    assert not reader(model).seeded


def test_without_lots_the_seed_makes_no_difference(model: Path) -> None:
    """At temperature 0 the answer and the identity know no seed."""
    replies = together(reader(model), [question(1, seed=seed) for seed in range(3)])
    assert len({reply.text for reply in replies}) == 1
    assert reader(model, seed=5).identity == reader(model).identity


@pytest.mark.parametrize(
    ("temperature", "top_k", "top_p"), [(1.0, 0, 1.0), (0.7, 5, 1.0), (1.3, 0, 0.6), (0.9, 7, 0.8)]
)
def test_lots_fall_as_often_as_transformers_own_sampling_says(
    temperature: float, top_k: int, top_p: float
) -> None:
    """The shares of drawn tokens are those of its warpers; what they exclude is never drawn."""
    import torch
    from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

    scores = torch.tensor([np.random.default_rng(4).normal(0, 2, 12).tolist()])
    expected = TemperatureLogitsWarper(temperature)(None, scores)
    if top_k:
        expected = TopKLogitsWarper(top_k)(None, expected)
    if top_p < 1:
        expected = TopPLogitsWarper(top_p)(None, expected)
    shares = expected.softmax(dim=-1)[0].tolist()
    count = 4000
    dice = [random.Random(n) for n in range(count)]
    draws = TokenSampler(dice, temperature, top_k, top_p, "float32")
    drawn = Counter(draws(None, scores.expand(count, -1)).argmax(dim=-1).tolist())
    for token, share in enumerate(shares):
        spread = (count * share * (1 - share)) ** 0.5
        assert abs(drawn[token] - count * share) <= 5 * spread


# ---- how an answer ends --------------------------------------------------------------------


def test_an_answer_ends_at_its_end_or_is_cut_off(model: Path) -> None:
    """What was written up to an end token is whole, anything else was cut off by the limit."""
    questions = [question(n, seed=n) for n in range(16)]
    replies = together(reader(model, max_new_tokens=40, temperature=2.0, batch=16), questions)
    ends = {reply.finish for reply in replies}
    assert ends == {"stop", "length"}
    for reply in replies:
        cut = reply.finish == "length"
        assert reply.usage.output_tokens == 40 if cut else 0 < reply.usage.output_tokens <= 40
        assert not any(mark in reply.text for mark in ("<eos>", "<end>", "<pad>", "<start>"))
        assert reply.usage.calls == 1
        assert reply.usage.seconds > 0


@pytest.mark.parametrize("opened_by", ["the model", "the template"])
def test_what_is_thought_aloud_becomes_the_reasoning(
    changed: Path, monkeypatch: pytest.MonkeyPatch, opened_by: str
) -> None:
    """Thoughts are kept apart, whether the model or its template begins them."""
    words = json.loads((changed / "tokenizer.json").read_text())["model"]["vocab"]
    said = "<think> the left lobe </think> B <eos>".split()
    if opened_by == "the template":
        said = said[1:]
        template = changed / "chat_template.jinja"
        template.write_text(f"{template.read_text()}{{% if true %}}<think>\n{{% endif %}}")

    class Scripted:
        def __init__(self, *_: object) -> None:
            self.left = [words[word] for word in said]

        def __call__(self, input_ids: Any, scores: Any) -> Any:
            scores[:] = float("-inf")
            scores[:, self.left.pop(0)] = 0.0
            return scores

    monkeypatch.setattr(hf_model, "TokenSampler", Scripted)
    reply = answer(reader(changed))
    assert (reply.reasoning, reply.text, reply.finish) == ("the left lobe", "B", "stop")
    assert reply.usage.output_tokens == len(said)


# ---- going away, closing -------------------------------------------------------------------


def test_who_goes_away_stops_the_writing_and_harms_nobody_else(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cancelled alone, a row ends and the others are answered; cancelled all, the writing ends."""
    steps = 0

    class Counting(TokenSampler):
        def __call__(self, input_ids: Any, scores: Any) -> Any:
            nonlocal steps
            steps += 1
            # No end before the limit: only going away can stop it.
            scores[:, :11] = float("-inf")
            return super().__call__(input_ids, scores)

    async def started(made: HFReader, numbers: Sequence[int]) -> list[asyncio.Task[Reply]]:
        tasks = [asyncio.create_task(made.read(question(n))) for n in numbers]
        begin = steps
        await wait_in_loop(lambda: steps >= begin + 3)
        return tasks

    async def leave() -> None:
        tasks = await started(slow, range(3))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def leave_one() -> list[Any]:
        tasks = await started(quick, range(3))
        tasks[1].cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    monkeypatch.setattr(hf_model, "TokenSampler", Counting)
    slow = reader(model, max_new_tokens=30_000)
    finished(slow, leave())
    assert steps < 1000
    quick = reader(model, max_new_tokens=40)
    replies = finished(quick, leave_one())
    assert isinstance(replies[1], asyncio.CancelledError)
    alone = one_by_one(reader(model, max_new_tokens=40), [question(0), question(2)])
    assert [replies[0].text, replies[2].text] == [reply.text for reply in alone]


def test_closing_lets_go_of_the_model(model: Path) -> None:
    """After close nothing holds the weights, and a later question is refused."""

    async def used() -> weakref.ref[Any]:
        await made.read(question())
        held = weakref.ref(made._model._model)
        assert held() is not None
        await made.close()
        with pytest.raises(ReaderError, match="was closed"):
            await made.read(question())
        return held

    made = reader(model)
    held = asyncio.run(used())
    gc.collect()
    assert held() is None


def test_the_model_is_loaded_with_the_first_question_only(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Making a reader, for a dry run say, loads nothing."""
    loaded: list[str] = []

    def load(folder: ModelFolder, device: str, dtype: str) -> Any:
        loaded.append(folder.name)
        return loading.load_model(folder, device, dtype)

    monkeypatch.setattr(hf_model, "load_model", load)
    made = reader(model)
    assert not loaded
    together(made, [question(), question(1)])
    assert len(loaded) == 1


def test_transformers_talks_as_before_afterwards(model: Path) -> None:
    """It is kept quiet while it works, and nobody else's settings are changed for good."""
    from transformers.utils import logging

    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    answer(reader(model))
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before
