"""Pictures with something changed in them: a part hidden, swapped for another's, or alone left.

An `Edit` says what is changed in one picture of a case, small enough to be handed to a worker.
`AlteredPictures` opens the pictures as a release does, with the edits made. Nothing outside the
named regions changes when they are hidden or swapped, and nothing inside them when only they are
kept. The same edit of the same picture always gives the same pixels.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from overread.core import (
    Box,
    Geometry,
    Image,
    Mask,
    Picture,
    Pictures,
    Record,
    Region,
    Slices,
    Volume,
    VoxelBox,
    Whole,
)
from overread.errors import PictureError
from overread.pixels.draw import rectangle, to_eight_bit
from overread.pixels.edits.control_regions import Shift, as_slices, move_parts
from overread.pixels.edits.inpainting import inpaint, interpolate_slices
from overread.pixels.geometry import from_ras, ras_geometry, to_ras
from overread.pixels.image_files import stored_orientation
from overread.pixels.masks import read_channel
from overread.pixels.nifti import write_volume
from overread.pixels.planes import AXES
from overread.pixels.sparse_masks import bounding_slices
from overread.storage.fence import Fence

Bools = NDArray[np.bool_]

MARGIN = 2.0
"""Millimetres, and one voxel at least, that belong to a mask's place beside its voxels."""
GREY = 128
"""What a flat picture is filled with that is hidden whole."""
_ORIENTATION = 0x0112


class Edit(Record):
    """What is changed in one picture of a case."""

    picture: str
    """Name of the picture."""
    how: Literal["hide", "swap", "keep"]
    """Hide the regions, swap them for those of the donor, or hide everything but them."""
    regions: tuple[Region, ...] = ()
    """Where, all in this picture; together they are one place."""
    shifts: tuple[Shift, ...] = ()
    """Voxels along the stored axes by which each part of the masks is moved; empty: none is."""
    files: str = ""
    """Folder that holds the files of masks."""
    donor: Picture | None = None
    """The other patient's picture that regions are swapped for."""
    seed: int = 0
    """Of the grain that a hidden place is given."""

    @property
    def is_whole(self) -> bool:
        """Whether one of the regions is all of the picture."""
        return any(isinstance(region, Whole) for region in self.regions)


class AlteredPictures:
    """Opens the pictures of a case with the edits made; those without an edit as they are."""

    def __init__(self, pictures: Pictures, edits: Sequence[Edit]) -> None:
        """`pictures` opens them as they are, the donors' too."""
        self._pictures = pictures
        self.edits = tuple(edits)

    def data(self, picture: Picture) -> Path | bytes:
        """Where the bytes of the picture are; of an altered one, the bytes of a new file.

        That is a PNG, a NIfTI, or a JPEG where the original is one that its camera turned: a PNG
        could not say so.
        """
        if not self._edits_of(picture):
            return self._pictures.data(picture)
        pixels = self.pixels(picture)
        if isinstance(picture, Volume):
            return _nifti_bytes(pixels, self.geometry(picture))
        way = stored_orientation(self._pictures.data(picture))
        out = io.BytesIO()
        image = Pillow.fromarray(np.ascontiguousarray(pixels))
        if way == 1:
            image.save(out, "PNG")
        else:
            tags = Pillow.Exif()
            tags[_ORIENTATION] = way
            image.save(out, "JPEG", quality=95, exif=tags.tobytes())
        return out.getvalue()

    def pixels(self, picture: Picture) -> Any:
        """The pixels with the edits made, read now."""
        pixels = self._pictures.pixels(picture)
        for edit in self._edits_of(picture):
            if isinstance(picture, Volume):
                pixels = self._edit_volume(pixels, picture, edit)
            else:
                pixels = self._edit_flat(to_eight_bit(pixels), picture, edit)
        return pixels

    def geometry(self, picture: Picture) -> Geometry:
        """The geometry of a volume, which no edit changes."""
        return self._pictures.geometry(picture)

    def _edits_of(self, picture: Picture) -> list[Edit]:
        return [edit for edit in self.edits if edit.picture == picture.name]

    # ---- flat pictures -------------------------------------------------------------------------

    def _edit_flat(self, pixels: NDArray[Any], picture: Image, edit: Edit) -> NDArray[Any]:
        if edit.how == "swap":
            donor = to_eight_bit(self._pictures.pixels(_require_donor(edit)))
            if edit.is_whole:
                return donor
            return _paste(pixels, donor, flat_mask(pixels.shape[:2], picture, edit.regions))
        if edit.is_whole or not edit.regions:
            return pixels if edit.how == "keep" and edit.is_whole else np.full_like(pixels, GREY)
        inside = flat_mask(pixels.shape[:2], picture, edit.regions)
        if edit.how == "hide":
            if inside.all():
                return np.full_like(pixels, GREY)
            return inpaint(pixels, inside, seed=edit.seed)
        middle = np.median(pixels.reshape(-1, *pixels.shape[2:]), axis=0)
        alone = np.empty_like(pixels)
        alone[...] = np.rint(middle).astype(pixels.dtype)
        alone[inside] = pixels[inside]
        return alone

    # ---- volumes -------------------------------------------------------------------------------

    def _edit_volume(self, hu: NDArray[Any], picture: Volume, edit: Edit) -> NDArray[Any]:
        space = self.geometry(picture)
        if edit.how == "keep" and edit.is_whole:
            return hu
        if edit.how == "swap":
            donor = _require_donor(edit)
            theirs, their_space = self._pictures.pixels(donor), self.geometry(donor)
            return _transplant(hu, space, theirs, their_space, volume_mask(space, edit))
        if edit.is_whole or not edit.regions:
            return np.full_like(hu, _median_hu(hu))
        inside = volume_mask(space, edit)
        if edit.how == "keep":
            alone = np.full_like(hu, _median_hu(hu))
            alone[inside] = hu[inside]
            return alone
        if inside.all():
            return np.full_like(hu, _median_hu(hu))
        hidden = hu
        slabs = [region for region in edit.regions if isinstance(region, Slices)]
        for axis in sorted({slab.axis for slab in slabs}):
            own = [slab for slab in slabs if slab.axis == axis]
            gone = np.zeros(ras_geometry(space).shape[AXES[axis]], bool)
            for slab in own:
                gone[slab.first : slab.last + 1] = True
            ras = interpolate_slices(to_ras(hidden, space), AXES[axis], gone, seed=edit.seed)
            hidden = np.ascontiguousarray(from_ras(ras, space))
        drawn = volume_mask(space, edit, only=Mask)
        return inpaint(hidden, drawn, seed=edit.seed) if drawn.any() else hidden


# ---- where ---------------------------------------------------------------------------------


def flat_mask(size: tuple[int, ...], picture: Picture, regions: Sequence[Region]) -> NDArray[np.bool_]:
    """The pixels of some boxes of a flat picture; `size` is (height, width)."""
    inside = np.zeros(size, bool)
    for region in regions:
        if isinstance(region, Whole):
            inside[:] = True
        elif isinstance(region, Box):
            inside[as_slices(rectangle(region, size))] = True
        else:
            raise PictureError("a flat picture has boxes and nothing else", where=picture.name)
    return inside


def volume_mask(space: Geometry, edit: Edit, *, only: type[Mask | Slices | Whole] | None = None) -> Bools:
    """The voxels of an edit's regions in the volume's own axes, moved where they are to be."""
    inside = np.zeros(space.shape, bool)
    marked = np.zeros(space.shape, bool)
    for region in edit.regions:
        if only is not None and not isinstance(region, only):
            continue
        if isinstance(region, Whole):
            inside[:] = True
        elif isinstance(region, Slices):
            axis = AXES[region.axis]
            ras: Any = to_ras(inside, space)
            last = ras.shape[axis] - 1
            if not 0 <= region.first <= region.last <= last:
                told = f"slices {region.first} to {region.last} were named of {last + 1}"
                raise PictureError(told, where=region.picture)
            np.moveaxis(ras, axis, 0)[region.first : region.last + 1] = True
        elif isinstance(region, VoxelBox):
            inside[tuple(slice(a, b) for a, b in zip(region.low, region.high, strict=True))] = True
        elif isinstance(region, Mask):
            marked |= mask_voxels(region, space, Path(edit.files))
        else:
            raise PictureError("a volume has no boxes", where=region.picture)
    return inside | (move_parts(marked, edit.shifts) if edit.shifts else marked)


def mask_voxels(region: Mask, space: Geometry, folder: Path) -> Bools:
    """The voxels of a mask whose file lies in a folder, with its margin.

    Without the margin the blurred edge of a lesion would stay, and tell where it was.
    """
    return _add_margin(region_voxels(region, space.shape, folder), space)


def region_voxels(region: Mask, shape: tuple[int, int, int], folder: Path) -> Bools:
    """The voxels of a mask as it was drawn; a file outside the folder is refused."""
    file = Fence(folder).path(region.file)
    labels = read_channel(file, region.channel, shape, region.channels, name=region.file)
    marked: Bools = labels != 0 if region.entity is None else labels == region.entity
    return marked


def _add_margin(mask: Bools, space: Geometry) -> Bools:
    from scipy import ndimage

    reach = [max(1, round(MARGIN / step)) for step in space.spacing]
    axes = np.ogrid[tuple(slice(-r, r + 1) for r in reach)]
    ball = sum((axis / r) ** 2 for axis, r in zip(axes, reach, strict=True)) <= 1
    block = bounding_slices(mask)
    if block is None:
        return mask
    pairs = zip(block, reach, strict=True)
    cut = tuple(slice(max(0, part.start - r), part.stop + r) for part, r in pairs)
    grown = mask.copy()
    grown[cut] = ndimage.binary_dilation(mask[cut], ball)
    return grown


# ---- swapping ------------------------------------------------------------------------------


def _require_donor(edit: Edit) -> Picture:
    if edit.donor is None:
        raise PictureError("the edit names no donor picture", where=edit.picture)
    return edit.donor


def _paste(pixels: NDArray[Any], donor: NDArray[Any], inside: Bools) -> NDArray[Any]:
    """The same place of another flat picture, stretched to this one's size and exposure."""
    if pixels.ndim == 2 and donor.ndim == 3:
        donor = np.rint(donor.mean(axis=2)).astype(np.uint8)
    elif pixels.ndim == 3 and donor.ndim == 2:
        donor = np.repeat(donor[..., None], 3, axis=2)
    size = (pixels.shape[1], pixels.shape[0])
    image = Pillow.fromarray(np.ascontiguousarray(donor)).resize(size, Pillow.Resampling.BILINEAR)
    theirs = np.asarray(image, np.float32)
    low, high = np.percentile(donor, (5, 95))
    ours = np.percentile(pixels, (5, 95))
    gain = (ours[1] - ours[0]) / (high - low) if high > low else 1.0
    matched = np.clip(np.rint((theirs - low) * gain + ours[0]), 0, 255).astype(pixels.dtype)
    out = pixels.copy()
    out[inside] = matched[inside]
    return out


def _transplant(
    hu: NDArray[Any], space: Geometry, donor: NDArray[Any], theirs: Geometry, inside: Bools
) -> NDArray[Any]:
    """The same place of another volume: as far from right to left, back to front, feet to head."""
    ours: Any = to_ras(hu, space)
    other: Any = to_ras(donor, theirs)
    marked: Any = to_ras(inside, space)
    out = ours.copy()
    cut = bounding_slices(marked)
    if cut is None:
        return hu
    index = [
        np.rint((np.arange(part.start, part.stop) + 0.5) * m / n - 0.5).astype(int).clip(0, m - 1)
        for part, n, m in zip(cut, ours.shape, other.shape, strict=True)
    ]
    out[cut] = np.where(marked[cut], other[np.ix_(*index)], out[cut]).astype(hu.dtype)
    return np.ascontiguousarray(from_ras(out, space))


def _median_hu(hu: NDArray[Any]) -> Any:
    """The median of a volume, of every few voxels."""
    some = hu[tuple(slice(None, None, max(1, n // 64)) for n in hu.shape)]
    return np.rint(np.median(np.nan_to_num(some))).astype(hu.dtype)


# ---- files ---------------------------------------------------------------------------------


def _nifti_bytes(hu: NDArray[Any], space: Geometry) -> bytes:
    with TemporaryDirectory() as scratch:
        path = Path(scratch, "altered.nii.gz")
        write_volume(path, hu, np.asarray(space.affine))
        return path.read_bytes()
