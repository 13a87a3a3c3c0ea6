"""SQLite files: ours or not, private, made once, readable where nothing can be written."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path

import pytest

from overread.errors import OverreadError, UsageError
from overread.storage.sqlite import DatabaseKind


class Unusable(OverreadError):
    """Of these tests."""


NOTES = DatabaseKind(
    what="notebook",
    application=77,
    version=2,
    tables="CREATE TABLE notes (text TEXT); CREATE INDEX words ON notes (text);",
    error=Unusable,
    remedy_other="take another file",
    remedy_damaged="delete it",
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A notebook with one note, closed."""
    base = NOTES.open(tmp_path / "notes.sqlite")
    base.execute("INSERT INTO notes VALUES ('hello')")
    base.close()
    return tmp_path / "notes.sqlite"


def test_it_is_made_private_with_its_mark(path: Path) -> None:
    """Owner only, application id and version in the header, a WAL, all tables."""
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    base = NOTES.open(path)
    for pragma, value in (("application_id", 77), ("user_version", 2), ("journal_mode", "wal")):
        assert base.execute(f"PRAGMA {pragma}").fetchone() == (value,)
    assert base.execute("SELECT name FROM sqlite_master ORDER BY name").fetchall() == [("notes",), ("words",)]
    base.close()


def test_looking_needs_no_writing(path: Path) -> None:
    """A read-only one cannot be written; an empty file is none yet, and stays empty."""
    base = NOTES.open_read_only(path)
    assert base is not None
    assert base.execute("SELECT text FROM notes").fetchall() == [("hello",)]
    with pytest.raises(Unusable, match="readonly"), NOTES.errors(path):
        base.execute("DELETE FROM notes")
    base.close()
    empty = path.with_name("empty")
    empty.touch()
    assert NOTES.open_read_only(empty) is None
    assert empty.stat().st_size == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_can_be_looked_into(path: Path) -> None:
    """There is no place for the shared memory of a WAL, and none is needed."""
    path.parent.chmod(0o500)
    base = NOTES.open_read_only(path)
    path.parent.chmod(0o700)
    assert base is not None
    base.close()


def test_other_files_are_refused_and_not_touched(path: Path, tmp_path: Path) -> None:
    """Another version, another program, no database at all: one sentence each."""
    foreign, notes = tmp_path / "foreign", tmp_path / "text"
    base = sqlite3.connect(foreign)
    base.execute("CREATE TABLE mine (x)")
    base.close()
    notes.write_text("my notes " * 100)
    base = sqlite3.connect(path)
    base.execute("PRAGMA user_version = 3")
    base.close()
    for file, kind, words in (
        (path, UsageError, r"another version of overread \(format 3\).*take another file"),
        (foreign, UsageError, "this database is no notebook.*take another file"),
        (notes, Unusable, "the notebook cannot be used .*: delete it"),
    ):
        before = file.read_bytes()
        for open_it in (NOTES.open, NOTES.open_read_only):
            with pytest.raises(kind, match=words):
                open_it(file)
        assert file.read_bytes() == before


def test_a_locked_file_says_so(path: Path) -> None:
    """The remedy is to try again, not to delete it."""
    writer, other = NOTES.open(path), NOTES.open(path)
    other.execute("PRAGMA busy_timeout = 0")
    writer.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unusable, match="locked it; run the same command again"), NOTES.errors(path):
        other.execute("BEGIN IMMEDIATE")
    writer.close()
    other.close()
