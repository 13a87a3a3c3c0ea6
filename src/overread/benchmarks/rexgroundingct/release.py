"""ReXGroundingCT rows: one scan, its finding sentences, one mask channel for each.

The list of cases is `dataset.json`, or its MICCAI twin with more validation and test scans. The
CTs come from CT-RATE and lie in a flat folder or in its tree; the masks under `segmentations/`, the
chains of thought in `anatomical_cot.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, TypeGuard

from overread.benchmarks.release import FolderRelease, clean_id
from overread.benchmarks.rexgroundingct.chains import ChainFile, read_chain_file, read_chains
from overread.benchmarks.rexgroundingct.scan_names import scan_stem
from overread.benchmarks.row_fields import RowFields
from overread.benchmarks.rows import read_json
from overread.core import Case, Defect, Entry, Finding, Mask, Query, ScannedRow, Truth, Volume
from overread.errors import NotThere, PictureError, Refused, ReleaseError, UsageError
from overread.storage.fence import Fence

SPLITS = ("train", "val", "test")
FORMS = {"base": "dataset.json", "miccai": "MICCAI_challenge_dataset.json"}
REPORTS = "reports_dataset.json"
CT = "ct"
MASKS = "segmentations"

_CT_FOLDERS = ("images", "", "ct", "cts", "volumes")
_CT_TREES = ("dataset/", "")
_MASK_FOLDERS = (MASKS, "masks", "labels")
_ROW_FIELDS = frozenset(("name", "findings", "entity_counts", "shape", "pixels", "categories", "protocol"))


class ReXGroundingCTRelease(FolderRelease):
    """One split of a copy of ReXGroundingCT."""

    benchmark = "rexgroundingct"
    # CTs and masks are large and often lie on another disk. Rows name plain files, never a path, so a
    # link opens its own files and nothing else.
    linked_folders = tuple(filter(None, (*_MASK_FOLDERS, *_CT_FOLDERS, "dataset")))
    split_has_a_file = False  # one list holds all splits, and those it does not have are empty

    def __init__(
        self, root: Path, split: str, *, form: str | None = None, pictures: Path | None = None
    ) -> None:
        """Find the list of cases; `dataset.json` is read where its twin is there too."""
        super().__init__(root, split, form=form, pictures=pictures)
        there = [name for name, file in FORMS.items() if self.fence.has(file)]
        if not there:
            refused = next(filter(None, map(self.fence.refusal, FORMS.values())), None)
            if refused is not None:
                raise ReleaseError(refused.what, where=str(root), remedy="copy the file into the release")
            raise ReleaseError(
                "there is no dataset.json and no MICCAI_challenge_dataset.json",
                where=str(root),
                remedy="give the folder that holds one of them",
            )
        self.form = form or there[0]
        if self.form not in there:
            raise UsageError(
                f"the release has no list of cases of form '{self.form}'",
                where=str(root),
                remedy=f"use --form {there[0]}",
            )
        self.file = FORMS[self.form]
        self._other_parts: dict[str, Any] = {}

    @cached_property
    def _split_rows(self) -> tuple[dict[str, list[Any]], Defect | None]:
        """Split → rows of the list file; or what is wrong with it."""
        data, defect = read_json(self.fence.path(self.file), self.file)
        if defect is not None:
            return {}, defect
        if not isinstance(data, dict):
            found = f"a {type(data).__name__}"
            return {}, Defect(code="bad-row", file=self.file, expected="splits and their scans", found=found)
        for split, rows in data.items():
            if split in SPLITS and not isinstance(rows, list):
                found = f"a {type(rows).__name__}"
                return {}, Defect(code="bad-row", file=self.file, field=split, expected="a list", found=found)
        self._other_parts = {key: value for key, value in data.items() if key not in SPLITS}
        return {split: rows for split, rows in data.items() if split in SPLITS}, None

    def splits(self) -> dict[str, int]:
        """The splits of the list file and how many scans each has."""
        return {split: len(rows) for split, rows in self._split_rows[0].items()}

    def count(self) -> int | None:
        """How many scans the split has."""
        return self.splits().get(self.split)

    def other_splits(self) -> Iterator[ReXGroundingCTRelease]:
        """The other splits of the same list."""
        for split in self.splits():
            if split != self.split:
                yield ReXGroundingCTRelease(self.root, split, form=self.form, pictures=self.picture_root)

    def scan(self) -> Iterator[ScannedRow]:
        """Every row as an entry or None, and what is wrong with it."""
        splits, defect = self._split_rows
        if defect is None and self.split not in splits:
            defect = Defect(
                code="missing-field",
                file=self.file,
                field=self.split,
                expected=f"the split '{self.split}'",
                found=", ".join(splits) or "no split",
            )
        if defect is not None:
            yield ScannedRow(self.file, 0, None, [defect])
            return
        for number, data in enumerate(splits[self.split], 1):
            row = RowFields(data if isinstance(data, dict) else {}, file=self.file, number=number)
            if not isinstance(data, dict):
                row.fail("bad-row", self.split, "a JSON object", data)
            if number == 1:
                row.defects += self.chain_file.defects
            entry = None
            if not row.broken:
                chains = self.chain_file.chains.get(scan_stem(str(row.data.get("name"))))
                entry = read_scan(row, split=self.split, withheld=self.masks_withheld, chains=chains)
            yield ScannedRow(self.file, number, entry, row.defects)

    def names(self) -> list[str]:
        """Names of the scans of this split, where they have one."""
        rows = self._split_rows[0].get(self.split, [])
        return [row["name"] for row in rows if isinstance(row, dict) and _is_name(row.get("name"))]

    @cached_property
    def chain_file(self) -> ChainFile:
        """The chains of thought of all splits."""
        return read_chain_file(self.fence, SPLITS)

    @cached_property
    def masks_withheld(self) -> bool:
        """Whether no mask of this split is in the release."""
        return not any(_any_exists(self.fence, _mask_places(name)) for name in self.names())

    @cached_property
    def has_scans(self) -> bool:
        """Whether any CT of the list is here; the release itself brings none."""
        rows = [row for rows in self._split_rows[0].values() for row in rows if isinstance(row, dict)]
        names = (row.get("name") for row in rows)
        return any(_any_exists(self.picture_fence, _scan_places(name)) for name in names if _is_name(name))

    def find_picture(self, file: str) -> Path:
        """The path of a CT, by its name."""
        return _find_path(self.picture_fence, file, _scan_places(file))

    def source(self, file: str) -> Path:
        """The path of a CT (by its name) or of a mask (by its place under `segmentations/`)."""
        folder, _, name = file.rpartition("/")
        if folder == MASKS:
            return _find_path(self.fence, file, _mask_places(name))
        return self.find_picture(file)

    def other_keys(self) -> dict[str, Any]:
        """Parts of the list file that are no splits: kept, and written back."""
        return self._other_parts


def read_scan(
    row: RowFields, *, split: str, withheld: bool, chains: Mapping[str, Any] | None = None
) -> Entry | None:
    """One row as an entry; None where it cannot become one, with the reason noted.

    `chains` are its chains of thought, by finding, as their file has them.
    """
    name = row.text("name")
    if not _is_name(name):
        row.fail("missing-field", "name", "a file name ending in .nii.gz, .nii or .mha", name)
        return None
    if re.search(r"[/\\]", name) or name.startswith(".") or len(name) > 200:
        row.fail("refused-file", "name", "a plain file name", name)
        return None
    row.case = clean_id(scan_stem(name))
    sentences = _parse_keyed(row, "findings", str)
    if not sentences and not row.broken:
        row.fail("missing-field", "findings", "at least one sentence", "none")
    categories = _parse_keyed(row, "categories", str)
    entities = _parse_keyed(row, "entity_counts", int)
    voxels = _parse_keyed(row, "pixels", int)
    shape = _parse_shape(row)
    protocol = row.text("protocol")
    if row.broken:
        return None
    keys = sorted(sentences, key=int)
    if keys != [str(number) for number in range(len(keys))]:
        row.note("keys-mismatch", "findings", "keys 0, 1, 2, …", ", ".join(keys))
    for field, values in (("categories", categories), ("entity_counts", entities), ("pixels", voxels)):
        strange = sorted(values.keys() - sentences.keys())
        if strange:
            row.fail("keys-mismatch", field, f"the keys {keys}", f"{strange} too")
        elif values and values.keys() != sentences.keys():
            row.note("keys-mismatch", field, f"the keys {keys}", f"{sorted(values)}")
    if row.broken:
        return None
    mask = f"{MASKS}/{name}"
    findings = tuple(
        Finding(
            text=sentences[key],
            query=key,
            category=categories.get(key),
            entities=entities.get(key),
            voxels=voxels.get(key),
            regions=() if withheld else (Mask(picture=CT, file=mask, channel=channel, channels=len(keys)),),
        )
        for channel, key in enumerate(keys)
    )
    trace, damaged = read_chains(chains or {}, keys, picture=CT, shape=shape, case=row.case)
    row.defects += damaged
    known = bool(categories or entities or voxels or protocol or trace) or not withheld
    case = Case(
        id=row.case,
        benchmark="rexgroundingct",
        split=split,
        patient=_patient(name),
        pictures=(Volume(name=CT, file=name, shape=shape),),
        queries=tuple(Query(id=key, text=sentences[key]) for key in keys),
    )
    extra = {k: v for k, v in row.data.items() if k not in _ROW_FIELDS and v is not None}
    truth = Truth(findings=findings, trace=trace, protocol=protocol) if known else None
    return Entry(case=case, truth=truth, extra=extra)


def _is_name(name: object) -> TypeGuard[str]:
    return isinstance(name, str) and name.endswith((".nii.gz", ".nii", ".mha")) and "\0" not in name


def _patient(name: str) -> str | None:
    """'train_123' of 'train_123_a_1.nii.gz', as CT-RATE names its patients."""
    match = re.match(r"((?:train|val(?:id)?|test)_\d+)_", name)
    return match[1] if match else None


def _parse_keyed(row: RowFields, field: str, kind: type) -> dict[str, Any]:
    """A mapping of finding keys to texts or counts."""
    value = row.data.get(field)
    if value is None:
        return {}
    if not isinstance(value, dict):
        row.fail("wrong-type", field, "a mapping of finding keys", value)
        return {}
    found: dict[str, Any] = {}
    for key, item in value.items():
        if not re.fullmatch(r"\d{1,6}", key):
            row.fail("wrong-type", field, "finding keys 0, 1, 2, …", key)
        elif kind is int and isinstance(item, float) and item.is_integer():
            found[key] = int(item)
        elif isinstance(item, kind) and not isinstance(item, bool):
            found[key] = item
        elif item is not None:
            row.fail("wrong-type", f"{field}.{key}", _TYPE_NAMES[kind], item)
    if kind is int and any(count < 0 for count in found.values()):
        row.note("wrong-type", field, "counts of 0 or more", value)
    if kind is str and any(not text.strip() for text in found.values()):
        row.note("missing-field", field, "no empty text", value)
    return found


_TYPE_NAMES = {str: "text", int: "a whole number"}


def _parse_shape(row: RowFields) -> tuple[int, int, int] | None:
    value = row.data.get("shape")
    if value is None:
        return None
    whole = [int(n) if isinstance(n, float) and n.is_integer() else n for n in _as_list(value)]
    if len(whole) != 3 or any(type(n) is not int or not 0 < n < 2**31 for n in whole):
        row.fail("wrong-type", "shape", "three positive numbers [H, W, D]", value)
        return None
    return (whole[0], whole[1], whole[2])


def _as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _scan_places(name: str) -> Iterator[str]:
    """Where a CT may lie: flat folders first, then CT-RATE's tree, the fixed volumes before."""
    if "/" in name:
        return  # a CT goes by its name; a path would be a mask, or a way out
    for folder in _CT_FOLDERS:
        yield f"{folder}/{name}" if folder else name
    parts = name.split("_")
    if len(parts) < 4:
        return
    patient, study = "_".join(parts[:2]), "_".join(parts[:3])
    for tree in _CT_TREES:
        for part in (f"{parts[0]}_fixed", parts[0]):
            yield f"{tree}{part}/{patient}/{study}/{name}"


def _mask_places(name: str) -> Iterator[str]:
    return (f"{folder}/{name}" for folder in _MASK_FOLDERS)


def _any_exists(fence: Fence, places: Iterator[str]) -> bool:
    # What is there and may not be opened is not absent: whoever opens it is told why not.
    return any(fence.holds(place) for place in places)


def _find_path(fence: Fence, file: str, places: Iterator[str]) -> Path:
    refused: PictureError | None = None
    for place in places:
        try:
            return fence.path(place)
        except NotThere:
            continue
        except Refused as error:
            refused = refused or error
    raise refused or NotThere(
        f"there is no file {file}",
        where=str(fence.root),
        remedy="" if "/" in file else "name the folder of the CTs with --pictures",
    )
