"""The mentions of one report, merged: a finding that the impression repeats is one finding."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from overread.core import Record
from overread.language.device_position import is_device, positions_fit, tips_fit
from overread.language.statements import THERE, Statement
from overread.language.text import Span
from overread.language.vocabulary import Observation, Vocabulary, vocabulary

_MAX_CANDIDATES = 64
"""Findings of one kind that a mention is compared with, the latest first: time stays linear."""


class ReportFinding(Record):
    """One finding of a report, told once or several times."""

    statement: Statement
    """What all mentions tell together: the fullest of them, and what only the others tell."""
    mentions: tuple[Span, ...]
    """The words that name it, each time, in order."""

    @property
    def is_there(self) -> bool:
        """Whether the report says that it is there, surely or perhaps."""
        return is_there(self.statement)


def is_there(statement: Statement) -> bool:
    """Whether a statement says that something is there, surely or perhaps."""
    return statement.presence in THERE


def sides_fit(a: str | None, b: str | None) -> bool:
    """Whether two sides can be told of the same thing: one is not told, or holds the other.

    >>> sides_fit("both", "right"), sides_fit("left", "right"), sides_fit(None, "left")
    (True, False, True)
    """
    return a is None or b is None or a == b or "both" in (a, b)


def places_fit(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """Whether one list of places holds the other, or is not told.

    >>> [places_fit(("RUL",), other) for other in (("RUL", "RML"), ("LUL",), ())]
    [True, False, True]
    """
    return set(a) <= set(b) or set(b) <= set(a)


def same_size(a: float | None, b: float | None) -> bool:
    """Whether two sizes are the same within 1 mm, or within a tenth of the larger.

    >>> same_size(5, 6), same_size(5, 7), same_size(50, 46), same_size(None, 7)
    (True, False, True, True)
    """
    return a is None or b is None or abs(a - b) <= max(1.0, 0.1 * max(a, b)) + 1e-9


def are_close(a: Observation, b: Observation) -> bool:
    """Whether two observations may be names of one thing: a shared CT-RATE label, or one family.

    Two kinds of one thing are not, whatever they share: a chest tube is no feeding tube.
    """
    if a.kind_of is not None and a.kind_of == b.kind_of and a.name != b.name:
        return False
    return bool(set(a.ctrate) & set(b.ctrate)) or (a.family is not None and a.family == b.family)


def merge_statements(found: Iterable[Statement]) -> list[ReportFinding]:
    """Statements merged into findings, in the order of their first mention.

    The fullest mentions come first, so that what comes of it does not hang on the order of the
    text. A mention joins the latest finding with which it has the observation and the kind of
    presence in common, and which it contradicts in no place and no size.
    """
    known = vocabulary()
    groups: list[tuple[Statement, list[Span]]] = []
    by_kind: dict[tuple[str, str], list[int]] = {}
    for statement in sorted(found, key=_fullness, reverse=True):
        kind = "there" if is_there(statement) else statement.presence
        seen = by_kind.setdefault((statement.observation, kind), [])
        at = _find_joinable(statement, groups, seen)
        if at is None and _is_bare(statement, known):
            at = _find_narrower(statement, kind, groups, by_kind, known)
        if at is None:
            seen.append(len(groups))
            groups.append((statement, [statement.span]))
        else:
            first, spans = groups[at]
            groups[at] = (_merge(first, statement), spans)
            spans.append(statement.span)
    merged = [
        ReportFinding(statement=first, mentions=tuple(sorted(spans, key=lambda span: span.start)))
        for first, spans in groups
    ]
    return sorted(merged, key=lambda finding: finding.mentions[0].start)


def join_sides(findings: list[ReportFinding], others: Iterable[ReportFinding]) -> list[ReportFinding]:
    """A right and a left finding as one on both sides, where the others tell it so and these do not.

    "Right effusion. Left effusion." says what "bilateral effusions" says.
    """
    wanted = {_side_key(other) for other in others if other.statement.side == "both"}
    if not wanted:
        return findings
    wanted -= {_side_key(own) for own in findings if own.statement.side == "both"}
    joined = list(findings)
    for key in sorted(wanted):
        sides = {
            side: next((f for f in joined if _side_key(f) == key and f.statement.side == side), None)
            for side in ("right", "left")
        }
        right, left = sides["right"], sides["left"]
        if right is None or left is None:
            continue
        at = min(joined.index(right), joined.index(left))
        both = _join_pair(right, left)
        joined = [f for f in joined if f is not right and f is not left]
        joined.insert(at, both)
    return joined


def _side_key(finding: ReportFinding) -> tuple[str, str]:
    told = finding.statement
    return told.observation, "there" if finding.is_there else told.presence


def _join_pair(right: ReportFinding, left: ReportFinding) -> ReportFinding:
    """Both sides of one finding; what is told differently of the sides is told of neither."""
    a, b = right.statement, left.statement
    same = ("size_mm", "axes_mm", "extent", "severity", "comparison")
    news: dict[str, Any] = {"side": "both", "count": None}
    news |= {
        name: Statement.model_fields[name].default for name in same if getattr(a, name) != getattr(b, name)
    }
    for name in ("lobes", "segments", "zones"):
        news[name] = tuple(dict.fromkeys((*getattr(a, name), *getattr(b, name))))
    mentions = tuple(sorted((*right.mentions, *left.mentions), key=lambda span: span.start))
    return ReportFinding(statement=a.model_copy(update=news), mentions=mentions)


def _fullness(statement: Statement) -> tuple[bool, bool, bool, bool]:
    """How much a mention tells, as far as it tells findings apart."""
    told = (statement.size_mm, statement.segments, statement.lobes, statement.side)
    return bool(told[0]), bool(told[1]), bool(told[2]), bool(told[3])


def _find_joinable(
    statement: Statement, groups: list[tuple[Statement, list[Span]]], seen: list[int]
) -> int | None:
    for at in reversed(seen[-_MAX_CANDIDATES:]):
        if _can_be_one(groups[at][0], statement):
            return at
    return None


def _can_be_one(a: Statement, b: Statement) -> bool:
    """Whether two mentions of the same kind can be of one finding."""
    if a.presence == "absent" and (a.comparison == "new") != (b.comparison == "new"):
        return False  # "no new nodule" is not "no nodule"
    return (
        (a.side is None or b.side is None or a.side == b.side)
        and places_fit(a.lobes, b.lobes)
        and places_fit(a.segments, b.segments)
        and places_fit(a.zones, b.zones)
        and same_size(a.size_mm, b.size_mm)
        and positions_fit(a.position, b.position)
        and tips_fit(a.tip, b.tip)
    )


def _is_bare(statement: Statement, known: Vocabulary) -> bool:
    """Whether a mention only names its finding; "the catheter" is one, and still only a name."""
    counted = statement.count and not is_device(known.observations[statement.observation])
    return not (statement.side or statement.lobes or statement.size_mm or counted)


def _find_narrower(
    statement: Statement,
    kind: str,
    groups: list[tuple[Statement, list[Span]]],
    by_kind: dict[tuple[str, str], list[int]],
    known: Vocabulary,
) -> int | None:
    """A finding whose name says the same and more: of the same CT-RATE label, or a kind of it."""
    labels = set(known.observations[statement.observation].ctrate)
    words = set(statement.observation.split())
    for (name, other), seen in by_kind.items():
        if other != kind or not seen:
            continue
        item = known.observations[name]
        if item.kind_of == statement.observation:
            at = _find_joinable(statement, groups, seen)
            if at is not None:
                return at
        elif labels and not labels.isdisjoint(item.ctrate) and words < set(name.split()):
            return seen[0]
    return None


def _merge(a: Statement, b: Statement) -> Statement:
    """The first mention, with what only the second tells."""
    news: dict[str, Any] = {}
    evidence = dict(a.evidence)
    for name in (
        "side",
        "size_mm",
        "extent",
        "severity",
        "count",
        "comparison",
        "position",
        "above_carina_mm",
    ):
        if getattr(a, name) is None and getattr(b, name) is not None:
            news[name] = getattr(b, name)
            if name in b.evidence:
                evidence[name] = b.evidence[name]
    if "size_mm" in news:
        news["axes_mm"] = b.axes_mm
    for name in ("lobes", "segments", "zones", "places", "spread", "traits", "tip"):
        mine, more = getattr(a, name), getattr(b, name)
        if not set(more) <= set(mine):
            news[name] = tuple(dict.fromkeys((*mine, *more)))
            if name in b.evidence:
                evidence.setdefault(name, b.evidence[name])
    if (b.many or b.small) and not (a.many and a.small):
        news |= {"many": a.many or b.many, "small": a.small or b.small}
    if a.presence == "uncertain" and b.presence == "present":
        news["presence"] = "present"
        evidence.pop("presence", None)
    if not news:
        return a
    return a.model_copy(update=news | {"evidence": evidence})
