"""Volumes as they are shown: inflated once, whole numbers of HU, mapped from the disk afterwards.

The first request for a volume inflates it; from then on a plain NIfTI file in the user's cache
answers. It is named by the state of its source, so a file that changed is read anew. While that
file is being written the voxels in memory answer, so nobody waits for the disk.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from overread.core import Geometry
from overread.errors import OverreadError
from overread.pixels.geometry import Array
from overread.pixels.nifti import header_bytes, read_geometry, read_header, read_volume
from overread.storage.atomic import open_atomic, remove_leftovers
from overread.storage.cache_folder import cache_folder
from overread.storage.digests import digest, file_identity

MAX_BYTES = 6 << 30
"""Bytes of inflated volumes that are kept on disk; those not looked at for longest go first."""
_MAX_OPEN = 8
"""Volumes that are kept open."""
_MAX_PARALLEL = 2
"""Volumes that are inflated at the same time; each takes its size in memory."""
_HEADER = 352
_FORMAT = 1

Voxels = NDArray[np.int16]
"""In the order of the file: the first axis fastest."""


@dataclass(frozen=True)
class OpenVolume:
    """One volume that is ready to be cut."""

    key: str
    """Changes when the file does; good as an ETag."""
    voxels: Voxels
    space: Geometry
    low: int
    high: int
    """The least and the greatest HU."""


class VolumeCache:
    """Opens volumes by the files they came from; may be asked from many threads."""

    def __init__(self, folder: Path | None = None, *, most: int = MAX_BYTES) -> None:
        """`folder` is where inflated volumes lie; by default in the user's cache."""
        self._own = folder
        self._most = most
        self._lock = threading.Lock()
        self._open: OrderedDict[str, OpenVolume] = OrderedDict()
        self._busy: dict[str, threading.Lock] = {}
        self._inflating = threading.Semaphore(_MAX_PARALLEL)
        self._writing: set[threading.Thread] = set()

    @property
    def folder(self) -> Path:
        """Where inflated volumes lie."""
        return self._own if self._own is not None else cache_folder() / "volumes"

    def get_open(self, source: Path | bytes) -> OpenVolume | None:
        """The volume, where it is open already; never waits."""
        with self._lock:
            return self._open.get(cache_key(source))

    def open(self, source: Path | bytes, *, name: str) -> OpenVolume:
        """The volume of a NIfTI file; inflated now where that was never done."""
        key = cache_key(source)
        with self._lock:
            held = self._open.get(key)
            if held is not None:
                self._open.move_to_end(key)
                return held
            own = self._busy.setdefault(key, threading.Lock())
        try:
            with own:  # whoever comes second finds it done
                with self._lock:
                    held = self._open.get(key)
                if held is None:
                    held = self._map_file(key, source, name) or self._inflate(key, source, name)
                    self._remember(held)
                return held
        finally:
            with self._lock:
                self._busy.pop(key, None)

    def preload(self, source: Path | bytes, *, name: str) -> None:
        """Have a volume inflated while somebody does something else; errors come with `open`."""
        if self.get_open(source) is not None:
            return

        def work() -> None:
            with contextlib.suppress(OverreadError, OSError, MemoryError):
                self.open(source, name=name)

        threading.Thread(target=work, name="inflating", daemon=True).start()

    def wait_until_written(self) -> None:
        """Wait until everything is on disk."""
        for thread in list(self._writing):
            thread.join()

    def _remember(self, held: OpenVolume) -> None:
        with self._lock:
            self._open[held.key] = held
            while len(self._open) > _MAX_OPEN:
                self._open.popitem(last=False)

    def _map_file(self, key: str, source: Path | bytes, name: str) -> OpenVolume | None:
        """The volume from an earlier time; None where there is none, or not a whole one."""
        path = self.folder / f"{key}.nii"
        try:
            header = read_header(path)
            space = read_geometry(source, name=name)
            shape = space.shape
            whole = path.stat().st_size == _HEADER + 2 * math.prod(shape)
            if header.shape != shape or header.dtype != np.int16 or not whole:
                return None
            with path.open("rb") as file:
                head = file.read(_HEADER)
            voxels: Voxels = np.memmap(path, dtype="<i2", mode="r", offset=_HEADER, shape=shape, order="F")
            high, low = np.frombuffer(head, dtype="<f4", count=2, offset=124).tolist()
            os.utime(path)  # the newest look, for what goes first
        except (OverreadError, OSError, ValueError):
            return None
        return OpenVolume(key, voxels, space, int(low), int(high))

    def _inflate(self, key: str, source: Path | bytes, name: str) -> OpenVolume:
        with self._inflating:
            raw, space = read_volume(source, name=name)
            voxels = to_int16_hu(raw)
        held = OpenVolume(key, voxels, space, int(voxels.min()), int(voxels.max()))

        def work() -> None:
            try:
                self._write(held)
            except OSError:
                return  # a cache that cannot be written costs memory, no more
            finally:
                self._writing.discard(threading.current_thread())
            mapped = self._map_file(key, source, name)
            with self._lock:
                if mapped is not None and key in self._open:
                    self._open[key] = mapped  # what is in memory may go

        thread = threading.Thread(target=work, name="keeping", daemon=True)
        self._writing.add(thread)
        thread.start()
        return held

    def _write(self, held: OpenVolume) -> None:
        folder = self.folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        affine = np.asarray(held.space.affine)
        head = bytearray(header_bytes(held.space.shape, np.int16, affine))
        head[124:132] = np.array([held.high, held.low], dtype="<f4").tobytes()
        size = _HEADER + held.voxels.nbytes
        if size > self._most:
            return
        self._trim(self._most - size)
        with open_atomic(folder / f"{held.key}.nii", compress=False) as out:
            out.write(bytes(head))
            for k in range(held.space.shape[2]):
                out.write(held.voxels[:, :, k].tobytes(order="F"))

    def _trim(self, room: int) -> None:
        """Take away what was not looked at for longest, until all the rest fits into `room`."""
        found: list[tuple[float, int, Path]] = []
        remove_leftovers(self.folder, seconds=3600)
        for path in self.folder.glob("*.nii"):
            with contextlib.suppress(OSError):
                status = path.stat()
                found.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if total <= room:
                return
            with contextlib.suppress(OSError):
                path.unlink()
                total -= size


def cache_key(source: Path | bytes) -> str:
    """What one state of a file is called in the cache."""
    return digest("volume", _FORMAT, *file_identity(source))


def to_int16_hu(raw: Array) -> Voxels:
    """Any voxels as int16 in Fortran order: rounded, cut off at its ends, and -1024 for no number.

    >>> to_int16_hu(np.array([[[0.6, np.nan, 1e9]]])).tolist()
    [[[1, -1024, 32767]]]
    """
    if raw.dtype == np.int16:
        return np.asfortranarray(raw)
    out: Voxels = np.empty(raw.shape, dtype=np.int16, order="F")
    ends = np.iinfo(np.int16)
    for k in range(raw.shape[2]):  # slice by slice: a whole copy as floats would be too much
        part = raw[:, :, k]
        if np.issubdtype(part.dtype, np.floating):
            part = np.rint(np.where(np.isnan(part), -1024, part))
        out[:, :, k] = np.clip(part, ends.min, ends.max).astype(np.int16)
    return out


CACHE = VolumeCache()
"""The one that the page uses."""
