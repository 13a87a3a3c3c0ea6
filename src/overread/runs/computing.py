"""Readers that compute: their work is done in processes of their own, behind the same `read`.

A computing reader has `computes = True` and a plain method `compute(request)`. It is made once
here, for its name, skills and identity, and once more in each worker, from the same arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Protocol, cast

from pydantic import JsonValue

from overread import catalog
from overread.core import Drawn, Place, Reader, Release, Reply, Request
from overread.runs.workers import Crew


class ComputingReader(Reader, Protocol):
    """A reader that keeps a core or a card busy while it reads."""

    computes: bool
    """True: `compute` is called in a worker, and `read` never."""

    def compute(self, request: Request) -> Reply | Drawn:
        """Answer one question, here and now; the same errors as `read`."""


def computes(reader: Reader) -> bool:
    """Whether a reader's work belongs into processes of their own."""
    return bool(getattr(reader, "computes", False))


class Computed:
    """A computing reader as everybody else sees it: its questions go to a crew of workers."""

    def __init__(
        self,
        reader: Reader,
        *,
        name: str,
        arguments: Mapping[str, str],
        place: Place,
        workers: int,
    ) -> None:
        """`reader` is the one that was made here; `name` is its name in the catalog."""
        self.name = reader.name
        self.skills = reader.skills
        self.identity: Mapping[str, JsonValue] = reader.identity
        self.cached = reader.cached
        self._reader = reader
        self._recipe = (name, tuple(sorted(arguments.items())), place)
        self._crew = Crew(workers)

    async def read(self, request: Request) -> Reply | Drawn:
        """Answer one question in a worker."""
        # What opens the pictures stays here: the worker opens the release itself.
        sent = replace(request, pictures=cast(Any, None), images=dict(request.images))
        return cast("Reply | Drawn", await self._crew.do(_compute, self._recipe, sent))

    async def close(self) -> None:
        """Send the workers home."""
        self._crew.close()
        await self._reader.close()


Recipe = tuple[str, tuple[tuple[str, str], ...], Place]


def _compute(recipe: Recipe, request: Request) -> Reply | Drawn:
    """One question, in a worker."""
    reader, release = _made(recipe)
    return reader.compute(replace(request, pictures=release.pictures))


@lru_cache(maxsize=1)
def _made(recipe: Recipe) -> tuple[ComputingReader, Release]:
    name, arguments, place = recipe
    make = catalog.find("readers", name)
    return make(dict(arguments), place=place), place.open()
