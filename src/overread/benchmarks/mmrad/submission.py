"""MMRad submissions: one row a case. No format is published; this one is ours.

Either rows as the release has them, `{"prompt", "response", "images"}`, where the first picture
tells the case and the further ones are the reader's own crops, relative to the submission's folder;
or `{"id", "response"}`; or `{"id", "report"}`. Where the release is one of question rows:
`{"image_path", "question", "response"}`, `{"id", "response"}` or `{"id", "answer"}`. Any row with a
response may have `confidences`, how sure the reader is of each of its boxes.

The answer to a question becomes the reading's `choice`, as it was written: a question row has no
options, and its truth is an answer in words too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from overread.benchmarks.intake import Intake, json_kind, quote_value
from overread.benchmarks.mmrad.confidences import read_confidences
from overread.benchmarks.mmrad.release import THINKVG
from overread.benchmarks.prediction_rows import CaseRow, read_prediction_rows
from overread.benchmarks.submitted_files import FolderFiles
from overread.core import Box, Case, Entry, Release, Submission, Trace
from overread.errors import NotThere, PictureError
from overread.prompts.interleaved import IMAGE, ParsedResponse, parse_interleaved, parse_thinking

_NAME_CASE = "write the case's id, or the row as the release has it"


class _CaseIndex:
    """Finds the case that a row is about."""

    def __init__(self, cases: Iterable[Case], *, asked: bool) -> None:
        self.cases = {case.id: case for case in cases}
        self.by_question = asked
        self._keys: dict[Any, list[str]] = defaultdict(list)
        self._tails: dict[tuple[str, ...], list[str]] = defaultdict(list)
        self._used: dict[Any, int] = defaultdict(int)
        for case in self.cases.values():
            film = case.pictures[0].file
            self._keys[(film, case.instruction) if asked else film].append(case.id)
            if not asked:
                self._tails[_path_tail(film)].append(case.id)

    def find(self, data: dict[str, Any]) -> str | None:
        """The id of the case, of the release or not; None where the row names none."""
        own = data.get("id")
        if isinstance(own, str) and own in self.cases:
            return own
        key, told = self._key(data)
        if key in self._keys:
            # The same question on the same picture twice: the first row is the first of them.
            ids = self._keys[key]
            place = min(self._used[key], len(ids) - 1)
            self._used[key] += 1
            return ids[place]
        moved = self._tails.get(_path_tail(key), []) if isinstance(key, str) else []
        if len(moved) == 1:
            return moved[0]
        return own if isinstance(own, str) else told

    def _key(self, data: dict[str, Any]) -> tuple[Any, str | None]:
        if self.by_question:
            path, question = data.get("image_path"), data.get("question")
            if isinstance(path, str) and isinstance(question, str):
                return (path.lstrip("/"), question), f"{path}: {question}"
            return None, None
        images = data.get("images")
        if isinstance(images, list) and images and isinstance(images[0], str):
            return images[0], images[0]
        return None, None


def _path_tail(file: str) -> tuple[str, ...]:
    """What of a path tells the case: its last two parts, since copies lie in other folders."""
    return PurePosixPath(file).parts[-2:]


def read_submission(release: Release, path: Path, entries: Collection[Entry] | None = None) -> Submission:
    """The readings of a file of rows, matched to the cases by id, picture or question."""
    asked = (release.form or "").startswith(THINKVG)
    index = _CaseIndex((entry.case for entry in entries or release.entries()), asked=asked)
    intake = Intake(path, index.cases)
    files = FolderFiles(path.absolute().parent)
    for row in read_prediction_rows(path, intake):
        data = row.data or {}
        case_id = index.find(data)
        if case_id is None:
            intake.error("the row does not tell which case it is about", _NAME_CASE, row=row.number)
        elif case_id not in index.cases:
            intake.note_unknown_case(case_id, row=row.number)
        else:
            told = CaseRow(row.number, data, index.cases[case_id], intake)
            if asked:
                _read_answer(told)
            else:
                _read_report(told, files)
    return intake.to_submission(files)


def _read_report(row: CaseRow, files: FolderFiles) -> None:
    """A trace and its report, or a report alone."""
    response, report = row.text("response"), row.text("report")
    if response is None:
        if report is None:
            row.fail("the row has neither a response nor a report", "write one of them as a text")
        else:
            row.add_reading(report=report)
        return
    looks = response.count(IMAGE)
    crops = _read_crops(row, looks, files)
    parsed = parse_interleaved(response, crops, picture=row.case.pictures[0].name)
    _note_oddities(row, parsed)
    report = report or parsed.report
    if report is None and not looks:
        what = "the response has no look and announces no report; all of it was taken as one"
        row.warn(what, "write it as `report`")
        row.add_reading(report=response)
        return
    if report is None:
        what = "no report can be told from the reasoning"
        remedy = "announce it ('In summary, the report is: …'), or write it as `report`"
        row.error(what, f"{remedy}; it counts as not handed in")
    trace, findings = read_confidences(row, _without_blank_crops(parsed.trace), parsed.findings)
    row.add_reading(report=report, trace=trace, findings=findings if looks else None)


def _read_answer(row: CaseRow) -> None:
    """The answer to a question, and the thinking that led to it."""
    response, answer = row.text("response"), row.text("answer")
    if response is None and answer is None:
        row.fail("the row has neither a response nor an answer", "write one of them as a text")
        return
    if response is None:
        row.add_reading(choice=(answer or "").strip())
        return
    parsed = parse_thinking(response, picture=row.case.pictures[0].name)
    _note_oddities(row, parsed)
    found = answer or parsed.answer
    if not found and "<" not in response:
        found = response
        what = "the response has no <answer>; all of it was taken as the answer"
        row.warn(what, "write it between <answer> and </answer>")
    if not found:
        row.error(
            "the response has no <answer>",
            "write the answer between <answer> and </answer>; it counts as wrong",
        )
    trace, _ = read_confidences(row, parsed.trace, ())
    row.add_reading(choice=found.strip() if found else None, trace=trace)


def _read_crops(row: CaseRow, looks: int, files: FolderFiles) -> list[str]:
    """A file for each look, empty where there is none."""
    value = row.data.get("images")
    images: Sequence[object] = value if isinstance(value, list) else ()
    if value is not None and not isinstance(value, list):
        row.error(f"`images` is {json_kind(value)}, not a list", "write the X-ray and the crops")
    films = [_path_tail(picture.file) for picture in row.case.pictures]
    shown = 0
    for image, film in zip(images, films, strict=False):
        if not (isinstance(image, str) and _path_tail(image) == film):
            break
        shown += 1
    cut = images[shown:]
    if len(cut) < looks:
        row.warn(f"there are fewer crops than {IMAGE} in the response", "list a crop for each look")
    if len(cut) > looks:
        what = f"there are more crops than {IMAGE} in the response; the last ones were left out"
        row.warn(what, "list a crop for each look")
    found = [_read_crop(row, image, files) for image in cut[:looks]]
    return found + [""] * (looks - len(found))


def _read_crop(row: CaseRow, image: object, files: FolderFiles) -> str:
    if not isinstance(image, str):
        row.error(f"a crop is {json_kind(image)}, not a path", "write its path as a text")
        return ""
    try:
        files.source(image)
    except NotThere:
        row.warn("a crop is not there", "put the crops beside the predictions, as `images` say")
        return ""
    except PictureError:
        what = f"the crop {quote_value(image)} is not read: its path leads out of the folder"
        row.error(what, "write paths relative to the folder of the predictions")
        return ""
    return image


def _without_blank_crops(trace: Trace) -> Trace:
    """The trace with None where a look has no crop."""
    steps = [s.model_copy(update={"crop": None}) if s.crop == "" else s for s in trace.steps]
    return Trace(steps=tuple(steps))


def _note_oddities(row: CaseRow, parsed: ParsedResponse) -> None:
    bad = [found for code, _, found in parsed.oddities if code == "bad-box"]
    if bad:
        more = f" (the first of {len(bad)})" if len(bad) > 1 else ""
        what = f"{quote_value(bad[0])} is no box of four numbers{more}"
        row.error(what, "write boxes as [x1, y1, x2, y2]; it counts as not handed in")
    flat = [b for step in parsed.trace.steps for b in step.regions if isinstance(b, Box)]
    if any(box.x2 <= box.x1 or box.y2 <= box.y1 for box in flat):
        what = "a box has no area: its right edge is not right of its left one, or its bottom not "
        row.warn(f"{what}below its top", "write [left, top, right, bottom]; it meets nothing")
    if any(code == "no-box" for code, _, _ in parsed.oddities):
        row.warn("a look gives no box", "write where it looked as [x1, y1, x2, y2]")
