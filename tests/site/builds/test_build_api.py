"""Builds through the API: damaged ones, and pictures of their sources."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from PIL import Image as Pillow

from overread.build.item import Item, Question, StepResult, Wait
from overread.build.rexgroundingct.mask_step import question_id
from overread.build.runner import run_build
from overread.build.step import ItemStep, Recipe, StepContext
from overread.pixels.masks import write_mask
from overread.pixels.nifti import write_volume
from tests.site.builds.question_folders import demo_build
from tests.site.served_site import serve_site

NAME = "train_1_a_1.nii.gz"
SHAPE = (12, 10, 8)


def test_a_folder_that_is_no_build_any_more_is_told(tmp_path: Path) -> None:
    """A damaged ledger or question file is one sentence, never an error of the server."""
    folder = demo_build(tmp_path)
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "questions.jsonl").write_text("{}\n")
    with serve_site([folder, bad]) as site:
        build, other = (site.shelf_id("builds", name) for name in ("built", "bad"))
        assert site.ask(f"/api/builds/{other}/queue/progress").status == 422
        assert site.ask(f"/api/builds/{other}/queue/next?person=ann").status == 422
        for file in folder.glob("ledger.sqlite*"):
            file.write_bytes(b"no ledger" * 100)
        for part in ("", "/queue/progress", "/queue/next?person=ann"):
            answer = site.ask(f"/api/builds/{build}{part}")
            assert answer.status == 422, (part, answer.body)
            assert str(tmp_path) not in answer.body.decode()
        assert site.ask("/api/builds/nowhere").status == 404


def _scan(source: Path, settings: Mapping[str, str]) -> Iterable[Item]:
    targets = {
        "0": {"text": "A nodule in the right lung", "category": "2d"},
        "1": {"text": "An effusion", "category": "2e"},
    }
    yield Item.model_validate({"id": "train_1_a_1", "data": {"name": NAME, "targets": targets}})


async def _doubt(item: Item, context: StepContext) -> StepResult:
    asked = Question(
        id=question_id(item, context.settings["asks"], "1", "x"),
        item=item.id,
        kind="side",
        text="Is the mask of finding 1 right? It lies on the left.",
        shown={"scan": NAME, "finding": "An effusion"},
    )
    return Wait(questions=(asked,))


@pytest.mark.parametrize("asks", ["chain", "qa"])
def test_the_mask_in_question_is_drawn_on_the_slices(tmp_path: Path, asks: str) -> None:
    """A question about the mask of a finding begins where the mask is, and outlines that one."""
    source, folder = tmp_path / "source", tmp_path / "built"
    affine = np.diag([-2.0, -2.0, 3.0, 1.0])
    write_volume(source / "images" / NAME, np.full(SHAPE, -500, np.int16), affine)
    steps = (ItemStep("doubt", _doubt, roles=()),)
    recipe = Recipe("mine", "One doubt.", _scan, steps, lambda *_: (), settings={"asks": asks})
    run_build(recipe, source, folder)
    masks = np.zeros((2, *SHAPE), np.uint8)
    masks[0, 1:3, 1:3, 1] = 1
    masks[1, 5:9, 3:7, 6] = 1
    write_mask(folder / "masks" / NAME, list(masks), affine)
    with serve_site([folder]) as site:
        queue = f"/api/builds/{site.shelf_id('builds', 'built')}/queue"
        asked: dict[str, Any] = site.get(f"{queue}/next?person=ann")["question"]
        assert [one["kind"] for one in asked["pictures"]] == ["volume"]
        about = f"question={quote(asked['id'], safe='')}"
        volume = site.get(f"{queue}/volume?{about}")
        assert volume["masks"] is True
        assert volume["counts"] == {"sagittal": 12, "coronal": 10, "axial": 8}
        assert volume["starts"]["axial"] == 6

        def coloured(index: int, masks: int) -> bool:
            data = site.ask(f"{queue}/slice?{about}&index={index}&masks={masks}").body
            pixels = np.asarray(Pillow.open(io.BytesIO(data)).convert("RGB"))
            return bool((pixels.max(axis=2) != pixels.min(axis=2)).any())

        assert coloured(6, 1)
        assert not coloured(6, 0)
        assert not coloured(1, 1)  # the other finding's mask is not what is asked about
