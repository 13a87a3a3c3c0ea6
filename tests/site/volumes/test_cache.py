"""The cache of inflated volumes: made once, believed only whole, and bounded."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pytest

from overread.errors import PictureError
from overread.pixels.nifti import read_volume, write_volume
from overread.site.volumes import cache as volume_cache
from overread.site.volumes.cache import VolumeCache, cache_key


def written(folder: Path, seed: int) -> Path:
    """A small scan on disk."""
    values = np.random.default_rng(seed).integers(-900, 900, (20, 16, 12)).astype(np.int16)
    path = folder / f"scan-{seed}.nii.gz"
    write_volume(path, values, np.diag([-1.0, -1.0, 2.0, 1.0]))
    return path


def test_inflated_once_and_mapped_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many who ask at once wait for one; another process finds the file and inflates nothing."""
    path = written(tmp_path, 1)
    calls: list[str] = []

    def counted(source: Path | bytes, *, name: str = "") -> object:
        calls.append(name)
        return read_volume(source, name=name)

    monkeypatch.setattr(volume_cache, "read_volume", counted)
    cache = VolumeCache(tmp_path / "kept")
    threads = [threading.Thread(target=cache.open, args=(path,), kwargs={"name": "ct"}) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    first = cache.open(path, name="ct")
    cache.wait_until_written()
    assert calls == ["ct"]
    later = VolumeCache(tmp_path / "kept").open(path, name="ct")
    assert calls == ["ct"]
    assert isinstance(later.voxels, np.memmap)
    assert (later.voxels == first.voxels).all()
    assert (later.low, later.high, later.space) == (first.low, first.high, first.space)


def test_a_changed_file_is_read_anew(tmp_path: Path) -> None:
    """The name in the cache is that of one state of the file."""
    path = written(tmp_path, 1)
    cache = VolumeCache(tmp_path / "kept")
    before = cache.open(path, name="ct")
    written(tmp_path, 2).replace(path)
    os.utime(path, ns=(1, 10**18))
    after = cache.open(path, name="ct")
    assert before.key != after.key
    assert (before.voxels != after.voxels).any()


def test_a_cut_off_copy_is_not_believed(tmp_path: Path) -> None:
    """What is not whole is inflated again and mended."""
    path = written(tmp_path, 3)
    cache = VolumeCache(tmp_path / "kept")
    good = np.array(cache.open(path, name="ct").voxels)
    cache.wait_until_written()
    kept = tmp_path / "kept" / f"{cache_key(path)}.nii"
    whole = kept.read_bytes()
    for damaged in (whole[:-10], whole[:100], b""):
        kept.write_bytes(damaged)
        again = VolumeCache(tmp_path / "kept")
        assert (again.open(path, name="ct").voxels == good).all()
        again.wait_until_written()
        assert kept.read_bytes() == whole


def test_the_oldest_go_first(tmp_path: Path) -> None:
    """No more than so many bytes are kept; what was looked at last stays."""
    size = 352 + 2 * 20 * 16 * 12
    cache = VolumeCache(tmp_path / "kept", most=3 * size)
    paths = [written(tmp_path, seed) for seed in range(5)]
    for number, path in enumerate(paths):
        cache.open(path, name="ct")
        cache.wait_until_written()
        kept = tmp_path / "kept" / f"{cache_key(path)}.nii"
        os.utime(kept, (1000 + number, 1000 + number))
        total = sum(file.stat().st_size for file in (tmp_path / "kept").glob("*.nii"))
        assert total <= 3 * size
    left = {file.stem for file in (tmp_path / "kept").glob("*.nii")}
    assert left == {cache_key(path) for path in paths[-3:]}


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    """The volume is shown nevertheless, from memory."""
    (tmp_path / "kept").write_text("a file where the folder should be")
    cache = VolumeCache(tmp_path / "kept")
    held = cache.open(written(tmp_path, 4), name="ct")
    cache.wait_until_written()
    assert held.voxels.shape == (20, 16, 12)


def test_floats_and_strange_numbers(tmp_path: Path) -> None:
    """HU are rounded and cut off at the ends; no number is air's."""
    values = np.zeros((3, 2, 2), np.float32)
    values[:, 0, 0] = (12.6, np.nan, 1e6)
    write_volume(tmp_path / "f.nii", values, np.eye(4))
    held = VolumeCache(tmp_path / "kept").open(tmp_path / "f.nii", name="ct")
    assert held.voxels[:, 0, 0].tolist() == [13, -1024, 32767]


def test_a_damaged_scan_can_be_asked_for_again(tmp_path: Path) -> None:
    """An error leaves nothing behind: once the file is mended, it is read."""
    path = written(tmp_path, 5)
    good = path.read_bytes()
    path.write_bytes(good[:200])
    cache = VolumeCache(tmp_path / "kept")
    for _ in range(2):
        with pytest.raises(PictureError):
            cache.open(path, name="ct")
    path.write_bytes(good)
    assert cache.open(path, name="ct").voxels.shape == (20, 16, 12)
