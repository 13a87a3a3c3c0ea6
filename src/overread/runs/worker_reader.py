"""Readers that compute (no endpoint) run in worker processes behind the usual `read`.

Such a reader is made once in this process, for its name, skills and identity, and once in each
worker from the same arguments. `Pictures` are not pickled: each worker opens the release itself and
applies the same edits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from overread.core import (
    Case,
    DrawnMask,
    Finding,
    Mask,
    Masks,
    Pictures,
    Reader,
    Reading,
    Region,
    Release,
    ReleaseRef,
    Reply,
    Request,
    WrappedReader,
    make_reader,
)
from overread.errors import ReaderError
from overread.runs.reading_files import write_masks
from overread.runs.workers import WorkerPool
from overread.session import mask_file

if TYPE_CHECKING:
    from overread.pixels.edits.altered_pictures import Edit


class WorkerReader(WrappedReader):
    """A computing reader whose questions and cases are sent to a pool of worker processes."""

    def __init__(
        self, reader: Reader, *, name: str, arguments: Mapping[str, str], place: ReleaseRef, workers: int
    ) -> None:
        """`reader` is the one that was made here; `name` is its name in the catalog."""
        super().__init__(reader)
        self._reader_key = (name, tuple(sorted(arguments.items())), place)
        self._pool = WorkerPool(workers)

    async def read(self, request: Request) -> Reply | DrawnMask:
        """Answer one question in a worker."""
        sent = replace(request, pictures=cast(Any, None), images=dict(request.images))
        edits = _edits_in(request.pictures)
        return cast(
            "Reply | DrawnMask", await self._pool.run(_compute_in_worker, self._reader_key, sent, edits)
        )

    async def read_whole(self, case: Case, pictures: Pictures, *, seed: int) -> tuple[Reading, Masks]:
        """Read one whole case in a worker."""
        done = self._pool.run(_compute_whole_in_worker, self._reader_key, case, seed, _edits_in(pictures))
        return cast("tuple[Reading, Masks]", await done)

    async def close(self) -> None:
        """Stop the workers and close the reader."""
        self._pool.close()
        await super().close()


ReaderKey = tuple[str, tuple[tuple[str, str], ...], ReleaseRef]


def _edits_in(pictures: Pictures) -> tuple[Edit, ...]:
    """The edits of these pictures, so that another process can apply them again."""
    return tuple(getattr(pictures, "edits", ()))


def _edit_pictures(release: Release, edits: tuple[Edit, ...]) -> Pictures:
    if not edits:
        return release.pictures
    from overread.pixels.edits.altered_pictures import AlteredPictures

    return AlteredPictures(release.pictures, edits)


def _compute_in_worker(recipe: ReaderKey, request: Request, edits: tuple[Edit, ...]) -> Reply | DrawnMask:
    """One question, in a worker."""
    reader, release = _load_reader(recipe)
    return reader.compute(replace(request, pictures=_edit_pictures(release, edits)))


def _compute_whole_in_worker(
    recipe: ReaderKey, case: Case, seed: int, edits: tuple[Edit, ...]
) -> tuple[Reading, list[Any]]:
    """One whole case, in a worker; of its masks only what is marked goes back."""
    from overread.pixels.sparse_masks import to_sparse_mask

    reader, release = _load_reader(recipe)
    pictures = _edit_pictures(release, edits)
    reading, masks = reader.compute_reading(case, pictures, seed=seed)
    return reading, [None if mask is None else to_sparse_mask(mask) for mask in masks]


@lru_cache(maxsize=1)
def _load_reader(recipe: ReaderKey) -> tuple[Reader, Release]:
    name, arguments, place = recipe
    return make_reader(name, dict(arguments), place), place.open()


# ---- the masks of whole readings ----------------------------------------------------------


def store_masks(folder: Path, case: Case, pictures: Pictures, reading: Reading, masks: Masks) -> Reading:
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
