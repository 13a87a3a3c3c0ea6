"""A person who reads: questions printed, answers typed ahead and checked, pictures shown."""

from __future__ import annotations

import asyncio
import io
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pillow

import overread
from overread.core import Case, Message, Reading, Release, Reply, Request
from overread.errors import BadReply, ReaderError, UsageError
from overread.prompts.replies import json_parser, letter_parser, text_parser
from overread.readers.person import COMMANDS, PersonReader, PersonSettings, make
from overread.readers.terminal import Terminal
from overread.session import Session, SessionSettings
from tests.readers.person_seat import Blocks, Choice, Seat
from tests.timing import PATIENCE, wait_until


@pytest.fixture
def release(sketch: Path) -> Release:
    """Two cases with five options each."""
    return overread.load("medthinkvqa", sketch / "medthinkvqa")


@pytest.fixture
def case(release: Release) -> Case:
    """The first case."""
    return next(iter(release))


@pytest.fixture
def seat() -> Iterator[Callable[..., Seat]]:
    """Makes seats and clears them away."""
    seats: list[Seat] = []

    def made(typed: str, **settings: Any) -> Seat:
        seats.append(Seat(typed, **settings))
        return seats[-1]

    yield made
    for one in seats:
        one.close()


def asked(seat: Seat, request: Request) -> Reply:
    """The reply to one question."""

    async def go() -> Reply:
        try:
            reply = await asyncio.wait_for(seat.person.read(request), 20)
        finally:
            await seat.person.close()
        assert isinstance(reply, Reply)
        return reply

    return asyncio.run(go())


def question(case: Case, release: Release, **more: Any) -> Request:
    """A question in words alone."""
    given: dict[str, Any] = {
        "task": "report",
        "messages": (Message(role="user", parts=("What do you see?",)),),
    }
    return Request(case=case, pictures=release.pictures, **(given | more))


@pytest.mark.parametrize("end", [".\n", " . \n", ""], ids=["dot", "spaced dot", "end of input"])
def test_a_text_of_several_lines(case: Case, release: Release, seat: Callable[..., Seat], end: str) -> None:
    """Lines up to a dot, or to the end of the input, are the answer, blank ones inside kept."""
    here = seat(f"No nodule.\n\nÜber alles: «normal».\r\n{end}")
    here.leave()
    reply = asked(here, question(case, release))
    assert reply.text == "No nodule.\n\nÜber alles: «normal»."
    assert (reply.model, reply.finish, reply.usage.calls) == ("person", "stop", 1)
    printed = here.screen.getvalue()
    assert "What do you see?" in printed
    assert "single dot" in printed


def test_a_last_line_without_an_end(case: Case, release: Release, seat: Callable[..., Seat]) -> None:
    """Input that ends within a line has that line in the answer."""
    here = seat("one\ntwo")
    here.leave()
    assert asked(here, question(case, release)).text == "one\ntwo"


def test_control_characters_do_not_reach_the_screen(
    case: Case, release: Release, seat: Callable[..., Seat]
) -> None:
    """A question with an escape sequence in it cannot steer the terminal."""
    here = seat("fine\n.\n")
    messages = (Message(role="user", parts=("red \x1b[31malert\x07\tand\nmore",)),)
    asked(here, question(case, release, messages=messages))
    assert (
        "red \N{REPLACEMENT CHARACTER}[31malert\N{REPLACEMENT CHARACTER}\tand\nmore" in here.screen.getvalue()
    )
    assert "\x1b" not in here.screen.getvalue()


@pytest.mark.parametrize(
    ("typed", "answer", "why"),
    [
        ("b\n.\n", "B", ""),
        ("B\nIt is round.\nAnd calcified.\n.\n", "B", "It is round.\nAnd calcified."),
        ("F\n.\nB\n.\n", "B", ""),
        ("no idea\n.\nA or B\n.\nC\n.\n", "C", ""),
    ],
)
def test_a_letter(
    case: Case, release: Release, seat: Callable[..., Seat], typed: str, answer: str, why: str
) -> None:
    """The first line is the letter; what is none is asked for again, kindly, as often as needed."""
    here = seat(typed)
    request = question(case, release, task="choose", schema=Choice.model_json_schema())
    reply = asked(here, request)
    assert json.loads(reply.text) == {"answer": answer, "explanation": why}
    assert letter_parser(case.options)(reply.text).value == answer
    again = typed.splitlines().count(".") - 1
    assert here.screen.getvalue().count("Please try again.") == again


def test_the_text_of_an_option_is_its_letter(case: Case, release: Release, seat: Callable[..., Seat]) -> None:
    """An option may be written out, or answered in a sentence that the parser understands."""
    schema = Choice.model_json_schema()
    third = case.options[2]
    for typed in (third.text, f"I think\nthe answer is {third.letter}"):
        here = seat(f"{typed}\n.\n")
        reply = asked(here, question(case, release, task="choose", schema=schema))
        assert letter_parser(case.options)(reply.text).value == third.letter


@pytest.mark.parametrize(
    ("typed", "blocks"),
    [
        ("3 0.25\n4, .5\n.\n", [(3, 0.25), (4, 0.5)]),
        ("none\n.\n", []),
        ('{"blocks": [{"first_slice": 1, "left": 0}]}\n.\n', [(1, 0.0)]),
        ("3.5 1\n.\n3\n.\n3 x\n.\n3 1\n.\n", [(3, 1.0)]),
    ],
)
def test_rows_of_numbers(
    case: Case, release: Release, seat: Callable[..., Seat], typed: str, blocks: list[Any]
) -> None:
    """Where a list of boxes is asked for, a line of numbers is one; JSON will do as well."""
    here = seat(typed)
    request = question(case, release, task="ground", schema=Blocks.model_json_schema())
    found = json_parser(Blocks)(asked(here, request).text).value
    assert [(block.first_slice, block.left) for block in found.blocks] == blocks
    assert "first_slice left" in here.screen.getvalue()


def test_json_where_json_is_asked_for(case: Case, release: Release, seat: Callable[..., Seat]) -> None:
    """Any other schema takes JSON only, and says so."""
    here = seat('yes\n.\n{"answer": "yes"}\n.\n')
    request = question(case, release, task="judge", schema=Choice.model_json_schema())
    assert asked(here, request).text == '{"answer": "yes"}'
    assert "no JSON object" in here.screen.getvalue()


def test_commands(case: Case, release: Release, seat: Callable[..., Seat]) -> None:
    """:help lists all, :again forgets, :question repeats, an unknown one and an empty answer are told."""
    here = seat(":help\nwrong\n:again\n:question\n:bcak\n.\n: a colon\n 10:30 it began\n.\n")
    reply = asked(here, question(case, release))
    assert reply.text == ": a colon\n 10:30 it began"
    printed = here.screen.getvalue()
    assert all(command in printed for command in COMMANDS)
    assert printed.count("What do you see?") == 2
    assert "Unknown command :bcak" in printed
    assert "The answer is empty" in printed


def test_skipping_a_case(case: Case, release: Release, seat: Callable[..., Seat]) -> None:
    """:skip is a reader's error, so that the case fails and the run goes on."""
    with pytest.raises(ReaderError, match="AB skipped this case"):
        asked(seat("half an ans\n:skip\n", name="AB"), question(case, release))


@pytest.mark.parametrize("typed", [":quit\n", "half\n:quit\n", ""], ids=["quit", "within", "end"])
def test_stopping(case: Case, release: Release, seat: Callable[..., Seat], typed: str) -> None:
    """:quit, and an input that ended, stop everything as Ctrl-C does."""
    here = seat(typed)
    here.leave()
    with pytest.raises(KeyboardInterrupt):
        asked(here, question(case, release))


def test_waiting_can_be_ended(case: Case, release: Release, seat: Callable[..., Seat]) -> None:
    """While nobody types, other work goes on, and the waiting can be cancelled at once."""
    here = seat("half a li")

    async def go() -> None:
        task = asyncio.create_task(here.person.read(question(case, release)))
        await asyncio.sleep(0.05)
        assert not task.done()
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=PATIENCE)
        assert done
        assert task.cancelled()

    asyncio.run(go())


def test_answers_from_a_file(case: Case, release: Release, tmp_path: Path) -> None:
    """A regular file, which cannot be waited for, is read to its end."""
    (tmp_path / "answers").write_text("one\n.\ntwo\n.\n")

    async def go() -> list[str]:
        with (tmp_path / "answers").open() as source:
            person = PersonReader(PersonSettings(), (), Terminal(source, io.StringIO()))
            replies = [await person.read(question(case, release)) for _ in range(2)]
        return [reply.text for reply in replies]

    assert asyncio.run(go()) == ["one", "two"]


# ---- pictures ------------------------------------------------------------------------------


def session(here: Seat, case: Case, release: Release) -> Session:
    """A session in which the person is asked."""
    return Session(here.person.read, here.person, case, release.pictures, SessionSettings())


VALUES = {"history": "A cough.", "options": "A to E"}


async def choosing(room: Session) -> str:
    """One question with all pictures."""
    parse: Any = letter_parser(room.case.options)
    found: str = await room.ask(
        "choose", VALUES, parse, task="choose", show=room.show_all(), schema=Choice.model_json_schema()
    )
    return found


def test_a_whole_case_in_a_session(
    case: Case, release: Release, seat: Callable[..., Seat], tmp_path: Path
) -> None:
    """Pictures are printed by their files, which open, and the reading is kept like any other."""
    here = seat("D\nBecause.\n.\n", name="JD", folder=tmp_path / "pictures")
    room = session(here, case, release)
    assert asyncio.run(choosing(room)) == "D"
    files = sorted((tmp_path / "pictures").iterdir())
    assert len(files) == len(case.pictures)
    printed = here.screen.getvalue()
    assert "A cough." in printed
    assert case.id not in printed
    for number, (file, picture) in enumerate(zip(files, case.pictures, strict=True), 1):
        assert file.stem == f"{number:02d}-{picture.name}"
        assert str(file) in printed
        with Pillow.open(file) as image:
            assert image.size[0] > 100
    reading = room.reading(choice="D")
    assert isinstance(reading, Reading)
    assert reading.reader == "JD"
    assert Reading.model_validate_json(reading.model_dump_json()) == reading
    assert len(reading.exchanges) == 1
    assert reading.usage is not None
    assert reading.usage.pictures == len(case.pictures)


def test_pictures_go_with_the_question(release: Release, seat: Callable[..., Seat], tmp_path: Path) -> None:
    """Without a folder of one's own the files go at the end; with one, the next case's remain."""
    here = seat("A\n.\nB\n.\n")
    first, second = release
    seen = []

    async def go(one: Seat) -> None:
        for case in (first, second):
            await choosing(session(one, case, release))
            seen.append([Path(f) for f in re.findall(r"\] (\S+\.(?:jpg|png))", one.screen.getvalue())])
            assert all(path.exists() for path in seen[-1][-len(case.pictures) :])
            assert seen[-1][0].parent.stat().st_mode & 0o77 == 0
        await one.person.close()

    asyncio.run(go(here))
    assert not any(path.exists() for path in seen[-1])
    assert not seen[-1][0].parent.exists()


def test_asking_again_prints_no_picture_twice(
    case: Case, release: Release, seat: Callable[..., Seat], tmp_path: Path
) -> None:
    """Where the session asks again, the person sees why, and not the whole question once more."""
    here = seat("first\n.\nsecond\n.\n")
    room = session(here, case, release)
    said: list[str] = []

    def parse(text: str) -> Any:
        said.append(text)
        if text == "first":
            raise BadReply("it is not the second")
        return text_parser()(text)

    async def go() -> str:
        found: str = await room.ask(
            "report", {"instruction": "Report."}, parse, task="report", show=room.show_all()
        )
        await here.person.close()
        return found

    assert asyncio.run(go()) == "second"
    printed = here.screen.getvalue()
    assert printed.count("Report.") == 1
    assert printed.count("[image-1") == 1
    assert printed.count("it is not the second") == 1
    assert "first" not in printed.replace("first, then", "")


def test_the_viewer_is_given_the_files(
    case: Case, release: Release, seat: Callable[..., Seat], tmp_path: Path
) -> None:
    """The viewer starts with all pictures; :show starts it once more."""
    note = tmp_path / "note"
    viewer = tmp_path / "viewer.sh"
    viewer.write_text(f'#!/bin/sh\nprintf "%s\\n" "$#" "$1" >> {note}\n')
    viewer.chmod(0o755)
    here = seat(":show\nA\n.\n", viewer=(str(viewer), "--fast"))
    asyncio.run(choosing(session(here, case, release)))
    for process in here.person._viewers:
        process.wait(300)
    wait_until(lambda: note.read_text().count("\n") >= 4)
    assert note.read_text().splitlines() == [str(len(case.pictures) + 1), "--fast"] * 2
    asyncio.run(here.person.close())


def test_a_viewer_that_does_not_start(
    case: Case, release: Release, seat: Callable[..., Seat], tmp_path: Path
) -> None:
    """It is told, and the reading goes on."""
    (tmp_path / "viewer").write_text("no program")
    (tmp_path / "viewer").chmod(0o755)
    here = seat("A\n.\n", viewer=(str(tmp_path / "viewer"),))
    assert asyncio.run(choosing(session(here, case, release))) == "A"
    assert "The viewer did not start" in here.screen.getvalue()


def test_arguments() -> None:
    """Name, viewer and folder; a viewer that is not there is refused before anything is asked."""
    person = make({"name": "JD", "viewer": f"{sys.executable} -c pass", "folder": "here"})
    assert person.name == "JD"
    assert person._viewer == (sys.executable, "-c", "pass")
    assert person.identity == {"reader": "person", "name": "JD"}
    assert (person.cached, person.at_once) == (False, 1)
    assert set(person.skills) == {"words", "pictures"}
    for wrong in ({"viewer": "no-such-viewer-here"}, {"viewer": "'"}, {"colour": "red"}):
        with pytest.raises(UsageError):
            make(wrong)


def test_a_person_does_not_draw(case: Case, release: Release, seat: Callable[..., Seat]) -> None:
    """A question without words, for those who draw, is refused in one sentence."""
    with pytest.raises(ReaderError, match="cannot draw"):
        asked(seat(""), question(case, release, messages=()))
