"""The contract of a metric, and what it is handed: one case with its truth, and one reading."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar

from overread.core import Entry, Geometry, Picture, Reading
from overread.core.verdicts import Verdicts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from overread.metrics.clinical.models.weights import WeightFiles
    from overread.metrics.sample import Sample

F = TypeVar("F", bound=Callable[..., Any])

Statistics: TypeAlias = Mapping[str, Any]
"""What was measured of one thing that is judged: plain JSON values. Numbers can be added up."""

Measured: TypeAlias = Mapping[str, Statistics]
"""Unit → its statistics. The unit is "" for the case itself, or the id of the query or picture
that is judged. No unit at all means that the truth of the case leaves nothing to judge."""


class Files(Protocol):
    """Gives the files that regions name: a release for the truth, a submission for a reading."""

    def source(self, file: str) -> Path | bytes:
        """Where the bytes of the file are; raises `PictureError` where there is none."""


class ReleaseFiles(Files, Protocol):
    """What a metric may open of a release: its files, and the geometry of its volumes."""

    @property
    def pictures(self) -> Any:
        """Opens the pictures of the cases."""


@dataclass(frozen=True)
class Subject:
    """One case with its truth, and what a reader made of it."""

    entry: Entry
    reading: Reading | None = None
    """None where nothing was handed in; a reading with an `error` is as good as none."""
    truth_files: ReleaseFiles | None = None
    reading_files: Files | None = None
    verdicts: tuple[Verdicts, ...] = ()
    """What judges said of the reading, where it was judged."""

    @property
    def usable_reading(self) -> Reading | None:
        """The reading, or None where there is none or it failed."""
        return None if self.reading is None or self.reading.error else self.reading

    def geometry(self, picture: Picture) -> Geometry:
        """The geometry of a volume of the case, from the volume's own header."""
        if self.truth_files is None:
            raise ValueError("this subject came without the files of its release")
        space: Geometry = self.truth_files.pictures.geometry(picture)
        return space


@dataclass(frozen=True)
class Metric:
    """One number that says how good readings are.

    Metrics that share one `measure` (the same object) are measured together, once a case.
    `measure` must be picklable: a function of a module, or a `functools.partial` of one.
    """

    name: str
    """Catalog name; where a benchmark names the number, that name."""
    about: str
    """What it says, in one line."""
    better: Literal["higher", "lower"]
    needs: tuple[str, ...]
    """What a reading must hold for it: 'choice', 'probabilities', 'masks', 'report', 'findings',
    'discussion', 'trace', 'chain', 'boxes', 'crops', 'rationale'; and of its verdicts, 'step verdicts',
    'discussion verdicts'. Where no reading has it, it was not attempted."""
    measure: Callable[[Subject], Measured]
    combine: Callable[[Sample], NDArray[np.float64]]
    """One number for each draw of the sample; NaN where it is undefined."""
    best: float
    """The value of a perfect reading, unless `ceiling` says otherwise."""
    worst: float
    """The value where nothing was handed in; a NaN where there is no such bound."""
    reference: str
    """The independent implementation or publication that it is held to."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Everything that changes the number; part of the signature."""
    ceiling: str = ""
    """Name of the metric that gives what a perfect reading gets, where that is not `best`."""
    drops_missing: bool = False
    """Whether it follows an official rule that leaves out what was not handed in: then `worst` is not
    reached, and of nothing it says what that rule says."""
    counts: Literal["units", "cases"] = "units"
    """What its n is a number of: units (cases, findings, pictures), or whole cases."""
    symmetric: bool = False
    """Whether truth and reading may change places."""
    binary: str = ""
    """The statistic, 0 or 1, whose mean the metric is, where it is one: then McNemar applies."""
    weights: tuple[WeightFiles, ...] = ()
    """The files of the models that it asks; where one is not here, it cannot be scored."""
    retune: Callable[[Mapping[str, Any]], tuple[Metric, ...]] | None = None
    """The family of this metric, itself among them, with other settings; None where there is
    nothing to set."""


def stored_as(name: str) -> Callable[[F], F]:
    """Gives a measure the name that scorecards store, wherever the function moves later."""

    def with_name(measure: F) -> F:
        measure.stored_as = name  # type: ignore[attr-defined]
        return measure

    return with_name


def measure_key(metric: Metric) -> str:
    """A stable name of what a metric measures with: equal keys, equal statistics.

    It is stored in scorecards: the name of the measure, and what it was told (hashed where long).

    >>> from overread.metrics.choice import ACCURACY
    >>> measure_key(ACCURACY)
    'choice.measure_choice'
    """
    measure: Any = metric.measure
    words = []
    while isinstance(measure, partial):
        words += [_stable_repr(value) for value in measure.args]
        words += [f"{name}={_stable_repr(value)}" for name, value in sorted(measure.keywords.items())]
        measure = measure.func
    name = getattr(measure, "stored_as", f"{measure.__module__}.{measure.__qualname__}")
    told = ", ".join(words)
    if len(told) > 60:
        told = hashlib.sha256(told.encode()).hexdigest()[:12]
    return f"{name}({told})" if told else name


def _stable_repr(value: object) -> str:
    """A value in words; of a function its name, since its `repr` holds an address in memory."""
    return value.__qualname__ if isinstance(value, FunctionType) else repr(value)


def by_name(*metrics: Metric) -> dict[str, Metric]:
    """Metrics as the table that the catalog looks them up in."""
    return {metric.name: metric for metric in metrics}
