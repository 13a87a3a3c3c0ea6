"""Writes a release without the truth of some splits, and a private folder with that truth.

The benchmark's own writer writes only what a reader may see. Files outside the layout and
unknown columns of withheld rows could leak the truth: they are left out and listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from overread.benchmarks import load, splits_of, write
from overread.benchmarks.memory_release import MemoryRelease
from overread.benchmarks.output import copy_bytes
from overread.build.release.checksums import list_files
from overread.core import Case, Entry, Progress, Release
from overread.errors import OverreadError, UsageError
from overread.prompts.interleaved import IMAGE
from overread.storage.fence import Fence


class _WithoutTruth:
    """The entries of a release without their truth; iterated as often as need be."""

    def __init__(self, release: Release) -> None:
        self._release = release
        self.dropped: set[str] = set()

    def __iter__(self) -> Iterator[Entry]:
        for entry in self._release.entries():
            kept = {k: v for k, v in entry.extra.items() if _is_visible_anyway(v, entry.case)}
            self.dropped |= entry.extra.keys() - kept.keys()
            yield Entry(case=entry.case, truth=None, extra=kept)


def _is_visible_anyway(value: Any, case: Case) -> bool:
    """Whether an unknown column only repeats what the case itself shows."""
    if not isinstance(value, str):
        return False
    words = " ".join(value.replace(IMAGE, " ").split())
    seen = {" ".join((text or "").split()) for text in (case.instruction, case.history)}
    return words in seen or value.lstrip("/") in {picture.file for picture in case.pictures}


def write_without_truth(
    benchmark: str,
    root: Path,
    out: Path,
    private: Path,
    *,
    withheld: Sequence[str],
    pictures: Path | None = None,
    keep: Sequence[str] = (),
    progress: Progress | None = None,
) -> list[str]:
    """Write all splits to `out`, those withheld without their truth; these whole to `private`.

    `keep` are files of `root` beyond the layout that go out all the same. Returns what stayed
    behind, in sentences.
    """
    notes: list[str] = []
    there = splits_of(benchmark, root)
    absent = [split for split in withheld if split not in there]
    if absent:
        raise UsageError(
            f"there is no split '{absent[0]}' whose truth could be withheld",
            where=str(root),
            remedy=f"there is {', '.join(there)}",
        )
    for split in there:
        release = load(benchmark, root, split, pictures=pictures)
        hidden = split in withheld
        blind = _WithoutTruth(release)
        entries = blind if hidden else list(release.entries())
        made = MemoryRelease(
            benchmark, split, entries, release.source, form=release.form, count=release.count()
        )
        write(made, out, progress=progress)
        if hidden:
            write(release, private, progress=progress)
            if blind.dropped:
                names = ", ".join(sorted(blind.dropped))
                notes.append(f"columns of {split} that stayed behind: {names}")
            _verify_hidden(benchmark, out, split)
    for file in keep:
        copy_bytes(Fence(root).path(file), Fence(out).path_to_write(file))
    notes += _list_left_behind(root, out, private)
    return notes


def _list_left_behind(root: Path, out: Path, private: Path) -> list[str]:
    """What of the release is in neither folder as part of its layout: whole folders, or files."""
    went = set(list_files(out))
    folders = {_top_level(file) for file in went}
    left = [file for file in list_files(root) if file not in went and file not in _RELEASE_FILES]
    whole = sorted({_top_level(file) for file in left} - folders)
    notes = [f"files that stayed behind: {', '.join(whole)}"] if whole else []
    kept = set(list_files(private))
    single = [file for file in left if _top_level(file) in folders and file not in kept]
    if single:
        notes.append(f"{len(single)} file(s) that no case names stayed behind, such as {single[0]}")
    return notes


_RELEASE_FILES = ("README.md", "croissant.json", "checksums.sha256")


def _top_level(file: str) -> str:
    first, slash, _ = file.partition("/")
    return f"{first}/" if slash else first


def _verify_hidden(benchmark: str, out: Path, split: str) -> None:
    """Read back what was written: not a trace of the truth may have come through."""
    for entry in load(benchmark, out, split).entries():
        if entry.truth is not None:
            raise OverreadError(
                f"the truth of case '{entry.case.id}' would have gone out",
                remedy="this is a bug in overread; please report it",
            )
