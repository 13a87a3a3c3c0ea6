"""Verdicts of people, and what follows from them: who has read what, and what is decided.

Nothing here touches a file. The first two verdicts on a question are its two reads; where they are
the same that is the decision, and where they differ the next person's verdict is. Whatever comes
after that stays on record and decides nothing.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Sequence
from typing import Literal, TypeAlias

from overread.build.item import Data, Question
from overread.core import Record
from overread.errors import UsageError

CANNOT_JUDGE = "cannot judge"
"""The verdict that may be given on every question."""

LONGEST_NAME = 80

QuestionKey: TypeAlias = tuple[str, str]
"""Id of a question, and the digest of what was asked: a question that changed is another one."""

NeededRead: TypeAlias = Literal["first", "second", "third", "nothing"]
"""Which read a question waits for."""


class PersonVerdict(Record):
    """One person's verdict on one question."""

    person: str
    """Who gave it."""
    question: str
    """Id of the question."""
    asked: str
    """Digest of the question as it was asked."""
    item: str
    """What the question is about."""
    kind: str
    """What was asked for."""
    verdict: str
    """One of the question's choices, or 'cannot judge'."""
    reasons: tuple[str, ...] = ()
    """Reason codes of the kind."""
    note: str = ""
    """Why, in words."""
    corrected: Data | None = None
    """What is right instead: a box, slices."""
    at: str
    """When, in UTC."""

    @property
    def key(self) -> QuestionKey:
        """Which question, as it was asked."""
        return (self.question, self.asked)


class Retraction(Record):
    """A verdict that its giver took back."""

    person: str
    """Who takes it back: nobody else can."""
    question: str
    """Id of the question."""
    asked: str
    """Digest of the question as it was asked."""


def question_digest(question: Question) -> str:
    """What tells a question from another one of the same id: verdicts on other words do not count.

    >>> one = Question(id="q1", item="c1", kind="leak", text="Does it give the diagnosis away?")
    >>> question_digest(one) == question_digest(one.model_copy()), len(question_digest(one))
    (True, 16)
    >>> question_digest(one) == question_digest(one.model_copy(update={"text": "Does it not?"}))
    False
    """
    whole = json.dumps(question.model_dump(mode="json"), sort_keys=True)
    return hashlib.sha256(whole.encode()).hexdigest()[:16]


def person_name(name: str) -> str:
    """A person's name as it is kept; refused where it is none.

    >>> person_name("  Ann   B. ")
    'Ann B.'
    """
    plain = " ".join(name.split())
    good = plain[:1].isalnum() and plain.isprintable() and len(plain) <= LONGEST_NAME
    if not good:
        raise UsageError(
            f"'{plain[:40]}' is no name of a person",
            remedy=f"give a name or initials, at most {LONGEST_NAME} characters, that begin with "
            "a letter or a digit",
        )
    return plain


def person_key(name: str) -> str:
    """What makes two spellings one person, so that nobody reads a question twice by shouting.

    >>> person_key("Ann B.") == person_key("ann  b.")
    True
    """
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def needed_read(reads: Sequence[PersonVerdict]) -> NeededRead:
    """Which read the question waits for, by the verdicts that stand, in their order."""
    if len(reads) < 2:
        return "second" if reads else "first"
    if reads[0].verdict == reads[1].verdict or len(reads) > 2:
        return "nothing"
    return "third"


def deciding_verdict(reads: Sequence[PersonVerdict]) -> PersonVerdict | None:
    """The verdict that decides: the first of two that are the same, else the third; None before."""
    if needed_read(reads) != "nothing":
        return None
    return reads[0] if reads[0].verdict == reads[1].verdict else reads[2]


class Reads:
    """All verdicts that stand, by question and by person, in the order in which they came."""

    def __init__(self) -> None:
        """Nobody has read anything yet."""
        self._all: dict[tuple[QuestionKey, str], PersonVerdict] = {}
        self._by_question: dict[QuestionKey, dict[str, PersonVerdict]] = {}
        self._by_person: dict[str, dict[QuestionKey, PersonVerdict]] = {}

    def copy(self) -> Reads:
        """The same reads; what is added to one is not in the other."""
        other = Reads()
        for given in self._all.values():
            other.add(given)
        return other

    def all(self) -> list[PersonVerdict]:
        """Every verdict that stands, in the order in which they came."""
        return list(self._all.values())

    def of_question(self, key: QuestionKey) -> list[PersonVerdict]:
        """The verdicts on a question, in their order."""
        return list(self._by_question.get(key, {}).values())

    def by_person(self, person: str) -> list[PersonVerdict]:
        """The verdicts of a person, in their order."""
        return list(self._by_person.get(person_key(person), {}).values())

    def find(self, person: str, key: QuestionKey) -> PersonVerdict | None:
        """A person's own verdict on a question."""
        return self._all.get((key, person_key(person)))

    def people(self) -> list[str]:
        """Everybody whose verdict stands, as first spelled, in order of name."""
        names: dict[str, str] = {}
        for (_, who), given in self._all.items():
            names.setdefault(who, given.person)
        return [names[who] for who in sorted(names)]

    def add(self, given: PersonVerdict) -> None:
        """Take a verdict; refused where this person has read the question already."""
        self.check_new(given)
        who = person_key(given.person)
        self._all[given.key, who] = given
        self._by_question.setdefault(given.key, {})[who] = given
        self._by_person.setdefault(who, {})[given.key] = given

    def check_new(self, given: PersonVerdict) -> None:
        """Refuse a second verdict of a person on a question."""
        if self.find(given.person, given.key) is not None:
            raise UsageError(
                f"{given.person} has read question '{given.question}' already",
                remedy="nobody reads a question twice; undo the first verdict to give another",
            )

    def retract(self, retracted: Retraction) -> None:
        """Drop a verdict; refused where there is none, or where a third has decided over it."""
        self.check_retraction(retracted)
        who, key = person_key(retracted.person), (retracted.question, retracted.asked)
        del self._all[key, who]
        del self._by_question[key][who]
        del self._by_person[who][key]

    def check_retraction(self, retracted: Retraction) -> None:
        """Refuse to drop a verdict that is not there, or because of which a third was asked."""
        who, key = person_key(retracted.person), (retracted.question, retracted.asked)
        if (key, who) not in self._all:
            raise UsageError(f"{retracted.person} has no verdict on '{retracted.question}'")
        reads = self.of_question(key)
        differed = len(reads) > 2 and reads[0].verdict != reads[1].verdict
        if differed and who in [person_key(read.person) for read in reads[:2]]:
            raise UsageError(
                f"question '{retracted.question}' was decided meanwhile",
                remedy="its verdicts can no longer be undone",
            )
