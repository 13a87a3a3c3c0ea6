"""Raw cases from a folder or a file: JSON lines, a JSON list, CSV, TSV or parquet.

    id, patient, title, history, imaging_findings, discussion, differential, final_diagnosis,
    images [{file, id, caption, modality, sub_modality}], interval, icd

`id`, `history`, `differential`, `final_diagnosis` and `images` are needed. In a table, a list is a
JSON text or parts between semicolons, and pictures may stand in columns image_01_path,
image_01_caption … as in the release.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import JsonValue, ValidationError
from pydantic_core import from_json

from overread.benchmarks.row_fields import format_value
from overread.benchmarks.rows import read_csv_rows, read_rows
from overread.build.item import Item
from overread.build.medthinkvqa.fields import SourcePicture
from overread.core import Defect
from overread.errors import UsageError
from overread.storage.fence import Fence

NEEDED = ("id", "history", "differential", "final_diagnosis", "images")
TEXTS = ("title", "history", "imaging_findings", "discussion", "final_diagnosis", "interval", "icd")
_ALIASES = {
    "clinical_history": "history",
    "differentials": "differential",
    "differential_diagnosis": "differential",
    "diagnosis": "final_diagnosis",
    "case_id": "id",
    "patient_id": "patient",
}
_KINDS = ("jsonl", "json", "csv", "tsv", "parquet")
_SLOT = re.compile(r"image_(\d{1,3})_(id|path|caption|modality|sub_modality|timepoint)")


def items(source: Path, settings: Mapping[str, str]) -> Iterator[Item | Defect]:
    """The raw cases of a source, and what is wrong with rows that make none."""
    file = cases_file(source)
    is_table = file.suffix in (".csv", ".tsv")
    rows = read_csv_rows(file, file.name) if is_table else read_rows(Fence(file.parent), file.name)
    for row in rows:
        if row.data is None:
            if row.defect is not None:
                yield row.defect
            continue
        columns = _rename_columns(dict.fromkeys(row.data, "x"))
        lacking = [name for name in NEEDED if name not in columns]
        if is_table and lacking:  # in every row: said once
            expected = f"columns {', '.join(lacking)}"
            found = f"columns {', '.join(sorted(columns))[:200]}"
            yield Defect(code="missing-field", file=file.name, expected=expected, found=found)
            return
        cells = {column: None if cell == "" else cell for column, cell in row.data.items()}
        data = _rename_columns(cells if is_table else row.data)
        yield _make_item(data, file.name, row.number)


def cases_file(source: Path) -> Path:
    """The file of rows: the source itself, or the file `cases` in it."""
    if source.is_file():
        if source.suffix.lower().lstrip(".") not in _KINDS:
            raise UsageError(
                "this is no file of raw cases", where=str(source), remedy=f"give {_list_kinds()}"
            )
        return source
    for kind in _KINDS:
        if (source / f"cases.{kind}").is_file():
            return source / f"cases.{kind}"
    raise UsageError(
        "there are no raw cases here",
        where=str(source),
        remedy=f"give a folder with cases.jsonl, or {_list_kinds()}",
    )


def _list_kinds() -> str:
    return "a file that ends in " + ", ".join(f".{kind}" for kind in _KINDS)


def _rename_columns(data: dict[str, Any]) -> dict[str, Any]:
    """The columns by our names, whatever their capitals."""
    found: dict[str, Any] = {}
    for column, value in data.items():
        name = str(column).strip().lower().replace(" ", "_")
        found.setdefault(_ALIASES.get(name, name), value)
    if "images" not in found:
        slots = _collect_slots(found)
        if slots:
            found["images"] = slots
    return found


def _collect_slots(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    slots: dict[int, dict[str, Any]] = {}
    for column, value in data.items():
        match = _SLOT.fullmatch(column)
        if match is not None and value not in (None, ""):
            field = "file" if match[2] == "path" else match[2]
            slots.setdefault(int(match[1]), {})[field] = value
    return [slots[number] for number in sorted(slots)]


def _make_item(data: Mapping[str, Any], file: str, number: int) -> Item | Defect:
    name = data.get("id")
    name = str(name) if isinstance(name, int) and not isinstance(name, bool) else name
    known = name if isinstance(name, str) and name.strip() else None

    def defect(code: str, field: str, expected: str, found: object) -> Defect:
        return Defect(
            code=code,
            file=file,
            row=number,
            case=known,
            field=field,
            expected=expected,
            found=format_value(found),
        )

    for field in NEEDED:
        if data.get(field) is None:
            return defect("missing-field", field, f"a column '{field}'", "nothing")
    if known is None:
        return defect("missing-field", "id", "a name of its own", name)
    held: dict[str, JsonValue] = {}
    for field in TEXTS:
        value = data.get(field)
        if value is not None and not isinstance(value, str):
            return defect("wrong-type", field, "text", value)
        if value is not None:
            held[field] = value
    listed = _parse_list(data["differential"])
    if listed is None or not all(isinstance(text, str) for text in listed):
        return defect("wrong-type", "differential", "a list of texts", data["differential"])
    pictures = _parse_pictures(data["images"])
    if pictures is None:
        return defect("wrong-type", "images", "a list of pictures, each with a file", data["images"])
    held["differential"] = listed
    held["images"] = pictures
    patient = data.get("patient")
    if patient is not None and not isinstance(patient, str | int):
        return defect("wrong-type", "patient", "text", patient)
    whose = str(patient).strip() if patient is not None else ""
    return Item(id=known.strip(), patient=whose or None, data=held)


def _parse_list(value: Any) -> list[Any] | None:
    """A list; also as JSON, or as parts between semicolons, bars or line ends."""
    if isinstance(value, list):
        return value
    if not isinstance(value, str):
        return None
    if value.lstrip().startswith("["):
        try:
            found = from_json(value)
        except ValueError:
            return None
        return found if isinstance(found, list) else None
    return [part.strip() for part in re.split(r"[;|\n]", value) if part.strip()]


def _parse_pictures(value: Any) -> list[JsonValue] | None:
    """Pictures as plain mappings; a text stands for a file."""
    listed = _parse_list(value)
    if listed is None:
        return None
    found: list[JsonValue] = []
    for one in listed:
        row = {"file": one} if isinstance(one, str) else one
        if not isinstance(row, dict):
            return None
        known = {key: row[key] for key in SourcePicture.model_fields if row.get(key) is not None}
        if "path" in row and "file" not in known:
            known["file"] = row["path"]
        try:
            picture = SourcePicture.model_validate(known)
        except ValidationError:
            return None
        found.append(picture.model_dump(mode="json", exclude_none=True))
    return found
