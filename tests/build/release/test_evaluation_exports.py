"""Exports for VLMEvalKit and lmms-eval: what they read, what they score, and whose answers they get."""

from __future__ import annotations

import base64
import csv
import importlib.util
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from PIL import Image

import overread
from overread.build.release import lmms_eval_task
from overread.build.release.export_formats import export_release
from overread.build.release.lmms_eval_task import find_letter
from overread.errors import UsageError
from overread.prompts.replies import letter_parser
from tests.jsonl_rows import read_rows, write_rows

csv.field_size_limit(sys.maxsize)


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_a_table_has_pictures_options_and_the_answer(sketch: Path, tmp_path: Path) -> None:
    """Cell by cell against the release; every picture opens."""
    root = sketch / "medthinkvqa"
    export_release("vlmevalkit", "medthinkvqa", root, tmp_path / "out", split="train")
    rows = table(tmp_path / "out/overread_medthinkvqa_train.tsv")
    entries = list(overread.load("medthinkvqa", root, "train").entries())
    assert [row["index"] for row in rows] == [str(n) for n in range(len(entries))]
    for row, entry in zip(rows, entries, strict=True):
        assert entry.truth is not None
        assert row["id"] == entry.case.id
        assert {letter: row[letter] for letter in "ABCDE"} == {o.letter: o.text for o in entry.case.options}
        assert row["answer"] == entry.truth.answer
        assert entry.case.history is not None
        assert entry.case.history.strip() in row["question"]
        images = json.loads(row["image"]) if row["image"].startswith("[") else [row["image"]]
        assert len(images) == len(entry.case.pictures)
        for image in images:
            Image.open(io.BytesIO(base64.b64decode(image))).verify()


@pytest.mark.parametrize("name", ["vlmevalkit", "lmms-eval"])
def test_the_answers_of_test_are_given_only_when_asked(sketch: Path, tmp_path: Path, name: str) -> None:
    """Without the flag there is no word of the test split; with it alone the split can be written."""
    root = sketch / "medthinkvqa"
    export_release(name, "medthinkvqa", root, tmp_path / "out")
    assert not [path for path in (tmp_path / "out").rglob("*") if "test" in path.name]
    with pytest.raises(UsageError, match=r"nothing without the truth.*--with-test-truth"):
        export_release(name, "medthinkvqa", root, tmp_path / "more", split="test")
    done = export_release(name, "medthinkvqa", root, tmp_path / "more", split="test", with_test_truth=True)
    assert done.cases == {"test": 2}
    with pytest.raises(UsageError, match="no diagnoses to choose from"):
        export_release(name, "mmrad", sketch / "mmrad", tmp_path / "other")


def test_an_option_that_pandas_takes_for_nothing_is_named(
    copy: Callable[[str], Path], tmp_path: Path
) -> None:
    """'None' would be an empty cell: that case is left out with its reason."""
    root = copy("medthinkvqa")
    rows = read_rows(root / "train.jsonl")
    options = rows[0]["options"]
    options = json.loads(options) if isinstance(options, str) else options
    rows[0]["options"] = {letter: "None" if letter == "C" else text for letter, text in options.items()}
    write_rows(root / "train.jsonl", rows)
    done = export_release("vlmevalkit", "medthinkvqa", root, tmp_path / "out", split="train")
    assert list(done.left_out) == ["train case00001"]
    assert "option C, 'None'" in done.left_out["train case00001"]


def loaded(path: Path) -> ModuleType:
    """The functions beside a task, loaded as lmms-eval loads them: by their file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_task_shows_asks_and_scores(sketch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From another folder: pictures open, the question has the options, the right letter counts."""
    root, out = sketch / "medthinkvqa", tmp_path / "out"
    export_release("lmms-eval", "medthinkvqa", root, out, split="train")
    page = (out / "overread_medthinkvqa_train.yaml").read_text("utf-8")
    assert f'train: "{(out / "train.jsonl").resolve()}"' in page
    monkeypatch.chdir(tmp_path)
    functions = loaded(out / "overread_choices.py")
    assert Path(lmms_eval_task.__file__).read_bytes() == (out / "overread_choices.py").read_bytes()
    entries = overread.load("medthinkvqa", root, "train").entries()
    for row, entry in zip(read_rows(out / "train.jsonl"), entries, strict=True):
        assert len(functions.doc_to_visual(row)) == len(entry.case.pictures)
        text = functions.doc_to_text(row, {"post_prompt": "!"})
        assert text.endswith("!")
        assert all(f"{option.letter}. {option.text}" in text for option in entry.case.options)
        assert entry.truth is not None
        right = json.dumps({"answer": entry.truth.answer, "explanation": "A is not"})
        wrong = "B" if entry.truth.answer == "A" else "A"
        assert functions.process_results(row, [right]) == {"accuracy": 1.0}
        assert functions.process_results(row, [f"The answer is {wrong}."]) == {"accuracy": 0.0}
        assert functions.process_results(row, ["I cannot tell."]) == {"accuracy": 0.0}


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ('{"answer": "B", "explanation": "A is wrong"}', "B"),
        ('```json\n{"answer": "b"}\n```', "B"),
        ('{"answer": "C. Sarcoid"}', "C"),
        ("D", "D"),
        ("The answer is (E).", "E"),
        ("A patient with a cough. Hence C", "C"),
        ("It's none of them", None),
        ("", None),
        ('{"answer": ""}', None),
        ('{"answer": "Z"}', None),
    ],
)
def test_the_letter_of_a_reply(reply: str, letter: str | None) -> None:
    """What is found in a reply: in its JSON, else the last letter that stands alone."""
    assert find_letter(reply, list("ABCDE")) == letter


def test_a_reply_as_it_was_asked_for_is_read_as_the_house_reads_it(sketch: Path) -> None:
    """Each letter in JSON: lmms-eval and `overread run` count the same one."""
    options = next(iter(overread.load("medthinkvqa", sketch / "medthinkvqa", "train"))).options
    for option in options:
        reply = json.dumps({"answer": option.letter, "explanation": "A or B, perhaps E"})
        assert find_letter(reply, list("ABCDE")) == letter_parser(options)(reply).value == option.letter
