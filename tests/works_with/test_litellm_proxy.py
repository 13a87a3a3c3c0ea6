"""A LiteLLM proxy between overread and a model: runs come through, and its 400s are understood."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.overread_command import run
from tests.runs.medthinkvqa_cases import write_cases
from tests.runs.processes import served
from tests.works_with.foreign_programs import find_program, free_port, serving_program

pytestmark = pytest.mark.slow
KEY = "sk-proxy-of-the-tests-7c1e09"
# What LiteLLM believes of a model hangs on its name alone; the same server answers for all of them.
MODELS = {
    "plain": "openai/served",
    "vllm": "hosted_vllm/served",
    "no-schema": "openai/gpt-4",
    "no-seed": "perplexity/served",
    "no-temperature": "openai/gpt-5",
}


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of a proxy in front of a small server."""
    program = find_program("litellm", ".venv-litellm", "OVERREAD_LITELLM_PYTHON")
    folder, port = tmp_path_factory.mktemp("litellm"), free_port()
    with served() as model:
        listed = [
            {"model_name": name, "litellm_params": {"model": known, "api_base": model, "api_key": "none"}}
            for name, known in MODELS.items()
        ]
        settings = folder / "config.yaml"
        settings.write_text(json.dumps({"model_list": listed}))  # JSON is YAML
        words = (program, "--config", settings, "--host", "127.0.0.1", "--port", str(port))
        address = f"http://127.0.0.1:{port}"
        own = {"LITELLM_MASTER_KEY": KEY, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        with serving_program(words, f"{address}/health/liveliness", folder / "log.txt", own):
            yield f"{address}/v1"


def read(proxy: str, folder: Path, model: str, *more: str, key: str = KEY) -> tuple[int, str, str]:
    root = write_cases(folder / "data", 3)
    given = {"model": model, "base_url": proxy, "seed": "3", "temperature": "0.2", "max_tokens": "200"}
    words = [word for name, value in given.items() for word in ("--reader-arg", f"{name}={value}")]
    return run(
        *("run", "medthinkvqa", root, "--reader", "openai", "--no-cache", "--json", "--out", folder / "run"),
        *("--max-retries", "0", *words, *more),
        OPENAI_API_KEY=key,
    )


@pytest.mark.parametrize(
    ("model", "without"),
    [
        ("plain", None),
        ("vllm", None),
        ("no-schema", ["JSON schema", "JSON format"]),
        ("no-seed", ["seed"]),
        ("no-temperature", ["temperature"]),
    ],
)
def test_every_case_is_read_through_the_proxy(
    proxy: str, tmp_path: Path, model: str, without: list[str] | None
) -> None:
    """What LiteLLM says that a model does not take is left out, told once and recorded."""
    code, out, problem = read(proxy, tmp_path, model)
    assert (code, problem) == (0, "")
    found: dict[str, Any] = json.loads(out)
    assert (found["readings"], found["failed"]) == (3, 0)
    assert len(found["notes"]) == (without is not None)
    rows = [json.loads(line) for line in (tmp_path / "run/readings.jsonl").read_text().splitlines()]
    asked = [one["reply"].get("asked_without") for row in rows for one in row["exchanges"]]
    assert asked == [without] * 3


@pytest.mark.parametrize("key", ["", "sk-another-key-123456"])
def test_a_wrong_key_is_called_one(proxy: str, tmp_path: Path, key: str) -> None:
    """Without a database the proxy answers 400 'No connected db.' to every key but its own."""
    code, _, problem = read(proxy, tmp_path, "plain", key=key)
    assert code != 0
    says = "refuses the key" if key else "asks for a key"
    assert f"{says} (400): put a valid one into the environment variable OPENAI_API_KEY" in problem


def test_an_unknown_model_ends_the_run_at_once(proxy: str, tmp_path: Path) -> None:
    """The proxy answers 400 where others answer 404; it is told once, not for every case."""
    code, _, problem = read(proxy, tmp_path, "nobody")
    assert code != 0
    assert "has no model 'nobody'" in problem
