"""A run that is going on, and scoring, seen on the page without loading it again."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, expect

from overread.core import Reading
from overread.runs.store import ReadingStore
from overread.site.runs import background_scoring, routes
from overread.site.runs.reading_index import ReadingIndex, is_written_now
from overread.site.shelf import Shelf
from tests.site.browser import PageWindow
from tests.site.served_site import serve_site
from tests.timing import wait_until

SLOW = """
import asyncio, sys
from pathlib import Path
from overread import RunPlan, run
from overread.core import Reader, Reply

class Slow(Reader):
    name = "slow"
    skills = frozenset({"words", "pictures"})
    identity = {"model": "slow"}
    at_once = 1

    async def read(self, request):
        await asyncio.to_thread(sys.stdin.readline)  # one more case for each line
        return Reply(text='{"answer": "A", "explanation": "It is always A."}')

run(RunPlan("medthinkvqa", Path(sys.argv[1]), Slow(), split="train", concurrency=1), Path(sys.argv[2]))
"""


@pytest.mark.slow
def test_readings_come_while_one_looks(own_shelf: Path, browser: Browser) -> None:
    """A real run in another process: its number rises on the page, and it is said to be live."""
    out = own_shelf / "runs" / "slow"
    words = [sys.executable, "-c", SLOW, str(own_shelf / "medthinkvqa"), str(out)]
    going = subprocess.Popen(words, stdin=subprocess.PIPE, text=True)
    assert going.stdin is not None
    try:
        files = [out / "readings.jsonl", out / "spec.json"]
        wait_until(lambda: all(map(Path.exists, files)) or going.poll() is not None)
        assert going.poll() is None
        with serve_site([own_shelf]) as page, PageWindow.open(browser, page) as window:
            name = page.shelf_id("runs", "runs/slow")
            many = page.get(f"/api/runs/{name}")["asked"]
            assert many == 2
            window.go(f"/runs/{name}")
            read = window.page.locator(".runs-read")
            expect(read).to_have_text("0")
            window.wait_for_text("running")
            window.wait_for_text("This run is not scored yet")
            window.check_accessibility()
            for number in range(1, many + 1):
                going.stdin.write("\n")
                going.stdin.flush()
                expect(read).to_have_text(str(number))
            assert going.wait(300) == 0
            window.wait_for_text("complete")
            window.page.get_by_role("button", name="Score it").click()
            expect(window.page.get_by_role("link", name=re.compile("^accuracy "))).to_be_visible()
            assert (out / "card.json").is_file()
    finally:
        going.stdin.close()
        if going.poll() is None:
            going.kill()
        going.wait()


def reading(case: str, **more: object) -> Reading:
    """A reading of a case."""
    return Reading.model_validate({"case_id": case, "reader": "r", **more})


def test_what_ends_while_it_is_asked_about_still_goes_on(
    own_shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run or a scoring that ends amid the answer never reads as over with nothing left by it.

    Whoever looks stops asking once nothing goes on.
    """
    folder = own_shelf / "runs" / "mmrad" / "atlas"
    card = (folder / "card.json").read_bytes()
    (folder / "card.json").unlink()
    shelf = Shelf([own_shelf])
    run = next(run for run in shelf.runs.values() if run.folder == folder)
    look = ReadingIndex.refresh
    writing = ExitStack()
    writing.enter_context(ReadingStore(folder))

    def scoring(state: Literal["going", "done"]) -> None:
        monkeypatch.setitem(background_scoring._state, run.id, background_scoring.ScoringStatus(state=state))

    def told() -> tuple[bool, bool, str | None]:
        found = routes._status(run, shelf)
        return found.live, found.scored, found.scoring.state if found.scoring else None

    def ends_after(follower: ReadingIndex) -> object:
        found = look(follower)
        writing.close()
        (folder / "card.json").write_bytes(card)
        scoring("done")
        return found

    with monkeypatch.context() as amid:
        amid.setattr(ReadingIndex, "refresh", ends_after)
        # The card lands just after it was looked for.
        amid.setattr(routes, "modified_at", lambda _file: None)
        scoring("going")
        assert told() == (True, False, "going")
    assert told() == (False, True, "done")


def test_following_takes_whole_lines_only(tmp_path: Path) -> None:
    """Half a line is left alone until its rest is there; the last line of a case counts."""
    follower = ReadingIndex(tmp_path)
    assert follower.refresh() == {}
    file = tmp_path / "readings.jsonl"
    first = reading("a", choice="A").model_dump_json() + "\n"
    second = reading("b", error="it broke").model_dump_json() + "\n"
    file.write_text(first + second[:10])
    assert list(follower.refresh()) == [("a", 0)]
    with file.open("a") as out:
        out.write(second[10:])
    assert [one.error for one in follower.refresh().values()] == [None, "it broke"]
    with file.open("a") as out:
        out.write("no reading\n" + reading("a", choice="B").model_dump_json() + "\n")
    assert follower.refresh()["a", 0].choice == "B"
    assert follower.damaged == 1
    assert follower.reading("a").choice == "B"
    file.write_text(first)
    assert {key: one.choice for key, one in follower.refresh().items()} == {("a", 0): "A"}
    assert follower.damaged == 0


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="tells locks on Linux only")
def test_a_lock_is_seen_and_not_taken(tmp_path: Path) -> None:
    """Looking whether a run is written neither needs nor hinders its lock."""
    with ReadingStore(tmp_path) as store:
        store.append(reading("a"))
        assert is_written_now(tmp_path)
        store.append(reading("b"))
    assert not is_written_now(tmp_path)
    assert len((tmp_path / "readings.jsonl").read_text().splitlines()) == 2
    assert json.loads((tmp_path / "readings.jsonl").read_text().splitlines()[0])["case_id"] == "a"
