"""The benchmarks: load, check, describe and write a copy of any of them.

Only the folders here may name a benchmark's columns and special cases.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from overread import catalog
from overread.benchmarks.checks import picture_defect
from overread.core import Benchmark, Defect, Progress, Release
from overread.core.description import Description
from overread.errors import PictureError, ReleaseError, UsageError


def load(
    benchmark: str,
    root: str | Path,
    split: str = "test",
    *,
    form: str | None = None,
    pictures: str | Path | None = None,
) -> Release:
    """One split of a copy of a benchmark; iterate it for cases, without their truth.

    `form` picks one where a split is stored in several; `pictures` names the folder of the
    pictures where they do not lie inside `root`. No pixel is read before it is asked for.
    """
    part = _find_benchmark(benchmark, split)
    folder = Path(pictures) if pictures is not None else None
    return part.load(Path(root), split, form=form, pictures=folder)


def check(
    benchmark: str,
    root: str | Path,
    split: str = "test",
    *,
    form: str | None = None,
    pictures: str | Path | None = None,
    open_pictures: bool = True,
    progress: Progress | None = None,
) -> Iterator[Defect]:
    """Every defect of one split of a copy, one by one."""
    part = _find_benchmark(benchmark, split)
    folder = Path(pictures) if pictures is not None else None
    try:
        yield from part.check(
            Path(root), split, form=form, pictures=folder, open_pictures=open_pictures, progress=progress
        )
    except ReleaseError as error:
        yield unopened_defect(error)
    except PictureError as error:
        yield picture_defect(error, file=error.where or str(root))


def describe(
    benchmark: str,
    root: str | Path,
    splits: Sequence[str] = (),
    *,
    form: str | None = None,
    pictures: str | Path | None = None,
    headers: bool = False,
    column: str | None = None,
    progress: Progress | None = None,
) -> Description:
    """What a copy holds, by split, as its paper's dataset tables show it; without `splits` all of them.

    Each row is read once and forgotten. `headers` opens the pictures for their sizes and decodes no
    pixel; `column` names a column that is no part of the benchmark and tells the body region.
    """
    part = cast(Benchmark, catalog.find("benchmarks", benchmark))
    if part.describe is None:
        raise UsageError(f"{part.title} cannot be described", remedy="its `Benchmark` lacks `describe`")
    releases = [
        load(benchmark, root, split, form=form, pictures=pictures)
        for split in splits or splits_of(benchmark, root)
    ]
    return part.describe(releases, headers=headers, column=column, progress=progress)


def write(
    release: Release,
    out: str | Path,
    *,
    form: str | None = None,
    pictures: bool = True,
    progress: Progress | None = None,
) -> Path:
    """Write one split in its benchmark's own layout; load → write → load is the identity."""
    part = _find_benchmark(release.benchmark, release.split)
    if form is not None and form not in part.forms:
        raise catalog.unknown_name("form", form, part.forms)
    return part.write(release, Path(out), form=form, pictures=pictures, progress=progress)


def splits_of(benchmark: str, root: str | Path) -> list[str]:
    """The splits that a copy has cases in."""
    part = cast(Benchmark, catalog.find("benchmarks", benchmark))
    there = []
    for split in part.splits:
        try:
            release = part.load(Path(root), split)
        except ReleaseError:
            continue
        # A split with a file of its own is there even when the file is empty: that is a defect.
        if release.count() != 0 or getattr(release, "split_has_a_file", False):
            there.append(split)
    if not there:
        raise ReleaseError(
            f"no split of {part.title} is there", where=str(root), remedy="is this the folder of the release?"
        )
    return there


def unopened_defect(error: ReleaseError) -> Defect:
    """The one defect of a release that cannot be opened at all."""
    found = f"{error.what}; {error.remedy}" if error.remedy else error.what
    return Defect(code="missing-file", file=error.where, expected="a release", found=found)


def _find_benchmark(benchmark: str, split: str) -> Benchmark:
    part = cast(Benchmark, catalog.find("benchmarks", benchmark))
    if split not in part.splits:
        raise UsageError(f"{part.title} has no split '{split}'", remedy=f"it has {', '.join(part.splits)}")
    return part
