"""Where a finding is, in words: lungs, lobes, segments, halves of the chest.

Codes come from `overread.ontology.lungs()`. The words may be coarser than the known place (a lobe
for its segment, a lung for its lobe), never finer, and never leave a part out: a lobe is named only
if all lobes are, a segment only if every lobe has one of the segments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from overread.ontology import lung_anatomy
from overread.ontology.lungs import Lobe
from overread.phantom.statement import FindingStatement
from overread.phantom.words.lexicon import Family, Style
from overread.phantom.words.text_forms import join_phrases

T = TypeVar("T")

_MAX_SEGMENTS = 3
_LATIN = {
    "medial basal": "mediobasal",
    "anterior basal": "anterobasal",
    "lateral basal": "laterobasal",
    "posterior basal": "posterobasal",
}
_PARTS = {
    "peripheral": ("the periphery of", "the peripheral part of"),
    "subpleural": ("the subpleural region of", "the subpleural part of"),
    "central": ("the central part of", "the central portion of"),
    "anterior": ("the anterior part of", "the anterior aspect of"),
    "dependent": ("the dependent part of", "the dependent portion of"),
}
_ENDS = {"apical": ("apex", "apices"), "basal": ("base", "bases")}


@dataclass(frozen=True)
class PlacePhrase:
    """A place, ready to be set into a sentence."""

    name: str
    """With its article, as the subject of a sentence ('the right lower lobe')."""
    stated: tuple[str, ...]
    """The fields of the statement that it gives away."""
    preposition: str = "in"
    """What stands before the name."""
    plural: bool = False
    """Whether its verb is in the plural."""
    modifier: str = ""
    """The same before a noun ('right lower lobe'), where that is said."""
    adverb: str = ""
    """The same after one ('on the right'), where the name is not said."""

    @property
    def with_preposition(self) -> str:
        """The name with its preposition."""
        return f"{self.preposition} {self.name}"


def pick(rng: np.random.Generator, items: Sequence[T]) -> T:
    """One of them, each as likely as the others."""
    return items[int(rng.integers(len(items)))]


def side_of(statement: FindingStatement) -> str | None:
    """The side that a statement names, or that its lobes are on."""
    sides = {lung_anatomy().by_code[code].side for code in statement.lobes}
    if statement.side is not None or not sides:
        return statement.side
    return "both" if len(sides) == 2 else sides.pop()


def write_place(
    statement: FindingStatement,
    rng: np.random.Generator,
    *,
    family: Family,
    style: Style,
    fine: bool = True,
    lobe_wise: bool = False,
) -> PlacePhrase | None:
    """A place that is true of the statement; None where it has none.

    With `fine` false, segments are not named; with `lobe_wise`, no lung is where a lobe could be.
    """
    side = side_of(statement)
    if side is None:
        return None
    if family == "beyond":
        return _side_place(side, rng)
    if family == "pleura":
        return _hemithorax_place(side, rng)
    roll = rng.random()
    if fine and _segments_can_be_named(statement) and roll < 0.6:
        found = _segments_place(statement.segments, rng, style)
    elif statement.lobes and (lobe_wise or roll < 0.9):
        found = _lobes_place(statement.lobes, rng, style)
    else:
        found = _lung_place(side, rng)
    if style == "translated" and found.modifier != "bilateral":
        found = replace(found, modifier="")
    return _narrow_to_part(found, side, statement, rng)


def _side_place(side: str, rng: np.random.Generator) -> PlacePhrase:
    if side == "both":
        adverb = pick(rng, ("bilaterally", "on both sides"))
        return PlacePhrase("both sides", ("side",), "on", plural=True, modifier="bilateral", adverb=adverb)
    return PlacePhrase(f"the {side}", ("side",), "on", modifier=side, adverb=f"on the {side}")


def _hemithorax_place(side: str, rng: np.random.Generator) -> PlacePhrase:
    half = _side_place(side, rng)
    adverb = half.adverb if rng.random() < 0.4 else ""
    if side == "both":
        return replace(half, name="both hemithoraces", preposition="in", adverb=adverb)
    modifier = pick(rng, (side, side, f"{side}-sided"))
    name = f"the {side} hemithorax"
    return replace(half, name=name, preposition="in", modifier=modifier, adverb=adverb)


def _lung_place(side: str, rng: np.random.Generator) -> PlacePhrase:
    if side == "both":
        adverb = "bilaterally" if rng.random() < 0.15 else ""
        return PlacePhrase("both lungs", ("side",), plural=True, modifier="bilateral", adverb=adverb)
    return PlacePhrase(f"the {side} lung", ("side",), modifier=f"{side} lung")


def _lobes_place(codes: tuple[str, ...], rng: np.random.Generator, style: Style) -> PlacePhrase:
    """All of them by name, unless they add up to a lung or two."""
    levels = {side: _levels(codes, side) for side in ("right", "left")}
    right, left = levels["right"], levels["left"]
    if right and left and len(right) + len(left) >= 4:
        return _lung_place("both", rng)
    if (len(right) == 3 and not left) or (len(left) == 2 and not right):
        return _lung_place("right" if right else "left", rng)
    says = ("side", "lobes")
    shared = [level for level in right if level in left]
    parts = [("both", shared)] if shared else []
    for side in ("right", "left"):
        rest = [level for level in levels[side] if level not in shared]
        if rest:
            # "the right middle lobe and both lower lobes", but "both upper lobes and the right…"
            first = side == "right" and rest == ["middle"] and bool(shared)
            parts.insert(0 if first else len(parts), (side, rest))
    named = " and ".join(_lobes_of(side, rest, rng, style) for side, rest in parts)
    plural = len(codes) > 1
    modifier = ""
    if style == "radiologist" and len(parts) == 1 and len(parts[0][1]) == 1:
        side, (level,) = parts[0]
        modifier = f"{'bilateral' if side == 'both' else side} {level} lobe"
    return PlacePhrase(named, says, plural=plural, modifier=modifier)


def _levels(codes: tuple[str, ...], side: str) -> list[str]:
    """Upper, middle, lower: which lobes of one lung."""
    wanted = [lobe for lobe in lung_anatomy().lobes if lobe.side == side and lobe.code in codes]
    return [lobe.name.split()[1] for lobe in wanted]


def _lobes_of(side: str, levels: list[str], rng: np.random.Generator, style: Style) -> str:
    """Lobes of one lung, or the same of both."""
    joined, lobes = join_phrases(levels), "lobe" if len(levels) == 1 else "lobes"
    if side == "both":
        if style == "translated":
            return pick(rng, (f"the {joined} lobes of both lungs", f"both lung {joined} lobes"))
        ways = (f"both {joined} lobes", f"the bilateral {joined} lobes")
        return pick(rng, (*ways, f"the {joined} lobes of both lungs"))
    if style == "translated":
        return pick(rng, (f"the {joined} {lobes} of the {side} lung", f"the {side} lung {joined} {lobes}"))
    if levels == ["middle"] and rng.random() < 0.3:
        return "the middle lobe"
    return f"the {side} {joined} {lobes}"


def _segments_can_be_named(statement: FindingStatement) -> bool:
    """Few enough, and none of the lobes left out."""
    held = {lung_anatomy().by_code[code].code for code in statement.segments}
    few = 0 < len(statement.segments) <= _MAX_SEGMENTS
    return few and held == set(statement.lobes) and len(held) <= 2


def _segments_place(codes: tuple[str, ...], rng: np.random.Generator, style: Style) -> PlacePhrase:
    says = ("side", "lobes", "segments")
    by_code, names = lung_anatomy().by_code, lung_anatomy().segments
    lobes = [lobe for lobe in lung_anatomy().lobes if any(by_code[code] is lobe for code in codes)]
    latin = rng.random() < (0.8 if style == "translated" else 0.4)

    def called(code: str) -> str:
        name = names[code].name
        return _LATIN.get(name, name) if latin else name

    held = {lobe.code: [called(c) for c in codes if by_code[c] is lobe] for lobe in lobes}
    if [len(held[lobe.code]) for lobe in lobes] == [1, 1]:
        first, second = (held[lobe.code][0] for lobe in lobes)
        level = lobes[0].name.split()[1]
        if first == second and level == lobes[1].name.split()[1]:
            both = _lobes_of("both", [level], rng, style)
            return PlacePhrase(f"the {first} segments of {both}", says, plural=True)
    if set(codes) <= {"LS4", "LS5"} and rng.random() < 0.5:
        return _lingula_place(codes, rng, says)
    lobe_first = rng.random() < 0.3
    named = " and ".join(
        _segments_of(lobe, held[lobe.code], style=style, lobe_first=lobe_first) for lobe in lobes
    )
    return PlacePhrase(named, says, plural=len(codes) > 1)


def _lingula_place(codes: tuple[str, ...], rng: np.random.Generator, says: tuple[str, ...]) -> PlacePhrase:
    if len(codes) == 2:
        return PlacePhrase("the lingula", says, modifier="lingular")
    if rng.random() < 0.4:
        return PlacePhrase("the lingula", says[:2], modifier="lingular")
    which = "superior" if codes == ("LS4",) else "inferior"
    return PlacePhrase(f"the {which} segment of the lingula", says)


def _segments_of(lobe: Lobe, names: list[str], *, style: Style, lobe_first: bool) -> str:
    side, level = lobe.side, lobe.name.split()[1]
    named = f"{join_phrases(names)} {'segment' if len(names) == 1 else 'segments'}"
    if style == "translated":
        whole, ahead = f"{level} lobe of the {side} lung", f"{side} lung {level} lobe"
    else:
        whole = ahead = f"{side} {level} lobe"
    return f"the {ahead} {named}" if lobe_first else f"the {named} of the {whole}"


def _narrow_to_part(
    found: PlacePhrase, side: str, statement: FindingStatement, rng: np.random.Generator
) -> PlacePhrase:
    """The part of the place that the spread means, now and then; else the place as it is."""
    if len(statement.spread) != 1 or "segments" in found.stated or rng.random() < 0.7:
        return found
    (spread,) = statement.spread
    says = (*found.stated, "spread")
    if spread in _PARTS:
        return PlacePhrase(f"{pick(rng, _PARTS[spread])} {found.name}", says)
    if found.stated != ("side",) or spread not in _ENDS:
        return found
    one, many = _ENDS[spread]
    if side == "both":
        names = (f"both lung {many}", f"the {many} of both lungs")
        return PlacePhrase(pick(rng, names), says, "at", plural=True)
    names = (f"the {side} lung {one}", f"the {one} of the {side} lung")
    return PlacePhrase(pick(rng, names), says, "at")
