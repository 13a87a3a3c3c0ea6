"""Writing files so that a kill at any moment leaves the old file or the new one, never half."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from zlib_ng import gzip_ng


@contextmanager
def written(path: Path, *, packed: bool = True) -> Iterator[BinaryIO]:
    """A stream that becomes `path` when all went well.

    Where the name ends in .gz what is written gets packed, unless `packed` says that it is not
    to be (a copy of bytes that are packed already).

    The gzip header carries no time and no name, so equal content gives equal bytes.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # A name of its own: several threads may write the same file, and the last one wins whole.
    part = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        with part.open("wb") as raw:
            if packed and path.name.endswith(".gz"):
                deflating: Any = gzip_ng.GzipNGFile
                with deflating("", "wb", 4, raw, mtime=0) as stream:
                    yield stream
            else:
                yield raw
            raw.flush()
            os.fsync(raw.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
