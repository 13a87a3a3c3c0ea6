"""Which pictures a case shows: drawn before anybody knows the true diagnosis.

Every time point has at least two axial slices in the lung window and one in the mediastinal one, so
that whatever the diagnosis is, it can be seen; a bone window is there where one of the five options
asks for it, whether it is the true one or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from overread.phantom.film.sign import View
from overread.phantom.illness.draft import PictureSpec

MIN_PICTURES, MAX_PICTURES = 3, 9
"""How many pictures a case has; with two time points at least twice the fewest."""

_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"

_Slice = tuple[str, str]
_REQUIRED_SLICES: tuple[_Slice, ...] = (("axial", "lung"), ("axial", "lung"), ("axial", "mediastinum"))
_EXTRA_SLICES: tuple[tuple[_Slice, float], ...] = (
    (("axial", "lung"), 0.36),
    (("axial", "mediastinum"), 0.2),
    (("coronal", "lung"), 0.2),
    (("coronal", "mediastinum"), 0.08),
    (("sagittal", "lung"), 0.1),
    (("sagittal", "mediastinum"), 0.06),
)
_EXTRA_STEPS = np.cumsum([share for _, share in _EXTRA_SLICES])


def draw_pictures(
    rng: np.random.Generator, films: tuple[View, ...], windows: Iterable[str], *, times: int
) -> tuple[PictureSpec, ...]:
    """The pictures of a case, those of the first time point first.

    `films` are the views that were taken of this patient; `windows` what else the options need.
    """
    number = int(rng.integers(MIN_PICTURES * times, MAX_PICTURES + 1))
    kept: list[list[View | _Slice]] = [list(_REQUIRED_SLICES) for _ in range(times)]
    kept[0] += [("axial", window) for window in sorted(set(windows))]
    spare = number - sum(map(len, kept))
    shown = [view for view in films if rng.random() < 0.75]
    for time in range(times):
        # A second film is rarer than the first.
        for view in shown if time == 0 or rng.random() < 0.6 else ():
            if spare > 0:
                kept[time].append(view)
                spare -= 1
    while spare > 0:
        which = int(np.searchsorted(_EXTRA_STEPS, rng.random() * _EXTRA_STEPS[-1]))
        kept[int(rng.random() * times)].append(_EXTRA_SLICES[min(which, len(_EXTRA_SLICES) - 1)][0])
        spare -= 1
    ids = _draw_ids(rng, sum(map(len, kept)))
    return tuple(
        _make_picture(next(ids), time, one)
        for time in range(times)
        for one in _shuffle_pictures(rng, kept[time])
    )


def _shuffle_pictures(rng: np.random.Generator, kept: list[View | _Slice]) -> list[View | _Slice]:
    """By lot; films usually before CT."""
    first = rng.random() < 0.8
    lots = [(first and isinstance(one, tuple), rng.random()) for one in kept]
    return [kept[n] for n in sorted(range(len(kept)), key=lots.__getitem__)]


def _draw_ids(rng: np.random.Generator, number: int) -> Iterator[str]:
    """Ids by lot, none of them twice."""
    made: dict[str, None] = {}
    while len(made) < number:
        made["".join(_LETTERS[n] for n in rng.integers(0, len(_LETTERS), 8))] = None
    return iter(made)


def _make_picture(name: str, time: int, one: View | _Slice) -> PictureSpec:
    if isinstance(one, tuple):
        return PictureSpec.model_validate({"id": name, "time": time, "plane": one[0], "window": one[1]})
    return PictureSpec(id=name, time=time, view=one)
