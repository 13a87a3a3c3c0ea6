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
from overread.language.compare import Comparison, compare_statements
from overread.language.findings import Finding, sides_fit
from overread.language.numerals import Numeral, numerals
from overread.language.owners import Owners, SideWord, side_words
from overread.language.settling import Settled, Told, settle_numbers, settle_sides
from overread.language.statements import statements
from overread.language.text import Sentence, Span, sentences
from overread.language.vocabulary import vocabulary
from overread.ontology import lungs

Kind = Literal["number", "side", "place", "finding", "presence"]
T = TypeVar("T", Numeral, SideWord)

_SHOWN = 4
"""Mentions that a finding's counterpart is shown by; a finding may be told a thousand times."""


class Item(Record):
    """Something that only one of the two texts tells."""

    kind: Kind
    """What it is."""
    what: str
    """What it means: '15 mm', 'left', the name of an observation."""
    span: Span
    """Where it stands: in the text if it was lost, in the rewrite if it was invented."""


class Change(Record):
    """Something that the rewrite tells otherwise."""

    kind: Kind
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


class Fate(Record):
    """What became of one sentence of the text."""

    span: Span
    """The sentence."""
    carried: int
    """How many findings and numbers it tells."""
    kept: int
    """How many of them the rewrite tells too, changed or not."""
    counterparts: tuple[Span, ...]
    """The sentences of the rewrite that tell them, the first four for each."""

    @property
    def missing(self) -> bool:
        """Whether it told something and nothing of it is left."""
        return self.carried > 0 and self.kept == 0


class Accounting(Record):
    """What became of a text in its rewrite."""

    lost: tuple[Item, ...]
    """What only the text tells."""
    invented: tuple[Item, ...]
    """What only the rewrite tells."""
    changed: tuple[Change, ...]
    """What both tell, and differently."""
    sentences: tuple[Fate, ...]
    """The sentences of the text, in order."""

    @property
    def faithful(self) -> bool:
        """Whether nothing was lost, invented or changed."""
        return not (self.lost or self.invented or self.changed)

    @property
    def flips(self) -> tuple[Change, ...]:
        """Changes of presence: what was absent is there, and the like."""
        return tuple(change for change in self.changed if change.kind == "presence")

    @property
    def missing_sentences(self) -> tuple[Span, ...]:
        """Sentences of the text of which nothing is left."""
        return tuple(fate.span for fate in self.sentences if fate.missing)


def account(text: str, rewrite: str) -> Accounting:
    """What a rewrite of a text lost, invented and changed.

    >>> told = account("A 1.5 cm nodule on the left. No effusion.", "A 15 mm nodule on the right.")
    >>> [(item.kind, item.what) for item in told.lost]
    [('finding', 'pleural effusion')]
    >>> [(change.kind, change.before, change.after) for change in told.changed]
    [('side', 'left', 'right')]
    """
    told = compare_statements(statements(text), statements(rewrite))
    pairs, lost, invented = _paired(told, text, rewrite)
    parts, others = sentences(text), sentences(rewrite)
    before = Owners(text, parts, _mentions((a for a, _ in pairs), lost))
    after = Owners(rewrite, others, _mentions((b for _, b in pairs), invented))
    numbers = settle_numbers(_owned(numerals(text), before), _owned(numerals(rewrite), after))
    sides = settle_sides(
        _owned(side_words(text), before), _owned(side_words(rewrite), after), _told_sides(pairs)
    )
    changed = [change for a, b in pairs for change in _changes(a, b)]
    for kind, settled in (("number", numbers), ("side", sides)):
        changed += [
            Change(
                kind=kind,
                before=one.meaning,
                after=two.meaning,
                span=one.span,
                rewrite_span=two.span,
            )
            for one, two in settled.changed
        ]
    return Accounting(
        lost=_items(lost, numbers.lost, sides.lost),
        invented=_items(invented, numbers.invented, sides.invented),
        changed=tuple(sorted(changed, key=lambda change: (change.span.start, change.kind))),
        sentences=_fates(parts, others, before, after, _carried(pairs, lost, numbers)),
    )


def _paired(
    told: Comparison, text: str, rewrite: str
) -> tuple[list[tuple[Finding, Finding]], list[Finding], list[Finding]]:
    """Pairs of findings, what is left of the text, and what is left of the rewrite."""
    pairs = [(match.reference, match.other) for match in told.matches]
    lost = _in_order(told.omissions, told.minor_omissions)
    spare: dict[tuple[str, bool], list[Finding]] = {}
    invented = _in_order(told.additions, told.minor_additions)
    for finding in invented:
        spare.setdefault((_last_word(finding, rewrite), finding.there), []).append(finding)
    gone, used = [], set()
    for finding in lost:
        candidates = spare.get((_last_word(finding, text), finding.there), [])
        other = next(
            (c for c in candidates[:20] if sides_fit(finding.statement.side, c.statement.side)),
            None,
        )
        if other is None or other.statement.observation == finding.statement.observation:
            gone.append(finding)
        else:
            pairs.append((finding, other))
            candidates.remove(other)
            used.add(id(other))
    return pairs, gone, [finding for finding in invented if id(finding) not in used]


def _in_order(*lists: Iterable[Finding]) -> list[Finding]:
    every = [finding for part in lists for finding in part]
    return sorted(every, key=lambda finding: finding.statement.span.start)


def _last_word(finding: Finding, text: str) -> str:
    return finding.mentions[0].of(text).lower().split()[-1].removesuffix("s")


def _mentions(paired: Iterable[Finding], alone: Iterable[Finding]) -> list[tuple[Span, int]]:
    """Words that name a finding → its key: the number of its pair; below 0 where it has none."""
    found = [(span, n) for n, finding in enumerate(paired) for span in finding.mentions]
    found += [(span, -1 - n) for n, finding in enumerate(alone) for span in finding.mentions]
    return found


def _owned(found: Sequence[T], owners: Owners) -> list[Told[T]]:
    return [Told(item, *owners.of(item.span)) for item in found]


def _told_sides(pairs: Sequence[tuple[Finding, Finding]]) -> list[tuple[set[str], set[str]]]:
    """The sides of both findings of each pair, as the statements have them."""
    return [(_sides(a.statement.side), _sides(b.statement.side)) for a, b in pairs]


def _sides(side: str | None) -> set[str]:
    return {"right", "left"} if side == "both" else {side} if side else set()


def _changes(a: Finding, b: Finding) -> list[Change]:
    """What became of a finding itself: its name, its presence, the level of its lobes."""
    one, two = a.statement, b.statement
    spans = {"span": one.span, "rewrite_span": two.span}
    found = []
    if one.observation != two.observation and not _narrowed(one.observation, two.observation):
        found.append(Change(kind="finding", before=one.observation, after=two.observation, **spans))
    if one.presence != two.presence and not _past_either_way(
        one.category, one.presence, two.presence
    ):
        found.append(
            Change(
                kind="presence",
                before=one.presence,
                after=two.presence,
                observation=one.observation,
                **spans,
            )
        )
    levels, others = _levels(one.lobes), _levels(two.lobes)
    if levels and others and not (levels <= others or others <= levels):
        found.append(
            Change(
                kind="place",
                before=", ".join(one.lobes),
                after=", ".join(two.lobes),
                span=one.evidence.get("lobes", one.span),
                rewrite_span=two.evidence.get("lobes", two.span),
                observation=one.observation,
            )
        )
    return found


def _narrowed(one: str, two: str) -> bool:
    """Whether one name only says more than the other: atelectasis, linear atelectasis."""
    known = vocabulary().observations
    a, b = set(one.split()), set(two.split())
    return (a < b or b < a) and bool(set(known[one].ctrate) & set(known[two].ctrate))


def _past_either_way(category: str, one: str, two: str) -> bool:
    """Whether it is told of an operation, which is past and seen at once."""
    return category.startswith("12") and {one, two} == {"historical", "present"}


def _levels(lobes: Sequence[str]) -> set[str]:
    return {lungs().by_code[code].name.split()[1] for code in lobes}


def _items(
    findings: Iterable[Finding], numbers: Iterable[Numeral], sides: Iterable[SideWord]
) -> tuple[Item, ...]:
    every = [
        Item(kind="finding", what=f.statement.observation, span=f.statement.span) for f in findings
    ]
    every += [Item(kind="number", what=number.meaning, span=number.span) for number in numbers]
    every += [Item(kind="side", what=side.meaning, span=side.span) for side in sides]
    return tuple(sorted(every, key=lambda item: (item.span.start, item.kind)))


def _carried(
    pairs: Sequence[tuple[Finding, Finding]], lost: Iterable[Finding], numbers: Settled[Numeral]
) -> list[tuple[Span, tuple[Span, ...]]]:
    """Every finding and number of the text, and where the rewrite tells it."""
    found = [(span, b.mentions[:_SHOWN]) for a, b in pairs for span in a.mentions]
    found += [(span, ()) for finding in lost for span in finding.mentions]
    found += [(one.span, (two.span,) if two else ()) for one, two in numbers.partners]
    return found


def _fates(
    parts: Sequence[Sentence],
    others: Sequence[Sentence],
    before: Owners,
    after: Owners,
    carried: Iterable[tuple[Span, tuple[Span, ...]]],
) -> tuple[Fate, ...]:
    """What became of each sentence of the text."""
    counts = [[0, 0] for _ in parts]
    places: list[set[int]] = [set() for _ in parts]
    for span, told in carried:
        at = before.sentence(span)
        if at < 0:
            continue
        counts[at][0] += 1
        counts[at][1] += bool(told)
        places[at].update(after.sentence(spot) for spot in told)
    return tuple(
        Fate(
            span=Span(start=part.start, end=part.end),
            carried=count[0],
            kept=count[1],
            counterparts=tuple(
                Span(start=others[n].start, end=others[n].end) for n in sorted(where) if n >= 0
            ),
        )
        for part, count, where in zip(parts, counts, places, strict=True)
    )
