"""Pictures embedded in parquet files, read one by one without loading the others.

Row groups of such files can be gigabytes, so each column is read as a forward-only stream. Cases
are read in order, so each byte is read once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from overread.errors import NotThere, PictureError
from overread.storage.fence import Fence

_MAX_STREAMS = 64
"""A case has at most 49 columns of pictures; files of shards gone by are closed."""


class _CellAddress(NamedTuple):
    file: int
    row: int
    column: str
    in_struct: bool


class EmbeddedPictures:
    """File name of a picture → its bytes in the parquet files of one split."""

    def __init__(self, fence: Fence, files: list[str]) -> None:
        """Nothing is opened yet."""
        self._fence = fence
        self._files = files
        self._index: dict[str, list[_CellAddress]] | None = None
        self._streams: dict[tuple[int, str], tuple[int, Iterator[Any], Any]] = {}
        self._lock = Lock()  # a check asks from several threads, and a stream has one place

    def __bool__(self) -> bool:
        """Whether any picture is embedded at all."""
        with self._lock:
            return bool(self._index_cells())

    def read(self, file: str) -> bytes:
        """The bytes of one picture."""
        with self._lock:
            places = self._index_cells().get(file, [])
            found = {data for data in (self._fetch(place) for place in places) if data}
        if not found:
            raise NotThere(f"there is no file {file}, and none of that name is embedded")
        if len(found) > 1:
            # Rows may share a picture; a name for several different ones tells nothing.
            raise PictureError(f"{len(found)} different embedded pictures have this name", where=file)
        return found.pop()

    def _index_cells(self) -> dict[str, list[_CellAddress]]:
        if self._index is None:
            self._index = {}
            for number, file in enumerate(self._files):
                for name, place in _list_pictures(number, self._fence.path(file)):
                    self._index.setdefault(name, []).append(place)
        return self._index

    def _fetch(self, place: _CellAddress) -> bytes | None:
        """The bytes at one place; the column's stream stays open where it is."""
        from overread.benchmarks.parquet_rows import UNREADABLE

        key = (place.file, place.column)
        at, stream, table = self._streams.pop(key, (place.row + 1, iter(()), None))
        try:
            if at > place.row:  # gone by already: begin again
                table = self._reopen(table, place)
                column = f"{place.column}.bytes" if place.in_struct else place.column
                stream = table.iter_batches(batch_size=1, columns=[column])
                at = 0
            for _ in range(place.row - at):
                next(stream)
            cell = next(stream).column(0)[0].as_py()
        except (*UNREADABLE, StopIteration) as error:
            if table is not None:
                table.close()
            raise PictureError(f"the embedded picture cannot be read ({error})") from None
        self._streams[key] = (place.row + 1, stream, table)
        data = cell.get("bytes") if isinstance(cell, dict) else cell
        if data is not None and not isinstance(data, bytes):
            raise PictureError(f"the embedded picture is a {type(data).__name__}, not bytes")
        return data

    def _reopen(self, table: Any, place: _CellAddress) -> Any:
        """Reopen the column's file; if too many are open, close the least recently used."""
        from overread.benchmarks.parquet_rows import open_parquet

        if table is not None:
            table.close()
        while len(self._streams) >= _MAX_STREAMS:
            _, _, oldest = self._streams.pop(next(iter(self._streams)))
            oldest.close()
        return open_parquet(self._fence.path(self._files[place.file]))


def _list_pictures(number: int, path: Path) -> Iterator[tuple[str, _CellAddress]]:
    """(file name, place) of every picture of one parquet file."""
    from overread.benchmarks.parquet_rows import UNREADABLE, embedded_columns, open_parquet, read_parquet_rows

    try:
        with open_parquet(path) as table:
            pictures = embedded_columns(table.schema_arrow)
        for row, cells in enumerate(read_parquet_rows(path) if pictures else ()):
            for column, in_struct in pictures.items():
                name = cells.get(f"{column}_path")
                if isinstance(name, str):
                    yield name, _CellAddress(number, row, column, in_struct)
    except UNREADABLE as error:
        raise PictureError(f"the parquet file cannot be read ({error})", where=str(path)) from None
