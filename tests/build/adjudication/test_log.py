"""The log of verdicts: kills, tampering, several people at once; nothing is lost in silence."""

from __future__ import annotations

import json
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.build.adjudication import Queue, final_verdicts, verify_log, write_questions
from overread.errors import OverreadError, UsageError
from tests.build.adjudication.sample_questions import question, queue_of

QUESTIONS = [question(n, choices=("accept", "reject", "adjust")) for n in range(4)]
PEOPLE = ("ann", "bob", "cem")
FEW = QUESTIONS[:2]
"""So few that people meet on them."""
VERDICTS = ("accept", "reject", "adjust", "cannot judge")


def log_of(folder: Path) -> Path:
    return folder / "adjudication.jsonl"


def filled(folder: Path) -> bytes:
    """A log of five lines, one of them an undo, and its bytes."""
    queue = queue_of(folder, QUESTIONS)
    queue.submit("ann", QUESTIONS[0].id, "accept", note="größer, “quoted”, line\nbreak")
    queue.submit("bob", QUESTIONS[0].id, "reject", corrected={"a": 1, "hash": "0" * 64})
    queue.submit("ann", QUESTIONS[1].id, "accept", reasons=["ambiguous"])
    queue.undo("ann")
    queue.submit("cem", QUESTIONS[0].id, "reject")
    return log_of(folder).read_bytes()


# ---- random people, random kills -----------------------------------------------------------------


class Model:
    """What should be the case, by the plainest means: the list of what happened."""

    def __init__(self) -> None:
        self.done: list[tuple[str, str, str | None]] = []

    def live(self, asked: str) -> dict[str, str]:
        found: dict[str, str] = {}
        for person, about, verdict in self.done:
            if about == asked and verdict is not None:
                found[person] = verdict
            elif about == asked:
                del found[person]
        return found

    def settled(self) -> dict[str, str]:
        found = {}
        for asked in FEW:
            said = list(self.live(asked.id).values())
            if len(said) >= 2 and said[0] == said[1]:
                found[asked.id] = said[0]
            elif len(said) >= 3:
                found[asked.id] = said[2]
        return found

    def last(self, person: str) -> str | None:
        """The question of the person's last verdict that stands, by when it was given."""
        own: list[str] = []
        for who, asked, verdict in self.done:
            if who == person and verdict is not None:
                own.append(asked)
            elif who == person:
                own.remove(asked)
        return own[-1] if own else None


ACTIONS = st.one_of(
    st.tuples(st.just("look"), st.sampled_from(PEOPLE), st.none()),
    st.tuples(st.just("give"), st.sampled_from(PEOPLE), st.sampled_from(VERDICTS)),
    st.tuples(st.just("give"), st.sampled_from(PEOPLE), st.sampled_from(VERDICTS[:2])),
    st.tuples(st.just("undo"), st.sampled_from(PEOPLE), st.none()),
    st.tuples(st.just("again"), st.sampled_from(PEOPLE), st.sampled_from(VERDICTS)),
    st.tuples(st.just("kill"), st.none(), st.integers(0, 10_000)),
)


@settings(max_examples=60, deadline=None)
@given(people=st.integers(2, 3), actions=st.lists(ACTIONS, min_size=8, max_size=40))
def test_any_order_of_people_and_kills_gives_the_same_verdicts(
    people: int, actions: list[tuple[str, str | None, Any]]
) -> None:
    """Whoever reads, undoes or is killed when: all but the verdict in flight stands, in order."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = Model()
        seats = {person: queue_of(folder, FEW) for person in PEOPLE[:people]}
        screens: dict[str, str] = {}
        whole = 0
        fresh = False  # whether the last line may have been in flight
        for action, person, value in actions:
            if person is not None and person not in seats:
                continue
            if action == "kill":
                size = log_of(folder).stat().st_size if fresh else 0
                if size <= whole:
                    continue
                keep = whole + value % (size - whole)
                with log_of(folder).open("r+b") as file:
                    file.truncate(keep)
                if keep < size - 1:  # where only the end of the line is gone, nothing is
                    model.done.pop()
                seats = {person: queue_of(folder, FEW) for person in seats}
                assert bool(verify_log(folder).torn) == (keep > whole)
                assert verify_log(folder).intact
                fresh = False
                continue
            assert person is not None
            before = log_of(folder).stat().st_size if log_of(folder).exists() else 0
            if action == "look" or (action == "give" and person not in screens):
                found = seats[person].next_question(person)
                if found is not None:
                    assert person not in model.live(found.id)
                    assert found.id not in model.settled()
                    screens[person] = found.id
            if action == "give" and person in screens:
                asked = screens.pop(person)
                if person in model.live(asked):  # a kill took the undo back
                    with pytest.raises(UsageError, match="already"):
                        seats[person].submit(person, asked, value)
                    continue
                seats[person].submit(person, asked, value)
                model.done.append((person, asked, value))
            elif action == "again" and (known := model.last(person)) is not None:
                with pytest.raises(UsageError, match="already"):
                    seats[person].submit(person.upper(), known, value)
                continue
            elif action == "undo":
                last = model.last(person)
                said = list(model.live(last)) if last else []
                verdicts = list(model.live(last).values()) if last else []
                bound = len(said) > 2 and verdicts[0] != verdicts[1] and person in said[:2]
                if last is None or bound:
                    with pytest.raises(UsageError):
                        seats[person].undo(person)
                    continue
                assert seats[person].undo(person).question == last
                model.done.append((person, last, None))
            else:
                continue
            # What a kill left is taken away by the next line.
            whole = sum(map(len, log_of(folder).read_bytes().splitlines(keepends=True)[:-1]))
            assert whole <= before + 1
            fresh = True
        assert final_verdicts(folder, FEW) == model.settled()
        check = verify_log(folder)
        assert check.intact
        assert check.lines == len(model.done)


# ---- real processes ------------------------------------------------------------------------------

READER = """
import sys
from pathlib import Path
from overread.build.adjudication import Queue
folder, person = Path(sys.argv[1]), sys.argv[2]
queue = Queue(folder)
while (found := queue.next_question(person)) is not None:
    queue.submit(person, found.id, "accept" if hash(found.id) % 3 else "reject")
    print(found.id, flush=True)
"""


def test_people_at_once_and_real_kills_lose_nothing(tmp_path: Path) -> None:
    """Processes that read at the same time, one killed again and again: what was said stands."""
    write_questions(tmp_path, [question(n) for n in range(100)])
    random_ = random.Random(5)

    def begin(person: str) -> subprocess.Popen[str]:
        words = [sys.executable, "-c", READER, str(tmp_path), person]
        return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)

    said: dict[str, list[str]] = {"ann": [], "bob": []}
    bob = begin("bob")
    kills = 0
    for _ in range(4):
        ann = begin("ann")
        assert ann.stdout is not None
        for _ in range(random_.randint(1, 14)):
            said["ann"] += ann.stdout.readline().split()
        ann.send_signal(signal.SIGKILL)
        said["ann"] += ann.communicate()[0].split()
        kills += ann.returncode == -signal.SIGKILL
    said["bob"] += bob.communicate(timeout=300)[0].split()
    assert bob.returncode == 0
    assert kills
    said["ann"] += begin("ann").communicate(timeout=300)[0].split()
    check = verify_log(tmp_path)
    assert check.intact
    assert not check.torn
    kept = {"ann": [], "bob": []}  # type: dict[str, list[str]]
    for one in Queue(tmp_path).current_verdicts():
        kept[one.person].append(one.question)
    assert kept["bob"] == said["bob"]
    assert set(said["ann"]) <= set(kept["ann"])
    assert len(kept["ann"]) - len(said["ann"]) <= kills  # written, and killed before it was told
    assert check.lines == 200 == len(kept["ann"]) + len(kept["bob"])


def test_threads_with_one_queue_lose_nothing(tmp_path: Path) -> None:
    """A page serves several people from one object: every verdict is there, once."""
    questions = [question(n) for n in range(12)]
    queue = queue_of(tmp_path, questions)

    def read(person: str) -> None:
        for asked in questions:
            queue.submit(person, asked.id, "accept")

    threads = [threading.Thread(target=read, args=(f"p{n}",)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(queue.current_verdicts()) == 72
    assert verify_log(tmp_path).lines == 72
    assert verify_log(tmp_path).intact


def test_a_full_disk_is_told_and_leaves_the_log_whole(tmp_path: Path) -> None:
    """A line that could not be written to its end is taken back, and its giver told."""
    before = filled(tmp_path)
    queue = queue_of(tmp_path, QUESTIONS)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 100, hard))
    try:
        with pytest.raises(OverreadError, match="the verdict log cannot be written"):
            queue.submit("dan", QUESTIONS[2].id, "accept")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert log_of(tmp_path).read_bytes() == before
    queue.submit("dan", QUESTIONS[2].id, "accept")
    assert verify_log(tmp_path).lines == 6


# ---- a torn line ---------------------------------------------------------------------------------


def test_a_torn_line_is_told_and_goes_with_the_next_verdict(tmp_path: Path) -> None:
    """Wherever a kill cut the last line, the lines before it stand and the next one follows."""
    whole = filled(tmp_path)
    begin = whole[:-1].rfind(b"\n") + 1
    for keep in range(begin + 1, len(whole)):
        log_of(tmp_path).write_bytes(whole[:keep])
        check = verify_log(tmp_path)
        complete = keep == len(whole) - 1
        assert check.intact
        assert check.lines == 4 + complete
        assert check.torn.startswith("line 5 ")
        queue = queue_of(tmp_path, QUESTIONS)
        assert final_verdicts(tmp_path, QUESTIONS).get(QUESTIONS[0].id) == ("reject" if complete else None)
        if keep % 40 == 0 or complete:
            queue.submit("dan", QUESTIONS[3].id, "accept")
            assert len(queue.progress().notes) == 1
            again = verify_log(tmp_path)
            assert again.intact
            assert not again.torn
            assert again.lines == 5 + complete


def test_a_log_that_is_followed_sees_what_others_did(tmp_path: Path) -> None:
    """An open queue follows lines, torn ends and copies put back by others."""
    mine, other = queue_of(tmp_path, QUESTIONS), queue_of(tmp_path, QUESTIONS)
    mine.submit("ann", QUESTIONS[0].id, "accept")
    early = log_of(tmp_path).read_bytes()
    other.submit("bob", QUESTIONS[0].id, "accept")
    assert mine.progress().all.settled == 1
    log_of(tmp_path).write_bytes(log_of(tmp_path).read_bytes()[:-1])
    assert mine.progress().all.settled == 1
    other.submit("bob", QUESTIONS[1].id, "accept")
    assert mine.progress().given == {"ann": 1, "bob": 2}
    log_of(tmp_path).unlink()
    log_of(tmp_path).write_bytes(early)
    assert mine.progress().given == {"ann": 1}
    log_of(tmp_path).unlink()
    assert mine.progress().given == {}


# ---- tampering -----------------------------------------------------------------------------------


def test_every_altered_byte_is_found(tmp_path: Path) -> None:
    """Whichever byte is altered, of the first and last line or between, verify names its line."""
    whole = filled(tmp_path)
    first, last = whole.find(b"\n") + 1, whole[:-1].rfind(b"\n")
    for place in [*range(first), *range(first, last, 5), *range(last, len(whole))]:
        altered = bytearray(whole)
        altered[place] ^= (0x01, 0x20, 0x80)[place % 3]
        log_of(tmp_path).write_bytes(altered)
        line = whole[:place].count(b"\n") + 1
        assert verify_log(tmp_path).broken == line, f"byte {place}"


@pytest.mark.parametrize("line", [0, 4])
def test_every_missing_or_added_byte_is_found(tmp_path: Path, line: int) -> None:
    """A byte taken out or put in is found; only the last line's end may be a kill's work."""
    whole = filled(tmp_path)
    begin = sum(map(len, whole.splitlines(keepends=True)[:line]))
    for place in range(begin, whole.find(b"\n", begin) + 1):
        log_of(tmp_path).write_bytes(whole[:place] + whole[place + 1 :])
        check = verify_log(tmp_path)
        assert check.torn if place == len(whole) - 1 else check.broken == line + 1
        byte = (b"x", b"\n", b" ", b"\0")[place % 4]
        log_of(tmp_path).write_bytes(whole[:place] + byte + whole[place:])
        assert verify_log(tmp_path).broken == line + 1, f"{byte!r} before byte {place}"


def test_lines_taken_out_or_exchanged_are_found(tmp_path: Path) -> None:
    """A line less, or two in another order, no longer follow; a cut end needs the noted hash."""
    lines = filled(tmp_path).splitlines(keepends=True)
    head = verify_log(tmp_path).head
    assert verify_log(tmp_path, head=head).intact
    for gone in range(4):
        log_of(tmp_path).write_bytes(b"".join(lines[:gone] + lines[gone + 1 :]))
        assert verify_log(tmp_path).broken == gone + 1
    log_of(tmp_path).write_bytes(b"".join([lines[1], lines[0], *lines[2:]]))
    assert verify_log(tmp_path).broken == 1
    log_of(tmp_path).write_bytes(b"".join(lines[:-1]))
    assert verify_log(tmp_path).intact
    assert verify_log(tmp_path, head=head).broken == 5


def test_an_altered_log_decides_nothing_and_takes_nothing(tmp_path: Path) -> None:
    """Whoever builds on an altered log, or adds to it, is told the line instead."""
    whole = filled(tmp_path)
    altered = whole.replace(b'"verdict":"reject"', b'"verdict":"accept"', 1)
    assert altered != whole
    log_of(tmp_path).write_bytes(altered)
    queue = queue_of(tmp_path, QUESTIONS)
    for act in (
        lambda: final_verdicts(tmp_path, QUESTIONS),
        lambda: final_verdicts(tmp_path),
        queue.progress,
        lambda: queue.next_question("dan"),
        lambda: queue.submit("dan", QUESTIONS[0].id, "accept"),
        lambda: queue.undo("cem"),
    ):
        with pytest.raises(OverreadError, match="is damaged from line 2 on"):
            act()
    assert log_of(tmp_path).read_bytes() == altered


def test_a_line_that_breaks_the_rules_is_found_though_its_hash_is_right(tmp_path: Path) -> None:
    """Who forges a second verdict of a person, hash and all, is found by the rules."""
    import hashlib

    whole = filled(tmp_path)
    last = json.loads(whole.splitlines()[-1])
    body = json.dumps(
        {"n": 6, "before": last["hash"], **{k: last[k] for k in ("at", "way", "given")}},
        separators=(",", ":"),
    ).encode()[:-1]
    forged = body + f',"hash":"{hashlib.sha256(body).hexdigest()}"}}\n'.encode()
    log_of(tmp_path).write_bytes(whole + forged)
    check = verify_log(tmp_path)
    assert check.broken == 6
    assert "has read question" in check.why


def test_a_file_of_something_else_is_no_log(tmp_path: Path) -> None:
    """The verdicts of a judge, which had the same name once in a run's folder, are told apart."""
    (tmp_path / "verdicts.jsonl").write_text('{"kind": "steps", "case_id": "c1"}\n', "utf-8")
    assert verify_log(tmp_path).broken == 1
    with pytest.raises(OverreadError, match="it has no hash at its end"):
        queue_of(tmp_path, QUESTIONS).submit("ann", QUESTIONS[0].id, "accept")


def test_a_log_by_its_old_name_goes_on_in_its_file(tmp_path: Path) -> None:
    """`verdicts.jsonl` of earlier versions is read, verified and added to; no second file comes."""
    whole = filled(tmp_path)
    old = log_of(tmp_path).rename(tmp_path / "verdicts.jsonl")
    queue = queue_of(tmp_path, QUESTIONS)
    queue.submit("dan", QUESTIONS[3].id, "accept")
    assert not log_of(tmp_path).exists()
    assert old.read_bytes().startswith(whole)
    assert verify_log(tmp_path).lines == 6
    assert final_verdicts(tmp_path, QUESTIONS)[QUESTIONS[0].id] == "reject"
    log_of(tmp_path).write_bytes(whole)
    for act in (queue.progress, lambda: verify_log(tmp_path), lambda: final_verdicts(tmp_path)):
        with pytest.raises(UsageError, match=r"both adjudication\.jsonl and verdicts\.jsonl"):
            act()
