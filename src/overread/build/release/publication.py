"""Making a folder of cases fit to be handed on: card, Croissant, checksums, hidden truth."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from overread import catalog
from overread.benchmarks import load, splits_of
from overread.build.release.card import CARD_MARK, format_card
from overread.build.release.checksums import CHECKSUMS, list_files, write_checksums
from overread.build.release.counts import SplitCount, count_split
from overread.build.release.croissant import CROISSANT, build_croissant
from overread.build.release.hidden_truth import write_without_truth
from overread.build.release.provenance import Provenance
from overread.build.release.staging import staging_folder
from overread.core import Benchmark, Progress
from overread.errors import UsageError
from overread.storage.atomic import open_atomic

CARD = "README.md"
UNKNOWN_LICENCE = "not stated: ask whoever made it before you hand it on"


@dataclass(frozen=True)
class FinishedRelease:
    """A release that is ready."""

    root: Path
    private: Path | None
    """Where the truth lies that was withheld."""
    cases: dict[str, int]
    files: int
    notes: tuple[str, ...]


def finish_release(
    root: str | Path,
    benchmark: str,
    *,
    out: str | Path | None = None,
    private: str | Path | None = None,
    withheld: Sequence[str] = ("test",),
    title: str = "",
    licence: str = "",
    provenance: Provenance | None = None,
    version: str = "1.0.0",
    url: str = "",
    published: str | None = None,
    pictures: str | Path | None = None,
    keep: Sequence[str] = (),
    progress: Progress | None = None,
) -> FinishedRelease:
    """Write card, Croissant and checksums of a release, with or without the truth of its test.

    Without `out` the folder itself is finished, with all its truth. With `out` and `private` it
    stays as it is: `out` becomes the release that may be handed on, without the truth of the
    `withheld` splits, and `private` a release of these splits with all of it. `keep` names files
    beyond the layout that go out too. `published` is a date, '2026-08-01'.
    """
    root = Path(root)
    part = cast(Benchmark, catalog.find("benchmarks", benchmark))
    if (out is None) != (private is None):
        raise UsageError(
            "withheld truth needs a separate folder", remedy="give both `out` and `private`, or neither"
        )
    made = provenance or Provenance()
    title = title or f"{made.recipe or 'cases'} in the layout of {part.title}"
    notes: list[str] = []
    with ExitStack() as stack:
        folder, hidden = root, None
        if out is not None and private is not None:
            _check_separate(root, Path(out), Path(private))
            # The private one is moved first: no moment at which the truth lies nowhere but in root.
            folder = stack.enter_context(staging_folder(Path(out)))
            hidden = stack.enter_context(staging_folder(Path(private)))
            notes += write_without_truth(
                benchmark,
                root,
                folder,
                hidden,
                withheld=withheld,
                pictures=None if pictures is None else Path(pictures),
                keep=keep,
                progress=progress,
            )
        where = {"version": version, "url": url, "published": published}
        about = _ReleaseInfo(part, title, licence or UNKNOWN_LICENCE, made, where)
        if hidden is not None:
            _finish_folder(about, hidden, notes, private=True, progress=progress)
            notes.append(f"the truth of {', '.join(withheld)} is in {private}")
        without = () if hidden is None else withheld
        counts = _finish_folder(about, folder, notes, withheld=without, progress=progress)
        files = len(list_files(folder))
    return FinishedRelease(
        root=root if out is None else Path(out),
        private=None if private is None else Path(private),
        cases={split: one.cases for split, one in counts.items()},
        files=files,
        notes=tuple(notes),
    )


def _check_separate(root: Path, out: Path, private: Path) -> None:
    """Refuse folders that lie in each other: the truth would be handed on with the rest."""
    places = [path.resolve() for path in (root, out, private)]
    for one in places:
        for other in places:
            if one is not other and (one == other or other in one.parents):
                raise UsageError(f"{one} lies in {other}", remedy="give three separate folders")


@dataclass(frozen=True)
class _ReleaseInfo:
    """What card and Croissant say of the release as a whole."""

    part: Benchmark
    title: str
    licence: str
    made: Provenance
    where: dict[str, str | None]


def _finish_folder(
    about: _ReleaseInfo,
    root: Path,
    notes: list[str],
    *,
    withheld: Sequence[str] = (),
    private: bool = False,
    progress: Progress | None = None,
) -> dict[str, SplitCount]:
    """Card, Croissant and checksums of one folder."""
    part, where = about.part, about.where
    releases = {split: load(part.name, root, split) for split in splits_of(part.name, root)}
    counts = {split: count_split(release) for split, release in releases.items()}
    (root / CROISSANT).unlink(missing_ok=True)  # what is there of before is described by neither
    (root / CHECKSUMS).unlink(missing_ok=True)
    listed = list_files(root)
    splits = {split: _row_files(release) for split, release in releases.items()}
    card = format_card(
        part,
        counts,
        title=about.title,
        licence=about.licence,
        provenance=about.made,
        withheld=withheld,
        private=private,
        files=_describe_files(listed, splits),
    )
    if _may_replace(root / CARD):
        with open_atomic(root / CARD) as stream:
            stream.write(card.encode("utf-8"))
    else:
        notes.append(f"{root / CARD} was written by somebody else and is left as it is")
    described = build_croissant(
        part,
        root,
        [file for file in listed if file != CARD],
        splits,
        title=about.title,
        licence=about.licence,
        provenance=about.made,
        version=where["version"] or "1.0.0",
        url=where["url"] or "https://example.org/not-published",
        published=where["published"],
    )
    with open_atomic(root / CROISSANT) as stream:
        stream.write(json.dumps(described, ensure_ascii=False, indent=1).encode("utf-8") + b"\n")
    write_checksums(root, progress=progress)
    return counts


def _row_files(release: object) -> list[str]:
    """The files that hold the rows of a split."""
    files = getattr(release, "files", None) or [getattr(release, "file", "")]
    return [file for file in files if file]


def _may_replace(path: Path) -> bool:
    try:
        return CARD_MARK in path.read_text("utf-8")
    except FileNotFoundError:
        return True
    except (OSError, UnicodeDecodeError):
        return False


def _describe_files(files: Sequence[str], splits: dict[str, list[str]]) -> list[tuple[str, str]]:
    told: dict[str, str] = {}
    for split, own in splits.items():
        for file in own:
            told[file] = f"{told[file]}, {split}" if file in told else f"the cases of {split}"
    for file in files:
        folder, slash, _ = file.partition("/")
        if slash:
            told.setdefault(f"{folder}/", "pictures and what belongs to them")
        elif file != CARD:
            told.setdefault(file, "beside the cases")
    told[CROISSANT] = "files and columns, described for machines"
    told[CHECKSUMS] = "SHA-256 of every file"
    return list(told.items())
