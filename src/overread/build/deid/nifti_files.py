"""NIfTI files: the voxels as they are, the header without what people write into it."""

from __future__ import annotations

from pathlib import Path

import nibabel as nib

from overread.build.deid.results import Removal
from overread.pixels.bytestream import open_stream
from overread.pixels.nifti import read_stream_header
from overread.storage.atomic import open_atomic

_TEXT_FIELDS = ("descrip", "db_name", "data_type", "aux_file", "intent_name")
_CHUNK_BYTES = 1 << 22


def clean_nifti(source: Path, out: Path, *, name: str = "") -> list[Removal]:
    """Copy a NIfTI file without free text, extensions and bytes after its voxels; what was done."""
    removals: list[Removal] = []
    with open_stream(source, name=name) as stream:
        head = stream.read(4)
        size = 540 if b"\x02\x1c" in head or b"\x1c\x02" in head else 348
        block = head + stream.read(size - 4)
    with open_stream(source, name=name) as stream:
        checked = read_stream_header(stream)
        kind = nib.Nifti1Header if size == 348 else nib.Nifti2Header
        header = kind(block, check=False)
        for field in _TEXT_FIELDS:
            if field in header and bytes(header[field].tobytes()).strip(b"\0 "):
                removals.append(
                    Removal(
                        kind="metadata",
                        action="emptied",
                        where=field,
                        before=header[field].tobytes().decode("latin-1").strip("\0 "),
                    )
                )
                header[field] = b""
        if checked.offset > size + 4:
            removals.append(Removal(kind="metadata", action="removed", where="header extensions"))
        header["vox_offset"] = size + 4
        with open_atomic(out) as stream_out:
            stream_out.write(bytes(header.binaryblock) + b"\0\0\0\0")
            left = checked.size
            buffer = memoryview(bytearray(_CHUNK_BYTES))
            while left > 0:
                step = min(left, _CHUNK_BYTES)
                stream.fill(buffer[:step])
                stream_out.write(buffer[:step])
                left -= step
        if stream.finish():
            removals.append(Removal(kind="metadata", action="removed", where="bytes after voxels"))
    return removals
