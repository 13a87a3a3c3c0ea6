"""Readings as an MMRad submission: one row a case, as the release has it. The format is ours.

A reading with looks becomes an interleaved response, its cut-outs beside the file; one without
becomes a report. Where the steps of a reading, joined, are such a response already, they are
written as they are; else the looks are worded as the release words them.
"""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Any

from overread.benchmarks.mmrad.confidences import list_confidences, without_confidences
from overread.benchmarks.mmrad.release import THINKVG
from overread.benchmarks.mmrad.write import question_row, trace_row
from overread.benchmarks.output import copy_bytes
from overread.benchmarks.submission_tally import SubmissionTally
from overread.core import (
    Box,
    Entry,
    Finding,
    Progress,
    Reading,
    Release,
    Step,
    Trace,
    Truth,
    WrittenSubmission,
)
from overread.core.submission import FindFile, FindReading
from overread.errors import PictureError
from overread.prompts.interleaved import (
    BOX_SENTENCE,
    HIGHLIGHT,
    IMAGE,
    REPORT_CUE,
    escape_marks,
    join_response,
    parse_interleaved,
    parse_thinking,
)
from overread.storage.atomic import open_atomic

_NO_CROP = "no-crop"
"""Stands where a look has no cut-out but a later one has, so that these stay in their places."""


def submit(
    release: Release, readings: FindReading, source: FindFile, out: Path, *, progress: Progress | None = None
) -> WrittenSubmission:
    """Write a file of rows, and the cut-outs of looks in a folder beside it."""
    going = SubmissionTally(release, readings, progress)
    asked = (release.form or "").startswith(THINKVG)
    crops = crops_folder(out)
    with open_atomic(out) as stream:
        for entry in release.entries():
            reading = going.find_reading(entry)
            if reading is None:
                continue
            if asked:
                row = _make_answer_row(entry, reading)
            else:
                row = _make_report_row(entry, reading, _CropCopier(crops, source, entry, going))
            if row is None:
                going.leave_out(entry, f"it has no {'answer' if asked else 'report and no look'}")
                continue
            stream.write(json.dumps(row, ensure_ascii=False).encode("utf-8") + b"\n")
            going.count_written()
        going.require_written()
    return going.to_result(out)


def crops_folder(out: Path) -> Path:
    """The folder of a submission's cut-outs.

    >>> crops_folder(Path("mine.jsonl")).name, crops_folder(Path("mine.v2.jsonl.gz")).name
    ('mine-crops', 'mine.v2-crops')
    """
    name = out.name.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".json")
    return out.with_name(f"{name}-crops")


class _CropCopier:
    """Copies the cut-outs of one reading to where its row names them."""

    def __init__(self, folder: Path, source: FindFile, entry: Entry, going: SubmissionTally) -> None:
        self._folder, self._source = folder, source
        self._entry, self._going = entry, going
        self._count = 0

    def copy(self, file: str) -> str | None:
        """The name of a copy, relative to the submission; None where the file is not there."""
        suffix = PurePosixPath(file).suffix
        name = f"{self._entry.case.id}/{self._count + 1}{suffix}"
        try:
            copy_bytes(self._source(file), self._folder / name)
        except PictureError as error:
            self._going.note(self._entry, f"a cut-out is left out ({error})")
            return None
        self._count += 1
        return f"{self._folder.name}/{name}"


def _make_report_row(entry: Entry, reading: Reading, crops: _CropCopier) -> dict[str, Any] | None:
    """An interleaved record, or a row with a report alone."""
    trace = _make_response(entry, reading)
    if trace is None and not (reading.report or "").strip():
        return None
    told = Truth(trace=_copy_crops(trace, crops), report=reading.report) if trace else None
    row = trace_row(entry.model_copy(update={"truth": told}))
    row["id"] = entry.case.id
    row.pop("report", None)  # a copy may carry the truth's, or somebody else's
    found = _read_back(entry, trace, reading.report)[1] if trace else None
    if reading.report and found != reading.report:
        row["report"] = reading.report
    return row | (_confidence_field(trace) if trace else {})


def _confidence_field(trace: Trace) -> dict[str, Any]:
    sure = list_confidences(trace)
    return {} if sure is None else {"confidences": sure}


def _copy_crops(trace: Trace, crops: _CropCopier) -> Trace:
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
            crop = None if file == "" else file or _NO_CROP
        steps.append(step.model_copy(update={"crop": crop}))
    return Trace(steps=tuple(steps))


def _make_response(entry: Entry, reading: Reading) -> Trace | None:
    """The trace as an interleaved response has it; None where there is no look in the reading."""
    trace = reading.trace
    if trace is not None and _read_back(entry, trace, reading.report)[0] == _drop_crops(trace):
        return trace if any(step.kind == "look" for step in trace.steps) else None
    looks = _find_looks(entry, trace.steps if trace else (), reading.findings or ())
    if not looks:
        return None
    steps: list[Step] = []
    for box, crop, words in looks:
        place = escape_marks(box.label or "marked area")
        edges = ", ".join(map(_format_edge, (box.x1, box.y1, box.x2, box.y2)))
        said = f"{BOX_SENTENCE.format(box=edges)}{escape_marks(words)}\n\n "
        steps += [
            Step(kind="say", text=HIGHLIGHT.format(region=place)),
            Step(kind="look", text=IMAGE, regions=(box,), crop=crop),
            Step(kind="say", text=said, regions=(box,)),
        ]
    steps += [Step(kind="conclude", text=REPORT_CUE)] if reading.report else []
    return Trace(steps=tuple(steps))


def _read_back(entry: Entry, trace: Trace, report: str | None) -> tuple[Trace, str | None]:
    """What the trace and the report of a response would be read as, without its cut-outs."""
    response = join_response(trace, report)
    crops = [""] * response.count(IMAGE)
    parsed = parse_interleaved(response, crops, picture=entry.case.pictures[0].name)
    return _drop_crops(parsed.trace), parsed.report


def _drop_crops(trace: Trace) -> Trace:
    """The trace without what a response cannot express: crops, exchanges and confidences."""
    told = [step.model_copy(update={"crop": None, "exchange": None}) for step in trace.steps]
    return Trace(steps=tuple(without_confidences(step) for step in told))


def _find_looks(
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


def _format_edge(edge: float) -> str:
    """An edge as boxes have it: no exponent, six places at most."""
    return f"{edge:.6f}".rstrip("0").rstrip(".")


def _make_answer_row(entry: Entry, reading: Reading) -> dict[str, Any] | None:
    """A question row with its answer, and the thinking where it has the layout's form."""
    if not (reading.choice or "").strip():
        return None
    told = None
    if reading.trace is not None:
        response = join_response(reading.trace, None)
        parsed = parse_thinking(response, picture=entry.case.pictures[0].name)
        if response.strip() and parsed.trace == _drop_crops(reading.trace):
            told = Truth(trace=reading.trace)
    row = question_row(entry.model_copy(update={"truth": told}))
    row |= {"id": entry.case.id, "answer": reading.choice}
    return row | (_confidence_field(told.trace) if told and told.trace else {})
