"""Regions: where. Every region names its picture."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from overread.core.record import Record


class Box(Record):
    """A rectangle in a flat picture, in the pixel frame its release uses."""

    kind: Literal["box"] = "box"
    """Says which record this is when it is stored as JSON."""
    picture: str
    """Name of the picture it lies in."""
    x1: float
    """Left edge, pixels from the picture's left."""
    y1: float
    """Upper edge, pixels from the picture's top."""
    x2: float
    """Right edge, pixels from the picture's left."""
    y2: float
    """Lower edge, pixels from the picture's top."""
    label: str | None = None
    """What the release calls the place, in its own words."""
    confidence: float | None = Field(default=None, ge=0, le=1)
    """How sure the reader is of it, from 0 to 1, where the reader tells."""

    @property
    def is_proper(self) -> bool:
        """Whether the left edge is left of the right one, and the upper above the lower."""
        return self.x1 < self.x2 and self.y1 < self.y2


class Mask(Record):
    """Voxels of a volume, kept in a mask file: one channel a finding, one value an entity."""

    kind: Literal["mask"] = "mask"
    """Says which record this is when it is stored as JSON."""
    picture: str
    """Name of the volume it lies in, which alone has the true geometry."""
    file: str
    """Path of the mask file, relative to the release or run that holds it."""
    channel: int = 0
    """Which finding of the mask file."""
    channels: int = 1
    """How many findings the mask file has."""
    entity: int | None = None
    """Which entity of the finding, as the annotator numbered them; absent means all of them."""
    confidence: float | None = Field(default=None, ge=0, le=1)
    """How sure the reader is of what it marks, from 0 to 1, where the reader tells."""


class Slices(Record):
    """A range of slices of a volume."""

    kind: Literal["slices"] = "slices"
    """Says which record this is when it is stored as JSON."""
    picture: str
    """Name of the volume it lies in."""
    axis: Literal["sagittal", "coronal", "axial"] = "axial"
    """Plane of the slices."""
    first: int
    """First slice, counted from 0 at the left, the back or the feet, whatever the stored order."""
    last: int
    """Last slice, included."""


class VoxelBox(Record):
    """A box of voxels in the array of a volume as its file stores it, whatever way that is turned."""

    kind: Literal["voxels"] = "voxels"
    """Says which record this is when it is stored as JSON."""
    picture: str
    """Name of the volume it lies in."""
    low: tuple[int, int, int]
    """Its first voxel along each stored axis."""
    high: tuple[int, int, int]
    """Its last voxel along each stored axis, plus one."""
    label: str | None = None
    """What the place is called."""


class Whole(Record):
    """All of a picture."""

    kind: Literal["whole"] = "whole"
    """Says which record this is when it is stored as JSON."""
    picture: str
    """Name of the picture."""


Region: TypeAlias = Annotated[Box | Mask | Slices | VoxelBox | Whole, Field(discriminator="kind")]
