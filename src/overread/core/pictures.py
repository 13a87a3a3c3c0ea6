"""Pictures: a file, its name within the case, its geometry; never the pixels."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field

from overread.core.record import Record, RecordWithHandles

Row4: TypeAlias = tuple[float, float, float, float]


class Geometry(Record):
    """Where the voxels of a volume lie in the patient."""

    shape: tuple[int, int, int]
    """Voxels along each axis of the array as stored in the file."""
    spacing: tuple[float, float, float]
    """Millimetres between voxel centres along each stored axis."""
    affine: tuple[Row4, Row4, Row4, Row4]
    """Voxel index to RAS+ millimetres, as NIfTI has it."""
    axes: str
    """Where each stored axis points, for example 'LPS' or 'RAS'."""


class Image(RecordWithHandles):
    """A flat picture: a radiograph, one slice, a photograph."""

    handles: ClassVar[tuple[str, ...]] = ("file",)

    kind: Literal["image"] = "image"
    """Says which record this is when it is stored as JSON."""
    name: str
    """Neutral name within the case ('image-1'): safe to show, used by regions."""
    file: str = Field(default="", repr=False)
    """Handle: path relative to the release."""
    timepoint: int | None = None
    """Which examination of the patient it belongs to, 1 the earliest; absent when not stated."""


class Volume(RecordWithHandles):
    """A stack of slices with its place in space: a CT."""

    handles: ClassVar[tuple[str, ...]] = ("file",)

    kind: Literal["volume"] = "volume"
    """Says which record this is when it is stored as JSON."""
    name: str
    """Neutral name within the case ('ct'): safe to show, used by regions."""
    file: str = Field(default="", repr=False)
    """Handle: file name as the release gives it; where it lies is for the release to find."""
    shape: tuple[int, int, int] | None = None
    """Voxels along each axis as the release states them; the file itself is the authority."""
    timepoint: int | None = None
    """Which examination of the patient it belongs to, 1 the earliest; absent when not stated."""


Picture: TypeAlias = Annotated[Image | Volume, Field(discriminator="kind")]
