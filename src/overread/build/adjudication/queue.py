"""The queue: hands out questions, takes verdicts and takes them back, and says what was decided.

These are the functions that the terminal and a page stand on. Each looks at the log anew, so that
several people, in several processes, work on the same folder at once. Nobody is told what others
said before his own verdict is in: a question carries nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unicodedata import category

from overread.build.adjudication.corrections import check_correction
from overread.build.adjudication.decision import Decision, decide
from overread.build.adjudication.progress import Progress, count_progress
from overread.build.adjudication.question_file import load_questions
from overread.build.adjudication.reads import (
    CANNOT_JUDGE,
    PersonVerdict,
    QuestionKey,
    Reads,
    Retraction,
    needed_read,
    person_key,
    person_name,
    question_digest,
)
from overread.build.adjudication.reasons import OTHER, ReasonCodes, reasons_for
from overread.build.adjudication.verdict_log import LogLine, VerdictLog
from overread.build.item import Data, Question
from overread.catalog import unknown_name
from overread.errors import UsageError

LONGEST_NOTE = 4000


@dataclass(frozen=True)
class VerdictInput:
    """A verdict as it is handed in, before it is checked."""

    person: str
    question: str
    verdict: str
    reasons: tuple[str, ...] = ()
    note: str = ""
    corrected: Any = None
    at: str = ""
    """When it was given, where that was earlier."""


def utc_now() -> str:
    """The time as the log writes it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Queue:
    """The questions of a folder and the verdicts on them."""

    def __init__(
        self, folder: Path, questions: Iterable[Question] | None = None, *, clock: Callable[[], str] = utc_now
    ) -> None:
        """`questions` come from wherever they are kept; without them, from the folder itself."""
        self.folder = folder
        self.questions: dict[str, Question] = {}
        for question in load_questions(folder) if questions is None else questions:
            if self.questions.setdefault(question.id, question) != question:
                raise UsageError(
                    f"two different questions have the id '{question.id}'",
                    where=str(folder),
                    remedy="give each question an id of its own",
                )
        self._keys: dict[str, QuestionKey] = {
            q.id: (q.id, question_digest(q)) for q in self.questions.values()
        }
        self._log = VerdictLog(folder)
        self._clock = clock

    # ---- what the terminal and a page do ---------------------------------------------------

    def next_question(
        self, person: str, *, kind: str | None = None, skip: Collection[str] = ()
    ) -> Question | None:
        """The next question that this person can read, none of `skip`; None where none is left."""
        reads = self._log.refresh()
        name = person_name(person)
        for question in self._questions_of_kind(kind):
            if question.id not in skip and self._is_open(reads, name, question.id):
                return question
        return None

    def submit(
        self,
        person: str,
        question: str,
        verdict: str,
        *,
        reasons: Sequence[str] = (),
        note: str = "",
        corrected: Data | None = None,
    ) -> PersonVerdict:
        """Take one verdict; from the return on it is kept.

        A verdict on a question that two others settled meanwhile is kept too and decides nothing:
        work that was done is not thrown away. Refused: a question that this person has read, an
        unknown question, verdict or reason code.
        """
        offer = VerdictInput(
            person=person,
            question=question,
            verdict=verdict,
            reasons=tuple(reasons),
            note=note,
            corrected=corrected,
        )
        now = self._clock()

        def line(reads: Reads) -> LogLine:
            given = self.validate(offer, at=now)
            reads.check_new(given)
            return LogLine(n=0, before="", at=now, way="given", given=(given,))

        return self._log.append(line, now).given[0]

    def undo(self, person: str, question: str | None = None) -> PersonVerdict:
        """Take back this person's last verdict, or that on a question; the log keeps both.

        Refused once a third person has decided because of it.
        """
        now, taken = self._clock(), []

        def line(reads: Reads) -> LogLine:
            own = list(filter(self._is_current, reads.by_person(person_name(person))))
            if question is not None:
                own = [given for given in own if given.question == question]
            if not own:
                what = "nothing to undo" if question is None else f"no verdict on '{question}'"
                raise UsageError(f"there is {what} by {person_name(person)}")
            last = own[-1]
            taken.append(last)
            retracted = Retraction(person=last.person, question=last.question, asked=last.asked)
            reads.check_retraction(retracted)
            return LogLine(n=0, before="", at=now, way="undone", retracted=retracted)

        self._log.append(line, now)
        return taken[0]

    def progress(self) -> Progress:
        """How far the work is, by kind and by person."""
        reads = self._log.refresh()
        asked = [(question, self._keys[question.id]) for question in self.questions.values()]
        left = {name: self._count_open(reads, name) for name in reads.people()}
        return count_progress(asked, reads, left, self._log.notes)

    def open_questions(self, person: str, *, kind: str | None = None) -> list[Question]:
        """The questions that this person can read yet, in their order."""
        reads, name = self._log.refresh(), person_name(person)
        return [q for q in self._questions_of_kind(kind) if self._is_open(reads, name, q.id)]

    def count_open(self, person: str, *, kind: str | None = None) -> int:
        """How many questions this person can read yet."""
        return len(self.open_questions(person, kind=kind))

    def decisions(self) -> dict[str, Decision]:
        """Question → what was decided, where something was."""
        reads = self._log.refresh()
        found = {id_: decide(reads.of_question(key)) for id_, key in self._keys.items()}
        return {id_: decision for id_, decision in found.items() if decision is not None}

    def current_verdicts(self) -> list[PersonVerdict]:
        """All verdicts that stand on the questions as they are asked now, as they came."""
        return [given for given in self._log.refresh().all() if self._is_current(given)]

    def reason_codes(self, kind: str) -> ReasonCodes:
        """The reason codes that go with a kind of question."""
        return reasons_for(kind, self.folder)

    def question_digest(self, question: str) -> str:
        """The digest of a question as it is asked now."""
        return self._keys[self._find_question(question).id][1]

    # ---- many at once ----------------------------------------------------------------------

    def submit_all(self, offers: Sequence[tuple[str, VerdictInput]]) -> tuple[int, int]:
        """Take many verdicts, all or none, each named by where it stands; (new, known already).

        A verdict that is there already, word for word the same, is not taken again; another one
        of the same person on the same question is refused.
        """
        now = self._clock()
        fresh: list[PersonVerdict] = []
        known = 0

        def line(reads: Reads) -> LogLine:
            nonlocal known
            after = reads.copy()
            for where, offer in offers:
                try:
                    given = self.validate(offer, at=offer.at or now)
                    before = after.find(given.person, given.key)
                    if before is not None and _same_verdict(before, given):
                        known += 1
                        continue
                    after.add(given)
                except UsageError as error:
                    raise type(error)(error.what, where=where, remedy=error.remedy) from None
                fresh.append(given)
            if not fresh:
                raise _NothingNew
            return LogLine(n=0, before="", at=now, way="imported", given=tuple(fresh))

        try:
            self._log.append(line, now)
        except _NothingNew:
            return 0, known
        return len(fresh), known

    # ---- what a verdict must be ------------------------------------------------------------

    def validate(self, offer: VerdictInput, *, at: str) -> PersonVerdict:
        """The verdict as it would be kept; refused where it is none on a question that is asked."""
        question = self._find_question(offer.question)
        choices = {choice.casefold(): choice for choice in (CANNOT_JUDGE, *question.choices)}
        verdict = choices.get(" ".join(offer.verdict.split()).casefold())
        if verdict is None:
            raise UsageError(
                f"'{offer.verdict[:60]}' is no verdict on question '{question.id}'",
                remedy=f"give one of {', '.join((*question.choices, CANNOT_JUDGE))}",
            )
        codes = self.reason_codes(question.kind)
        for code in offer.reasons:
            if code not in codes:
                raise unknown_name(f"reason of '{question.kind}'", code[:60], codes)
        note = _clean_note(offer.note)
        if OTHER in offer.reasons and not note:
            raise UsageError(f"the reason '{OTHER}' says nothing", remedy="add a note in words")
        return PersonVerdict(
            person=person_name(offer.person),
            question=question.id,
            asked=self._keys[question.id][1],
            item=question.item,
            kind=question.kind,
            verdict=verdict,
            reasons=tuple(dict.fromkeys(offer.reasons)),
            note=note,
            corrected=None if offer.corrected is None else check_correction(offer.corrected),
            at=at,
        )

    def _find_question(self, id_: str) -> Question:
        if id_ not in self.questions:
            raise unknown_name("question", id_[:200], self.questions)
        return self.questions[id_]

    def _is_current(self, given: PersonVerdict) -> bool:
        """Whether the question was the same when this verdict was given."""
        return self._keys.get(given.question) == given.key

    def check_kind(self, kind: str | None) -> None:
        """Refuse a kind of which there is no question."""
        self._questions_of_kind(kind)

    def _questions_of_kind(self, kind: str | None) -> list[Question]:
        found = [q for q in self.questions.values() if kind in (None, q.kind)]
        if kind is not None and not found:
            raise unknown_name("kind of question", kind, {q.kind for q in self.questions.values()})
        return found

    def _is_open(self, reads: Reads, person: str, id_: str) -> bool:
        key = self._keys[id_]
        return needed_read(reads.of_question(key)) != "nothing" and reads.find(person, key) is None

    def _count_open(self, reads: Reads, person: str) -> int:
        return sum(self._is_open(reads, person, id_) for id_ in self.questions)


class _NothingNew(Exception):
    """All that was offered is there already."""


def _clean_note(note: str) -> str:
    plain = note.replace("\r\n", "\n").replace("\r", "\n").strip()
    if len(plain) > LONGEST_NOTE:
        raise UsageError(f"the note has {len(plain):,} characters", remedy=f"keep to {LONGEST_NOTE:,}")
    if any(category(c) in ("Cc", "Cs") for c in plain if c not in "\n\t"):
        raise UsageError("the note holds control characters", remedy="write plain text")
    return plain


def _same_verdict(one: PersonVerdict, other: PersonVerdict) -> bool:
    return one.model_copy(update={"at": "", "person": person_key(one.person)}) == other.model_copy(
        update={"at": "", "person": person_key(other.person)}
    )
