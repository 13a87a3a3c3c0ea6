"""What the system refuses is told with a place and a remedy."""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
from pathlib import Path

import pytest

from overread.errors import LocksFail, OutOfResources, OverreadError, is_fatal
from overread.storage.append_log import AppendLog
from overread.storage.atomic import open_atomic, replace_folder, stage
from overread.storage.locks import lock_file, lock_folder
from overread.storage.sqlite import DatabaseKind
from overread.storage.system_errors import explain_lack, explain_system_error

KIND = DatabaseKind("box", 77, 1, "CREATE TABLE things (thing TEXT)", OverreadError, "leave it", "delete it")


def refused(number: int, *names: str) -> OSError:
    return OSError(number, os.strerror(number), *names)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG])
def test_whoever_writes_names_the_file(tmp_path: Path, number: int) -> None:
    """The file as it would be called, never the hidden one that was written."""
    path = tmp_path / "list.json"
    with pytest.raises(OSError, match=os.strerror(number)) as caught, open_atomic(path):
        raise refused(number)
    told = explain_system_error(caught.value)
    assert str(told).startswith(f"{path} could not be written ({os.strerror(number)}): ")
    assert told.remedy
    assert not any(tmp_path.iterdir())


def test_files_of_a_folder_that_is_made_are_named_by_where_they_go(tmp_path: Path) -> None:
    """A copy names its source first, and a file of the hidden folder is one of the new folder."""
    with pytest.raises(OSError, match="space") as caught, stage(tmp_path / "out") as part:
        raise refused(errno.ENOSPC, "/somewhere/source.png", None, str(part / "images" / "a.png"))  # type: ignore[arg-type]
    assert caught.value.filename == str(tmp_path / "out" / "images" / "a.png")
    with pytest.raises(OSError, match="space") as caught, replace_folder(tmp_path / "release"):
        raise refused(errno.ENOSPC)
    assert caught.value.filename == str(tmp_path / "release")


def test_an_error_of_another_file_keeps_its_name(tmp_path: Path) -> None:
    """What was not written there, or was only read, is not taken for it."""
    with pytest.raises(OSError, match="space") as caught, open_atomic(tmp_path / "a"):
        raise refused(errno.ENOSPC, "/elsewhere/b")
    assert caught.value.filename == "/elsewhere/b"
    with pytest.raises(FileNotFoundError) as lost, open_atomic(tmp_path / "a"):
        raise FileNotFoundError(errno.ENOENT, "gone")
    assert lost.value.filename is None


def test_a_full_disk_without_a_name_says_where_files_go() -> None:
    """Nobody can say which file it was; the places where it can be are named."""
    told = explain_system_error(refused(errno.ENOSPC))
    assert "TMPDIR" in told.remedy
    assert "OVERREAD_CACHE" in told.remedy


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("can't start new thread"),
        ImportError("libblas.so: failed to map segment from shared object"),
        refused(errno.ENOMEM),
        refused(errno.EMFILE),
        refused(errno.EAGAIN),
    ],
    ids=str,
)
def test_what_the_machine_lacks_has_a_remedy(error: Exception) -> None:
    """Fewer workers, or fewer cases at once."""
    told = explain_system_error(error) if isinstance(error, OSError) else explain_lack(error)
    assert isinstance(told, OutOfResources)
    assert "--workers" in str(told)
    assert "--concurrency" in str(told)
    assert "\n" not in str(told)


def test_a_lack_ends_a_run_and_a_bug_does_not() -> None:
    """Every other case would meet it too."""
    assert is_fatal(RuntimeError("can't start new thread"))
    assert is_fatal(refused(errno.ENOSPC))
    assert not is_fatal(RuntimeError("dictionary changed size during iteration"))
    assert not is_fatal(refused(errno.ENOENT))
    assert is_fatal(ImportError("libblas.so: failed to map segment from shared object"))
    assert not is_fatal(ImportError("No module named 'torch'"))
    assert explain_lack(RuntimeError("something else")) is None


# ---- locks ---------------------------------------------------------------------------------


@pytest.fixture(params=[errno.EIO, errno.ENOLCK, errno.EOPNOTSUPP], ids=errno.errorcode.get)
def no_locks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file system that locks nothing; what it says."""

    def fails(*_: object) -> None:
        raise refused(request.param)

    monkeypatch.setattr(fcntl, "flock", fails)
    return os.strerror(request.param)


def test_a_file_system_without_locks_is_named(tmp_path: Path, no_locks: str) -> None:
    """Which place, what it said, and where to go instead."""
    path = tmp_path / "log"
    path.touch()
    with path.open("rb") as file, pytest.raises(LocksFail) as caught:
        lock_file(file, path)
    assert no_locks in str(caught.value)
    assert str(path) in str(caught.value)
    assert "local disk" in str(caught.value)
    with pytest.raises(LocksFail, match="local disk"), lock_folder(tmp_path):
        pass


def test_logs_and_folders_of_ours_say_so(tmp_path: Path, no_locks: str) -> None:
    """A run and a build; nothing is written without its lock."""
    from overread.build.adjudication.verdict_log import VerdictLog
    from overread.build.ledger.store import Ledger
    from overread.runs.store import ReadingStore

    busy = OverreadError("busy")
    with pytest.raises(LocksFail, match="local disk"):
        AppendLog(tmp_path / "x", torn="cut", busy=busy, unwritable=lambda _: busy)
    with pytest.raises(LocksFail, match="local disk"):
        ReadingStore(tmp_path / "run")
    with pytest.raises(LocksFail, match="local disk"):
        Ledger(tmp_path / "build")
    with pytest.raises(LocksFail, match="local disk"), VerdictLog(tmp_path).lock(writes=True):
        pass


def test_a_file_is_written_whole_without_locks(tmp_path: Path, no_locks: str) -> None:
    """There the lock only keeps others from clearing it away; the bytes are the same."""
    with open_atomic(tmp_path / "a") as out:
        out.write(b"all of it")
    assert (tmp_path / "a").read_bytes() == b"all of it"


# ---- databases -----------------------------------------------------------------------------


def test_a_full_database_is_not_called_damaged(tmp_path: Path) -> None:
    """SQLite's own limit gives the very error of a full disk."""
    path = tmp_path / "box.sqlite"
    base = KIND.open(path)
    base.execute("PRAGMA max_page_count = 3")
    with pytest.raises(OverreadError, match=r"full.*make room on the disk") as caught, KIND.errors(path):
        base.execute("INSERT INTO things VALUES (?)", ("x" * 100_000,))
    base.close()
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("SQLITE_IOERR_LOCK", "cannot lock files"),
        ("SQLITE_IOERR_SHMMAP", "cannot lock files"),
        ("SQLITE_PROTOCOL", "cannot lock files"),
        ("SQLITE_IOERR_WRITE", "full or failed"),
        ("SQLITE_READONLY", "choose another place"),
        ("SQLITE_NOTADB", "delete it"),
    ],
)
def test_errors_of_the_system_are_told_from_damage(tmp_path: Path, name: str, words: str) -> None:
    """Nobody is told to delete a ledger because the disk failed."""
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorname = name
    with pytest.raises(OverreadError, match=words), KIND.errors(tmp_path):
        raise error
