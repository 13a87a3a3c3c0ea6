"""MetaImage files (.mha), as ITK and grand-challenge write them: read as the NIfTI they would be.

Both formats store the first axis fastest, so the voxels stay as they are, and only the header is
put into NIfTI's words. MetaImage counts millimetres to the left, the back and the head (LPS), NIfTI
to the right, the front and the head (RAS): the first two signs change. A file with several channels
a voxel becomes (channels, H, W, D), the official order of masks.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from overread.errors import PictureError
from overread.storage.atomic import open_atomic

MARKS = (b"ObjectType =", b"NDims =")
"""What the text at the beginning of such a file begins with."""
_MAX_HEADER = 1 << 16
_REWRITE = "write the file again as one .mha, with SimpleITK for instance"
_TYPES = {
    "MET_CHAR": "i1",
    "MET_UCHAR": "u1",
    "MET_SHORT": "i2",
    "MET_USHORT": "u2",
    "MET_INT": "i4",
    "MET_UINT": "u4",
    "MET_LONG": "i4",
    "MET_ULONG": "u4",
    "MET_LONG_LONG": "i8",
    "MET_ULONG_LONG": "u8",
    "MET_FLOAT": "f4",
    "MET_DOUBLE": "f8",
}
_NAMES = {kind: name for name, kind in reversed(_TYPES.items())}
_LPS = np.diag([-1.0, -1.0, 1.0])
_CHUNK = 1 << 16


class MetaImageStream(io.RawIOBase):
    """A MetaImage file that reads like a NIfTI file: a header made of its own, then its voxels."""

    def __init__(self, raw: BinaryIO, *, name: str) -> None:
        """Read the header of `raw`, which stands at its beginning."""
        super().__init__()
        fields, used = _read_fields(raw, name)
        raw.seek(used)
        self._raw = raw
        self._ready = memoryview(_nifti_header(fields, name))
        self.is_packed = _is_true(fields, "CompressedData")
        self._inflate = zlib.decompressobj() if self.is_packed else None

    def readable(self) -> bool:
        """It can be read, and nothing else."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer as far as there is something ready; 0 at the end.

        EOFError where the compressed voxels are cut off.
        """
        view = memoryview(buffer).cast("B")
        while not len(self._ready):
            if self._inflate is None:
                return int(self._raw.readinto(view) or 0)  # type: ignore[attr-defined]
            if self._inflate.eof:
                return 0
            packed = self._inflate.unconsumed_tail or self._raw.read(_CHUNK)
            if not packed:
                raise EOFError("the compressed voxels are cut off")
            self._ready = memoryview(self._inflate.decompress(packed, 1 << 20))
        size = min(len(view), len(self._ready))
        view[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size


def _read_fields(raw: BinaryIO, name: str) -> tuple[dict[str, str], int]:
    """The header's fields in lower case, and where the voxels begin."""
    text = raw.read(_MAX_HEADER)
    fields: dict[str, str] = {}
    at = 0
    while "elementdatafile" not in fields:
        end = text.find(b"\n", at)
        key, equals, value = text[at : max(end, at)].partition(b"=")
        if end < 0 or not equals:
            raise PictureError("the MetaImage header is damaged or cut off", where=name, remedy=_REWRITE)
        fields[key.decode("latin-1").strip().lower()] = value.decode("latin-1").strip()
        at = end + 1
    if fields["elementdatafile"].upper() != "LOCAL":
        raise PictureError("this MetaImage keeps its voxels in another file", where=name, remedy=_REWRITE)
    if not _is_true(fields, "BinaryData", default=True):
        raise PictureError("this MetaImage keeps its voxels as text", where=name, remedy=_REWRITE)
    return fields, at


def _is_true(fields: dict[str, str], key: str, *, default: bool = False) -> bool:
    told = fields.get(key.lower())
    return default if told is None else told.lower() in ("true", "1", "yes", "t", "y")


def _nifti_header(fields: dict[str, str], name: str) -> bytes:
    import nibabel as nib

    kind = _TYPES.get(fields.get("elementtype", "").upper())
    try:
        shape = [int(word) for word in fields["dimsize"].split()]
        channels = int(fields.get("elementnumberofchannels", "1"))
        stated = int(fields.get("ndims", len(shape)))
        affine = _read_affine(fields, len(shape))
    except (KeyError, ValueError) as error:
        raise PictureError(
            f"the MetaImage header is damaged ({error})", where=name, remedy=_REWRITE
        ) from None
    if kind is None:
        told = fields.get("elementtype", "nothing")[:40]
        raise PictureError(
            f"voxels of type {told} are no grey values", where=name, remedy="use integers or floats"
        )
    if len(shape) != stated or stated > 6 or any(not 1 <= n < 2**31 for n in (*shape, channels)):
        raise PictureError(f"the header gives the dimensions {shape}", where=name, remedy=_REWRITE)
    swapped = _is_true(fields, "BinaryDataByteOrderMSB") or _is_true(fields, "ElementByteOrderMSB")
    header = nib.Nifti2Header(endianness=">" if swapped else "<")
    header.set_data_shape((channels, *shape) if channels > 1 else shape)
    header.set_data_dtype(np.dtype(kind))
    header.set_sform(affine, code=1)
    header["vox_offset"] = 544
    return bytes(header.binaryblock) + b"\0\0\0\0"


def _read_affine(fields: dict[str, str], axes: int) -> NDArray[np.float64]:
    """Voxel to RAS millimetres of the first three axes; a row of the matrix is an axis's direction."""

    def numbers(keys: tuple[str, ...], count: int, default: NDArray[np.float64]) -> NDArray[np.float64]:
        told = next((fields[key] for key in keys if key in fields), None)
        found = default if told is None else np.array([float(word) for word in told.split()])
        if len(found) != count:
            raise ValueError(f"{keys[0]} has {len(found)} numbers instead of {count}")
        return found

    turn = numbers(("transformmatrix", "rotation", "orientation"), axes * axes, np.eye(axes).ravel())
    spacing = numbers(("elementspacing", "elementsize"), axes, np.ones(axes))
    origin = numbers(("offset", "position", "origin"), axes, np.zeros(axes))
    affine = np.eye(4)
    near = min(axes, 3)
    affine[:near, :near] = (turn.reshape(axes, axes) * spacing[:, None])[:near, :near].T
    affine[:near, 3] = origin[:near]
    affine[:3] = _LPS @ affine[:3]
    return affine


def write_metaimage(path: Path, volume: NDArray[Any], affine: NDArray[np.float64]) -> None:
    """Write (H, W, D), or (channels, H, W, D) as channels of a voxel; the same bytes every time."""
    array = np.asarray(volume)
    little = array.dtype.newbyteorder("<")
    slabs = (array[..., k].astype(little, copy=False).tobytes(order="F") for k in range(array.shape[-1]))
    write_voxels(path, array.shape, array.dtype, affine, slabs)


def write_voxels(
    path: Path,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    affine: NDArray[np.float64],
    chunks: Iterable[bytes | memoryview],
) -> None:
    """The same of voxels that come in pieces, little-endian, the first axis fastest."""
    kind = dtype.newbyteorder("<").str[1:]
    if kind not in _NAMES or len(shape) not in (3, 4):
        raise PictureError(f"an array {shape} of {dtype} is no volume", where=str(path))
    matrix = _LPS @ np.asarray(affine, dtype=np.float64)[:3]
    spacing = np.sqrt((matrix[:, :3] ** 2).sum(axis=0))
    channels = shape[0] if len(shape) == 4 else 1
    packer = zlib.compressobj(6)
    # The header tells how long the packed voxels are, so these come first; masks pack to little.
    packed = b"".join([*(packer.compress(chunk) for chunk in chunks), packer.flush()])
    told = {
        "ObjectType": "Image",
        "NDims": "3",
        "BinaryData": "True",
        "BinaryDataByteOrderMSB": "False",
        "CompressedData": "True",
        "CompressedDataSize": str(len(packed)),
        "TransformMatrix": _words((matrix[:, :3] / spacing).T.ravel()),
        "Offset": _words(matrix[:, 3]),
        "CenterOfRotation": "0 0 0",
        "ElementSpacing": _words(spacing),
        "DimSize": " ".join(str(n) for n in shape[-3:]),
        **({"ElementNumberOfChannels": str(channels)} if channels > 1 else {}),
        "ElementType": _NAMES[kind],
        "ElementDataFile": "LOCAL",
    }
    with open_atomic(path) as out:
        out.write("".join(f"{key} = {value}\n" for key, value in told.items()).encode("ascii"))
        out.write(packed)


def _words(values: NDArray[np.float64]) -> str:
    return " ".join(repr(float(value) + 0.0) for value in values)
