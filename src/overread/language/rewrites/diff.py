"""A text and its rewrite: which numbers, sides and findings were lost, changed or invented.

Findings are matched as `compare` does it; two that are left over and end in the same word (pleural
effusion, pericardial effusion) are one that was changed. Numbers and sides are matched first within
a pair of findings, then anywhere: a number that stands somewhere else is kept, unless its finding
surely got another one in its place. Nothing is rounded. The side of a finding that is lost or
invented goes with it and is not counted again; its numbers are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeVar

from overread.core import Record
from overread.language.compare import ReportComparison, compare_statements
from overread.language.findings import ReportFinding, sides_fit
from overread.language.numerals import Numeral, find_numerals
from overread.language.rewrites.matching import MatchResult, OwnedItem, match_numbers, match_sides
from overread.language.rewrites.owners import OwnerIndex, SideWord, side_words
from overread.language.statements import find_statements
from overread.language.text import Sentence, Span, split_sentences
from overread.language.vocabulary import vocabulary
from overread.ontology import lung_anatomy

DiffKind = Literal["number", "side", "place", "finding", "presence"]
T = TypeVar("T", Numeral, SideWord)

_MAX_COUNTERPARTS = 4
"""Mentions of a finding's counterpart that are listed: there may be a thousand."""


class UnmatchedItem(Record):
    """Something that only one of the two texts tells."""

    kind: DiffKind
    """What it is."""
    what: str
    """What it means: '15 mm', 'left', the name of an observation."""
    span: Span
    """Where it stands: in the text if it was lost, in the rewrite if it was invented."""


class RewriteChange(Record):
    """Something that the rewrite tells otherwise."""

    kind: DiffKind
    """What it is."""
    before: str
    """What it meant in the text."""
    after: str
    """What it means in the rewrite."""
    span: Span
    """Where it stands in the text."""
    rewrite_span: Span
    """Where it stands in the rewrite."""
    observation: str = ""
    """The finding that it is told of, where it is a finding's place or presence."""


class SentenceFate(Record):
    """What became of one sentence of the text."""

    span: Span
    """The sentence."""
    carried: int
    """How many findings and numbers it tells."""
    kept: int
    """How many of them the rewrite tells too, changed or not."""
    counterparts: tuple[Span, ...]
    """The sentences of the rewrite that tell them, the first four for each."""


class RewriteDiff(Record):
    """What became of a text in its rewrite."""

    lost: tuple[UnmatchedItem, ...]
    """What only the text tells."""
    invented: tuple[UnmatchedItem, ...]
    """What only the rewrite tells."""
    changed: tuple[RewriteChange, ...]
    """What both tell, and differently."""
    sentences: tuple[SentenceFate, ...]
    """The sentences of the text, in order."""

    @property
    def faithful(self) -> bool:
        """Whether nothing was lost, invented or changed."""
        return not (self.lost or self.invented or self.changed)


def diff_rewrite(text: str, rewrite: str) -> RewriteDiff:
    """What a rewrite of a text lost, invented and changed.

    >>> diff = diff_rewrite("A 1.5 cm left nodule. No effusion.", "A 15 mm nodule on the right.")
    >>> [(item.kind, item.what) for item in diff.lost]
    [('finding', 'pleural effusion')]
    >>> [(change.kind, change.before, change.after) for change in diff.changed]
    [('side', 'left', 'right')]
    """
    told = compare_statements(find_statements(text), find_statements(rewrite))
    pairs, lost, invented = _pair_findings(told, text, rewrite)
    parts, others = split_sentences(text), split_sentences(rewrite)
    before = OwnerIndex(text, parts, _mentions((a for a, _ in pairs), lost))
    after = OwnerIndex(rewrite, others, _mentions((b for _, b in pairs), invented))
    numbers = match_numbers(
        _with_owners(find_numerals(text), before), _with_owners(find_numerals(rewrite), after)
    )
    sides = match_sides(
        _with_owners(side_words(text), before), _with_owners(side_words(rewrite), after), _pair_sides(pairs)
    )
    changed = [change for a, b in pairs for change in _changes(a, b)]
    for kind, settled in (("number", numbers), ("side", sides)):
        changed += [
            RewriteChange(
                kind=kind, before=one.meaning, after=two.meaning, span=one.span, rewrite_span=two.span
            )
            for one, two in settled.changed
        ]
    return RewriteDiff(
        lost=_unmatched_items(lost, numbers.lost, sides.lost),
        invented=_unmatched_items(invented, numbers.invented, sides.invented),
        changed=tuple(sorted(changed, key=lambda change: (change.span.start, change.kind))),
        sentences=_sentence_fates(parts, others, before, after, _trace_spans(pairs, lost, numbers)),
    )


def _pair_findings(
    told: ReportComparison, text: str, rewrite: str
) -> tuple[list[tuple[ReportFinding, ReportFinding]], list[ReportFinding], list[ReportFinding]]:
    """Pairs of findings, what is left of the text, and what is left of the rewrite."""
    pairs = [(match.reference, match.other) for match in told.matches]
    lost = _in_order(told.omissions, told.minor_omissions)
    spare: dict[tuple[str, bool], list[ReportFinding]] = {}
    invented = _in_order(told.additions, told.minor_additions)
    for finding in invented:
        spare.setdefault((_last_word(finding, rewrite), finding.is_there), []).append(finding)
    gone, used = [], set()
    for finding in lost:
        candidates = spare.get((_last_word(finding, text), finding.is_there), [])
        other = next(
            (c for c in candidates[:20] if sides_fit(finding.statement.side, c.statement.side)), None
        )
        if other is None or other.statement.observation == finding.statement.observation:
            gone.append(finding)
        else:
            pairs.append((finding, other))
            candidates.remove(other)
            used.add(id(other))
    return pairs, gone, [finding for finding in invented if id(finding) not in used]


def _in_order(*lists: Iterable[ReportFinding]) -> list[ReportFinding]:
    every = [finding for part in lists for finding in part]
    return sorted(every, key=lambda finding: finding.statement.span.start)


def _last_word(finding: ReportFinding, text: str) -> str:
    return finding.mentions[0].extract(text).lower().split()[-1].removesuffix("s")


def _mentions(paired: Iterable[ReportFinding], alone: Iterable[ReportFinding]) -> list[tuple[Span, int]]:
    """Words that name a finding → its key: the number of its pair; below 0 where it has none."""
    found = [(span, n) for n, finding in enumerate(paired) for span in finding.mentions]
    found += [(span, -1 - n) for n, finding in enumerate(alone) for span in finding.mentions]
    return found


def _with_owners(found: Sequence[T], owners: OwnerIndex) -> list[OwnedItem[T]]:
    return [OwnedItem(item, *owners.find_owner(item.span)) for item in found]


def _pair_sides(pairs: Sequence[tuple[ReportFinding, ReportFinding]]) -> list[tuple[set[str], set[str]]]:
    """The sides of both findings of each pair, as the statements have them."""
    return [(_side_set(a.statement.side), _side_set(b.statement.side)) for a, b in pairs]


def _side_set(side: str | None) -> set[str]:
    return {"right", "left"} if side == "both" else {side} if side else set()


def _changes(a: ReportFinding, b: ReportFinding) -> list[RewriteChange]:
    """What became of a finding itself: its name, its presence, the level of its lobes."""
    one, two = a.statement, b.statement
    spans = {"span": one.span, "rewrite_span": two.span}
    found = []
    if one.observation != two.observation and not _is_narrower(one.observation, two.observation):
        found.append(RewriteChange(kind="finding", before=one.observation, after=two.observation, **spans))
    if one.presence != two.presence and not _is_past_operation(one.category, one.presence, two.presence):
        found.append(
            RewriteChange(
                kind="presence", before=one.presence, after=two.presence, observation=one.observation, **spans
            )
        )
    levels, others = _lobe_levels(one.lobes), _lobe_levels(two.lobes)
    if levels and others and not (levels <= others or others <= levels):
        found.append(
            RewriteChange(
                kind="place",
                before=", ".join(one.lobes),
                after=", ".join(two.lobes),
                span=one.evidence.get("lobes", one.span),
                rewrite_span=two.evidence.get("lobes", two.span),
                observation=one.observation,
            )
        )
    return found


def _is_narrower(one: str, two: str) -> bool:
    """Whether one name only says more than the other: atelectasis, linear atelectasis."""
    known = vocabulary().observations
    a, b = set(one.split()), set(two.split())
    return (a < b or b < a) and bool(set(known[one].ctrate) & set(known[two].ctrate))


def _is_past_operation(category: str, one: str, two: str) -> bool:
    """Whether it is told of an operation, which is past and seen at once."""
    return category.startswith("12") and {one, two} == {"historical", "present"}


def _lobe_levels(lobes: Sequence[str]) -> set[str]:
    return {lung_anatomy().by_code[code].name.split()[1] for code in lobes}


def _unmatched_items(
    findings: Iterable[ReportFinding], numbers: Iterable[Numeral], sides: Iterable[SideWord]
) -> tuple[UnmatchedItem, ...]:
    every = [
        UnmatchedItem(kind="finding", what=f.statement.observation, span=f.statement.span) for f in findings
    ]
    every += [UnmatchedItem(kind="number", what=number.meaning, span=number.span) for number in numbers]
    every += [UnmatchedItem(kind="side", what=side.meaning, span=side.span) for side in sides]
    return tuple(sorted(every, key=lambda item: (item.span.start, item.kind)))


def _trace_spans(
    pairs: Sequence[tuple[ReportFinding, ReportFinding]],
    lost: Iterable[ReportFinding],
    numbers: MatchResult[Numeral],
) -> list[tuple[Span, tuple[Span, ...]]]:
    """Every finding and number of the text, and where the rewrite tells it."""
    found = [(span, b.mentions[:_MAX_COUNTERPARTS]) for a, b in pairs for span in a.mentions]
    found += [(span, ()) for finding in lost for span in finding.mentions]
    found += [(one.span, (two.span,) if two else ()) for one, two in numbers.partners]
    return found


def _sentence_fates(
    parts: Sequence[Sentence],
    others: Sequence[Sentence],
    before: OwnerIndex,
    after: OwnerIndex,
    carried: Iterable[tuple[Span, tuple[Span, ...]]],
) -> tuple[SentenceFate, ...]:
    """What became of each sentence of the text."""
    counts = [[0, 0] for _ in parts]
    places: list[set[int]] = [set() for _ in parts]
    for span, told in carried:
        at = before.sentence_at(span)
        if at < 0:
            continue
        counts[at][0] += 1
        counts[at][1] += bool(told)
        places[at].update(after.sentence_at(spot) for spot in told)
    return tuple(
        SentenceFate(
            span=Span(start=part.start, end=part.end),
            carried=count[0],
            kept=count[1],
            counterparts=tuple(
                Span(start=others[n].start, end=others[n].end) for n in sorted(where) if n >= 0
            ),
        )
        for part, count, where in zip(parts, counts, places, strict=True)
    )
