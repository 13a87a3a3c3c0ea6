"""The files of a submission, in a folder or a zip; neither is trusted.

Nothing is unpacked to disk. Before memory is allocated, the zip's own claims are checked: number of
entries, where their names lead, stated sizes. A refused entry costs only itself; a zip whose totals
are false is not read at all.
"""

from __future__ import annotations

import io
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any, cast

from overread.benchmarks.intake import make_printable
from overread.errors import NotThere, PictureError, Refused, SubmissionError, Truncated
from overread.pixels.bytestream import DEFLATE_LIMIT, ByteStream
from overread.storage.fence import Fence

if TYPE_CHECKING:
    from overread.pixels.nifti import NiftiHeader

MAX_ENTRIES = 50_000
"""Files of a submission; the largest benchmark has three thousand scans."""
MAX_DIRECTORY = 8 << 20
"""Bytes of a zip's list of entries."""
MAX_MEMBER = 1 << 30
"""Bytes of one file of a zip; a packed mask rarely has a hundredth of that."""
MAX_TOTAL = 200 << 30
"""Bytes that all files of a zip together may claim to have."""

_REPACK = "pack or copy the file again"
_PACK_FLAT = "put the files flat into a folder or a zip, stored or deflated"
_DAMAGE_ERRORS: Any = (
    zipfile.BadZipFile,
    NotImplementedError,
    RuntimeError,
    OSError,
    ValueError,
    EOFError,
    ArithmeticError,
    LookupError,
    struct.error,
    zlib.error,
)


@dataclass(frozen=True)
class Member:
    """One file that was handed in, and why it is not opened where it is not."""

    name: str
    """Path as the folder or the zip has it."""
    size: int = 0
    """Bytes, as a zip claims them."""
    checksum: int | None = None
    """CRC-32 of the bytes, as a zip claims it."""
    refusal: str = ""
    """Why it is not opened; empty where it may be."""
    remedy: str = _PACK_FLAT

    @property
    def base(self) -> str:
        """The last part of the name, whichever way its slashes lean."""
        return self.name.replace("\\", "/").rstrip("/").rpartition("/")[2]

    @property
    def is_clutter(self) -> bool:
        """Whether an operating system left it there: hidden files, __MACOSX."""
        parts = self.name.replace("\\", "/").split("/")
        hidden = any(part.startswith(".") and part not in (".", "..") for part in parts)
        return hidden or "__MACOSX" in parts or self.base in ("Thumbs.db", "desktop.ini")


class FolderFiles:
    """The files of a folder, by their paths in it."""

    def __init__(self, root: Path) -> None:
        """Fence in `root`, which must be a folder."""
        self.root = root

    def members(self) -> list[Member]:
        """Every file in the folder and the folders in it, sorted by name."""
        found: list[Member] = []
        fence = Fence(self.root)
        for folder, folders, files in os.walk(self.root, followlinks=False):
            links = [name for name in folders if Path(folder, name).is_symlink()]
            for name in (*files, *links):
                found.append(self._member(fence, Path(folder, name)))
                if len(found) > MAX_ENTRIES:
                    raise _too_many_error(self.root)
        return sorted(found, key=lambda member: member.name)

    def _member(self, fence: Fence, path: Path) -> Member:
        name = path.relative_to(self.root).as_posix()
        if not _is_text(name):
            return Member(name, refusal="the name is not UTF-8", remedy="rename the file")
        try:
            size = fence.path(name).stat().st_size
        except NotThere:
            return Member(name, refusal="it is a link to nothing", remedy="copy the file itself")
        except Refused:
            what = "it is no regular file, or a link out of the folder"
            return Member(name, refusal=what, remedy="copy the file itself into the folder")
        except OSError as error:
            return Member(name, refusal=f"it cannot be opened ({error.strerror})")
        return Member(name, size=size)

    def source(self, file: str) -> Path:
        """The path of a file; raises `PictureError` where there is none inside the folder."""
        return Fence(self.root).path(file)

    def read_headers(self, names: Iterable[str]) -> Iterator[tuple[str, NiftiHeader | PictureError]]:
        """The NIfTI header of each file, or what is wrong with it."""
        from overread.pixels.nifti import read_header

        for name in names:
            try:
                yield name, read_header(self.source(name), name=name)
            except PictureError as error:
                yield name, error

    def same_bytes(self, one: Member, other: Member) -> bool:
        """Whether two files have the same bytes."""
        if one.size != other.size:
            return False
        with self.source(one.name).open("rb") as a, self.source(other.name).open("rb") as b:
            while chunk := a.read(1 << 20):
                if chunk != b.read(1 << 20):
                    return False
        return True


class ZipFiles:
    """The files of a zip, by their names in it; their bytes are read when they are asked for."""

    def __init__(self, path: Path) -> None:
        """Keep the path; the zip is opened anew each time, so that processes do not share it."""
        self.path = path

    def members(self) -> list[Member]:
        """Every entry that is no folder, in the zip's order; raises `SubmissionError`."""
        try:
            with _open_archive(self.path) as archive:
                entries = archive.infolist()
                packed = sum(entry.compress_size for entry in entries)
                claimed = sum(entry.file_size for entry in entries)
                stored = self.path.stat().st_size
        except PictureError as error:
            raise SubmissionError(error.what, where=error.where, remedy=error.remedy) from None
        if len(entries) > MAX_ENTRIES:
            raise _too_many_error(self.path)
        if packed > stored:
            raise self._refusal_error("the entries of the zip overlap: it is a zip bomb, or damaged")
        if claimed > MAX_TOTAL:
            raise self._refusal_error(f"the zip claims to unpack to {claimed:,} bytes")
        return [_member(entry) for entry in entries if not entry.filename.endswith("/")]

    def _refusal_error(self, what: str) -> SubmissionError:
        return SubmissionError(what, where=make_printable(self.path.name), remedy=_PACK_FLAT)

    def source(self, file: str) -> bytes:
        """The bytes of a file, never more than `MAX_MEMBER`; raises `PictureError`."""
        with _open_archive(self.path) as archive, _open_entry(archive, file) as (stream, size):
            parts, left = [], size
            while chunk := stream.read(min(1 << 20, left + 1)):
                parts.append(chunk)
                left -= len(chunk)
                if left < 0:
                    raise Refused(f"{make_printable(file)} unpacks to more than it claims")
            if left:
                what = f"{make_printable(file)} has {left:,} bytes fewer than it claims"
                raise Truncated(what, remedy=_REPACK)
            return b"".join(parts)

    def read_headers(self, names: Iterable[str]) -> Iterator[tuple[str, NiftiHeader | PictureError]]:
        """The NIfTI header of each file, or what is wrong with it; the zip is opened once."""
        from overread.pixels.nifti import read_stream_header

        with _open_archive(self.path) as archive:
            for name in names:
                try:
                    with _zip_errors(name), _open_entry(archive, name) as (stream, size):
                        header = read_stream_header(ByteStream(stream, name=name, stored=size))
                except PictureError as error:
                    yield name, error
                else:
                    yield name, header

    def same_bytes(self, one: Member, other: Member) -> bool:
        """Whether two entries claim the same bytes."""
        return (one.size, one.checksum) == (other.size, other.checksum)


class _BoundedFile(io.FileIO):
    """A file that refuses single reads larger than a valid zip needs."""

    def read(self, size: int | None = -1) -> bytes:
        wanted = -1 if size is None else size
        if wanted < 0 or wanted > MAX_DIRECTORY:
            # A short file answers a large request with what it has, and no harm is done.
            wanted = os.fstat(self.fileno()).st_size - self.tell()
        if wanted > MAX_DIRECTORY:
            raise Refused(
                f"the list of the zip's entries takes more than {MAX_DIRECTORY:,} bytes",
                where=make_printable(Path(str(self.name)).name),
                remedy=_PACK_FLAT,
            )
        return super().read(max(wanted, 0)) or b""


@contextmanager
def _open_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    name = make_printable(path.name)
    with _zip_errors(name):
        try:
            raw = _BoundedFile(path)
        except FileNotFoundError:
            raise NotThere("there is no such file", where=name) from None
        with raw:
            try:
                archive = zipfile.ZipFile(raw)
            except _DAMAGE_ERRORS as error:
                raise _not_a_zip_error(path, error) from None
            with archive:
                yield archive


@contextmanager
def _zip_errors(name: str) -> Iterator[None]:
    """Turn whatever a damaged zip raises into one PictureError that names the file."""
    try:
        yield
    except _DAMAGE_ERRORS as error:
        what = " ".join(str(error).split())[:200] or type(error).__name__
        raise PictureError(
            f"the zip is damaged there ({make_printable(what)})", where=make_printable(name), remedy=_REPACK
        ) from None


def _not_a_zip_error(path: Path, error: Exception) -> PictureError:
    """The error for a file that zipfile does not accept: empty, damaged, or no zip."""
    with path.open("rb") as file:
        first = file.read(4)
    what, remedy = "this is neither a folder nor a zip", _PACK_FLAT
    if not first:
        what = "the file is empty"
    elif first == b"PK\x03\x04":
        what, remedy = f"the zip is cut off or damaged ({make_printable(str(error))})", _REPACK
    return PictureError(what, where=make_printable(path.name), remedy=remedy)


@contextmanager
def _open_entry(archive: zipfile.ZipFile, name: str) -> Iterator[tuple[io.BufferedReader, int]]:
    """The bytes of one entry as a stream, and how many there are."""
    try:
        info = archive.getinfo(name)
    except KeyError:
        raise NotThere(f"there is no file {make_printable(name)} in the zip") from None
    member = _member(info)
    if member.refusal:
        raise Refused(f"{make_printable(name)} is not read: {member.refusal}", remedy=member.remedy)
    with archive.open(info) as stream:
        yield cast(io.BufferedReader, stream), info.file_size


def _member(info: zipfile.ZipInfo) -> Member:
    refusal, remedy = _refusal(info)
    name = info.orig_filename if "\0" in info.orig_filename else info.filename
    return Member(name, info.file_size, info.CRC, refusal, remedy)


def _refusal(info: zipfile.ZipInfo) -> tuple[str, str]:
    """Why an entry is not opened, and what to do about it; empty where it may be."""
    name = info.orig_filename
    kind = stat.S_IFMT(info.external_attr >> 16)
    if not name or "\0" in name or "\\" in name:
        return "its name is empty, or has a backslash or a NUL in it", "pack with plain names"
    if ".." in name.split("/"):
        return "its name leads out of the zip ('..')", "pack the files flat, by their plain names"
    if PurePosixPath(name).is_absolute() or PureWindowsPath(name).drive:
        return "its name is an absolute path", "pack the files flat, by their plain names"
    if kind not in (0, stat.S_IFREG):
        return "it is a link or no regular file", "pack the file itself (zip without -y)"
    if info.flag_bits & 0x2041:
        return "it is encrypted", "pack without a password"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"it is packed by method {info.compress_type}", "pack it stored or deflated"
    if info.file_size > MAX_MEMBER:
        return f"it claims {info.file_size:,} bytes", f"{MAX_MEMBER:,} are the most"
    if info.file_size > (info.compress_size + 64) * DEFLATE_LIMIT:
        claim = f"it claims {info.file_size:,} bytes of {info.compress_size:,} packed ones"
        return f"{claim}, which no zip can hold", "pack it again"
    return "", _PACK_FLAT


def _is_text(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _too_many_error(path: Path) -> SubmissionError:
    what = f"there are more than {MAX_ENTRIES:,} files"
    remedy = "hand in the files of the predictions and nothing else"
    return SubmissionError(what, where=make_printable(path.name), remedy=remedy)


def open_submitted_files(path: Path) -> FolderFiles | ZipFiles:
    """The files of a folder or a zip; raises `SubmissionError` where it is neither."""
    try:
        if path.is_dir():
            return FolderFiles(path.absolute())
        if path.is_file():
            return ZipFiles(path.absolute())
        what = "this is no regular file" if path.exists() else "there is no such file or folder"
    except (OSError, ValueError) as error:
        what = f"this cannot be opened ({error})"
    raise SubmissionError(what, where=make_printable(path.name), remedy="give a folder or a zip")
