"""Whether the pages of a parquet file can be what they say: a damaged one may ask for gigabytes.

A reader makes room for a page by the size in its header before it looks at the page. Where a block of a
file is gone, headers are read from other bytes, and the size can be anything up to 2 GB.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

_HEAD = 24
"""Bytes that hold the kind and both sizes of a page."""
_INTEGER = 0x15
"""In Thrift's compact form: the next field, a whole number of 32 bits."""
_SMALL = 64 << 20
"""A page that needs no more than this may say what it likes: it is read, and refused if it is damaged."""


def check_pages(path: Path, metadata: Any) -> None:
    """Raise ValueError where the first pages of a column say that they hold more than the column does."""
    with path.open("rb") as file:
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            for column in range(group.num_columns):
                chunk = group.column(column)
                for start in {chunk.dictionary_page_offset, chunk.data_page_offset} - {None}:
                    sizes = _page_sizes(file, start)
                    if sizes and max(sizes) > max(_SMALL, chunk.total_uncompressed_size):
                        raise ValueError(
                            f"a page of {chunk.path_in_schema} says it holds {max(sizes) / 1e6:,.0f} MB, "
                            f"and its column {chunk.total_uncompressed_size / 1e6:,.1f} MB"
                        )


def _page_sizes(file: IO[bytes], start: int) -> tuple[int, int] | None:
    """Unpacked and packed bytes of the page that begins there; nothing where no header does."""
    if start < 0:
        return None
    file.seek(start)
    head, at, found = file.read(_HEAD), 0, []
    for _ in range(3):
        if head[at : at + 1] != bytes([_INTEGER]):
            return None
        value, at = _read_integer(head, at + 1)
        found.append(value)
    return found[1], found[2]


def _read_integer(data: bytes, at: int) -> tuple[int, int]:
    """A number in groups of seven bits, its sign in the lowest; and where the next field begins.

    >>> _read_integer(bytes([0xAC, 0x02, 0x15]), 0)
    (150, 2)
    """
    value = shift = 0
    while at < len(data):
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            break
    return (value >> 1) ^ -(value & 1), at
