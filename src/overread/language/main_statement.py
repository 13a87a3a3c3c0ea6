"""Which of a sentence's statements is the finding that the sentence is about."""

from __future__ import annotations

from collections.abc import Iterable

from overread.language.statements import THERE, Statement

# Says little → what says more, in the same sentence; an empty set is everything of lung and pleura.
_YIELDS: dict[str, frozenset[str]] = {
    "lung opacity": frozenset(),
    "lung lesion": frozenset(),
    "other lesion": frozenset(),
    "lung lucency": frozenset(),
    "infiltrate": frozenset(),
    "linear opacity": frozenset({"fibrotic sequela", "linear atelectasis"}),
    "interstitial disease": frozenset({"septal thickening", "reticulation", "honeycombing"}),
    "fibrotic sequela": frozenset({"honeycombing", "bronchiectasis"}),
    "atelectasis": frozenset({"linear opacity", "linear atelectasis"}),
    "centrilobular opacities": frozenset({"tree-in-bud", "micronodules"}),
    "nodule": frozenset({"cavity", "micronodules", "tree-in-bud", "lung cyst"}),
    "lung cyst": frozenset({"honeycombing", "bronchiectasis", "cavity"}),
    "micronodules": frozenset({"tree-in-bud"}),
    "ground-glass opacity": frozenset({"crazy-paving"}),
}
_ATTRIBUTES = (
    "side", "lobes", "segments", "zones", "landmarks", "size_mm", "axes_mm", "small", "count",
    "many", "severity", "spread", "traits", "comparison",
)  # fmt: skip


def find_main_statement(found: Iterable[Statement]) -> Statement | None:
    """The first that is there; where it says little, one of the same sentence that says more."""
    there = [statement for statement in found if statement.presence in THERE]
    if not there:
        return None
    main = there[0]
    for other in there[1:]:
        if other.sentence != main.sentence:
            break
        if _says_more(main, other):
            main = _complete(other, main)
    return main


def _complete(main: Statement, other: Statement) -> Statement:
    """The main statement with what was said of the same finding under its other name."""
    missing = {
        name: getattr(other, name) for name in _ATTRIBUTES if getattr(other, name) and not getattr(main, name)
    }
    spots = {name: span for name, span in other.evidence.items() if name in missing}
    return main.model_copy(update={**missing, "evidence": {**main.evidence, **spots}})


def _says_more(main: Statement, other: Statement) -> bool:
    """Whether another statement tells better what the main one is."""
    if main.finding is not None and main.finding == other.finding:
        if "calcification" in other.observation:
            return False  # "nodule of calcific density"
        # The last of several names is the noun: "cystic bronchiectasis", "foci of consolidation".
        return not _yields(other, main)
    return _yields(main, other)


def _yields(one: Statement, other: Statement) -> bool:
    """Whether one says little where the other says more."""
    wanted = _YIELDS.get(one.observation)
    if wanted is None or one.observation == other.observation:
        return False
    return other.observation in wanted if wanted else other.category[0] in "12"
