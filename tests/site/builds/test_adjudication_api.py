"""The queue of questions through the API: several people at once, kills, blindness, names."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.parse
import urllib.request
from http.client import HTTPException
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from overread.build.adjudication import Queue, verify_log, write_questions
from overread.build.adjudication.verdict_log import VERDICT_LOG
from overread.site.passwords import add_password
from tests.build.adjudication.sample_questions import question
from tests.site.builds.question_folders import Caller, film_question, mixed_folder, questions_folder
from tests.site.served_site import Site, serve_site


def caller(writable_site: Site, question_folder: Path, person: str) -> Caller:
    """Somebody who reads the questions of a question_folder."""
    return Caller(writable_site, writable_site.shelf_id("builds", question_folder.name), person)


def test_two_people_at_once_lose_nothing(writable_site: Site, tmp_path: Path) -> None:
    """Two times fifty verdicts by threads are all in the log, each once, and log intact."""
    home = writable_site.home
    assert home is not None
    question_folder = questions_folder(home / "fifty", [question(n) for n in range(50)])
    writable_site.get("/api/shelf?again=1")
    wrong: list[object] = []

    def read(person: str) -> None:
        try:
            own = caller(writable_site, question_folder, person)
            for number in range(50):
                asked = own.next()["question"]
                answer = own.give(asked, "accept" if number % 3 else "reject", note=f"by {person}")
                assert answer.status == 200, answer.body
            assert own.next()["question"] is None
        except BaseException as error:
            wrong.append(error)

    people = [threading.Thread(target=read, args=(name,)) for name in ("ann", "bob")]
    for one in people:
        one.start()
    for one in people:
        one.join()
    assert not wrong, wrong
    queue = Queue(question_folder)
    assert len(queue.current_verdicts()) == 100
    assert len({(one.person, one.question) for one in queue.current_verdicts()}) == 100
    assert len(queue.decisions()) == 50  # both said the same on each
    assert verify_log(question_folder).intact
    assert verify_log(question_folder).lines == 100


def test_a_killed_server_loses_at_most_the_verdict_in_flight(tmp_path: Path) -> None:
    """SIGKILL while two people post: what was answered is there, and log intact."""
    question_folder = questions_folder(tmp_path / "asked", [question(n) for n in range(400)])
    kept: set[tuple[str, str]] = set()
    for least in (3, 11, 25):
        with serve_site([tmp_path]) as site:
            enough, reached = len(kept) + least, threading.Event()
            callers = [caller(site, question_folder, name) for name in ("ann", "bob")]
            people = [
                threading.Thread(target=_post_until_killed, args=(own, kept, enough, reached))
                for own in callers
            ]
            for one in people:
                one.start()
            assert reached.wait(300)
            site.process.kill()
            site.process.wait()
            for one in people:
                one.join()
        found = verify_log(question_folder)
        assert found.intact, found.why
        there = {(one.person, one.question) for one in Queue(question_folder).current_verdicts()}
        assert kept <= there, "a verdict that was answered is gone"
        assert len(there - kept) <= 2, "more than what was in flight"
        kept |= there  # what was in flight and arrived counts from now on
    assert len(kept) >= 39


def _post_until_killed(
    own: Caller, kept: set[tuple[str, str]], enough: int, reached: threading.Event
) -> None:
    try:
        while True:
            asked = own.next()["question"]
            answer = own.give(asked, "accept", note="x" * 3000)
            assert answer.status == 200, answer.body
            kept.add((own.person, asked["id"]))
            if len(kept) >= enough:
                reached.set()
    except (urllib.error.URLError, HTTPException, OSError, json.JSONDecodeError):
        return  # the server is gone


def test_nobody_is_told_what_others_said(writable_site: Site, question_folder: Path) -> None:
    """Nothing that is sent to a second and a third reader holds the first one's words or name."""
    ann, bob, cem = (caller(writable_site, question_folder, name) for name in ("annabel", "bob", "cem"))
    asked = ann.next()["question"]
    before = bob.next()
    secret = {"reasons": ["wrong-side"], "note": "zebra", "corrected": {"box": [11, 22, 33, 44]}}
    assert ann.give(asked, "reject", **secret).status == 200
    assert bob.next() == before  # to the letter: not even that somebody has read it
    assert bob.give(asked, "accept").status == 200
    third = cem.next()
    assert third == before | {"person": "cem"}  # as at the terminal, nobody says it is a third read
    sent = [
        writable_site.ask(f"{cem.queue}/{part}").body.decode()
        for part in (
            "next?person=cem",
            "given?person=cem",
            "given?person=bob",
            f"next?person=cem&question={quote(asked['id'], safe='')}",
        )
    ]
    for body in sent:
        assert not any(word in body for word in ("zebra", "annabel", "[11,22"))
    told = writable_site.get(f"{cem.queue}/agreement?draws=0")
    assert "zebra" not in str(told)
    assert told["groups"][0]["differ"] == 1


def test_what_is_sent_twice_is_taken_once(writable_site: Site, question_folder: Path) -> None:
    """The same again is as good as done, something else is refused, and so is undoing twice."""
    ann = caller(writable_site, question_folder, "ann")
    asked = ann.next()["question"]
    more = {"reasons": ["wrong-side"], "corrected": {"box": [1, 2, 3, 4]}}
    first = ann.give(asked, "reject", **more)
    again = ann.give(asked, "reject", **more)
    assert (first.status, again.status) == (200, 200)
    assert (first.json()["again"], again.json()["again"]) == (False, True)
    assert first.json()["kept"] == again.json()["kept"]
    loud = Caller(writable_site, writable_site.shelf_id("builds", question_folder.name), "  ANN ")
    assert loud.give(asked, "reject", **more).json()["again"] is True
    other = ann.give(asked, "accept")
    assert other.status == 409
    assert "read this question already" in other.json()["what"]
    assert ann.undo(asked["id"]).json()["undone"]["verdict"] == "reject"
    assert ann.undo(asked["id"]).json()["undone"] is None
    assert verify_log(question_folder).lines == 2


def test_a_verdict_belongs_to_the_words_that_were_shown(writable_site: Site, question_folder: Path) -> None:
    """Where the question changed meanwhile, the verdict is refused and the new words are shown."""
    ann = caller(writable_site, question_folder, "ann")
    asked = ann.next()["question"]
    write_questions(question_folder, [film_question(1).model_copy(update={"text": "Does it still hold?"})])
    answer = ann.give(asked, "accept")
    assert answer.status == 409
    assert "has changed" in answer.json()["what"]
    assert not (question_folder / VERDICT_LOG).exists()
    fresh = ann.next()["question"]
    assert fresh["text"] == "Does it still hold?"
    assert ann.give(fresh, "accept").status == 200


def test_the_terminal_and_the_page_share_one_log(writable_site: Site, question_folder: Path) -> None:
    """A verdict of either is seen by the other at once."""
    ann = caller(writable_site, question_folder, "ann")
    queue = Queue(question_folder)
    queue.submit("bob", "item1/verify-trace", "accept")
    assert ann.give(ann.next()["question"], "accept").status == 200
    assert queue.decisions()["item1/verify-trace"].people == ("bob", "ann")
    queue.undo("ann")
    assert ann.next()["question"]["id"] == "item1/verify-trace"
    progress = writable_site.get(f"{ann.queue}/progress")
    assert progress["all"]["second"] == 1
    assert progress["people"] == [{"name": "bob", "given": 1, "left": 3}]


BAD: list[tuple[dict[str, Any], int]] = [
    ({"verdict": "perhaps"}, 422),
    ({"reasons": ["no-such-reason"]}, 404),
    ({"reasons": ["other"]}, 422),
    ({"note": "x" * 5000}, 422),
    ({"note": "x" * 50_000}, 422),
    ({"note": "a\u0007b"}, 422),
    ({"note": "\ud800"}, 422),
    ({"person": ""}, 422),
    ({"person": "-"}, 422),
    ({"question": "nowhere"}, 404),
    ({"question": "x" * 5000}, 422),
    ({"corrected": {"box": [5, 5, 1, 1]}}, 422),
    ({"corrected": {"box": [0, 0, 1e300, 1]}}, 422),
    ({"corrected": {"slices": [-1]}}, 422),
    ({"corrected": {"far": "x" * 30_000}}, 422),
    ({"corrected": {"\ud800": 1}}, 422),
    ({"corrected": []}, 422),
    ({"asked": "0" * 16}, 409),
]


@pytest.mark.parametrize(("part", "status"), BAD)
def test_a_bad_verdict_is_refused_in_one_sentence(
    writable_site: Site, question_folder: Path, part: dict[str, Any], status: int
) -> None:
    """Nothing of it is written, and nothing is an error of the server."""
    ann = caller(writable_site, question_folder, "ann")
    asked = ann.next()["question"]
    answer = ann.give(asked, **({"verdict": "accept"} | part))
    assert answer.status == status, answer.body
    assert answer.json()["what"]
    assert not (question_folder / VERDICT_LOG).exists() or verify_log(question_folder).lines == 0


def test_a_broken_chain_is_told_and_not_built_on(writable_site: Site, question_folder: Path) -> None:
    """An altered line is named, and no verdict is added to it."""
    ann = caller(writable_site, question_folder, "ann")
    for _ in range(2):
        assert ann.give(ann.next()["question"], "accept").status == 200
    log = question_folder / VERDICT_LOG
    log.write_bytes(log.read_bytes().replace(b"accept", b"reject", 1))
    found = writable_site.get(f"{ann.queue}/verify")
    assert (found["intact"], found["broken"]) == (False, 1)
    assert writable_site.ask(f"{ann.queue}/next?person=ann").status == 422
    assert writable_site.ask(f"{ann.queue}/verify?head=zz").status == 422


def test_pictures_are_served_by_number_and_never_by_path(writable_site: Site, tmp_path: Path) -> None:
    """A question that names a file elsewhere shows none; planes and slices are bounded."""
    home = writable_site.home
    assert home is not None
    question_folder = questions_folder(
        home / "hostile",
        [
            question(1, shown={"image": "../first/film.png"}),
            question(2, shown={"images": ["/etc/passwd", "out.png", "no.png", "film.png"]}),
            question(3, shown={"scan": "ct.nii.gz"}),
            question(4, shown={"image": "questions.jsonl"}),
        ],
    )
    (question_folder / "out.png").symlink_to(home / "first" / "film.png")
    writable_site.get("/api/shelf?again=1")
    ann = caller(writable_site, question_folder, "ann")

    def status(part: str, number: int, **more: object) -> int:
        query = f"question={quote(f'item{number}/verify-trace', safe='')}"
        query += "".join(f"&{name}={value}" for name, value in more.items())
        answer = writable_site.ask(f"{ann.queue}/{part}?{query}")
        assert answer.status == 200 or str(home) not in answer.body.decode()
        return answer.status

    assert status("picture", 1) in (404, 422)
    assert [status("picture", 2, n=n) == 200 for n in range(5)] == [False, False, False, True, False]
    assert status("picture", 4) == 422
    assert status("picture", 3) == 422
    assert status("slice", 3, index=15) == 200
    assert status("slice", 3, index=16) == 422
    for index in (-1, 10**30, "x"):
        assert status("slice", 3, index=index) == 422
    assert status("slice", 3, index=1, plane="oblique") == 422
    assert status("slice", 3, index=1, window="none") == 422
    assert status("picture", 9) == 404
    shown = ann.next()["question"]
    assert shown["pictures"][0]["kind"] == "none"


def test_a_user_reads_as_nobody_else(tmp_path: Path) -> None:
    """Who is logged in gives verdicts under that name, sees no other's, and is refused another."""
    question_folder = mixed_folder(tmp_path / "asked")
    users = tmp_path / "users"
    for name in ("ann", "bob"):
        add_password(users, name, f"{name}-password")
    with serve_site([question_folder], "--password-file", str(users)) as site:
        ask = _logged_in(site, "ann", "ann-password")
        build = json.loads(ask("/api/shelf")[1])["builds"][0]["id"]
        queue = f"/api/builds/{build}/queue"
        status, body = ask(f"{queue}/next")
        told = json.loads(body)
        assert (status, told["person"]) == (200, "ann")
        asked = told["question"]
        offer = {"question": asked["id"], "asked": asked["asked"], "verdict": "accept"}
        assert ask(f"{queue}/verdicts", offer | {"person": "bob"})[0] == 403
        assert ask(f"{queue}/verdicts", offer)[0] == 200
        for path in (f"{queue}/next?person=bob", f"{queue}/given?person=bob"):
            assert ask(path)[0] == 403
        assert ask(f"{queue}/undo", {"question": asked["id"], "person": "bob"})[0] == 403
    assert [one.person for one in Queue(question_folder).current_verdicts()] == ["ann"]


def _logged_in(site: Site, name: str, password: str) -> Any:
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    form = urllib.parse.urlencode({"name": name, "password": password}).encode()
    opener.open(f"{site.base}/login", form, timeout=300).read()

    def ask(path: str, body: Any = None) -> tuple[int, bytes]:
        data = json.dumps(body).encode() if body is not None else None
        headers = {"content-type": "application/json"} if body is not None else {}
        request = urllib.request.Request(site.base + path, data=data, headers=headers)
        try:
            with opener.open(request, timeout=300) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    return ask


def test_withheld_truth_and_read_only_keep_the_questions(tmp_path: Path) -> None:
    """Without the truth no question is sent; read-only takes no verdict."""
    question_folder = mixed_folder(tmp_path / "asked")
    with serve_site([question_folder], "--hide-truth", "--read-only") as site:
        build = site.get("/api/shelf")["builds"][0]["id"]
        queue = f"/api/builds/{build}/queue"
        for part in ("next?person=ann", "given?person=ann", "agreement", "picture?question=x"):
            assert site.ask(f"{queue}/{part}").status == 403
        body = {"question": "x", "asked": "x", "verdict": "accept", "person": "ann"}
        assert site.ask(f"{queue}/verdicts", method="POST", body=body).status == 403
        assert site.ask(f"{queue}/undo", method="POST", body=body).status == 403
        assert site.get(f"{queue}/progress")["all"]["questions"] == 4
