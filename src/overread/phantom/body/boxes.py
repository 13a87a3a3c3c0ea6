"""Boxes: of the template in the scan, and parts of the scan's arrays within each other."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from overread.phantom.body.canvas import Cut, Grid
from overread.phantom.body.habitus import Habitus
from overread.phantom.body.shapes import Coordinates, Floats
from overread.pixels.sparse_masks import bounding_slices


def template_box(
    grid: Grid, habitus: Habitus, low: Coordinates, high: Coordinates
) -> Iterator[tuple[Cut, tuple[Floats, Floats, Floats]]]:
    """The part of the arrays that holds a box of the template, and its points in the template.

    It comes a few slices at a time, or not at all where the scan does not reach it.
    """
    corners = habitus.to_patient(np.array(list(itertools.product(*zip(low, high, strict=True)))))
    box = grid.box_between(corners.min(axis=0), corners.max(axis=0))
    for cut in grid.iterate_slabs(box) if box is not None else ():
        yield cut, habitus.to_template(*grid.coordinates(cut))


def bounding_box(mask: NDArray[np.bool_]) -> Cut | None:
    """The smallest part that holds every set voxel; None where there is none."""
    block = bounding_slices(mask)
    return None if block is None else (block[0], block[1], block[2])


def to_outer(outer: Cut, inner: Cut) -> Cut:
    """A part of a part, as a part of the whole."""
    z, y, x = (slice(o.start + i.start, o.start + i.stop) for o, i in zip(outer, inner, strict=True))
    return z, y, x


def to_inner(inner: Cut, outer: Cut) -> Cut:
    """A part of the whole, as a part of the larger part that holds it."""
    z, y, x = (slice(i.start - o.start, i.stop - o.start) for i, o in zip(inner, outer, strict=True))
    return z, y, x


def intersect(one: Cut, other: Cut) -> Cut | None:
    """What two parts share; None where they share nothing."""
    z, y, x = (slice(max(a.start, b.start), min(a.stop, b.stop)) for a, b in zip(one, other, strict=True))
    return None if any(s.start >= s.stop for s in (z, y, x)) else (z, y, x)
