"""Mask files as runs: stretches of voxels with one label along the first stored axis.

The official files interleave their findings voxel by voxel, so every finding must be gone
through; but where two bytes of one finding are equal there is nothing to see. The stream is
inflated into one buffer that is used again and again, parts that hold only zeros are passed over,
and one XOR with the byte of the same finding before it leaves the places where runs begin and
end, of all findings at once. The array itself never exists.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from overread.errors import PictureError, Refused
from overread.pixels.bytestream import ByteStream, open_stream
from overread.pixels.masks import Shape, as_labels, cast_to_bytes, detect_layout
from overread.pixels.nifti import MAX_BYTES, NiftiHeader, read_stream_header

Ints = NDArray[Any]
"""Whole numbers, of 32 bits where these are enough."""

CHUNK = 3 << 20
"""Bytes that are inflated at once."""
BLOCK = 4096
"""Bytes that are looked at together when zeros are passed over."""
MAX_RUNS = 10_000_000
"""More than this is noise, and would take gigabytes."""


@dataclass(frozen=True)
class VoxelRuns:
    """The runs of one finding, in the order of the file.

    A run lies in one row: voxels `start` to `stop` (excluded), counted through the volume with
    the first axis running fastest.
    """

    shape: Shape
    start: Ints
    stop: Ints
    label: Ints
    """The entity of each run; 1 throughout where labels do not matter."""

    def __len__(self) -> int:
        return len(self.start)

    @property
    def voxels(self) -> int:
        """How many voxels they hold together."""
        return int((self.stop - self.start).sum(dtype=np.int64))

    @property
    def row(self) -> Ints:
        """The row of each run, counted with the second axis running fastest."""
        return self.start // self.shape[0]

    def select(self, which: NDArray[Any]) -> VoxelRuns:
        """Some of the runs."""
        return VoxelRuns(self.shape, self.start[which], self.stop[which], self.label[which])

    def join_touching(self) -> tuple[VoxelRuns, Ints]:
        """The runs whatever their label, touching ones made one; and where each run went.

        >>> ends = np.array([0, 2, 5]), np.array([2, 4, 6])
        >>> runs, into = VoxelRuns((8, 1, 1), *ends, label=np.array([1, 2, 1])).join_touching()
        >>> runs.start.tolist(), runs.stop.tolist(), into.tolist()
        ([0, 5], [4, 6], [0, 0, 1])
        """
        first = np.ones(len(self), dtype=bool)
        first[1:] = (self.start[1:] != self.stop[:-1]) | (self.start[1:] % self.shape[0] == 0)
        into = np.cumsum(first) - 1
        last = np.ones(len(self), dtype=bool)
        last[:-1] = first[1:]
        begin, end = self.start[first], self.stop[last]
        return VoxelRuns(self.shape, begin, end, np.ones_like(begin)), into


class MaskFile(NamedTuple):
    """What a mask file holds."""

    runs: list[VoxelRuns]
    """The runs of each finding."""
    plain: bool
    """Whether it is stored as the official files are: (findings, H, W, D), unscaled bytes."""


def unite_masks(parts: Sequence[VoxelRuns]) -> VoxelRuns:
    """What is in any of several masks, whatever the labels.

    >>> parts = [VoxelRuns((9, 1, 1), *np.array([[0, 5], [4, 6]]), label=np.array([1, 1]))] * 2
    >>> unite_masks(parts).start.tolist(), unite_masks(parts).voxels
    ([0, 5], 5)
    """
    if len(parts) == 1:
        return parts[0]
    begin = np.concatenate([runs.start for runs in parts])
    order = np.argsort(begin, kind="stable")
    begin = begin[order]
    reach = np.maximum.accumulate(np.concatenate([runs.stop for runs in parts])[order])
    # Runs keep to their rows, so one that begins a row begins behind all others.
    first = np.ones(len(begin), dtype=bool)
    first[1:] = begin[1:] >= reach[:-1]
    last = np.append(first[1:], np.ones(min(1, len(begin)), dtype=bool))
    return VoxelRuns(parts[0].shape, begin[first], reach[last], np.ones_like(begin[first]))


def read_runs(
    source: Path | bytes,
    ct: Shape,
    findings: int,
    *,
    name: str = "",
    binary: bool = False,
    chunk: int = CHUNK,
) -> list[VoxelRuns]:
    """The runs of every finding of a mask file, as `read_mask_file` reads it."""
    return read_mask_file(source, ct, findings, name=name, binary=binary, chunk=chunk).runs


def read_mask_file(
    source: Path | bytes,
    ct: Shape,
    findings: int,
    *,
    name: str = "",
    binary: bool = False,
    official: bool = False,
    chunk: int = CHUNK,
) -> MaskFile:
    """The runs of every finding of a mask file, which is read once and to its end.

    With `binary` any label counts as 1. Raises what `overread.pixels.masks` raises: a wrong
    shape, a value that is no label, a damaged or cut file.

    `official` reads as the official scorer does: only (findings, H, W, D) will do, every value is
    cast to uint8 whatever comes of it, and what follows the last voxel is not looked at.
    """
    with open_stream(source, name=name) as stream:
        header = read_stream_header(stream)
        where = name or "a mask"
        kind = detect_layout(header.shape, ct, findings, where=where)
        if kind == "HWD" and stream.is_metaimage:
            kind = "FHWD"  # .mha has no way to say that there is one channel: the voxels are the same
        if official and kind != "FHWD":
            raise PictureError(
                f"the mask has the shape {header.shape}, not {(findings, *ct)}",
                where=where,
                remedy="write one channel for each finding, then the CT's own array",
            )
        voxels = math.prod(ct)
        if voxels * 4 > MAX_BYTES:
            raise Refused(f"a mask of {voxels:,} voxels is more than overread reads", where=where)
        step = findings if kind == "FHWD" else 1
        plain = header.dtype == np.uint8 and not header.is_scaled
        if plain:
            changes = _byte_changes(stream, header, step, chunk)
        else:
            changes = _label_changes(stream, header, step, chunk, cast=official)
        places, labels = _collect_changes(changes, header, where=where)
        if not official:
            stream.finish()
    if kind == "FHWD":
        at = places // findings
        channels = places - at * findings
    else:
        # Findings lie behind each other: a run that goes on into the next one is cut below.
        channels, at = np.zeros(len(places), dtype=np.int32), places
    if binary:
        labels = (labels != 0).astype(np.uint8)
    volume = voxels * (findings if kind == "HWDF" else 1)
    parts = [channels == channel for channel in range(step)]
    runs = [_runs_from_changes(ct, at[part], labels[part], volume) for part in parts]
    if kind == "HWDF":
        runs = _split_findings(runs[0], findings)
    return MaskFile(runs, plain=plain and kind == "FHWD")


def _collect_changes(
    changes: Iterator[tuple[Ints, NDArray[Any]]], header: NiftiHeader, *, where: str
) -> tuple[Ints, NDArray[Any]]:
    """Where values change in the whole file, and what they change to."""
    kind: Any = np.int32 if math.prod(header.shape) < 1 << 31 else np.int64
    places: list[Ints] = [np.empty(0, dtype=kind)]
    labels: list[NDArray[Any]] = [np.empty(0, dtype=np.uint8)]
    count = 0
    for place, label in changes:
        count += len(place)
        if count > 2 * MAX_RUNS:
            raise Refused(
                f"the mask falls into more than {MAX_RUNS:,} runs of voxels: that is noise",
                where=where,
                remedy="write masks, not scores or random values",
            )
        places.append(place.astype(kind))
        labels.append(label)
    return np.concatenate(places), np.concatenate(labels)


def _byte_changes(
    stream: ByteStream, header: NiftiHeader, step: int, chunk: int
) -> Iterator[tuple[Ints, NDArray[Any]]]:
    """Where a byte differs from the one `step` before it, and its value; chunk by chunk."""
    block = max(8, min(BLOCK, chunk // 8 * 8))
    count = max(1, chunk // block)
    size, pad = count * block, -(-step // 64) * 64
    buffer = np.zeros(pad + size, dtype=np.uint8)
    body, before = buffer[pad:], buffer[pad - step : pad - step + size]
    words = body.view(np.uint64).reshape(count, -1)
    filled = np.zeros(count, dtype=np.uint64)
    busy, live = np.zeros(count + 1, dtype=bool), np.zeros(count + 2, dtype=bool)
    changed = np.empty(size, dtype=np.uint8)
    flags = np.empty(size // 8, dtype=bool)
    for done in range(0, header.size, size):
        there = min(size, header.size - done)
        stream.fill(body.data[:there])
        body[there:] = 0
        np.bitwise_or.reduce(words, axis=1, out=filled)
        np.not_equal(filled, 0, out=busy[1:])
        busy[0] = buffer[pad - step : pad].any()
        # A run may end with the first byte of a block that is empty otherwise.
        np.logical_or(busy[1:], busy[:-1], out=live[1:-1])
        stretches = np.flatnonzero(live[1:] != live[:-1]).reshape(-1, 2)
        if len(stretches):
            used = 0
            for first, last in stretches.tolist():
                part = slice(first * block, last * block)
                stop = used + (last - first) * block
                np.bitwise_xor(body[part], before[part], out=changed[used:stop])
                used = stop
            eights = changed[:used].view(np.uint64)
            hit = np.flatnonzero(np.not_equal(eights, 0, out=flags[: used // 8]))
            inside = np.flatnonzero(eights[hit].view(np.uint8) != 0)
            flat = hit[inside >> 3] * 8 + (inside & 7)
            place = np.flatnonzero(live[1:-1])[flat // block] * block + flat % block
            place = place[place < there]
            yield place + done, body[place]
        buffer[pad - step : pad] = buffer[pad + size - step :][:step]


def _label_changes(
    stream: ByteStream, header: NiftiHeader, step: int, chunk: int, *, cast: bool
) -> Iterator[tuple[Ints, NDArray[Any]]]:
    """As `_byte_changes`, for files of any other type; every value is checked to be a label, or
    cast to one.
    """
    item = header.dtype.itemsize
    count = max(1, chunk // item)
    buffer = bytearray(count * item)
    total = math.prod(header.shape)
    values = np.zeros(step + count, dtype=np.uint16)
    for done in range(0, total, count):
        there = min(count, total - done)
        view = memoryview(buffer)[: there * item]
        stream.fill(view)
        raw = np.frombuffer(view, dtype=header.dtype)
        empty = not header.is_scaled and not np.frombuffer(view, dtype=np.uint8).any()
        values[step:] = 0
        if not empty:
            values[step : step + there] = (
                cast_to_bytes(raw, header) if cast else as_labels(raw, header, where=stream.name)
            )
        if not empty or values[:step].any():
            place = np.flatnonzero(values[step : step + there] != values[:there])
            yield place + done, values[step + place]
        values[:step] = values[there : there + step].copy()


def _runs_from_changes(ct: Shape, at: Ints, labels: NDArray[Any], volume: int) -> VoxelRuns:
    """Runs of one finding from the changes of its values."""
    real = np.ones(len(at), dtype=bool)
    real[:1] = labels[:1] != 0
    real[1:] = labels[1:] != labels[:-1]
    at, labels = at[real], labels[real]
    begins = np.flatnonzero(labels)
    stop = np.append(at[1:], volume)[begins]
    kind: Any = np.int32 if volume < 1 << 30 else np.int64
    begin, end = at[begins].astype(kind), stop.astype(kind)
    label = labels[begins].astype(np.int32)
    row, last = begin // ct[0], (end - 1) // ct[0]
    if not np.array_equal(row, last):
        # Runs that go on in the next row are cut at its beginning.
        rows = (last - row + 1).astype(np.int64)
        within = np.arange(rows.sum()) - np.repeat(np.cumsum(rows) - rows, rows)
        at_row = (np.repeat(row, rows) + within) * ct[0]
        begin = np.maximum(np.repeat(begin, rows), at_row).astype(kind)
        end = np.minimum(np.repeat(end, rows), at_row + ct[0]).astype(kind)
        label = np.repeat(label, rows)
    return VoxelRuns(ct, begin, end, label)


def _split_findings(runs: VoxelRuns, findings: int) -> list[VoxelRuns]:
    """Runs of findings that lie behind each other, each counted from its own first voxel."""
    voxels = math.prod(runs.shape)
    edges = np.searchsorted(runs.start, np.arange(findings + 1) * voxels)
    kind: Any = np.int32 if voxels < 1 << 30 else np.int64
    found = []
    for channel in range(findings):
        part = slice(edges[channel], edges[channel + 1])
        begin = (runs.start[part] - channel * voxels).astype(kind)
        end = (runs.stop[part] - channel * voxels).astype(kind)
        found.append(VoxelRuns(runs.shape, begin, end, runs.label[part]))
    return found
