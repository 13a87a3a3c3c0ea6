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

from overread.build.adjudication.corrections import checked
from overread.build.adjudication.decision import Decision, decision_of
from overread.build.adjudication.log import Line, VerdictLog
from overread.build.adjudication.progress import Progress, progress_of
from overread.build.adjudication.question_file import has_questions, questions_of
from overread.build.adjudication.reads import (
    CANNOT_JUDGE,
    Given,
    Key,
    Reads,
    Retracted,
    digest,
    need,
    person_key,
    person_name,
)
from overread.build.adjudication.reasons import OTHER, Codes, reasons_for
from overread.build.item import Data, Question
from overread.catalog import unknown
from overread.errors import UsageError

LONGEST_NOTE = 4000


@dataclass(frozen=True)
class Offer:
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
        self,
        folder: Path,
        questions: Iterable[Question] | None = None,
        *,
        clock: Callable[[], str] = utc_now,
    ) -> None:
        """`questions` come from wherever they are kept; without them, from the folder itself."""
        self.folder = folder
        self.questions: dict[str, Question] = {}
        for question in questions_of(folder) if questions is None else questions:
            if self.questions.setdefault(question.id, question) != question:
                raise UsageError(
                    f"two different questions have the id '{question.id}'",
                    where=str(folder),
                    remedy="give each question an id of its own",
                )
        self._keys: dict[str, Key] = {q.id: (q.id, digest(q)) for q in self.questions.values()}
        self._log = VerdictLog(folder)
        self._clock = clock

    # ---- what the terminal and a page do ---------------------------------------------------

    def next_question(
        self, person: str, *, kind: str | None = None, skip: Collection[str] = ()
    ) -> Question | None:
        """The next question that this person can read, none of `skip`; None where none is left."""
        reads = self._log.look()
        name = person_name(person)
        for question in self._of_kind(kind):
            if question.id not in skip and self._open_to(reads, name, question.id):
                return question
        return None

    def give(
        self,
        person: str,
        question: str,
        verdict: str,
        *,
        reasons: Sequence[str] = (),
        note: str = "",
        corrected: Data | None = None,
    ) -> Given:
        """Take one verdict; from the return on it is kept.

        A verdict on a question that two others settled meanwhile is kept too and decides nothing:
        work that was done is not thrown away. Refused: a question that this person has read, an
        unknown question, verdict or reason code.
        """
        offer = Offer(
            person=person,
            question=question,
            verdict=verdict,
            reasons=tuple(reasons),
            note=note,
            corrected=corrected,
        )
        now = self._clock()

        def line(reads: Reads) -> Line:
            given = self.checked(offer, at=now)
            reads.check(given)
            return Line(n=0, before="", at=now, way="given", given=(given,))

        return self._log.append(line, now).given[0]

    def undo(self, person: str, question: str | None = None) -> Given:
        """Take back this person's last verdict, or that on a question; the log keeps both.

        Refused once a third person has decided because of it.
        """
        now, taken = self._clock(), []

        def line(reads: Reads) -> Line:
            own = list(filter(self._counts, reads.by(person_name(person))))
            if question is not None:
                own = [given for given in own if given.question == question]
            if not own:
                what = "nothing to undo" if question is None else f"no verdict on '{question}'"
                raise UsageError(f"there is {what} by {person_name(person)}")
            last = own[-1]
            taken.append(last)
            retracted = Retracted(person=last.person, question=last.question, asked=last.asked)
            reads.check_back(retracted)
            return Line(n=0, before="", at=now, way="undone", retracted=retracted)

        self._log.append(line, now)
        return taken[0]

    def progress(self) -> Progress:
        """How far the work is, by kind and by person."""
        reads = self._log.look()
        asked = [(question, self._keys[question.id]) for question in self.questions.values()]
        left = {name: self._left(reads, name) for name in reads.people()}
        return progress_of(asked, reads, left, self._log.notes)

    def open_to(self, person: str, *, kind: str | None = None) -> list[Question]:
        """The questions that this person can read yet, in their order."""
        reads, name = self._log.look(), person_name(person)
        return [q for q in self._of_kind(kind) if self._open_to(reads, name, q.id)]

    def left(self, person: str, *, kind: str | None = None) -> int:
        """How many questions this person can read yet."""
        return len(self.open_to(person, kind=kind))

    def decisions(self) -> dict[str, Decision]:
        """Question → what was decided, where something was."""
        reads = self._log.look()
        found = {id_: decision_of(reads.of(key)) for id_, key in self._keys.items()}
        return {id_: decision for id_, decision in found.items() if decision is not None}

    def reads_of(self, question: str) -> list[Given]:
        """The verdicts that stand on a question, in their order; never for a reader's eyes."""
        return self._log.look().of(self._keys[self._question(question).id])

    def standing(self) -> list[Given]:
        """All verdicts that stand on the questions as they are asked now, as they came."""
        return [given for given in self._log.look().all() if self._counts(given)]

    def reasons(self, kind: str) -> Codes:
        """The reason codes that go with a kind of question."""
        return reasons_for(kind, self.folder)

    def asked(self, question: str) -> str:
        """The digest of a question as it is asked now."""
        return self._keys[self._question(question).id][1]

    # ---- many at once ----------------------------------------------------------------------

    def take(self, offers: Sequence[tuple[str, Offer]]) -> tuple[int, int]:
        """Take many verdicts, all or none, each named by where it stands; (new, known already).

        A verdict that is there already, word for word the same, is not taken again; another one
        of the same person on the same question is refused.
        """
        now = self._clock()
        fresh: list[Given] = []
        known = 0

        def line(reads: Reads) -> Line:
            nonlocal known
            after = reads.copy()
            for where, offer in offers:
                try:
                    given = self.checked(offer, at=offer.at or now)
                    before = after.own(given.person, given.key)
                    if before is not None and _same(before, given):
                        known += 1
                        continue
                    after.add(given)
                except UsageError as error:
                    raise type(error)(error.what, where=where, remedy=error.remedy) from None
                fresh.append(given)
            if not fresh:
                raise _NothingNew
            return Line(n=0, before="", at=now, way="imported", given=tuple(fresh))

        try:
            self._log.append(line, now)
        except _NothingNew:
            return 0, known
        return len(fresh), known

    # ---- what a verdict must be ------------------------------------------------------------

    def checked(self, offer: Offer, *, at: str) -> Given:
        """The verdict as it would be kept; refused where it is none on a question that is asked."""
        question = self._question(offer.question)
        choices = {choice.casefold(): choice for choice in (CANNOT_JUDGE, *question.choices)}
        verdict = choices.get(" ".join(offer.verdict.split()).casefold())
        if verdict is None:
            raise UsageError(
                f"'{offer.verdict[:60]}' is no verdict on question '{question.id}'",
                remedy=f"give one of {', '.join((*question.choices, CANNOT_JUDGE))}",
            )
        codes = self.reasons(question.kind)
        for code in offer.reasons:
            if code not in codes:
                raise unknown(f"reason of '{question.kind}'", code[:60], codes)
        note = _note(offer.note)
        if OTHER in offer.reasons and not note:
            raise UsageError(f"the reason '{OTHER}' says nothing", remedy="add a note in words")
        return Given(
            person=person_name(offer.person),
            question=question.id,
            asked=self._keys[question.id][1],
            item=question.item,
            kind=question.kind,
            verdict=verdict,
            reasons=tuple(dict.fromkeys(offer.reasons)),
            note=note,
            corrected=None if offer.corrected is None else checked(offer.corrected),
            at=at,
        )

    def _question(self, id_: str) -> Question:
        if id_ not in self.questions:
            raise unknown("question", id_[:200], self.questions)
        return self.questions[id_]

    def _counts(self, given: Given) -> bool:
        """Whether the question was the same when this verdict was given."""
        return self._keys.get(given.question) == given.key

    def check_kind(self, kind: str | None) -> None:
        """Refuse a kind of which there is no question."""
        self._of_kind(kind)

    def _of_kind(self, kind: str | None) -> list[Question]:
        found = [q for q in self.questions.values() if kind in (None, q.kind)]
        if kind is not None and not found:
            raise unknown("kind of question", kind, {q.kind for q in self.questions.values()})
        return found

    def _open_to(self, reads: Reads, person: str, id_: str) -> bool:
        key = self._keys[id_]
        return need(reads.of(key)) != "nothing" and reads.own(person, key) is None

    def _left(self, reads: Reads, person: str) -> int:
        return sum(self._open_to(reads, person, id_) for id_ in self.questions)


class _NothingNew(Exception):
    """All that was offered is there already."""


def settled(folder: Path, questions: Iterable[Question] | None = None) -> dict[str, str]:
    """Question id → the final verdict, where there is one; raises where the log was altered.

    `questions` are those that are asked now, from wherever they are kept: verdicts on others do
    not count. Without them they are the folder's own, and a question that is not among these
    counts as it was last asked.
    """
    return {id_: found.verdict for id_, found in decisions(folder, questions).items()}


def decisions(folder: Path, questions: Iterable[Question] | None = None) -> dict[str, Decision]:
    """The same with who decided, why, and the corrected data."""
    if questions is not None:
        return Queue(folder, questions).decisions()
    reads = VerdictLog(folder).look()
    keys = {given.question: given.key for given in reads.all()}
    if keys and has_questions(folder):
        keys |= {q.id: (q.id, digest(q)) for q in questions_of(folder)}
    found = {id_: decision_of(reads.of(key)) for id_, key in keys.items()}
    return {id_: decision for id_, decision in found.items() if decision is not None}


def _note(note: str) -> str:
    plain = note.replace("\r\n", "\n").replace("\r", "\n").strip()
    if len(plain) > LONGEST_NOTE:
        raise UsageError(
            f"the note has {len(plain):,} characters", remedy=f"keep to {LONGEST_NOTE:,}"
        )
    if any(category(c) in ("Cc", "Cs") for c in plain if c not in "\n\t"):
        raise UsageError("the note holds control characters", remedy="write plain text")
    return plain


def _same(one: Given, other: Given) -> bool:
    return one.model_copy(update={"at": "", "person": person_key(one.person)}) == other.model_copy(
        update={"at": "", "person": person_key(other.person)}
    )
