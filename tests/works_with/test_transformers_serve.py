"""`transformers serve` with tiny random models: real runs get through it, or fail with a clear reason."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.overread_command import run
from tests.runs.medthinkvqa_cases import write_cases
from tests.works_with.foreign_programs import find_program, free_port, serving_program

pytestmark = pytest.mark.slow
MAKER = Path(__file__).parent / "make_tiny_models.py"
WHERE = (".venv-serving", "OVERREAD_SERVING_PYTHON")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The base URL of a server, and the folder of the models that it may serve."""
    program, python = find_program("transformers", *WHERE), find_program("python", *WHERE)
    folder, port = tmp_path_factory.mktemp("served"), free_port()
    made = subprocess.run(
        [python, MAKER, folder, "text", "gemma3", "llava"], capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr[-3000:]
    words = (program, "serve", "--host", "127.0.0.1", "--port", str(port), "--device", "cpu")
    own = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    address = f"http://127.0.0.1:{port}"
    with serving_program(words, f"{address}/health", folder / "log.txt", own):
        yield f"{address}/v1", folder


def read(served: tuple[str, Path], root: Path, out: Path, model: str, *more: str) -> dict[str, Any]:
    """What became of a run with everything that we send to anybody."""
    address, folder = served
    given = {"model": str(folder / model), "base_url": address, "seed": "3", "temperature": "0.2"}
    given |= {"max_tokens": "24", "image_detail": "low"} | dict(word.split("=") for word in more)
    words = [word for name, value in given.items() for word in ("--reader-arg", f"{name}={value}")]
    code, told, problem = run(
        *("run", "medthinkvqa", root, "--reader", "openai", "--no-cache", "--json", "--out", out),
        *("--max-retries", "0", "--setting", "longest=56", "--concurrency", "2", *words),
    )
    assert (code, problem) == (0, "")
    found: dict[str, Any] = json.loads(told)
    return found


def replies(out: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (out / "readings.jsonl").read_text().splitlines()]
    return [one["reply"] for row in rows for one in row["exchanges"]]


@pytest.mark.parametrize(("model", "more"), [("gemma3", ()), ("llava", ("system_message=false",))])
def test_models_that_see_answer_every_question(
    served: tuple[str, Path], sketch: Path, tmp_path: Path, model: str, more: tuple[str, ...]
) -> None:
    """Pictures and words arrive and words come back; that they make no sense is what is told."""
    found = read(served, sketch / "medthinkvqa", tmp_path / "run", model, *more)
    assert found["readings"] == found["total"] > 0
    assert all("could not be used" in reason["why"] for reason in found["reasons"])
    answered = replies(tmp_path / "run")
    assert answered
    assert all(reply["usage"]["output_tokens"] > 0 for reply in answered)
    assert found["pictures"] > 0


def test_a_model_of_words_answers_too(served: tuple[str, Path], tmp_path: Path) -> None:
    """Cases without pictures, sent as plain texts."""
    found = read(served, write_cases(tmp_path / "data", 2), tmp_path / "run", "text")
    assert found["readings"] == 2
    assert all("could not be used" in reason["why"] for reason in found["reasons"])
    assert all(reply["usage"]["output_tokens"] > 0 for reply in replies(tmp_path / "run"))


def test_a_template_that_fails_is_told(served: tuple[str, Path], sketch: Path, tmp_path: Path) -> None:
    """The server says no more than 500 of a template without a system role; nothing is lost."""
    found = read(served, sketch / "medthinkvqa", tmp_path / "run", "llava")
    assert found["failed"] == found["total"] > 0
    assert all("(500: Internal Server Error)" in reason["why"] for reason in found["reasons"])
