"""Whether a difference of two readers could be chance: the readers change places within patients.

If the two were alike, it would not matter whose reading is called the first. So they are swapped, in
all patients or some, and p is the share of swaps with a difference as large as the one found: of all
swaps where these can be counted, else of many drawn ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overread.metrics.contract import Statistics
from overread.metrics.sample import Numbers
from overread.metrics.statistics.bootstrap import CELLS, Combine, evaluate

ALL_SWAPS = 1 << 16
"""Swaps of totals up to which all of them are gone through."""
ALL_RECOMBINED = 1 << 10
"""The same where every swap has to be combined anew."""
MOST_STEPS = 50_000_000
"""Additions up to which the distribution of whole numbers is computed exactly."""


@dataclass(frozen=True)
class SwapP:
    """A two-sided p, and how it was found."""

    p: float | None
    method: str


def swap_totals(
    first: tuple[Numbers, Numbers], second: tuple[Numbers, Numbers], *, draws: int, seed: int
) -> SwapP:
    """p of a difference of quotients, from the totals (above, below) of each cluster.

    Where both have the same totals below, as with shares of the same units, and whole numbers above,
    all swaps are counted at once, however many clusters there are. Clusters of one unit each give
    McNemar's exact test.

    >>> ones = np.ones(720)
    >>> five = np.where(np.arange(720) < 5, 1.0, 0.0)
    >>> swap_totals((five, ones), (0 * ones, ones), draws=1000, seed=0)
    SwapP(p=0.0625, method='all swaps within clusters')
    """
    (top, bottom), (other, below) = first, second
    above, under = other - top, below - bottom
    if not under.any() and (above == np.rint(above)).all():
        steps = np.abs(above[above != 0]).astype(np.int64)
        if len(steps) * int(steps.sum()) <= MOST_STEPS:
            return SwapP(_sign_flip_tail(steps, abs(round(above.sum()))), _ALL)
    differs = np.flatnonzero((above != 0) | (under != 0))
    value = top.sum() / bottom.sum() - other.sum() / below.sum()

    def apart(swapped: Numbers) -> Numbers:
        moved, moved_under = swapped @ above[differs], swapped @ under[differs]
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Numbers = (top.sum() + moved) / (bottom.sum() + moved_under) - (other.sum() - moved) / (
                below.sum() - moved_under
            )
        return found

    exact = 2 ** len(differs) <= ALL_SWAPS
    blocks = _all_swaps(len(differs)) if exact else _drawn_swaps(len(differs), draws, seed)
    return _count(value, [apart(block) for block in blocks], exact=exact)


def swap_rows(
    combine: Combine,
    first: Sequence[Statistics],
    second: Sequence[Statistics],
    codes: NDArray[np.int64],
    *,
    draws: int,
    seed: int,
) -> SwapP:
    """p of a difference of any number: swapped readers are combined anew. `codes` are the clusters."""
    differing = np.unique([code for one, two, code in zip(first, second, codes, strict=True) if one != two])
    differing = differing.astype(np.int64)
    rows = [*first, *second]
    place = np.full(int(codes.max(initial=0)) + 1, -1)
    place[differing] = np.arange(len(differing))
    own = place[codes]

    def numbers(swapped: Numbers) -> Numbers:
        moved = np.where(own >= 0, swapped[:, own], 0.0) if len(differing) else np.zeros((1, len(own)))
        return evaluate({"": combine}, rows, np.concatenate([1 - moved, moved], axis=1))[""]

    exact = 2 ** len(differing) <= ALL_RECOMBINED
    blocks = (
        _all_swaps(len(differing))
        if exact
        else _drawn_swaps(len(differing), draws, seed, CELLS // max(1, 2 * len(rows)))
    )
    once = np.zeros((1, len(differing)))
    value = float((numbers(once) - numbers(1 - once))[0])
    if not np.isfinite(value):
        return SwapP(None, "")
    return _count(value, [numbers(block) - numbers(1 - block) for block in blocks], exact=exact)


_ALL = "all swaps within clusters"


def _count(value: float, pieces: list[Numbers], *, exact: bool) -> SwapP:
    """p from the differences of swaps; a swap without a number is left out."""
    found = np.concatenate(pieces)
    known = found[np.isfinite(found)]
    if not len(known):
        return SwapP(None, "")
    # A swap exactly as far must count, whatever the last bit of a quotient says.
    far = int((np.abs(known) >= abs(value) * (1 - 1e-9) - 1e-15).sum())
    if exact:
        return SwapP(far / len(known), _ALL)
    return SwapP((1 + far) / (1 + len(known)), f"{len(known)} drawn swaps within clusters")


def _sign_flip_tail(steps: NDArray[np.int64], reached: int) -> float:
    """The chance that whole numbers with random signs add up to as much as this, either way."""
    chances, middle = np.ones(1), int(steps.sum())
    for step in np.sort(steps).tolist():
        wider = np.zeros(len(chances) + 2 * step)
        wider[: len(chances)] += chances / 2
        wider[2 * step :] += chances / 2
        chances = wider
    sums = np.abs(np.arange(len(chances)) - middle)
    return min(1.0, float(chances[sums >= reached].sum()))


def _all_swaps(clusters: int) -> Iterator[Numbers]:
    """Every way to swap, in one block: which clusters are."""
    ways = list(itertools.product((0.0, 1.0), repeat=clusters))
    yield np.array(ways).reshape(len(ways), clusters)


def _drawn_swaps(clusters: int, draws: int, seed: int, at_once: int | None = None) -> Iterator[Numbers]:
    """Swaps by lot."""
    random = np.random.default_rng([seed, 1])
    step = max(1, CELLS // max(1, clusters) if at_once is None else at_once)
    for start in range(0, draws, step):
        yield random.integers(0, 2, size=(min(step, draws - start), clusters)).astype(np.float64)
