"""Keys go to the endpoint and nowhere else: not into a run, a cache, a log or an error."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from overread.runs.engine import RunPlan, run_async
from tests.readers.openai.misbehaving_server import echoes, serving
from tests.warm_process import run_warm

KEYS = ("sk-canary-9f8e7d6c5b4a39281706", "abcDEF123ghiJKL456")


async def commanded(key: str, *words: str) -> bytes:
    """What a command prints, with everything that can be made to talk talking."""
    loud = {"OPENAI_LOG": "debug", "OVERREAD_DEBUG": "1", "OPENAI_API_KEY": key}
    done = await asyncio.to_thread(
        run_warm, [*words, "--debug"], module="tests.runs.run_command", env={**os.environ, **loud}
    )
    assert done.returncode in (0, 1), done.stderr  # a refused key ends a run
    return (done.stdout + done.stderr).encode()


async def run_and_judge(key: str, status: int, root: Path, out: Path) -> dict[str, bytes]:
    """All that a run and its judging leave behind, where the endpoint repeats what it was sent."""
    cache = out.with_suffix(".sqlite")
    async with serving(echoes(status)) as server:
        asked = [
            "--reader", "openai", "--reader-arg", f"base_url={server.url}",
            "--reader-arg", "model=m", "--cache", str(cache), "--max-retries", "0",
        ]  # fmt: skip
        found = {"run": await commanded(key, "run", "medthinkvqa", str(root), *asked, "--out", str(out))}
        # Something to judge, in the place of what the endpoint said.
        own = await commanded(key, "run", "medthinkvqa", str(root), "--reader", "oracle",
                              "--out", str(out / "oracle"))  # fmt: skip
        judged = ["judge", str(out / "oracle"), "--judge", "steps"]
        found |= {"oracle": own, "judge": await commanded(key, *judged, *asked)}
    assert len(server.seen) >= 4
    assert all(key in seen.headers["authorization"] for seen in server.seen)
    for file in (*out.rglob("*"), *out.parent.glob(f"{cache.name}*")):
        if file.is_file():
            found[str(file)] = file.read_bytes()
    return found


@pytest.mark.parametrize(
    ("key", "status"),
    [
        *((KEYS[0], status) for status in (200, 401, 500)),
        *(pytest.param(KEYS[1], status, marks=pytest.mark.slow) for status in (200, 401, 500)),
    ],
)
def test_no_file_and_no_word_holds_the_key(key: str, status: int, sketch: Path, tmp_path: Path) -> None:
    """Neither the key nor a longer piece of it, though the endpoint repeats it everywhere."""
    out = tmp_path / "run"
    found = asyncio.run(run_and_judge(key, status, sketch / "medthinkvqa", out))
    assert {str(out / name) for name in ("spec.json", "readings.jsonl")} < found.keys()
    pieces = [key[n : n + 8].encode() for n in range(len(key) - 7)]
    for place, data in found.items():
        assert not [piece for piece in pieces if piece in data], place
    assert (tmp_path / "run.sqlite").stat().st_mode & 0o777 == 0o600


WAYS = {
    "twi": "medthinkvqa",
    "explore": "medthinkvqa",
    "interleaved": "mmrad",
    "ground": "rexgroundingct",
    "ground-cot": "rexgroundingct",
}


@pytest.mark.parametrize("workflow", WAYS)
def test_no_workflow_keeps_the_key(
    workflow: str, sketch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever way cases are read, an endpoint that repeats the key leaves no trace of it."""
    key, out = KEYS[0], tmp_path / "run"
    monkeypatch.setenv("OPENAI_API_KEY", key)

    async def ran() -> None:
        async with serving(echoes(200)) as server:
            plan = RunPlan(
                WAYS[workflow],
                sketch / WAYS[workflow],
                "openai",
                arguments={"base_url": server.url, "model": "m"},
                workflow=workflow,
                cache=tmp_path / "cache.sqlite",
            )
            await run_async(plan, out)
        assert server.seen
        assert all(key in seen.headers["authorization"] for seen in server.seen)

    asyncio.run(ran())
    found = {str(file): file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    assert {str(out / name) for name in ("spec.json", "readings.jsonl")} < found.keys()
    pieces = [key[n : n + 8].encode() for n in range(len(key) - 7)]
    for place, data in found.items():
        assert not [piece for piece in pieces if piece in data], place
