"""Pictures as a model takes them: PNG or JPEG bytes, no larger than asked, as a data URI."""

from __future__ import annotations

import base64
import io
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from overread.pixels.draw import to_eight_bit

ImageFormat = Literal["png", "jpeg"]


class EncodedImage(NamedTuple):
    """An image file with pixels and no metadata."""

    data: bytes
    media: str
    """'image/png' or 'image/jpeg'."""
    size: tuple[int, int]
    """(width, height)."""


def encode(
    picture: NDArray[Any], *, kind: ImageFormat = "png", longest: int | None = None, quality: int = 90
) -> bytes:
    """The picture's bytes, scaled down so that no side is longer than `longest`; never up.

    Greys of 16 bits become 8, from their darkest to their brightest, since that is what models
    are given. The same pixels always give the same bytes, so that a reply can be found again by
    the hash of what was shown.
    """
    image = Pillow.fromarray(np.ascontiguousarray(to_eight_bit(picture)))
    if longest is not None and max(image.size) > longest:
        scale = longest / max(image.size)
        size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
        image = image.resize(size, Pillow.Resampling.LANCZOS)
    out = io.BytesIO()
    image.save(out, kind.upper(), **({"quality": quality} if kind == "jpeg" else {}))
    return out.getvalue()


def encode_with_size(picture: NDArray[Any], *, kind: ImageFormat, longest: int) -> EncodedImage:
    """The image encoded: its bytes, its media type and its size in pixels."""
    data = encode(picture, kind=kind, longest=longest)
    with Pillow.open(io.BytesIO(data)) as image:
        return EncodedImage(data, f"image/{kind}", image.size)


def data_uri(data: bytes) -> str:
    """PNG or JPEG bytes as chat-completions endpoints take them.

    >>> data_uri(b"\\x89PNG...")[:22]
    'data:image/png;base64,'
    """
    kind = "png" if data.startswith(b"\x89PNG") else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"
