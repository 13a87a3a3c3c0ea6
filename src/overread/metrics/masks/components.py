"""What hangs together in a mask, and how two masks overlap: counted on runs, exactly.

Two runs belong to one component where rows beside each other hold voxels that touch. Which runs
of a neighbouring row do, a search in the sorted ends tells, so labelling takes time by runs and
not by voxels.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.metrics.masks.voxel_runs import Ints, VoxelRuns

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Instances:
    """The lesions of one finding: entities as drawn, or components as they hang together."""

    runs: VoxelRuns
    """All runs of the finding."""
    of_run: Ints
    """Which lesion each run belongs to; -1 where it belongs to none that counts."""
    numbers: Ints
    """What each lesion is called: the annotator's label, or its place in scan order."""
    sizes: Ints
    """Voxels of each lesion."""
    outlines: dict[int, Any] = field(default_factory=dict, repr=False)
    """Surfaces that were drawn already, by the lesion's place."""

    def __len__(self) -> int:
        return len(self.numbers)

    def select(self, which: NDArray[np.intp]) -> Instances:
        """Only some of the lesions, in the order asked for."""
        new = np.full(len(self) + 1, -1, dtype=np.int64)
        new[which] = np.arange(len(which))
        return Instances(self.runs, new[self.of_run], self.numbers[which], self.sizes[which])

    def counted_runs(self) -> tuple[VoxelRuns, Ints]:
        """The runs that belong to some lesion, and to which."""
        inside = self.of_run >= 0
        if inside.all():
            return self.runs, self.of_run
        return self.runs.select(inside), self.of_run[inside]

    @cached_property
    def centroids(self) -> Floats:
        """The mean voxel index of each lesion, one line a lesion."""
        runs, of_run = self.counted_runs()
        h, w, d = coordinates(runs)
        length = (runs.stop - runs.start).astype(np.float64)
        sums = [
            np.bincount(of_run, weights=length * where, minlength=len(self))
            for where in (h + (length - 1) / 2, w, d)
        ]
        return np.stack(sums, axis=1) / self.sizes[:, None]

    @cached_property
    def boxes(self) -> tuple[Ints, Ints]:
        """The lowest and the highest voxel index of each lesion along each axis."""
        runs, of_run = self.counted_runs()
        h, w, d = coordinates(runs)
        low = np.full((3, len(self)), np.iinfo(h.dtype).max, dtype=h.dtype)
        high = np.full((3, len(self)), -1, dtype=h.dtype)
        for axis, (bottom, top) in enumerate(((h, h + (runs.stop - runs.start) - 1), (w, w), (d, d))):
            np.minimum.at(low[axis], of_run, bottom)
            np.maximum.at(high[axis], of_run, top)
        return low.T.astype(np.int64), high.T.astype(np.int64)


def coordinates(runs: VoxelRuns) -> tuple[Ints, Ints, Ints]:
    """The voxel index of the first voxel of each run, axis by axis."""
    row = runs.row
    slices = row // runs.shape[1]
    return runs.start - row * runs.shape[0], row - slices * runs.shape[1], slices


def entities(runs: VoxelRuns) -> Instances:
    """One lesion for each label."""
    counts = np.bincount(runs.label, weights=runs.stop - runs.start)
    numbers = np.flatnonzero(counts)
    place = np.zeros(len(counts), dtype=np.int64)
    place[numbers] = np.arange(len(numbers))
    return Instances(runs, place[runs.label], numbers, counts[numbers].astype(np.int64))


def components(runs: VoxelRuns, connectivity: int = 18) -> Instances:
    """One lesion for each connected component, whatever the labels.

    They are numbered from 1 by their first voxel in the order in which numpy walks an (H, W, D)
    array, the last axis fastest: as scipy and scikit-image number them.

    >>> ends = np.array([0, 5]), np.array([2, 6])  # voxels 0, 1 of row 0 and 1 of row 1
    >>> components(VoxelRuns((4, 2, 1), *ends, label=np.array([1, 2]))).sizes
    array([3])
    """
    whole, into = runs.join_touching()
    count, found = _label_runs(whole, connectivity)
    h, w, d = (axis.astype(np.int64) for axis in coordinates(whole))
    scan = (h * runs.shape[1] + w) * runs.shape[2] + d
    firsts = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(firsts, found, scan)
    rank = np.empty(count, dtype=np.int64)
    rank[np.argsort(firsts)] = np.arange(count)
    of_run = rank[found]
    sizes = np.bincount(of_run, weights=whole.stop - whole.start, minlength=count)
    return Instances(runs, of_run[into], np.arange(1, count + 1), sizes.astype(np.int64))


def overlap(one: Instances, other: Instances) -> Ints:
    """Voxels that each lesion of one shares with each lesion of the other."""
    table = np.zeros((len(one), len(other)), dtype=np.int64)
    mine, of_mine = one.counted_runs()
    theirs, of_theirs = other.counted_runs()
    if not table.size:
        return table
    if mine is theirs:
        length = mine.stop - mine.start
        counted = np.bincount(of_mine * len(other) + of_theirs, length, minlength=table.size)
        return counted.astype(np.int64).reshape(table.shape)
    first, count = _find_overlapped(mine.start, mine.stop, theirs.start, theirs.stop)
    i, j = _pairs(first, count)
    shared = np.minimum(mine.stop[i], theirs.stop[j]) - np.maximum(mine.start[i], theirs.start[j])
    cells = of_mine[i] * len(other) + of_theirs[j]
    counted = np.bincount(cells, weights=shared, minlength=table.size)
    return counted.astype(np.int64).reshape(table.shape)


def _label_runs(runs: VoxelRuns, connectivity: int) -> tuple[int, Ints]:
    """How many components there are, and which each run belongs to.

    First within slices, where rows are joined one to the next; then the pieces of slices, of
    which there are far fewer, from slice to slice.
    """
    count = len(runs)
    if not count:
        return 0, np.zeros(0, dtype=np.int64)
    begin, end, row = _pad_rows(runs)
    above = row * (runs.shape[1] + 2)
    reach = 0 if connectivity == 6 else 1
    beside = _find_touching(begin, end, row, reach)
    links = [_find_touching(begin, end, above, reach)]
    if connectivity == 18:
        left, right, over = _find_covered(begin, end, row, beside, above, links[0])
        links.append(_find_touching(begin, end, above + row, 0, ~(right | over)))
        links.append(_find_touching(begin, end, above - row, 0, ~(left | over)))
    elif connectivity == 26:
        links += [_find_touching(begin, end, above + side, 1) for side in (row, -row)]
    pieces, piece = _connect_nodes(*beside, count)
    joined = [_drop_repeats(piece[i] * pieces + piece[j]) for i, j in links]
    number, group = _connect_nodes(*np.divmod(np.concatenate(joined), pieces), pieces)
    return number, group[piece]


def _find_touching(
    begin: Ints, end: Ints, shift: int, reach: int, some: NDArray[np.bool_] | None = None
) -> tuple[Ints, Ints]:
    """Each run (or some) with those it touches in the row so far away, up to `reach` beyond it."""
    low, high = begin + (shift - reach), end + (shift + reach)
    if some is None:
        return _pairs(*_find_overlapped(low, high, begin, end))
    which = np.flatnonzero(some)
    i, j = _pairs(*_find_overlapped(low[which], high[which], begin, end))
    return which[i], j


def _find_covered(
    begin: Ints, end: Ints, row: int, beside: tuple[Ints, Ints], above: int, over: tuple[Ints, Ints]
) -> list[NDArray[np.bool_]]:
    """Which runs lie wholly beside one run of the row before, of the row after, or above.

    Such a run is joined with the other one, and what lies slantwise over an edge from it lies
    straight beside the other one: it need not be looked for.
    """
    marks = [np.zeros(len(begin), dtype=bool) for _ in range(3)]
    (i, j), (k, m) = beside, over
    marks[0][j[(begin[j] - row >= begin[i]) & (end[j] - row <= end[i])]] = True
    marks[1][i[(begin[i] + row >= begin[j]) & (end[i] + row <= end[j])]] = True
    marks[2][k[(begin[k] + above >= begin[m]) & (end[k] + above <= end[m])]] = True
    return marks


def _drop_repeats(links: Ints) -> Ints:
    """Without what comes twice in a row: runs follow each other, and so do equal links."""
    new = np.ones(len(links), dtype=bool)
    np.not_equal(links[1:], links[:-1], out=new[1:])
    return links[new]


def _pad_rows(runs: VoxelRuns) -> tuple[Ints, Ints, int]:
    """Ends of the runs where rows have room around them, so that no shift meets a wrong row."""
    height, width, depth = (n + 2 for n in runs.shape)
    kind: Any = np.int32 if height * width * (depth + 1) < 1 << 30 else np.int64
    row = runs.row.astype(kind)
    shift = row * 2 + row // runs.shape[1] * (2 * height) + height * width
    return runs.start.astype(kind) + shift, runs.stop.astype(kind) + shift, height


def _find_overlapped(low: Ints, high: Ints, begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """For each stretch low to high: the first run that it overlaps, and how many it does.

    The runs are sorted and apart, so those that are overlapped follow each other; counting them
    one by one takes no longer than writing them down will.
    """
    first = np.searchsorted(end, low, side="right")
    many = np.zeros(len(first), dtype=np.int64)
    ends = np.append(begin, np.iinfo(begin.dtype).max)
    live = np.flatnonzero(ends[first] < high)
    at, edge = first[live], high[live]
    while len(live):
        many[live] += 1
        at += 1
        more = ends[at] < edge
        live, at, edge = live[more], at[more], edge[more]
    return first, many


def _pairs(first: Ints, many: Ints) -> tuple[Ints, Ints]:
    """Each index with those it reaches: first, first + 1, … as many as there are."""
    before = np.cumsum(many) - many
    i = np.repeat(np.arange(len(many)), many)
    return i, np.arange(len(i)) + np.repeat(first - before, many)


def _connect_nodes(one: Ints, other: Ints, count: int) -> tuple[int, Ints]:
    """Connected components of a graph of `count` nodes, given by its edges."""
    from scipy.sparse import coo_array, csr_array
    from scipy.sparse.csgraph import connected_components

    edges = np.ones(len(one))
    if (one[1:] >= one[:-1]).all():
        # In order already, as neighbours are found: nothing needs to be sorted.
        starts = np.zeros(count + 1, dtype=np.int32)
        np.cumsum(np.bincount(one, minlength=count), out=starts[1:])
        graph = csr_array((edges, other.astype(np.int32), starts), shape=(count, count))
    else:
        graph = coo_array((edges, (one, other)), shape=(count, count)).tocsr()
    number, group = connected_components(graph, directed=False)
    return int(number), group.astype(np.int64)
