"""The reader `hf` in trouble: too little memory, bad questions, bad folders; and in a run."""

from __future__ import annotations

import asyncio
import importlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from overread.core import Reply, SentImage
from overread.errors import ReaderError, UsageError
from overread.readers.hf import model as hf_model
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

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("nobody_outside")]


# ---- too much, and other trouble -----------------------------------------------------------


def too_much(made: HFReader, limit: int, sizes: list[int]) -> None:
    """Let the reader's model run out of memory above so many rows."""
    import torch

    load = made._load_model

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

    made._load_model = loaded  # type: ignore[method-assign]


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


def test_after_a_while_larger_batches_are_tried_again(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One case too large does not make every later batch small."""
    monkeypatch.setattr(hf_model, "_SUCCESSES_TO_GROW", 2)
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
    load = made._load_model

    def loaded() -> Any:
        local = load()
        local._model.lm_head.weight.data.fill_(float("nan"))
        return local

    made._load_model = loaded  # type: ignore[method-assign]
    with pytest.raises(ReaderError, match="NaN"):
        answer(made)


def test_a_device_that_failed_ends_the_run_rather_than_every_case(model: Path) -> None:
    """After a CUDA error nothing works in this process: it is no fault of the cases."""
    import torch

    made = reader(model)
    load = made._load_model

    def loaded() -> Any:
        local = load()

        def failing(**_: Any) -> Any:
            raise getattr(torch, "AcceleratorError", RuntimeError)("CUDA error: device-side assert triggered")

        local._model.generate = failing
        return local

    made._load_model = loaded  # type: ignore[method-assign]
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
    assert isinstance(part, SentImage)
    assert hf_model.decode_picture(request, part, None).size == (300, 100)
    small = hf_model.decode_picture(request, part, 4096)
    assert small.width * small.height <= 4096
    assert abs(small.width / small.height - 3) < 0.1
    assert small.mode == "RGB"


# ---- in a run ------------------------------------------------------------------------------


def test_a_run_with_a_model_that_makes_no_sense_loses_no_case(
    model: Path, sketch: Path, tmp_path: Path
) -> None:
    """Every case has a reading, an answer or the reason why none; a second run asks nothing."""
    from overread.runs.engine import RunPlan, run
    from overread.runs.store import last_readings

    arguments = {"model": str(model), "device": "cpu", "max_new_tokens": "24", "temperature": "1"}
    plan = RunPlan(
        "medthinkvqa", sketch / "medthinkvqa", "hf", arguments, repeat=4, cache=tmp_path / "replies.sqlite"
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
