"""Confidence intervals over whole patients: by the rule for small samples, or by draws alone."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from overread.errors import UsageError
from overread.metrics.contract import Statistics
from overread.metrics.rows import ColumnRows, as_rows
from overread.metrics.sample import Numbers, Sample, find_quotient
from overread.metrics.statistics.interval_rule import (
    FEWEST,
    MANY,
    UNBOUNDED,
    Bounds,
    Ends,
    RuleMethod,
    cluster_totals,
    few_note,
    is_counts,
    jackknife_interval,
    leave_one_out_ratios,
    share_interval,
)
from overread.metrics.statistics.result import Result, finite_or_none, format_number

Combine: TypeAlias = Callable[[Sample], Numbers]
"""Takes a sample to one number a draw; NaN where it is undefined."""

Method: TypeAlias = Literal["rule", "percentile", "bca"]
"""The rule of `interval_rule`, which fits few patients too; percentiles of the draws as they are, or
corrected for bias and skew (Efron 1987)."""

Places: TypeAlias = Sequence[int] | NDArray[np.int64]
"""Some of the rows, by their places."""

CELLS = 4_000_000
"""Draws × rows that are held at once as weights (32 MB)."""
MAX_CACHED_COUNTS = 16_000_000
"""Draws × clusters up to which drawn counts are kept rather than drawn again (32 MB)."""


@dataclass(frozen=True)
class Interval(Result):
    """A number with the range that other cases would leave to it."""

    value: float | None
    """The number of the cases as they are; None where it is undefined."""
    low: float | None
    high: float | None
    n: int
    """Rows that the number was made of."""
    clusters: int
    """Patients (or cases) that these rows belong to."""
    draws: int
    undefined: int
    """Draws that gave no finite number; they are left out."""
    level: float
    method: Literal["percentile", "bca"] | RuleMethod
    """How it was made; 'none' where the rule gives none."""
    note: str = ""
    """Why there is no interval, or what to know about it."""

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{format_number(self.value)} (no interval: {self.note}; n = {self.n})"
        text = f"{format_number(self.value)} ({100 * self.level:g} % {self.low:.3f} to {self.high:.3f}"
        text += f"; n = {self.n}, {self.clusters} clusters, "
        text += f"{self.draws} draws" if self.method in ("percentile", "bca") else self.method
        if self.undefined:
            text += f", {self.undefined} of them undefined"
        return f"{text}; {self.note})" if self.note else f"{text})"


class BootstrapDraws:
    """Which clusters each draw drew: made once, and shared by all numbers that are compared.

    Each draw takes as many clusters as there are, with replacement; all rows of a cluster come
    along as often as it was drawn. Clusters are sorted by name first, so the order of rows
    does not matter, and the first 1,000 of 2,000 draws are those of 1,000 draws.

    >>> draws = BootstrapDraws(["ann", "bob", "ann"], draws=3, seed=1)
    >>> draws.weights().astype(int).tolist()
    [[1, 1, 1], [0, 2, 0], [2, 0, 2]]
    """

    def __init__(self, clusters: Sequence[str], *, draws: int = 1000, seed: int = 0) -> None:
        """`clusters` has the cluster of each row: its patient, or its case where none is known."""
        for cluster in clusters:
            if not isinstance(cluster, str):
                raise UsageError(
                    f"the cluster {cluster!r} is no text",
                    remedy="name the patient of each row, or its case where none is known",
                )
        if draws < 0 or seed < 0:
            raise UsageError(f"draws ({draws}) and seed ({seed}) cannot be negative")
        names = sorted(set(clusters))
        place = {name: i for i, name in enumerate(names)}
        self.codes = np.array([place[name] for name in clusters], dtype=np.int64)
        self.clusters = len(names)
        self.word = _cluster_word(names)
        """What people call the clusters."""
        self.draws = draws
        self.seed = seed
        self._cached_counts: NDArray[np.uint32] | None = None

    def weights(self, subset: Places | None = None) -> Numbers:
        """All draws at once: one line a draw, one column a row (or a row of the subset)."""
        blocks = list(self.blocks(subset))
        columns = len(self.codes if subset is None else subset)
        return np.concatenate(blocks) if blocks else np.zeros((0, columns))

    def blocks(self, subset: Places | None = None) -> Iterator[Numbers]:
        """The same, a few draws at a time, so that memory stays bounded."""
        codes = self._codes(subset)
        for counts in self._counts(max(1, CELLS // max(1, len(codes), self.clusters))):
            yield counts[:, codes].astype(np.float64)

    def leave_one_out(self, subset: Places | None = None) -> Iterator[Numbers]:
        """Weights that leave out one cluster after the other, for the jackknife.

        Clusters without a row in the subset are not gone through: without them nothing changes.
        """
        codes = self._codes(subset)
        present = np.unique(codes)
        step = max(1, CELLS // max(1, len(codes)))
        for start in range(0, len(present), step):
            yield (codes != present[start : start + step, None]).astype(np.float64)

    def _codes(self, subset: Places | None) -> NDArray[np.int64]:
        return self.codes if subset is None else self.codes[np.asarray(subset, dtype=np.int64)]

    def _counts(self, at_once: int) -> Iterator[NDArray[np.uint32]]:
        """How often each cluster was drawn, in blocks of draws."""
        if not self.clusters or not self.draws:
            return
        if self._cached_counts is None and self.draws * self.clusters <= MAX_CACHED_COUNTS:
            step = max(1, CELLS // self.clusters)
            self._cached_counts = np.concatenate(list(self._draw_counts(step)))
        if self._cached_counts is None:
            yield from self._draw_counts(at_once)
            return
        for start in range(0, self.draws, at_once):
            yield self._cached_counts[start : start + at_once]

    def _draw_counts(self, at_once: int) -> Iterator[NDArray[np.uint32]]:
        size, random = self.clusters, np.random.default_rng(self.seed)
        for start in range(0, self.draws, at_once):
            lines = min(at_once, self.draws - start)
            # One bounded integer after the other, so that the size of a block changes nothing.
            picked = random.integers(0, size, size=(lines, size))
            picked += size * np.arange(lines)[:, None]
            counts = np.bincount(picked.ravel(), minlength=lines * size)
            yield counts.reshape(lines, size).astype(np.uint32)


def cluster_key(case: str, patient: str | None) -> str:
    """The cluster of a row: its patient where known, else its case; never mistaken for another.

    >>> cluster_key("7", "12"), cluster_key("12", None)
    ('patient 12', 'case 12')
    """
    return f"patient {patient}" if patient else f"case {case}"


def _cluster_word(names: Sequence[str]) -> str:
    if names and all(name.startswith("case ") for name in names):
        return "cases"
    return "patients" if any(name.startswith("patient ") for name in names) else "clusters"


def draw_weights(clusters: Sequence[str], draws: int, seed: int) -> Numbers:
    """How often each draw counts each row (draws × rows); see `Draws`, also for blocks of it."""
    return BootstrapDraws(clusters, draws=draws, seed=seed).weights()


def interval(
    combine: Combine,
    rows: Sequence[Statistics],
    clusters: Sequence[str],
    *,
    draws: int = 1000,
    seed: int = 0,
    level: float = 0.95,
    method: Method = "rule",
    bounds: Bounds = UNBOUNDED,
) -> Interval:
    """One metric of some rows with its interval; whole clusters are independent, rows need not be.

    Without rows, or with too few clusters, the interval is None and the note says why.

    >>> rows = [{"right": int(i % 4 > 0), "asked": 1} for i in range(200)]
    >>> print(interval(lambda s: s.ratio("right", "asked"), rows, [str(i) for i in range(200)]))
    0.750 (95 % 0.685 to 0.805; n = 200, 200 clusters, wilson)
    """
    drawn = BootstrapDraws(clusters, draws=draws, seed=seed)
    return intervals({"": combine}, rows, drawn, level=level, method=method, bounds={"": bounds})[""]


def intervals(
    combines: Mapping[str, Combine],
    rows: Sequence[Statistics],
    draws: BootstrapDraws,
    *,
    level: float = 0.95,
    method: Method = "rule",
    bounds: Mapping[str, Bounds] | None = None,
) -> dict[str, Interval]:
    """Several metrics of the same rows, all on the same draws."""
    groups = {"": np.arange(len(rows))}
    return breakdown(combines, rows, draws, groups, level=level, method=method, bounds=bounds)[""]


def breakdown(
    combines: Mapping[str, Combine],
    rows: Sequence[Statistics],
    draws: BootstrapDraws,
    groups: Mapping[str, Places],
    *,
    level: float = 0.95,
    method: Method = "rule",
    bounds: Mapping[str, Bounds] | None = None,
) -> dict[str, dict[str, Interval]]:
    """Group → metric → interval; a group is given by the places of its rows.

    Groups may overlap. Draws are of all rows: that a group comes out larger or smaller in a
    draw is part of the uncertainty. A draw in which a group is empty is undefined for it. `bounds` are
    those of the metrics, where they have any; only the rule asks for them.
    """
    rows = as_rows(rows)
    check_rows(rows, draws)
    check_level(level, method)
    given = {name: np.asarray(places, dtype=np.int64) for name, places in groups.items()}
    # Breakdowns of a release that is all alike have many groups of the same rows: one stands for all.
    first_alike = _find_repeats(given)
    columns = {name: given[name] for name in dict.fromkeys(first_alike.values())}
    parts = {name: rows.part(places) for name, places in columns.items()}
    once = {name: evaluate(combines, part, np.ones((1, len(part)))) for name, part in parts.items()}
    results: dict[str, dict[str, Interval]] = {name: {} for name in columns}
    if method == "rule" and draws.draws and len(rows):
        ruled = _RuledIntervals(combines, rows, draws, bounds or {}, level)
        for name, places in columns.items():
            results[name] = ruled.of_group(places, parts[name], once[name])
    to_draw = {
        name: {metric: combine for metric, combine in combines.items() if metric not in results[name]}
        for name in columns
    }
    drawn: dict[str, dict[str, list[Numbers]]] = {
        name: {metric: [] for metric in wanted} for name, wanted in to_draw.items()
    }
    for weights in draws.blocks() if any(to_draw.values()) else ():
        for name, places in columns.items():
            if to_draw[name]:
                for metric, values in evaluate(to_draw[name], parts[name], weights[:, places]).items():
                    drawn[name][metric].append(values)
    for name, places in columns.items():
        part = parts[name]
        present = len(np.unique(draws.codes[places]))
        left_out = _jackknife(combines, part, draws, places) if method == "bca" else {}
        for metric, pieces in drawn[name].items():
            value, values = float(once[name][metric][0]), np.concatenate([*pieces, np.zeros(0)])
            found = make_interval(
                value,
                values,
                n=len(part),
                clusters=present,
                level=level,
                left_out=left_out.get(metric),
            )
            if method == "rule" and found.low is not None and found.low == found.high:
                # Draws that are all the same say nothing of what has not been seen yet.
                alike = np.full(present, value)
                own = (bounds or {}).get(metric, UNBOUNDED)
                ends = jackknife_interval(value, alike, own, level=level, word=draws.word)
                found = ruled_interval(value, ends, n=len(part), clusters=present, level=level)
            results[name][metric] = found
    return {
        name: {metric: results[first][metric] for metric in combines} for name, first in first_alike.items()
    }


def _find_repeats(columns: Mapping[str, NDArray[np.int64]]) -> dict[str, str]:
    """Group → the first group of the very same rows, in the same order."""
    seen: dict[bytes, str] = {}
    return {
        name: seen.setdefault(hashlib.sha256(places.tobytes()).digest(), name)
        for name, places in columns.items()
    }


class _RuledIntervals:
    """Intervals of the rule: everything but numbers of many clusters that have to be drawn."""

    def __init__(
        self,
        combines: Mapping[str, Combine],
        rows: Sequence[Statistics],
        draws: BootstrapDraws,
        bounds: Mapping[str, Bounds],
        level: float,
    ) -> None:
        self.combines, self.draws, self.bounds, self.level = combines, draws, bounds, level
        whole = Sample(rows)
        self.quotients: dict[str, tuple[Numbers, Numbers]] = {}
        for name, combine in combines.items():
            asked = find_quotient(combine, whole)
            if asked is not None:
                self.quotients[name] = whole.column(asked[0]), whole.column(asked[1])

    def of_group(
        self, places: NDArray[np.int64], part: Sequence[Statistics], once: Mapping[str, Numbers]
    ) -> dict[str, Interval]:
        """The intervals of one group that need no draws."""
        present, codes = np.unique(self.draws.codes[places], return_inverse=True)
        clusters, word = len(present), self.draws.word
        found: dict[str, Ends] = {}
        to_leave_out: dict[str, Combine] = {}
        for name, combine in self.combines.items():
            value = float(once[name][0])
            if not len(part) or not math.isfinite(value):
                continue
            ends = self._quotient_ends(name, value, places, codes, clusters)
            if ends is not None:
                found[name] = ends
            elif clusters < FEWEST:
                found[name] = Ends(None, None, "none", few_note(clusters, word))
            elif clusters < MANY:
                to_leave_out[name] = combine
        if to_leave_out:
            for name, left_out in _leave_out_each(to_leave_out, part, self.draws, places).items():
                bounds = self.bounds.get(name, UNBOUNDED)
                value = float(once[name][0])
                found[name] = jackknife_interval(value, left_out, bounds, level=self.level, word=word)
        return {
            name: ruled_interval(float(once[name][0]), ends, n=len(part), clusters=clusters, level=self.level)
            for name, ends in found.items()
        }

    def _quotient_ends(
        self,
        name: str,
        value: float,
        places: NDArray[np.int64],
        codes: NDArray[np.int64],
        clusters: int,
    ) -> Ends | None:
        """The interval of one total over another, in closed form."""
        if name not in self.quotients:
            return None
        above, below = (column[places] for column in self.quotients[name])
        top, bottom = (cluster_totals(codes, column, clusters) for column in (above, below))
        total = bottom.sum()
        if total <= 0 or not math.isclose(top.sum() / total, value, rel_tol=1e-9, abs_tol=1e-12):
            return None
        if is_counts(above, below):
            return share_interval(top, bottom, level=self.level, word=self.draws.word)
        there = bottom > 0 if (below >= 0).all() else np.full(clusters, fill_value=True)
        left_out = leave_one_out_ratios(top[there], bottom[there])
        bounds = self.bounds.get(name, UNBOUNDED)
        return jackknife_interval(value, left_out, bounds, level=self.level, word=self.draws.word)


def ruled_interval(value: float, ends: Ends, *, n: int, clusters: int, level: float) -> Interval:
    """A number with the ends that the rule gives it."""
    return Interval(
        value=finite_or_none(value),
        low=ends.low,
        high=ends.high,
        n=n,
        clusters=clusters,
        draws=0,
        undefined=0,
        level=level,
        method=ends.method,
        note=ends.note,
    )


def evaluate(
    combines: Mapping[str, Combine], rows: Sequence[Statistics], weights: Numbers
) -> dict[str, Numbers]:
    """Each metric for each line of weights; NaN where a line is empty or gives nothing finite."""
    lines = weights.any(axis=1)
    # An empty draw is no sample at all: no metric has to know what to make of it.
    sample = Sample(rows, weights if lines.all() else weights[lines])
    results = {}
    for name, combine in combines.items():
        values = np.full(len(weights), np.nan)
        if sample.draws:
            values[lines] = combine(sample)
        values[~np.isfinite(values)] = np.nan
        results[name] = values
    return results


def make_interval(
    value: float, drawn: Numbers, *, n: int, clusters: int, level: float, left_out: Numbers | None = None
) -> Interval:
    """The interval of a number from its draws: percentiles, or BCa with jackknife values."""
    known = drawn[~np.isnan(drawn)]
    low = high = None
    method: Literal["percentile", "bca"] = "percentile"
    note = ""
    if n == 0:
        note = "there are no rows"
    elif not math.isfinite(value):
        note = "the number is undefined"
    elif clusters < 2:
        note = "there is only one cluster"
    elif not len(drawn):
        note = "nothing was drawn"
    elif not len(known):
        note = "every draw is undefined"
    else:
        ends = np.array([(1 - level) / 2, (1 + level) / 2])
        if known.min() == known.max():
            note = "every draw gives the same number"
        elif left_out is not None:
            corrected = _bca_percentiles(value, known, left_out, ends)
            if corrected is None:
                note = "BCa is not possible here, plain percentiles instead"
            else:
                ends, method = corrected, "bca"
        low, high = (float(end) for end in np.quantile(known, ends))
    return Interval(
        value=finite_or_none(value),
        low=low,
        high=high,
        n=n,
        clusters=clusters,
        draws=len(drawn),
        undefined=len(drawn) - len(known),
        level=level,
        method=method,
        note=note,
    )


def check_level(level: float, method: Method = "percentile") -> None:
    """Refuse a level or a method that there is not."""
    if not 0 < level < 1:
        raise UsageError(f"a level of {level} is not between 0 and 1", remedy="for example 0.95")
    if method not in ("rule", "percentile", "bca"):
        raise UsageError(f"no method {method!r}", remedy="'rule', 'percentile' or 'bca'")


def check_rows(rows: Sequence[Statistics], draws: BootstrapDraws) -> None:
    """Refuse rows that do not fit the draws, and statistics that are not numbers at all."""
    if len(rows) != len(draws.codes):
        raise UsageError(
            f"{len(rows)} rows came with {len(draws.codes)} clusters", remedy="give the cluster of each row"
        )
    if isinstance(rows, ColumnRows) and rows.is_finite:
        return
    for place, row in enumerate(rows):
        for name, value in row.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise UsageError(
                    f"the statistic {name!r} of row {place} is {value}",
                    remedy="leave a statistic out, or give None, where it is undefined",
                )


def _jackknife(
    combines: Mapping[str, Combine], rows: Sequence[Statistics], draws: BootstrapDraws, places: Places
) -> dict[str, Numbers]:
    """Each metric without each cluster; without one that has no row here nothing changes."""
    whole = evaluate(combines, rows, np.ones((1, len(rows))))
    found = _leave_out_each(combines, rows, draws, places)
    return {
        name: np.concatenate([values, np.repeat(whole[name], draws.clusters - len(values))])
        for name, values in found.items()
    }


def _leave_out_each(
    combines: Mapping[str, Combine], rows: Sequence[Statistics], draws: BootstrapDraws, places: Places
) -> dict[str, Numbers]:
    """Each metric without each cluster that has a row here."""
    found: dict[str, list[Numbers]] = {name: [] for name in combines}
    for weights in draws.leave_one_out(places):
        for name, values in evaluate(combines, rows, weights).items():
            found[name].append(values)
    return {name: np.concatenate([*pieces, np.zeros(0)]) for name, pieces in found.items()}


def _bca_percentiles(value: float, known: Numbers, left_out: Numbers, ends: Numbers) -> Numbers | None:
    """Which percentiles to take instead; None where bias or skew cannot be told."""
    from scipy.special import ndtr, ndtri

    # A draw of the same rows in another order is tied, whatever its last bit says.
    hair = 1e-9 * (known.max() - known.min())
    below = ((known < value - hair).mean() + (known <= value + hair).mean()) / 2
    apart = left_out.mean() - left_out
    spread = float((apart**2).sum())
    if not 0 < below < 1 or not math.isfinite(spread) or spread == 0:
        return None
    bias = ndtri(below)
    skew = float((apart**3).sum()) / (6 * spread**1.5)
    shifted = bias + ndtri(ends)
    moved: Numbers = ndtr(bias + shifted / (1 - skew * shifted))
    return moved
