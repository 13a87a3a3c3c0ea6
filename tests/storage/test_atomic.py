"""Files are written whole or not at all."""

from __future__ import annotations

import gzip
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from overread.storage.atomic import open_atomic


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    """What stood there stands there still, and no part is left behind."""
    path = tmp_path / "card.json"
    path.write_bytes(b"old")

    def half() -> None:
        with open_atomic(path) as out:
            out.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half()
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["card.json"]


def test_many_threads_write_one_file_whole(tmp_path: Path) -> None:
    """The last one wins, and what stands there is one of the whole contents."""
    path = tmp_path / "deep" / "card.bin"

    def write(number: int) -> None:
        with open_atomic(path) as out:
            for _ in range(50):
                out.write(bytes([number]) * 100)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(100)))
    content = path.read_bytes()
    assert len(content) == 5000
    assert len(set(content)) == 1
    assert [p.name for p in path.parent.iterdir()] == ["card.bin"]


def test_gz_is_packed_once(tmp_path: Path) -> None:
    """A name that ends in .gz packs what is written, unless it is packed already."""
    with open_atomic(tmp_path / "a.gz") as out:
        out.write(b"plain")
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"plain"
    with open_atomic(tmp_path / "b.gz", packed=False) as out:
        out.write((tmp_path / "a.gz").read_bytes())
    assert (tmp_path / "b.gz").read_bytes() == (tmp_path / "a.gz").read_bytes()
