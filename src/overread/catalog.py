"""Name → object: every part that can be picked by name, in literal tables.

A part is one line here, ``"name": "module:object"``, and nothing is imported before it is
asked for. Other packages add parts through entry points of the group ``overread.<kind>``
(for example ``overread.benchmarks``); a name of ours cannot be taken over by them.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Literal

from overread.errors import UnknownName, UsageError

Kind = Literal["benchmarks", "readers", "workflows", "metrics"]

TABLES: dict[Kind, dict[str, str]] = {
    "benchmarks": {
        "medthinkvqa": "overread.benchmarks.medthinkvqa:BENCHMARK",
        "rexgroundingct": "overread.benchmarks.rexgroundingct:BENCHMARK",
        "mmrad": "overread.benchmarks.mmrad:BENCHMARK",
    },
    "readers": {},
    "workflows": {},
    "metrics": {},
}


def names(kind: Kind) -> list[str]:
    """All names of a kind, ours first, then those that other packages bring."""
    ours = TABLES[kind]
    theirs = {point.name for point in entry_points(group=f"overread.{kind}")}
    return [*ours, *sorted(theirs - ours.keys())]


def find(kind: Kind, name: str) -> Any:
    """The object of that name, imported now.

    >>> find("benchmarks", "medthinkvqa").name
    'medthinkvqa'
    >>> find("benchmarks", "medthink")
    Traceback (most recent call last):
        ...
    overread.errors.UnknownName: no benchmark is called 'medthink': did you mean 'medthinkvqa'?
    """
    target = TABLES[kind].get(name)
    if target is None:
        for point in entry_points(group=f"overread.{kind}"):
            if point.name == name:
                return _loaded(kind, name, point.value)
        raise unknown(kind.removesuffix("s"), name, names(kind))
    return _loaded(kind, name, target)


def unknown(what: str, name: str, known: Iterable[str]) -> UnknownName:
    """The error for a name that is not among the known ones, with the nearest of them."""
    choices = list(known)
    near = difflib.get_close_matches(name, choices, n=1, cutoff=0.5)
    folded = [choice for choice in choices if choice.casefold() == name.casefold()]
    if folded or near:
        remedy = f"did you mean '{(folded or near)[0]}'?"
    elif choices:
        shown = ", ".join(choices[:12]) + (", …" if len(choices) > 12 else "")
        remedy = f"there are {shown}"
    else:
        remedy = "there are none yet"
    return UnknownName(f"no {what} is called '{name}'", remedy=remedy)


def _loaded(kind: Kind, name: str, target: str) -> Any:
    module, _, attribute = target.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"the {kind.removesuffix('s')} '{name}' cannot be loaded from {target} ({error})",
            remedy="reinstall the package that brings it",
        ) from error
