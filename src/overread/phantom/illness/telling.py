"""Findings in a few words: what a caption or a discussion calls them, and where they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import groupby

from overread.core import Record
from overread.ontology import lungs as lung_names
from overread.phantom.illness.model import Mark, read_tables
from overread.phantom.statement import KINDS, Statement

_PAIRS = {
    frozenset(("RUL", "LUL")): "in both upper lobes",
    frozenset(("RLL", "LLL")): "in both lower lobes",
}
_PLEURA = ("2e", "2g")


class Called(Record):
    """What a finding is called."""

    one: str
    """One of it, with its article."""
    many: str = ""
    """Several, where they can be counted."""
    bare: str
    """Without article, as it stands after 'no'."""
    plural: bool = False
    """Whether the verb of `one` is in the plural."""


@cache
def called(mark: Mark) -> Called:
    """What a mark is called."""
    return Called.model_validate(read_tables("signs.toml")[mark])


def mark_of(statement: Statement) -> Mark:
    """The mark of the disease model that a statement is.

    >>> mark_of(Statement(category="2b", kind="consolidation"))
    '2b consolidation'
    """
    if statement.kind in KINDS.get(statement.category, ()):
        return f"{statement.category} {statement.kind}"
    return statement.kind


def noun(statement: Statement) -> tuple[str, bool]:
    """What it is called, and whether that is in the plural."""
    words = called(mark_of(statement))
    if statement.count > 1 and words.many:
        return words.many, True
    return words.one, words.plural


def where(statement: Statement) -> str:
    """Its place in words; empty where the statement has none.

    >>> where(Statement(category="2b", kind="consolidation", side="right", lobes=("RLL",)))
    'in the right lower lobe'
    """
    lobes, side = statement.lobes, statement.side
    if statement.category in _PLEURA or not lobes:
        if side is None:
            return ""
        return "on both sides" if side == "both" else f"on the {side}"
    if len(lobes) == 1:
        return f"in the {lung_names().by_code[lobes[0]].name}"
    if frozenset(lobes) in _PAIRS:
        return _PAIRS[frozenset(lobes)]
    sides = {lung_names().by_code[code].side for code in lobes}
    return "in both lungs" if len(sides) > 1 else f"in the {next(iter(sides))} lung"


def told(statement: Statement) -> str:
    """A finding as a phrase: what it is, how large where that was measured, and where."""
    name, _ = noun(statement)
    parts = [name]
    if statement.size_mm is not None:
        up = "up to " if statement.count > 1 else ""
        parts.append(f"of {up}{statement.size_mm} mm")
    place = where(statement)
    return " ".join([*parts, place] if place else parts)


def listed(phrases: Iterable[str]) -> str:
    """Phrases as a list in words.

    >>> listed(["a cavity", "consolidation", "a rib"])
    'a cavity, consolidation and a rib'
    """
    items = list(phrases)
    if len(items) < 2:
        return "".join(items)
    return ", ".join(items[:-1]) + " and " + items[-1]


def told_together(statements: Sequence[Statement]) -> str:
    """Several findings in a row; those at one place that have no size share the words for it."""
    phrases: list[str] = []
    for place, group in groupby(statements, key=lambda s: where(s) if s.size_mm is None else None):
        here = list(group)
        if place and len(here) > 1:
            phrases.append(f"{listed(noun(one)[0] for one in here)} {place}")
        else:
            phrases += [told(one) for one in here]
    # A list within a list is set off by more than an "and".
    if len(phrases) > 1 and any(" and " in phrase for phrase in phrases):
        return ", ".join(phrases[:-1]) + ", and " + phrases[-1]
    return listed(phrases)


def sentence_of(statements: Sequence[Statement]) -> str:
    """All findings as one sentence; empty where there are none."""
    text = told_together(statements)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def absent(marks: Iterable[Mark]) -> str:
    """That none of these is there.

    >>> absent(["2h cavity"])
    'no cavity is seen here'
    """
    names = [called(mark) for mark in sorted(marks)]
    bare = [one.bare for one in names]
    ends = {text.split()[-1] for text in bare}
    if len(bare) > 1 and len(ends) == 1:
        bare = sorted(ends)
    plural = names[-1].plural or bare[-1].endswith("nodes")
    return f"no {' or '.join(bare)} {'are' if plural else 'is'} seen here"
