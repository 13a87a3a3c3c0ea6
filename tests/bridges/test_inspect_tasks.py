"""Our benchmarks inside Inspect AI itself, against a small server: same questions, same numbers.

Inspect lives in an environment of its own: `.venv-inspect` beside the checkout's files, or the
Python that OVERREAD_INSPECT_PYTHON names. It must have what overread needs; overread itself is
taken from this checkout.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import threading
import tomllib
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import overread
from overread.runs.engine import RunPlan, run
from overread.runs.scoring.from_run import score
from tests.runs.medthinkvqa_cases import write_cases
from tests.works_with.foreign_programs import free_port, serving_program

ROOT = Path(__file__).resolve().parents[2]
PYTHON = Path(os.environ.get("OVERREAD_INSPECT_PYTHON") or ROOT / ".venv-inspect/bin/python")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not PYTHON.exists(),
        reason="Inspect AI is not here: make .venv-inspect, or set OVERREAD_INSPECT_PYTHON",
    ),
]
MENTION = "Patient 3 "
"""The case whose question the server refuses."""


class Model(ThreadingHTTPServer):
    """Answers by the words of the question alone, and remembers what it was asked."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        self.seen: list[str] = []

    def forget(self) -> Counter[str]:
        """What was asked since the last time, each question as often as it was."""
        seen, self.seen = self.seen, []
        return Counter(seen)


class Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Model

    def do_POST(self) -> None:
        told = json.loads(self.rfile.read(int(self.headers["content-length"])))
        messages = [[m["role"], parts(m["content"])] for m in told["messages"]]
        self.server.seen.append(json.dumps(messages))
        status, text = answer(messages)
        choice = {"index": 0, "message": {"role": "assistant", "content": text}}
        body: dict[str, Any] = {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": "served",
            "choices": [choice | {"finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
        }
        if status != 200:
            body = {"error": {"message": text, "type": "invalid_request_error", "code": None}}
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words: Any) -> None:
        """Silent."""


def parts(content: str | list[dict[str, Any]]) -> list[str]:
    """Words and pictures of a message, whatever the client wrapped them in."""
    if isinstance(content, str):
        return [content]
    return [part["text"] if part["type"] == "text" else part["image_url"]["url"] for part in content]


def answer(messages: list[Any]) -> tuple[int, str]:
    words = " ".join(p for _, own in messages for p in own if not p.startswith("data:"))
    lot = hashlib.sha256(words.encode()).digest()
    if MENTION in words:
        return 400, "this question is refused"
    if "diagnoses is right" in words:
        if lot[0] % 3 == 0 and len(messages) < 3:
            return 200, "I would rather not say."
        return 200, json.dumps({"answer": "ABCDE"[lot[1] % 5], "explanation": "So it looks."})
    if "Mark this finding" in words:
        box = {"first_slice": 2, "last_slice": 30, "left": 0.1, "top": 0.1}
        return 200, json.dumps({"blocks": [box | {"right": 0.9, "bottom": 0.9}]})
    return 200, "Small left pleural effusion. The heart is enlarged. No pneumothorax."


@pytest.fixture(scope="module")
def model() -> Iterator[Model]:
    with Model() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What an editable installation would write about this checkout, entry points and all."""
    folder = tmp_path_factory.mktemp("installed")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    about = folder / f"overread-{overread.__version__}.dist-info"
    about.mkdir()
    head = f"Metadata-Version: 2.1\nName: overread\nVersion: {overread.__version__}\n"
    (about / "METADATA").write_text(head)
    where = {"url": ROOT.as_uri(), "dir_info": {"editable": True}}
    (about / "direct_url.json").write_text(json.dumps(where))
    points = project.get("entry-points", {}).get("inspect_ai", {})
    lines = [f"{name} = {module}" for name, module in points.items()]
    (about / "entry_points.txt").write_text("\n".join(["[inspect_ai]", *lines, ""]))
    return folder


class Inspect:
    """The command `inspect`, told where the server is."""

    def __init__(self, model: Model, installed: Path, folder: Path) -> None:
        path = os.pathsep.join([str(installed), str(ROOT / "src")])
        self.logs = folder / "logs"
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("INSPECT_")} | {
            "PYTHONPATH": path,
            "HOME": str(folder),
            "LOCAL_API_KEY": "none",
            "LOCAL_BASE_URL": model.url,
        }

    def __call__(self, *words: str | Path, code: int = 0) -> str:
        command = [str(PYTHON), "-m", "inspect_ai", *map(str, words)]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, check=False, timeout=900)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def eval(self, task: str, root: Path, *words: str) -> dict[str, Any]:
        """The log of `inspect eval`."""
        before = set(self.logs.glob("*.json"))
        self("eval", f"overread/{task}", "-T", f"root={root}", *words, *MODEL, self.logs)
        [path] = set(self.logs.glob("*.json")) - before
        log: dict[str, Any] = json.loads(path.read_text("utf-8"))
        assert log["status"] == "success", log.get("error")
        return log | {"path": path}


MODEL = ("--model", "openai-api/local/served", "--log-format", "json", "--display", "none", "--log-dir")


@pytest.fixture
def inspect(model: Model, installed: Path, tmp_path: Path) -> Inspect:
    model.forget()
    return Inspect(model, installed, tmp_path)


def numbers(log: dict[str, Any]) -> dict[str, float]:
    [score] = log["results"]["scores"]
    return {name: told["value"] for name, told in score["metrics"].items()}


def ours(task: str, root: Path, out: Path, url: str, *, repeat: int = 1) -> None:
    arguments = {"model": "served", "base_url": url, "structured": "none"}
    plan = RunPlan(task, root, "openai", arguments, repeat=repeat, use_cache=False)
    run(plan, out)


@pytest.mark.parametrize("task", ["medthinkvqa", "mmrad", "rexgroundingct"])
def test_same_questions_and_same_numbers(
    task: str, inspect: Inspect, model: Model, sketch: Path, tmp_path: Path
) -> None:
    """Inspect sends what our reader sends, byte by byte, and its log has our numbers."""
    root = sketch / task
    told = numbers(inspect.eval(task, root))
    seen = model.forget()
    ours(task, root, tmp_path / "run", model.url)
    assert seen == model.forget()
    assert any("data:image/" in question for question in seen)
    card = score(tmp_path / "run", metrics=list(told))
    assert told == {name: score.value for name, score in card.scores.items()}
    assert told


def test_second_tries_failures_and_epochs_count_as_ours(
    inspect: Inspect, model: Model, tmp_path: Path
) -> None:
    """An answer without sense is asked for again, a refused case is worst, each epoch counts."""
    root = write_cases(tmp_path / "release", 12)
    log = inspect.eval("medthinkvqa", root, "--epochs", "2", "-T", "metrics=accuracy,answer_rate")
    seen = model.forget()
    ours("medthinkvqa", root, tmp_path / "run", model.url, repeat=2)
    assert set(seen) == set(model.forget())
    assert any(len(json.loads(question)) > 3 for question in seen)
    card = score(tmp_path / "run", metrics=("accuracy", "answer_rate"))
    told = numbers(log)
    assert told == {name: score.value for name, score in card.scores.items()}
    assert 0 < told["accuracy"] < told["answer_rate"] < 1
    failed = [sample for sample in log["samples"] if sample.get("error")]
    assert [sample["scores"]["overread/measured"]["value"]["accuracy"] for sample in failed] == [0, 0]


def test_a_lost_picture_costs_its_case_only(
    inspect: Inspect, model: Model, copy: Callable[[str], Path], tmp_path: Path
) -> None:
    """A case whose picture is gone is worst, as in a run of ours, and the other is read."""
    root = copy("medthinkvqa")
    case = next(iter(overread.load("medthinkvqa", root)))
    (root / case.pictures[0].file).unlink()
    log = inspect.eval("medthinkvqa", root)
    assert {s["id"] for s in log["samples"] if s.get("error")} == {case.id}
    assert not any("data:image/" not in question for question in model.forget())
    ours("medthinkvqa", root, tmp_path / "run", model.url)
    card = score(tmp_path / "run", metrics=["accuracy"])
    assert card.failed == 1
    assert numbers(log)["accuracy"] == card.scores["accuracy"].value


def test_truth_is_in_no_question(inspect: Inspect, model: Model, tmp_path: Path) -> None:
    """What is hidden reaches the log as the target at most, and the model never."""
    root = write_cases(tmp_path / "release", 2)
    log = inspect.eval("medthinkvqa", root)
    asked = " ".join(model.forget())
    assert "came with a cough" in asked
    assert "Hidden" not in asked
    assert "Case 1" not in asked
    for sample in log["samples"]:
        assert sample["target"] == "B"
        assert sample["id"] not in asked
        assert "Hidden" not in json.dumps(sample)


def test_another_solver_and_scoring_again(
    inspect: Inspect, model: Model, sketch: Path, tmp_path: Path
) -> None:
    """`generate` sees the pictures too, and a log is scored again without asking the model."""
    root = sketch / "mmrad"
    log = inspect.eval("mmrad", root, "--solver", "generate")
    assert all("data:image/" in question for question in model.forget())
    words = ("-S", "benchmark=mmrad", "-S", f"root={root}", "-S", "metrics=bleu1,rougeL")
    again = ("--action", "overwrite", "--overwrite", "--display", "none")
    inspect("score", log["path"], "--scorer", "overread/measured", *words, *again)
    assert not model.forget()
    told = numbers(json.loads(log["path"].read_text("utf-8")))
    assert told["rougeL"] == numbers(log)["rougeL"]
    assert told["bleu1"] > 0


def test_a_log_is_scored_again_by_its_own_scorer_as_often_as_one_likes(
    inspect: Inspect, model: Model, tmp_path: Path
) -> None:
    """`inspect score LOG` alone finds our scorer and its arguments in the log, also the second time."""
    root = write_cases(tmp_path / "release", 4)
    log = inspect.eval("medthinkvqa", root)
    model.forget()
    for _ in range(2):
        inspect("score", log["path"], "--action", "overwrite", "--overwrite", "--display", "none")
        assert numbers(json.loads(log["path"].read_text("utf-8"))) == numbers(log)
    assert not model.forget()


def test_the_viewer_shows_the_log(inspect: Inspect, tmp_path: Path) -> None:
    """`inspect view` starts, lists the log of our task and serves what is in it."""
    log = inspect.eval("medthinkvqa", write_cases(tmp_path / "release", 2))
    port = free_port()
    words = (PYTHON, "-m", "inspect_ai", "view", "start", "--log-dir", inspect.logs, "--port", str(port))
    address = f"http://127.0.0.1:{port}"
    with serving_program(words, address, tmp_path / "view.txt", inspect.env):

        def get(path: str) -> bytes:
            with urllib.request.urlopen(f"{address}{path}", timeout=60) as told:
                return bytes(told.read())

        assert b"<html" in get("/")
        listed = json.loads(get("/api/logs"))
        names = [entry["name"] for entry in listed["files"]]
        assert [name.rpartition("/")[2] for name in names] == [log["path"].name]
        shown = json.loads(get(f"/api/logs/{quote(names[0], safe='')}"))
    assert shown["eval"]["task"].endswith("medthinkvqa")
    assert len(shown["samples"]) == 2
    assert numbers(shown) == numbers(log)


def test_a_wrong_argument_is_one_sentence(inspect: Inspect, tmp_path: Path) -> None:
    """What overread finds wrong before a task begins is told without a traceback."""
    root = write_cases(tmp_path / "release", 1)
    words = ("eval", "overread/medthinkvqa", "-T", f"root={root}", "-T", "split=dev")
    told = inspect(*words, "--model", "none", "--display", "plain", code=1)
    assert "overread: MedThinkVQA has no split 'dev'" in told
    assert "Traceback" not in told
