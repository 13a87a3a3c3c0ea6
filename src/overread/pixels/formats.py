"""Any picture file: its format is detected from its first bytes, then it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from numpy.typing import NDArray

from overread.errors import NotThere, PictureError

FileFormat = Literal["png", "jpeg", "gzip", "dicom", "nifti", "metaimage"]

# (format, offset of its signature, the signature). File names are ignored.
SIGNATURES: tuple[tuple[FileFormat, int, bytes], ...] = (
    ("png", 0, b"\x89PNG\r\n\x1a\n"),
    ("jpeg", 0, b"\xff\xd8\xff"),
    ("dicom", 128, b"DICM"),
    ("gzip", 0, b"\x1f\x8b"),
    ("nifti", 344, b"n+1\0"),
    ("nifti", 4, b"n+2\0"),
    ("metaimage", 0, b"ObjectType ="),
    ("metaimage", 0, b"NDims ="),
)

VOLUME_FORMATS = ("gzip", "nifti", "metaimage")
"""What `nifti.read_volume` reads: NIfTI, packed or not, and MetaImage."""


def sniff_format(source: Path | bytes, *, name: str = "") -> FileFormat | None:
    """The format of a file by its mark, or None."""
    if isinstance(source, bytes):
        head = source[:352]
    else:
        try:
            with source.open("rb") as file:
                head = file.read(352)
        except FileNotFoundError:
            raise NotThere("there is no such file", where=name or str(source)) from None
        except OSError as error:
            raise PictureError(
                f"the file cannot be opened ({error.strerror})", where=name or str(source)
            ) from None
    for kind, at, mark in SIGNATURES:
        if head[at : at + len(mark)] == mark:
            return kind
    return None


def read_picture(source: Path | bytes, *, name: str = "") -> NDArray[Any]:
    """Pixels of any picture: (H, W) or (H, W, 3) of a flat one, (H, W, D) of a volume in HU."""
    kind = sniff_format(source, name=name)
    if kind in ("png", "jpeg"):
        from overread.pixels.image_files import read_image

        return read_image(source, name=name)
    if kind in VOLUME_FORMATS:
        from overread.pixels.nifti import read_volume

        return read_volume(source, name=name)[0]
    if kind == "dicom":
        from overread.pixels.dicom.file import read_dicom

        try:
            return read_dicom(source)
        except PictureError as error:
            error.where = name or error.where
            raise
    raise PictureError(
        "overread cannot read this file as a picture",
        where=name or ("a buffer" if isinstance(source, bytes) else str(source)),
        remedy="it reads PNG, JPEG, DICOM, NIfTI and MetaImage",
    )
