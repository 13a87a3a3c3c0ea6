"""Two blinded reads, a third where they differ: who may read what, and what is decided."""

from __future__ import annotations

from pathlib import Path

import pytest

from overread.build.adjudication import (
    CANNOT_JUDGE,
    Queue,
    final_verdicts,
    load_decisions,
    load_questions,
    write_questions,
)
from overread.build.adjudication.reasons import reasons_for
from overread.build.item import Item
from overread.errors import OverreadError, UsageError
from tests.build.adjudication.sample_questions import question, queue_of

Q = [question(n) for n in range(3)]
ONE = Q[0].id


def test_two_that_agree_settle_it_and_nobody_is_asked_again(tmp_path: Path) -> None:
    """The second equal verdict settles a question; a third person is not asked."""
    queue = queue_of(tmp_path, Q[:1])
    queue.submit("ann", ONE, "accept")
    assert final_verdicts(tmp_path, Q[:1]) == {}
    queue.submit("bob", ONE, "accept")
    assert final_verdicts(tmp_path, Q[:1]) == {ONE: "accept"}
    assert queue.next_question("cem") is None
    assert load_decisions(tmp_path, Q[:1])[ONE].by == "agreement"


def test_a_third_person_decides_where_two_differ(tmp_path: Path) -> None:
    """Where two differ neither of them is asked again, and the third's verdict stands."""
    queue = queue_of(tmp_path, Q[:1])
    queue.submit("ann", ONE, "accept", reasons=["ambiguous"])
    queue.submit("bob", ONE, "reject", corrected={"box": [1, 1, 5, 5]})
    assert final_verdicts(tmp_path, Q[:1]) == {}
    assert queue.next_question("ann") is queue.next_question("Bob ") is None
    assert queue.next_question("cem") == Q[0]
    queue.submit("cem", ONE, "reject", note="too low", corrected={"box": [2, 2, 6, 6]})
    found = load_decisions(tmp_path, Q[:1])[ONE]
    assert (found.verdict, found.by, found.people) == ("reject", "third", ("cem", "bob"))
    assert found.corrected == ({"box": [2, 2, 6, 6]}, {"box": [1, 1, 5, 5]})
    assert (found.reasons, found.notes) == ((), ("too low",))


def test_cannot_judge_is_a_verdict_like_the_others(tmp_path: Path) -> None:
    """'cannot judge' differs from the others, and twice it is the decision."""
    queue = queue_of(tmp_path, Q[:2])
    queue.submit("ann", ONE, CANNOT_JUDGE)
    queue.submit("bob", ONE, "accept")
    assert queue.next_question("cem") == Q[0]
    for person in ("ann", "bob"):
        queue.submit(person, Q[1].id, "Cannot  Judge")
    assert final_verdicts(tmp_path, Q[:2]) == {Q[1].id: CANNOT_JUDGE}
    assert queue.progress().all.cannot_judge == 1


@pytest.mark.parametrize("again", ["ann", "Ann", " ANN ", "ａｎｎ"])
def test_nobody_reads_a_question_twice(tmp_path: Path, again: str) -> None:
    """Another spelling of a name is the same person."""
    queue = queue_of(tmp_path, Q)
    queue.submit("Ann", ONE, "accept")
    with pytest.raises(UsageError, match="has read question 'item0/verify-trace' already"):
        queue.submit(again, ONE, "reject")
    assert queue.next_question(again) == Q[1]


def test_what_a_reader_is_given_tells_nothing_of_others(tmp_path: Path) -> None:
    """The question that a second and third reader get is the same to the letter as the first's."""
    queue = queue_of(tmp_path, Q[:1])
    asked = [queue.next_question("ann")]
    queue.submit("ann", ONE, "reject", note="never")
    asked.append(queue.next_question("bob"))
    queue.submit("bob", ONE, "accept")
    asked.append(queue.next_question("cem"))
    assert {found.model_dump_json() for found in asked if found} == {Q[0].model_dump_json()}
    assert len(asked) == 3


def test_undo_takes_back_the_last_and_the_log_keeps_both(tmp_path: Path) -> None:
    """One's own last verdict can be taken back again and again; lines are only added."""
    queue = queue_of(tmp_path, Q)
    queue.submit("ann", ONE, "accept")
    queue.submit("ann", Q[1].id, "reject")
    queue.submit("bob", ONE, "accept")
    assert queue.undo("ann").question == Q[1].id
    assert queue.undo("ann").question == ONE
    assert final_verdicts(tmp_path, Q) == {}
    with pytest.raises(UsageError, match="nothing to undo by ann"):
        queue.undo("ann")
    assert len((tmp_path / "adjudication.jsonl").read_bytes().splitlines()) == 5
    assert queue.next_question("ann") == Q[0]
    queue.submit("ann", ONE, "accept")
    assert final_verdicts(tmp_path, Q) == {ONE: "accept"}


def test_what_a_third_decided_cannot_be_undone_by_the_first_two(tmp_path: Path) -> None:
    """The two because of whom a third was asked are bound; the third is not."""
    queue = queue_of(tmp_path, Q[:1])
    for person, verdict in (("ann", "accept"), ("bob", "reject"), ("cem", "reject")):
        queue.submit(person, ONE, verdict)
    for person in ("ann", "bob"):
        with pytest.raises(UsageError, match="was decided meanwhile"):
            queue.undo(person)
    queue.undo("cem")
    assert final_verdicts(tmp_path, Q[:1]) == {}
    queue.submit("dan", ONE, "accept")
    assert final_verdicts(tmp_path, Q[:1]) == {ONE: "accept"}


def test_a_verdict_that_comes_too_late_is_kept_and_decides_nothing(tmp_path: Path) -> None:
    """Three had it on the screen at once: the third verdict is on record, the first two count."""
    queue = queue_of(tmp_path, Q[:1])
    for person, verdict in (("ann", "accept"), ("bob", "accept"), ("cem", "reject")):
        queue.submit(person, ONE, verdict)
    assert final_verdicts(tmp_path, Q[:1]) == {ONE: "accept"}
    assert load_decisions(tmp_path, Q[:1])[ONE].people == ("ann", "bob")
    assert [given.person for given in queue.current_verdicts()] == ["ann", "bob", "cem"]
    queue.undo("ann")
    assert final_verdicts(tmp_path, Q[:1]) == {}
    assert queue.next_question("dan") == Q[0]


def test_verdicts_on_other_words_do_not_count(tmp_path: Path) -> None:
    """A question that changed is asked anew, and what was said of the old one is told of."""
    queue = queue_of(tmp_path, Q[:1])
    queue.submit("ann", ONE, "accept")
    queue.submit("bob", ONE, "accept")
    changed = [question(0, shown={"report": "There is no effusion."})]
    later = queue_of(tmp_path, changed)
    assert final_verdicts(tmp_path, changed) == {}
    assert later.next_question("ann") == changed[0]
    assert later.progress().outdated == 2
    with pytest.raises(UsageError, match="nothing to undo"):
        later.undo("ann")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"question": "item0/verify-trac"}, "did you mean 'item0/verify-trace'"),
        ({"verdict": "perhaps"}, "give one of accept, reject, cannot judge"),
        ({"reasons": ["wrong-plac"]}, "did you mean 'wrong-place'"),
        ({"reasons": ["other"]}, "add a note in words"),
        ({"note": "a\x1b[31m"}, "control characters"),
        ({"note": "x" * 5000}, "5,000 characters"),
        ({"person": "  "}, "no name of a person"),
        ({"person": "=cmd"}, "no name of a person"),
        ({"corrected": {"box": [1, 2, 3]}}, "is no box"),
        ({"corrected": {"box": [5, 2, 3, 9]}}, "is no box"),
        ({"corrected": {"boxes": [[1, 2, 3, 4], "left"]}}, "is no box"),
        ({"corrected": {"box": [1, 2, 10**400, 4]}}, "is no box"),
        ({"corrected": {"slices": [1, -2]}}, "are no slices"),
        ({"corrected": {"slices": "all"}}, "are no slices"),
        ({"corrected": {"far": float("nan")}}, "no JSON object"),
        ({"corrected": {"text": "\ud800"}}, "no JSON object"),
        ({"corrected": [1]}, "no JSON object"),
        ({"corrected": {"text": "x" * 30_000}}, "a mask belongs in a file"),
    ],
)
def test_what_is_no_verdict_is_refused_and_leaves_nothing(
    tmp_path: Path, given: dict[str, object], words: str
) -> None:
    """One clear sentence, and the log stays empty."""
    queue = queue_of(tmp_path, Q)
    told: dict[str, object] = {"person": "ann", "question": ONE, "verdict": "accept"}
    with pytest.raises(UsageError) as caught:
        queue.submit(**(told | given))  # type: ignore[arg-type]
    assert words in str(caught.value)
    assert queue.current_verdicts() == []
    assert queue.submit("ann", ONE, "accept").person == "ann"


def test_kinds_and_skipping(tmp_path: Path) -> None:
    """A queue can be read by kind, and questions put off; an unknown kind is named."""
    questions = [question(0), question(1, "leak"), question(2, "leak")]
    queue = queue_of(tmp_path, questions)
    assert queue.next_question("ann", kind="leak") == questions[1]
    assert queue.next_question("ann", kind="leak", skip={questions[1].id}) == questions[2]
    assert queue.count_open("ann", kind="leak") == 2
    with pytest.raises(UsageError, match="did you mean 'leak'"):
        queue.next_question("ann", kind="leaks")


def test_progress_counts_every_question_once(tmp_path: Path) -> None:
    """Unread, waiting for a second or a third, settled: the parts add up, kind by kind."""
    questions = [question(n) for n in range(5)] + [question(9, "leak")]
    queue = queue_of(tmp_path, questions)
    for person, number, verdict in [
        ("ann", 0, "accept"), ("bob", 0, "accept"), ("ann", 1, "accept"), ("bob", 1, "reject"),
        ("ann", 2, "accept"), ("bob", 2, "reject"), ("cem", 2, "reject"), ("ann", 3, "accept"),
    ]:  # fmt: skip
        queue.submit(person, questions[number].id, verdict)
    found = queue.progress()
    trace = found.kinds["verify-trace"]
    assert (trace.first, trace.second, trace.third, trace.settled, trace.by_third) == (1, 1, 1, 2, 1)
    assert found.all.questions == 6
    assert found.kinds["leak"].first == 1
    assert found.given == {"ann": 4, "bob": 3, "cem": 1}
    assert found.left == {"ann": 2, "bob": 3, "cem": 4}


def test_a_team_may_bring_its_own_reason_codes(tmp_path: Path) -> None:
    """A reasons.toml in the folder replaces the list of its kind and no other."""
    (tmp_path / "reasons.toml").write_text('[leak]\nhouse-rule = "our rule 7"\n', "utf-8")
    queue = queue_of(tmp_path, [question(0, "leak")])
    queue.submit("ann", "item0/leak", "reject", reasons=["house-rule", "ambiguous"])
    with pytest.raises(UsageError, match="no reason of 'leak' is called 'synonym'"):
        queue.submit("bob", "item0/leak", "reject", reasons=["synonym"])
    assert "wrong-side" in reasons_for("mask", tmp_path)
    (tmp_path / "reasons.toml").write_text('[leak]\n"two words" = "x"\n', "utf-8")
    with pytest.raises(OverreadError, match="the reason codes of 'leak' cannot be used"):
        reasons_for("leak", tmp_path)


def test_two_questions_of_one_id_are_refused(tmp_path: Path) -> None:
    """The same question twice is one; two different ones under one id are an error."""
    assert len(Queue(tmp_path, [Q[0], Q[0]]).questions) == 1
    with pytest.raises(UsageError, match="two different questions"):
        Queue(tmp_path, [Q[0], question(0, text="Other words?")])


def test_questions_come_from_a_file(tmp_path: Path) -> None:
    """Questions go to a file and come back; a line that is none is named."""
    write_questions(tmp_path, Q)
    assert load_questions(tmp_path) == Q
    Queue(tmp_path).submit("ann", ONE, "accept")
    with (tmp_path / "questions.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "x", "item": "x", "kind": "leak"}\n')
    with pytest.raises(OverreadError, match=r"no question \(text: .*line 4"):
        load_questions(tmp_path)


def test_without_questions_there_is_one_clear_sentence(tmp_path: Path) -> None:
    """A folder that holds no questions is told as such; nothing is settled in it."""
    with pytest.raises(OverreadError, match="this folder has no adjudication questions"):
        Queue(tmp_path)
    assert final_verdicts(tmp_path) == {}


def test_questions_come_from_the_ledger_of_a_build(tmp_path: Path) -> None:
    """Where a build has written a ledger, its questions are those that people are asked."""
    from overread.build.ledger.store import Ledger, LedgerEntry

    with Ledger(tmp_path) as ledger:
        ledger.begin_run("test", {})
        ledger.replace_steps([("verify", "step", 1, "")])
        ledger.replace_items([Item(id="item0"), Item(id="item1")], [])
        for asked in Q[:2]:
            entry = LedgerEntry(item=asked.item, step="verify", key="k", outcome="waiting")
            ledger.write([entry], questions=[asked])
    queue = Queue(tmp_path)
    assert list(queue.questions.values()) == Q[:2]
    for person in ("ann", "bob"):
        queue.submit(person, Q[1].id, "reject")
    assert final_verdicts(tmp_path) == {Q[1].id: "reject"}
