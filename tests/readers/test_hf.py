"""The reader `hf`, with real transformers and models that were never trained."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import importlib
import importlib.util
import io
import json
import random
import shutil
import socket
import weakref
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import pytest
from PIL import Image

from openai_asking import CASE
from overread.core import Message, Pictures, Reply, Request, Shown, Whole
from overread.errors import ReaderError, UsageError
from overread.readers import hf_loading, hf_model
from overread.readers.hf import HFReader, make
from overread.readers.hf_folder import ModelFolder
from overread.readers.hf_words import Draws
from tiny_vlm import KINDS, Kind, make_model

pytestmark = pytest.mark.torch

T = TypeVar("T")
TOKENS = 12


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Kind], Path]:
    """Makes each kind of model once; not to be changed."""
    made: dict[Kind, Path] = {}

    def model(kind: Kind) -> Path:
        if kind == "qwen3_vl" and importlib.util.find_spec("torchvision") is None:
            pytest.skip("the processor of Qwen3-VL needs torchvision")
        if kind not in made:
            made[kind] = make_model(tmp_path_factory.mktemp("models") / kind, kind)
        return made[kind]

    return model


@pytest.fixture
def model(models: Callable[[Kind], Path]) -> Path:
    """The model that most tests read with; not to be changed."""
    return models("gemma3")


@pytest.fixture
def changed(model: Path, tmp_path: Path) -> Path:
    """A copy of it, to be broken."""
    return Path(shutil.copytree(model, tmp_path / "changed"))


@pytest.fixture(autouse=True)
def nobody_outside(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Any attempt to reach another machine fails the test."""
    tried: list[object] = []

    def refuse(self: socket.socket, address: object) -> None:
        tried.append(address)
        raise OSError("no network in tests")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    yield
    assert not tried


def png(seed: int, width: int, height: int) -> bytes:
    """A picture of a few large patches, which even a tiny model can tell from others."""
    patches = np.random.default_rng(seed).integers(0, 255, (4, 4), dtype=np.uint8)
    stream = io.BytesIO()
    Image.fromarray(patches).resize((width, height), Image.Resampling.NEAREST).save(stream, "PNG")
    return stream.getvalue()


def question(
    number: int = 0,
    *,
    pictures: int = 1,
    words: str = "which lobe?",
    system: str = "",
    seed: int = 0,
) -> Request:
    data = [png(100 * number + n, 20 + 7 * n + number, 30 + 3 * n) for n in range(pictures)]
    return asked_of(data, words, system=system, seed=seed)


def asked_of(data: Sequence[bytes], words: str, *, system: str = "", seed: int = 0) -> Request:
    shown = [
        Shown(
            region=Whole(picture=f"image-{number}"),
            media="image/png",
            sha256=hashlib.sha256(one).hexdigest(),
            width=1,
            height=1,
        )
        for number, one in enumerate(data, 1)
    ]
    messages = [Message(role="user", parts=(*shown, words))]
    if system:
        messages.insert(0, Message(role="system", parts=(system,)))
    return Request(
        task="choose",
        case=CASE,
        pictures=cast(Pictures, None),
        messages=tuple(messages),
        images={part.sha256: one for part, one in zip(shown, data, strict=True)},
        seed=seed,
    )


def several(**more: Any) -> list[Request]:
    """Questions of different lengths, with no picture up to three."""
    return [
        question(n, pictures=n % 4, words="the left lung nodule " * (1 + 3 * n), **more)
        for n in range(6)
    ]


def reader(folder: Path, **arguments: object) -> HFReader:
    told = {"max_new_tokens": TOKENS, "device": "cpu", **arguments}
    made = make({"model": str(folder), **{name: str(value) for name, value in told.items()}})
    assert isinstance(made, HFReader)
    return made


def finished(made: HFReader, work: Awaitable[T]) -> T:
    async def all_of() -> T:
        try:
            return await work
        finally:
            await made.close()

    return asyncio.run(all_of())


def together(made: HFReader, questions: Sequence[Request]) -> list[Any]:
    async def all_of() -> list[Any]:
        waiting = (made.read(one) for one in questions)
        return await asyncio.gather(*waiting, return_exceptions=True)

    return finished(made, all_of())


def one_by_one(made: HFReader, questions: Sequence[Request]) -> list[Reply]:
    async def all_of() -> list[Reply]:
        return [await made.read(one) for one in questions]

    return finished(made, all_of())


def answer(made: HFReader, request: Request | None = None) -> Reply:
    return one_by_one(made, [request or question()])[0]


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
    draws = Draws(dice, temperature, top_k, top_p, "float32")
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

    monkeypatch.setattr(hf_model, "Draws", Scripted)
    reply = answer(reader(changed))
    assert (reply.reasoning, reply.text, reply.finish) == ("the left lobe", "B", "stop")
    assert reply.usage.output_tokens == len(said)


# ---- going away, closing -------------------------------------------------------------------


def test_who_goes_away_stops_the_writing_and_harms_nobody_else(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cancelled alone, a row ends and the others are answered; cancelled all, the writing ends."""
    steps = 0

    class Counting(Draws):
        def __call__(self, input_ids: Any, scores: Any) -> Any:
            nonlocal steps
            steps += 1
            # No end before the limit: only going away can stop it.
            scores[:, :11] = float("-inf")
            return super().__call__(input_ids, scores)

    async def started(made: HFReader, numbers: Sequence[int]) -> list[asyncio.Task[Reply]]:
        tasks = [asyncio.create_task(made.read(question(n))) for n in numbers]
        begin = steps
        while steps < begin + 3:
            await asyncio.sleep(0.001)
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

    monkeypatch.setattr(hf_model, "Draws", Counting)
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
        return hf_loading.load_model(folder, device, dtype)

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


# ---- too much, and other trouble -----------------------------------------------------------


def too_much(made: HFReader, limit: int, sizes: list[int]) -> None:
    """Let the reader's model run out of memory above so many rows."""
    import torch

    load = made._loaded

    def loaded() -> Any:
        local = load()
        generate = local._model.generate

        def limited(**inputs: Any) -> Any:
            sizes.append(len(inputs["input_ids"]))
            if sizes[-1] > limit:
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB")
            return generate(**inputs)

        local._model.generate = limited
        return local

    made._loaded = loaded  # type: ignore[method-assign]


def test_a_batch_too_large_for_the_memory_is_halved(model: Path) -> None:
    """Six rows where two fit: every question is answered as it would be alone."""
    questions = [question(n, pictures=1 + n % 3) for n in range(6)]
    sizes: list[int] = []
    made = reader(model, batch=6)
    too_much(made, 2, sizes)
    replies = together(made, questions)
    alone = one_by_one(reader(model, batch=1), questions)
    assert [reply.text for reply in replies] == [reply.text for reply in alone]
    assert sizes[:3] == [6, 3, 1]
    assert sum(size for size in sizes if size <= 2) == 6


def test_after_a_while_larger_batches_are_tried_again(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One case too large does not make every later batch small."""
    monkeypatch.setattr(hf_model, "_PATIENCE", 2)
    sizes: list[int] = []
    made = reader(model, batch=2)
    too_much(made, 1, sizes)

    async def go_on() -> None:
        for _ in range(4):
            await asyncio.gather(made.read(question(1)), made.read(question(2)))

    finished(made, go_on())
    assert sizes == [2, 1, 1, 2, 1, 1, 2, 1, 1, 2, 1, 1]


def test_a_question_too_large_by_itself_fails_with_a_sentence(model: Path) -> None:
    """What does not even fit alone is an error of its case, with what to do about it."""
    made = reader(model)
    too_much(made, 0, [])
    replies = together(made, [question(), question(1)])
    assert [type(reply) for reply in replies] == [ReaderError, ReaderError]
    assert "max_pixels" in str(replies[0])


def test_a_bad_picture_fails_alone(model: Path) -> None:
    """Who asks with what is no picture gets a sentence; the others get their answers."""
    good = question(1)
    for data in (b"\x89PNG no picture", png(1, 9, 9)[:-30], b"GIF89a" + bytes(20)):
        replies = together(reader(model), [good, asked_of([data], "which lobe"), good])
        assert isinstance(replies[1], ReaderError)
        assert "image-1" in str(replies[1])
        assert replies[0].text == replies[2].text


def test_words_that_look_like_a_picture_fail_alone(model: Path) -> None:
    """A question whose words pretend to be a picture cannot take its neighbour's."""
    good, bad = question(1), question(2, words="<picture-begin> which lobe")
    replies = together(reader(model), [good, bad, good])
    assert isinstance(replies[1], ReaderError)
    assert "\n" not in str(replies[1])
    assert replies[0].text == replies[2].text == answer(reader(model), good).text


def test_a_question_longer_than_the_model_reads_fails_alone(changed: Path) -> None:
    """The limit of the model's configuration is kept, answer included."""
    config = json.loads((changed / "config.json").read_text())
    config["text_config"]["max_position_embeddings"] = 100
    (changed / "config.json").write_text(json.dumps(config))
    questions = [question(1), question(2, words="lung " * 95)]
    short, long = together(reader(changed), questions)
    assert isinstance(short, Reply)
    assert isinstance(long, ReaderError)
    assert "100 at most" in str(long)


def test_a_model_that_computes_no_numbers_says_so(model: Path) -> None:
    """NaN is an error with a remedy, not an answer."""
    made = reader(model)
    load = made._loaded

    def loaded() -> Any:
        local = load()
        local._model.lm_head.weight.data.fill_(float("nan"))
        return local

    made._loaded = loaded  # type: ignore[method-assign]
    with pytest.raises(ReaderError, match="NaN"):
        answer(made)


def test_a_device_that_failed_ends_the_run_rather_than_every_case(model: Path) -> None:
    """After a CUDA error nothing works in this process: it is no fault of the cases."""
    import torch

    made = reader(model)
    load = made._loaded

    def loaded() -> Any:
        local = load()

        def failing(**_: Any) -> Any:
            raise getattr(torch, "AcceleratorError", RuntimeError)(
                "CUDA error: device-side assert triggered"
            )

        local._model.generate = failing
        return local

    made._loaded = loaded  # type: ignore[method-assign]
    with pytest.raises(UsageError, match="goes on where this one stopped"):
        answer(made)


# ---- folders and machines ------------------------------------------------------------------


def test_a_device_that_is_not_there_is_refused_when_the_reader_is_made(model: Path) -> None:
    """The sentence says what there is."""
    with pytest.raises(UsageError, match="there is cpu") as caught:
        reader(model, device="cuda:99")
    assert "'cuda:99'" in str(caught.value)


def test_types_of_numbers_are_part_of_the_identity(model: Path) -> None:
    """On a CPU the default is float32; what is asked for is computed in."""
    assert reader(model).dtype == "float32"
    made = reader(model, dtype="bfloat16")
    assert made.identity != reader(model).identity
    assert isinstance(answer(made), Reply)


def test_the_identity_tells_what_changes_answers_and_no_path(model: Path, tmp_path: Path) -> None:
    """Neither the place, nor the batch, nor the device is in it; every parameter is."""
    plain = reader(model).identity
    copy = Path(shutil.copytree(model, tmp_path / "elsewhere" / model.name))
    assert reader(copy, batch=3, wait_ms=7).identity == plain
    assert str(tmp_path) not in json.dumps(reader(copy).identity)
    drawn = reader(model, temperature=0.5).identity
    others = [
        plain,
        drawn,
        reader(model, max_new_tokens=11).identity,
        reader(model, max_pixels=4096).identity,
        *(
            reader(model, temperature=0.5, **{name: value}).identity
            for name, value in (("top_p", 0.9), ("top_k", 4), ("seed", 2))
        ),
    ]
    assert len({json.dumps(one, sort_keys=True) for one in others}) == len(others)


def test_settings_for_sampling_in_the_folder_are_put_away(changed: Path, model: Path) -> None:
    """Only the reader's own arguments steer how it draws and what it may repeat."""
    path = changed / "generation_config.json"
    told = json.loads(path.read_text())
    told |= {"do_sample": True, "temperature": 1.9, "top_k": 3, "repetition_penalty": 5.0}
    path.write_text(json.dumps(told))
    questions = several()
    ours = together(reader(changed), questions)
    assert [reply.text for reply in ours] == [r.text for r in together(reader(model), questions)]


def _without_template(path: Path) -> None:
    (path / "chat_template.jinja").unlink()


def _blind(path: Path) -> None:
    template = path / "chat_template.jinja"
    template.write_text(template.read_text().replace("<picture-begin>", ""))


def _without_processor(path: Path) -> None:
    (path / "preprocessor_config.json").unlink()
    (path / "processor_config.json").unlink()


def _some_weights(path: Path) -> None:
    numpy_files = importlib.import_module("safetensors.numpy")
    load_file, save_file = numpy_files.load_file, numpy_files.save_file
    file = path / "model.safetensors"
    kept = {name: part for name, part in load_file(file).items() if "o_proj" not in name}
    save_file(kept, file, metadata={"format": "pt"})


def _text_only(path: Path) -> None:
    config = {"model_type": "llama", "hidden_size": 8, "num_hidden_layers": 1}
    (path / "config.json").write_text(json.dumps(config))


def _unheard_of(path: Path) -> None:
    (path / "config.json").write_text(json.dumps({"model_type": "tomorrows_vl"}))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_without_template, "chat template"),
        (_blind, "no place for pictures"),
        (_without_processor, ""),
        (_some_weights, "o_proj"),
        (_text_only, "'llama'"),
        (_unheard_of, "'tomorrows_vl'"),
    ],
)
def test_what_is_no_whole_model_is_refused_in_one_sentence(
    changed: Path, change: Callable[[Path], None], words: str
) -> None:
    """It concerns every case, so it is told once, and no weight is made up."""
    change(changed)
    made = reader(changed)
    replies = together(made, [question(), question(1)])
    for reply in replies:
        assert isinstance(reply, UsageError)
        assert words in str(reply)
        assert reply.remedy
        assert "\n" not in str(reply)


def test_code_that_comes_with_a_model_is_never_run(changed: Path, tmp_path: Path) -> None:
    """A folder that brings its own classes is refused, and its files are not imported."""
    proof = tmp_path / "ran"
    (changed / "mine.py").write_text(f"open({str(proof)!r}, 'w')\nclass Mine: ...\n")
    mapped = {"AutoConfig": "mine.Mine", "AutoModelForImageTextToText": "mine.Mine"}
    config = {"model_type": "mine", "auto_map": mapped}
    (changed / "config.json").write_text(json.dumps(config))
    for name in ("preprocessor_config.json", "processor_config.json", "tokenizer_config.json"):
        told = json.loads((changed / name).read_text())
        told |= {"auto_map": {"AutoProcessor": "mine.Mine", "AutoTokenizer": ["mine.Mine", None]}}
        (changed / name).write_text(json.dumps(told))
    with pytest.raises(UsageError, match="never run"):
        answer(reader(changed))
    assert not proof.exists()


def test_large_pictures_are_scaled_down_as_told() -> None:
    """No side is bent, and the number of pixels is kept to."""
    request = asked_of([png(1, 300, 100)], "which lobe")
    part = request.messages[0].parts[0]
    assert isinstance(part, Shown)
    assert hf_model.opened(request, part, None).size == (300, 100)
    small = hf_model.opened(request, part, 4096)
    assert small.width * small.height <= 4096
    assert abs(small.width / small.height - 3) < 0.1
    assert small.mode == "RGB"


# ---- in a run ------------------------------------------------------------------------------


def test_a_run_with_a_model_that_makes_no_sense_loses_no_case(
    model: Path, sketch: Path, tmp_path: Path
) -> None:
    """Every case has a reading, an answer or the reason why none; a second run asks nothing."""
    from overread.runs.engine import Plan, run
    from overread.runs.store import last_readings

    arguments = {"model": str(model), "device": "cpu", "max_new_tokens": "24", "temperature": "1"}
    plan = Plan(
        "medthinkvqa",
        sketch / "medthinkvqa",
        "hf",
        arguments,
        repeat=4,
        cache=tmp_path / "replies.sqlite",
    )
    outcome = run(plan, tmp_path / "run")
    readings = list(last_readings(tmp_path / "run").values())
    assert outcome.complete
    assert not outcome.tally.bugs
    assert len(readings) == outcome.tally.total == 8
    for reading in readings:
        assert (reading.choice is None) != (reading.error is None)
        assert reading.exchanges
        for exchange in reading.exchanges:
            assert exchange.reply is not None
            assert exchange.reply.usage.pictures > 0
    assert str(model) not in json.dumps(dict(outcome.spec.reader.identity))
    again = run(plan, tmp_path / "again")
    assert again.tally.spent.calls == 0
    assert again.tally.spent.cached == outcome.tally.spent.calls
