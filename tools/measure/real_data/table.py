"""The rows of the yardstick: a number, what it was counted in, its interval, and how it is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from overread.metrics.contract import Metric, Statistics
from overread.metrics.statistics.auroc import auroc
from overread.metrics.statistics.bootstrap import interval
from overread.metrics.statistics.interval_rule import Bounds, metric_bounds

UNIT = Bounds(0.0, 1.0)


@dataclass(frozen=True)
class Row:
    """One number of the table."""

    part: str
    """What it belongs to: 'ct', 'films', 'cases', 'reports' or 'deid'."""
    what: str
    n: int
    """Units that were counted."""
    value: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""
    """Why there is no interval, or what to know about the number."""

    @property
    def key(self) -> tuple[str, str]:
        """What the same number of another folder is found by."""
        return self.part, self.what

    def format_value(self) -> str:
        """The number with its interval.

        >>> Row("ct", "lungs, Dice", 3, 0.98).format_value()
        '0.980'
        """
        if self.value is None:
            return "–"
        if self.low is None or self.high is None:
            return f"{self.value:.3f}"
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


@dataclass(frozen=True)
class Measured:
    """What one part gave: its rows, or the sentence that says why there are none, and the time."""

    part: str
    rows: tuple[Row, ...] = ()
    missing: tuple[str, ...] = ()
    seconds: float = 0.0


def share_row(part: str, what: str, right: Sequence[float], patients: Sequence[str] | None = None) -> Row:
    """A share of units, or the mean of numbers from 0 to 1, whole patients drawn together."""
    rows: list[Statistics] = [{"top": float(value), "bottom": 1} for value in right]
    clusters = list(patients) if patients is not None else [str(n) for n in range(len(rows))]
    if not rows:
        return Row(part, what, 0, None, note="nothing to count")
    found = interval(lambda sample: sample.ratio("top", "bottom"), rows, clusters, bounds=UNIT)
    return Row(part, what, found.n, found.value, found.low, found.high, found.note)


def metric_row(part: str, what: str, metric: Metric, rows: Sequence[Statistics]) -> Row:
    """A metric of the catalog over rows of as many cases."""
    if not rows:
        return Row(part, what, 0, None, note="nothing to count")
    names = [str(n) for n in range(len(rows))]
    found = interval(metric.combine, rows, names, bounds=metric_bounds(metric))
    return Row(part, what, found.n, found.value, found.low, found.high, found.note)


def area_row(part: str, what: str, positive: Sequence[bool], scores: Sequence[float]) -> Row:
    """The area under a ROC curve, with DeLong's interval."""
    there = int(np.count_nonzero(positive))
    if not 0 < there < len(positive):
        return Row(part, what, len(positive), None, note="all films are alike")
    found = auroc(positive, scores)
    return Row(part, what, len(positive), found.value, found.low, found.high, found.note)


def format_markdown(real: Sequence[Measured], phantom: Sequence[Measured]) -> str:
    """The table in Markdown: each number beside the phantom's, and what is missing below it."""
    beside = {row.key: row for part in phantom for row in part.rows}
    lines = ["| part | what | n | real (95 %) | phantom (95 %) | n |", "|---|---|---|---|---|---|"]
    for part in real:
        for row in part.rows:
            other = beside.get(row.key)
            made = f"{other.format_value()} | {other.n}" if other else "– | –"
            lines.append(f"| {row.part} | {row.what} | {row.n} | {row.format_value()} | {made} |")
    whys: dict[str, list[str]] = {}
    for row in (row for part in real for row in part.rows if row.note):
        whys.setdefault(f"{row.part}: {row.note}", []).append(row.what)
    notes = [f"- {why} ({'; '.join(names)})." for why, names in whys.items()]
    notes += [f"- {part.part}: {sentence}" for part in real for sentence in part.missing]
    spent = ", ".join(f"{part.part} {part.seconds:.0f}" for part in real if part.rows)
    if spent:
        notes.append(f"- Seconds: {spent}.")
    return "\n".join([*lines, "", *notes])


def to_json(parts: Sequence[Measured]) -> list[dict[str, Any]]:
    """The parts as plain JSON."""
    return [asdict(part) for part in parts]
