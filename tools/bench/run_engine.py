"""What the engine costs beside a bare loop of the SDK and beside inspect_ai: part of `make bench`.

All three ask the same instant server, which runs in a process of its own, over 32 connections.
Every job runs in a process of its own too; only the reading itself is timed, not the imports. The
best of a few rounds counts, ours and the bare loop's in turn, since the machines are shared.
inspect_ai lives in an environment of its own (`.venv-inspect`); without it its lines are left out.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.runs.processes import served
from tools.bench.harness import MEGABYTE, ROOT, peak_memory, start_job

INSPECT = ROOT / ".venv-inspect" / "bin" / "python"
AT_ONCE = 32
TEXT_CASES = 2000
PICTURE_CASES = 500
PICTURES = 4
MANY_CASES = 20_000
DISTINCT = 64
ROUNDS = 3
HALF = 0.5


# ---- what is read --------------------------------------------------------------------------


def make_releases(folder: Path) -> None:
    """Cases without pictures, and cases with four PNGs of about 190 kB each."""
    import numpy as np
    from PIL import Image

    from tests.runs.medthinkvqa_cases import write_cases

    write_cases(folder / "texts", MANY_CASES)
    pictured = write_cases(folder / "pictured", PICTURE_CASES, pictures=PICTURES)
    dice = np.random.default_rng(0)
    store = folder / "distinct"
    store.mkdir()
    for number in range(DISTINCT):
        noise = dice.integers(0, 256, (440, 440), dtype=np.uint8)
        Image.fromarray(noise).save(store / f"{number}.png")
    for at, row in enumerate(load_rows(pictured)):
        for slot in range(1, PICTURES + 1):
            path = pictured / row[f"image_{slot:02d}_path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            os.link(store / f"{(at * PICTURES + slot) % DISTINCT}.png", path)


def load_rows(root: Path, limit: int | None = None) -> list[dict[str, Any]]:
    """Rows of a release."""
    with (root / "test.jsonl").open(encoding="utf-8") as file:
        return [json.loads(line) for at, line in enumerate(file) if limit is None or at < limit]


def format_question(row: dict[str, Any]) -> str:
    """A question about a row, as long as ours."""
    options = "\n".join(f"{letter}. {text}" for letter, text in row["options"].items())
    return (
        f"Clinical history:\n{row['CLINICAL_HISTORY']}\n\nWhich diagnosis is it?\n{options}\n\n"
        'Answer with JSON: {"answer": a letter, "explanation": why}.'
    )


def picture_files(root: Path, row: dict[str, Any]) -> list[Path]:
    """The pictures of a row."""
    return [root / row[f"image_{n:02d}_path"] for n in range(1, row["image_count"] + 1)]


# ---- the three ways ------------------------------------------------------------------------


def run_bare_sdk(root: Path, address: str, count: int, folder: Path) -> dict[str, float]:
    """The SDK in a loop of 32 tasks; answers are parsed and thrown away."""
    import openai

    rows = iter(load_rows(root, count))

    async def ask(client: Any) -> None:
        for row in rows:
            content: list[dict[str, Any]] = []
            for path in picture_files(root, row):
                data = base64.b64encode(path.read_bytes()).decode()
                content.append({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}})
            content.append({"type": "text", "text": format_question(row)})
            reply = await client.chat.completions.create(
                model="served", messages=[{"role": "user", "content": content}]
            )
            assert json.loads(reply.choices[0].message.content)["answer"] == "A"

    async def all_of_it() -> float:
        async with openai.AsyncOpenAI(base_url=address, api_key="none", max_retries=0) as client:
            begin = time.perf_counter()
            await asyncio.gather(*(ask(client) for _ in range(AT_ONCE)))
            return time.perf_counter() - begin

    return {"rate": count / asyncio.run(all_of_it())}


def run_engine(root: Path, address: str, count: int, folder: Path) -> dict[str, float]:
    """The engine with the reader `openai` and the workflow `direct`; then again, from the cache."""
    from overread import catalog
    from overread.runs.engine import RunPlan, run

    catalog.TABLES["readers"].setdefault("openai", "overread.readers.openai.reader:make")
    catalog.TABLES["workflows"].setdefault("direct", "overread.workflows.direct:direct")
    import openai  # noqa: F401  # the bare loop's time is without its import too

    plan = RunPlan(
        "medthinkvqa",
        root,
        "openai",
        {"base_url": address, "model": "served"},
        limit=count,
        concurrency=AT_ONCE,
        cache=folder / "replies.sqlite",
    )
    rates = {}
    for name, out in (("rate", folder / "first"), ("again", folder / "again")):
        begin, worked = time.perf_counter(), time.process_time()
        outcome = run(plan, out)
        rates[name] = count / (time.perf_counter() - begin)
        rates[f"{name} alone"] = count / (time.process_time() - worked)
        assert (outcome.tally.done, outcome.tally.failed) == (count, 0), outcome.tally.reasons
    assert outcome.tally.spent.cached == count
    rates["bytes"] = sum(file.stat().st_size for file in (folder / "first").rglob("*.*"))
    return rates


def run_inspect(root: Path, address: str, count: int, folder: Path) -> dict[str, float]:
    """inspect_ai with the plainest task of the same questions."""
    os.environ |= {"OPENAI_API_KEY": "none", "INSPECT_LOG_LEVEL": "error"}
    from inspect_ai import Task, eval  # noqa: A004
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessageUser, ContentImage, ContentText, get_model
    from inspect_ai.scorer import includes
    from inspect_ai.solver import generate

    samples = [
        Sample(
            id=number,
            input=[
                ChatMessageUser(
                    content=[
                        *(ContentImage(image=str(path)) for path in picture_files(root, row)),
                        ContentText(text=format_question(row)),
                    ]
                )
            ],
            target="A",
        )
        for number, row in enumerate(load_rows(root, count), 1)
    ]
    task = Task(dataset=MemoryDataset(samples), solver=generate(), scorer=includes())
    model = get_model("openai/served", base_url=address, responses_api=False)
    begin = time.perf_counter()
    [log] = eval(
        task,
        model=model,
        max_connections=AT_ONCE,
        max_samples=AT_ONCE,
        log_dir=str(folder / "logs"),
        display="none",
    )
    seconds = time.perf_counter() - begin
    assert log.status == "success", log.error
    size = sum(file.stat().st_size for file in (folder / "logs").rglob("*.*"))
    return {"rate": count / seconds, "bytes": size}


def measure_memory(root: Path, address: str, count: int, folder: Path) -> dict[str, float]:
    """Peak memory of a run with a reader that answers at once, in megabytes."""
    from overread import catalog
    from overread.core import Reply, Request
    from overread.runs.engine import RunPlan, run
    from tests.runs.fake_readers import ANSWER, Echo

    catalog.TABLES["workflows"].setdefault("direct", "overread.workflows.direct:direct")

    class Instant(Echo):
        """Answers and forgets."""

        async def read(self, request: Request) -> Reply:
            """The same answer for everybody."""
            return Reply(text=ANSWER, model="instant")

    plan = RunPlan(
        "medthinkvqa", root, Instant(), limit=count, concurrency=AT_ONCE, cache=folder / "replies.sqlite"
    )
    outcome = run(plan, folder / "run")
    assert (outcome.tally.done, outcome.tally.failed) == (count, 0), outcome.tally.reasons
    return {"peak": peak_memory()}


JOBS = {"bare": run_bare_sdk, "ours": run_engine, "inspect": run_inspect, "memory": measure_memory}


def start_way(name: str, root: Path, address: str, count: int) -> dict[str, float]:
    """One way of asking, in a process of its own."""
    python = str(INSPECT) if name == "inspect" else sys.executable
    words = ("--job", name, str(root), address, str(count))
    rates: dict[str, float] = start_job("run_engine", *words, python=python)
    return rates


def best_of_rounds(names: list[str], root: Path, count: int) -> dict[str, dict[str, float]]:
    """The best of a few rounds of several jobs in turn, each against a fresh server."""
    found: dict[str, dict[str, float]] = {name: {} for name in names}
    for _ in range(ROUNDS):
        for name in names:
            with served() as address:
                told = start_way(name, root, address, count)
            for key, value in told.items():
                pick = min if key == "bytes" else max
                found[name][key] = pick(value, found[name].get(key, value))
    return found


# ---- the table -----------------------------------------------------------------------------


class Table:
    """Prints measurements with a verdict, and remembers whether any missed its limit."""

    def __init__(self) -> None:
        """Nothing is bad yet."""
        self.over = False

    def line(self, what: str, value: str, wanted: str, *, holds: bool) -> None:
        """One measurement."""
        self.over |= not holds
        print(f"{what:<52}{value:>22}  {wanted:<50}{'ok' if holds else 'over'}", flush=True)

    def rates(self, what: str, rate: float, peer: str, peers: float, factor: float) -> None:
        """A rate beside a peer's, of which it must be a multiple."""
        value = f"{rate:,.0f}/s ({rate / peers:.2f}×)"
        wanted = f"{peer} {peers:,.0f}/s, at least {factor:g}×"
        self.line(what, value, wanted, holds=rate >= factor * peers)


def main() -> None:
    """Measure, print, and leave with 1 where something does not hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--job", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--inspect-samples", type=int, default=300)
    options = parser.parse_args()
    if options.job:
        name, root, address, count = options.job
        with tempfile.TemporaryDirectory(prefix="overread-bench-") as scratch:
            print(json.dumps(JOBS[name](Path(root), address, int(count), Path(scratch))))
        return
    table = Table()
    with tempfile.TemporaryDirectory(prefix="overread-bench-") as made:
        folder = Path(made)
        make_releases(folder)
        texts, pictured = folder / "texts", folder / "pictured"
        words = best_of_rounds(["bare", "ours"], texts, TEXT_CASES)
        name = f"engine, {TEXT_CASES:,} text cases"
        table.rates(name, words["ours"]["rate"], "bare SDK", words["bare"]["rate"], HALF)
        again = words["ours"]["again"]
        table.line(
            f"engine, {TEXT_CASES:,} text cases from the cache", f"{again:,.0f}/s",
            f"at least 2,000/s ({words['ours']['again alone']:,.0f}/s of processor time)",
            holds=again >= 2000,
        )  # fmt: skip
        shown = best_of_rounds(["bare", "ours"], pictured, PICTURE_CASES)
        name = f"engine, {PICTURE_CASES} cases × {PICTURES} PNGs"
        table.rates(name, shown["ours"]["rate"], "bare SDK", shown["bare"]["rate"], HALF)
        size = shown["ours"]["bytes"] / MEGABYTE
        table.line(
            f"engine, folder of {PICTURE_CASES} cases × {PICTURES} PNGs", f"{size:.2f} MB",
            "under 2 MB", holds=size < 2,
        )  # fmt: skip
        if INSPECT.exists():
            count = options.inspect_samples
            with served() as address:
                theirs = start_way("inspect", texts, address, count)
                looked = start_way("inspect", pictured, address, min(count, PICTURE_CASES))
            rate = words["ours"]["rate"]
            table.rates("engine, text cases", rate, "inspect_ai", theirs["rate"], 1)
            table.rates(name, shown["ours"]["rate"], "inspect_ai", looked["rate"], 4)
            print(f"  inspect_ai's log of {count} of them: {looked['bytes'] / MEGABYTE:,.0f} MB")
        few = start_way("memory", texts, "", TEXT_CASES)["peak"]
        many = start_way("memory", texts, "", MANY_CASES)["peak"]
        table.line(
            f"engine, peak memory of {MANY_CASES:,} cases", f"{many:.0f} MB",
            f"{TEXT_CASES:,} cases {few:.0f} MB, 10 MB more at most", holds=many - few <= 10,
        )  # fmt: skip
    sys.exit(table.over)


if __name__ == "__main__":
    main()
