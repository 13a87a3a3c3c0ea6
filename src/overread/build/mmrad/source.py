"""The films of a source: reports with region boxes, or GEMeX-ThinkVG question rows.

    SOURCE/reports.jsonl (or .json, .parquet, .csv)   id, patient, image, report, regions, and if
                                                      known width, height, split
    SOURCE/train.jsonl, val.jsonl, test.jsonl         image_path, question, question_type, response

`regions` is a list of {"name", "box"}, a mapping from name to box, or either as JSON text. All
questions on one film make one item. Question rows bring no report: one stands in a reports file
beside them, or is put together from what the rows say.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from overread.benchmarks.mmrad.release import SPLITS
from overread.benchmarks.release import clean_id
from overread.benchmarks.row_fields import format_value
from overread.benchmarks.rows import read_csv_rows, read_rows, split_files
from overread.build.item import Item
from overread.build.mmrad.question_rows import question_items
from overread.core import Defect
from overread.errors import UsageError
from overread.storage.fence import Fence

FORMS = ("jsonl", "json", "parquet", "csv")
_EXPECTED = "id, image, report, regions"


def items(source: Path, settings: Mapping[str, str]) -> Iterator[Item | Defect]:
    """Every film of a source, and what is wrong with rows that make none."""
    if not source.is_dir():
        raise UsageError("the source is no folder", where=str(source), remedy="name its folder")
    fence = Fence(source)
    reports = next((f"reports.{form}" for form in FORMS if fence.has(f"reports.{form}")), None)
    asked = [split for split in SPLITS if split_files(fence, split)]
    if not asked and reports is None:
        raise UsageError(
            "there are neither reports nor question rows",
            where=str(source),
            remedy=f"put a reports.jsonl there ({_EXPECTED}), or GEMeX-ThinkVG's train.jsonl",
        )
    found: Iterable[Item | Defect] = [] if reports is None else _report_items(fence, reports)
    if not asked:
        return _drop_duplicates(found, "reports")
    return _drop_duplicates(_join_reports(question_items(source, asked), found), "questions")


def _drop_duplicates(found: Iterable[Item | Defect], kind: str) -> Iterator[Item | Defect]:
    """The items, each id once."""
    seen: set[str] = set()
    for one in found:
        if isinstance(one, Item) and one.id in seen:
            where = one.data.get("row")
            yield Defect(
                code="duplicate-id",
                file=str(one.data.get("file", kind)),
                row=where if isinstance(where, int) else None,
                case=one.id,
                field="id",
                expected="an id of its own",
                found="one that an earlier row has",
            )
            continue
        if isinstance(one, Item):
            seen.add(one.id)
        yield one


def _join_reports(
    asked: Iterable[Item | Defect], reports: Iterable[Item | Defect]
) -> Iterator[Item | Defect]:
    """Films of question rows with the reports and boxes that stand beside them."""
    by_id: dict[str, Item] = {}
    by_image: dict[str, Item] = {}
    for one in reports:
        if isinstance(one, Defect):
            yield one
        else:
            by_id.setdefault(one.id, one)
            by_image.setdefault(str(one.data["image"]), one)
    for one in asked:
        if isinstance(one, Defect):
            yield one
            continue
        own = by_image.get(str(one.data["image"])) or by_id.get(one.id)
        if own is None:
            yield one
            continue
        boxes = [*_as_list(one.data["regions"]), *_as_list(own.data["regions"])]
        data = {**one.data, "report": own.data["report"], "regions": boxes}
        data["frame"] = own.data["frame"]
        yield one.model_copy(update={"data": data, "patient": own.patient or one.patient})


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else []


def _report_items(fence: Fence, file: str) -> Iterator[Item | Defect]:
    is_table = file.endswith(".csv")
    for row in read_csv_rows(fence.path(file), file) if is_table else read_rows(fence, file):
        if row.data is None:
            if row.defect is not None:
                yield row.defect
            continue
        yield _make_item(row.data, file, row.number)


def _make_item(data: dict[str, Any], file: str, number: int) -> Item | Defect:
    """One row as an item, or what keeps it from being one."""

    def wrong(code: str, field: str, expected: str, found: object) -> Defect:
        return Defect(
            code=code, file=file, row=number, field=field, expected=expected, found=format_value(found)
        )

    for field in ("id", "image", "report"):
        value = data.get(field)
        if value is None:
            columns = ", ".join(sorted(map(str, data))) or "no columns"
            return wrong("missing-field", field, f"a column {field}", f"columns {columns}")
        if not isinstance(value, str):
            return wrong("wrong-type", field, "text", value)
        if field != "report" and (not value.strip() or "\0" in value):
            return wrong("bad-row", field, "text without NUL bytes", value.replace("\0", "␀"))
    patient = data.get("patient")
    if patient is not None and not isinstance(patient, (str, int)):
        return wrong("wrong-type", "patient", "text", patient)
    try:
        regions = _parse_regions(data.get("regions"))
    except ValueError as error:
        return wrong("wrong-type", "regions", "a list of names and boxes", str(error))
    sizes = [_parse_size(data.get(field)) for field in ("width", "height")]
    if None in sizes and (data.get("width") or data.get("height")):
        found = f"{data.get('width')} × {data.get('height')}"
        return wrong("wrong-type", "width", "two whole numbers over 0", found)
    split = data.get("split")
    return Item(
        id=clean_id(data["id"]),
        patient=str(patient) if patient not in (None, "") else None,
        data={
            "source": "reports",
            "file": file,
            "row": number,
            "source_id": data["id"],
            "image": data["image"].lstrip("/"),
            "report": data["report"],
            "frame": None if None in sizes else list(sizes),
            "regions": regions,
            "said": [],
            "split": split if split in SPLITS else None,
        },
    )


def _parse_regions(value: Any) -> list[Any]:
    """Names and boxes as they were written: [[name, box], ...]; whether they are right is later."""
    if value is None or value == "":
        return []
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise ValueError("text that is no JSON") from None
    if isinstance(value, dict):
        value = [{"name": name, "box": box} for name, box in value.items()]
    if not isinstance(value, list):
        raise ValueError(format_value(value))
    found = []
    for one in value:
        name, box = (one.get("name"), one.get("box")) if isinstance(one, dict) else (None, None)
        if not isinstance(name, str) or not isinstance(box, (list, tuple)):
            raise ValueError(format_value(one))
        found.append([name, list(box)])
    return found


def _parse_size(value: Any) -> int | None:
    """A size, also where a data frame made a float or a text of it."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return int(number) if number.is_integer() and 0 < number < 10**6 else None
