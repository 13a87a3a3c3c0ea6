"""Answering with many bytes: ETag and 304, a range of them, gzip where it pays, HEAD."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from fastapi import Request
from starlette.responses import Response, StreamingResponse
from zlib_ng import zlib_ng

_CHUNK_BYTES = 4 << 20
"""Bytes that are handed on at a time."""
MAX_GZIP_BYTES = 64 << 20
"""Bytes above which nothing is packed: whoever asks would wait longer than for the line."""
_LOCAL_HOSTS = frozenset({"127.0.0.1", "::1", "localhost", "testclient"})


@dataclass(frozen=True)
class LazyBytes:
    """A response body that is made only when it is needed."""

    tag: str
    """Changes when the bytes do."""
    media: str
    length: int | None
    """How many; None where only making them tells."""
    make: Callable[[], Sequence[memoryview]]
    """The bytes, in pieces that follow each other."""
    compressible: bool = False
    """Whether they pack to almost nothing, so that packing pays even on one machine."""


def respond(request: Request, body: LazyBytes) -> Response:
    """The bytes, or as much of them as was asked for."""
    packed = _should_gzip(request, body)
    tag = f'"{body.tag}-gz"' if packed else f'"{body.tag}"'
    headers = {
        "etag": tag,
        "cache-control": "private, no-cache",
        "vary": "accept-encoding",
        "accept-ranges": "bytes",
    }
    if _etag_matches(request.headers.get("if-none-match", ""), tag):
        return Response(status_code=304, headers=headers)
    if body.length is None:
        made = body.make()
        body = replace(body, length=sum(map(len, made)), make=lambda: made)
    assert body.length is not None
    # Said even where nothing is packed: nobody on the way is to pack it then.
    headers["content-encoding"] = "gzip" if packed else "identity"
    if packed:
        data = _gzip(body.make()) if request.method != "HEAD" else b""
        return Response(data, media_type=body.media, headers=headers)
    first, last, status = 0, body.length - 1, 200
    asked = request.headers.get("range")
    if asked and request.headers.get("if-range", tag) == tag:
        span = parse_range(asked, body.length)
        if span == "none":
            headers["content-range"] = f"bytes */{body.length}"
            return Response(status_code=416, headers=headers)
        if span != "all":
            first, last = span
            status = 206
            headers["content-range"] = f"bytes {first}-{last}/{body.length}"
    headers["content-length"] = str(last - first + 1)
    if request.method == "HEAD":
        return Response(status_code=status, media_type=body.media, headers=headers)
    pieces = _iter_chunks(body.make(), first, last)
    if last - first < _CHUNK_BYTES:
        return Response(b"".join(pieces), status, media_type=body.media, headers=headers)
    return StreamingResponse(pieces, status, media_type=body.media, headers=headers)


def parse_range(header: str, length: int) -> tuple[int, int] | Literal["all", "none"]:
    """First and last byte of a Range header; all where it is none that is understood.

    >>> parse_range("bytes=2-5", 10), parse_range("bytes=-3", 10), parse_range("bytes=4-", 10)
    ((2, 5), (7, 9), (4, 9))
    >>> parse_range("bytes=10-", 10), parse_range("bytes=0-1,4-5", 10), parse_range("lines=1-2", 10)
    ('none', 'all', 'all')
    """
    found = re.fullmatch(r"\s*bytes\s*=\s*(\d{0,18})\s*-\s*(\d{0,18})\s*", header)
    if found is None or not (found[1] or found[2]):
        return "all"
    if not found[1]:
        count = int(found[2])
        return (max(0, length - count), length - 1) if count and length else "none"
    first = int(found[1])
    last = int(found[2]) if found[2] else length - 1
    if last < first and found[2]:
        return "all"
    return (first, min(last, length - 1)) if first < length else "none"


def _should_gzip(request: Request, body: LazyBytes) -> bool:
    if "range" in request.headers or "gzip" not in request.headers.get("accept-encoding", ""):
        return False
    if body.length is None or not 1024 <= body.length <= MAX_GZIP_BYTES:
        return False
    near = request.client is None or request.client.host in _LOCAL_HOSTS
    return body.compressible or not near


def _gzip(pieces: Sequence[memoryview]) -> bytes:
    packer = zlib_ng.compressobj(1, zlib_ng.DEFLATED, 31)
    return b"".join([*(packer.compress(piece) for piece in pieces), packer.flush()])


def _etag_matches(header: str, tag: str) -> bool:
    own = (part.strip().removeprefix("W/") for part in header.split(","))
    return any(part in ("*", tag) for part in own)


def _iter_chunks(parts: Sequence[memoryview], first: int, last: int) -> Iterator[bytes]:
    """The bytes from `first` to `last`, included, a few megabytes at a time."""
    at = 0
    for part in parts:
        low, high = max(first - at, 0), min(last + 1 - at, len(part))
        for begin in range(low, high, _CHUNK_BYTES):
            yield bytes(part[begin : min(begin + _CHUNK_BYTES, high)])
        at += len(part)
