"""The scorecard: scores with intervals, breakdowns, and the signature (versions and settings) they
depend on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapSerializer,
    WrapValidator,
)
from pydantic_core import from_json

from overread.core import Record
from overread.core.notebook import html_table
from overread.core.notice import NOTICE
from overread.errors import MissingPart, OverreadError
from overread.storage.spilled import SpilledMapping

MARK = "overread scorecard 1"
_MAX_BYTES = 1 << 30


class Score(Record):
    """One number, and how sure it is."""

    value: float | None
    """The number; absent where it is undefined, for instance with nothing to divide by."""
    low: float | None = None
    """Lower end of the interval."""
    high: float | None = None
    """Upper end of the interval."""
    n: int
    """How many units (cases, findings, pictures) it rests on."""
    method: str = ""
    """How the interval was made: 'wilson', 'score-t', 'cluster-t', 'percentile', or 'none'. Empty on
    cards that an earlier version wrote, and where no interval was asked for."""
    note: str = ""
    """Why there is no interval, in words; a few before the colon, then what it would take."""


class DescribedScore(Score):
    """A score with what one must know to read it."""

    better: Literal["higher", "lower"]
    """Which way is good."""
    about: str
    """What it says, in one line."""
    reference: str
    """What it is held to."""


class GroupScores(Record):
    """One group of a breakdown."""

    n: int
    """How many units of the headline metric are in it; each score has its own."""
    scores: dict[str, Score]
    """Metric → its score over this group alone."""


class CaseStatistics(Record):
    """What was measured of one case."""

    patient: str | None = None
    """Whose case it is: cases of one patient are drawn together."""
    state: Literal["read", "missing", "failed", "not judged"] = "read"
    """Whether it was handed in, and whether that could be used."""
    rows: dict[str, dict[str, dict[str, Any]]] = Field(default_factory=dict)
    """Measure → unit → statistics."""


def _keep_spilled(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """Statistics that lie on disk stay there: whoever put them there has checked each."""
    return value if isinstance(value, SpilledMapping) else validate(value)


def _dump_all(value: Mapping[str, CaseStatistics], dump: SerializerFunctionWrapHandler) -> Any:
    return dump(dict(value))


class Card(Record):
    """The scores of one reader on one split."""

    kind: str = MARK
    """Says what file this is."""
    benchmark: str
    """Catalog name of the benchmark."""
    split: str
    """Which split."""
    reader: str
    """Who read."""
    predictions: str
    """Where the predictions were read from: the file's name, without its folder."""
    cases: int
    """How many cases the split has."""
    missing: int
    """Cases that nothing was handed in for."""
    failed: int
    """Cases of which a reading failed or could not be used; they score worst."""
    not_judged: int = 0
    """Cases whose own truth could not be read; they are in no score."""
    readings: int | None = None
    """Readings that were there, failed ones among them; several of a case may be. Absent on cards
    that an earlier version wrote."""
    failed_readings: int | None = None
    """Those of them that say why they failed."""
    scores: dict[str, DescribedScore]
    """Metric → score, in the benchmark's order."""
    not_attempted: dict[str, str] = Field(default_factory=dict)
    """Metric → why it was not scored."""
    breakdowns: dict[str, dict[str, GroupScores]] = Field(default_factory=dict)
    """Breakdown → group → scores."""
    problems: tuple[str, ...] = ()
    """Everything that was wrong with the predictions, one sentence each."""
    signature: dict[str, Any]
    """Versions and settings: everything that changes a number."""
    official: tuple[str, ...] = ()
    """The scores that the benchmark itself names; they stand at the top of the JSON too."""
    statistics: Annotated[
        Mapping[str, CaseStatistics], WrapValidator(_keep_spilled), WrapSerializer(_dump_all)
    ] = Field(default_factory=dict)
    """Case → what was measured of it: enough to combine, compare and draw again."""

    def as_json(self, *, statistics: bool = True) -> dict[str, Any]:
        """Plain JSON, with the benchmark's own names at the top level."""
        left_out = None if statistics else {"statistics"}
        body = self.model_dump(mode="json", exclude=left_out)
        named = {n: self.scores[n].value for n in self.official if n in self.scores}
        head = {key: body.pop(key) for key in ("kind", "benchmark", "split", "reader")}
        return {**head, **named, **body}

    def iter_json(self, *, statistics: bool = True, indent: int | None = None) -> Iterator[str]:
        """The text of `as_json`, a case at a time: as a whole it may be larger than the memory."""

        def text(value: Any) -> str:
            return json.dumps(value, ensure_ascii=False, indent=indent)

        whole = text(self.as_json(statistics=False))
        if not statistics:
            yield whole
            return
        line, inner = ("", "") if indent is None else (f"\n{' ' * indent}", f"\n{' ' * 2 * indent}")
        apart = ", " if indent is None else ","
        # Statistics are the last field.
        yield f'{whole[: -1 if indent is None else -2]}{apart}{line}"statistics": {{'
        first = True
        for case, own in self.statistics.items():
            told = text(own.model_dump(mode="json")).replace("\n", inner)
            yield f"{'' if first else apart}{inner}{text(case)}: {told}"
            first = False
        yield f"{'' if first else line}}}" + ("}" if indent is None else "\n}")

    def to_arrow(self) -> Any:
        """The scores as a `pyarrow.Table`: one row a metric, in the benchmark's order."""
        import pyarrow as pa

        numbers = {"value": pa.float64(), "low": pa.float64(), "high": pa.float64()}
        kinds = {"metric": pa.string(), **numbers, "n": pa.int64(), "better": pa.string()}
        kinds |= {"official": pa.bool_(), "about": pa.string(), "reference": pa.string()}
        kinds |= {"method": pa.string(), "note": pa.string()}
        rows = [
            {"metric": name, "official": name in self.official, **score.model_dump()}
            for name, score in self.scores.items()
        ]
        return pa.Table.from_pylist(rows, schema=pa.schema(list(kinds.items())))

    def to_pandas(self) -> Any:
        """The same table as a `pandas.DataFrame`; undefined numbers are NaN."""
        _import_table_package("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """The same table as a `polars.DataFrame`; undefined numbers are null."""
        return _import_table_package("polars").from_arrow(self.to_arrow())

    def _repr_html_(self) -> str:
        """In a notebook: the scores, and how many cases they rest on."""
        rows = [
            (name, score.value, *_notebook_ends(score), score.n, score.better, score.about)
            for name, score in self.scores.items()
        ]
        note = f"{self.cases:,} cases, {self.missing:,} missing, {self.failed:,} failed. {NOTICE}"
        head = ("metric", "value", "low", "high", "n", "better", "about")
        return html_table(f"{self.benchmark} {self.split}: {self.reader}", rows, head=head, note=note)


def _import_table_package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise MissingPart(f"{name} is not installed", remedy=f"pip install {name}") from None


def _notebook_ends(score: Score) -> tuple[float | str | None, float | None]:
    """The ends of the interval, or in place of the first one why there is none."""
    return (score.note.partition(":")[0] or None, None) if score.low is None else (score.low, score.high)


class _Signature(BaseModel):
    """What others look for in the signature of a card; there is more."""

    versions: dict[str, str]
    release: dict[str, Any]
    settings: dict[str, dict[str, Any]]
    intervals: dict[str, Any]


def read_card(path: Path) -> Card:
    """A scorecard from its file, or from the folder of a run."""
    file = path / "card.json" if path.is_dir() else path
    where = str(path)
    remedy = "give what `overread grade … --out FILE` wrote"
    try:
        if file.stat().st_size > _MAX_BYTES:
            raise OverreadError("the file is too large for a scorecard", where=where, remedy=remedy)
        data = from_json(file.read_bytes())
    except FileNotFoundError:
        raise OverreadError("the scorecard does not exist", where=where, remedy=remedy) from None
    except OSError as error:
        raise OverreadError(f"it cannot be read ({error.strerror})", where=where) from None
    except ValueError as error:
        raise OverreadError(f"this is not JSON ({error})", where=where, remedy=remedy) from None
    if not isinstance(data, dict) or data.get("kind") != MARK:
        raise OverreadError("this is not a scorecard", where=where, remedy=remedy)
    fields = {key: value for key, value in data.items() if key in Card.model_fields}
    try:
        card = Card.model_validate(fields)
        _Signature.model_validate(card.signature)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        if error.title == _Signature.__name__:
            place = f"signature.{place}"
        raise OverreadError(
            f"the scorecard is damaged at {place} ({first['msg']})", where=where, remedy=remedy
        ) from None
    return card


def short_signature(card: Card) -> str:
    """The signature in one line, for a table's foot."""
    parts = [f"overread {card.signature['versions']['overread']}"]
    drawing = card.signature.get("intervals") or {}
    parts += [f"{key} {value}" for key, value in drawing.items()]
    digest = hashlib.sha256(json.dumps(card.signature, sort_keys=True).encode()).hexdigest()[:10]
    return "; ".join([*parts, f"signature {digest}"])
