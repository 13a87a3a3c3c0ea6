"""Folders and zips that somebody handed in: nothing escapes, nothing explodes, nothing vanishes."""

from __future__ import annotations

import io
import os
import pickle
import random
import stat
import struct
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.benchmarks import submitted_files
from overread.benchmarks.submitted_files import FolderFiles, Member, ZipFiles, open_submitted_files
from overread.errors import NotThere, PictureError, Refused, SubmissionError

Entry = tuple[str | zipfile.ZipInfo, bytes]


def packed(path: Path, *entries: Entry, method: int = zipfile.ZIP_DEFLATED) -> ZipFiles:
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", method) as out:
        warnings.simplefilter("ignore")  # two entries of one name
        for name, data in entries:
            out.writestr(name, data)
    return ZipFiles(path)


def patched(path: Path, mark: bytes, offset: int, value: bytes) -> None:
    """Overwrite bytes behind the last record of a kind."""
    raw = bytearray(path.read_bytes())
    place = raw.rfind(mark) + offset
    raw[place : place + len(value)] = value
    path.write_bytes(raw)


def linked(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


@pytest.fixture
def zipped(tmp_path: Path) -> Path:
    """A sound zip of two files."""
    path = tmp_path / "a.zip"
    packed(path, ("a.nii.gz", b"a" * 5000), ("b.nii.gz", os.urandom(3000)))
    return path


def test_a_sound_zip_gives_its_bytes(zipped: Path) -> None:
    """Members and bytes come as they went in, in another process too."""
    files = pickle.loads(pickle.dumps(open_submitted_files(zipped)))
    assert [(m.name, m.size, m.refusal) for m in files.members()] == [
        ("a.nii.gz", 5000, ""),
        ("b.nii.gz", 3000, ""),
    ]
    assert files.source("a.nii.gz") == b"a" * 5000
    with pytest.raises(NotThere, match=r"no file c\.nii\.gz"):
        files.source("c.nii.gz")


def test_zip64_is_read(tmp_path: Path) -> None:
    """A zip written with 64-bit sizes is a zip like any other."""
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as out, out.open("a.nii", "w", force_zip64=True) as to:
        to.write(b"abc")
    assert ZipFiles(tmp_path / "z.zip").source("a.nii") == b"abc"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("../a.nii.gz", "leads out of the zip"),
        ("x/../../a.nii.gz", "leads out of the zip"),
        ("/etc/a.nii.gz", "absolute"),
        ("C:/a.nii.gz", "absolute"),
        ("x\\a.nii.gz", "backslash"),
        (linked("a.nii.gz"), "link"),
    ],
    ids=str,
)
def test_names_that_lead_elsewhere_are_refused(
    tmp_path: Path, name: str | zipfile.ZipInfo, words: str
) -> None:
    """An entry that would leave the zip is named, and its bytes are not given."""
    files = packed(tmp_path / "a.zip", (name, b"/etc/passwd"), ("fine.nii", b"1"))
    bad, fine = files.members()
    assert words in bad.refusal
    assert bad.base == "a.nii.gz"
    assert fine.refusal == ""
    with pytest.raises(Refused, match="is not read"):
        files.source(bad.name)
    assert files.source("fine.nii") == b"1"


def test_an_entry_without_a_name(tmp_path: Path) -> None:
    """A name of no letters, or with a NUL in it, is refused like any other strange one."""
    path = tmp_path / "a.zip"
    packed(path, ("q", b"1"), ("q.q", b"2"))
    path.write_bytes(path.read_bytes().replace(b"q.q", b"q\0q"))
    assert "a NUL in it" in ZipFiles(path).members()[1].refusal
    info = zipfile.ZipInfo("q")
    info.filename = info.orig_filename = ""
    packed(path, (info, b"1"))
    assert "its name is empty" in ZipFiles(path).members()[0].refusal


def test_encrypted_and_strange_methods_are_refused(tmp_path: Path, zipped: Path) -> None:
    """Passwords and methods other than deflate cost the entry they stand in."""
    patched(zipped, b"PK\x01\x02", 8, b"\x01")
    assert [m.refusal for m in ZipFiles(zipped).members()] == ["", "it is encrypted"]
    for method in (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):
        (member,) = packed(tmp_path / "m.zip", ("a", b"1"), method=method).members()
        assert member.refusal == f"it is packed by method {method}"


def test_a_bomb_is_refused_by_what_it_claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry over the limit is not inflated, and the sum of the claims is bounded too."""
    monkeypatch.setattr(submitted_files, "MAX_MEMBER", 1 << 20)
    files = packed(tmp_path / "a.zip", ("a", b"\0" * (50 << 20)), ("b", b"1"))
    assert [m.refusal[:9] for m in files.members()] == ["it claims", ""]
    tracemalloc.start()
    with pytest.raises(Refused):
        files.source("a")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 << 20
    monkeypatch.setattr(submitted_files, "MAX_TOTAL", 10 << 20)
    with pytest.raises(SubmissionError, match="claims to unpack to 52,428,801 bytes"):
        files.members()


def test_claims_that_no_zip_can_hold(zipped: Path) -> None:
    """More than deflate can give, and entries that share their bytes, are lies."""
    patched(zipped, b"PK\x01\x02", 24, struct.pack("<I", 1 << 29))
    assert "which no zip can hold" in ZipFiles(zipped).members()[1].refusal
    patched(zipped, b"PK\x01\x02", 20, struct.pack("<I", 1 << 29))
    with pytest.raises(SubmissionError, match="overlap"):
        ZipFiles(zipped).members()


@pytest.mark.parametrize("claim", [10, 2000, 6000])
def test_an_entry_of_another_size_than_it_claims(zipped: Path, claim: int) -> None:
    """Bytes that are more or fewer than was said are an error, not a short file."""
    patched(zipped, b"PK\x01\x02", 24, struct.pack("<I", claim))
    with pytest.raises(PictureError):
        ZipFiles(zipped).source("b.nii.gz")


def test_a_damaged_byte_is_noticed(zipped: Path) -> None:
    """The checksum of an entry is held against its bytes."""
    raw = bytearray(zipped.read_bytes())
    raw[raw.find(b"b.nii.gz") + 500] ^= 1
    zipped.write_bytes(raw)
    with pytest.raises(PictureError, match="the zip is damaged there"):
        ZipFiles(zipped).source("b.nii.gz")


def test_a_list_of_entries_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many entries, and a list that takes much memory, are refused before they are taken in."""
    path = tmp_path / "many.zip"
    packed(path, *((f"{n}.nii", b"") for n in range(300)))
    with monkeypatch.context() as patch:
        patch.setattr(submitted_files, "MAX_ENTRIES", 200)
        with pytest.raises(SubmissionError, match="more than 200 files"):
            ZipFiles(path).members()
    with monkeypatch.context() as patch:
        patch.setattr(submitted_files, "MAX_DIRECTORY", 10_000)
        with pytest.raises(SubmissionError, match="takes more than 10,000 bytes"):
            ZipFiles(path).members()
    folder = tmp_path / "folder"
    folder.mkdir()
    for n in range(5):
        (folder / f"{n}.nii").touch()
    monkeypatch.setattr(submitted_files, "MAX_ENTRIES", 4)
    with pytest.raises(SubmissionError, match="more than 4 files"):
        FolderFiles(folder).members()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the file is empty"),
        (b"hello", "neither a folder nor a zip"),
        (b"PK\x03\x04" + b"x" * 50, "cut off or damaged"),
    ],
)
def test_files_that_are_no_zip(tmp_path: Path, content: bytes, words: str) -> None:
    """What is no zip is told from what is left of one."""
    path = tmp_path / "a.zip"
    path.write_bytes(content)
    with pytest.raises(SubmissionError, match=words):
        open_submitted_files(path).members()


def test_paths_that_are_neither(tmp_path: Path) -> None:
    """Nothing and devices are refused."""
    with pytest.raises(SubmissionError, match="no such file or folder"):
        open_submitted_files(tmp_path / "x")
    with pytest.raises(SubmissionError, match="no regular file"):
        open_submitted_files(Path("/dev/null"))
    with pytest.raises(PictureError, match="there is no such file"):
        ZipFiles(tmp_path / "x").source("a")


def test_a_folder_gives_paths_inside_it(tmp_path: Path) -> None:
    """Files below are listed, links out and special files are refused, nothing is followed."""
    root = tmp_path / "in"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "a.nii").write_bytes(b"12")
    (tmp_path / "out.nii").write_bytes(b"12")
    (root / "b.nii").symlink_to(tmp_path / "out.nii")
    (root / "c.nii").symlink_to(tmp_path / "nowhere")
    (root / "d").symlink_to(tmp_path, target_is_directory=True)
    (root / "e.nii").symlink_to(root / "sub" / "a.nii")
    os.mkfifo(root / "f.nii")
    files = pickle.loads(pickle.dumps(open_submitted_files(root)))
    found = {m.name: m.refusal for m in files.members()}
    assert set(found) == {"b.nii", "c.nii", "d", "e.nii", "f.nii", "sub/a.nii"}
    assert {name for name, refusal in found.items() if not refusal} == {"e.nii", "sub/a.nii"}
    assert found["c.nii"] == "it is a link to nothing"
    assert files.source("sub/a.nii").read_bytes() == b"12"
    for name in ("../out.nii", "b.nii", "f.nii", "/etc/passwd"):
        with pytest.raises(PictureError):
            files.source(name)
    one, other = Member("e.nii", 2), Member("sub/a.nii", 2)
    assert files.same_bytes(one, other)


def test_names_that_are_not_text_are_refused(tmp_path: Path) -> None:
    """A file name in another encoding is told and not stored."""
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.nii")).touch()
    (member,) = FolderFiles(tmp_path).members()
    assert member.refusal == "the name is not UTF-8"


@pytest.mark.parametrize(
    ("name", "clutter"),
    [
        ("__MACOSX/._a.nii.gz", True),
        ("x/.DS_Store", True),
        (".hidden/a.nii", True),
        ("Thumbs.db", True),
        ("../a.nii.gz", False),
        ("./a.nii.gz", False),
        ("a.nii.gz", False),
    ],
)
def test_clutter(name: str, clutter: bool) -> None:
    """What operating systems leave behind is told from what somebody put there."""
    assert Member(name).is_clutter is clutter


MUTATIONS: tuple[Callable[[bytearray, random.Random], None], ...] = (
    lambda raw, rng: raw.__setitem__(rng.randrange(len(raw)), rng.randrange(256)),
    lambda raw, rng: raw.__delitem__(slice(rng.randrange(len(raw)), None)),
    lambda raw, rng: raw.__delitem__(slice(0, rng.randrange(40))),
    lambda raw, rng: raw.extend(rng.randbytes(rng.randrange(40))),
)


@settings(max_examples=300)
@given(seed=st.integers(0, 10**9))
def test_damage_is_told_and_never_crashes(tmp_path: Path, seed: int) -> None:
    """Whatever bytes of a zip change: the listing, headers and bytes come, or our own errors."""
    rng = random.Random(seed)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("a.nii.gz", "b/c.nii", "d.txt"):
            archive.writestr(name, rng.randbytes(60))
    raw = bytearray(out.getvalue())
    for _ in range(rng.choice((1, 1, 2, 8))):
        if raw:
            # Most of the damage goes where names and sizes stand.
            place = rng.choice(MUTATIONS if rng.random() < 0.3 else MUTATIONS[:1])
            place(raw, rng)
    path = tmp_path / "a.zip"
    path.write_bytes(raw)
    files = ZipFiles(path)
    try:
        members = files.members()
    except SubmissionError as error:
        assert str(error)
        return
    for name, header in files.read_headers([m.name for m in members]):
        assert isinstance(header, PictureError), name
    for member in members:
        try:
            assert isinstance(files.source(member.name), bytes)
        except PictureError as error:
            assert str(error)
