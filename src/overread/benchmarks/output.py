"""Writing a release: rows in the benchmark's own layout, pictures beside them."""

from __future__ import annotations

import filecmp
import glob
import json
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from overread.core import Entry, Progress, Record, Release
from overread.errors import UsageError
from overread.storage.atomic import LEFTOVER, open_atomic, remove_leftovers
from overread.storage.fence import Fence


def require_same(entry: Entry, again: Entry | None) -> None:
    """Refuse to write a row that would not be read back as the same entry.

    Loaded entries always are. A generated one may hold something the layout has no column for;
    dropping it silently would falsify the benchmark.
    """
    if again == entry:
        return
    if again is None:
        lost = ["all of it"]
    else:
        lost = [
            f"{part}.{name}"
            for part in ("case", "truth")
            for name in _differing_fields(getattr(entry, part), getattr(again, part))
        ]
        lost += ["extra"] if entry.extra != again.extra else []
    raise UsageError(
        f"this layout cannot hold all of case '{entry.case.id}': {', '.join(lost)}",
        remedy="make the case as a loaded one of this benchmark is",
    )


def _differing_fields(one: Record | None, other: Record | None) -> list[str]:
    if one is None or other is None:
        return [] if one is other else ["all of it"]
    return [name for name in type(one).model_fields if getattr(one, name) != getattr(other, name)]


def write_jsonl(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Rows as JSON lines; the file appears when the last one is written."""
    with open_atomic(path, exclusive=True) as out:
        for row in rows:
            out.write(json.dumps(row, ensure_ascii=False).encode("utf-8") + b"\n")


def write_list(path: Path, write: Callable[[Path], None], copy: Callable[[], None] | None) -> Path:
    """The list of a split, written by `write`, after `copy` has put its pictures beside it.

    The list comes last, so where it stands everything stands; a release is never written over another
    one. Given again, the command goes on with what a kill left, and the same list is left as it is.
    """
    remove_leftovers(path.parent, f"**/{LEFTOVER}")
    if path.exists():
        write_once(path, write)  # refused here where it is another one, before a picture is touched
    if copy is not None:
        copy()
    if not path.exists():
        write(path)
    return path


def watched(release: Release, progress: Progress | None) -> Iterator[Entry]:
    """The entries of a release, each told to `progress` when it is done."""
    total = release.count()
    for done, entry in enumerate(release.entries(), 1):
        yield entry
        if progress is not None:
            progress(done, total)


def copy_file(release: Release, file: str, out: Path, *, to: str | None = None) -> None:
    """Copy one picture of a release to the same relative place under `out`, or to another."""
    source = release.source(file)
    target = Fence(out).path_to_write(to or file)
    if not target.exists():
        copy_bytes(source, target)
    elif not _same_bytes(source, target):
        raise UsageError(f"{target} already exists and is another file", remedy="choose another folder")


def copy_bytes(source: Path | bytes, target: Path) -> None:
    """Write the bytes of a file, or a buffer, to `target` as they are."""
    with open_atomic(target, compress=False) as copy:
        if isinstance(source, bytes):
            copy.write(source)
        else:
            with source.open("rb") as original:
                shutil.copyfileobj(original, copy, 1 << 20)


def write_once(target: Path, write: Callable[[Path], None]) -> None:
    """Let `write` make the target; if it exists, require that it would be identical."""
    if not target.exists():
        write(target)
        return
    remove_leftovers(target.parent, LEFTOVER.removesuffix("part") + glob.escape(target.name))
    probe = target.with_name(f".{uuid.uuid4().hex}.{target.name}")
    try:
        write(probe)
        if not filecmp.cmp(probe, target, shallow=False):
            raise UsageError(f"{target} already exists and is another file", remedy="choose another folder")
    finally:
        probe.unlink(missing_ok=True)


def _same_bytes(source: Path | bytes, target: Path) -> bool:
    if isinstance(source, bytes):
        return target.read_bytes() == source
    return filecmp.cmp(source, target, shallow=False)
