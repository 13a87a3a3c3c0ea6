"""A person adjudicates in the terminal: one question at a time, its keys on the screen.

It works over a pipe as well. Every verdict is kept the moment it is given; Ctrl-D or q leaves, and
the same command goes on.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from overread.build.adjudication.corrections import check_correction
from overread.build.adjudication.queue import Queue
from overread.build.adjudication.reads import person_name
from overread.build.adjudication.reasons import ReasonCodes
from overread.build.adjudication.typed_lines import (
    COMMANDS,
    keys_for,
    parse_command,
    parse_correction,
    parse_verdict,
)
from overread.build.item import Data, Question
from overread.errors import UsageError
from overread.readers.terminal import Terminal

_WIDTH = 96
_MAX_SHOWN = 20_000
"""Characters of one thing that is shown; more is cut, and said to be."""

HELP = """\
  Type the key of a verdict and Enter. Behind it the numbers of reasons, and words behind a colon:
      r 1 3: the box lies one rib too low
  u  undo your last verdict              s  skip the question until the others are done
  h  this help                           q  quit; the same command resumes here
  :box 10 20 30 40    what the box should be: left, top, right, bottom; again for a second box
  :slices 12-18 22    the slices on which it can be seen
  :data {"key": …}    anything else that should be corrected, as JSON
  :clear              clear the corrections         :question  show the question again
  Somebody else reads the same question, and neither of you sees what the other said."""


@dataclass(frozen=True)
class TerminalSummary:
    """What one person did in one session at the terminal."""

    person: str
    given: int
    undone: int
    left: int
    """Questions that are left for this person."""


async def run_terminal(
    queue: Queue, terminal: Terminal, person: str | None = None, *, kind: str | None = None
) -> TerminalSummary:
    """Ask one question after the other until none is left, or the person leaves."""
    queue.check_kind(kind)
    name = person
    while name is None:
        terminal.write_line("Type your name or initials:")
        typed = await terminal.read_line()
        if typed is None:
            raise UsageError("no name was given for the reader", remedy="give --as NAME")
        try:
            name = person_name(typed)
        except UsageError as error:
            terminal.write_line(str(error))
    return await _TerminalLoop(queue, terminal, person_name(name), kind).run()


class _TerminalLoop:
    """The loop of questions for one person."""

    def __init__(self, queue: Queue, terminal: Terminal, person: str, kind: str | None) -> None:
        self._queue, self._terminal, self._person, self._kind = queue, terminal, person, kind
        self._given = self._undone = 0
        self._later: set[str] = set()
        self._again: Question | None = None
        self._corrected: Data = {}

    async def run(self) -> TerminalSummary:
        """Until none is left, or the person leaves."""
        say = self._terminal.write_line
        say(f"Signed in as {self._person}. h for help, q to quit.")
        while (question := self._next_question()) is not None:
            self._corrected = {}
            self._show_question(question)
            if not await self._answer_question(question):
                break
        else:
            say("No questions are left for you.")
        left = self._queue.count_open(self._person, kind=self._kind)
        return TerminalSummary(self._person, self._given, self._undone, left)

    def _next_question(self) -> Question | None:
        again, self._again = self._again, None
        if again is not None:
            return again
        found = self._queue.next_question(self._person, kind=self._kind, skip=self._later)
        if found is None and self._later:
            self._terminal.write_line("Only skipped questions are left; showing them again.")
            self._later.clear()
            found = self._queue.next_question(self._person, kind=self._kind)
        return found

    async def _answer_question(self, question: Question) -> bool:
        """Read lines until the question is answered or skipped; False where the person quits."""
        while True:
            line = await self._terminal.read_line()
            if line is None:
                return False
            word = line.strip()
            command = parse_command(word, question.choices)
            if not word:
                continue
            if command == "quit":
                return False
            if command == "later":
                self._later.add(question.id)
                return True
            try:
                if self._handle_line(question, word, command):
                    return True
            except UsageError as error:
                self._terminal.write_line(f"Not accepted: {error}.")

    def _handle_line(self, question: Question, word: str, command: str | None) -> bool:
        """Carry out one typed line; True where the next question should come."""
        say = self._terminal.write_line
        if command == "help":
            say(HELP)
            for number, (code, about) in enumerate(self._reason_codes(question).items(), 1):
                say(f"  {number:>2}  {code}: {about}")
        elif command == "undo":
            taken = self._queue.undo(self._person)
            self._undone += 1
            self._again = self._queue.questions[taken.question]
            say(f"Undone: {taken.verdict}, on {taken.item}. Showing it again.")
            return True
        elif word.casefold() == ":question":
            self._show_question(question)
        elif word.casefold() == ":clear":
            self._corrected = {}
            say("No corrections.")
        elif word.startswith(":"):
            self._corrected = check_correction(parse_correction(word, self._corrected))
            say(f"Noted: {json.dumps(self._corrected)}. It goes with your verdict.")
        else:
            self._submit(question, word)
            return True
        return False

    def _submit(self, question: Question, word: str) -> None:
        answer = parse_verdict(word, question.choices, self._reason_codes(question))
        self._queue.submit(
            self._person,
            question.id,
            answer.verdict,
            reasons=answer.reasons,
            note=answer.note,
            corrected=self._corrected or None,
        )
        self._given += 1
        self._terminal.write_line(f"Saved: {', '.join((answer.verdict, *answer.reasons))}.")

    def _reason_codes(self, question: Question) -> ReasonCodes:
        return self._queue.reason_codes(question.kind)

    def _show_question(self, question: Question) -> None:
        say = self._terminal.write_line
        left = self._queue.count_open(self._person, kind=self._kind)
        say("─" * 72)
        say(f"{left} left · {question.kind} · {question.item}")
        say("")
        for line in _wrap_text(question.text, ""):
            say(line)
        for name, value in question.shown.items():
            for line in _format_value(name, value, "  "):
                say(line)
        say("")
        keys = keys_for(question.choices)
        for key, verdict in keys.items():
            say(f"  {key}  {verdict}")
        unkeyed = [choice for choice in question.choices if choice not in keys.values()]
        if unkeyed:
            say(f"  or type in full: {', '.join(unkeyed)}")
        reasons = [f"{number} {code}" for number, code in enumerate(self._reason_codes(question), 1)]
        for line in _wrap_text(f"optional reasons: {' · '.join(reasons)}", "  "):
            say(line)
        told = [f":{name}" if key in keys else f"{key} {name}" for key, name in COMMANDS.items()]
        say(f"  {' · '.join(told)}")


def _format_value(name: str, value: Any, indent: str) -> Iterator[str]:
    """One thing that a question shows, as lines."""
    if isinstance(value, dict):
        yield f"{indent}{name}:"
        for key, inner in value.items():
            yield from _format_value(str(key), inner, indent + "  ")
    elif isinstance(value, list) and any(isinstance(inner, (dict, list, str)) for inner in value):
        yield f"{indent}{name}:"
        for number, inner in enumerate(value, 1):
            yield from _format_value(str(number), inner, indent + "  ")
    else:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if "\n" in text or len(indent) + len(name) + len(text) > _WIDTH - 2:
            yield f"{indent}{name}:"
            yield from _wrap_text(text, indent + "  ")
        else:
            yield f"{indent}{name}: {text}"


def _wrap_text(text: str, indent: str) -> Iterator[str]:
    for line in text[:_MAX_SHOWN].split("\n"):
        yield from textwrap.wrap(
            line, _WIDTH, initial_indent=indent, subsequent_indent=indent, tabsize=4
        ) or [""]
    if len(text) > _MAX_SHOWN:
        yield f"{indent}… ({len(text) - _MAX_SHOWN:,} more characters are not shown)"
