"""The folder of a local model: what is refused, in one sentence, and what tells two models apart."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from overread.core import Message
from overread.errors import MissingPart, UnknownName, UsageError
from overread.readers.hf.decoding import split_reasoning
from overread.readers.hf.model import build_conversation
from overread.readers.hf.model_folder import open_model_folder
from overread.readers.hf.reader import HFSettings, make

CONFIG = {"model_type": "gemma3", "text_config": {"dtype": "bfloat16"}}


def weights(*tensors: bytes) -> bytes:
    """A safetensors file of these tensors, as its format is described."""
    header, begin = {}, 0
    for number, data in enumerate(tensors):
        span = [begin, begin + len(data)]
        header[f"layer.{number}"] = {"dtype": "U8", "shape": [len(data)], "data_offsets": span}
        begin += len(data)
    told = json.dumps(header).encode()
    return struct.pack("<Q", len(told)) + told + b"".join(tensors)


def folder(path: Path, *tensors: bytes) -> Path:
    """A folder that looks like a model."""
    path.mkdir(parents=True)
    (path / "config.json").write_text(json.dumps(CONFIG))
    (path / "tokenizer.json").write_text("{}")
    (path / "model.safetensors").write_bytes(weights(*(tensors or (b"a" * 9000, b"b" * 40))))
    return path


def test_a_whole_folder_is_known_by_its_name_and_not_by_its_place(tmp_path: Path) -> None:
    """Two copies of a model are the same model, wherever they lie."""
    here, there = folder(tmp_path / "here" / "vl"), folder(tmp_path / "there" / "vl")
    assert open_model_folder(str(here)).digest == open_model_folder(str(there)).digest
    found = open_model_folder(str(here))
    assert (found.name, found.kind, found.dtype) == ("vl", "gemma3", "bfloat16")


def test_other_weights_of_the_same_shape_are_another_model(tmp_path: Path) -> None:
    """A change inside of one tensor changes the digest, though sizes and header stay the same."""
    first = folder(tmp_path / "one", b"a" * 9000, b"b" * 40)
    second = folder(tmp_path / "two", b"a" * 9000, b"c" * 40)
    sizes = {(path / "model.safetensors").stat().st_size for path in (first, second)}
    assert len(sizes) == 1
    assert open_model_folder(str(first)).digest != open_model_folder(str(second)).digest


@pytest.mark.parametrize("name", ["tokenizer.json", "chat_template.jinja", "generation_config.json"])
def test_other_words_around_the_weights_are_another_model(tmp_path: Path, name: str) -> None:
    """The tokenizer, the template and the settings count as much as the weights."""
    path = folder(tmp_path / "vl")
    before = open_model_folder(str(path)).digest
    (path / name).write_text('{"another": 1}')
    assert open_model_folder(str(path)).digest != before


def test_a_model_in_the_hub_cache_is_called_by_its_name_there(tmp_path: Path) -> None:
    """A snapshot's folder is named by a commit; the model is not."""
    path = folder(tmp_path / "models--google--medgemma-4b-it" / "snapshots" / "0f1e2d")
    assert open_model_folder(str(path)).name == "google/medgemma-4b-it"


def _nothing(path: Path) -> None:
    for file in path.iterdir():
        file.unlink()
    path.rmdir()


def _adapter(path: Path) -> None:
    (path / "config.json").rename(path / "adapter_config.json")


def _pickled(path: Path) -> None:
    (path / "model.safetensors").rename(path / "pytorch_model.bin")


def _shards(names: object) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        told = {"weight_map": names}
        (path / "model.safetensors.index.json").write_text(json.dumps(told))

    return change


def _quantised(path: Path) -> None:
    (path / "config.json").write_text(json.dumps(CONFIG | {"quantization_config": {"bits": 4}}))


def _wrote(name: str, data: bytes) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        (path / name).write_bytes(data)

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_nothing, "hf download"),
        (lambda path: (path / "config.json").unlink(), "no config.json"),
        (_adapter, "adapter and no model"),
        (_wrote("config.json", b"[1, 2"), "no JSON object"),
        (_wrote("config.json", b"[" * 100_000), "no JSON object"),
        (_quantised, "quantised"),
        (_pickled, "pickles"),
        (lambda path: (path / "model.safetensors").unlink(), "weights are missing"),
        (_shards({"a": "one.safetensors", "b": "two.safetensors"}), "one.safetensors, two"),
        (_shards({"a": "../elsewhere.safetensors"}), "does not name the files"),
        (_shards({"a": 3}), "does not name the files"),
        (_shards({}), "does not name the files"),
        (_wrote("model.safetensors", weights(b"a" * 900)[:-1]), "no whole safetensors file"),
        (_wrote("model.safetensors", b""), "no whole safetensors file"),
        (_wrote("model.safetensors", b"\xff" * 64), "no whole safetensors file"),
        (_wrote("model.safetensors", struct.pack("<Q", 6) + b'{"a":1'), "no whole safetensors"),
        (_wrote("model.safetensors", b"version https://git-lfs.github.com/spec/v1\n"), "git-lfs"),
    ],
)
def test_a_folder_that_cannot_be_read_from_is_refused_in_one_sentence(
    tmp_path: Path, change: Callable[[Path], None], words: str
) -> None:
    """Every defect ends in a sentence that names it, on one line, with what to do."""
    path = folder(tmp_path / "vl")
    change(path)
    with pytest.raises(UsageError) as caught:
        open_model_folder(str(path))
    assert words in str(caught.value)
    assert caught.value.remedy
    assert "\n" not in str(caught.value)


def test_a_name_of_the_hub_is_not_fetched_but_told_how(tmp_path: Path) -> None:
    """Who gives a hub's name is told where it was looked for and how to fetch it."""
    with pytest.raises(UsageError, match="hf download Qwen/Qwen3-VL-8B --local-dir Qwen3-VL-8B"):
        open_model_folder("Qwen/Qwen3-VL-8B")
    file = tmp_path / "file"
    file.write_text("no folder")
    with pytest.raises(UsageError, match="is a file"):
        open_model_folder(str(file))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"trust_remote_code": "yes"}, "never run"),
        ({"device": "gpu"}, "'device' must be auto, cpu, cuda, cuda:N or mps"),
        ({"dtype": "int8"}, "one of auto, float32, bfloat16, float16"),
        ({"batch": "0"}, "'batch' must be from 1"),
        ({"temperature": "-1"}, "'temperature' must be 0 or more"),
        ({"top_p": "0"}, "'top_p' must be above 0"),
        ({"top_k": "-1"}, "'top_k' must be 0 or more"),
        ({"max_new_tokens": "0"}, "'max_new_tokens' must be 1 or more"),
        ({"max_pixels": "4"}, "'max_pixels' must be 1024 or more"),
        ({"wait_ms": "-1"}, "'wait_ms' must be from 0"),
        ({"model": " "}, "'model' must be a folder"),
    ],
)
def test_arguments_that_cannot_be_are_refused(given: dict[str, str], words: str) -> None:
    """A wrong argument is told before the folder is looked at."""
    with pytest.raises(UsageError) as caught:
        make({"model": "nowhere", **given})
    assert words in str(caught.value)


def test_an_unknown_argument_has_its_neighbour_named() -> None:
    """A slip of the pen is answered with the right word."""
    with pytest.raises(UnknownName, match="did you mean 'temperature'"):
        make({"model": "nowhere", "temprature": "0.3"})


def test_without_torch_the_sentence_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine without the packages is told which extra brings them."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingPart, match=r"overread\[models\]"):
        make({"model": str(folder(tmp_path / "vl"))})


def test_every_argument_is_explained() -> None:
    """Each field of the settings has a line of its own below it."""
    import inspect

    source = inspect.getsource(HFSettings)
    for name in HFSettings.__dataclass_fields__:
        line = source.index(f"    {name}: ")
        assert source[line:].split("\n")[1].startswith('    """')


# ---- messages and thoughts -----------------------------------------------------------------


def test_a_system_turn_is_folded_into_the_first_words_of_the_user_only() -> None:
    """Folded words come once, before the user's own; other turns stay as they are."""
    talk = [
        Message(role="system", parts=("Be brief.",)),
        Message(role="user", parts=("What is it?",)),
        Message(role="assistant", parts=("A nodule.",)),
        Message(role="user", parts=("Where?",)),
    ]
    folded = build_conversation(talk, folded=True)
    assert [turn["role"] for turn in folded] == ["user", "assistant", "user"]
    assert [part["text"] for turn in folded for part in turn["content"]] == [
        "Be brief.\n\n",
        "What is it?",
        "A nodule.",
        "Where?",
    ]
    assert build_conversation(talk, folded=False)[0]["role"] == "system"


@pytest.mark.parametrize(
    ("text", "prompt", "thought", "answer"),
    [
        ("B", "", None, "B"),
        ("  B \n", "", None, "  B \n"),
        ("<think>\n\n</think>\n\nB", "", None, "B"),
        ("<think>one</think>B", "", "one", "B"),
        ("one</think>B", "…<think>\n", "one", "B"),
        ("one", "…<think>\n", "one", ""),
        ("First <think>one</think>B", "", "one", "First B"),
        ("[THINK]one[/THINK]B", "", "one", "B"),
        ("<unused94>thought\none<unused95>B", "", "one", "B"),
        ("a < think b > c", "", None, "a < think b > c"),
    ],
)
def test_thoughts_are_kept_apart_from_the_answer(
    text: str, prompt: str, thought: str | None, answer: str
) -> None:
    """Thinking goes to the reasoning, however it is marked, and never into the answer."""
    assert split_reasoning(text, prompt=prompt) == (thought, answer)
