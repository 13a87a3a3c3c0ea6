"""NIfTI volumes: headers are checked before use, voxels are streamed.

nibabel parses the header; the voxels come through zlib-ng into one buffer, and only as far as
they are asked for. What a header claims is checked against what the file could hold before any
memory is taken.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
from nibabel.spatialimages import HeaderDataError
from numpy.typing import NDArray

from overread.core import Geometry
from overread.errors import PictureError, Refused, Truncated
from overread.pixels.bytestream import REFETCH, ByteStream, open_stream
from overread.pixels.geometry import Array, make_geometry
from overread.storage.atomic import open_atomic

MAX_BYTES = 2 << 30
"""The largest array that is read into memory; a 512×512×2000 CT of int16 takes half of it."""

_TYPES = {2: "u1", 4: "i2", 8: "i4", 16: "f4", 64: "f8", 256: "i1", 512: "u2", 768: "u4"}
_TYPES |= {1024: "i8", 1280: "u8"}
_REWRITE = "write the file again as a single NIfTI-1 file"


@dataclass(frozen=True)
class NiftiHeader:
    """What a NIfTI header says, after it was checked."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    slope: float
    intercept: float
    offset: int
    affine: NDArray[np.float64]

    @property
    def size(self) -> int:
        """Bytes of all voxels as stored."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def is_scaled(self) -> bool:
        """Whether stored values must be scaled to become HU."""
        return (self.slope, self.intercept) != (1.0, 0.0)


def read_header(source: Path | bytes, *, name: str = "") -> NiftiHeader:
    """The header alone: a few hundred bytes are read."""
    with open_stream(source, name=name) as stream:
        return read_stream_header(stream)


def read_geometry(source: Path | bytes, *, name: str = "") -> Geometry:
    """Shape, spacing and orientation of a volume, from its header alone."""
    with open_stream(source, name=name) as stream:
        return _header_geometry(read_stream_header(stream), where=stream.name)


def read_volume(source: Path | bytes, *, name: str = "") -> tuple[Array, Geometry]:
    """All voxels in the file's own axis order, scaled to HU, with their geometry.

    Integers stay integers where the header asks for no scaling; otherwise float32.
    """
    with open_stream(source, name=name) as stream:
        header = read_stream_header(stream)
        space = _header_geometry(header, where=stream.name)
        flat = _read_voxels(stream, header, first=0, count=math.prod(header.shape))
        stream.finish()
    return _scale(flat, header).reshape(space.shape, order="F"), space


def read_slices(source: Path | bytes, first: int, last: int, *, name: str = "") -> Array:
    """Slices `first` to `last` (included) along the last stored axis; the rest is not kept.

    The stream is left as soon as the last one is there, so the head of a scan is cheap.
    """
    with open_stream(source, name=name) as stream:
        header = read_stream_header(stream)
        space = _header_geometry(header, where=stream.name)
        if not 0 <= first <= last < space.shape[2]:
            raise PictureError(f"slices {first} to {last} were asked of {space.shape[2]}", where=stream.name)
        plane = space.shape[0] * space.shape[1]
        flat = _read_voxels(stream, header, first=first * plane, count=(last - first + 1) * plane)
    return _scale(flat, header).reshape((*space.shape[:2], last - first + 1), order="F")


def write_volume(path: Path, volume: Array, affine: NDArray[np.float64]) -> None:
    """Write a volume as NIfTI-1, gzip where the name ends in .gz; the same bytes every time."""
    array = np.asarray(volume)
    with open_atomic(path) as out:
        out.write(header_bytes(array.shape, array.dtype, affine))
        # Slice by slice: a Fortran-order copy of a whole scan would double the memory.
        for k in range(array.shape[-1]):
            out.write(array[..., k].tobytes(order="F"))


def header_bytes(shape: tuple[int, ...], dtype: Any, affine: NDArray[np.float64]) -> bytes:
    """A NIfTI-1 header for an array of that shape, with the affine as its sform."""
    header = nib.Nifti1Header()
    header.set_data_shape(shape)
    header.set_data_dtype(np.dtype(dtype))
    header.set_sform(affine, code=1)
    header.set_qform(affine, code=1, strip_shears=True)
    header.set_xyzt_units("mm")
    header["vox_offset"] = 352
    header["magic"] = b"n+1"
    return bytes(header.binaryblock) + b"\0\0\0\0"


def read_stream_header(stream: ByteStream) -> NiftiHeader:
    """Read and check the header, and leave the stream at the first voxel."""
    first = stream.read(4)
    version = {b"\x5c\x01": 1, b"\x01\x5c": 1, b"\x1c\x02": 2, b"\x02\x1c": 2}.get(
        first[:2] if first[:2] != b"\0\0" else first[2:]
    )
    if version is None:
        raise PictureError("this is not a NIfTI file", where=stream.name, remedy=_REWRITE)
    size = 348 if version == 1 else 540
    block = first + stream.read(size - 4)
    kind = nib.Nifti1Header if version == 1 else nib.Nifti2Header
    try:
        with np.errstate(all="ignore"):
            parsed = kind(block, check=False)
            affine = np.asarray(parsed.get_best_affine(), dtype=np.float64)
    except (HeaderDataError, ValueError, TypeError, KeyError, np.linalg.LinAlgError) as error:
        raise PictureError(
            f"the NIfTI header is damaged ({error})", where=stream.name, remedy=_REWRITE
        ) from None
    header = _check_header(parsed, affine, where=stream.name)
    if header.size > stream.max_bytes:
        raise Truncated(
            f"the header claims {header.size:,} bytes of voxels, the file holds at most {stream.max_bytes:,}",
            where=stream.name,
            remedy=REFETCH,
        )
    stream.skip(header.offset - size, memoryview(bytearray(1 << 16)))
    return header


def _check_header(parsed: Any, affine: NDArray[np.float64], *, where: str) -> NiftiHeader:
    magic = bytes(parsed["magic"].tobytes())
    if not magic.startswith(b"n+"):
        raise PictureError("this NIfTI keeps its voxels in another file", where=where, remedy=_REWRITE)
    count = int(parsed["dim"][0])
    dims = tuple(int(n) for n in parsed["dim"][1 : 1 + max(0, min(count, 7))])
    if not 1 <= count <= 7 or any(n < 1 for n in dims):
        raise PictureError(f"the header gives the dimensions {dims or count}", where=where, remedy=_REWRITE)
    code = int(parsed["datatype"])
    if code not in _TYPES:
        raise PictureError(
            f"voxels of NIfTI type {code} are no grey values", where=where, remedy="use integers or floats"
        )
    dtype = np.dtype(_TYPES[code]).newbyteorder(parsed.endianness)
    if int(parsed["bitpix"]) != dtype.itemsize * 8:
        raise PictureError(
            f"the header says {dtype.name} and {int(parsed['bitpix'])} bits a voxel",
            where=where,
            remedy=_REWRITE,
        )
    first = 352 if int(parsed["sizeof_hdr"]) == 348 else 544
    offset = float(parsed["vox_offset"]) or first  # 0 means: right after the header
    if not (math.isfinite(offset) and first <= offset <= 1 << 24):
        raise PictureError(f"the voxels are said to begin at byte {offset:g}", where=where, remedy=_REWRITE)
    slope, intercept = float(parsed["scl_slope"]), float(parsed["scl_inter"])
    if math.isnan(slope) or slope == 0:
        slope, intercept = 1.0, 0.0  # NIfTI: a slope of 0 or NaN means "not scaled"
    if not (abs(slope) < 1e30 and abs(intercept) < 1e30):
        raise PictureError(
            f"the header's slope {slope:g} and intercept {intercept:g} make no grey values",
            where=where,
            remedy=_REWRITE,
        )
    return NiftiHeader(dims, dtype, slope, intercept, int(offset), affine)


def _header_geometry(header: NiftiHeader, *, where: str) -> Geometry:
    shape = header.shape
    while len(shape) > 3 and shape[-1] == 1:
        shape = shape[:-1]
    if len(shape) != 3:
        raise PictureError(f"a volume has three axes, this file has the shape {header.shape}", where=where)
    return make_geometry((shape[0], shape[1], shape[2]), header.affine, where=where)


def _read_voxels(stream: ByteStream, header: NiftiHeader, *, first: int, count: int) -> Array:
    """`count` voxels from voxel `first` on, as stored."""
    item = header.dtype.itemsize
    needed = count * (item + 4) if header.is_scaled else count * item
    if needed > MAX_BYTES:
        raise Refused(
            f"{needed:,} bytes of voxels are more than overread reads at once ({MAX_BYTES:,})",
            where=stream.name,
            remedy="read it slice by slice, or resample it",
        )
    stream.skip(first * item, memoryview(bytearray(1 << 20)))
    flat: NDArray[Any] = np.empty(count, dtype=header.dtype)
    stream.fill(flat.view(np.uint8).data)
    return flat


def _scale(flat: Array, header: NiftiHeader) -> Array:
    if not header.is_scaled:
        native: Array = flat.astype(header.dtype.newbyteorder("="), copy=False)
        return native
    values: NDArray[np.float32] = flat.astype(np.float32)
    with np.errstate(over="ignore"):
        values *= np.float32(header.slope)
        values += np.float32(header.intercept)
    return values


# nibabel reports header oddities to a logger that prints on its own; ours are exceptions.
logging.getLogger("nibabel.global").addHandler(logging.NullHandler())
logging.getLogger("nibabel.global").propagate = False
