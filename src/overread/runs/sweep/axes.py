"""What a sweep varies: axes of values, and the points of their cross product."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from overread import catalog
from overread.core import make_reader
from overread.errors import UnknownName, UsageError
from overread.runs.engine import RunPlan
from overread.runs.settings import session_settings
from overread.session import SessionSettings

NONE = "none"
"""What a setting of several words is called where it has none of them."""


@dataclass(frozen=True)
class Axis:
    """One thing that is varied: a setting of the session, the workflow, or a reader's argument."""

    name: str
    values: tuple[str, ...]

    @property
    def numbers(self) -> tuple[float, ...] | None:
        """The values as numbers, where they all are some."""
        try:
            return tuple(map(float, self.values))
        except ValueError:
            return None


@dataclass(frozen=True)
class SweepPoint:
    """One run of a sweep."""

    values: Mapping[str, str]
    """Axis → its value here."""
    plan: RunPlan

    @property
    def name(self) -> str:
        """What it is called, in tables and pictures."""
        return ", ".join(f"{axis}={value}" for axis, value in self.values.items())

    @property
    def folder(self) -> str:
        """Its folder within that of the sweep: the name, as far as folders may be called so."""
        name = self.name.replace(", ", ",")
        plain = re.sub(r"[^A-Za-z0-9_.,=+-]+", "-", name)[:100]
        if plain == name:
            return plain
        return f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"


def parse_axes(words: Sequence[str]) -> tuple[Axis, ...]:
    """Axes as they are typed.

    >>> parse_axes(["image_ratio=0,50,100"])
    (Axis(name='image_ratio', values=('0', '50', '100')),)
    """
    axes: list[Axis] = []
    for word in words:
        name, equals, text = word.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            # The word itself is not repeated: it may be a key that was pasted.
            raise UsageError("a --vary lacks its '='", remedy="write it as --vary NAME=VALUE,VALUE")
        values = tuple(value.strip() for value in text.split(","))
        if not all(values):
            raise UsageError(
                f"--vary {name}=… has an empty value",
                remedy=f"write '{NONE}' for a setting that is to be empty",
            )
        if len(set(values)) < len(values):
            raise UsageError(f"--vary {name}=… names a value twice")
        if name in (axis.name for axis in axes):
            raise UsageError(f"--vary {name}=… was given twice", remedy="name all values in one")
        axes.append(Axis(name, values))
    return tuple(axes)


def make_points(plan: RunPlan, axes: Sequence[Axis], *, fixed: Collection[str] = ()) -> list[SweepPoint]:
    """Every combination of values as a run of its own; the last axis varies fastest.

    `fixed` names the settings that somebody gave for all points. A name that is neither a setting
    nor an argument of the reader is refused, and so is a value that cannot be.
    """
    if not axes:
        raise UsageError("nothing is varied", remedy="add --vary image_ratio=0,50,100")
    session = SessionSettings().as_settings()
    for axis in axes:
        if axis.name in fixed or axis.name in plan.arguments:
            raise UsageError(f"'{axis.name}' is both set and varied", remedy="do one of them")
    theirs = [axis for axis in axes if axis.name not in session and axis.name != "workflow"]
    if theirs:
        _refuse_unknown(plan, theirs, [*session, "workflow"])
    return list(_combine_axes(plan, axes, session))


def _combine_axes(plan: RunPlan, axes: Sequence[Axis], session: Mapping[str, Any]) -> Iterator[SweepPoint]:
    base = plan.settings.as_settings()
    for values in product(*(axis.values for axis in axes)):
        here = dict(zip((axis.name for axis in axes), values, strict=True))
        own = {n: _empty_if_none(v, session[n]) for n, v in here.items() if n in session}
        arguments = {n: v for n, v in here.items() if n not in session and n != "workflow"}
        yield SweepPoint(
            here,
            replace(
                plan,
                settings=session_settings({**base, **own}, between="+"),
                arguments={**plan.arguments, **arguments},
                workflow=here.get("workflow", plan.workflow),
            ),
        )


def _empty_if_none(value: str, usual: object) -> str:
    """'' for the value 'none' where the setting can be empty; otherwise the value as it is."""
    return "" if value == NONE and (usual is None or isinstance(usual, tuple)) else value


def _refuse_unknown(plan: RunPlan, axes: Sequence[Axis], known: Sequence[str]) -> None:
    """Ask the reader itself whether it takes such arguments."""
    what = "setting or reader argument"
    if not isinstance(plan.reader, str):
        raise catalog.unknown_name(what, axes[0].name, known)
    tried = {axis.name: axis.values[0] for axis in axes}
    try:
        made = make_reader(plan.reader, {**plan.arguments, **tried}, plan.release_ref)
    except UnknownName as error:
        name = next((name for name in tried if f"'{name}'" in error.what), None)
        if name is None:
            raise  # one that was given for all points
        # The reader names its own nearest argument: whichever is nearer of the two is meant.
        nearest = re.findall(r"'([^']+)'", error.remedy)
        raise catalog.unknown_name(what, name, [*known, *nearest]) from None
    asyncio.run(made.close())
