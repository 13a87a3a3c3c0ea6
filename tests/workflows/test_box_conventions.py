"""Boxes go round: a model that finds a bright spot in what it is sent, and answers in its own numbers.

The server opens the pictures as they came over the socket, looks for what is bright, and writes the box
as the family of its preset documents it; what the reading holds must lie where the spot is stored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image as Pillow
from scipy import ndimage

import overread
from overread.core import Box
from overread.errors import UsageError
from overread.runs.engine import RunPlan
from overread.runs.estimate import estimate
from tests.workflows.scripted_model import Asked, scripted

FILM, SPOT = (813, 1024), (330, 210, 610, 520)
"""Width and height of the film, and the edges of what is bright in it."""
FAMILIES = [
    *("qwen2.5-vl", "qwen3-vl", "gemini", "claude"),
    *(
        pytest.param(name, marks=pytest.mark.slow)
        for name in ("qwen2-vl", "internvl", "gemma-3", "pixels", "phi-4")
    ),
]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Presets of hosted models name a variable for the key."""
    for name in ("GEMINI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "not-needed-here")


def in_own_numbers(family: str, spot: NDArray[Any], shape: tuple[int, ...]) -> dict[str, Any]:
    """A box in pixels of the picture that was sent, as the family writes it; by its own pages."""
    (x1, y1, x2, y2), (height, width) = spot.tolist(), shape[:2]
    if family == "qwen2.5-vl":
        across, down = round(width / 28) * 28 / width, round(height / 28) * 28 / height
        return {"bbox_2d": [round(x1 * across), round(y1 * down), round(x2 * across), round(y2 * down)]}
    thousand = [round(1000 * n / of) for n, of in zip((x1, y1, x2, y2), (width, height) * 2, strict=True)]
    if family in ("gemini", "gemma-3"):
        return {"box_2d": [thousand[1], thousand[0], thousand[3], thousand[2]]}
    if family in ("qwen2-vl", "qwen3-vl", "internvl"):
        return {"bbox_2d": thousand}
    if family in ("claude", "pixels"):
        return {"bbox": [x1, y1, x2, y2]}
    shares = (x1 / width, y1 / height, x2 / width, y2 / height)
    return dict(zip(("left", "top", "right", "bottom"), shares, strict=True))


def bright_spot(picture: NDArray[Any]) -> NDArray[Any]:
    """The edges of the largest bright thing, in pixels: left, top, right, bottom."""
    grey = picture if picture.ndim == 2 else picture[..., 0]
    labels, _ = ndimage.label(grey > 180)
    sizes = np.bincount(labels.ravel())
    rows, columns = ndimage.find_objects((labels == 1 + np.argmax(sizes[1:])).astype(int))[0]
    return np.array([columns.start, rows.start, columns.stop, rows.stop])


@pytest.mark.parametrize("family", FAMILIES)
def test_a_box_on_a_film_comes_back(family: str, copy: Callable[[str], Path], tmp_path: Path) -> None:
    """Where the model saw it, there it lies in the stored film."""
    root = copy("mmrad")
    release = overread.load("mmrad", root)
    case = next(iter(release))
    film = np.full((FILM[1], FILM[0]), 20, np.uint8)
    film[SPOT[1] : SPOT[3], SPOT[0] : SPOT[2]] = 240
    path = release.pictures.data(case.pictures[0])
    assert isinstance(path, Path)
    Pillow.fromarray(film).save(path, quality=95)

    def answer(asked: Asked) -> str:
        if "Give the box that holds it" in asked.words:
            picture = asked.pictures[0]
            box = in_own_numbers(family, bright_spot(picture), picture.shape)
            assert asked.schema is None or set(box) <= set(re.findall(r'"(\w+)"', json.dumps(asked.schema)))
            assert f'"{next(iter(box))}"' in asked.words, "the example is in its own form"
            return json.dumps({"boxes": [box]})
        return "Normal."

    record = scripted(
        "mmrad",
        root,
        tmp_path / "run",
        answer,
        "interleaved",
        limit=1,
        arguments={"preset": family},
        settings={"evidence": "boxes"},
    )
    boxes = [r for f in record.reading.findings or () for r in f.regions if isinstance(r, Box)]
    assert boxes
    for box in boxes:
        assert np.abs(np.array([box.x1, box.y1, box.x2, box.y2]) - SPOT).max() <= 2


@pytest.mark.parametrize(
    ("family", "workflow"),
    [
        ("qwen2.5-vl", "ground"),
        pytest.param("qwen3-vl", "direct", marks=pytest.mark.slow),
        pytest.param("gemini", "ground-cot", marks=pytest.mark.slow),
        pytest.param("claude", "ground", marks=pytest.mark.slow),
    ],
)
def test_a_box_on_a_montage_becomes_the_mask(
    family: str, workflow: str, copy: Callable[[str], Path], tmp_path: Path
) -> None:
    """Marked on one tile of a montage in numbers of the whole picture, it lies in the CT where it was."""
    root = copy("rexgroundingct")
    release = overread.load("rexgroundingct", root)
    case = next(iter(release))
    path = release.pictures.data(case.pictures[0])
    assert isinstance(path, Path)
    stored = nibabel.load(path)
    spot = tuple(slice(n // 3, n // 3 + max(4, n // 4)) for n in stored.shape)
    volume = np.full(stored.shape, -1000, np.int16)
    volume[spot] = 300
    nibabel.save(nibabel.Nifti1Image(volume, stored.affine), path)
    up = int(np.argmax(np.abs(stored.affine[2, :3])))
    first, last = spot[up].start, spot[up].stop - 1
    if stored.affine[2, up] < 0:
        first, last = stored.shape[up] - 1 - last, stored.shape[up] - 1 - first
    span = {"first_slice": first, "last_slice": last}

    def answer(asked: Asked) -> str:
        if '"ranges"' in asked.words:
            return json.dumps({"ranges": [span]})
        picture = asked.pictures[0]
        block = {**span, **in_own_numbers(family, bright_spot(picture), picture.shape)}
        if '"places"' in asked.words:
            return json.dumps({"thought": "there", "places": [{"structure": "right lung", **block}]})
        return json.dumps({"thought": "there", "blocks": [block]})

    record = scripted(
        "rexgroundingct", root, tmp_path / "run", answer, workflow, limit=1, arguments={"preset": family}
    )
    assert record.reading.error is None
    region = (record.reading.findings or ())[0].regions[0]
    drawn = np.asanyarray(nibabel.load(record.folder / region.file).dataobj)[0] != 0  # type: ignore[union-attr]
    truth = np.zeros(volume.shape, bool)
    truth[spot] = True
    assert 2 * (drawn & truth).sum() / (drawn.sum() + truth.sum()) > 0.8


@pytest.mark.parametrize("family", ["gemini", "qwen2.5-vl"])
def test_a_dry_run_follows_boxes_in_other_numbers_to_the_end(family: str, sketch: Path) -> None:
    """As many questions as with shares."""
    arguments = {"model": "m", "base_url": "http://localhost:1/v1"}
    found = [
        estimate(
            RunPlan(
                "mmrad",
                sketch / "mmrad",
                "openai",
                arguments={**arguments, **more},
                workflow="interleaved",
                use_cache=False,
                limit=1,
            )
        )
        for more in ({}, {"preset": family})
    ]
    assert [one.at_least for one in found] == [False, False]
    assert found[0].calls == found[1].calls > 2


def test_a_prompt_of_ones_own_without_the_gaps_is_refused(
    copy: Callable[[str], Path], tmp_path: Path
) -> None:
    """It would ask for shares and be answered in pixels."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/interleaved-where.md").write_text(
        "Mine.\nTakes: region, members.\n---\nWhere is the {{region}} ({{members}}), as shares?\n"
    )
    with pytest.raises(UsageError, match="asks for boxes as shares, and the reader gives them as pixels-28"):
        scripted(
            "mmrad",
            copy("mmrad"),
            tmp_path / "run",
            lambda _: "{}",
            "interleaved",
            limit=1,
            arguments={"preset": "qwen2.5-vl"},
            settings={"prompts": str(tmp_path / "mine")},
        )
