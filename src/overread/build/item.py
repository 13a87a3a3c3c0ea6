"""What travels through a build: one report, scan or raw case, and what became of it in a step."""

from __future__ import annotations

from pydantic import Field, JsonValue

from overread.core import Record

Data = dict[str, JsonValue]


class Item(Record):
    """One report, scan or raw case, with all that is known of it so far."""

    id: str
    """Its own name in the source; unique within a build."""
    patient: str | None = None
    """Whose it is: all items of a patient go to the same split."""
    data: Data = Field(default_factory=dict)
    """What is known of it: the fields of the source, and what steps added, each under its name."""


class Change(Record):
    """Something that a step altered, for the ledger."""

    what: str
    """Which field or sentence."""
    before: JsonValue = None
    """As it was; None where it is new."""
    after: JsonValue = None
    """As it is now; None where it is gone."""
    by: str = "rules"
    """Who did it: 'rules', a reader's name, a person's."""
    why: str = ""
    """In one sentence."""


class Keep(Record):
    """Step result: the item goes on to the next step."""

    data: Data
    """Fields that are new or replace earlier ones; all others stay."""
    changes: tuple[Change, ...] = ()
    """What was altered."""


class Drop(Record):
    """Step result: the item is dropped here."""

    reason: str
    """A short code that can be counted: 'too-few-differentials', 'leaks-diagnosis'."""
    why: str
    """In one sentence, with what was met and what was expected."""
    by: str = "rules"
    """Who decided."""
    changes: tuple[Change, ...] = ()
    """What had been altered before."""


class Question(Record):
    """Something that only people can decide."""

    id: str
    """Unique within the build: item, step and what is asked."""
    item: str
    """Which item it is about."""
    kind: str
    """What is asked for: 'verify-trace', 'mask', 'leak' …; a queue may be filtered by it."""
    text: str
    """The question in words."""
    shown: Data = Field(default_factory=dict)
    """What a person needs to see: texts, boxes, names of pictures. Never who said what before."""
    choices: tuple[str, ...] = ("accept", "reject")
    """The verdicts that may be given; 'cannot judge' always may."""


class Wait(Record):
    """Step result: the item waits for people; the step runs again once their verdicts are in."""

    questions: tuple[Question, ...]
    """What they are asked."""
    changes: tuple[Change, ...] = ()
    """What was altered before."""


StepResult = Keep | Drop | Wait
