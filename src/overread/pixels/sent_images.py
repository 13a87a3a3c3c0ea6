"""A picture of a case, or a part of it, as the bytes that a model is sent.

A flat picture that is small enough goes out as it lies on disk, less everything that is no pixel:
a comment or a name in its header may tell the diagnosis. Everything else is drawn anew, upright
where its camera data say how it is to be turned. The same part of the same picture always gives
the same bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.core import Box, Mask, Picture, Pictures, Region, Slices, Volume, VoxelBox, Whole
from overread.errors import PictureError
from overread.pixels.draw import crop
from overread.pixels.encode import EncodedImage, ImageFormat, encode_with_size
from overread.pixels.image_files import read_image, stored_bytes
from overread.pixels.image_metadata import exif_orientation, strip_metadata
from overread.pixels.montages import slice_montage


def encode_region(
    pictures: Pictures,
    picture: Picture,
    region: Region,
    *,
    longest: int,
    media: ImageFormat = "png",
    windows: tuple[str, ...] = ("lung",),
    count: int = 16,
) -> EncodedImage:
    """The region of a picture as bytes; a volume becomes a montage of `count` slices.

    A box is one of the picture as it is stored: it is cut out first and turned upright then.
    """
    if isinstance(region, Mask):
        raise PictureError("a mask is never shown to a reader", where=picture.name)
    if isinstance(picture, Volume):
        if isinstance(region, Box | VoxelBox):
            raise PictureError("a volume is shown by its slices", where=picture.name)
        volume = pictures.pixels(picture)
        space = pictures.geometry(picture)
        pixels: NDArray[Any] = slice_montage(
            volume, space, region, windows=windows, count=count, longest=longest
        )
    else:
        if isinstance(region, Slices | VoxelBox):
            raise PictureError("a flat picture has no slices", where=picture.name)
        data = stored_bytes(pictures.data(picture))
        found = strip_metadata(data) if isinstance(region, Whole) else None
        if found is not None and max(found.size) <= longest:
            return found
        pixels = pictures.pixels(picture)
        if pixels.ndim != 2 and pixels.shape[2:] != (3,):
            raise PictureError(f"the file of {picture.name} holds no flat picture")
        pixels = crop(pixels, region) if isinstance(region, Box) else pixels
        pixels = apply_orientation(pixels, exif_orientation(data))
    return encode_with_size(pixels, kind=media, longest=longest)


def encode_file(data: bytes, *, longest: int, media: ImageFormat = "png") -> EncodedImage:
    """A flat picture that is no picture of a case, the cut-out of a trace for instance, as bytes."""
    found = strip_metadata(data)
    if found is not None and max(found.size) <= longest:
        return found
    pixels = apply_orientation(read_image(data), exif_orientation(data))
    return encode_with_size(pixels, kind=media, longest=longest)


def apply_orientation(pixels: NDArray[np.generic], orientation: int) -> NDArray[np.generic]:
    """Pixels as they are meant to be seen; `orientation` is 1 to 8 as Exif counts them.

    >>> apply_orientation(np.array([[1, 2], [3, 4]]), 6).tolist()  # a quarter to the right
    [[3, 1], [4, 2]]
    """
    if orientation in (5, 6, 7, 8):
        pixels = np.swapaxes(pixels, 0, 1)
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    return pixels
