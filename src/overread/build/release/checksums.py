"""`checksums.sha256`: what every file of a release should be, as `sha256sum -c` reads it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from overread.build.release.provenance import file_digest
from overread.core import Defect, Progress
from overread.errors import UsageError
from overread.storage.atomic import open_atomic

CHECKSUMS = "checksums.sha256"
_LONGEST_NAME, _LONGEST_PATH = 255, 2048
"""Bytes of a name that every file system takes, and letters of a path within a release."""


def list_files(root: Path) -> list[str]:
    """All files of a folder, relative to it, in order; hidden ones are no part of a release."""
    found = []
    for path in root.rglob("*"):
        inside = path.relative_to(root)
        if path.is_file() and not any(part.startswith(".") for part in inside.parts):
            found.append(inside.as_posix())
    return sorted(found)


def write_checksums(root: Path, *, progress: Progress | None = None) -> Path:
    """Write the checksums of all files but their own; a folder that is a link is refused."""
    for path in root.rglob("*"):
        if path.is_symlink() and path.is_dir():
            raise UsageError(
                f"{path.relative_to(root)} is a link to a folder, and what is behind it is not handed on",
                where=str(root),
                remedy="put the folder itself there, or write a copy with --out and --private",
            )
    files = [file for file in list_files(root) if file != CHECKSUMS]
    odd = [file for file in files if "\n" in file or "\\" in file]
    if odd:
        raise UsageError(f"a file has an odd name: {odd[0]!r}", remedy="give it another name")
    with open_atomic(root / CHECKSUMS) as out:
        for done, file in enumerate(files, 1):
            out.write(f"{file_digest(root / file)}  {file}\n".encode())
            if progress is not None:
                progress(done, len(files))
    return root / CHECKSUMS


def _can_be_name(file: str) -> bool:
    """Whether a file can be called so at all: where it cannot, asking for it fails in other ways."""
    parts = file.encode().split(b"/")
    return b"\0" not in file.encode() and len(file) < _LONGEST_PATH and max(map(len, parts)) <= _LONGEST_NAME


def verify_checksums(root: Path, *, progress: Progress | None = None) -> Iterator[Defect]:
    """Every file that is missing or is not what it was when the checksums were written."""
    try:
        lines = (root / CHECKSUMS).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        found = "none that can be read"
        yield Defect(code="missing-file", file=CHECKSUMS, expected="checksums", found=found)
        return
    for number, line in enumerate(lines, 1):
        if progress is not None:
            progress(number, len(lines))
        digest, gap, file = line.partition("  ")
        inside = root / file
        if (
            not gap
            or len(digest) != 64
            or not _can_be_name(file)
            or not inside.resolve().is_relative_to(root.resolve())
        ):
            expected = "a digest, two blanks, a file of the release"
            yield Defect(code="bad-row", file=CHECKSUMS, row=number, expected=expected, found=line[:200])
        elif not inside.is_file():
            yield Defect(code="missing-file", file=file, expected="a file", found="nothing")
        elif file_digest(inside) != digest:
            yield Defect(
                code="changed-file",
                file=file,
                expected=f"the file that {CHECKSUMS} names",
                found="other bytes: it was changed or damaged since",
            )
