"""MMRad-IVL rows: a radiograph, an interleaved trace of looks and words, a report.

Two layouts come under this name: the interleaved records (prompt, response, images), and the
question rows of its parent GEMeX-ThinkVG (image_path, question, question_type, response), a
source of traces. The first row of a file tells which one it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from overread.benchmarks.release import FolderRelease, clean_id
from overread.benchmarks.row_fields import RowFields
from overread.benchmarks.rows import missing_split_error, read_rows, row_count, split_files
from overread.core import Case, Entry, Image, ScannedRow, Truth
from overread.errors import Refused, UsageError
from overread.prompts.interleaved import IMAGE, ParsedResponse, parse_interleaved, parse_thinking

SPLITS = ("train", "val", "test")
FORMS = ("jsonl", "parquet", "json")
THINKVG = "thinkvg-"
XRAY = "xray"


class MMRadRelease(FolderRelease):
    """One split of a copy of MMRad-IVL, or of GEMeX-ThinkVG."""

    benchmark = "mmrad"

    def __init__(
        self, root: Path, split: str, *, form: str | None = None, pictures: Path | None = None
    ) -> None:
        """Find the split's files and tell their layout from the first row."""
        super().__init__(root, split, form=form, pictures=pictures)
        files = split_files(self.fence, split)
        if not files:
            raise missing_split_error(self.fence, split, SPLITS)
        stored = form.removeprefix(THINKVG) if form else next(iter(files))
        if stored not in files:
            raise UsageError(
                f"split '{split}' is not there as {form}",
                where=str(root),
                remedy=f"use --form {next(iter(files))}",
            )
        self.files = files[stored]
        first = next((row.data for row in read_rows(self.fence, self.files[0]) if row.data), {})
        self.is_thinkvg = first.get("question") is not None and first.get("prompt") is None
        self.form = f"{THINKVG}{stored}" if self.is_thinkvg else stored
        if form is not None and form.startswith(THINKVG) and not self.is_thinkvg:
            raise UsageError(
                "these are interleaved records, not question rows",
                where=self.files[0],
                remedy=f"use --form {self.form}",
            )

    def forms(self) -> list[str]:
        """How this split is stored: jsonl, parquet, json."""
        return list(split_files(self.fence, self.split))

    def other_splits(self) -> Iterator[MMRadRelease]:
        """The other splits of the same copy."""
        for split in SPLITS:
            if split != self.split and split_files(self.fence, split):
                yield MMRadRelease(self.root, split)

    def find_picture(self, file: str) -> Path | bytes:
        """The file of a radiograph; a crop belongs to the hidden trace."""
        if PurePosixPath(file).name.startswith("reasoning_image"):
            raise Refused(f"{file} is a crop of the trace, not a picture of the case")
        return self.source(file)

    @cached_property
    def lacks_radiographs(self) -> bool:
        """Whether these are question rows without any of their radiographs, as the hub has them."""
        rows = (scanned.entry for scanned in self.scan())
        films = (entry.case.pictures[0].file for entry in rows if entry is not None)
        return self.is_thinkvg and not any(self.picture_fence.holds(film) for film in films)

    def count(self) -> int | None:
        """How many rows the split has."""
        return row_count(self.fence, self.files)

    def scan(self) -> Iterator[ScannedRow]:
        """Every row as an entry or None, and what is wrong with it."""
        place = 0  # rows, not lines: a blank line is no row, and shards go on counting
        for file in self.files:
            for row in read_rows(self.fence, file):
                if row.data is None:
                    yield ScannedRow(file, row.number, None, [row.defect] if row.defect else [])
                    continue
                place += 1
                reader = RowFields(row.data, file=file, number=row.number)
                read = read_question if self.is_thinkvg else read_trace
                entry = read(reader, split=self.split, place=place)
                yield ScannedRow(file, row.number, entry, reader.defects)


def read_trace(row: RowFields, *, split: str, place: int) -> Entry | None:
    """One interleaved record as an entry."""
    prompt = row.text("prompt")
    if prompt is None and not row.broken:
        row.fail("missing-field", "prompt", "an instruction with <image>", "nothing")
    response = row.text("response")
    images = row.data.get("images")
    if not isinstance(images, list) or not all(isinstance(file, str) for file in images):
        row.fail("wrong-type", "images", "a list of paths", images)
    if row.broken or prompt is None or not isinstance(images, list):
        return None
    row.case = _record_id(images[0] if images else "", place)
    shown = prompt.count(IMAGE)
    looked = response.count(IMAGE) if response else 0
    if shown + looked != len(images):
        # How many looks a hidden response takes is not for the message that loading raises.
        expected = f"one for each {IMAGE} of prompt and response"
        row.fail("count-mismatch", "images", expected, f"{len(images)} for {shown + looked}")
    if not shown:
        row.fail("count-mismatch", "prompt", f"one {IMAGE}", "none")
    if row.broken:
        return None
    names = [XRAY] if shown == 1 else [f"{XRAY}-{number}" for number in range(1, shown + 1)]
    extra = _extra_columns(row, "prompt", "response", "images")
    instruction = " ".join(prompt.replace(IMAGE, " ").split())
    if prompt != f"{instruction} {IMAGE}":
        extra["prompt"] = prompt  # so that it is written back as it was
    truth = None
    if response is not None:
        parsed = parse_interleaved(response, images[shown:], picture=names[0])
        _note_oddities(row, parsed)
        truth = Truth(findings=parsed.findings, trace=parsed.trace, report=parsed.report)
    return Entry(
        case=Case(
            id=row.case,
            benchmark="mmrad",
            split=split,
            patient=_patient(images[0]),
            pictures=tuple(Image(name=name, file=file) for name, file in zip(names, images, strict=False)),
            instruction=instruction,
        ),
        truth=truth,
        extra=extra,
    )


def read_question(row: RowFields, *, split: str, place: int) -> Entry | None:
    """One GEMeX-ThinkVG question as an entry."""
    path, question = row.text("image_path"), row.text("question")
    response = row.text("response")
    for field, value in (("image_path", path), ("question", question)):
        if value is None and not row.broken:
            row.fail("missing-field", field, "text", "nothing")
    if row.broken or path is None or question is None:
        return None
    file = path.lstrip("/")  # the published rows begin their relative paths with a slash
    row.case = f"{clean_id(PurePosixPath(file).stem)}-q{place}"
    extra = _extra_columns(row, "image_path", "question", "response")
    if file != path:
        extra["image_path"] = path
    truth = None
    if response is not None:
        parsed = parse_thinking(response, picture=XRAY)
        _note_oddities(row, parsed)
        truth = Truth(answer_text=parsed.answer, trace=parsed.trace)
    return Entry(
        case=Case(
            id=row.case,
            benchmark="mmrad",
            split=split,
            patient=_patient(file),
            pictures=(Image(name=XRAY, file=file),),
            instruction=question,
            asks="answer",
        ),
        truth=truth,
        extra=extra,
    )


def _extra_columns(row: RowFields, *own: str) -> dict[str, Any]:
    """The columns that are no part of the layout; null is how parquet says "not in this row"."""
    return {key: v for key, v in row.data.items() if key not in own and v is not None}


def _note_oddities(row: RowFields, parsed: ParsedResponse) -> None:
    for code, expected, found in parsed.oddities:
        row.note(code, "response", expected, found)


def _record_id(file: str, place: int) -> str:
    """'<id>' of 'IVLImage/<id>/problem_image_1.jpg'; of a file of any other name, its own."""
    path = PurePosixPath(file)
    own = path.parent.name if path.name.startswith("problem_image") else path.stem
    return clean_id(own) if own else f"row-{place}"


def _patient(file: str) -> str | None:
    """'p10000032' of a MIMIC-CXR path."""
    match = re.search(r"(?:^|/)(p\d{8})(?:/|_)", file)
    return match[1] if match else None
