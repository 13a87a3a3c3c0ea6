"""`overread judge` as a process of its own: being stopped, and going on."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path

from tests.readers.openai.misbehaving_server import says, serving, slow
from tests.runs.processes import COMMAND, commanded
from tests.timing import wait_in_loop


async def stopped(run: Path, number: int) -> tuple[int | None, str]:
    """A judging that is stopped after its first verdict: the exit code and what it printed."""
    steps = says(json.dumps({"steps": ["Pleural effusion at the base of the right lung."]}))
    verdict = says(json.dumps({"verdicts": [{"step": 1, "factual": True, "errors": []}]}))
    async with serving(steps, verdict, slow(600)) as server:
        process = await asyncio.create_subprocess_exec(
            *COMMAND, "judge", str(run), "--judge", "steps", "--reader", "openai",
            "--reader-arg", f"base_url={server.url}", "--reader-arg", "model=m",
            "--no-cache", "--concurrency", "1",
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        await wait_in_loop(lambda: len(server.seen) >= 3)
        process.send_signal(number)
        said, wrong = await process.communicate()
    assert wrong == b""
    return process.returncode, said.decode()


def test_a_judging_is_stopped_and_keeps_its_verdicts(sketch: Path, tmp_path: Path) -> None:
    """Ctrl-C ends it with a sentence and 130; the verdict that was given is there."""
    run = tmp_path / "run"
    commanded("run", "medthinkvqa", sketch / "medthinkvqa", "--reader", "oracle", "--out", run)
    code, said = asyncio.run(stopped(run, signal.SIGINT))
    assert code == 130
    assert "1 of 2 judged" in said
    assert "resume with the same command" in said
    assert len((run / "judge_verdicts.jsonl").read_text().splitlines()) == 1
