"""One report against another by rules: what is found, where, how large, and what differs.

It stands on `overread.language.compare`. An attribute counts where it is told: in the reference for
recall, in the reading for precision; it is a hit where both tell it of the same finding and do not
contradict each other. A finding that is left out therefore costs its attributes too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from overread.language.compare import FindingMatch, ReportComparison
from overread.language.findings import ReportFinding
from overread.language.statements import Statement

MAX_DISAGREEMENTS = 40
"""Disagreements that are kept of one pair; of more, only the number."""

_WORDS = {"absent": "denies", "historical": "recalls", "recommended": "asks for"}


def _has_location(told: Statement) -> bool:
    return bool(told.lobes or told.segments or told.zones)


ATTRIBUTES: dict[str, tuple[Callable[[Statement], bool], frozenset[str]]] = {
    "side": (lambda told: told.side is not None, frozenset({"side"})),
    "location": (_has_location, frozenset({"lobes", "segments", "zones"})),
    "size": (lambda told: told.size_mm is not None, frozenset({"size"})),
}
"""Attribute → whether a statement tells it, and the conflicts that speak against it."""


def count_findings(compared: ReportComparison) -> dict[str, Any]:
    """What is counted of one pair, as plain numbers, with the disagreements in words.

    `found`, `reference` and `other` count findings that are there. `presence_…` counts everything
    that is stated, denials too; `side_…`, `location_…` and `size_…` count the findings that are
    there and tell it: `hit` of both, `reference`, `other`, and `both`, the found ones that both
    tell it of (so `both` less `hit` is the number of contradictions).

    >>> from overread.language.compare import compare_reports
    >>> compared = compare_reports("5 mm nodule on the right. No effusion.", "Left nodule.")
    >>> counts = count_findings(compared)
    >>> [counts[name] for name in ("found", "side_both", "side_hit", "size_reference")]
    [1, 1, 0, 1]
    >>> for words in counts["disagreements"]:
    ...     print(words)
    nodule: side is right in the reference, left in the reading
    only the reference denies pleural effusion
    """
    matches = compared.matches
    ours = [m.reference for m in matches] + [*compared.omissions, *compared.minor_omissions]
    theirs = [m.other for m in matches] + [*compared.additions, *compared.minor_additions]
    counts: dict[str, Any] = {
        "found": compared.found_count,
        "reference": compared.reference_count,
        "other": compared.other_count,
        "presence_hit": sum(not _conflicts_in(m, {"presence", "observation"}) for m in matches),
        "presence_reference": len(ours),
        "presence_other": len(theirs),
    }
    for name, (tells, conflicts) in ATTRIBUTES.items():
        pairs = [
            match
            for match in matches
            if match.both_present and tells(match.reference.statement) and tells(match.other.statement)
        ]
        counts[f"{name}_both"] = len(pairs)
        counts[f"{name}_hit"] = sum(not _conflicts_in(match, conflicts) for match in pairs)
        counts[f"{name}_reference"] = _count_telling(ours, tells)
        counts[f"{name}_other"] = _count_telling(theirs, tells)
    differing = disagreements(compared)
    return {
        **counts,
        "disagreements": differing[:MAX_DISAGREEMENTS],
        "further_disagreements": max(0, len(differing) - MAX_DISAGREEMENTS),
    }


def disagreements(compared: ReportComparison) -> list[str]:
    """Everything in which two reports differ, one line each: the gravest first."""
    found = [
        _describe_conflict(match, conflict.name, conflict.reference, conflict.other)
        for match in compared.matches
        for conflict in match.conflicts
    ]
    found += [f"the reading leaves out {describe_statement(f.statement)}" for f in compared.omissions]
    found += [f"the reading adds {describe_statement(f.statement)}" for f in compared.additions]
    found += [_describe_minor("reference", f.statement) for f in compared.minor_omissions]
    found += [_describe_minor("reading", f.statement) for f in compared.minor_additions]
    return found


def describe_statement(told: Statement) -> str:
    """A finding with what is told of it: 'possible nodule (right, RUL, 12 mm)'."""
    about = [told.side] if told.side else []
    about += [*told.lobes, *told.segments, *(f"{zone} zone" for zone in told.zones)]
    if told.size_mm is not None:
        about.append(f"{told.size_mm:g} mm")
    name = f"possible {told.observation}" if told.presence == "uncertain" else told.observation
    return f"{name} ({', '.join(about)})" if about else name


def _describe_conflict(match: FindingMatch, name: str, ours: str, theirs: str) -> str:
    if name == "observation":
        return f"the reference has {ours} where the reading has {theirs}"
    what = match.reference.statement.observation
    if name == "presence":
        return f"{what}: {ours} in the reference, {theirs} in the reading"
    verb = "are" if name.endswith("s") else "is"
    return f"{what}: {name} {verb} {ours} in the reference, {theirs} in the reading"


def _describe_minor(who: str, told: Statement) -> str:
    return f"only the {who} {_WORDS.get(told.presence, 'mentions')} {told.observation}"


def _conflicts_in(match: FindingMatch, names: Iterable[str]) -> bool:
    return any(conflict.name in names for conflict in match.conflicts)


def _count_telling(findings: Iterable[ReportFinding], tells: Callable[[Statement], bool]) -> int:
    return sum(finding.is_there and tells(finding.statement) for finding in findings)
