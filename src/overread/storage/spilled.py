"""Mappings that do not fill the memory: the first values are held, the others lie in a scratch file.

The file has no name and goes when the mapping does, however the process ends.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import threading
import weakref
from array import array
from collections.abc import Hashable, ItemsView, Iterator, Mapping, ValuesView
from typing import IO, Any, TypeVar

from overread.errors import OverreadError

HELD = 1024
"""Values that are held in memory: more than most commands ever see."""
_AT_ONCE = 1 << 18
"""Bytes that are written or read at once where values are gone through in their order."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SpilledMapping(Mapping[K, V]):
    """Key → value, in the order in which keys came first; a key that is set again keeps its place.

    Values beyond the first `held` are pickled and read again each time they are asked for, so that
    memory grows by the keys alone. Several threads may look things up once all of them are set.

    >>> found: SpilledMapping[str, list[int]] = SpilledMapping(held=1)
    >>> found["a"], found["b"], found["c"] = [1], [2], [3]
    >>> found["b"], list(found), len(found), "d" in found
    ([2], ['a', 'b', 'c'], 3, False)
    """

    def __init__(self, *, held: int = HELD) -> None:
        """Nothing is in it yet, and there is no file before it is needed."""
        self._most = held
        self._places: dict[K, int] = {}
        self._held: list[V] = []
        self._begins, self._lengths = array("q"), array("q")
        self._file: IO[bytes] | None = None
        self._end = 0
        self._unwritten = bytearray()
        self._lock = threading.Lock()

    def __setitem__(self, key: K, value: V) -> None:
        place = self._places.setdefault(key, len(self._places))
        if place < self._most:
            self._held[place : place + 1] = [value]
            return
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        beyond = place - self._most
        if beyond == len(self._begins):
            self._begins.append(0)
            self._lengths.append(0)
        self._begins[beyond], self._lengths[beyond] = self._end, len(data)
        self._unwritten += data
        self._end += len(data)
        if len(self._unwritten) >= _AT_ONCE:
            self._write()

    def __getitem__(self, key: K) -> V:
        place = self._places[key]
        if place < self._most:
            return self._held[place]
        begin, length = self._begins[place - self._most], self._lengths[place - self._most]
        return self._load(self._read(begin, length))

    def __iter__(self) -> Iterator[K]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self):,}>"

    def values(self) -> ValuesView[V]:
        """The values, one by one, in the order of the keys."""
        return _Values(self)

    def items(self) -> ItemsView[K, V]:
        """Keys and values, one pair after the other."""
        return _Items(self)

    @property
    def spills(self) -> bool:
        """Whether any value is not in memory."""
        return bool(self._begins)

    def in_order(self) -> Iterator[V]:
        """All values in the order of the keys, neighbours of the file read together."""
        yield from self._held
        block, start = b"", 0
        for begin, length in zip(self._begins, self._lengths, strict=True):
            if not start <= begin <= begin + length <= start + len(block):
                block, start = self._read(begin, max(length, _AT_ONCE)), begin
            yield self._load(memoryview(block)[begin - start : begin - start + length])

    def _load(self, data: bytes | memoryview) -> V:
        value: V = pickle.loads(data)  # noqa: S301  # written by this very process
        return value

    def _write(self) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
                weakref.finalize(self, self._file.close)
            rest = memoryview(self._unwritten)
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise OverreadError(
                f"a scratch file cannot be written ({error.strerror})",
                where=tempfile.gettempdir(),
                remedy="make room there, or name another folder with TMPDIR",
            ) from None
        self._unwritten = bytearray()

    def _read(self, begin: int, length: int) -> bytes:
        """So many bytes of the file from there on, or what there is of them."""
        with self._lock:
            written = self._end - len(self._unwritten)
            if begin >= written:
                return bytes(self._unwritten[begin - written : begin - written + length])
            if begin + length > written:
                self._write()
            assert self._file is not None
            self._file.seek(begin)
            parts, left = [], min(length, self._end - begin)
            while left:  # one call may read less
                parts.append(self._file.read(left))
                left -= len(parts[-1])
            self._file.seek(0, os.SEEK_END)
            return parts[0] if len(parts) == 1 else b"".join(parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_items, (self._most, list(self.items()))


def _from_items(held: int, items: list[tuple[Any, Any]]) -> SpilledMapping[Any, Any]:
    found: SpilledMapping[Any, Any] = SpilledMapping(held=held)
    for key, value in items:
        found[key] = value
    return found


class _Values(ValuesView[V]):
    def __init__(self, mapping: SpilledMapping[Any, V]) -> None:
        super().__init__(mapping)
        self.mapping = mapping

    def __iter__(self) -> Iterator[V]:
        return self.mapping.in_order()


class _Items(ItemsView[K, V]):
    def __init__(self, mapping: SpilledMapping[K, V]) -> None:
        super().__init__(mapping)
        self.mapping = mapping

    def __iter__(self) -> Iterator[tuple[K, V]]:
        return zip(self.mapping, self.mapping.in_order(), strict=True)
