"""Valid releases, mutated in hundreds of ways: a named defect or equal cases, never a crash."""

from __future__ import annotations

import copy
import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import overread
from overread.core import Case, Defect
from overread.errors import OverreadError
from tests.jsonl_rows import read_rows, write_rows

BENCHMARKS = ("medthinkvqa", "rexgroundingct", "mmrad")
# Values that no text, path or number of a release may be replaced by without being noticed.
JUNK: tuple[Any, ...] = (
    None, True, -1, 0, 3.7, 10**30, 1e308, [], {}, [1], {"a": 1}, [[]], float("nan"), [None],
)  # fmt: skip
# Texts that are nobody's path, letter, category or list.
ODD_TEXTS = ("", "../../etc/passwd", "a\0b", "\U0001f980", "x" * 5000, "C:\\x", "/dev/zero", "{}")


def rows_of(root: Path, benchmark: str) -> list[dict[str, Any]]:
    if benchmark == "rexgroundingct":
        data = json.loads((root / "dataset.json").read_text("utf-8"))
        return data["test"]  # type: ignore[no-any-return]
    return read_rows(root / "test.jsonl")


def put_rows(root: Path, benchmark: str, rows: list[Any]) -> None:
    if benchmark == "rexgroundingct":
        data = json.loads((root / "dataset.json").read_text("utf-8"))
        text = json.dumps(data | {"test": rows})
        (root / "dataset.json").write_text(text, "utf-8")
    else:
        write_rows(root / "test.jsonl", rows)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON value that can be replaced or removed."""
    if path:
        yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places(item, (*path, index))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def outcome(benchmark: str, root: Path) -> tuple[list[Defect], list[Case] | OverreadError]:
    """What checking and loading say; anything but our own errors fails the test by itself."""
    defects = list(overread.check(benchmark, root))
    for defect in defects:
        assert str(defect)
        assert defect.code
    try:
        return defects, list(overread.load(benchmark, root))
    except OverreadError as error:
        assert str(error)
        return defects, error


def judge(benchmark: str, root: Path, before: list[Case]) -> None:
    """A named defect, or the cases that were there before."""
    defects, cases = outcome(benchmark, root)
    if isinstance(cases, OverreadError):
        assert any(defect.severity == "error" for defect in defects), cases
    elif not defects:
        assert cases == before


@pytest.fixture(params=BENCHMARKS)
def mutable(
    request: pytest.FixtureRequest, sketch: Path, tmp_path: Path
) -> tuple[str, Path, list[Any], list[Case]]:
    """(benchmark, a copy, its test rows, its cases)."""
    benchmark: str = request.param
    root = tmp_path / benchmark
    shutil.copytree(sketch / benchmark, root)
    return benchmark, root, rows_of(root, benchmark), list(overread.load(benchmark, root))


@settings(max_examples=150)
@given(seed=st.integers(0, 10**9))
@example(seed=0)
def test_values_of_other_kinds(mutable: tuple[str, Path, list[Any], list[Case]], seed: int) -> None:
    """Any value of any row replaced by one of another kind, or removed."""
    benchmark, root, rows, before = mutable
    rng = random.Random(seed)
    changed = json.loads(json.dumps(rows))
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        options = [path for path in places(changed) if len(path) > 1]
        if not options:
            break
        path = rng.choice(options)
        parent = at(changed, path[:-1])
        if rng.random() < 0.25 and isinstance(parent, dict):
            del parent[path[-1]]
        else:
            parent[path[-1]] = copy.deepcopy(rng.choice(JUNK))
    put_rows(root, benchmark, changed)
    judge(benchmark, root, before)


STRUCTURAL: dict[str, tuple[str, ...]] = {
    "medthinkvqa": ("options", "correct_answer", "image_01_path", "image_02_path", "image_count"),
    "rexgroundingct": ("name", "categories", "shape", "pixels", "entity_counts", "findings"),
    "mmrad": ("images", "prompt"),
}


@settings(max_examples=80)
@given(seed=st.integers(0, 10**9))
def test_odd_texts_in_structural_places(mutable: tuple[str, Path, list[Any], list[Case]], seed: int) -> None:
    """Paths, letters, codes and keys replaced by texts that cannot be theirs."""
    benchmark, root, rows, before = mutable
    rng = random.Random(seed)
    changed = json.loads(json.dumps(rows))
    row = rng.choice(changed)
    field = rng.choice(STRUCTURAL[benchmark])
    within = [path for path in places(row[field]) if isinstance(at(row[field], path), str | int)]
    text = rng.choice(ODD_TEXTS)
    sentences = field in ("findings", "options")  # any text is a sentence; its key is not
    if within and not sentences and rng.random() < 0.7:
        path = rng.choice(within)
        at(row[field], path[:-1])[path[-1]] = text
    else:
        row[field] = text
    put_rows(root, benchmark, changed)
    judge(benchmark, root, before)


HARMLESS: dict[str, Callable[[bytes], bytes]] = {
    "byte order mark": lambda raw: b"\xef\xbb\xbf" + raw,
    "line ends": lambda raw: raw.replace(b"\n", b"\r\n"),
    "blank lines": lambda raw: raw.replace(b"\n", b"\n \n\n"),
    "no last line end": lambda raw: raw.rstrip(b"\n"),
    "unpacked letters": lambda raw: (
        json.dumps(json.loads(raw.splitlines()[0])).encode() + b"\n" + b"\n".join(raw.splitlines()[1:])
    ),
}


@pytest.mark.parametrize("name", HARMLESS)
@pytest.mark.parametrize("benchmark", ["medthinkvqa", "mmrad"])
def test_ways_to_write_the_same_rows(sketch: Path, tmp_path: Path, benchmark: str, name: str) -> None:
    """Line ends, marks and blank lines change nothing."""
    root = tmp_path / benchmark
    shutil.copytree(sketch / benchmark, root)
    before = list(overread.load(benchmark, root))
    path = root / "test.jsonl"
    path.write_bytes(HARMLESS[name](path.read_bytes()))
    defects, cases = outcome(benchmark, root)
    assert cases == before
    assert defects == []


@settings(max_examples=150)
@given(seed=st.integers(0, 10**9))
def test_damaged_files(mutable: tuple[str, Path, list[Any], list[Case]], seed: int) -> None:
    """Bytes flipped, cut, inserted or swapped in any file: told or harmless, never a crash.

    A flipped letter in a sentence is another sentence, so here only crashes count; a file that
    was cut off, emptied or removed must be noticed.
    """
    benchmark, root, _, before = mutable
    rng = random.Random(seed)
    files = sorted(path for path in root.rglob("*") if path.is_file() and "train" not in path.name)
    path = rng.choice(files)
    raw = path.read_bytes()
    how = rng.choice(("flip", "cut", "insert", "empty", "remove", "folder", "other"))
    if how == "flip":
        damaged = bytearray(raw)
        for _ in range(rng.randint(1, 5)):
            damaged[rng.randrange(len(raw))] = rng.randrange(256)
        path.write_bytes(damaged)
    elif how == "cut":
        path.write_bytes(raw[: rng.randrange(len(raw))])
    elif how == "insert":
        place = rng.randrange(len(raw))
        path.write_bytes(raw[:place] + rng.randbytes(rng.randint(1, 40)) + raw[place:])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "other":
        path.write_bytes(rng.choice(files).read_bytes())
    else:
        path.unlink()
        if how == "folder":
            path.mkdir()
    try:
        defects, cases = outcome(benchmark, root)
        shown = {Path(picture.file) for case in before for picture in case.pictures}
        used = bool({path.relative_to(root), Path(path.name)} & shown)
        optional = how == "remove" and path.name == "anatomical_cot.json"
        listing = path.suffix in (".json", ".jsonl") and not optional
        if how in ("empty", "remove", "folder") and (used or listing):
            assert defects
        if isinstance(cases, OverreadError):
            assert any(defect.severity == "error" for defect in defects)
    finally:
        if path.is_dir():
            path.rmdir()
        path.write_bytes(raw)
