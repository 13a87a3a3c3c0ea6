"""What was measured before: believed for the same files only, and never half a line."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest

from overread.runs.scoring.measure_cache import MeasureCache
from overread.storage.cache_folder import cache_folder


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVERREAD_CACHE", str(tmp_path / "cache"))


def test_lines_come_back() -> None:
    """What one process kept another one finds, and `fresh` forgets it."""
    kept = MeasureCache("a")
    kept.add("k", {"masks": {"0": {"dice": 0.5}}})
    kept.close()
    assert MeasureCache("a").get("k") == {"masks": {"0": {"dice": 0.5}}}
    assert MeasureCache("b").get("k") is None
    assert MeasureCache("a", fresh=True).get("k") is None


def test_a_cut_line_costs_itself() -> None:
    """A kill in the middle of a line loses that line; what is added later stands on its own."""
    kept = MeasureCache("a")
    kept.add("k", {"m": {}})
    kept.close()
    (file,) = (cache_folder() / "grades").iterdir()
    with file.open("ab") as out:
        out.write(b'{"key": "half", "rows": {"m"')
    again = MeasureCache("a")
    again.add("l", {"m": {"": {}}})
    again.close()
    found = MeasureCache("a")
    assert found.get("k") == {"m": {}}
    assert found.get("half") is None
    assert found.get("l") == {"m": {"": {}}}


@pytest.mark.parametrize("damage", [(b"0.25", b"0.75"), (b'{"m"', b'{"n"'), (b'"k"', b"[1]"), (b"{", b"[")])
def test_a_damaged_line_is_not_believed(damage: tuple[bytes, bytes]) -> None:
    """Another digit, name or kind of value makes a line worth nothing, and no error."""
    kept = MeasureCache("a")
    kept.add("k", {"m": {"": {"dice": 0.25}}})
    kept.add("l", {"m": {"ä": {"word": "\ud800"}}})
    kept.close()
    (file,) = (cache_folder() / "grades").iterdir()
    file.write_bytes(file.read_bytes().replace(*damage, 1))
    assert MeasureCache("a").get("k") is None
    assert MeasureCache("a").get("l") == {"m": {"ä": {"word": "\ud800"}}}


def test_nobody_else_reads_it() -> None:
    """The file is for its owner alone: it tells of private truth."""
    kept = MeasureCache("a")
    kept.add("k", {})
    kept.close()
    (file,) = (cache_folder() / "grades").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Grading goes on without its cache."""
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("OVERREAD_CACHE", str(blocked))
    for fresh in (False, True):
        kept = MeasureCache("a", fresh=fresh)
        kept.add("k", {"m": {}})
        kept.close()


def test_one_measures_and_the_other_waits() -> None:
    """Whoever comes second is told, waits, and then has what the first one measured."""
    one, two = MeasureCache("a"), MeasureCache("a")
    assert not one.wait_for_others()
    said: list[str] = []
    waits = threading.Event()

    def tell(words: str) -> None:
        said.append(words)
        waits.set()

    found: list[bool] = []
    other = threading.Thread(target=lambda: found.append(two.wait_for_others(tell)))
    other.start()
    assert waits.wait(60)
    assert "another grading" in said[0]
    one.add("k", {"m": {}})
    one.close()
    other.join(60)
    assert found == [True]
    assert two.get("k") == {"m": {}}
    two.close()


def test_fresh_believes_what_was_measured_while_it_waited() -> None:
    """And nothing older; where nobody measured, it begins anew."""
    old = MeasureCache("a")
    assert not old.wait_for_others()
    old.add("old", {"m": {}})
    fresh = MeasureCache("a", fresh=True)
    waits = threading.Event()
    other = threading.Thread(target=lambda: fresh.wait_for_others(lambda _: waits.set()))
    other.start()
    assert waits.wait(60)
    old.add("new", {"m": {"": {}}})
    old.close()
    other.join(60)
    assert (fresh.get("old"), fresh.get("new")) == (None, {"m": {"": {}}})
    fresh.close()
    anew = MeasureCache("a", fresh=True)
    assert not anew.wait_for_others()
    anew.close()
    assert MeasureCache("a").get("new") is None
