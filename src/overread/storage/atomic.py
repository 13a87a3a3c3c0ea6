"""Writing files so that a kill at any moment leaves the old file or the new one, never half.

A kill that nobody can catch leaves a hidden `.part` beside it as well, which nothing reads.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from zlib_ng import gzip_ng

from overread.errors import UsageError


@contextmanager
def open_atomic(path: Path, *, packed: bool = True, fresh: bool = False) -> Iterator[BinaryIO]:
    """A stream that becomes `path` when all went well.

    Where the name ends in .gz what is written gets packed, unless `packed` says that it is not
    to be (a copy of bytes that are packed already). With `fresh`, a file that is there by then is
    never replaced.

    The gzip header carries no time and no name, so equal content gives equal bytes.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # A name of its own: several threads may write the same file, and the last one wins whole.
    part = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        with part.open("xb") as raw:
            if packed and path.name.endswith(".gz"):
                deflating: Any = gzip_ng.GzipNGFile
                with deflating("", "wb", 4, raw, mtime=0) as stream:
                    yield stream
            else:
                yield raw
            raw.flush()
            os.fsync(raw.fileno())
        if fresh:
            _link_exclusive(part, path)
        else:
            part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _link_exclusive(part: Path, path: Path) -> None:
    """Give the finished file its name, unless something has it already: one step, no race."""
    try:
        os.link(part, path)
    except FileExistsError:
        raise UsageError(
            f"{path} is there already", remedy="choose another folder, or remove it first"
        ) from None
    except OSError:  # a file system without links
        part.replace(path)
