"""Base classes of readers that make whole readings without a workflow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from overread.core import Case, Finding, Mask, Pictures, Reader, Reading, ReleaseRef
from overread.errors import NotThere, UsageError
from overread.pixels.masks import write_mask

Voxels = NDArray[np.bool_]
DrawMasks = Callable[[], Sequence[NDArray[Any]]]
"""Draws the masks of a case, one for each sentence, when they are asked for."""


class WholeCaseBase(Reader):
    """A reader of whole cases; those who inherit write `reading`, or `compute_reading`."""

    skills = frozenset({"whole"})

    def __init__(self, name: str, identity: Mapping[str, JsonValue]) -> None:
        """`identity` is everything that changes what it hands in."""
        self.name = name
        self.identity = identity


class LazyMaskBase(WholeCaseBase):
    """A reader of whole cases whose masks are computed only when `source` asks for them."""

    def __init__(self, name: str, identity: Mapping[str, JsonValue]) -> None:
        """`identity` is everything that changes what it hands in."""
        super().__init__(name, identity)
        self._drawings: dict[str, tuple[NDArray[np.float64], DrawMasks]] = {}

    def source(self, file: str) -> bytes:
        """The mask file of a reading, drawn now; it can be had once."""
        try:
            affine, draw = self._drawings.pop(file)
        except KeyError:
            raise NotThere(f"there is no file {file}") from None
        with TemporaryDirectory() as scratch:
            path = Path(scratch, "mask.nii.gz")
            write_mask(path, [mask.astype(np.uint8) for mask in draw()], affine)
            return path.read_bytes()

    def _mask_reading(self, case: Case, pictures: Pictures, draw: DrawMasks, *, seed: int) -> Reading:
        """A reading of masks alone, one for each sentence of the case."""
        file = f"{case.id}-{seed}.nii.gz"
        volume = case.pictures[0]
        self._drawings[file] = np.asarray(pictures.geometry(volume).affine), draw
        count = len(case.queries)
        findings = tuple(
            Finding(
                text=query.text,
                query=query.id,
                regions=(Mask(picture=volume.name, file=file, channel=channel, channels=count),),
            )
            for channel, query in enumerate(case.queries)
        )
        return Reading(case_id=case.id, reader=self.name, findings=findings)


def require_release(place: ReleaseRef | None, name: str) -> ReleaseRef:
    """The place of the release, for readers that cannot do without."""
    if place is None:
        raise UsageError(f"the reader '{name}' needs a release to open")
    return place
