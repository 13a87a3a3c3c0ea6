"""How far each point of one surface is from the nearest point of another, both on the same grid.

An exact distance transform that is worked out only as far as it is asked for. Along the first axis
two sweeps find the nearest point of every line. Along the second, cells learn of their neighbours'
distances step by step (the squares 1, 4, 9 grow by 1, 3, 5). Along the third only the lines of the
query points are looked at. A query point is done when its distance is no longer than the steps
taken so far, so most drop out after a few. Where two axes have the same spacing, as in the plane
of a CT, the first two passes run in 16-bit whole numbers.

What is left far away, or lies so thinly in a large box that sweeping the box would cost more, is
looked up in a KD-tree. Which way is taken changes the time, never the distances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.intp]
Numbers = NDArray[np.float64]
Points = tuple[Indices, Indices, Indices]
"""Grid points, one array an axis."""
Spacing = tuple[float, float, float]
Search = tuple[Points, Points]
"""The points that are asked for, and those among which the nearest is looked for."""

FARTHEST = 255
"""The most steps that whole numbers tell apart: the square of one more needs over 16 bits."""
ROUNDS = (3, 8, 20, 50, 120, FARTHEST - 1)
"""After so many steps it is looked up which query points are done."""
CHUNK = 1 << 17
"""Cells stepped at a time: as many as a core keeps close."""
QUERIES = 1 << 13
"""Query points looked up at a time, each at one place along its line or at several."""
TOGETHER = 1 << 18
"""Searches whose boxes have no more cells than this are done in one go, which saves calls."""
MOST_BYTES = 1 << 26
"""A box that takes more is not swept; for a moment there are two copies of most of it."""

# Seconds, as measured on one core. They choose between the two ways; only their ratios matter.
SWEEP_CELL = 1.5e-9
STEP_CELL = {2: 1.8e-10, 8: 9.0e-10}
"""By bytes a cell."""
TREE_POINT = 1.5e-7
TREE_QUERY = 5.0e-6


def nearest_distances(searches: Sequence[Search], spacing: Spacing) -> list[Numbers]:
    """For each search, how far in mm each of its query points is from the nearest target.

    >>> here, there = np.array([0, 4]), np.array([1])
    >>> nearest_distances([((here, here, here), (there, there, there))], (2.0, 2.0, 1.0))
    [array([3., 9.])]
    """
    box = _Box.around([points for search in searches for points in search], spacing)
    cells = float(np.prod(box.shape))
    if cells * len(searches) > TOGETHER:
        return [np.sqrt(_squares([search], box, spacing)[0]) for search in searches]
    return [np.sqrt(squares) for squares in _squares(searches, box, spacing)]


def _squares(searches: Sequence[Search], box: _Box, spacing: Spacing) -> list[Numbers]:
    """The squared distances of searches that are done together."""
    cells = float(np.prod(box.shape))
    sweeping = cells * len(searches) * SWEEP_CELL
    tree = sum(_tree_seconds(len(q[0]), len(t[0])) for q, t in searches)
    if cells * (2 if box.whole else 8) > MOST_BYTES or sweeping > tree:
        return [_by_tree(queries, targets, spacing) for queries, targets in searches]
    near, left = _by_steps(box, searches)
    found = []
    begin = 0
    for queries, targets in searches:
        end = begin + len(queries[0])
        squares = near[begin:end]
        far = left[(left >= begin) & (left < end)] - begin
        if len(far):
            first, second, third = (axis[far] for axis in queries)
            squares[far] = _by_tree((first, second, third), targets, spacing)
        found.append(squares)
        begin = end
    return found


def _tree_seconds(queries: int, targets: int) -> float:
    return targets * TREE_POINT + queries * TREE_QUERY


def _by_tree(queries: Points, targets: Points, spacing: Spacing) -> Numbers:
    """The same by a KD-tree, the distances worked out from the grid rather than from mm."""
    from scipy.spatial import cKDTree

    sides = np.array(spacing)
    tree = cKDTree(np.stack(targets, axis=1) * sides, balanced_tree=False)
    _, nearest = tree.query(np.stack(queries, axis=1) * sides)
    total = np.zeros(len(nearest))
    for query, target, side in zip(queries, targets, spacing, strict=True):
        total += ((query - target[nearest]) * side) ** 2
    return total


@dataclass(frozen=True)
class _Box:
    """The box around all points, its axes in the order in which they are worked on."""

    order: tuple[int, ...]
    low: tuple[int, ...]
    shape: tuple[int, ...]
    spacing: tuple[float, ...]

    @classmethod
    def around(cls, sets: Sequence[Points], spacing: Spacing) -> _Box:
        """The smallest box that holds all the points."""
        sets = list({id(points): points for points in sets}.values())
        low = [int(min(points[axis].min() for points in sets)) for axis in range(3)]
        high = [int(max(points[axis].max() for points in sets)) for axis in range(3)]
        size = [most + 1 - least for least, most in zip(low, high, strict=True)]

        def rank(order: tuple[int, ...]) -> tuple[bool, int, int]:
            # Two axes of one spacing first; of those the longer one is swept, which is cheapest.
            first, second, third = order
            return spacing[first] != spacing[second], size[third], size[second]

        order = min(permutations(range(3)), key=rank)
        return cls(
            order=order,
            low=tuple(low[axis] for axis in order),
            shape=tuple(size[axis] for axis in order),
            spacing=tuple(float(spacing[axis]) for axis in order),
        )

    @property
    def whole(self) -> bool:
        """Whether squares of distances along the first two axes are whole numbers of one unit."""
        return self.spacing[0] == self.spacing[1]

    def lines(self, sets: Sequence[Points]) -> tuple[Indices, Indices]:
        """Of points in boxes whose planes alternate: the line along the last axis, and where."""
        first, second, third = self.order
        lines = np.concatenate([points[first] for points in sets])
        lines -= self.low[0]
        lines *= len(sets)
        begin = 0
        for number, points in enumerate(sets):
            part = lines[begin : begin + len(points[first])]
            part += number
            part *= self.shape[1]
            part += points[second]
            begin += len(part)
        lines -= self.low[1]
        columns = np.concatenate([points[third] for points in sets])
        columns -= self.low[2]
        return lines, columns


def _by_steps(box: _Box, searches: Sequence[Search]) -> tuple[Numbers, Indices]:
    """The squared distances of all searches, and which of them do not hold yet."""
    _, rows, columns = box.shape
    _, side, across = box.spacing
    unit, grows = (side**2, 1.0) if box.whole else (1.0, side**2)
    line, column = box.lines([targets for _, targets in searches])
    targets = len(line)
    field = _first_axis_squares(box, len(searches), line * columns + column)
    line, column = box.lines([queries for queries, _ in searches])
    near: Numbers = field.reshape(-1).take(line * columns + column) * unit
    left = np.flatnonzero(near > 0)
    plane, row, column = line[left] // rows, line[left] % rows, column[left]
    taken = 0
    for steps in ROUNDS if field.size > TOGETHER else ROUNDS[1:]:
        if not len(left):
            break
        # Planes that nobody asks about any more are dropped, where there are many.
        asked = np.bincount(plane, minlength=len(field)) > 0
        if np.count_nonzero(asked) < 0.8 * len(asked):
            field, plane = field[asked], (np.cumsum(asked) - 1)[plane]
        # What has been found so far bounds how far the nearest can be.
        best = near[left]
        bound = float(best.max()) ** 0.5 / side
        steps = min(steps, int(bound) + 1) if np.isfinite(bound) else steps
        stepping = field.size * (min(steps, rows) - taken) * STEP_CELL[field.itemsize]
        if stepping > _tree_seconds(len(left), targets):
            break
        _second_axis_steps(field, range(taken + 1, min(steps, rows - 1) + 1), grows)
        taken = steps
        reach = min(int(steps * side / across), columns - 1)
        line = (plane * rows + row) * columns
        for begin in range(0, len(left), QUERIES):
            some = slice(begin, begin + QUERIES)
            best[some] = _third_axis_squares(field, line[some], column[some], best[some], unit, across, reach)
        near[left] = best
        far = best > (steps * side) ** 2
        left, plane, row, column = left[far], plane[far], row[far], column[far]
    return near, left


def _first_axis_squares(box: _Box, boxes: int, targets: Indices) -> NDArray[Any]:
    """For each cell the squared distance to the nearest target in its line along the first axis."""
    planes, rows, columns = box.shape
    dtype, never = (np.uint16, 1 << 14) if box.whole else (np.float64, np.inf)
    field: NDArray[Any] = np.full((planes, boxes * rows * columns), never, dtype)
    field.reshape(-1)[targets] = 0
    further = np.empty(field.shape[1], dtype)
    for order in (range(planes), range(planes - 1, -1, -1)):
        before = field[order[0]]
        for plane in order[1:]:
            here = field[plane]
            np.add(before, 1, out=further)
            before = np.minimum(here, further, out=here)
    if box.whole:
        np.minimum(field, FARTHEST, out=field)
    else:
        field *= box.spacing[0]
    field *= field
    return field.reshape(planes * boxes, rows, columns)


def _second_axis_steps(field: NDArray[Any], steps: range, grows: float) -> None:
    """Carry distances along the second axis."""
    height = max(1, CHUNK // field[0].size)
    further = np.empty((min(height, len(field)), *field.shape[1:]), field.dtype)
    for begin in range(0, len(field), height):
        cells = field[begin : begin + height]
        there = further[: len(cells)]
        to_left, from_right = cells[:, :-1], there[:, 1:]
        to_right, from_left = cells[:, 1:], there[:, :-1]
        for step in steps:
            np.add(cells, field.dtype.type((2 * step - 1) * grows), out=there)
            np.minimum(to_left, from_right, out=to_left)
            np.minimum(to_right, from_left, out=to_right)


def _third_axis_squares(
    field: NDArray[Any],
    line: Indices,
    column: Indices,
    known: Numbers,
    unit: float,
    across: float,
    reach: int,
) -> Numbers:
    """The least squared distances found along the third axis, where less than what was known.

    A point is told by where its line begins and the column in it.
    """
    flat, last = field.reshape(-1), field.shape[2] - 1
    least: Numbers = np.minimum(known, flat.take(line + column) * unit)
    asked, best = np.arange(len(least)), least.copy()
    away = 1
    while away <= reach:
        nearer = best > (away * across) ** 2
        if not nearer.all():
            asked, best = asked[nearer], best[nearer]
            line, column = line[nearer], column[nearer]
        if not len(asked):
            break
        end = min(reach + 1, away + max(1, 2 * QUERIES // len(asked)))
        off = np.concatenate((np.arange(away, end), -np.arange(away, end)))[:, np.newaxis]
        cell = column + off
        # Beyond the edge the edge is looked at again, farther away than it is: it cannot win.
        np.maximum(cell, 0, out=cell)
        np.minimum(cell, last, out=cell)
        cell += line
        found: Numbers = flat.take(cell) * unit
        found += (off * across) ** 2
        np.minimum(best, found.min(axis=0), out=best)
        least[asked] = best
        away = end
    return least
