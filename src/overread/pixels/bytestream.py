"""Bytes of a file or a buffer, inflated on the way where they are gzip, never more than asked.

A MetaImage file comes as the NIfTI file it would be, so that it is read wherever NIfTI is.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from zlib_ng import gzip_ng, zlib_ng

from overread.errors import NotThere, PictureError, Refused, Truncated
from overread.pixels.metaimage import MARKS, MetaImageStream

GZIP_MAGIC = b"\x1f\x8b"
DEFLATE_LIMIT = 1032
"""No deflate stream grows by more than this factor: a header that claims more is refused."""

MAX_TRAILING_BYTES = 1 << 28
"""Bytes after the last voxel that are still read, to see whether the file is complete."""

_DECODE_ERRORS: Any = (OSError, zlib.error, zlib_ng.error, ValueError)


class ByteStream:
    """Reads forward through a file, plain or gzip, with errors that name the file."""

    def __init__(self, raw: BinaryIO, *, name: str, stored: int) -> None:
        """`stored` is the size on disk, which bounds what the stream can hold."""
        self.name = name
        magic = raw.read(16)
        raw.seek(0)
        self.is_gzip = magic[:2] == GZIP_MAGIC
        self.is_packed = self.is_gzip
        inflating: Any = gzip_ng.GzipNGFile
        self._in: Any = inflating(fileobj=raw, mode="rb") if self.is_gzip else raw
        self.is_metaimage = magic.startswith(MARKS)
        if self.is_metaimage:
            self._in = MetaImageStream(raw, name=name)
            self.is_packed = self._in.is_packed
        self.max_bytes = stored * DEFLATE_LIMIT if self.is_packed else stored

    def read(self, size: int) -> bytes:
        """Exactly `size` bytes."""
        data = bytearray(size)
        self.fill(memoryview(data))
        return bytes(data)

    def fill(self, buffer: memoryview) -> None:
        """Fill the whole buffer, or raise `Truncated`."""
        done = 0
        view = buffer.cast("B")
        try:
            while done < len(view):
                got = self._in.readinto(view[done:])
                if not got:
                    break
                done += got
        except EOFError:
            raise self._truncated_error(done, len(view)) from None
        except _DECODE_ERRORS as error:
            raise PictureError(
                f"the compressed data are damaged ({error})", where=self.name, remedy=REFETCH
            ) from None
        if done < len(view):
            raise self._truncated_error(done, len(view))

    def skip(self, size: int, scratch: memoryview) -> None:
        """Go `size` bytes on, through a buffer that is thrown away."""
        while size > 0:
            step = min(size, len(scratch))
            self.fill(scratch[:step])
            size -= step

    def finish(self) -> int:
        """Read to the end, so that a cut or damaged tail is noticed; the bytes that were left."""
        scratch = memoryview(bytearray(1 << 16))
        left = 0
        try:
            while got := self._in.readinto(scratch):
                left += got
                if left > MAX_TRAILING_BYTES:
                    raise Refused(
                        f"the file goes on for over {MAX_TRAILING_BYTES:,} bytes after its last voxel",
                        where=self.name,
                        remedy="write the file again",
                    )
        except EOFError:
            kind = "gzip" if self.is_gzip else "compressed"
            raise Truncated(f"the {kind} stream is cut off", where=self.name, remedy=REFETCH) from None
        except _DECODE_ERRORS as error:
            raise PictureError(
                f"the compressed data are damaged ({error})", where=self.name, remedy=REFETCH
            ) from None
        return left

    def _truncated_error(self, done: int, wanted: int) -> Truncated:
        kind = "gzip stream" if self.is_gzip else "compressed stream" if self.is_packed else "file"
        return Truncated(
            f"the {kind} is cut off: {wanted - done:,} more bytes were expected",
            where=self.name,
            remedy=REFETCH,
        )


REFETCH = "fetch or copy the file again"
"""What to do about a damaged file."""


@contextmanager
def open_stream(source: Path | bytes, *, name: str = "") -> Iterator[ByteStream]:
    """Open a path or a buffer as a `ByteStream`."""
    if isinstance(source, bytes):
        yield ByteStream(io.BytesIO(source), name=name or "a buffer", stored=len(source))
        return
    label = name or str(source)
    try:
        raw = source.open("rb")
    except FileNotFoundError:
        raise NotThere("there is no such file", where=label) from None
    except OSError as error:
        raise PictureError(f"the file cannot be opened ({error.strerror})", where=label) from None
    with raw:
        yield ByteStream(raw, name=label, stored=source.stat().st_size)
