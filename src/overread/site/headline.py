"""Which scores stand for a scorecard, and what its groups are called."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from overread.ontology import finding_tree

TWIN_PREFIXES = ("honest_", "ceiling_")
"""Beginnings of names of scores that only stand beside another one."""


def headline_scores(names: Iterable[str], official: Collection[str]) -> list[str]:
    """Those that the benchmark itself names, else all; none that only stands beside another."""
    plain = [name for name in names if not name.startswith(TWIN_PREFIXES)]
    return [name for name in plain if name in official] or plain


def ranking_score(names: Collection[str], official: Collection[str]) -> str:
    """What readers are ranked by: the first headline score, in its honest variant where it has one,
    since an official number that leaves out missing cases is of other cases for each reader.
    """
    first = next(iter(headline_scores(names, official)), next(iter(names)))
    return f"honest_{first}" if f"honest_{first}" in names else first


def group_label(breakdown: str, group: str) -> str:
    """A group as people call it: codes of categories come with their names."""
    known = finding_tree().categories.get(group) if breakdown == "category" else None
    return f"{group} {known.name}" if known else group
