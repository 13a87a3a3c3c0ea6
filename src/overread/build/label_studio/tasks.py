"""Cases as tasks of Label Studio: `tasks.json`, the page `config.xml`, pictures in `images/`.

A CT is all its axial slices in the order from the feet to the head, one pixel a voxel, in one
window: so a brush mask comes back voxel by voxel. With the style 'prefilled' the truth, where it is
not hidden, stands in the tasks as predictions, for people to correct.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from overread.build.label_studio.brush import encode_brush
from overread.build.label_studio.page import ANSWER, BRUSH, FINDING, PICTURE, PLACE, REPORT, labelling_page
from overread.build.release.ct_volumes import find_volume, read_labels
from overread.build.release.export_job import CannotExport, ExportJob, case_folder
from overread.build.release.picture_files import flat_bytes, picture_path, write_files
from overread.core import Box, Case, Entry, Finding, Release, Truth, Volume
from overread.pixels.planes import extract_slice, slice_count
from overread.pixels.windows import apply_window
from overread.storage.system import write_text

WINDOW = "lung"
SERVED = "/data/local-files/?d="
"""Where Label Studio serves the files of its document root, which is the folder around the export."""


def write_label_studio(job: ExportJob) -> None:
    """All tasks in one file, and the page that shows them."""
    tasks: list[dict[str, Any]] = []
    cases: list[Case] = []
    for release in job.load_splits():
        for entry in job.entries(release):
            with job.track_case(entry):
                tasks.append(_make_task(job, release, entry))
                cases.append(entry.case)
    _write(job, "tasks.json", json.dumps(tasks, ensure_ascii=False, indent=1) + "\n")
    _write(job, "config.xml", labelling_page(cases, _places_told(tasks)))


def _write(job: ExportJob, name: str, text: str) -> None:
    write_text(job.out / name, text)


def _make_task(job: ExportJob, release: Release, entry: Entry) -> dict[str, Any]:
    case = entry.case
    files: dict[str, bytes] = {}
    sizes: list[tuple[int, int]] = []
    volume = next((one for one in case.pictures if isinstance(one, Volume)), None)
    if volume is not None:
        for number, grey in enumerate(_axial_slices(release, entry)):
            files[f"images/{case_folder(entry)}/slice-{number:04d}.png"] = _to_png(grey)
    else:
        for picture in case.pictures:
            sent = flat_bytes(release, picture)
            files[picture_path(entry, picture.name, sent)] = sent[0]
            with Pillow.open(io.BytesIO(sent[0])) as opened:
                sizes.append(opened.size)
    if not files:
        raise CannotExport("it has no pictures")
    data: dict[str, Any] = {
        "case": case.id,
        "split": case.split,
        "benchmark": case.benchmark,
        "text": _text_of(case),
        "images": [SERVED + quote(f"{job.name}/{file}") for file in files],
    }
    if case.options:
        data["options"] = [{"value": option_value(one.letter, one.text)} for one in case.options]
    task: dict[str, Any] = {"data": data}
    truth = entry.truth
    if job.style == "prefilled" and truth is not None:
        result = list(_results(release, entry, truth, sizes))
        if result:
            task["predictions"] = [{"model_version": "the release's truth", "result": result}]
    write_files(job, files)
    return task


def _places_told(tasks: list[dict[str, Any]]) -> list[str]:
    """Names of places that stand in the tasks: the page must know them."""
    results = [one for task in tasks for made in task.get("predictions", ()) for one in made["result"]]
    return [name for one in results for name in one["value"].get("rectanglelabels", ())]


def option_value(letter: str, text: str) -> str:
    """An option as people see it and results give it back."""
    return f"{letter}. {text}"


def _text_of(case: Case) -> str:
    """What people are told in words."""
    told = [case.history or "", case.instruction or ""]
    told += [f"{FINDING}{query.id}: {query.text}" for query in case.queries]
    return "\n".join(one.strip() for one in told if one.strip()) or "Look at the picture."


def _axial_slices(release: Release, entry: Entry) -> Iterator[NDArray[np.uint8]]:
    picture = find_volume(entry)
    volume, space = release.pictures.pixels(picture), release.pictures.geometry(picture)
    for number in range(slice_count(space, "axial")):
        yield apply_window(extract_slice(volume, space, "axial", number), WINDOW)


def _to_png(grey: NDArray[np.uint8]) -> bytes:
    out = io.BytesIO()
    Pillow.fromarray(np.ascontiguousarray(grey)).save(out, "PNG")
    return out.getvalue()


def _results(
    release: Release, entry: Entry, truth: Truth, sizes: list[tuple[int, int]]
) -> Iterator[dict[str, Any]]:
    """The truth as results of the parts of the page."""
    case = entry.case
    if case.options and truth.answer is not None:
        chosen = [option_value(one.letter, one.text) for one in case.options if one.letter == truth.answer]
        if chosen:
            yield _plain("answer-0", ANSWER, "choices", {"choices": chosen})
    if case.queries:
        for finding in truth.findings:
            if finding.regions:
                yield from _brush_results(release, entry, finding)
        return
    names = [picture.name for picture in case.pictures]
    steps = truth.trace.steps if truth.trace else ()
    regions = [one for step in steps if step.kind == "look" for one in step.regions]
    regions += [one for finding in truth.findings for one in finding.regions]
    for number, box in enumerate(dict.fromkeys(one for one in regions if isinstance(one, Box))):
        if box.picture in names and box.label:
            index = names.index(box.picture)
            width, height = sizes[index]
            yield {
                "id": f"box-{number}",
                "type": "rectanglelabels",
                "from_name": PLACE,
                "to_name": PICTURE,
                "item_index": index,
                "original_width": width,
                "original_height": height,
                "image_rotation": 0,
                "value": {
                    "x": 100 * box.x1 / width,
                    "y": 100 * box.y1 / height,
                    "width": 100 * (box.x2 - box.x1) / width,
                    "height": 100 * (box.y2 - box.y1) / height,
                    "rotation": 0,
                    "rectanglelabels": [box.label],
                },
            }
    if not case.options and truth.report:
        yield _plain("report-0", REPORT, "textarea", {"text": [truth.report]})


def _plain(own: str, name: str, kind: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"id": own, "type": kind, "from_name": name, "to_name": PICTURE, "value": value}


def _brush_results(release: Release, entry: Entry, finding: Finding) -> Iterator[dict[str, Any]]:
    space = release.pictures.geometry(find_volume(entry))
    labels = read_labels(release, finding, space)
    for number in range(slice_count(space, "axial")):
        mask = extract_slice(labels, space, "axial", number) > 0  # type: ignore[operator]
        if mask.any():
            yield {
                "id": f"brush-{finding.query}-{number}",
                "type": "brushlabels",
                "from_name": BRUSH,
                "to_name": PICTURE,
                "item_index": number,
                "original_width": mask.shape[1],
                "original_height": mask.shape[0],
                "image_rotation": 0,
                "value": {
                    "format": "rle",
                    "rle": encode_brush(mask),
                    "brushlabels": [f"{FINDING}{finding.query}"],
                },
            }
