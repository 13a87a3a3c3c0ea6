"""Thumbnails: the first picture of a case, small, made once and kept by content.

A flat picture is decoded no larger than it must be. Of a volume one slice from the middle is read,
and nothing behind it. Few are made at a time, those who gave up waiting are passed over, and the
waiting takes no thread from the rest of the page.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import anyio
import numpy as np
from fastapi import Request, Response
from numpy.typing import NDArray

from overread.core import Case, Geometry, Picture, Release, Volume
from overread.errors import NotThere, OverreadError, Refused, Truncated
from overread.pixels.formats import VOLUME_FORMATS, sniff_format
from overread.pixels.image_files import MAX_FILE, MAX_PIXELS, read_thumbnail
from overread.pixels.nifti import MAX_BYTES, read_geometry, read_header, read_slices
from overread.pixels.planes import Plane, extract_slice, resample_square
from overread.pixels.sent_images import apply_orientation
from overread.pixels.windows import apply_window
from overread.site.lru_cache import LruCache
from overread.storage.atomic import open_atomic
from overread.storage.cache_folder import cache_folder, remove_unused

SIDE = 256
"""Pixels of the longer side: sharp in a card of half that on a fine screen."""
MAX_PARALLEL = 2
"""Thumbnails that are made at one time."""
DRAWING_VERSION = "1"
"""Changes whenever they are drawn another way, so that old ones are not taken for new."""
_MAX_WHOLE_BYTES = 8 << 20
_ENDS = 1 << 16
_DAYS = 60
# Shown at once from the browser's own store, and asked about again behind it.
_CACHE_CONTROL = "private, max-age=600, stale-while-revalidate=2592000"
_PLANES: dict[str, Plane] = {"S": "axial", "I": "axial", "A": "coronal", "P": "coronal"}
_REASONS: dict[type[OverreadError], str] = {
    NotThere: "is missing",
    Truncated: "is cut off",
    Refused: "was refused",
}


@dataclass(frozen=True)
class Thumbnail:
    """A small picture."""

    data: bytes
    mark: str
    media: str = "image/webp"


async def respond_with_thumbnail(
    request: Request, release: Release, case: Case, known: str | None
) -> Response:
    """The thumbnail of a case as an answer; never an error, since browsers log these loudly."""
    try:
        picture, mark = await anyio.to_thread.run_sync(_identity, release, case)
        if known is not None and f'"{mark}"' in known:
            return Response(status_code=304, headers=_headers(mark))
        thumb = await anyio.to_thread.run_sync(_read_cached, mark)
        if thumb is None:
            async with _slots(request):
                if await request.is_disconnected():  # scrolled past while it waited
                    return Response(status_code=204)
                thumb = await anyio.to_thread.run_sync(_make_and_cache, release, picture, mark)
    except OverreadError as error:
        return _placeholder(_REASONS.get(type(error), "cannot be read"))
    except (OSError, MemoryError, ValueError):
        return _placeholder("cannot be read")
    return Response(thumb.data, media_type=thumb.media, headers=_headers(mark))


def _slots(request: Request) -> anyio.Semaphore:
    state = request.app.state
    if not hasattr(state, "thumb_turns"):
        state.thumb_turns = anyio.Semaphore(MAX_PARALLEL)
    return cast(anyio.Semaphore, state.thumb_turns)


def _headers(mark: str) -> dict[str, str]:
    return {"etag": f'"{mark}"', "cache-control": _CACHE_CONTROL}


def _placeholder(why: str) -> Response:
    """A picture in place of one that cannot be shown; it holds no word from outside."""
    body = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="256" height="256">'
        '<rect width="256" height="256" fill="#1d1d1d"/>'
        '<path d="M88 72h80v64h-80zM88 136l80-64" fill="none" stroke="#9a9a9a" stroke-width="3"/>'
        '<g fill="#e4e4e4" font-family="sans-serif" font-size="19" text-anchor="middle">'
        f'<text x="128" y="176">the picture</text><text x="128" y="202">{why}</text></g></svg>'
    )
    return Response(body, media_type="image/svg+xml", headers={"cache-control": "no-store"})


# ---- by content ----------------------------------------------------------------------------

_digests: LruCache[str] = LruCache(8192)


def _identity(release: Release, case: Case) -> tuple[Picture, str]:
    """The first picture, and what its content is called."""
    if not case.pictures:
        raise NotThere("the case has no picture")
    picture = case.pictures[0]
    return picture, f"{DRAWING_VERSION}{SIDE}-{_digest(release.pictures.data(picture))}"


def _digest(source: Path | bytes) -> str:
    """A digest of a file's bytes; of a big one, of its size, its age and its two ends."""
    if isinstance(source, bytes):
        return hashlib.sha256(source).hexdigest()[:32]
    status = source.stat()

    def hash_file() -> str:
        with source.open("rb") as file:
            if status.st_size <= _MAX_WHOLE_BYTES:
                hashed = hashlib.sha256(file.read())
            else:
                hashed = hashlib.sha256(f"{status.st_size} {status.st_mtime_ns} ".encode())
                hashed.update(file.read(_ENDS))
                file.seek(-_ENDS, os.SEEK_END)
                hashed.update(file.read(_ENDS))
        return hashed.hexdigest()[:32]

    return _digests.get(source, hash_file, stamp=(status.st_size, status.st_mtime_ns))


# ---- keeping -------------------------------------------------------------------------------


def _folder() -> Path:
    return cache_folder() / "thumbs"


def _file(mark: str) -> Path:
    return _folder() / mark[-2:] / f"{mark}.webp"


def _read_cached(mark: str) -> Thumbnail | None:
    path = _file(mark)
    try:
        data = path.read_bytes()
        if not (data.startswith(b"RIFF") and data[8:12] == b"WEBP"):
            return None
        if time.time() - path.stat().st_mtime > 86400:
            os.utime(path)  # those in use are not swept away
    except OSError:
        return None
    return Thumbnail(data, mark)


def _make_and_cache(release: Release, picture: Picture, mark: str) -> Thumbnail:
    kept = _read_cached(mark)  # somebody may have made it while this one waited
    if kept is not None:
        return kept
    thumb = Thumbnail(encode_webp(draw_thumbnail(release.pictures.data(picture), picture)), mark)
    path = _file(mark)
    try:
        _folder().mkdir(parents=True, exist_ok=True, mode=0o700)  # pictures of patients
        with open_atomic(path) as out:
            out.write(thumb.data)
    except OSError:
        pass  # a cache that cannot be written costs nothing but time
    _clean_old_once()
    return thumb


_cleaned = threading.Event()


def _clean_old_once() -> None:
    """Clear away, once a process, what nobody looked at for two months."""
    if _cleaned.is_set():
        return
    _cleaned.set()
    remove_unused(_folder(), "*/*", days=_DAYS)


# ---- drawing -------------------------------------------------------------------------------


def draw_thumbnail(source: Path | bytes, picture: Picture) -> NDArray[np.uint8]:
    """The pixels of a thumbnail, from as little of the file as will do."""
    kind = sniff_format(source)
    if kind in VOLUME_FORMATS:
        return _draw_volume(source)
    if kind in ("png", "jpeg") and not isinstance(picture, Volume):
        return _draw_flat(source)
    from overread.pixels.draw import to_eight_bit
    from overread.pixels.formats import read_picture

    pixels = read_picture(source, name=picture.name)
    if pixels.ndim == 3 and pixels.shape[2] != 3:
        pixels = pixels[:, :, pixels.shape[2] // 2]
    return to_eight_bit(pixels)


def _draw_flat(source: Path | bytes) -> NDArray[np.uint8]:
    from overread.pixels.draw import to_eight_bit
    from overread.pixels.image_metadata import exif_orientation

    if isinstance(source, Path):
        if source.stat().st_size > MAX_FILE:
            raise Refused("the file is larger than overread reads")
        source = source.read_bytes()
    pixels: NDArray[Any] = to_eight_bit(read_thumbnail(source, longest=SIDE))
    return np.ascontiguousarray(apply_orientation(pixels, exif_orientation(source))).astype(
        np.uint8, copy=False
    )


def _draw_volume(source: Path | bytes) -> NDArray[np.uint8]:
    """The slice in the middle of the last stored axis: a packed file is read up to there only."""
    space = read_geometry(source)
    if read_header(source).size > MAX_BYTES or space.shape[0] * space.shape[1] > MAX_PIXELS:
        raise Refused("the volume is larger than overread reads")
    middle = space.shape[2] // 2
    one = read_slices(source, middle, middle)
    height, width, _ = space.shape
    thin: Geometry = space.model_copy(update={"shape": (height, width, 1)})
    plane = _PLANES.get(space.axes[2], "sagittal")
    picture = extract_slice(one, thin, plane, 0)
    grey = resample_square(_to_grey(picture), thin, plane, longest=SIDE, smooth=True)
    return np.ascontiguousarray(grey)


def _to_grey(values: NDArray[Any]) -> NDArray[np.uint8]:
    """HU in the lung window; what reaches down to no air is no chest CT, and is stretched."""
    plain = np.nan_to_num(values.astype(np.float32))
    if plain.size and plain.min() < -500:
        return apply_window(plain, "lung")
    low, high = np.percentile(plain, (1, 99)) if plain.size else (0.0, 1.0)
    scaled = (plain - low) * (255 / max(float(high - low), 1e-6))
    return np.clip(scaled, 0, 255).astype(np.uint8)


def encode_webp(pixels: NDArray[np.uint8]) -> bytes:
    """The pixels as WebP, no side longer than a thumbnail's."""
    import io

    from PIL import Image as Pillow

    image = Pillow.fromarray(np.ascontiguousarray(pixels))
    image.thumbnail((SIDE, SIDE), Pillow.Resampling.BILINEAR, reducing_gap=2.0)
    out = io.BytesIO()
    image.save(out, "WEBP", quality=78, method=2)
    return out.getvalue()
