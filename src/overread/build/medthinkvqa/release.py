"""The release: rows in the benchmark's layout, pictures beside them, by the benchmark's writer."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from overread.benchmarks import write
from overread.benchmarks.medthinkvqa.release import SPLITS, read_row
from overread.benchmarks.memory_release import MemoryRelease
from overread.benchmarks.row_fields import RowFields, row_error
from overread.build.item import Change, Item
from overread.build.medthinkvqa.fields import SourcePicture, differential_of, pictures_of, text_of
from overread.build.medthinkvqa.settings import read_choice
from overread.build.source_pictures import picture_path
from overread.build.step import StepContext
from overread.core import Entry
from overread.core.seeded import hash_number
from overread.pixels.formats import sniff_format

_NEUTRAL = re.compile(r"(?:case|patient|study|exam)?[_-]?\d{1,12}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,60}")
_QUALITY = 95


def write_release(items: Sequence[Item], out: Path, context: StepContext) -> Sequence[Change]:
    """Write all splits of what is left into a folder."""
    copied = read_choice(context, "pictures", ("required", "named")) == "required"
    folders = case_folders(items)
    changes: list[Change] = []
    files: dict[str, tuple[str, SourcePicture]] = {}
    for split in SPLITS:
        here = [item for item in items if text_of(item, "split") == split]
        entries = [_make_entry(item, split, folders[item.id], files, n) for n, item in enumerate(here, 1)]
        made = MemoryRelease(
            "medthinkvqa", split, entries, lambda file: _picture_source(files[file], context), count=len(here)
        )
        write(made, out, form="jsonl", pictures=copied)
        changes.append(_split_change(split, here))
    return changes


def case_folders(items: Sequence[Item]) -> dict[str, str]:
    """Case → the folder of its pictures, which names the case and must not tell what it has.

    A numbered folder or id stays. Anything else, or one that two cases have, becomes a number.
    """
    wanted = {item.id: _own_folder(item) for item in items}
    counts = Counter(folder for folder in wanted.values() if folder)
    return {
        item: folder if folder and counts[folder] == 1 else _case_number(item)
        for item, folder in wanted.items()
    }


def _own_folder(item: Item) -> str | None:
    folders = {Path(picture.file).parts[-3:-1] for picture in pictures_of(item)}
    only = next(iter(folders)) if len(folders) == 1 else ()
    if len(only) == 2 and only[0] == "images" and _NEUTRAL.fullmatch(only[1]):
        return only[1]
    return item.id if _NEUTRAL.fullmatch(item.id) else None


def _case_number(name: str) -> str:
    return f"case{hash_number(name) % 10**12:012d}"


def _make_entry(
    item: Item, split: str, folder: str, files: dict[str, tuple[str, SourcePicture]], place: int
) -> Entry:
    """The entry of an item, as the loader would read its row."""
    row = row_of_item(item, folder)
    for slot, picture in enumerate(pictures_of(item), 1):
        files[row[f"image_{slot:02d}_path"]] = (picture.file, picture)
    reader = RowFields(row, file=f"{split}.jsonl", number=place)
    entry = read_row(reader, split=split, place=place)
    if entry is None or reader.defects:
        raise row_error(reader.defects)
    return entry


def row_of_item(item: Item, folder: str) -> dict[str, Any]:
    """The row of a case that went through all steps; absent fields are left out."""
    lettered: Any = item.data.get("lettered")
    placed: Any = item.data.get("icd_placed") or {}
    times: Any = item.data.get("times") or {}
    pictures = pictures_of(item)
    row: dict[str, Any] = {
        "title": _title(item, folder),
        "CLINICAL_HISTORY": text_of(item, "history"),
        "IMAGING_FINDINGS": text_of(item, "imaging_findings"),
        "discussion": text_of(item, "discussion"),
        "options": dict(lettered),
        "correct_answer": text_of(item, "answer"),
        "correct_answer_text": text_of(item, "final_diagnosis"),
        "ICD Chapter": placed.get("chapter"),
        "ICD Block": placed.get("block"),
        "ICD Category": placed.get("category"),
        "is_longitudinal": times.get("longitudinal"),
        "timepoint_count": times.get("timepoints"),
        "interval_text": times.get("interval"),
        "image_count": len(pictures),
    }
    row = {name: value for name, value in row.items() if value not in (None, "")}
    for slot, (name, picture) in enumerate(zip(_file_names(pictures), pictures, strict=True), 1):
        cells = {
            "id": name.rpartition(".")[0],
            "path": f"images/{folder}/{name}",
            "caption": picture.caption,
            "modality": picture.modality,
            "sub_modality": picture.sub_modality,
            "timepoint": picture.timepoint,
        }
        row |= {f"image_{slot:02d}_{key}": value for key, value in cells.items() if value}
    if item.patient and item.patient != folder:
        # The layout has no column for it; without one nobody could tell two cases of a patient.
        row["patient"] = hashlib.sha256(item.patient.encode("utf-8")).hexdigest()[:16]
    return row


def _title(item: Item, folder: str) -> str:
    """A number: a title in words may be the diagnosis."""
    title = text_of(item, "title")
    if re.fullmatch(r"(?:case )?(?:number )?\d{1,12}", title, re.IGNORECASE):
        return title
    return f"Case number {re.sub('[^0-9]', '', folder)}"


def _file_names(pictures: Sequence[SourcePicture]) -> list[str]:
    """A name for each picture: its id or stem where that is one word, else its number."""
    names: list[str] = []
    for number, picture in enumerate(pictures, 1):
        path = Path(picture.file)
        stem = picture.id or path.stem
        stem = stem if _NAME.fullmatch(stem) else f"image-{number}"
        suffix = path.suffix.lower()
        suffix = suffix if suffix in (".jpg", ".jpeg", ".png") else ".jpg"
        name = f"{stem}{suffix}"
        names.append(name if name not in names else f"image-{number}{suffix}")
    return names


def _picture_source(found: tuple[str, SourcePicture], context: StepContext) -> Path | bytes:
    """The file of a picture; a DICOM becomes a plain picture, since its header names people."""
    path = picture_path(context.source, found[0])
    if sniff_format(path) != "dicom":
        return path
    from overread.pixels.encode import encode
    from overread.pixels.formats import read_picture

    return encode(read_picture(path, name=found[0]), kind="jpeg", quality=_QUALITY)


def _split_change(split: str, items: Sequence[Item]) -> Change:
    """What was written of a split, with what text alone would gain from lengths and letters."""
    letters = Counter(text_of(item, "answer") for item in items)
    longest = sum(_key_is_longest(item) for item in items)
    balance: Mapping[str, Any] = {
        "cases": len(items),
        "patients": len({item.patient or item.id for item in items}),
        "pictures": sum(len(pictures_of(item)) for item in items),
        "right letters": dict(sorted(letters.items())),
        "right option longest": round(longest / len(items), 3) if items else None,
    }
    return Change(what=f"split {split}", after=dict(balance), why="written; a fifth is chance")


def _key_is_longest(item: Item) -> float:
    """1 where the right option is the longest; a share of it where several are as long."""
    listed = differential_of(item)
    most = max(len(text) for text in listed.offered)
    longest = [text for text in listed.offered if len(text) == most]
    return (listed.key in longest) / len(longest)
