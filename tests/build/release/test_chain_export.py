"""The anatomical chain of thought in chats and in interleaved records."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

import overread
from overread.build.release.export_formats import export_release
from overread.core import VoxelBox
from overread.errors import UsageError
from overread.pixels.voxel_boxes import to_share, to_shown
from overread.workflows.ground_cot import Lesion, Places
from tests.workflows.scripted_model import Asked, scripted


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def words(row: dict[str, Any], role: str) -> str:
    (message,) = [one for one in row["messages"] if one["role"] == role]
    return "".join(part["text"] for part in message["content"] if part["type"] == "text")


@pytest.fixture(scope="module")
def chats(sketch: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The chats of ground-cot."""
    out = tmp_path_factory.mktemp("chain") / "chats"
    export_release("chat", "rexgroundingct", sketch / "rexgroundingct", out, workflow="ground-cot", limit=1)
    return out


def test_chats_ask_what_ground_cot_asks(sketch: Path, chats: Path, tmp_path: Path) -> None:
    """A model that was trained on the lines is asked the very same words with the very same pictures."""
    release = overread.load("rexgroundingct", sketch / "rexgroundingct", "train")
    case = next(iter(release))
    mine = [row for row in rows(chats / "train.jsonl") if row["id"].startswith(f"{case.id}-q")]
    assert len(mine) == 4 * len(case.queries)
    left = list(mine)
    seen: list[Asked] = []

    def answer(asked: Asked) -> str:
        seen.append(asked)
        return words(left.pop(0), "assistant")

    root = sketch / "rexgroundingct"
    done = scripted("rexgroundingct", root, tmp_path / "run", answer, "ground-cot", limit=1, split="train")
    assert done.outcome.tally.failed == 0
    for row, asked in zip(mine, seen, strict=True):
        assert words(row, "user") in asked.words
        (file,) = row["images"]
        shown = np.asarray(Pillow.open(io.BytesIO((chats / file).read_bytes())).convert("RGB"))
        assert np.array_equal(shown, np.asarray(Pillow.fromarray(asked.pictures[0]).convert("RGB"))), row[
            "id"
        ]


def test_answers_are_the_chain(sketch: Path, chats: Path) -> None:
    """Structures and boxes of the first level are those of the truth, in shares of the slices."""
    release = overread.load("rexgroundingct", sketch / "rexgroundingct", "train")
    entry = next(iter(release.entries()))
    space = release.pictures.geometry(entry.case.pictures[0])
    assert entry.truth is not None
    assert entry.truth.trace is not None
    lung, lobe, segment, lesion = rows(chats / "train.jsonl")[:4]
    told = Places.model_validate_json(words(lung, "assistant"))
    (box,) = entry.truth.trace.steps[1].regions
    assert isinstance(box, VoxelBox)
    shown = to_shown(box, space)
    assert told.places[0].structure == box.label
    assert told.places[0].span == (shown.first, shown.last)
    assert vars(told.places[0].part) == pytest.approx(vars(to_share(shown, space)))
    for row in (lobe, segment):
        assert Places.model_validate_json(words(row, "assistant")).places
    assert Lesion.model_validate_json(words(lesion, "assistant")).blocks


def test_test_rows_ask_and_do_not_answer(sketch: Path, chats: Path) -> None:
    """One question a sentence, with the whole scan: what later ones show would tell where it is."""
    found = rows(chats / "test.jsonl")
    release = overread.load("rexgroundingct", sketch / "rexgroundingct", "test")
    assert len(found) == len(next(iter(release)).queries)
    for row in found:
        assert [one["role"] for one in row["messages"]] == ["system", "user"]
        assert "nothing yet" in words(row, "user")
    kept = {path.name for path in (chats / "images" / "test").rglob("*.png")}
    assert kept == {"ct.png"}


def test_interleaved_records_show_each_structure(sketch: Path, tmp_path: Path) -> None:
    """One record a finding: words and close-ups in turn; of test the question alone."""
    export_release("anole", "rexgroundingct", sketch / "rexgroundingct", tmp_path / "out", limit=1)
    row = rows(tmp_path / "out" / "train.jsonl")[0]
    assert row["prompt"].endswith("<image>")
    assert row["response"].count("<image>") == 4
    assert len(row["images"]) == 5
    assert all((tmp_path / "out" / file).is_file() for file in row["images"])
    assert [part["type"] for part in row["segments"] if part["side"] == "response"] == [
        "text",
        "image",
    ] * 4 + ["text"]
    assert not any("response" in one for one in rows(tmp_path / "out" / "test.jsonl"))


def test_only_where_there_are_chains(sketch: Path, tmp_path: Path) -> None:
    """Other benchmarks have none, and formats without questions say so."""
    with pytest.raises(UsageError, match="has no chains of thought"):
        export_release("chat", "mmrad", sketch / "mmrad", tmp_path / "a", workflow="ground-cot")
    with pytest.raises(UsageError, match="asks no questions"):
        export_release("parquet", "mmrad", sketch / "mmrad", tmp_path / "b", workflow="direct")
