"""The questions of a folder: those of a build's ledger, or a file of lines where there is none."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from overread.build.item import Question
from overread.build.ledger.questions import load_ledger_questions
from overread.build.ledger.tables import LEDGER_FILE
from overread.errors import OverreadError
from overread.storage.atomic import open_atomic

QUESTIONS_FILE = "questions.jsonl"


def has_questions(folder: Path) -> bool:
    """Whether anybody wrote down what is asked in this folder."""
    return (folder / LEDGER_FILE).is_file() or (folder / QUESTIONS_FILE).is_file()


def load_questions(folder: Path) -> list[Question]:
    """The questions of a folder, in their order; a line that is none ends it, with its number."""
    if (folder / LEDGER_FILE).is_file():
        return load_ledger_questions(folder)
    path = folder / QUESTIONS_FILE
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise OverreadError(
            "this folder has no adjudication questions",
            where=str(folder),
            remedy="give a folder that `overread build` wrote, or one with a questions.jsonl",
        ) from None
    except OSError as error:
        raise OverreadError(f"the questions cannot be read ({error.strerror})", where=str(path)) from None
    found = []
    for number, line in enumerate(raw.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            found.append(Question.model_validate_json(line))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            part = ".".join(map(str, first["loc"])) or "the line"
            raise OverreadError(
                f"this is no question ({part}: {first['msg']})",
                where=f"{path}, line {number}",
                remedy="each line must be a question as JSON: id, item, kind, text, shown, choices",
            ) from None
    return found


def write_questions(folder: Path, questions: Iterable[Question]) -> Path:
    """Write the questions of a folder that has no ledger, in place of those that were there."""
    path = folder / QUESTIONS_FILE
    with open_atomic(path) as out:
        for question in questions:
            out.write(question.model_dump_json().encode() + b"\n")
    return path
