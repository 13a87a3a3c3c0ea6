"""Mask files: one channel a finding, one value an entity, in the CT's own voxel order.

The official order is (findings, H, W, D). Two variants are seen in the wild: (H, W, D) where
there is one finding, and (H, W, D, findings). NIfTI stores arrays in Fortran order, so in the
official one the findings are interleaved voxel by voxel; channels are picked out of the stream
as it goes by, and the whole array never exists.

Entities are the values the annotator drew. They are not connected components, and nothing here
makes one into the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from overread.errors import PictureError, Refused
from overread.pixels.bytestream import open_stream
from overread.pixels.geometry import Array
from overread.pixels.metaimage import write_voxels
from overread.pixels.nifti import MAX_BYTES, NiftiHeader, header_bytes, read_header, read_stream_header
from overread.storage.atomic import open_atomic

Layout = Literal["FHWD", "HWD", "HWDF"]
Shape = tuple[int, int, int]

_CHUNK = 3 << 20


def detect_layout(shape: tuple[int, ...], ct: Shape, findings: int, *, where: str) -> Layout:
    """Which of the three orders a mask file uses, told from the CT's shape.

    >>> detect_layout((2, 64, 64, 30), (64, 64, 30), 2, where="m.nii.gz")
    'FHWD'
    >>> detect_layout((64, 64, 30), (64, 64, 30), 1, where="m.nii.gz")
    'HWD'
    """
    if shape == (findings, *ct):
        return "FHWD"
    if shape == (*ct, findings):
        return "HWDF"
    if shape == ct and findings == 1:
        return "HWD"
    raise PictureError(
        f"a mask of shape {shape} does not fit {findings} finding(s) of a CT of shape {ct}",
        where=where,
        remedy=f"expected {(findings, *ct)}",
    )


def read_channel(
    source: Path | bytes, channel: int, ct: Shape, findings: int, *, name: str = ""
) -> NDArray[np.integer[Any]]:
    """The entity labels of one finding as an (H, W, D) array; 0 is background."""
    header = read_header(source, name=name)
    where = name or "a mask"
    kind = detect_layout(header.shape, ct, findings, where=where)
    if not 0 <= channel < findings:
        raise PictureError(f"channel {channel} was asked of {findings}", where=where)
    voxels = math.prod(ct)
    if voxels * 4 > MAX_BYTES:
        raise Refused(f"a mask of {voxels:,} voxels is more than overread reads", where=where)
    out: NDArray[Any] = np.zeros(voxels, dtype=np.uint8 if header.dtype == np.uint8 else np.int32)
    for first, values in _iter_labels(source, header, where=where):
        if not values.any():
            continue
        if kind == "FHWD":
            begin = -(first - channel) % findings
            part = values[begin::findings]
            at = (first + begin) // findings
        else:
            base = channel * voxels if kind == "HWDF" else 0
            low, high = max(first, base), min(first + len(values), base + voxels)
            if low >= high:
                continue
            part = values[low - first : high - first]
            at = low - base
        out[at : at + len(part)] = part
    if out.dtype != np.uint8 and out.max(initial=0) <= 255:
        out = out.astype(np.uint8)
    return out.reshape(ct, order="F")


def count_voxels(source: Path | bytes, ct: Shape, findings: int, *, name: str = "") -> list[dict[int, int]]:
    """For each finding: entity label → voxels. One pass, a few megabytes of memory."""
    header = read_header(source, name=name)
    where = name or "a mask"
    kind = detect_layout(header.shape, ct, findings, where=where)
    voxels = math.prod(ct)
    counts: list[dict[int, int]] = [{} for _ in range(findings)]
    for first, values in _iter_labels(source, header, where=where):
        if not values.any():
            continue
        if kind == "FHWD":
            parts = [(f, values[-(first - f) % findings :: findings]) for f in range(findings)]
        elif kind == "HWDF":
            edges = range(first // voxels, (first + len(values) - 1) // voxels + 1)
            parts = [(f, values[max(0, f * voxels - first) : (f + 1) * voxels - first]) for f in edges]
        else:
            parts = [(0, values)]
        for finding, part in parts:
            labels, sizes = np.unique(part[part != 0], return_counts=True)
            for label, size in zip(labels.tolist(), sizes.tolist(), strict=True):
                counts[finding][int(label)] = counts[finding].get(int(label), 0) + int(size)
    return counts


def write_mask(path: Path, channels: Sequence[NDArray[np.integer[Any]]], affine: NDArray[np.float64]) -> None:
    """Write findings in the official order (findings, H, W, D), uint8, with the CT's affine."""
    if not channels:
        raise PictureError("a mask needs at least one finding", where=str(path))
    shape = channels[0].shape
    for labels in channels:
        if labels.shape != shape or labels.min(initial=0) < 0 or labels.max(initial=0) > 255:
            raise PictureError(
                "the findings of a mask share one shape and have labels from 0 to 255", where=str(path)
            )
    with open_atomic(path) as out:
        out.write(header_bytes((len(channels), *shape), np.uint8, affine))
        for k in range(shape[2]):
            slab = np.stack([labels[..., k] for labels in channels]).astype(np.uint8)
            out.write(slab.tobytes(order="F"))


def copy_as_metaimage(source: Path, path: Path, affine: NDArray[np.float64]) -> None:
    """A mask file in the official order as .mha: the findings are the channels of a voxel.

    Both store the findings of a voxel side by side, so the bytes go over as they are.
    """
    header = read_header(source, name=source.name)

    def chunks() -> Iterator[bytes]:
        with open_stream(source, name=source.name) as stream:
            read_stream_header(stream)
            left = header.size
            while left:
                size = min(left, _CHUNK)
                yield stream.read(size)
                left -= size
            stream.finish()

    shape = header.shape if header.shape[0] > 1 else header.shape[1:]
    write_voxels(path, shape, header.dtype, affine, chunks())


def _iter_labels(source: Path | bytes, header: NiftiHeader, *, where: str) -> Iterator[tuple[int, Array]]:
    """(index of the first value, values) chunk by chunk, checked to be labels."""
    item = header.dtype.itemsize
    total = math.prod(header.shape)
    buffer = bytearray(_CHUNK // item * item)
    with open_stream(source, name=where) as stream:
        read_stream_header(stream)
        done = 0
        while done < total:
            size = min(len(buffer), (total - done) * item)
            view = memoryview(buffer)[:size]
            stream.fill(view)
            yield done, as_labels(np.frombuffer(view, dtype=header.dtype), header, where=where)
            done += size // item
        stream.finish()


def as_labels(raw: Array, header: NiftiHeader, *, where: str) -> Array:
    """Stored values as labels; a mask that holds anything else is not a mask."""
    if raw.dtype == np.uint8 and not header.is_scaled:
        return raw
    values = raw.astype(np.float64) * header.slope + header.intercept
    with np.errstate(invalid="ignore"):
        whole = np.isfinite(values) & (values == np.rint(values)) & (values >= 0)
    if not whole.all() or values.max(initial=0) > 65535:
        bad = float(values[~whole][0]) if not whole.all() else float(values.max())
        raise PictureError(
            f"the mask holds the value {bad:g}", where=where, remedy="masks hold entity numbers: 0, 1, 2, …"
        )
    return values.astype(np.int32)


def cast_to_bytes(raw: Array, header: NiftiHeader) -> NDArray[np.uint8]:
    """Stored values as the official scorer takes them: scaled, then cast to uint8 without a check.

    256 and 0.6 become 0, and −1 becomes 255. What becomes of NaN, and of floats far out, is up to the
    processor.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        values = raw.astype(np.float64) * header.slope + header.intercept if header.is_scaled else raw
        return values.astype(np.uint8)
