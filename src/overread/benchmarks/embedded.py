"""Pictures embedded in a parquet file, fetched one by one without holding the rest.

Row groups of such files can be gigabytes, so a column is read as a stream that only moves on;
readers go through the cases in order, which costs each byte once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Any

from overread.errors import NotThere, PictureError

_SLOT = re.compile(r"image_(\d+)")


class EmbeddedPictures:
    """File name of a picture → its bytes in the parquet files of one split."""

    def __init__(self, files: list[Path]) -> None:
        """Nothing is opened yet."""
        self._files = files
        self._index: dict[str, tuple[int, int, str]] | None = None
        self._streams: dict[tuple[int, str], tuple[int, Iterator[Any]]] = {}
        self._lock = Lock()  # a check asks from several threads, and a stream has one place

    def read(self, file: str) -> bytes:
        """The bytes of one picture."""
        with self._lock:
            return self._read(file)

    def _read(self, file: str) -> bytes:
        place = self._places().get(file)
        if place is None:
            raise NotThere(f"there is no file {file}, and none of that name is embedded")
        try:
            data = self._fetch(*place)
        except (OSError, ValueError, KeyError, StopIteration) as error:
            raise PictureError(
                f"the embedded picture cannot be read ({error})", where=file
            ) from None
        if not data:
            raise NotThere(f"{file} is not embedded either")
        return data

    def __bool__(self) -> bool:
        """Whether any picture is embedded at all."""
        with self._lock:
            return bool(self._places())

    def _places(self) -> dict[str, tuple[int, int, str]]:
        if self._index is None:
            self._index = self._built()
        return self._index

    def _fetch(self, number: int, row: int, column: str) -> bytes | None:
        from pyarrow import parquet

        at, stream = self._streams.get((number, column), (row + 1, iter(())))
        if at > row:  # gone by already: begin again
            table = parquet.ParquetFile(self._files[number], buffer_size=1 << 20, pre_buffer=False)
            stream = table.iter_batches(batch_size=1, columns=[f"{column}.bytes"])
            at = 0
        for _ in range(row - at):
            next(stream)
        cell = next(stream).column(0)[0].as_py()
        self._streams[(number, column)] = (row + 1, stream)
        return cell["bytes"] if cell else None

    def _built(self) -> dict[str, tuple[int, int, str]]:
        import pyarrow as pa
        from pyarrow import parquet

        index: dict[str, tuple[int, int, str]] = {}
        for number, path in enumerate(self._files):
            try:
                with parquet.ParquetFile(path) as table:
                    schema = table.schema_arrow
                    slots = [
                        field.name
                        for field in schema
                        if _SLOT.fullmatch(field.name)
                        and pa.types.is_struct(field.type)
                        and {"bytes"} <= {part.name for part in field.type}
                    ]
                    names = [f"{slot}_path" for slot in slots if f"{slot}_path" in schema.names]
                    if not names:
                        continue
                    row = 0
                    for batch in table.iter_batches(batch_size=512, columns=names):
                        for cells in batch.to_pylist():
                            for name, file in cells.items():
                                if file:
                                    index[str(file)] = (number, row, name.removesuffix("_path"))
                            row += 1
            except (pa.ArrowException, OSError, ValueError) as error:
                raise PictureError(f"the parquet file cannot be read ({error})") from None
        return index
