"""Shared by the judges: the experts' account of a case, and lists of verdicts that are checked item
by item.

Usable verdicts are taken, and missing ones asked for once more. What is still missing then counts
against the reading: without a verdict nothing is assumed to be correct.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, JsonValue, ValidationError, create_model

from overread.core import Entry, Exchange, Usage
from overread.core.case import captions_of
from overread.errors import BadReply, UsageError
from overread.language.text import one_line
from overread.prompts.replies import json_parser
from overread.session import ParsedReply, Session
from overread.workflows.prompt_values import NOT_GIVEN, format_history

V = TypeVar("V", bound=BaseModel)
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class MendedVerdict(Generic[V]):
    """One verdict after repair, what was changed in it, and what is still wrong with it."""

    verdict: V
    repaired: str | None = None
    problem: str | None = None


def expert_account(entry: Entry) -> dict[str, str]:
    """The experts' account of a case, as prompts of judges take it. It is the truth: for judges."""
    truth = entry.truth
    if truth is None or truth.answer_text is None:
        raise UsageError(
            f"nothing can be judged about case {entry.case.id}: its truth is withheld",
            remedy="judge a run over a split whose truth is in the release",
        )
    numbers = {picture.name: n for n, picture in enumerate(entry.case.pictures, 1)}
    captions = [
        f"Picture {numbers[picture]}: {one_line(text)}"
        for picture, text in captions_of(truth).items()
        if picture in numbers
    ]
    return {
        "history": format_history(entry.case),
        "captions": "\n".join(captions) or NOT_GIVEN,
        "findings": (truth.report or "").strip() or NOT_GIVEN,
        "diagnosis": truth.answer_text.strip(),
        "discussion": (truth.discussion or "").strip() or NOT_GIVEN,
    }


def escape_fence(text: str) -> str:
    """A text to be put between lines of equals signs, with such lines of its own blanked."""
    return "\n".join(" " if line.strip(" =") == "" else line for line in text.splitlines())


class VerdictList(Generic[V, K]):
    """Parses a list of verdicts, one for each of some keys.

    Usable verdicts of every answer are remembered, so that a second answer with only the missing
    ones completes the first.
    """

    def __init__(
        self,
        item: type[V],
        field: str,
        keys: Sequence[K],
        key_of: Callable[[V], K | None],
        *,
        mend: Callable[[V], MendedVerdict[V]] = MendedVerdict,
        noun: str = "verdict",
    ) -> None:
        """`field` names the list in the answer; `key_of` says which thing a verdict is about."""
        self.found: dict[K, V] = {}
        self._item = item
        self._field = field
        self._keys = list(keys)
        self._key_of = key_of
        self._mend = mend
        self._noun = noun
        # Items are checked one by one: a broken one must not cost the others.
        lenient: dict[str, Any] = {field: (list[Any], ...)}
        self._list = json_parser(create_model("Answer", **lenient))

    def __call__(self, text: str) -> ParsedReply[dict[K, V]]:
        """Every verdict; raises `BadReply` with everything that is wrong."""
        answer = self._list(text)
        repairs = [answer.repaired] if answer.repaired else []
        items, broken = self._items(getattr(answer.value, self._field))
        problems = [f"{broken} of the {self._noun}s cannot be read"] if broken else []
        items, renumbered = self._renumber(items)
        repairs += renumbered
        given: dict[K, list[MendedVerdict[V]]] = {}
        strange = 0
        for item in items:
            key = self._key_of(item)
            if key is not None and key in self._keys:
                given.setdefault(key, []).append(self._mend(item))
            else:
                strange += 1
        if strange:
            repairs.append(f"{strange} {self._noun}s on things that were not asked about")
        for key, told in given.items():
            if any(other.verdict != told[0].verdict for other in told[1:]):
                self.found.pop(key, None)
                problems.append(f"there are several {self._noun}s on {key} that differ")
                continue
            self.found[key] = told[0].verdict
            problems += [told[0].problem] if told[0].problem else []
            repairs += [told[0].repaired] if told[0].repaired else []
        lacking = [str(key) for key in self._keys if key not in self.found]
        if lacking:
            problems.append(f"there is no {self._noun} on {', '.join(lacking)}")
        if problems:
            raise BadReply("; ".join(dict.fromkeys(problems)))
        return ParsedReply(dict(self.found), "; ".join(dict.fromkeys(repairs)) or None)

    def _items(self, given: list[Any]) -> tuple[list[V], int]:
        items, broken = [], 0
        for value in given:
            try:
                items.append(self._item.model_validate(value))
            except ValidationError:
                broken += 1
        return items, broken

    def _renumber(self, items: list[V]) -> tuple[list[V], list[str]]:
        """Things counted from 0 where they were counted from 1: plain only if all are there."""
        numbers = [self._key_of(item) for item in items]
        if 0 not in numbers or 0 in self._keys:
            return items, []
        wanted = [key - 1 for key in self._keys if isinstance(key, int)]
        if sorted(map(str, numbers)) != sorted(map(str, wanted)):
            # Some are counted from 0, so that no number can be trusted.
            raise BadReply("there is a number 0; number them as they were given to you")
        shifted = [_shift_number(item) for item in items]
        return shifted, [f"the {self._noun}s were counted from 0"]


def _shift_number(item: V) -> V:
    """The same verdict on the next number; a verdict has one number, its first field."""
    name = next(iter(type(item).model_fields))
    return item.model_copy(update={name: getattr(item, name) + 1})


async def ask_verdicts(
    session: Session,
    prompt: str,
    values: Mapping[str, str],
    verdicts: VerdictList[V, K],
    *,
    task: str,
    schema: Mapping[str, JsonValue],
) -> dict[K, V]:
    """The verdicts that the judge gave, complete or not; raises `BadReply` where it gave none."""
    try:
        return await session.ask(prompt, values, verdicts, task=task, schema=schema)
    except BadReply:
        if not verdicts.found:
            raise
        return dict(verdicts.found)


def session_log(session: Session) -> dict[str, Any]:
    """Exchanges and usage for the stored verdicts: answers without the questions, which contain the
    truth.
    """
    spent = Usage()
    exchanges: list[Exchange] = []
    for exchange in session.exchanges:
        exchanges.append(exchange.model_copy(update={"messages": ()}))
        if exchange.reply is not None:
            spent += exchange.reply.usage
    return {"exchanges": tuple(exchanges), "usage": spent}
