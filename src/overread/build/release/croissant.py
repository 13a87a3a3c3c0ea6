"""Croissant: the files of a release and the columns of its rows, described for machines (JSON-LD).

Files of rows are named each with size and SHA-256; pictures are sets of files, and their digests
are in `checksums.sha256`. Every split has a record set with the columns that its rows really have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from overread.build.release.provenance import Provenance, file_digest
from overread.core import Benchmark
from overread.core.notice import RELEASE_NOTICE

CROISSANT = "croissant.json"
_VERSION = "http://mlcommons.org/croissant/1.0"

_TYPED = {"data": "@json", "examples": "@json", "dataType": "@vocab"}
_WORDS = """
    citeAs column data dataType equivalentProperty examples extract field fileProperty fileObject
    fileSet format includes isLiveDataset jsonPath key md5 parentField path recordSet references
    regex repeated replace samplingRate separator source subField transform
""".split()
_FORMATS = {
    ".jsonl": "application/jsonlines",
    ".json": "application/json",
    ".parquet": "application/x-parquet",
    ".csv": "text/csv",
    ".md": "text/markdown",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".png": "image/png",
    ".gz": "application/gzip",
    ".nii": "application/octet-stream",
    ".dcm": "application/dicom",
}
_KINDS = {str: "sc:Text", bool: "sc:Boolean", int: "sc:Integer", float: "sc:Float"}
_MAX_SUBFIELDS = 12


def build_croissant(
    part: Benchmark,
    root: Path,
    files: Sequence[str],
    splits: Mapping[str, Sequence[str]],
    *,
    title: str,
    licence: str,
    provenance: Provenance,
    version: str,
    url: str,
    published: str | None,
) -> dict[str, Any]:
    """The JSON-LD of a release; `splits` are the files of rows of each."""
    named = [_file_object(root, file) for file in files if "/" not in file]
    records = [one for split, own in splits.items() for one in _record_sets(root, split, own)]
    for record in records:
        # A reader makes one table of a JSON file. Where that holds several, it is named for each.
        again = {"@id": record.pop("from", ""), "description": f"Read for '{record['@id']}'."}
        named += [
            one | again for one in named[:] if again["@id"] == _record_file_id(record["@id"], one["name"])
        ]
    told: dict[str, Any] = {
        "@context": _context(),
        "@type": "sc:Dataset",
        "name": title,
        "description": f"Cases in the layout of {part.title}: {part.about}. {RELEASE_NOTICE}",
        "conformsTo": _VERSION,
        "license": licence,
        "url": url,
        "version": version,
        "citeAs": f"{title}, {version}. Layout: {part.cite}",
        "keywords": ["medical", "radiology", "visual grounding"],
        "inLanguage": "en",
        "distribution": [*named, *_file_sets(file for file in files if "/" in file)],
        "recordSet": records,
    }
    if published:
        told["datePublished"] = published
    if provenance.models:
        told["rai:machineAnnotationTools"] = list(provenance.models)
    if provenance.source:
        told["rai:dataCollection"] = provenance.source
    return told


def _context() -> dict[str, Any]:
    words: dict[str, Any] = {}
    for word in _WORDS:
        kind = _TYPED.get(word)
        words[word] = {"@id": f"cr:{word}", "@type": kind} if kind else f"cr:{word}"
    return {
        "@language": "en",
        "@vocab": "https://schema.org/",
        "sc": "https://schema.org/",
        "cr": "http://mlcommons.org/croissant/",
        "rai": "http://mlcommons.org/croissant/RAI/",
        "dct": "http://purl.org/dc/terms/",
        "conformsTo": "dct:conformsTo",
    } | words


def _to_id(name: str) -> str:
    """A name as an id: without blanks, which validators refuse.

    >>> _to_id("train/ICD Block")
    'train/ICD_Block'
    """
    return re.sub(r"[^\w./-]+", "_", name)


def _suffix(file: str) -> str:
    return PurePosixPath(file).suffix.lower()


def _file_object(root: Path, file: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": _to_id(file),
        "name": file,
        "contentUrl": file,
        "contentSize": f"{(root / file).stat().st_size} B",
        "encodingFormat": _FORMATS.get(_suffix(file), "application/octet-stream"),
        "sha256": file_digest(root / file),
    }


def _file_sets(files: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Sets of files that lie in one folder and are of one kind."""
    kinds = sorted({(file.partition("/")[0], _suffix(file)) for file in files})
    for folder, ending in kinds:
        name = f"{folder}-{ending.lstrip('.') or 'files'}"
        yield {
            "@type": "cr:FileSet",
            "@id": _to_id(name),
            "name": name,
            "encodingFormat": _FORMATS.get(ending, "application/octet-stream"),
            "includes": f"{folder}/**/*{ending}",
        }


def _record_sets(root: Path, split: str, files: Sequence[str]) -> Iterator[dict[str, Any]]:
    for number, file in enumerate(files):
        name = split if len(files) == 1 else f"{split}-{number + 1}"
        yield from _RECORD_READERS[_suffix(file)](root, file, split, name)


def _table_records(root: Path, file: str, split: str, name: str) -> Iterator[dict[str, Any]]:
    """Rows with columns: JSON lines or Parquet."""
    from overread.benchmarks.rows import read_rows
    from overread.storage.fence import Fence

    rows = [row.data for row in read_rows(Fence(root), file) if row.data is not None]
    fields = []
    for column in dict.fromkeys(key for row in rows for key in row):
        source = {"fileObject": {"@id": _to_id(file)}, "extract": {"column": column}}
        values = [row[column] for row in rows if row.get(column) is not None]
        fields += _field(f"{name}/{column}", values, source)
    yield _record_set(name, split, fields)


def _json_records(root: Path, file: str, split: str, name: str) -> Iterator[dict[str, Any]]:
    """A JSON file: a list of rows, or a mapping with one for each split.

    What a row keeps by key (a text for each finding) becomes a record set of its own.
    """
    from overread.benchmarks.rows import read_json

    data, _ = read_json(root / file, file)
    path = "$[*]" if isinstance(data, list) else f"$.{split}[*]"
    rows = data if isinstance(data, list) else (data or {}).get(split, [])
    rows = [row for row in rows if isinstance(row, dict)]
    plain: list[dict[str, Any]] = []
    keyed: list[dict[str, Any]] = []
    counts: int | None = None
    for column in dict.fromkeys(key for row in rows for key in row):
        values = [row.get(column) for row in rows]
        if any(value is None for value in values):
            continue  # a path that some rows do not have would shift all others
        inner = isinstance(values[0], dict)
        if inner and not all(isinstance(value, dict) for value in values):
            continue
        flat = [item for value in values for item in value.values()] if inner else values
        if inner:
            counts = len(flat) if counts is None else counts
            if len(flat) != counts:
                continue
        where = f"{path}.{column}.*" if inner else f"{path}.{column}"
        target, base = (keyed, f"{name}-keyed") if inner else (plain, name)
        source = {"fileObject": {"@id": _record_file_id(base, file)}, "extract": {"jsonPath": where}}
        target += _field(f"{base}/{column}", flat, source)
    yield _record_set(name, split, plain) | {"from": _record_file_id(name, file)}
    if keyed:
        about = "what the rows keep by key, in their order"
        yield _record_set(f"{name}-keyed", split, keyed, about) | {
            "from": _record_file_id(f"{name}-keyed", file)
        }


def _record_file_id(record: str, file: str) -> str:
    """The id of a file that is read for one record set."""
    return _to_id(f"{file}/{record}")


_RECORD_READERS = {".jsonl": _table_records, ".parquet": _table_records, ".json": _json_records}


def _record_set(name: str, split: str, fields: list[Any], about: str = "one row a case") -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": f"Split '{split}': {about}.",
        "field": fields,
    }


def _field(name: str, values: list[Any], source: dict[str, Any]) -> list[dict[str, Any]]:
    """The field of a column; none where its values are of no one kind."""
    field: dict[str, Any] = {"@type": "cr:Field", "@id": _to_id(name), "name": name}
    if values and all(isinstance(value, dict) for value in values):
        parts = list(dict.fromkeys(key for value in values for key in value))
        texts = all(isinstance(item, str) for value in values for item in value.values())
        if not texts or len(parts) > _MAX_SUBFIELDS or not all(part.isalnum() for part in parts):
            return []
        own = [
            {
                "@type": "cr:Field",
                "@id": _to_id(f"{name}/{part}"),
                "name": f"{name}/{part}",
                "dataType": "sc:Text",
                "source": source | {"transform": {"jsonPath": part}},
            }
            for part in parts
        ]
        return [field | {"subField": own}]
    repeated = bool(values) and all(isinstance(value, list) for value in values)
    items = [item for value in values for item in value] if repeated else values
    kinds = {type(item) for item in items}
    kind = next(iter(kinds)) if len(kinds) == 1 else float if kinds == {int, float} else None
    if kind not in _KINDS:
        return []
    field |= {"dataType": _KINDS[kind], "source": source}
    return [field | {"repeated": True}] if repeated else [field]
