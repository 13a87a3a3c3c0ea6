"""llama.cpp's own server with tiny random models: real runs get through it, or end with a clear reason."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from overread.core import Message
from overread.readers.openai.reader import make
from tests.cli.overread_command import run
from tests.readers.openai.questions import asked, request
from tests.runs.medthinkvqa_cases import write_cases
from tests.works_with.foreign_programs import ROOT, find_program, free_port, serving_program

pytestmark = pytest.mark.slow
MAKER = ROOT / "tools" / "works_with" / "tiny_gguf.py"
WHERE = (".venv-llama", "OVERREAD_LLAMA_PYTHON")
LETTER = "B"  # which the tiny model says wherever it is held to a schema
Start = Callable[..., AbstractContextManager[str]]


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Start:
    """Starts a server with more words of its command line; gives its base URL."""
    program, python = find_program("llama-server", *WHERE), find_program("python", *WHERE)
    folder = tmp_path_factory.mktemp("llama")
    made = subprocess.run([python, MAKER, folder], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr[-3000:]

    @contextmanager
    def starting(*more: str | Path, sees: bool = False) -> Iterator[str]:
        port = free_port()
        words: list[str | Path] = [
            program,
            "--model",
            folder / "words.gguf",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
        ]
        words += ["--ctx-size", "32768", "--parallel", "2", "--threads", "1", "--alias", "tiny"]
        words += ["--mmproj", folder / "sight.gguf"] if sees else []
        address = f"http://127.0.0.1:{port}"
        with serving_program([*words, *more], f"{address}/health", folder / f"log-{port}.txt"):
            yield f"{address}/v1"

    return starting


@pytest.fixture(scope="module")
def words_only(start: Start) -> Iterator[str]:
    """A server whose model has no eyes."""
    with start() as address:
        yield address


def read(address: str, root: Path, out: Path, *more: str) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of a run with everything that we send to anybody."""
    given = {"model": "tiny", "base_url": address, "seed": "3", "temperature": "0.2", "max_tokens": "2000"}
    words = [word for name, value in given.items() for word in ("--reader-arg", f"{name}={value}")]
    return run(
        *("run", "medthinkvqa", root, "--reader", "openai", "--no-cache", "--json", "--out", out),
        *("--max-retries", "1", "--concurrency", "2", *words, *more),
    )


def replies(out: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (out / "readings.jsonl").read_text().splitlines()]
    return [one["reply"] for row in rows for one in row["exchanges"]]


def test_words_are_read_and_the_schema_is_kept(words_only: str, tmp_path: Path) -> None:
    """Its grammar holds even a random model to our schema, so that every case has a letter."""
    code, told, problem = read(words_only, write_cases(tmp_path / "data", 4), tmp_path / "run")
    assert (code, problem) == (0, "")
    found = json.loads(told)
    assert (found["readings"], found["failed"], found["notes"]) == (4, 0, [])
    answered = replies(tmp_path / "run")
    assert {json.loads(reply["text"])["answer"] for reply in answered} == {LETTER}
    assert all(reply.get("asked_without") is None for reply in answered)
    assert all(reply["usage"]["output_tokens"] > 0 for reply in answered)


def test_pictures_end_the_run_of_a_model_without_eyes(words_only: str, sketch: Path, tmp_path: Path) -> None:
    """The server answers 500, which is no reason to ask again; the same cases are read without pictures."""
    root = sketch / "medthinkvqa"
    code, _, problem = read(words_only, root, tmp_path / "run")
    assert code != 0
    assert "the model 'tiny'" in problem
    assert "takes no pictures (500: image input is not supported" in problem
    code, told, problem = read(words_only, root, tmp_path / "words", "--setting", "image_ratio=0")
    assert (code, problem) == (0, "")
    found = json.loads(told)
    assert found["readings"] == found["total"] > 0
    assert found["pictures"] == 0


def test_pictures_are_read_with_eyes(start: Start, sketch: Path, tmp_path: Path) -> None:
    """With --mmproj the same cases are read as they are."""
    with start(sees=True) as address:
        code, told, problem = read(
            address, sketch / "medthinkvqa", tmp_path / "run", "--setting", "longest=56"
        )
    assert (code, problem) == (0, "")
    found = json.loads(told)
    assert found["readings"] == found["total"] > 0
    assert found["failed"] == 0
    assert found["pictures"] > 0


def test_a_schema_that_it_cannot_turn_into_a_grammar_is_left_out(words_only: str) -> None:
    """It is asked again for JSON without one, and says so."""
    bad = {
        "type": "object",
        "properties": {"answer": {"type": "string", "pattern": "^[a-z$"}},
        "required": ["answer"],
    }
    reader = make({"model": "tiny", "base_url": words_only, "max_tokens": "40"})
    question = Message(role="user", parts=("What is it?",))
    only_words = replace(request(schema=bad), messages=(question,), images={})
    reply = asyncio.run(asked(reader, only_words))
    assert reply.asked_without == ("JSON schema",)
    (remark,) = reader.remarks
    assert "refuses a schema of the answer (400" in remark
    assert "it is asked for JSON without one" in remark


def test_a_key_is_asked_for(start: Start, tmp_path: Path) -> None:
    """A server with --api-key refuses who has none, once."""
    with start("--api-key", "sk-of-the-tests-4f1c22") as address:
        code, _, problem = read(address, write_cases(tmp_path / "data", 2), tmp_path / "run")
    assert code != 0
    assert "asks for a key (401)" in problem


def test_a_context_that_is_too_short_is_told(start: Start, tmp_path: Path) -> None:
    """Questions that do not fit are refused one by one, by their length."""
    with start("--ctx-size", "256", "--parallel", "1") as address:
        code, told, problem = read(address, write_cases(tmp_path / "data", 2), tmp_path / "run")
    assert (code, problem) == (0, "")
    found = json.loads(told)
    assert found["failed"] == 2
    assert all("exceeds the available context size" in reason["why"] for reason in found["reasons"])
