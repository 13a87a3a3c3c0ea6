"""Tables and texts of reports: CSV, TSV, JSONL, JSON and plain text, column by column.

What a column holds is told by its name: names, ids, dates of birth, addresses are replaced or
emptied as a whole, dates move, everything else is cleaned as running text. The patient's own names
of a row are looked for in all its texts.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from overread.build.deid.results import Options, Removal
from overread.build.deid.secret import DeidSecret
from overread.build.deid.text.clean import clean_text, why_unsupported
from overread.build.deid.text.dates import find_dates
from overread.build.deid.text.patterns import patterns
from overread.build.deid.text.word_lists import fold, is_common
from overread.errors import OverreadError
from overread.storage.tables import guess_delimiter, read_csv, split_jsonl

Meaning = Literal["patient", "person", "id", "maybe_id", "birth", "date", "age", "place", "text", "keep"]

_TAB = "\t"
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass
class TableContext:
    """What is known of a whole folder while its tables are cleaned."""

    secret: DeidSecret
    options: Options
    names: Mapping[str, set[str]] = field(default_factory=dict)
    """Patient → names that headers or other tables told of them."""
    paths: Mapping[str, str] = field(default_factory=dict)
    """Old path or file name → the new one."""


@dataclass
class CleanTable:
    """A table or text after it was cleaned."""

    data: str
    removals: list[Removal]
    unclean: list[str]


def column_meaning(column: str, options: Options) -> Meaning:
    """What a column holds, by its name.

    >>> columns = ("PatientID", "Study Date", "Findings_EN", "dob")
    >>> [column_meaning(name, Options()) for name in columns]
    ['patient', 'date', 'text', 'birth']
    """
    if column in options.keep_columns:
        return "keep"
    if column in options.text_columns:
        return "text"
    if column == options.patient_column:
        return "patient"
    bare = re.sub(r"[^a-z0-9]", "", fold(column))
    found = (name for name, form in patterns("column_").items() if form.fullmatch(bare))
    return next(found, "column_text").removeprefix("column_")  # type: ignore[return-value]


def clean_table(text: str, kind: str, sources: TableContext) -> CleanTable:
    """A table or text by the ending of its name: csv, tsv, jsonl, json, txt, md."""
    if kind in ("json", "jsonl"):
        _refuse_half_characters(text, kind)
    why = why_unsupported(text)
    job = _TableJob(sources, unclean=[why] if why else [])
    if kind in ("csv", "tsv"):
        return job.result(_clean_csv(text, job, _TAB if kind == "tsv" else None))
    if kind == "jsonl":
        return job.result(_clean_jsonl(text, job))
    if kind == "json":
        return job.result(_clean_json(text, job))
    patient = sources.options.patient_column or ""
    return job.result(job.clean_cell(text, patient, "", ()))


def _refuse_half_characters(text: str, kind: str) -> None:
    """Refuse escapes that stand for half of a character: they are no text, and nothing can be said of
    what is written with them.
    """
    if _SURROGATE_ESCAPE.search(text) is None:
        return
    for number, line in split_jsonl(text) if kind == "jsonl" else [(1, text)]:
        with suppress(ValueError, RecursionError):  # what is no JSON is told where it is cleaned
            half = _SURROGATE.search(json.dumps(json.loads(line), ensure_ascii=False))
            if half is not None:
                raise OverreadError(
                    f"line {number} holds half of a character (\\u{ord(half[0]):04x}), which is no text",
                    remedy="write that line again",
                )


def read_rows(text: str, kind: str) -> Iterator[Mapping[str, Any]]:
    """The rows of a table as they are, to see who is in it; nothing where it cannot be read."""
    try:
        if kind in ("csv", "tsv"):
            table = read_csv(text, "", delimiter=_TAB if kind == "tsv" else None, strict=False)
            header = next(table, (0, []))[1]
            yield from (dict(zip(header, cells, strict=False)) for _, cells in table)
        elif kind == "jsonl":
            for _, line in split_jsonl(text):
                with suppress(ValueError, RecursionError):  # the names in other rows count
                    if isinstance(row := json.loads(line), dict):
                        yield row
        elif kind == "json" and isinstance(held := json.loads(text), list):
            yield from (row for row in held if isinstance(row, dict))
    except (OverreadError, json.JSONDecodeError, RecursionError):
        return


def find_patient(row: Mapping[str, Any], options: Options) -> tuple[str, set[str]]:
    """The patient of a row, and the names of people in it."""
    kinds = {str(column): column_meaning(str(column), options) for column in row}
    patient = ""
    for wanted in ("patient", "id", "maybe_id"):
        patient = patient or next(
            (str(row[c]) for c, k in kinds.items() if k == wanted and row[c] not in (None, "")), ""
        )
    names = {str(row[c]) for c, k in kinds.items() if k == "person" and isinstance(row[c], str) and row[c]}
    return patient, names


@dataclass
class _TableJob:
    sources: TableContext
    removals: list[Removal] = field(default_factory=list)
    unclean: list[str] = field(default_factory=list)

    def result(self, data: str) -> CleanTable:
        return CleanTable(data, self.removals, self.unclean)

    def clean_cell(self, text: str, patient: str, place: str, names: Any) -> str:
        made = clean_text(
            text, self.sources.secret, self.sources.options, patient=patient, known=names, place=place
        )
        self.removals += made.removals
        return made.text

    def clean_row(self, row: Mapping[str, Any], place: str) -> dict[str, Any]:
        """One row, cleaned value by value."""
        options = self.sources.options
        patient, names = find_patient(row, options)
        names = names | self.sources.names.get(fold(patient), set())
        made = {}
        for column, value in row.items():
            held = column_meaning(str(column), options)
            safe = self.clean_key(str(column), place, names)
            whose = patient or str(column)  # one object that holds patients by their ids
            made[safe] = self.clean_value(value, held, whose, f"{place}, {safe},", names)
        return made

    def clean_value(self, value: Any, kind: Meaning, patient: str, place: str, names: set[str]) -> Any:
        """One value by what its column holds; lists and objects are gone into."""
        if kind == "keep" or value is None or value == "" or isinstance(value, bool):
            return value
        if isinstance(value, dict):
            # Below the top, 'name' is of regions and findings as often as of persons.
            made = {}
            for key, inner in value.items():
                held = column_meaning(str(key), self.sources.options)
                safe = self.clean_key(str(key), place, names)
                below = "text" if held == "maybe_id" else held
                made[safe] = self.clean_value(inner, below, patient, f"{place} {safe}", names)
            return made
        if isinstance(value, list):
            return [self.clean_value(one, kind, patient, place, names) for one in value]
        if isinstance(value, int | float) and kind in ("text", "maybe_id", "place", "person"):
            return value
        # A patient's id may be the name of a file as well; what the column says decides.
        known = self.sources.paths.get(str(value)) if kind in ("text", "maybe_id") else None
        if known is not None:
            return known
        return _BY_MEANING.get(kind, _as_text)(self, str(value), patient, place, names)

    def clean_key(self, key: str, place: str, names: set[str]) -> str:
        """A key of an object, which may itself be an id: {"4471023": "No effusion."}."""
        known = self.sources.paths.get(key)
        if known is not None or not may_identify(key, names):
            return known or key
        return self.record("id", "replaced", f"{place} a key", key, self.sources.secret.patient_code(key))

    def record(self, kind: Any, action: Any, place: str, before: str, after: str) -> str:
        """Put one replaced cell on record, and give what stands there now."""
        self.removals.append(
            Removal(kind=kind, action=action, where=place, rule="column", before=before, after=after)
        )
        return after


def _as_text(job: _TableJob, value: str, patient: str, place: str, names: set[str]) -> str:
    return job.clean_cell(value, patient, place, names)


def _as_patient(job: _TableJob, value: str, patient: str, place: str, names: set[str]) -> str:
    return job.record("id", "replaced", place, value, job.sources.secret.patient_code(value))


def _as_id(job: _TableJob, value: str, patient: str, place: str, names: set[str]) -> str:
    return job.record("id", "replaced", place, value, f"I{job.sources.secret.code('id', value).upper()}")


def _as_maybe_id(job: _TableJob, value: str, patient: str, place: str, names: set[str]) -> str:
    if may_identify(value, names):
        return _as_id(job, value, patient, place, names)
    if re.fullmatch(r"[\w.-]*\d[\w.-]*", value):
        return value
    words = re.findall(r"[^\W\d_]{2,}", value)
    if len(words) in (2, 3, 4) and not any(is_common(word) for word in words):
        return _as_person(job, value, patient, place, names)
    return _as_text(job, value, patient, place, names)


def _as_person(job: _TableJob, value: str, patient: str, place: str, names: set[str]) -> str:
    from overread.build.deid.text.clean import make_surrogate

    made = "[NAME]" if job.sources.options.replace == "tags" else make_surrogate(value, job.sources.secret)
    return job.record("name", "replaced", place, value, made)


def _as_empty(job: _TableJob, value: str, patient: str, place: str, names: set[str]) -> str:
    return job.record("column", "emptied", place, value, "")


def _as_date(job: _TableJob, value: str, patient: str, place: str, names: set[str]) -> str:
    options = job.sources.options
    if options.dates == "remove":
        return job.record("date", "emptied", place, value, "")
    found = find_dates(value, job.sources.secret.shift_days(patient), day_first=options.day_first)
    lone = re.fullmatch(r"(?:19|20)\d\d", value.strip())
    if not found and lone:
        found = find_dates(f"in {value.strip()}", job.sources.secret.shift_days(patient))
        return job.record("date", "shifted", place, value, (found[0].replacement or "") if found else "")
    if not found or found[0].replacement in (None, "[DATE]"):
        return job.record("date", "emptied", place, value, "")
    one = found[0]
    rest = value[one.end :] if re.fullmatch(r"[T\s]?[\d:.,ZAPMapm+\s-]*", value[one.end :]) else ""
    return job.record("date", "shifted", place, value, f"{one.replacement}{rest}")


def _as_age(job: _TableJob, value: str, patient: str, place: str, names: set[str]) -> str:
    match = re.fullmatch(r"\s*0*(\d{1,3})(\D{0,8})", value)
    if match and int(match[1]) > 89:
        return job.record("age", "replaced", place, value, f"90{match[2]}")
    return value if match else job.clean_cell(value, patient, place, names)


_BY_MEANING: dict[str, Callable[[_TableJob, str, str, str, set[str]], str]] = {
    "patient": _as_patient,
    "id": _as_id,
    "maybe_id": _as_maybe_id,
    "person": _as_person,
    "birth": _as_empty,
    "place": _as_empty,
    "date": _as_date,
    "age": _as_age,
}


def looks_like_id(value: str) -> bool:
    """Whether a value has so many digits that it may come from a hospital's own count."""
    return re.search(r"\d{5}|\d[-_.]?\d{2,}[-_.]\d{2,}", value) is not None


def may_identify(value: str, names: set[str]) -> bool:
    """Whether a file name or id may lead to a person: long numbers, dates, names that are known."""
    bare = fold(value)
    words = set(re.findall(r"[^\W\d_]{3,}|\d{4,}", bare))
    known = {fold(word) for name in names for word in re.findall(r"[^\W_]{3,}", name)}
    return looks_like_id(value) or bool(words & known)


def _clean_csv(text: str, job: _TableJob, delimiter: str | None) -> str:
    sign = delimiter or guess_delimiter(text.lstrip("\r\n").partition("\n")[0])
    lines = [cells for _, cells in read_csv(text, "the table", delimiter=sign)]
    if not lines:
        return ""
    header = lines[0]
    if len(set(header)) < len(header):
        raise OverreadError("two columns of the table have the same name")
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=sign, lineterminator="\n")
    writer.writerow(header)
    for number, cells in enumerate(lines[1:], 2):
        if len(cells) != len(header):
            raise OverreadError(f"line {number} of the table has {len(cells)} cells, not {len(header)}")
        writer.writerow(job.clean_row(dict(zip(header, cells, strict=True)), f"row {number}").values())
    return out.getvalue()


def _clean_jsonl(text: str, job: _TableJob) -> str:
    made = []
    for number, line in split_jsonl(text):
        try:
            row = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            raise OverreadError(f"line {number} is not JSON ({error})") from None
        made.append(_clean_object(row, job, f"line {number}"))
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in made)


def _clean_json(text: str, job: _TableJob) -> str:
    try:
        held = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise OverreadError(f"this is not JSON ({error})") from None
    if isinstance(held, list):
        made: Any = [_clean_object(row, job, f"entry {n}") for n, row in enumerate(held)]
    else:
        made = _clean_object(held, job, "the file")
    return json.dumps(made, ensure_ascii=False, indent=1) + "\n"


def _clean_object(row: Any, job: _TableJob, place: str) -> Any:
    try:
        if isinstance(row, dict):
            return job.clean_row(row, place)
        return job.clean_value(row, "text", "", f"{place},", set())
    except RecursionError:
        raise OverreadError(f"{place} is nested too deeply to be cleaned") from None
