"""What a sentence asks for: the category, the kind, and everything it says of the place."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from overread.language.main_statement import find_main_statement
from overread.language.statements import Statement, find_statements
from overread.ontology import finding_tree
from overread.ontology import lung_anatomy as lung_names

LUNG_CATEGORIES = tuple(code for code in finding_tree().categories if code[0] in "12" and len(code) == 2)
"""Categories of lung, airways and pleura: those that can be marked."""

_KIND_WORDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("bullous", ("bulla", "bullous", "bleb")),
    ("paraseptal", ("paraseptal",)),
    ("perilymphatic", ("perilymphatic", "perifissural")),
    ("tree-in-bud", ("tree-in-bud", "tree in bud", "budding", "branch with bud")),
    ("thickening", ("thickening", "thickened", "thickness", "plaque")),
    ("cystic", ("cystic", "saccular")),
    ("part-solid", ("part-solid", "part solid", "subsolid", "semisolid", "mixed")),
    ("ground-glass", ("ground-glass", "ground glass", "nonsolid", "non-solid")),
    ("calcified", ("calcified", "calcific", "calcification")),
    ("fluid", ("fluid", "hydatid", "bronchogenic")),
    ("cavity", ("cavit",)),
    ("small", ("small ", "tiny ")),
)
"""Kind → words any of which say so, where the vocabulary has one name for several looks."""
_ANATOMY_WORDS = frozenset(
    ("right", "left", "both", "whole", "entire", "upper", "middle", "lower", "lobe", "lobes",
     "lung", "lungs", "of", "the", "and", "region", "mask", "segmentation", "parenchyma",
     "organ", "area")
)  # fmt: skip
"""Words of a sentence that names an organ and no more."""


@dataclass(frozen=True)
class SearchTarget:
    """What is to be looked for."""

    text: str
    """The sentence."""
    category: str
    """Code in the finding ontology."""
    observation: str
    """What it is called in the vocabulary."""
    kinds: frozenset[str] = frozenset()
    """What it looks like, in our own words."""
    side: str | None = None
    """Right, left or both; None where it is not said."""
    lobes: tuple[str, ...] = ()
    """Codes of the lobes that are named."""
    segments: tuple[str, ...] = ()
    """Codes of the segments that are named."""
    zones: tuple[str, ...] = ()
    """Upper, mid or lower, where no lobe is named."""
    spread: frozenset[str] = frozenset()
    """How it is distributed."""
    traits: frozenset[str] = frozenset()
    """What else is said of it."""
    size_mm: float | None = None
    """The largest size that is given."""
    small: bool = False
    """Whether it is said to be under a centimetre."""
    count: int | None = None
    """How many."""
    many: bool = False
    """Several, without a number."""
    plural: bool = False
    """Whether its name stands in the plural."""
    severity: str | None = None
    """Mild, moderate or severe."""

    @property
    def description(self) -> str:
        """What was understood, in words."""
        names = lung_names()
        parts = [f"{self.category} ({self.observation}"]
        parts[0] += f"; {', '.join(sorted(self.kinds))})" if self.kinds else ")"
        if self.side:
            parts.append("both sides" if self.side == "both" else f"{self.side} side")
        parts += [names.by_code[code].name for code in self.lobes if code in names.by_code]
        parts += [f"{names.segments[code].name} segment" for code in self.segments]
        parts += [f"{zone} zone" for zone in self.zones]
        parts += sorted(self.spread | self.traits)
        if self.size_mm:
            parts.append(f"{self.size_mm:g} mm")
        elif self.small:
            parts.append("under 10 mm")
        if self.count:
            parts.append(f"number {self.count}")
        elif self.many:
            parts.append("several")
        if self.severity:
            parts.append(self.severity)
        return ", ".join(parts)


def parse_target(text: str) -> SearchTarget | None:
    """What a sentence asks for; None where it speaks of nothing in lung, airways or pleura."""
    found = find_statements(text)
    main = find_main_statement(found)
    if main is None or main.category not in LUNG_CATEGORIES:
        main = next((one for one in found if one.category in LUNG_CATEGORIES), None)
    if main is None:
        return _guess_lesion(text)
    lower = text.lower()
    kinds = {kind for kind, words in _KIND_WORDS if any(word in lower for word in words)}
    same = [one for one in found if one.category == main.category and one.sentence == main.sentence]
    return _build_target(text, main, same, frozenset(kinds))


def _guess_lesion(text: str) -> SearchTarget | None:
    """A tumour of the lung that is called nothing else is a nodule or a mass."""
    lower = text.lower()
    lesion = any(word in lower for word in ("tumour", "tumor", "lesion", "cancer", "neoplasm"))
    if lesion and any(word in lower for word in ("lung", "pulmonary", "lobe")):
        kinds = frozenset(kind for kind, words in _KIND_WORDS if any(word in lower for word in words))
        sides = [side for side in ("right", "left") if side in lower.split()]
        side = sides[0] if len(sides) == 1 else None
        return SearchTarget(text, "2d", "lung mass", kinds=kinds, side=side)
    return None


def _build_target(text: str, main: Statement, same: list[Statement], kinds: frozenset[str]) -> SearchTarget:
    """The main statement, completed by what the sentence says of the same thing elsewhere."""
    lobes = main.lobes or _merge_codes(one.lobes for one in same)
    segments = main.segments or _merge_codes(one.segments for one in same)
    side = main.side or next((one.side for one in same if one.side), None)
    sizes = [one.size_mm for one in same if one.size_mm]
    return SearchTarget(
        text=text,
        category=main.category,
        observation=main.observation,
        kinds=kinds,
        side=side,
        lobes=lobes,
        segments=tuple(code for code in segments if code in lung_names().segments),
        zones=main.zones,
        spread=frozenset(main.spread),
        traits=frozenset(main.traits),
        size_mm=main.size_mm or (max(sizes) if sizes else None),
        small=main.small,
        count=main.count,
        many=main.many,
        plural=any(_is_plural(text[one.span.start : one.span.end]) for one in same),
        severity=main.severity,
    )


@dataclass(frozen=True)
class NamedOrgan:
    """A sentence that names a lung or lobes and nothing that is wrong with them."""

    side: str | None
    """Right or left; None for both."""
    lobes: tuple[str, ...] = ()
    """Codes of the lobes that are named; without any, whole lungs."""


def parse_organ(text: str) -> NamedOrgan | None:
    """The lung or lobes that a sentence names, where it names nothing that can be wrong.

    >>> parse_organ("Right lung"), parse_organ("Left lower lobe of the lung").lobes
    (NamedOrgan(side='right', lobes=()), ('LLL',))
    """
    words = re.findall(r"[a-z]+", text.lower())
    if find_statements(text) or not {"lung", "lungs", "lobe", "lobes", "lingula"} & set(words):
        return None
    if not set(words) <= _ANATOMY_WORDS:
        return None
    sides = [side for side in ("right", "left") if side in words]
    side = sides[0] if len(sides) == 1 else None
    levels = [level for level in ("upper", "middle", "lower") if level in words]
    lobes = tuple(
        lobe.code
        for lobe in lung_names().lobes
        if lobe.name.split()[1] in levels and side in (None, lobe.side)
    )
    return NamedOrgan(side, lobes)


def _is_plural(words: str) -> bool:
    last = words.lower().rstrip(" .,").split()[-1:]
    return bool(last) and last[0].endswith("s") and not last[0].endswith(("is", "ss", "us"))


def _merge_codes(parts: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for part in parts:
        found.update(dict.fromkeys(part))
    return tuple(found)
