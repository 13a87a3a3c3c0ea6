"""Chat-style and interleaved exports: what a model is asked, shown and taught."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import overread
from overread.build.release.chat_styles import STYLES
from overread.build.release.export_formats import FORMATS, export_release
from overread.errors import UsageError
from overread.prompts.replies import json_parser, letter_parser
from overread.workflows.blocks import Blocks
from tests.jsonl_rows import read_rows, write_rows


def texts(message: dict[str, Any]) -> str:
    """The words of one message of typed parts."""
    return "".join(part["text"] for part in message["content"] if part["type"] == "text")


def test_diagnosis_chats_ask_as_the_house_asks(sketch: Path, tmp_path: Path) -> None:
    """System, pictures, question, answer; the answer is read as a run would read it."""
    export_release("chat", "medthinkvqa", sketch / "medthinkvqa", tmp_path / "out")
    rows = read_rows(tmp_path / "out/train.jsonl")
    entries = overread.load("medthinkvqa", sketch / "medthinkvqa", "train").entries()
    for row, entry in zip(rows, entries, strict=True):
        system, user, assistant = row["messages"]
        assert [m["role"] for m in (system, user, assistant)] == ["system", "user", "assistant"]
        shown = [part["image"] for part in user["content"] if part["type"] == "image"]
        assert shown == row["images"]
        assert len(shown) == len(entry.case.pictures)
        for file in shown:
            with Image.open(tmp_path / "out" / file) as image:
                image.verify()
        assert entry.case.history is not None
        assert entry.case.history in texts(user)
        assert all(option.text in texts(user) for option in entry.case.options)
        assert entry.truth is not None
        assert letter_parser(entry.case.options)(texts(assistant)).value == entry.truth.answer


@pytest.mark.parametrize("benchmark", ["medthinkvqa", "rexgroundingct", "mmrad"])
@pytest.mark.parametrize("style", list(STYLES))
def test_test_cases_are_asked_and_not_answered(
    sketch: Path, tmp_path: Path, benchmark: str, style: str
) -> None:
    """No word of the hidden truth is in the lines of test, and none has an answer."""
    root = sketch / benchmark
    export_release("chat", benchmark, root, tmp_path / "out", style=style, split="test")
    for row in read_rows(tmp_path / "out/test.jsonl"):
        turns = row.get("messages") or row["conversations"]
        assert turns[-1].get("role", turns[-1].get("from")) in ("user", "human")
    written = (tmp_path / "out/test.jsonl").read_text("utf-8")
    for entry in overread.load(benchmark, root, "test").entries():
        assert entry.truth is not None
        for words in (entry.truth.report, entry.truth.discussion, entry.truth.title):
            assert not words or json.dumps(words)[1:-1] not in written
    export_release(
        "chat", benchmark, root, tmp_path / "more", style=style, split="test", with_test_truth=True
    )
    assert all(
        (row.get("messages") or row["conversations"])[-1].get("role", "gpt") in ("assistant", "gpt")
        for row in read_rows(tmp_path / "more/test.jsonl")
    )


def test_llava_has_a_mark_for_every_picture(sketch: Path, tmp_path: Path) -> None:
    """Marks and pictures agree in number; one picture is a name, several are a list."""
    for benchmark, many in (("medthinkvqa", True), ("mmrad", False)):
        out = tmp_path / benchmark
        export_release("chat", benchmark, sketch / benchmark, out, style="llava", split="train")
        for row in read_rows(out / "train.jsonl"):
            human, gpt = row["conversations"]
            assert (human["from"], gpt["from"]) == ("human", "gpt")
            files = row["image"] if many else [row["image"]]
            assert human["value"].count("<image>") == len(files)
            assert all((out / file).is_file() for file in files)


def test_a_text_with_the_mark_of_a_picture_is_left_out(copy: Callable[[str], Path], tmp_path: Path) -> None:
    """LLaVA's mark within a history would shift all pictures: that case is named, the other goes."""
    root = copy("medthinkvqa")
    rows = read_rows(root / "train.jsonl")
    rows[0]["CLINICAL_HISTORY"] = "see <image> above"
    write_rows(root / "train.jsonl", rows)
    done = export_release("chat", "medthinkvqa", root, tmp_path / "out", style="llava")
    assert list(done.left_out) == ["train case00001"]
    assert done.cases["train"] == 1
    assert not (tmp_path / "out/images/train/case00001").exists()


def test_sentences_to_be_found_have_boxes_for_answers(sketch: Path, tmp_path: Path) -> None:
    """A line for each sentence, a montage, and boxes that the house can read."""
    root = sketch / "rexgroundingct"
    export_release("chat", "rexgroundingct", root, tmp_path / "out", split="train")
    rows = read_rows(tmp_path / "out/train.jsonl")
    entries = list(overread.load("rexgroundingct", root, "train").entries())
    wanted = [(e.case.id, f) for e in entries if e.truth for f in e.truth.findings]
    assert [row["id"] for row in rows] == [f"{case}-q{f.query}" for case, f in wanted]
    for row, (_, finding) in zip(rows, wanted, strict=True):
        assert finding.text in texts(row["messages"][1])
        blocks = json_parser(Blocks)(texts(row["messages"][2])).value.blocks
        assert len(blocks) == finding.entities


def test_interleaved_records_are_the_records_of_the_release(sketch: Path, tmp_path: Path) -> None:
    """Prompt and response are letter by letter those of the rows; segments say the same."""
    root = sketch / "mmrad"
    export_release("anole", "mmrad", root, tmp_path / "out")
    own = read_rows(root / "train.jsonl")
    made = read_rows(tmp_path / "out/train.jsonl")
    for row, back in zip(own, made, strict=True):
        assert (back["prompt"], back["response"]) == (row["prompt"], row["response"])
        assert len(back["images"]) == len(row["images"])
        assert back["prompt"].count("<image>") + back["response"].count("<image>") == len(back["images"])
        shown = [part["image"] for part in back["segments"] if part["type"] == "image"]
        assert shown == back["images"]
        kinds = [part["type"] for part in back["segments"] if part["side"] == "response"]
        assert kinds == ["text", "image", "text", "image", "text"]
        for file, original in zip(back["images"], row["images"], strict=True):
            with Image.open(tmp_path / "out" / file) as a, Image.open(root / original) as b:
                assert a.tobytes() == b.tobytes()


def test_interleaved_test_records_end_with_the_film(sketch: Path, tmp_path: Path) -> None:
    """No response, no crop, no word of the trace."""
    export_release("anole", "mmrad", sketch / "mmrad", tmp_path / "out", split="test")
    for row in read_rows(tmp_path / "out/test.jsonl"):
        assert "response" not in row
        assert len(row["images"]) == 1
        assert [part["side"] for part in row["segments"]] == ["prompt", "prompt"]
    assert not list((tmp_path / "out").rglob("crop-*"))


def test_looks_without_a_crop_get_one_from_the_film(sketch: Path, tmp_path: Path) -> None:
    """A question row with a box in its thinking: the box is cut out and stands after its mention."""
    root = tmp_path / "thinkvg"
    root.mkdir()
    film = next((sketch / "mmrad").rglob("problem_image_1.jpg"))
    shutil.copy(film, root / "a.jpg")
    response = "<think>The heart is large (cardiac silhouette [20, 30, 60, 90]).</think><answer>Yes</answer>"
    row = {"image_path": "a.jpg", "question": "Is the heart large?", "response": response}
    write_rows(root / "train.jsonl", [row])
    export_release("anole", "mmrad", root, tmp_path / "out")
    (made,) = read_rows(tmp_path / "out/train.jsonl")
    before, _, after = made["response"].partition("<image>")
    assert before.endswith("(cardiac silhouette [20, 30, 60, 90])")
    assert before + after == response
    with Image.open(tmp_path / "out" / made["images"][1]) as crop:
        assert crop.size == (40, 60)
    export_release("chat", "mmrad", root, tmp_path / "chat")
    (chat,) = read_rows(tmp_path / "chat/train.jsonl")
    assert json.loads(texts(chat["messages"][2]))["answer"] == "Yes"


def test_formats_say_whom_they_are_for(sketch: Path, tmp_path: Path) -> None:
    """Traces are asked of a benchmark that has none, or an unknown style: one sentence each."""
    with pytest.raises(UsageError, match="MedThinkVQA has no traces of looks"):
        export_release("anole", "medthinkvqa", sketch / "medthinkvqa", tmp_path / "out")
    with pytest.raises(UsageError, match="no style is called 'lava': did you mean 'llava'"):
        export_release("chat", "mmrad", sketch / "mmrad", tmp_path / "out", style="lava")
    with pytest.raises(UsageError, match="one style only"):
        export_release("anole", "mmrad", sketch / "mmrad", tmp_path / "out", style="qwen")
    assert not (tmp_path / "out").exists()


def test_every_style_that_is_offered_is_written() -> None:
    """What `--style` takes and what the writer knows are one list."""
    assert FORMATS["chat"].styles == tuple(STYLES)


def test_trl_rows_are_pictures_and_texts_to_the_package_datasets(
    sketch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`load_dataset("DIR")` from another folder: decoded pictures, plain texts, no key but these.

    TRL takes a part with an `image` key for one that holds its picture already, and a table gives
    every part every key: so there must be no parts.
    """
    datasets = pytest.importorskip("datasets")
    out = tmp_path / "out"
    export_release("chat", "medthinkvqa", sketch / "medthinkvqa", out, style="trl")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    told = datasets.load_dataset(str(out), cache_dir=str(tmp_path / "cache"))
    assert sorted(told) == ["test", "train"]
    entries = overread.load("medthinkvqa", sketch / "medthinkvqa", "train").entries()
    for row, entry in zip(told["train"], entries, strict=True):
        assert set(row) == {"id", "messages", "images"}
        assert [m["role"] for m in row["messages"]] == ["system", "user", "assistant"]
        assert all(isinstance(m["content"], str) and set(m) == {"role", "content"} for m in row["messages"])
        assert not any("<image>" in m["content"] for m in row["messages"])
        assert len(row["images"]) == len(entry.case.pictures)
        assert all(
            isinstance(image, Image.Image) and image.getpixel((0, 0)) is not None for image in row["images"]
        )


def test_swift_rows_have_marks_and_whole_paths(sketch: Path, tmp_path: Path) -> None:
    """A mark for each picture before the question, and each picture by its whole path."""
    out = tmp_path / "out"
    export_release("chat", "medthinkvqa", sketch / "medthinkvqa", out, style="ms-swift")
    for row in read_rows(out / "train.jsonl"):
        assert row["messages"][1]["content"].startswith("<image>" * len(row["images"]) + "\n")
        assert all(Path(file).is_absolute() and Path(file).is_file() for file in row["images"])
        assert all(Path(file).is_relative_to(out.resolve()) for file in row["images"])


def test_llama_factory_finds_rows_by_its_registry(sketch: Path, tmp_path: Path) -> None:
    """Each split with answers is registered; pictures are named from the folder of the registry."""
    out = tmp_path / "out"
    done = export_release("chat", "mmrad", sketch / "mmrad", out, style="llama-factory")
    known = json.loads((out / "dataset_info.json").read_text("utf-8"))
    assert list(known) == ["mmrad_train"]  # test has no answers here
    assert any("test.jsonl has no answers" in note for note in done.notes)
    (entry,) = known.values()
    rows = read_rows(out / entry["file_name"])
    for row in rows:
        turns = row[entry["columns"]["messages"]]
        roles = [turn[entry["tags"]["role_tag"]] for turn in turns]
        assert roles == [entry["tags"][f"{who}_tag"] for who in ("system", "user", "assistant")]
        pictures = row[entry["columns"]["images"]]
        assert turns[1][entry["tags"]["content_tag"]].count("<image>") == len(pictures) > 0
        assert all((out / file).is_file() for file in pictures)
    more = tmp_path / "more"
    export_release("chat", "mmrad", sketch / "mmrad", more, style="llama-factory", with_test_truth=True)
    assert list(json.loads((more / "dataset_info.json").read_text("utf-8"))) == ["mmrad_train", "mmrad_test"]


@pytest.mark.parametrize("style", ["trl", "ms-swift", "llama-factory"])
@pytest.mark.parametrize("mark", ["<image>", "<video>"])
def test_a_text_with_a_mark_is_left_out_where_the_mark_means_something(
    copy: Callable[[str], Path], tmp_path: Path, style: str, mark: str
) -> None:
    """A history that holds what a program would put something else for: that case is named."""
    root = copy("medthinkvqa")
    rows = read_rows(root / "train.jsonl")
    rows[0]["CLINICAL_HISTORY"] = f"see {mark} above"
    write_rows(root / "train.jsonl", rows)
    done = export_release("chat", "medthinkvqa", root, tmp_path / "out", style=style)
    harmless = style == "trl" and mark == "<video>"
    assert list(done.left_out) == ([] if harmless else ["train case00001"])


@pytest.mark.parametrize(("root", "begin"), [("/data/chest/", "/data/chest/images/"), ("", "images/")])
def test_pictures_can_be_named_for_another_place(sketch: Path, tmp_path: Path, root: str, begin: str) -> None:
    """`image_root` stands before every name, in any style; nothing leaves names relative."""
    for style in STYLES:
        out = tmp_path / style
        export_release("chat", "mmrad", sketch / "mmrad", out, style=style, image_root=root)
        for row in read_rows(out / "train.jsonl"):
            named = row.get("images") or [row["image"]]
            assert all(file.startswith(begin) for file in named)
            assert all((out / file.removeprefix(root)).is_file() for file in named)
    with pytest.raises(UsageError, match="drop --image-root"):
        export_release("parquet", "mmrad", sketch / "mmrad", tmp_path / "p", image_root=root)
