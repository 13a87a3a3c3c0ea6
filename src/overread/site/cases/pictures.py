"""`/api/pictures`: the flat pictures of a case, upright, as a browser shows them.

A picture's file may tell more than its pixels, so that only pixels leave: a file goes out less its
words, or is drawn anew. Boxes are given in the picture as it is stored; the header `x-turned` says
how the answer was turned against that, 1 to 8 as Exif counts them.
"""

from __future__ import annotations

import hashlib
import math
import threading
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from overread.core import Box, Image, Picture, Volume, Whole
from overread.errors import PictureError, UsageError
from overread.pixels.image_files import stored_orientation
from overread.pixels.sent_images import encode_region
from overread.site.cases.bit_depth import read_deep_pixels
from overread.site.cases.picture_info import PictureInfo, load_picture_info
from overread.site.dependencies import OneSplit, PathId

router = APIRouter(tags=["pictures"])

MAX_SIDE = 16_384
"""Pixels of the longer side that are sent; browsers draw no larger picture."""
_MAX_COORDINATE = 1e7
_DECODE_SLOTS = threading.BoundedSemaphore(4)
"""Pictures that are decoded at a time: each may take some hundred megabytes."""

BoxQuery = Annotated[
    str | None, Query(max_length=100, description="Only a box, 'x1,y1,x2,y2' in pixels as stored.")
]
Margin = Annotated[
    float, Query(ge=0, le=10, description="How much around the box, in parts of its longer side.")
]
Longest = Annotated[
    int, Query(ge=16, le=MAX_SIDE, description="The longer side has no more pixels than that.")
]


@router.get(
    "/pictures/{dataset}/{split}/{case}/{name}",
    response_class=Response,
    responses={200: {"content": {"image/png": {}, "image/jpeg": {}}}, 304: {}},
)
def get_picture(
    request: Request,
    split: OneSplit,
    case: PathId,
    name: PathId,
    *,
    box: BoxQuery = None,
    margin: Margin = 0.0,
    longest: Longest = MAX_SIDE,
) -> Response:
    """A picture, or a part of it, as 8-bit PNG or JPEG with nothing but pixels in it."""
    picture = require_flat(split.case(case).picture(name))
    pictures = split.release.pictures
    source = pictures.data(picture)
    tag = f'"{_digest(source, f"{box} {margin} {longest}")}"'
    headers = {"etag": tag, "cache-control": "private, no-cache"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    with _DECODE_SLOTS:
        looked = load_picture_info(pictures, picture)
        region = _parse_box(box, margin, picture.name, looked) if box is not None else Whole(picture=name)
        data, media, _ = encode_region(pictures, picture, region, longest=longest)
    headers["x-turned"] = str(stored_orientation(source))
    headers["content-encoding"] = "identity"  # pixels are compressed already
    return Response(data, media_type=media, headers=headers)


@router.get(
    "/pictures/{dataset}/{split}/{case}/{name}/values",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}}, 304: {}},
)
def get_values(request: Request, split: OneSplit, case: PathId, name: PathId) -> Response:
    """The greys of a picture of more than 8 bits, as little-endian 16-bit whole numbers, by rows.

    A value is `x-base` plus `x-step` times the number; `x-low` is usually shown as black and
    `x-high` as white, or the other way round where `x-inverted` is 1.
    """
    picture = require_flat(split.case(case).picture(name))
    source = split.release.pictures.data(picture)
    tag = f'"{_digest(source, "values")}"'
    headers = {"etag": tag, "cache-control": "private, no-cache"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    with _DECODE_SLOTS:
        deep = read_deep_pixels(source, name=picture.name)
        data = deep.numbers.tobytes()
    height, width = deep.numbers.shape
    told = {"width": width, "height": height, "inverted": int(deep.inverted)}
    told |= {"base": deep.base, "step": deep.step, "low": deep.low, "high": deep.high}
    headers |= {f"x-{name}": f"{value:.10g}" for name, value in told.items()}
    return Response(data, media_type="application/octet-stream", headers=headers)


def require_flat(picture: Picture) -> Image:
    """The picture, which must not be a volume."""
    if isinstance(picture, Volume):
        raise UsageError(f"{picture.name} is a volume", remedy="it is shown by its slices")
    return picture


def _parse_box(text: str, margin: float, name: str, looked: PictureInfo) -> Box:
    """A box from an address, inside the picture and at least one pixel large."""
    try:
        x1, y1, x2, y2 = (float(word) for word in text.split(","))
    except ValueError:
        raise UsageError(f"'{text}' is no box", remedy="give x1,y1,x2,y2 in pixels of the picture") from None
    if not all(map(math.isfinite, (x1, y1, x2, y2))):
        raise UsageError("a box has four finite numbers")
    if looked.problem or looked.width is None or looked.height is None:
        raise PictureError(looked.problem or f"{name} has no size")
    # No picture is larger, and the widest numbers have no difference.
    x1, x2 = sorted(min(max(x, -_MAX_COORDINATE), _MAX_COORDINATE) for x in (x1, x2))
    y1, y2 = sorted(min(max(y, -_MAX_COORDINATE), _MAX_COORDINATE) for y in (y1, y2))
    more = margin * max(x2 - x1, y2 - y1)
    x1, x2 = _clamp(x1 - more, x2 + more, looked.width)
    y1, y2 = _clamp(y1 - more, y2 + more, looked.height)
    return Box(picture=name, x1=x1, y1=y1, x2=x2, y2=y2)


def _clamp(low: float, high: float, most: int) -> tuple[float, float]:
    low = min(max(0.0, math.floor(low)), most - 1.0)
    return low, max(low + 1.0, min(float(most), math.ceil(high)))


def _digest(source: Path | bytes, asked: str) -> str:
    """What changes when the file or the question does."""
    if isinstance(source, Path):
        try:
            at = source.stat()
        except OSError as error:
            raise PictureError(f"the picture cannot be read ({error.strerror})") from None
        source = f"{source} {at.st_mtime_ns} {at.st_size}".encode()
    return hashlib.sha256(source + asked.encode()).hexdigest()[:32]
