"""Matches numbers and side words of a text with its rewrite: kept, changed, lost, invented."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from overread.language.numerals import Numeral
from overread.language.rewrites.owners import SideWord

T = TypeVar("T")

_LABELLED = ("", "series", "image", "slice", "frame")


@dataclass(frozen=True)
class OwnedItem(Generic[T]):
    """A number or side word, and the finding that it belongs to."""

    item: T
    owner: int | None
    """Number of the pair of findings; below 0: a finding without partner; None: no finding."""
    sure: bool

    @property
    def is_shared(self) -> bool:
        """Whether the rewrite can tell it of the same thing."""
        return self.owner is None or self.owner >= 0


@dataclass
class MatchResult(Generic[T]):
    """Which items of the text were lost, invented or changed in the rewrite."""

    lost: list[T] = field(default_factory=list)
    invented: list[T] = field(default_factory=list)
    changed: list[tuple[T, T]] = field(default_factory=list)
    partners: list[tuple[T, T | None]] = field(default_factory=list)
    """Everything the text tells and what it became; None where it was lost."""


class _Matcher(Generic[T]):
    """Items of the text and of the rewrite, matched step by step."""

    def __init__(self, ours: Sequence[OwnedItem[T]], theirs: Sequence[OwnedItem[T]]) -> None:
        self.ours, self.theirs = ours, theirs
        self.partner: dict[int, int | None] = {}
        self.matched_theirs: set[int] = set()
        self.changed: list[tuple[int, int]] = []

    def open_ours(self) -> list[int]:
        return [i for i in range(len(self.ours)) if i not in self.partner]

    def open_theirs(self) -> list[int]:
        return [j for j in range(len(self.theirs)) if j not in self.matched_theirs]

    def pair(self, key: Callable[[OwnedItem[T]], Hashable | None], *, changed: bool = False) -> None:
        """Cross out, in order, what has the same key on both sides; None is no key."""
        waiting: dict[Hashable, deque[int]] = defaultdict(deque)
        for j in self.open_theirs():
            name = key(self.theirs[j])
            if name is not None:
                waiting[name].append(j)
        for i in self.open_ours():
            name = key(self.ours[i])
            if name is not None and waiting.get(name):
                j = waiting[name].popleft()
                self.partner[i] = j
                self.matched_theirs.add(j)
                if changed:
                    self.changed.append((i, j))

    def match_repeats(self, key: Callable[[OwnedItem[T]], Hashable | None]) -> None:
        """Match what is repeated: the other text has it, matched already."""
        there = {key(told): j for j, told in enumerate(self.theirs)}
        here = {key(told) for told in self.ours}
        for i in self.open_ours():
            name = key(self.ours[i])
            if name is not None and name in there:
                self.partner[i] = there[name]
        self.matched_theirs.update(
            j for j in self.open_theirs() if key(self.theirs[j]) is not None and key(self.theirs[j]) in here
        )

    def result(self) -> MatchResult[T]:
        ours, theirs = self.ours, self.theirs
        kept = [self.partner.get(i) for i in range(len(ours))]
        return MatchResult(
            lost=[ours[i].item for i in self.open_ours()],
            invented=[theirs[j].item for j in self.open_theirs()],
            changed=[(ours[i].item, theirs[j].item) for i, j in self.changed],
            partners=[
                (told.item, None if j is None else theirs[j].item) for told, j in zip(ours, kept, strict=True)
            ],
        )


def match_numbers(
    ours: Sequence[OwnedItem[Numeral]], theirs: Sequence[OwnedItem[Numeral]]
) -> MatchResult[Numeral]:
    """The numbers: first those of the same finding, then the same ones anywhere, then the rest."""
    ledger = _Matcher(ours, theirs)
    of_it: Callable[[OwnedItem[Numeral]], Hashable | None] = lambda told: (  # noqa: E731
        (told.owner, told.item.unit, told.item.value) if told.is_shared else None
    )
    ledger.pair(of_it)
    ledger.match_repeats(of_it)
    # A finding that surely has another number now: that the old one stands elsewhere is no excuse.
    ledger.pair(
        lambda told: (told.owner, told.item.unit) if told.sure and told.is_shared else None, changed=True
    )
    ledger.pair(lambda told: (told.item.unit, told.item.value))
    ledger.pair(lambda told: told.item.value if told.item.unit in _LABELLED else None)
    ledger.pair(lambda told: (told.owner, told.item.unit) if told.is_shared else None, changed=True)
    ledger.pair(lambda told: (told.owner, told.item.figure) if told.is_shared else None, changed=True)
    # One size is left on either side, and neither belongs to a finding that came or went.
    ours_left = Counter(ours[i].item.unit for i in ledger.open_ours() if ours[i].is_shared)
    theirs_left = Counter(theirs[j].item.unit for j in ledger.open_theirs() if theirs[j].is_shared)
    lone = {unit for unit, n in ours_left.items() if unit and n == theirs_left[unit] == 1}
    ledger.pair(
        lambda told: told.item.unit if told.is_shared and told.item.unit in lone else None, changed=True
    )
    return ledger.result()


def match_sides(
    ours: Sequence[OwnedItem[SideWord]],
    theirs: Sequence[OwnedItem[SideWord]],
    told: Sequence[tuple[set[str], set[str]]],
) -> MatchResult[SideWord]:
    """The sides; `told` has those of each pair of findings, as their statements have them."""
    ledger = _Matcher(ours, theirs)
    mine, others = _by_owner(ours), _by_owner(theirs)
    for owner in sorted(mine.keys() | others.keys()):
        a, b = mine.get(owner, []), others.get(owner, [])
        sides = {side for i in a for side in ours[i].item.sides}
        after = {side for j in b for side in theirs[j].item.sides}
        if a and b and sides != after and all(t.sure for t in _pick(ours, a) + _pick(theirs, b)):
            i = next((i for i in a if not ours[i].item.sides <= after), a[0])
            j = next((j for j in b if not theirs[j].item.sides <= sides), b[0])
            ledger.changed.append((i, j))
            ledger.partner |= dict.fromkeys(a, j)
            ledger.matched_theirs.update(b)
        elif a and b:
            ledger.partner |= {i: b[0] for i in a if ours[i].item.sides <= after}
            ledger.matched_theirs.update(j for j in b if theirs[j].item.sides <= sides)
    ledger.pair(lambda told: told.item.sides)
    _match_both_to_single(ledger)
    # No word is left for it, but the finding has the side: "right nodule and effusion".
    for owner, row in mine.items():
        for i in row:
            if ours[i].item.sides <= told[owner][1]:
                ledger.partner.setdefault(i, None)
    ledger.matched_theirs.update(
        j for owner, row in others.items() for j in row if theirs[j].item.sides <= told[owner][0]
    )
    ledger.match_repeats(lambda told: told.item.sides if told.owner is None else None)
    ledger.pair(lambda told: told.owner if told.is_shared else None, changed=True)
    done = ledger.result()
    # The side of a finding that came or went is told with it; the lingula needs no "left".
    done.lost = [ours[i].item for i in ledger.open_ours() if _is_counted(ours[i])]
    done.invented = [theirs[j].item for j in ledger.open_theirs() if _is_counted(theirs[j])]
    return done


def _by_owner(row: Sequence[OwnedItem[SideWord]]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for n, told in enumerate(row):
        if told.owner is not None and told.owner >= 0:
            found[told.owner].append(n)
    return found


def _pick(row: Sequence[OwnedItem[SideWord]], numbers: Sequence[int]) -> list[OwnedItem[SideWord]]:
    return [row[n] for n in numbers]


def _match_both_to_single(ledger: _Matcher[SideWord]) -> None:
    """A word for both sides that became a right and a left, or was made of them."""
    ours = {i: ledger.ours[i].item.sides for i in ledger.open_ours()}
    theirs = {j: ledger.theirs[j].item.sides for j in ledger.open_theirs()}
    spare = {side for sides in theirs.values() if len(sides) == 1 for side in sides}
    whole = [i for i, sides in ours.items() if len(sides) == 2]
    if whole and len(spare) == 2:
        single = [j for j, sides in theirs.items() if len(sides) == 1]
        ledger.partner[whole[0]] = single[0]
        ledger.matched_theirs.update(single[:2])
    spare = {side for sides in ours.values() if len(sides) == 1 for side in sides}
    wholes = [j for j, sides in theirs.items() if len(sides) == 2]
    if wholes and len(spare) == 2:
        ledger.partner |= {i: wholes[0] for i, sides in ours.items() if len(sides) == 1}
        ledger.matched_theirs.add(wholes[0])


def _is_counted(told: OwnedItem[SideWord]) -> bool:
    return told.is_shared and not told.item.implied
