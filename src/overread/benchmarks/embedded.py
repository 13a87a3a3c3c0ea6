"""Pictures embedded in a parquet file, fetched one by one without holding the rest.

Row groups of such files can be gigabytes, so a column is read as a stream that only moves on;
readers go through the cases in order, which costs each byte once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from overread.errors import NotThere, PictureError
from overread.pixels.fence import Fence

_MOST_STREAMS = 64
"""A case has at most 49 columns of pictures; files of shards gone by are closed."""


class _Place(NamedTuple):
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
        self._index: dict[str, list[_Place]] | None = None
        self._streams: dict[tuple[int, str], tuple[int, Iterator[Any], Any]] = {}
        self._lock = Lock()  # a check asks from several threads, and a stream has one place

    def __bool__(self) -> bool:
        """Whether any picture is embedded at all."""
        with self._lock:
            return bool(self._places())

    def read(self, file: str) -> bytes:
        """The bytes of one picture."""
        with self._lock:
            places = self._places().get(file, [])
            found = {data for data in (self._fetch(place) for place in places) if data}
        if not found:
            raise NotThere(f"there is no file {file}, and none of that name is embedded")
        if len(found) > 1:
            # Rows may share a picture; a name for several different ones tells nothing.
            raise PictureError(
                f"{len(found)} different embedded pictures have this name", where=file
            )
        return found.pop()

    def _places(self) -> dict[str, list[_Place]]:
        if self._index is None:
            self._index = {}
            for number, file in enumerate(self._files):
                for name, place in _named(number, self._fence.path(file)):
                    self._index.setdefault(name, []).append(place)
        return self._index

    def _fetch(self, place: _Place) -> bytes | None:
        """The bytes at one place; the column's stream stays open where it is."""
        from overread.benchmarks.sheets import UNREADABLE

        key = (place.file, place.column)
        at, stream, table = self._streams.pop(key, (place.row + 1, iter(()), None))
        try:
            if at > place.row:  # gone by already: begin again
                table = self._reopened(table, place)
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

    def _reopened(self, table: Any, place: _Place) -> Any:
        """The column's file from its beginning; the stream unused for longest makes room."""
        from overread.benchmarks.sheets import opened

        if table is not None:
            table.close()
        while len(self._streams) >= _MOST_STREAMS:
            _, _, oldest = self._streams.pop(next(iter(self._streams)))
            oldest.close()
        return opened(self._fence.path(self._files[place.file]))


def _named(number: int, path: Path) -> Iterator[tuple[str, _Place]]:
    """(file name, place) of every picture of one parquet file."""
    from overread.benchmarks.sheets import UNREADABLE, embedded_columns, opened, rows_in

    try:
        with opened(path) as table:
            pictures = embedded_columns(table.schema_arrow)
        for row, cells in enumerate(rows_in(path) if pictures else ()):
            for column, in_struct in pictures.items():
                name = cells.get(f"{column}_path")
                if isinstance(name, str):
                    yield name, _Place(number, row, column, in_struct)
    except UNREADABLE as error:
        raise PictureError(f"the parquet file cannot be read ({error})", where=str(path)) from None
