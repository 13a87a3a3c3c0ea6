"""Two reports side by side: what both state, what one leaves out or adds, and where they differ.

Mentions of one report are first merged into findings, because impressions repeat. Two mentions are
one finding when they have the same observation, are both there (present, uncertain) or both not in
the same way, and do not contradict each other in side, lobes, segments or size: one of them may say
less. A bare mention ("atelectasis" in the impression) also joins a narrower finding ("linear
atelectasis") of the same CT-RATE label. A right and a left one are one where the other report says
"bilateral".

Findings are then matched one to one, so that the sum of all likenesses is largest. Two of them can
match when they have the same observation, share a CT-RATE label (nodule and mass, atelectasis and
linear atelectasis) or, both being there at places that fit, the same category of the ontology: then
the observation itself is a conflict. What is there matches what is denied only where the places
fit; "no new nodule" denies no old one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from overread.core import Record
from overread.language.device_position import positions_fit, tips_fit
from overread.language.findings import (
    ReportFinding,
    are_close,
    is_there,
    join_sides,
    merge_statements,
    places_fit,
    same_size,
    sides_fit,
)
from overread.language.statements import Statement, find_statements
from overread.language.text import Span
from overread.language.vocabulary import Vocabulary, vocabulary
from overread.ontology import finding_tree as ontology

_SAME, _CLOSE, _KIN = 3, 2, 1
_BLOCK = 200
"""Findings of one kind that are matched at once; more of them than any report has go in blocks."""


class Conflict(Record):
    """One thing that two reports tell differently of the same finding."""

    name: str
    """Observation, presence, side, lobes, segments, zones, size, extent, severity, count, position, tip,
    distance or comparison."""
    reference: str
    """What the reference tells."""
    other: str
    """What the other tells."""
    reference_span: Span
    """Where the reference tells it."""
    other_span: Span
    """Where the other tells it."""


class FindingMatch(Record):
    """A finding of the reference and its partner in the other report."""

    reference: ReportFinding
    """What the reference states."""
    other: ReportFinding
    """What the other states."""
    conflicts: tuple[Conflict, ...] = ()
    """What they tell differently; a thing that only one of them tells is none."""

    @property
    def both_present(self) -> bool:
        """Whether both say that the same thing is there, whatever else they say of it."""
        named = all(conflict.name != "observation" for conflict in self.conflicts)
        return named and self.reference.is_there and self.other.is_there


class ReportComparison(Record):
    """What came of comparing two reports."""

    agreements: tuple[FindingMatch, ...]
    """Findings that both state, with no conflict."""
    conflicts: tuple[FindingMatch, ...]
    """Findings that both state, with conflicts."""
    omissions: tuple[ReportFinding, ...]
    """Findings that only the reference says are there."""
    additions: tuple[ReportFinding, ...]
    """Findings that only the other says are there."""
    minor_omissions: tuple[ReportFinding, ...]
    """What only the reference denies, recalls or asks for."""
    minor_additions: tuple[ReportFinding, ...]
    """What only the other denies, recalls or asks for."""

    @property
    def matches(self) -> tuple[FindingMatch, ...]:
        """All partners, in the order of the reference."""
        every = (*self.agreements, *self.conflicts)
        return tuple(sorted(every, key=lambda match: match.reference.statement.span.start))

    @property
    def found_count(self) -> int:
        """How many findings of the reference the other has."""
        return sum(match.both_present for match in self.matches)

    @property
    def reference_count(self) -> int:
        """How many findings are there by the reference."""
        return len(self.omissions) + sum(match.reference.is_there for match in self.matches)

    @property
    def other_count(self) -> int:
        """How many findings are there by the other."""
        return len(self.additions) + sum(match.other.is_there for match in self.matches)

    @property
    def precision(self) -> float:
        """Share of the other's findings that the reference has; 1 where it has none."""
        return self.found_count / self.other_count if self.other_count else 1.0

    @property
    def recall(self) -> float:
        """Share of the reference's findings that the other has; 1 where there are none."""
        return self.found_count / self.reference_count if self.reference_count else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both; 1 where neither report has a finding."""
        every = self.reference_count + self.other_count
        return 2 * self.found_count / every if every else 1.0


def compare_reports(reference: str, other: str) -> ReportComparison:
    """Compare two reports.

    >>> found = compare_reports("A 5 mm nodule in the right lung. Emphysema.", "9 mm right nodule.")
    >>> [(c.name, c.reference, c.other) for m in found.conflicts for c in m.conflicts]
    [('size', '5 mm', '9 mm')]
    >>> [finding.statement.observation for finding in found.omissions]
    ['emphysema']
    """
    return compare_statements(find_statements(reference), find_statements(other))


def compare_statements(reference: Iterable[Statement], other: Iterable[Statement]) -> ReportComparison:
    """Compare what was read from two reports."""
    ours, theirs = merge_statements(reference), merge_statements(other)
    ours, theirs = join_sides(ours, theirs), join_sides(theirs, ours)
    pairs = _pair_findings(ours, theirs)
    matches = [
        FindingMatch(reference=ours[i], other=theirs[j], conflicts=_conflicts(ours[i], theirs[j]))
        for i, j in sorted(pairs)
    ]
    left = {i for i, _ in pairs}
    right = {j for _, j in pairs}
    alone = [finding for n, finding in enumerate(ours) if n not in left]
    added = [finding for n, finding in enumerate(theirs) if n not in right]
    return ReportComparison(
        agreements=tuple(match for match in matches if not match.conflicts),
        conflicts=tuple(match for match in matches if match.conflicts),
        omissions=tuple(finding for finding in alone if finding.is_there),
        additions=tuple(finding for finding in added if finding.is_there),
        minor_omissions=tuple(finding for finding in alone if not finding.is_there),
        minor_additions=tuple(finding for finding in added if not finding.is_there),
    )


def _pair_findings(ours: Sequence[ReportFinding], theirs: Sequence[ReportFinding]) -> list[tuple[int, int]]:
    """The partners: indices of both, each at most once."""
    kinship = _kinships(
        {finding.statement.observation for finding in ours},
        {finding.statement.observation for finding in theirs},
    )
    found: list[tuple[int, int]] = []
    for names, others in _families(kinship):
        rows = [n for n, finding in enumerate(ours) if finding.statement.observation in names]
        columns = [n for n, finding in enumerate(theirs) if finding.statement.observation in others]
        blocks = max(len(rows), len(columns)) // _BLOCK + 1
        for at in range(0, blocks * _BLOCK, _BLOCK):
            part, against = rows[at : at + _BLOCK], columns[at : at + _BLOCK]
            found += _assign(
                part,
                against,
                lambda i, j: _likeness(
                    ours[i].statement,
                    theirs[j].statement,
                    kinship.get((ours[i].statement.observation, theirs[j].statement.observation)),
                ),
            )
    return found


def _kinships(ours: set[str], theirs: set[str]) -> dict[tuple[str, str], int]:
    """How near two observations are to each other, for those that can match at all."""
    known = vocabulary()
    found = {(one, two): _kinship(known, one, two) for one in ours for two in theirs}
    return {pair: kin for pair, kin in found.items() if kin}


@lru_cache(maxsize=100_000)
def _kinship(known: Vocabulary, one: str, two: str) -> int:
    """How near an observation is to another; 0 where they cannot match."""
    a, b = known.observations[one], known.observations[two]
    if one == two:
        return _SAME
    if are_close(a, b):
        return _CLOSE
    other = ontology().categories[a.category].name.startswith("other")
    return _KIN if a.kind_of is None and a.category == b.category and not other else 0


def _families(kinship: Iterable[tuple[str, str]]) -> list[tuple[set[str], set[str]]]:
    """Observations that hang together by kinship: each family is matched on its own."""
    families: list[tuple[set[str], set[str]]] = []
    for one, two in sorted(kinship):
        joined = ({one}, {two})
        rest = []
        for family in families:
            if one in family[0] or two in family[1]:
                joined[0].update(family[0])
                joined[1].update(family[1])
            else:
                rest.append(family)
        families = [*rest, joined]
    return families


def _assign(
    rows: Sequence[int], columns: Sequence[int], likeness: Callable[[int, int], int]
) -> list[tuple[int, int]]:
    """The pairs whose likenesses add up to most; equal ones go to the earlier."""
    if not rows or not columns:
        return []
    table = [[likeness(i, j) for j in columns] for i in rows]
    if len(rows) == 1 or len(columns) == 1:
        best = max((v, -r, -c) for r, row in enumerate(table) for c, v in enumerate(row))
        return [(rows[-best[1]], columns[-best[2]])] if best[0] > 0 else []
    from scipy.optimize import linear_sum_assignment

    chosen = zip(*linear_sum_assignment(table, maximize=True), strict=True)
    return [(rows[r], columns[c]) for r, c in chosen if table[r][c] > 0]


def _likeness(a: Statement, b: Statement, kin: int | None) -> int:
    """How well two findings match; 0 where they cannot."""
    if kin is None:
        return 0
    sides = sides_fit(a.side, b.side)
    lobes = places_fit(a.lobes, b.lobes)
    there = is_there(a) and is_there(b)
    if a.presence != b.presence and not there:
        gone = a if not is_there(a) else b
        still = b if gone is a else a
        only_new = gone.presence == "absent" and gone.comparison == "new"
        if not (sides and lobes) or (only_new and still.comparison != "new"):
            return 0
    if kin == _KIN and not (there and sides and lobes):
        return 0
    score = {_SAME: 1000, _CLOSE: 600, _KIN: 250}[kin]
    score += 300 if a.presence == b.presence else 250 if there else 0
    score += _field_score(a.side, b.side, fit=a.side == b.side, worth=60)
    score += _field_score(a.lobes, b.lobes, fit=bool(set(a.lobes) & set(b.lobes)), worth=80)
    score += _field_score(a.segments, b.segments, fit=bool(set(a.segments) & set(b.segments)), worth=40)
    score += _field_score(a.size_mm, b.size_mm, fit=same_size(a.size_mm, b.size_mm), worth=50)
    score += _field_score(a.severity, b.severity, fit=a.severity == b.severity, worth=5)
    score += _field_score(a.comparison, b.comparison, fit=a.comparison == b.comparison, worth=5)
    return score


def _field_score(a: object, b: object, *, fit: bool, worth: int) -> int:
    """What a field that both statements have adds to the score, or takes off."""
    if not a or not b:
        return 0
    return worth if fit else -worth


def _conflicts(ours: ReportFinding, theirs: ReportFinding) -> tuple[Conflict, ...]:
    """What two partners tell differently."""
    a, b = ours.statement, theirs.statement
    known = vocabulary().observations
    found: list[Conflict] = []

    def differ(name: str, one: object, two: object, *fields: str) -> None:
        spots = [
            next((s.evidence[field] for field in (fields or (name,)) if field in s.evidence), s.span)
            for s in (a, b)
        ]
        found.append(
            Conflict(
                name=name,
                reference=_format_value(one),
                other=_format_value(two),
                reference_span=spots[0],
                other_span=spots[1],
            )
        )

    close = are_close(known[a.observation], known[b.observation])
    if a.observation != b.observation and not close:
        differ("observation", a.observation, b.observation)
    if a.presence != b.presence:
        differ("presence", a.presence, b.presence)
    if a.side and b.side and a.side != b.side:
        differ("side", a.side, b.side)
    if not places_fit(a.lobes, b.lobes):
        differ("lobes", a.lobes, b.lobes)
    if not places_fit(a.segments, b.segments):
        differ("segments", a.segments, b.segments)
    if not places_fit(a.zones, b.zones):
        differ("zones", a.zones, b.zones)
    if not (is_there(a) and is_there(b)):
        return tuple(found)  # how large or severe something absent is means nothing
    if not same_size(a.size_mm, b.size_mm):
        differ("size", a.size_mm, b.size_mm, "size_mm")
    elif a.extent and b.extent and a.extent != b.extent and not (a.size_mm and b.size_mm):
        differ("extent", a.extent, b.extent)
    if a.severity and b.severity and a.severity != b.severity:
        differ("severity", a.severity, b.severity)
    one = a.count or ("several" if a.many else None)
    two = b.count or ("several" if b.many else None)
    if one and two and one != two and ((a.count and b.count) or 1 in (one, two)):
        differ("count", one, two, "count", "many")
    placed = positions_fit(a.position, b.position) and tips_fit(a.tip, b.tip)
    if not positions_fit(a.position, b.position):
        differ("position", a.position, b.position)
    if not tips_fit(a.tip, b.tip):
        differ("tip", a.tip, b.tip)
    if placed and not same_size(a.above_carina_mm, b.above_carina_mm):
        differ("distance", a.above_carina_mm, b.above_carina_mm, "above_carina_mm", "tip")
    if a.comparison and b.comparison and a.comparison != b.comparison:
        differ("comparison", a.comparison, b.comparison)
    return tuple(found)


def _format_value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g} mm"
    return ", ".join(value) if isinstance(value, tuple) else str(value)
