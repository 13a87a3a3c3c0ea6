"""Every reader of the catalog keeps the contract of `overread.core.Reader`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from overread import catalog
from overread.build.reader_pool import _AlwaysCached
from overread.core import Reader, ReleaseRef, Reply, Request, WrappedReader, make_reader
from overread.core.box_convention import CONVENTIONS
from overread.errors import NotThere, ReaderError, UsageError
from overread.runs.audit.setup import _SharedReader
from overread.runs.engine import RunPlan, prepare_run
from overread.runs.worker_reader import WorkerReader

WHOLE = ("random", "majority", "longest", "nothing", "oracle", "atlas", "replay")
ARGUMENTS = {
    "openai": {"model": "m", "base_url": "http://localhost:1/v1"},
    "command": {"command": "true {ct} {text} {mask}"},
}


def made(name: str, sketch: Path, tmp_path: Path, **more: str) -> Reader:
    """A reader of the catalog, with what it needs."""
    arguments = dict(ARGUMENTS.get(name, {}))
    if name == "replay":
        (tmp_path / "theirs.jsonl").write_text('{"id": "case00003", "answer": "A"}\n')
        arguments["file"] = str(tmp_path / "theirs.jsonl")
    if name == "voxtell":
        (tmp_path / "weights/fold_0").mkdir(parents=True, exist_ok=True)
        for file in ("weights/plans.json", "weights/fold_0/checkpoint_final.pth", "bank.npz"):
            (tmp_path / file).touch()
        arguments |= {"model": str(tmp_path / "weights"), "embeddings": str(tmp_path / "bank.npz")}
    if name == "hf":
        pytest.importorskip("torch")
        from tests.readers.hf.tiny_vlm import make_model

        arguments["model"] = str(make_model(tmp_path / "model", "gemma3"))
    place = ReleaseRef("medthinkvqa", sketch / "medthinkvqa", "test")
    return make_reader(name, arguments | more, place)


@pytest.mark.parametrize("name", catalog.TABLES["readers"])
def test_a_reader_keeps_the_contract(name: str, sketch: Path, tmp_path: Path) -> None:
    """Skills that are known, an identity for JSON, one sentence for what it cannot do."""
    reader = made(name, sketch, tmp_path)
    assert reader.skills
    assert reader.skills <= {"words", "pictures", "masks", "whole"}
    assert ("whole" in reader.skills) == (name in WHOLE)
    assert json.loads(json.dumps(reader.identity)) == reader.identity
    assert reader.at_once is None or reader.at_once > 0
    assert all(isinstance(problem, str) for problem in reader.problems)
    release = ReleaseRef("medthinkvqa", sketch / "medthinkvqa", "test").open()
    case = next(iter(release))
    if name in WHOLE:
        request = Request(task="choose", case=case, pictures=release.pictures)
        with pytest.raises(ReaderError, match="reads whole cases"):
            asyncio.run(reader.read(request))
    else:
        with pytest.raises(ReaderError, match="needs a workflow"):
            asyncio.run(reader.read_whole(case, release.pictures, seed=0))
    if name != "oracle":
        with pytest.raises(NotThere):
            reader.source("nowhere.nii.gz")
    with pytest.raises(UsageError, match="colour"):
        made(name, sketch, tmp_path, colour="red")
    asyncio.run(reader.close())


class Unusual(Reader):
    """Differs from every default."""

    name = "unusual"
    skills = frozenset({"words"})
    identity: Mapping[str, Any] = {"model": "u"}
    cached = True
    seeded = True
    at_once = 3
    interactive = True
    computes = True
    ignores_pictures = True
    boxes = CONVENTIONS["thousandths"]
    problems = ("it is odd",)
    remarks = ("it was asked without a seed",)

    async def read(self, request: Request) -> Reply:
        """A word."""
        return Reply(text="here")

    def source(self, file: str) -> bytes:
        """Some bytes."""
        return file.encode()


def test_wrappers_pass_every_attribute_on(tmp_path: Path) -> None:
    """In a worker, in an audit and in a build a reader is still what it says it is."""
    own = Unusual()
    place = ReleaseRef("medthinkvqa", tmp_path, "test")
    wrapped: list[WrappedReader] = [
        WorkerReader(own, name="unusual", arguments={}, place=place, workers=1),
        _SharedReader(own),
        _AlwaysCached(own),
    ]
    for reader in wrapped:
        for attribute in Reader.__annotations__:
            assert getattr(own, attribute) != getattr(Reader, attribute, None), attribute
            assert getattr(reader, attribute) == getattr(own, attribute), attribute
        assert reader.source("file") == b"file"
        asyncio.run(reader.close())


def test_a_reader_without_the_base_gets_one_sentence(sketch: Path) -> None:
    """What was written before there was a base is told to inherit it."""

    class AlwaysA:
        name = "always-a"

    plan = RunPlan("medthinkvqa", sketch / "medthinkvqa", AlwaysA())  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"AlwaysA does not inherit overread\.core\.Reader"):
        prepare_run(plan)
