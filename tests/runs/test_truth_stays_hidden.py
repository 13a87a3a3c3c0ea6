"""Truth never reaches a reader.

A canary is planted in every hidden place of a release, and a server writes down all it is sent.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
from PIL import Image as Pillow

from overread import catalog
from overread.runs.engine import RunPlan, run_async
from overread.runs.estimate import simplest_value
from overread.session import SessionSettings
from tests.jsonl_rows import read_rows, write_rows
from tests.readers.openai.misbehaving_server import Seen, Server, says, serving
from tests.runs.processes import commanded
from tests.runs.sketch_runs import questions

CANARY = "CANARYadenocarcinoma"
WAYS = {
    "medthinkvqa": ("direct", "twi", "explore"),
    "mmrad": ("direct", "interleaved", "explore"),
    "mmrad questions": ("direct", "interleaved", "explore"),
    "rexgroundingct": ("direct", "ground", "ground-cot", "explore"),
}
"""Exam → the workflows that can read it."""


async def plainly(seen: Seen, writer: asyncio.StreamWriter) -> None:
    """Answers every question as plainly as its schema allows, so that a workflow goes on."""
    form = seen.told.get("response_format")
    text = "It is so."
    if form is not None:
        text = json.dumps(simplest_value(form["json_schema"]["schema"], "A"))
    await says(text)(seen, writer)


def tainted(value: Any, keep: tuple[str, ...] = (), name: str = "") -> Any:
    """The value with the canary in all of its texts, except those under the names to keep."""
    if name in keep:
        return value
    if isinstance(value, dict):
        return {key: tainted(inner, keep, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [tainted(inner, keep) for inner in value]
    return f"{value} {CANARY}" if isinstance(value, str) else value


def taint_picture(path: Path) -> None:
    """Words in every place of a picture file that is no pixel; the file is what it was."""
    with Pillow.open(path) as image:
        pixels = image.copy()
    tags = Pillow.Exif()
    tags[0x010E] = tags[0x9286] = CANARY
    pixels.save(path, comment=CANARY, exif=tags.tobytes(), icc_profile=CANARY.encode() * 8)
    path.write_bytes(path.read_bytes() + CANARY.encode())
    assert path.read_bytes().count(CANARY.encode()) > 10


def medthinkvqa(root: Path) -> set[str]:
    """Everything but the history and the options; pictures and their folders are renamed."""
    rows = read_rows(root / "test.jsonl")
    changed = []
    for row in rows:
        visible = ("CLINICAL_HISTORY", "options", "correct_answer", "correct_answer_text")
        paths = {key: value for key, value in row.items() if key.endswith("_path")}
        new = tainted(row, (*visible, *paths))
        for key, file in paths.items():
            new[key] = f"images/{CANARY}-{Path(file).parent.name}/{CANARY}-{Path(file).name}"
            target = root / new[key]
            target.parent.mkdir(exist_ok=True)
            (root / file).rename(target)
            taint_picture(target)
        new["interval_text"] = new["note_of_nobody"] = new["prediction"] = CANARY
        changed.append(new | {"image_01_timepoint": 1, "deep": {"er": [CANARY]}})
    write_rows(root / "test.jsonl", changed)
    return {text for row in rows for text in (row["CLINICAL_HISTORY"], *row["options"].values())}


def mmrad(root: Path) -> set[str]:
    """Everything but the prompt; the film's folder and name, and so the case's id."""
    rows = read_rows(root / "test.jsonl")
    for row in rows:
        row["response"] = f"{CANARY} {row['response']} {CANARY}."
        row["report"] = row["question_of_nobody"] = CANARY
        files = []
        for file in row["images"]:
            new = f"p10000032_{CANARY}/{CANARY}-{Path(file).parent.name}/{Path(file).name}"
            (root / new).parent.mkdir(parents=True, exist_ok=True)
            (root / file).rename(root / new)
            taint_picture(root / new)
            files.append(new)
        row["images"] = files
    write_rows(root / "test.jsonl", rows)
    return {row["prompt"].replace(" <image>", "") for row in rows}


def asked(root: Path) -> set[str]:
    """Question rows: everything but the question."""
    rows = [tainted(row, ("question", "image_path")) for row in read_rows(root / "test.jsonl")]
    for number, row in enumerate(rows):
        row["image_path"] = f"films/{CANARY}-{number}.jpg"
        row["answer"] = CANARY
        film = root / row["image_path"]
        film.parent.mkdir(exist_ok=True)
        Pillow.fromarray(np.full((40, 30), 40 * number, np.uint8)).save(film)
        taint_picture(film)
    write_rows(root / "test.jsonl", rows)
    return {row["question"] for row in rows}


def rexgroundingct(root: Path) -> set[str]:
    """Everything but the sentences: names, other columns, and the words in the CTs' headers."""
    listed = json.loads((root / "dataset.json").read_text())
    sentences = set()
    for number, row in enumerate(listed["test"]):
        old, new = row["name"], f"{CANARY}{number}_a_1.nii.gz"
        row["name"] = new
        row["protocol"] = row["report"] = row["impression"] = CANARY
        sentences |= set(row["findings"].values())
        (root / "segmentations" / old).rename(root / "segmentations" / new)
        ct: Any = nib.load(root / "images" / old)
        ct.header["descrip"] = ct.header["aux_file"] = CANARY.encode()
        ct.header["db_name"] = ct.header["intent_name"] = CANARY[:16].encode()
        ct.header.extensions.append(nib.nifti1.Nifti1Extension("comment", CANARY.encode()))
        nib.save(ct, root / "images" / new)
    (root / "dataset.json").write_text(json.dumps(listed))
    (root / "reports_dataset.json").write_text(json.dumps({CANARY: CANARY}))
    link = {"level": "lung", "structure": CANARY, "text": CANARY, "box": [1, 2, 3, 4, 5, 6]}
    chains = {row["name"]: {key: [link, link] for key in row["findings"]} for row in listed["test"]}
    (root / "anatomical_cot.json").write_text(json.dumps(chains))
    return sentences


EXAMS: dict[str, tuple[str, Callable[[Path], set[str]]]] = {
    "medthinkvqa": ("medthinkvqa", medthinkvqa),
    "mmrad": ("mmrad", mmrad),
    "mmrad questions": ("mmrad", asked),
    "rexgroundingct": ("rexgroundingct", rexgroundingct),
}


async def read_by_a_model(benchmark: str, root: Path, out: Path) -> tuple[Server, dict[str, Any]]:
    """A run of the real command with the real SDK, and the server that it asked."""
    async with serving(plainly) as server:
        done = await asyncio.to_thread(
            commanded, "run", benchmark, root, "--reader", "openai", "--json", "--no-cache",
            "--reader-arg", f"base_url={server.url}", "--reader-arg", "model=m",
            "--setting", "longest=512", "--setting", "slices=4", "--out", out,
        )  # fmt: skip
    told: dict[str, Any] = json.loads(done.stdout)
    return server, told


async def read_in_steps(
    benchmark: str, root: Path, out: Path, workflow: str
) -> tuple[Server, dict[str, Any]]:
    """The same in this process, by a workflow of several steps."""
    async with serving(plainly) as server:
        plan = RunPlan(
            benchmark,
            root,
            "openai",
            arguments={"base_url": server.url, "model": "m"},
            workflow=workflow,
            settings=SessionSettings(longest=512, slices=4, looks=2),
            use_cache=False,
        )
        tally = (await run_async(plan, out)).tally
    told = {"failed": tally.failed, "bugs": list(tally.bugs), "readings": tally.done}
    return server, told | {"pictures": tally.spent.pictures}


def pieces(body: bytes) -> list[bytes]:
    """All that a request holds: its own bytes, and those of each picture in it."""
    coded = re.findall(rb"base64,([A-Za-z0-9+/=]+)", body)
    return [body, *(base64.b64decode(picture) for picture in coded)]


@pytest.mark.parametrize(("exam", "workflow"), [(e, w) for e, ways in WAYS.items() for w in ways])
def test_no_canary_reaches_a_model(exam: str, workflow: str, copy: Any, tmp_path: Path) -> None:
    """Neither words, nor headers, nor any picture sent tell what a reader may not see."""
    benchmark, plant = EXAMS[exam]
    root = questions(tmp_path / "asked") if exam == "mmrad questions" else copy(benchmark)
    visible = plant(root)
    place = (benchmark, root, tmp_path / "run")
    plain = workflow == "direct"
    server, told = asyncio.run(read_by_a_model(*place) if plain else read_in_steps(*place, workflow))
    assert (told["failed"], told["bugs"]) == (0, [])
    assert told["readings"] >= 2
    assert told["pictures"] >= len(server.seen) > 0
    for seen in server.seen:
        for data in (seen.path.encode(), str(seen.headers).encode(), *pieces(seen.body)):
            assert CANARY[:16].encode() not in data
            assert CANARY[:16].encode("utf-16-le") not in data
    bodies = [json.dumps(seen.told, ensure_ascii=False) for seen in server.seen]
    for text in visible:
        assert any(text in body for body in bodies), text


def test_every_workflow_is_tried() -> None:
    """Each way of reading that the catalog has is held to the canary by at least one exam."""
    assert set(catalog.TABLES["workflows"]) == {way for ways in WAYS.values() for way in ways}


def test_one_sentence_at_a_time(copy: Any, tmp_path: Path) -> None:
    """Who looks for one finding of a scan is not told the others."""
    root = copy("rexgroundingct")
    server, _ = asyncio.run(read_by_a_model("rexgroundingct", root, tmp_path / "run"))
    listed = json.loads((root / "dataset.json").read_text())["test"]
    sentences = {text for row in listed for text in row["findings"].values()}
    assert len(server.seen) == sum(len(row["findings"]) for row in listed) == 3
    for seen in server.seen:
        body = json.dumps(seen.told)
        assert sum(text in body for text in sentences) == 1
