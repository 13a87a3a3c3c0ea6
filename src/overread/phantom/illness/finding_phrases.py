"""Short phrases for findings: their names, sizes and places, for captions and discussions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import groupby

from overread.core import Record
from overread.ontology import lung_anatomy as lung_names
from overread.phantom.illness.model import FindingName, read_tables
from overread.phantom.statement import KINDS, PLEURAL, FindingStatement
from overread.phantom.words.text_forms import join_phrases

_LOBE_PAIRS = {
    frozenset(("RUL", "LUL")): "in both upper lobes",
    frozenset(("RLL", "LLL")): "in both lower lobes",
}


class FindingWords(Record):
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
def find_words(mark: FindingName) -> FindingWords:
    """What a mark is called."""
    return FindingWords.model_validate(read_tables("signs.toml")[mark])


def finding_name(statement: FindingStatement) -> FindingName:
    """The mark of the disease model that a statement is.

    >>> finding_name(FindingStatement(category="2b", kind="consolidation"))
    '2b consolidation'
    """
    if statement.kind in KINDS.get(statement.category, ()):
        return f"{statement.category} {statement.kind}"
    return statement.kind


def finding_noun(statement: FindingStatement) -> tuple[str, bool]:
    """What it is called, and whether that is in the plural."""
    words = find_words(finding_name(statement))
    if statement.count > 1 and words.many:
        return words.many, True
    return words.one, words.plural


def describe_place(statement: FindingStatement) -> str:
    """Its place in words; empty where the statement has none.

    >>> describe_place(FindingStatement(category="2b", kind="consolidation", side="right", lobes=("RLL",)))
    'in the right lower lobe'
    """
    lobes, side = statement.lobes, statement.side
    if statement.category in PLEURAL or not lobes:
        if side is None:
            return ""
        return "on both sides" if side == "both" else f"on the {side}"
    if len(lobes) == 1:
        return f"in the {lung_names().by_code[lobes[0]].name}"
    if frozenset(lobes) in _LOBE_PAIRS:
        return _LOBE_PAIRS[frozenset(lobes)]
    sides = {lung_names().by_code[code].side for code in lobes}
    return "in both lungs" if len(sides) > 1 else f"in the {next(iter(sides))} lung"


def describe_finding(statement: FindingStatement) -> str:
    """A finding as a phrase: what it is, how large where that was measured, and where."""
    name, _ = finding_noun(statement)
    parts = [name]
    if statement.size_mm is not None:
        up = "up to " if statement.count > 1 else ""
        parts.append(f"of {up}{statement.size_mm} mm")
    place = describe_place(statement)
    return " ".join([*parts, place] if place else parts)


def describe_findings(statements: Sequence[FindingStatement]) -> str:
    """Several findings in a row; those at one place that have no size share the words for it."""
    phrases: list[str] = []
    for place, group in groupby(statements, key=lambda s: describe_place(s) if s.size_mm is None else None):
        here = list(group)
        if place and len(here) > 1:
            phrases.append(f"{join_phrases(finding_noun(one)[0] for one in here)} {place}")
        else:
            phrases += [describe_finding(one) for one in here]
    # A list within a list is set off by more than an "and".
    if len(phrases) > 1 and any(" and " in phrase for phrase in phrases):
        return ", ".join(phrases[:-1]) + ", and " + phrases[-1]
    return join_phrases(phrases)


def findings_sentence(statements: Sequence[FindingStatement]) -> str:
    """All findings as one sentence; empty where there are none."""
    text = describe_findings(statements)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def describe_absence(marks: Iterable[FindingName]) -> str:
    """That none of these is there.

    >>> describe_absence(["2h cavity"])
    'no cavity is seen here'
    """
    names = [find_words(mark) for mark in sorted(marks)]
    bare = [one.bare for one in names]
    ends = {text.split()[-1] for text in bare}
    if len(bare) > 1 and len(ends) == 1:
        bare = sorted(ends)
    plural = names[-1].plural or bare[-1].endswith("nodes")
    return f"no {' or '.join(bare)} {'are' if plural else 'is'} seen here"
