"""How training programs want a question, its pictures and its answer laid out in one line.

Programs disagree on three things: whether a message is a text or a list of typed parts, whether a
mark stands in the text for each picture, and from where the name of a picture is looked up. Each
style is one answer to the three, held against the program's own loader (`docs/works-with.md`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from overread.build.release.export_job import CannotExport, ExportJob
from overread.core.notice import RELEASE_NOTICE
from overread.prompts.interleaved import IMAGE
from overread.storage.system import write_text

REGISTRY = "dataset_info.json"
"""Where LLaMA-Factory looks up what a dataset is called and how its rows are laid out."""


@dataclass(frozen=True)
class ChatTurn:
    """One question and its answer, None where it is hidden."""

    id: str
    system: str
    question: str
    answer: str | None


@dataclass(frozen=True)
class ChatStyle:
    """One way to lay out a line."""

    make_row: Callable[[ChatTurn, list[str]], dict[str, Any]]
    whole_paths: bool = False
    """Whether pictures are named by their whole path: the program looks where it was started."""
    write_description: Callable[[ExportJob], None] | None = None
    """Writes what the program reads beside the rows, where it reads anything."""


def join_root(root: str, file: str) -> str:
    """The name of a picture as a row has it."""
    return f"{root.rstrip('/')}/{file}" if root else file


def _qwen_row(turn: ChatTurn, files: list[str]) -> dict[str, Any]:
    """Messages of typed parts, as Qwen-VL's own processor takes them."""
    shown = [{"type": "image", "image": file} for file in files]
    messages = [
        {"role": "system", "content": [_text_part(turn.system)]},
        {"role": "user", "content": [*shown, _text_part(turn.question)]},
    ]
    if turn.answer is not None:
        messages.append({"role": "assistant", "content": [_text_part(turn.answer)]})
    return {"id": turn.id, "images": files, "messages": messages}


def _text_part(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def _llava_row(turn: ChatTurn, files: list[str]) -> dict[str, Any]:
    """Conversations with a mark for each picture; the template of LLaVA brings its own system."""
    _refuse_marks(turn, (IMAGE,))
    marks = f"{IMAGE}\n" * len(files)
    conversation = [{"from": "human", "value": f"{marks}{turn.question}"}]
    if turn.answer is not None:
        conversation.append({"from": "gpt", "value": turn.answer})
    return {"id": turn.id, "image": files[0] if len(files) == 1 else files, "conversations": conversation}


def _trl_row(turn: ChatTurn, files: list[str]) -> dict[str, Any]:
    """Messages of plain texts: TRL puts the pictures of `images` before the first question itself.

    Typed parts would not do. A table gives each part the keys of all parts, so that a picture's part
    seems to hold a picture already, and one that is nothing.
    """
    _refuse_marks(turn, (IMAGE,))
    return _message_row(turn, files, marks="")


def _marked_row(turn: ChatTurn, files: list[str]) -> dict[str, Any]:
    """Messages of plain texts, a mark for each picture before the question."""
    _refuse_marks(turn, _MEDIA_MARKS)
    return _message_row(turn, files, marks=IMAGE * len(files) + "\n" if files else "")


_MEDIA_MARKS = (IMAGE, "<video>", "<audio>", "<bbox>", "<ref-object>")
"""What ms-swift and LLaMA-Factory put something else for wherever it stands in a text."""


def _message_row(turn: ChatTurn, files: list[str], *, marks: str) -> dict[str, Any]:
    messages = [
        {"role": "system", "content": turn.system},
        {"role": "user", "content": f"{marks}{turn.question}"},
    ]
    if turn.answer is not None:
        messages.append({"role": "assistant", "content": turn.answer})
    return {"id": turn.id, "messages": messages, "images": files}


def _refuse_marks(turn: ChatTurn, marks: tuple[str, ...]) -> None:
    for words in (turn.system, turn.question, turn.answer or ""):
        for mark in marks:
            if mark in words:
                raise CannotExport(f"its text holds '{mark}', which means a picture in this style")


def write_trl_card(job: ExportJob) -> None:
    """`README.md`, which tells the package `datasets` that the names in `images` are pictures.

    `load_dataset("DIR")` then gives pictures, as TRL's examples do, and TRL's own command takes DIR.
    """
    splits = "".join(f"  - split: {split}\n    path: {split}.jsonl\n" for split in job.splits)
    write_text(job.out / "README.md", _TRL_CARD.format(splits=splits, notice=RELEASE_NOTICE))


_TRL_CARD = """---
configs:
- config_name: default
  data_files:
{splits}dataset_info:
  features:
  - name: id
    dtype: string
  - name: messages
    list:
    - name: role
      dtype: string
    - name: content
      dtype: string
  - name: images
    list: image
---

Questions, pictures and answers for TRL's SFTTrainer; see export.json. {notice}
"""


def write_registry(job: ExportJob) -> None:
    """`dataset_info.json`: a dataset a split, by the names of its columns.

    A split whose answers are hidden is not in it, since LLaMA-Factory drops every row without one.
    """
    known: dict[str, Any] = {}
    for split in job.splits:
        if job.hides(split):
            job.notes.append(f"{split}.jsonl has no answers and is not in {REGISTRY}")
            continue
        known[f"{job.benchmark}_{split}"] = {
            "file_name": f"{split}.jsonl",
            "formatting": "sharegpt",
            "columns": {"messages": "messages", "images": "images"},
            "tags": {
                "role_tag": "role",
                "content_tag": "content",
                "user_tag": "user",
                "assistant_tag": "assistant",
                "system_tag": "system",
            },
        }
    text = json.dumps(known, ensure_ascii=False, indent=1) + "\n"
    write_text(job.out / REGISTRY, text)


STYLES = {
    "qwen": ChatStyle(_qwen_row),
    "llava": ChatStyle(_llava_row),
    "trl": ChatStyle(_trl_row, whole_paths=True, write_description=write_trl_card),
    "ms-swift": ChatStyle(_marked_row, whole_paths=True),
    "llama-factory": ChatStyle(_marked_row, write_description=write_registry),
}
