"""Files are written whole or not at all."""

from __future__ import annotations

import errno
import gzip
import os
import signal
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from overread.errors import UsageError
from overread.storage.atomic import open_atomic, remove_leftovers, remove_part_of, replace_folder, stage


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
    with open_atomic(tmp_path / "b.gz", compress=False) as out:
        out.write((tmp_path / "a.gz").read_bytes())
    assert (tmp_path / "b.gz").read_bytes() == (tmp_path / "a.gz").read_bytes()


def test_an_exclusive_file_never_replaces_another(tmp_path: Path) -> None:
    """Also where the other one came while this one was written."""
    path = tmp_path / "sheet.csv"

    def write() -> None:
        with open_atomic(path, exclusive=True) as out:
            out.write(b"ours")
            path.write_bytes(b"theirs")

    with pytest.raises(UsageError, match="already exists"):
        write()
    assert path.read_bytes() == b"theirs"
    assert [p.name for p in tmp_path.iterdir()] == ["sheet.csv"]


def test_a_private_file_is_private_from_the_start(tmp_path: Path) -> None:
    """No moment at which others could read it."""
    with open_atomic(tmp_path / "secret", mode=0o600) as out:
        out.write(b"x")
        (part,) = tmp_path.iterdir()
        assert stat.S_IMODE(part.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600


def test_a_folder_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    """A failure leaves the old one, success the new one alone, and nothing made takes it away."""
    out = tmp_path / "release"

    def write(name: str, *, fails: bool = False) -> None:
        with replace_folder(out) as part:
            part.mkdir()
            (part / name).touch()
            if fails:
                raise RuntimeError

    write("first")
    with pytest.raises(RuntimeError):
        write("second", fails=True)
    assert [path.name for path in out.iterdir()] == ["first"]
    write("third")
    assert [path.name for path in out.iterdir()] == ["third"]
    assert [path.name for path in tmp_path.iterdir()] == ["release"]
    with replace_folder(out):
        pass
    assert not list(tmp_path.iterdir())


def test_what_kills_left_is_cleared_away(tmp_path: Path) -> None:
    """Our own hidden names alone, below too where asked, and nothing that is being written."""
    young, old = tmp_path / f".{'a' * 32}.part", tmp_path / f".{'b' * 32}.part"
    deep = tmp_path / "arrays" / f".{'c' * 32}.part"
    others = [tmp_path / ".mine.part", tmp_path / "x.part"]
    deep.parent.mkdir()
    for path in (young, old, deep, *others):
        path.touch()
    os.utime(old, (time.time() - 7200,) * 2)
    remove_leftovers(tmp_path, seconds=3600)
    assert (young.exists(), old.exists(), deep.exists()) == (True, False, True)
    remove_leftovers(tmp_path)
    assert (young.exists(), deep.exists()) == (False, True)
    remove_leftovers(tmp_path, f"**/.{'?' * 32}.part")
    assert not deep.exists()
    assert all(path.exists() for path in others)
    (tmp_path / ".release-1" / "sub").mkdir(parents=True)
    remove_leftovers(tmp_path, ".release-*")
    assert not (tmp_path / ".release-1").exists()
    remove_leftovers(tmp_path / "gone")


def test_what_is_being_written_is_not_cleared_away(tmp_path: Path) -> None:
    """A file or folder that somebody writes just now is locked, and stays."""
    with open_atomic(tmp_path / "card.json") as out:
        out.write(b"whole")
        remove_leftovers(tmp_path)
    assert (tmp_path / "card.json").read_bytes() == b"whole"
    with stage(tmp_path / "release") as target:
        target.mkdir()
        remove_leftovers(tmp_path, ".release-*")
        assert target.is_dir()
    assert (tmp_path / "release").is_dir()


def test_an_exclusive_file_may_be_there_with_the_same_bytes(tmp_path: Path) -> None:
    """A command that was killed at its very end can be given again."""
    path = tmp_path / "rows.jsonl"
    for _ in range(2):
        with open_atomic(path, exclusive=True) as out:
            out.write(b"{}\n")
    assert [p.name for p in tmp_path.iterdir()] == ["rows.jsonl"]


def test_what_is_staged_takes_its_place_at_the_end(tmp_path: Path) -> None:
    """The target and what is beside it, whole or not at all; what is missing is added."""

    def write(rows: bytes, *, fails: bool = False) -> None:
        with stage(tmp_path / "rows") as target:
            target.write_bytes(rows)
            crops = target.with_name("rows-crops")
            crops.mkdir()
            (crops / "1.png").write_bytes(b"picture")
            assert not (tmp_path / "rows").exists() or rows == b"first"
            if fails:
                raise RuntimeError

    with pytest.raises(RuntimeError):
        write(b"first", fails=True)
    assert not list(tmp_path.iterdir())
    write(b"first")
    (tmp_path / "rows-crops" / "1.png").unlink()
    (tmp_path / "rows-crops").rmdir()  # as if a kill had come between the two
    write(b"first")
    assert (tmp_path / "rows-crops" / "1.png").read_bytes() == b"picture"
    (tmp_path / "rows").write_bytes(b"mine")
    with pytest.raises(UsageError, match="is not the same"), stage(tmp_path / "rows") as target:
        target.write_bytes(b"other")
    assert (tmp_path / "rows").read_bytes() == b"mine"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["rows", "rows-crops"]


def killed_while_writing(path: Path) -> None:
    """A process of its own that is killed before what it wrote has its name."""
    said = (
        "import os, signal; from pathlib import Path; from overread.storage.atomic import open_atomic\n"
        f"with open_atomic(Path({str(path)!r})) as out:\n"
        "    out.write(b'half'); out.flush(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", said], check=False).returncode == -signal.SIGKILL


def test_what_a_kill_left_of_a_file_goes_when_it_is_written_again(tmp_path: Path) -> None:
    """Without looking through the folder: of this file alone."""
    path = tmp_path / "card.json"
    killed_while_writing(path)
    killed_while_writing(tmp_path / "other.json")
    assert len(list(tmp_path.iterdir())) == 2
    with open_atomic(path) as out:
        out.write(b"whole")
    assert path.read_bytes() == b"whole"
    assert len(list(tmp_path.iterdir())) == 2
    with open_atomic(tmp_path / "other.json", exclusive=True) as out:
        out.write(b"whole")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["card.json", "other.json"]


def test_two_write_one_file_at_once(tmp_path: Path) -> None:
    """Neither takes the other's part for what a kill left; the last one wins."""
    path = tmp_path / "card.json"
    with open_atomic(path) as slow:
        slow.write(b"slow")
        with open_atomic(path) as fast:
            fast.write(b"fast")
        assert path.read_bytes() == b"fast"
    assert path.read_bytes() == b"slow"
    assert [one.name for one in tmp_path.iterdir()] == ["card.json"]


def test_where_nothing_can_be_locked_nothing_of_others_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two still write one file at once, under names of their own."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("overread.storage.locks.lock_handle", fail)
    test_two_write_one_file_at_once(tmp_path)


def test_a_command_that_writes_one_file_clears_away_what_kills_left(tmp_path: Path) -> None:
    """Only hidden parts of ours, and only where it is asked for."""
    left = tmp_path / f".{'0a' * 16}.part"
    other = tmp_path / ".notes.part"
    for path in (left, other):
        path.touch()
    with open_atomic(tmp_path / "a.csv"):
        pass
    assert left.exists()
    with open_atomic(tmp_path / "b.csv", tidy=True):
        pass
    assert not left.exists()
    assert other.exists()


def test_what_a_kill_left_of_a_whole_file_can_be_taken_away(tmp_path: Path) -> None:
    """A new file has its name before the hidden one is removed; a kill may come between."""
    path = tmp_path / "secret"
    with open_atomic(path) as out:
        (part,) = tmp_path.glob(".*.part")
        out.write(b"x")
    os.link(path, part)
    remove_part_of(path)
    assert list(tmp_path.iterdir()) == [path]
