"""`overread audit` as it is typed: a scripted endpoint, workers, and what is printed."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from overread.runs.store import last_readings
from tests.readers.openai.misbehaving_server import Behaviour, Seen, completion, packed, serving
from tests.runs.audit.looking_readers import Eye, said, sees_nothing, sees_square, sent_pictures, write_marked
from tests.warm_process import run_warm

CASES = 8


async def commanded(*words: str | Path, code: int = 0) -> str:
    """What a command prints; it ends as expected."""
    own = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = await asyncio.to_thread(run_warm, words, module="tests.cli.audit_command", env=own)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout if code == 0 else done.stderr


def answers(eye: Eye) -> Behaviour:
    """An endpoint that makes a letter of the pictures it is sent."""

    async def behave(seen: Seen, writer: asyncio.StreamWriter) -> None:
        body = completion({"role": "assistant", "content": said(eye(sent_pictures(seen.told)))})
        writer.write(packed(200, json.dumps(body).encode()))

    return behave


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few cases with a bright square in the first picture."""
    return write_marked(tmp_path_factory.mktemp("marked") / "release", CASES)


async def read_by_a_model(url: str, root: Path, out: Path, *words: str | Path) -> None:
    await commanded(
        "run", "medthinkvqa", root, "--reader", "openai", "--reader-arg", "model=m",
        "--reader-arg", f"base_url={url}", "--workflow", "test-cite-box", "--out", out, *words,
    )  # fmt: skip


def test_an_endpoint_that_looks(marked: Path, tmp_path: Path) -> None:
    """The pixels that it is sent decide: hiding the box moves it, hiding another does not."""
    out, cache = tmp_path / "run", ("--cache", tmp_path / "replies.sqlite")

    async def talk() -> tuple[Any, str, list[int]]:
        async with serving(answers(sees_square)) as server:
            await read_by_a_model(server.url, marked, out, *cache)
            asked = [len(server.seen)]
            dry = await commanded("audit", out, "--dry-run", "--price-in", "3", "--json", *cache)
            asked.append(len(server.seen))
            table = await commanded("audit", out, *cache)
            return json.loads(dry), table, [*asked, len(server.seen)]

    dry, table, asked = asyncio.run(talk())
    assert asked == [CASES, CASES, 6 * CASES]
    calls = {arm: own["calls"] for arm, own in dry["arms"].items()}
    assert calls == dict.fromkeys(("null", "hidden", "other", "swapped", "only"), CASES)
    assert all(own["cost"] > 0 for own in dry["arms"].values())
    told = json.loads((out / "audit" / "audit.json").read_text())
    share = {arm: own["moved"]["value"] for arm, own in told["shares"]["arms"].items()}
    assert share.pop("swapped") is not None
    assert share == {"null": 0.0, "hidden": 1.0, "other": 0.0, "only": 0.0}
    assert told["shares"]["rests"]["value"] == 1.0
    assert "answers that rest on the cited evidence: 1.000 (0.177 – 1.000) of 8" in table
    assert "cited: boxes 8" in table
    assert "every reading is the same, word for word" in table


def test_an_endpoint_that_ignores_its_pictures(marked: Path, tmp_path: Path) -> None:
    """Whatever is hidden, it says the same."""
    out = tmp_path / "run"

    async def talk() -> Any:
        async with serving(answers(sees_nothing)) as server:
            await read_by_a_model(server.url, marked, out, "--no-cache")
            return json.loads(await commanded("audit", out, "--json", "--no-cache"))

    told = asyncio.run(talk())
    assert {own["moved"]["value"] for own in told["shares"]["arms"].values()} == {0.0}
    assert told["shares"]["rests"]["value"] == 0.0


@pytest.mark.slow
def test_a_reader_that_computes_in_workers(sketch: Path, tmp_path: Path) -> None:
    """Workers open the release themselves and make the same edits."""
    root, out = sketch / "rexgroundingct", tmp_path / "run"

    async def talk() -> Any:
        await commanded("run", "rexgroundingct", root, "--reader", "test-threshold", "-j", "2", "--out", out)
        return json.loads(await commanded("audit", out, "-j", "2", "--json"))

    told = asyncio.run(talk())
    share = {arm: own["moved"]["value"] for arm, own in told["shares"]["arms"].items()}
    assert (share["null"], share["hidden"], share["other"]) == (0.0, 1.0, 0.0)
    assert told["shares"]["rests"]["value"] == 1.0
    assert told["arms_failed"] == dict.fromkeys(share, 0)
    for reading in last_readings(out / "audit" / "hidden").values():
        assert reading.error is None


def test_refusals(copy: Callable[[str], Path], tmp_path: Path) -> None:
    """One sentence, exit code 2, and no traceback."""
    root = copy("medthinkvqa")
    out = tmp_path / "run"

    async def talk() -> list[str]:
        await commanded("run", "medthinkvqa", root, "--reader", "oracle", "--out", out)
        found = [
            await commanded("audit", tmp_path / "nowhere", code=2),
            await commanded("audit", out, code=2),
        ]
        root.rename(tmp_path / "elsewhere")
        return [*found, await commanded("audit", out, code=2)]

    for told, words in zip(
        asyncio.run(talk()), ("this folder is not a run", "cannot be asked again", "--root"), strict=True
    ):
        assert told.startswith("overread: ")
        assert words in told
        assert told.count("\n") == 1


def test_readings_that_cite_nothing_are_named(sketch: Path, tmp_path: Path) -> None:
    """The bounds cite nothing; the table says so and who."""
    out = tmp_path / "run"

    async def talk() -> str:
        await commanded("run", "mmrad", sketch / "mmrad", "--reader", "majority", "--out", out)
        return await commanded("audit", out)

    told = asyncio.run(talk())
    assert "2 readings that cite nothing, with all their pictures hidden: sketch0000" in told
    assert "hidden   2        0.000 (only 2 cases)" in told
