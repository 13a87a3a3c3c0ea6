"""Readings as an MMRad submission: one row a case, as the release has it. The format is ours.

A reading with looks becomes an interleaved response, its cut-outs beside the file; one without
becomes a report. Where the steps of a reading, joined, are such a response already, they are
written as they are; else the looks are worded as the release words them.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import uuid4

from overread.benchmarks.mmrad.release import THINKVG
from overread.benchmarks.mmrad.traces import IMAGE, interleaved, join, thinking
from overread.benchmarks.mmrad.write import question_row, trace_row
from overread.benchmarks.outgoing import Outgoing, Readings, Source
from overread.benchmarks.writing import copied
from overread.core import (
    Box,
    Entry,
    Finding,
    Handed,
    Progress,
    Reading,
    Release,
    Step,
    Trace,
    Truth,
)
from overread.errors import PictureError, UsageError
from overread.pixels.files import written

_CUE = "Summarizing the previous analysis, I will generate the following report: "
_LOST = "no-crop"
"""Stands where a look has no cut-out but a later one has, so that these stay in their places."""


def submit(
    release: Release,
    readings: Readings,
    source: Source,
    out: Path,
    *,
    progress: Progress | None = None,
) -> Handed:
    """Write a file of rows, and the cut-outs of looks in a folder beside it."""
    going = Outgoing(release, readings, progress)
    asked = (release.form or "").startswith(THINKVG)
    crops = crops_beside(out)
    if crops.exists() and not out.exists():
        raise UsageError(f"{crops} is there already", remedy="choose another name")
    with _swapped(crops) as part, written(out) as stream:
        for entry in release.entries():
            reading = going.reading(entry)
            if reading is None:
                continue
            if asked:
                row = _answer(entry, reading)
            else:
                row = _report(entry, reading, _Crops(crops.name, part, source, entry, going))
            if row is None:
                going.leave_out(entry, f"it has no {'answer' if asked else 'report and no look'}")
                continue
            stream.write(json.dumps(row, ensure_ascii=False).encode("utf-8") + b"\n")
            going.wrote()
        going.refuse_nothing()
    return going.handed(out)


def crops_beside(out: Path) -> Path:
    """The folder of a submission's cut-outs.

    >>> crops_beside(Path("mine.jsonl")).name, crops_beside(Path("mine.v2.jsonl.gz")).name
    ('mine-crops', 'mine.v2-crops')
    """
    name = out.name.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".json")
    return out.with_name(f"{name}-crops")


@contextmanager
def _swapped(folder: Path) -> Iterator[Path]:
    """A folder that takes the place of `folder` when all went well; none where it stays empty."""
    part = folder.with_name(f".{uuid4().hex}.part")
    try:
        yield part
        shutil.rmtree(folder, ignore_errors=True)
        if part.exists():
            part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


class _Crops:
    """Copies the cut-outs of one reading to where its row names them."""

    def __init__(
        self, name: str, folder: Path, source: Source, entry: Entry, going: Outgoing
    ) -> None:
        self._name, self._folder, self._source = name, folder, source
        self._entry, self._going = entry, going
        self._count = 0

    def copy(self, file: str) -> str | None:
        """The name of a copy, relative to the submission; None where the file is not there."""
        suffix = PurePosixPath(file).suffix
        name = f"{self._entry.case.id}/{self._count + 1}{suffix}"
        try:
            copied(self._source(file), self._folder / name)
        except PictureError as error:
            self._going.note(self._entry, f"a cut-out is left out ({error})")
            return None
        self._count += 1
        return f"{self._name}/{name}"


def _report(entry: Entry, reading: Reading, crops: _Crops) -> dict[str, Any] | None:
    """An interleaved record, or a row with a report alone."""
    trace = _response(entry, reading)
    if trace is None and not (reading.report or "").strip():
        return None
    told = Truth(trace=_moved(trace, crops), report=reading.report) if trace else None
    row = trace_row(entry.model_copy(update={"truth": told}))
    row["id"] = entry.case.id
    row.pop("report", None)  # a copy may carry the truth's, or somebody else's
    found = _read_back(entry, trace, reading.report)[1] if trace else None
    if reading.report and found != reading.report:
        row["report"] = reading.report
    return row


def _moved(trace: Trace, crops: _Crops) -> Trace:
    """The trace with its cut-outs beside the submission."""
    steps = []
    files = [crops.copy(s.crop) if s.crop else None for s in trace.steps if s.text == IMAGE]
    while files and files[-1] is None:
        files.pop()
    left = iter(files)
    for step in trace.steps:
        crop = None
        if step.text == IMAGE:
            file = next(left, "")
            crop = None if file == "" else file or _LOST
        steps.append(step.model_copy(update={"crop": crop}))
    return Trace(steps=tuple(steps))


def _response(entry: Entry, reading: Reading) -> Trace | None:
    """The trace as an interleaved response has it; None where there is no look in the reading."""
    trace = reading.trace
    if trace is not None and _read_back(entry, trace, reading.report)[0] == _bare(trace):
        return trace if any(step.kind == "look" for step in trace.steps) else None
    looks = _looks(entry, trace.steps if trace else (), reading.findings or ())
    if not looks:
        return None
    steps: list[Step] = []
    for box, crop, words in looks:
        place = _plain(box.label or "marked area")
        edges = ", ".join(map(_number, (box.x1, box.y1, box.x2, box.y2)))
        said = f" The bounding box of this area is [{edges}] . {_plain(words)}\n\n "
        steps += [
            Step(kind="say", text=f"I will highlight the {place} of this X-ray. "),
            Step(kind="look", text=IMAGE, regions=(box,), crop=crop),
            Step(kind="say", text=said, regions=(box,)),
        ]
    steps += [Step(kind="conclude", text=_CUE)] if reading.report else []
    return Trace(steps=tuple(steps))


def _read_back(entry: Entry, trace: Trace, report: str | None) -> tuple[Trace, str | None]:
    """What the trace and the report of a response would be read as, without its cut-outs."""
    response = join(trace, report)
    crops = [""] * response.count(IMAGE)
    parsed = interleaved(response, crops, picture=entry.case.pictures[0].name)
    return _bare(parsed.trace), parsed.report


def _bare(trace: Trace) -> Trace:
    """The trace without what a response does not tell: cut-outs, exchanges."""
    told = [step.model_copy(update={"crop": None, "exchange": None}) for step in trace.steps]
    return Trace(steps=tuple(told))


def _looks(
    entry: Entry, steps: tuple[Step, ...], findings: tuple[Finding, ...]
) -> list[tuple[Box, str | None, str]]:
    """(box, cut-out, words) of each look of a trace, or of each finding that has a box."""
    film = entry.case.pictures[0].name
    found: list[tuple[Box, str | None, str]] = []
    for n, step in enumerate(steps):
        boxes = [r for r in step.regions if isinstance(r, Box) and r.picture == film]
        if step.kind == "look" and boxes:
            after = steps[n + 1] if n + 1 < len(steps) else None
            words = after.text if after is not None and after.kind == "say" else ""
            own = "" if step.text == IMAGE else step.text
            found.append((boxes[0], step.crop, f"{own} {words}".strip()))
    if found:
        return found
    return [
        (region, None, finding.text)
        for finding in findings
        for region in finding.regions
        if isinstance(region, Box) and region.picture == film
    ]


def _number(edge: float) -> str:
    """An edge as boxes have it: no exponent, six places at most."""
    return f"{edge:.6f}".rstrip("0").rstrip(".")


def _plain(words: str) -> str:
    """Words that cannot be taken for a look or for another box."""
    return " ".join(words.replace(IMAGE, " ").replace("[", "(").replace("]", ")").split())


def _answer(entry: Entry, reading: Reading) -> dict[str, Any] | None:
    """A question row with its answer, and the thinking where it has the layout's form."""
    if not (reading.choice or "").strip():
        return None
    told = None
    if reading.trace is not None:
        response = join(reading.trace, None)
        parsed = thinking(response, picture=entry.case.pictures[0].name)
        if response.strip() and parsed.trace == _bare(reading.trace):
            told = Truth(trace=reading.trace)
    row = question_row(entry.model_copy(update={"truth": told}))
    return row | {"id": entry.case.id, "answer": reading.choice}
