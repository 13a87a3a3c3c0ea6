"""What people marked in Label Studio as readings, written in the benchmark's own format.

Taken in is the JSON that Label Studio exports (not JSON_MIN, not CSV). Tasks are matched to cases by
the `case` and `split` in their data, whatever else stands there. What cannot be used is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import cos, isfinite, radians, sin
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from overread import catalog
from overread.benchmarks import load
from overread.build.label_studio.brush import decode_brush
from overread.build.label_studio.page import ANSWER, BRUSH, FINDING, PLACE, REPORT, WORDS
from overread.core import (
    Benchmark,
    Box,
    Case,
    Finding,
    Geometry,
    Mask,
    Progress,
    Reading,
    Release,
    Volume,
    WrittenSubmission,
)
from overread.errors import OverreadError, PictureError, SubmissionError, UsageError
from overread.pixels.geometry import from_ras, ras_geometry
from overread.pixels.masks import write_mask
from overread.storage.atomic import stage
from overread.storage.fence import Fence

MAX_EXPORT = 1 << 30
"""Bytes of an export that is read."""
_AS_JSON = "export the project from Label Studio as JSON"


@dataclass
class _Taken:
    """What was found in an export so far."""

    annotations: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Case id → the annotation that counts."""
    notes: list[str] = field(default_factory=list)


def take_in_annotations(
    benchmark: str,
    root: str | Path,
    split: str,
    export: str | Path,
    out: str | Path,
    *,
    annotator: str | None = None,
    form: str | None = None,
    pictures: str | Path | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> WrittenSubmission:
    """Write the annotations of an export as a submission of the split, which `overread grade` reads.

    `annotator` is a person's number or e-mail address, needed where several have annotated a task.
    """
    part = cast(Benchmark, catalog.find("benchmarks", benchmark))
    if part.submit is None:
        raise UsageError(f"{part.title} defines no submission format")
    pictures_at = None if pictures is None else Path(pictures)
    release = load(benchmark, Path(root), split, form=form, pictures=pictures_at)
    cases = {entry.case.id: entry.case for entry in release.entries()}
    taken = _choose_annotations(_read_export(Path(export)), cases, split, annotator)
    target = Path(out)
    with TemporaryDirectory() as scratch:
        fence = Fence(Path(scratch))

        def find(case_id: str) -> Reading | None:
            annotation = taken.annotations.get(case_id)
            if annotation is None:
                return None
            return _make_reading(release, cases[case_id], annotation, Path(scratch), taken.notes)

        try:
            with stage(target, replace=force, remedy="add --force to replace it") as written:
                handed = part.submit(release, find, fence.path, written, progress=progress)
        except OSError as error:
            raise OverreadError(
                f"{target} cannot be written ({error.strerror})", remedy="give another --out"
            ) from None
    return replace(handed, path=target, notes=(*taken.notes, *handed.notes))


def _read_export(path: Path) -> list[Any]:
    try:
        if path.stat().st_size > MAX_EXPORT:
            raise SubmissionError(
                f"an export of over {MAX_EXPORT:,} bytes is not read",
                where=path.name,
                remedy="export fewer tasks at a time",
            )
        tasks = from_json(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}", remedy=_AS_JSON) from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror})", remedy=_AS_JSON) from None
    except ValueError:
        raise SubmissionError("this is no JSON", where=path.name, remedy=_AS_JSON) from None
    if not isinstance(tasks, list) or not tasks:
        raise SubmissionError("this is no list of tasks", where=path.name, remedy=_AS_JSON)
    if not any(isinstance(task, dict) and isinstance(task.get("annotations"), list) for task in tasks):
        raise SubmissionError("no task in it has annotations", where=path.name, remedy=_AS_JSON)
    return tasks


def _choose_annotations(
    tasks: list[Any], cases: Mapping[str, Case], split: str, annotator: str | None
) -> _Taken:
    taken = _Taken()
    for number, task in enumerate(tasks, 1):
        data = task.get("data") if isinstance(task, dict) else None
        own = data.get("case") if isinstance(data, dict) else None
        if not isinstance(own, str) or not isinstance(data, dict):
            taken.notes.append(f"task {number} names no case of ours and is left out")
            continue
        if data.get("split") not in (None, split):
            continue
        if own not in cases:
            taken.notes.append(f"task {number} is of a case that is not in the split, and is left out")
            continue
        found = _own_annotations(task)
        if annotator is not None:
            found = [one for one in found if annotator in _names_of(one)]
        people = {next(iter(_names_of(one)), "") for one in found}
        if len(people) > 1:
            raise UsageError(
                f"{own} was annotated by {len(people)} people ({', '.join(sorted(people))})",
                remedy="say whose annotations to take with --annotator",
            )
        if not found:
            continue
        if len(found) > 1:
            taken.notes.append(f"{own} has {len(found)} annotations: the last one counts")
        if own in taken.annotations:
            taken.notes.append(f"{own} is in two tasks: the later one counts")
        taken.annotations[own] = found[-1]
    return taken


def _own_annotations(task: dict[str, Any]) -> list[dict[str, Any]]:
    """The annotations of a task that were handed in, the last changed last."""
    listed = task.get("annotations")
    found = [
        one
        for one in (listed if isinstance(listed, list) else ())
        if isinstance(one, dict) and isinstance(one.get("result"), list) and not one.get("was_cancelled")
    ]
    return sorted(found, key=lambda one: str(one.get("updated_at") or one.get("created_at") or ""))


def _names_of(annotation: dict[str, Any]) -> list[str]:
    """A person's e-mail address and number, whichever the export gives."""
    person = annotation.get("completed_by")
    if isinstance(person, dict):
        return [str(person[key]) for key in ("email", "id") if person.get(key) is not None]
    return [] if person is None else [str(person)]


def _make_reading(
    release: Release, case: Case, annotation: dict[str, Any], scratch: Path, notes: list[str]
) -> Reading:
    """One annotation as a reading; a mask file is written to `scratch` where something was brushed."""
    results = [one for one in annotation["result"] if isinstance(one, dict)]
    reader = next(iter(_names_of(annotation)), "label-studio")
    texts = {name: "\n".join(_texts(results, name)) or None for name in (ANSWER, REPORT)}
    choice, rationale, report = texts[ANSWER], None, texts[REPORT]
    if case.options:
        choice, rationale, report = _choice(results, case), report, None
    findings: tuple[Finding, ...] | None = None
    try:
        if case.queries:
            findings = _brushed(release, case, results, scratch, notes)
        else:
            findings = tuple(_boxed(case, results, notes)) or None
    except PictureError as error:
        return Reading(case_id=case.id, reader=reader, error=str(error))
    return Reading(
        case_id=case.id,
        reader=reader,
        choice=choice,
        rationale=rationale,
        report=report,
        findings=findings,
    )


def _values(results: list[dict[str, Any]], name: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for one in results:
        if one.get("from_name") == name and isinstance(one.get("value"), dict):
            yield one, one["value"]


def _texts(results: list[dict[str, Any]], name: str, region: object = None) -> Iterator[str]:
    for one, value in _values(results, name):
        if region is None or one.get("id") == region:
            told = value.get("text")
            yield from (str(line) for line in (told if isinstance(told, list) else [told]) if line)


def _choice(results: list[dict[str, Any]], case: Case) -> str | None:
    """The letter of the one option that was chosen; None where there is none, or more than one."""
    for _, value in _values(results, ANSWER):
        chosen = value.get("choices")
        if isinstance(chosen, list) and len(chosen) == 1:
            letter = str(chosen[0]).partition(".")[0].strip()
            if any(option.letter == letter for option in case.options):
                return letter
    return None


def _boxed(case: Case, results: list[dict[str, Any]], notes: list[str]) -> Iterator[Finding]:
    """A finding for each rectangle, in the pixels of its picture, with the words that stand at it."""
    for one, value in _values(results, PLACE):
        try:
            picture = dict(enumerate(case.pictures))[int(one.get("item_index") or 0)].name
            wide, high = float(one["original_width"]), float(one["original_height"])
            edges = [float(value[key]) for key in ("x", "y", "width", "height")]
            turned = float(value.get("rotation") or 0)
            if not all(map(isfinite, (wide, high, turned, *edges))):
                raise ValueError
        except (KeyError, TypeError, ValueError, OverflowError):
            notes.append(f"{case.id}: a rectangle has no place in its pictures and is left out")
            continue
        left, top = edges[0] * wide / 100, edges[1] * high / 100
        across, down = edges[2] * wide / 100, edges[3] * high / 100
        angle = radians(turned)
        # Label Studio turns a rectangle about its upper left corner; ours stand upright.
        xs = [left + a * cos(angle) - d * sin(angle) for a in (0, across) for d in (0, down)]
        ys = [top + a * sin(angle) + d * cos(angle) for a in (0, across) for d in (0, down)]
        if turned:
            notes.append(f"{case.id}: a rectangle was turned; the upright one around it is taken")
        labels = value.get("rectanglelabels")
        box = Box(
            picture=picture,
            x1=round(min(xs), 6),
            y1=round(min(ys), 6),
            x2=round(max(xs), 6),
            y2=round(max(ys), 6),
            label=str(labels[0]) if isinstance(labels, list) and labels else None,
        )
        yield Finding(text=" ".join(_texts(results, WORDS, one.get("id"))), regions=(box,))


def _brushed(
    release: Release, case: Case, results: list[dict[str, Any]], scratch: Path, notes: list[str]
) -> tuple[Finding, ...]:
    """A finding for each sentence that something was brushed for, its voxels in one mask file."""
    volume = next(one for one in case.pictures if isinstance(one, Volume))
    space = release.pictures.geometry(volume)
    shown = ras_geometry(space)
    keys = [query.id for query in case.queries]
    channels: dict[str, NDArray[np.uint8]] = {}
    for one, value in _values(results, BRUSH):
        labels = value.get("brushlabels")
        for label in labels if isinstance(labels, list) else ():
            key = str(label).removeprefix(FINDING)
            if key not in keys:
                notes.append(f"{case.id}: '{label}' was brushed, which is none of its findings; left out")
                continue
            if key not in channels:
                channels[key] = np.zeros(shown.shape, np.uint8)
            _add_slice(channels[key], one, value, shown, where=case.id)
    if not channels:
        return ()
    file = f"{case.id}.nii.gz"
    empty: NDArray[np.uint8] = np.zeros(shown.shape, np.uint8)
    masks = [from_ras(channels.get(key, empty), space) for key in keys]
    write_mask(scratch / file, cast(list[NDArray[np.integer[Any]]], masks), np.asarray(space.affine))
    return tuple(
        Finding(
            text=query.text,
            query=query.id,
            regions=(Mask(picture=volume.name, file=file, channel=number, channels=len(keys)),),
        )
        for number, query in enumerate(case.queries)
        if query.id in channels
    )


def _add_slice(
    channel: NDArray[np.uint8], one: dict[str, Any], value: dict[str, Any], shown: Geometry, *, where: str
) -> None:
    """Mark what was brushed on one slice; slices and pixels are those of the exported pictures."""
    number = one.get("item_index") or 0
    width, height, depth = shown.shape
    if not isinstance(number, int) or not 0 <= number < depth:
        raise PictureError(f"a brush mask is of slice {number!r} of {depth}", where=where)
    if (one.get("original_width"), one.get("original_height")) != (width, height):
        raise PictureError(
            f"a brush mask is of a picture of other than {width}×{height} pixels",
            where=where,
            remedy="annotate the pictures that `overread export label-studio` wrote",
        )
    packed = value.get("rle")
    mask = decode_brush(packed if isinstance(packed, list) else [], width, height, where=where)
    # As `extract_slice` turns an axial slice for the eye, back again.
    channel[:, :, number] |= mask.T[::-1, ::-1].astype(np.uint8)
