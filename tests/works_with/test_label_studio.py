"""Cases annotated in a real Label Studio: tasks go in, annotations come out, and are graded."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overread
from overread import catalog
from overread.build.label_studio.brush import decode_brush, encode_brush
from overread.build.label_studio.results import take_in_annotations
from overread.build.release.export_formats import export_release
from overread.build.rexgroundingct.tasks import write_tasks
from overread.pixels.masks import read_channel
from overread.pixels.nifti import write_volume
from overread.pixels.planes import extract_slice
from tests.build.release.tilted_release import BIG, SHAPE, SMALL, release_of, tilted
from tests.build.rexgroundingct.test_masks import AFFINE, NAME, context, item
from tests.build.rexgroundingct.test_masks import SHAPE as SCAN
from tests.works_with.label_studio_server import PROGRAM, LabelStudio, running_label_studio

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        PROGRAM is None, reason="label-studio is not on the path, nor named by OVERREAD_LABEL_STUDIO"
    ),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The document root: exports lie in it."""
    return tmp_path_factory.mktemp("exports")


@pytest.fixture(scope="module")
def server(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabelStudio]:
    """One server for all tests here: it takes a minute to start."""
    with running_label_studio(tmp_path_factory.mktemp("label-studio"), place) as running:
        yield running


@pytest.mark.parametrize("axes", ["LPS", "PIR"])
def test_brushed_slices_come_back_voxel_by_voxel(
    server: LabelStudio, place: Path, tmp_path: Path, axes: str
) -> None:
    """Masks brushed through the API are, after its export, the very voxels; pictures are served."""
    root = release_of(tmp_path / "release", tilted(axes), splits=("train",))
    folder = place / f"brush-{axes}"
    export_release("label-studio", "rexgroundingct", root, folder)
    project = server.open_project(folder)
    (task,) = server.tasks(project)
    assert len(task["data"]["images"]) == {"LPS": 6, "PIR": 7}[axes]
    picture = server.ask(task["data"]["images"][2])
    assert picture == sorted((folder / "images").rglob("*.png"))[2].read_bytes()
    release = overread.load("rexgroundingct", root, "train")
    space = release.pictures.geometry(next(iter(release)).pictures[0])
    result: list[Any] = []
    for number, mask in enumerate((BIG, SMALL)):
        for at in range(len(task["data"]["images"])):
            shown = np.asarray(extract_slice(mask, space, "axial", at))
            if not shown.any():
                continue
            value = {"format": "rle", "rle": encode_brush(shown), "brushlabels": [f"finding {number}"]}
            result.append(
                {
                    "id": f"b{number}-{at}",
                    "type": "brushlabels",
                    "from_name": "brush",
                    "to_name": "picture",
                    "item_index": at,
                    "original_width": shown.shape[1],
                    "original_height": shown.shape[0],
                    "image_rotation": 0,
                    "value": value,
                }
            )
    server.annotate(task["id"], result)
    exported = server.export(project, tmp_path / "export.json")
    out = tmp_path / "masks"
    done = take_in_annotations("rexgroundingct", root, "train", exported, out)
    assert (done.written, done.failed, done.notes) == (1, 0, ())
    for number, mask in enumerate((BIG, SMALL)):
        back = read_channel(out / "train_1_a_1.nii.gz", number, SHAPE, 2)
        assert np.array_equal(back > 0, mask > 0)


def test_a_prefilled_task_is_imported_with_its_masks(
    server: LabelStudio, place: Path, tmp_path: Path
) -> None:
    """The truth stands in the task as a prediction; handed in unchanged, it is the truth again."""
    root = release_of(tmp_path / "release", tilted("RAS"), splits=("train",))
    folder = place / "prefilled"
    export_release("label-studio", "rexgroundingct", root, folder, style="prefilled")
    project = server.open_project(folder)
    (task,) = server.tasks(project)
    (told,) = server.json(f"/api/predictions/?task={task['id']}")
    server.annotate(task["id"], told["result"])
    exported = server.export(project, tmp_path / "export.json")
    take_in_annotations("rexgroundingct", root, "train", exported, tmp_path / "masks")
    for number, mask in enumerate((BIG, SMALL)):
        back = read_channel(tmp_path / "masks/train_1_a_1.nii.gz", number, SHAPE, 2)
        assert np.array_equal(back > 0, mask > 0)


def test_label_studio_reads_our_brush_masks_and_we_read_its(tmp_path: Path) -> None:
    """Its own converter, in its own environment, decodes and encodes the same pixels."""
    assert PROGRAM is not None
    mask = np.random.default_rng(3).random((37, 53)) > 0.7
    mask[5:20] = True
    program = (
        "import json, sys, numpy as np; from label_studio_sdk.converter import brush; "
        "rle, rows = json.load(sys.stdin); a = np.array(rows, dtype=np.uint8) * 255; "
        "b = brush.decode_rle(rle).reshape(37, 53, 4)[:, :, 3]; "
        "print(json.dumps([bool((a == b).all()), brush.mask2rle(a)]))"
    )
    python = Path(PROGRAM).parent / "python"
    sent = json.dumps([encode_brush(mask), mask.astype(int).tolist()])
    told = subprocess.run([python, "-c", program], input=sent, capture_output=True, text=True, check=True)
    same, packed = json.loads(told.stdout.splitlines()[-1])
    assert same
    assert np.array_equal(decode_brush(packed, 53, 37), mask)


def test_choices_come_back_as_a_submission(
    server: LabelStudio, place: Path, tmp_path: Path, sketch: Path
) -> None:
    """An option chosen in the tool is the prediction that is graded."""
    root = sketch / "medthinkvqa"
    folder = place / "choices"
    export_release("label-studio", "medthinkvqa", root, folder, split="test")
    project = server.open_project(folder)
    wanted = {}
    for number, task in enumerate(server.tasks(project)):
        options = task["data"]["options"]
        chosen = options[number % len(options)]["value"]
        wanted[task["data"]["case"]] = chosen[0]
        common = {"to_name": "picture"}
        server.annotate(
            task["id"],
            [
                {
                    **common,
                    "id": "a",
                    "type": "choices",
                    "from_name": "answer",
                    "value": {"choices": [chosen]},
                },
                {**common, "id": "r", "type": "textarea", "from_name": "report", "value": {"text": ["So."]}},
            ],
        )
    exported = server.export(project, tmp_path / "export.json")
    done = take_in_annotations("medthinkvqa", root, "test", exported, tmp_path / "mine.jsonl")
    assert done.written == len(wanted)
    release = overread.load("medthinkvqa", root, "test")
    back = catalog.find("benchmarks", "medthinkvqa").read_submission(release, tmp_path / "mine.jsonl")
    assert {case: reading.choice for case, reading in back.readings.items()} == wanted
    assert not back.problems


def test_boxes_come_back_in_pixels(server: LabelStudio, place: Path, tmp_path: Path, sketch: Path) -> None:
    """A rectangle drawn in the tool lies at the same pixels in the submission, with its words."""
    root = sketch / "mmrad"
    folder = place / "boxes"
    export_release("label-studio", "mmrad", root, folder, split="test")
    project = server.open_project(folder)
    task = server.tasks(project)[0]
    common = {"to_name": "picture", "id": "box", "item_index": 0, "original_width": 64, "original_height": 64}
    value = {"x": 12.5, "y": 25, "width": 50, "height": 37.5, "rotation": 0}
    server.annotate(
        task["id"],
        [
            {
                **common,
                "type": "rectanglelabels",
                "from_name": "place",
                "value": {**value, "rectanglelabels": ["right lung"]},
            },
            {
                **common,
                "type": "textarea",
                "from_name": "words",
                "value": {**value, "text": ["It is clear."]},
            },
            {
                "id": "r",
                "to_name": "picture",
                "type": "textarea",
                "from_name": "report",
                "value": {"text": ["Clear lungs."]},
            },
        ],
    )
    exported = server.export(project, tmp_path / "export.json")
    done = take_in_annotations("mmrad", root, "test", exported, tmp_path / "mine.jsonl")
    assert done.written == 1
    release = overread.load("mmrad", root, "test")
    back = catalog.find("benchmarks", "mmrad").read_submission(release, tmp_path / "mine.jsonl")
    reading = back.readings[task["data"]["case"]]
    assert reading.report == "Clear lungs."
    looks = [step for step in reading.trace.steps if step.kind == "look"]
    (box,) = looks[0].regions
    assert (box.x1, box.y1, box.x2, box.y2, box.label) == (8, 16, 40, 40, "right lung")


def test_the_tasks_of_a_build_are_taken(server: LabelStudio, tmp_path: Path) -> None:
    """The page of `overread build`, with a verdict a finding, and its tasks import and export."""
    write_volume(tmp_path / "source/images" / NAME, np.zeros(SCAN, np.int16), AFFINE)
    (tmp_path / "build").mkdir()
    asyncio.run(write_tasks([item()], context(tmp_path)))
    made = tmp_path / "build/annotation"
    page = {"title": "build", "label_config": (made / "label-studio.xml").read_text()}
    project = server.json("/api/projects/", page)["id"]
    told = server.json(
        f"/api/projects/{project}/import", json.loads((made / "label-studio.json").read_text())
    )
    assert told["task_count"] == 1
    (task,) = server.tasks(project)
    verdict = {"type": "choices", "from_name": "verdict-1", "to_name": "finding-1", "id": "v"}
    server.annotate(task["id"], [{**verdict, "value": {"choices": ["too diffuse"]}}])
    (back,) = json.loads(server.export(project, tmp_path / "export.json").read_text())
    assert back["data"]["findings"][1]["text"] == "Right pleural effusion"
    assert back["annotations"][0]["result"][0]["value"] == {"choices": ["too diffuse"]}
