"""Readers that compute (no endpoint): they run in worker processes behind the usual `read`.

Such a reader has `computes = True` and a plain method `compute(request)`, or, where it reads
whole cases,
`compute_reading(case, pictures, seed=…)`. It is made once in this process, for its name, skills and
identity, and once in
each worker from the same arguments. `Pictures` are not pickled: each worker opens the release
itself and applies the same edits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from pydantic import JsonValue

from overread import catalog
from overread.core import (
    Case,
    DrawnMask,
    Finding,
    Mask,
    Pictures,
    Reader,
    Reading,
    Region,
    Release,
    ReleaseRef,
    Reply,
    Request,
    WholeCaseReader,
)
from overread.errors import ReaderError
from overread.runs.reading_files import write_masks
from overread.runs.workers import WorkerPool
from overread.session import mask_file

if TYPE_CHECKING:
    from overread.pixels.edits.altered_pictures import Edit

Masks = Sequence[Any]
"""Masks in the CT's own order, or None: first those of the queries, then those of other steps."""


class ComputingReader(Reader, Protocol):
    """A reader that keeps a core or a card busy while it reads."""

    computes: bool
    """True: `compute` is called in a worker, and `read` never."""

    def compute(self, request: Request) -> Reply | DrawnMask:
        """Answer one question, here and now; the same errors as `read`."""


class ComputingWholeReader(Reader, Protocol):
    """A reader of whole cases that keeps a core or a card busy while it reads."""

    computes: bool
    """True: `compute_reading` is called in a worker."""

    def compute_reading(
        self, case: Case, pictures: Pictures, *, seed: int
    ) -> tuple[Reading, Masks]:
        """The reading of one case, and its masks.

        The first masks are those of the case's queries, in their order; more may follow, for
        regions of steps. A `Mask` region of the reading names one by `channel`, its place in that
        list; the file and the number of channels are filled in when the masks are written.
        """


def is_computing(reader: Reader) -> bool:
    """Whether a reader's work belongs into processes of their own."""
    return bool(getattr(reader, "computes", False))


class WorkerReader:
    """A computing reader as the engine sees it: every question is sent to a pool of worker
    processes.
    """

    def __init__(
        self,
        reader: Reader,
        *,
        name: str,
        arguments: Mapping[str, str],
        place: ReleaseRef,
        workers: int,
    ) -> None:
        """`reader` is the one that was made here; `name` is its name in the catalog."""
        self.name = reader.name
        self.skills = reader.skills
        self.identity: Mapping[str, JsonValue] = reader.identity
        self.cached = reader.cached
        self._reader = reader
        self._reader_key = (name, tuple(sorted(arguments.items())), place)
        self._pool = WorkerPool(workers)

    async def read(self, request: Request) -> Reply | DrawnMask:
        """Answer one question in a worker."""
        sent = replace(request, pictures=cast(Any, None), images=dict(request.images))
        edits = _edits_in(request.pictures)
        return cast(
            "Reply | DrawnMask",
            await self._pool.run(_compute_in_worker, self._reader_key, sent, edits),
        )

    async def compute_whole(
        self, case: Case, pictures: Pictures, *, seed: int
    ) -> tuple[Reading, Masks]:
        """Read one whole case in a worker."""
        done = self._pool.run(
            _compute_whole_in_worker, self._reader_key, case, seed, _edits_in(pictures)
        )
        return cast("tuple[Reading, Masks]", await done)

    async def close(self) -> None:
        """Stop the workers and close the reader."""
        self._pool.close()
        await self._reader.close()


ReaderKey = tuple[str, tuple[tuple[str, str], ...], ReleaseRef]


def _edits_in(pictures: Pictures) -> tuple[Edit, ...]:
    """The edits of these pictures, so that another process can apply them again."""
    return tuple(getattr(pictures, "edits", ()))


def _edit_pictures(release: Release, edits: tuple[Edit, ...]) -> Pictures:
    if not edits:
        return release.pictures
    from overread.pixels.edits.altered_pictures import AlteredPictures

    return AlteredPictures(release.pictures, edits)


def _compute_in_worker(
    recipe: ReaderKey, request: Request, edits: tuple[Edit, ...]
) -> Reply | DrawnMask:
    """One question, in a worker."""
    reader, release = _load_reader(recipe)
    return cast(ComputingReader, reader).compute(
        replace(request, pictures=_edit_pictures(release, edits))
    )


def _compute_whole_in_worker(
    recipe: ReaderKey, case: Case, seed: int, edits: tuple[Edit, ...]
) -> tuple[Reading, list[Any]]:
    """One whole case, in a worker; of its masks only what is marked goes back."""
    from overread.pixels.sparse_masks import to_sparse_mask

    reader, release = _load_reader(recipe)
    reading, masks = cast(ComputingWholeReader, reader).compute_reading(
        case, _edit_pictures(release, edits), seed=seed
    )
    return reading, [None if mask is None else to_sparse_mask(mask) for mask in masks]


@lru_cache(maxsize=1)
def _load_reader(recipe: ReaderKey) -> tuple[Reader, Release]:
    name, arguments, place = recipe
    make = catalog.find("readers", name)
    return make(dict(arguments), place=place), place.open()


# ---- whole readings and their masks --------------------------------------------------------


async def read_whole_case(
    reader: Reader, case: Case, pictures: Pictures, *, seed: int
) -> tuple[Reading, Masks | None]:
    """What a reader of whole cases makes of one; masks only where they are its own to be written.

    A computing reader that was handed in ready-made, and cannot be made again elsewhere, computes
    in a thread here.
    """
    in_a_worker = getattr(reader, "compute_whole", None)  # of `Computed`, or of one that was lent
    if in_a_worker is not None:
        return cast("tuple[Reading, Masks]", await in_a_worker(case, pictures, seed=seed))
    if is_computing(reader) and hasattr(reader, "compute_reading"):
        own = cast(ComputingWholeReader, reader)
        return await asyncio.to_thread(own.compute_reading, case, pictures, seed=seed)
    return await cast(WholeCaseReader, reader).reading(case, pictures, seed=seed), None


def store_masks(
    folder: Path, case: Case, pictures: Pictures, reading: Reading, masks: Masks
) -> Reading:
    """Write the masks of a whole reading into its run, and have its regions name their files.

    Masks of queries go to the file that is handed in; those of other steps to one beside it. A
    finding that answers a query is given its mask where it names no region.
    """
    asked = len(case.queries)
    more = len(masks) - asked
    file = mask_file(case.id, reading.sample)
    beside = file.replace(".nii.gz", "+1.nii.gz")
    order = {query.id: number for number, query in enumerate(case.queries)}

    def with_file(region: Region) -> Region:
        if not isinstance(region, Mask):
            return region
        if not 0 <= region.channel < len(masks):
            raise ReaderError(f"a region names mask {region.channel} of {len(masks)}")
        own = region.channel < asked
        changes = {
            "file": file if own else beside,
            "channel": region.channel if own else region.channel - asked,
            "channels": asked if own else more,
        }
        return region.model_copy(update=changes)

    def with_query_mask(finding: Finding) -> Finding:
        regions = finding.regions
        number = order.get(finding.query or "", len(masks))
        if not regions and number < len(masks) and masks[number] is not None:
            regions = (Mask(picture=case.pictures[0].name, file=file, channel=number),)
        return finding.model_copy(update={"regions": tuple(map(with_file, regions))})

    changes: dict[str, Any] = {}
    if reading.findings:
        changes["findings"] = tuple(map(with_query_mask, reading.findings))
    if reading.trace:
        steps = tuple(
            step.model_copy(update={"regions": tuple(map(with_file, step.regions))})
            for step in reading.trace.steps
        )
        changes["trace"] = reading.trace.model_copy(update={"steps": steps})
    if asked and masks:
        drawn = {query.id: mask for query, mask in zip(case.queries, masks, strict=False)}
        write_masks(folder / file, case, pictures, drawn)
    if more > 0:
        _write_step_masks(folder / beside, case, pictures, masks[asked:])
    return reading.model_copy(update=changes)


def _write_step_masks(path: Path, case: Case, pictures: Pictures, masks: Masks) -> None:
    import numpy as np

    from overread.pixels.masks import write_mask

    space = pictures.geometry(case.pictures[0])
    blank = np.zeros(space.shape, np.uint8)
    channels = [blank if mask is None else np.asarray(mask).astype(np.uint8) for mask in masks]
    if any(channel.shape != space.shape for channel in channels):
        raise ReaderError(f"a mask was drawn that does not fit a CT of shape {space.shape}")
    write_mask(path, channels, np.asarray(space.affine))
