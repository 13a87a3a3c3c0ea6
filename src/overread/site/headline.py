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


def group_label(breakdown: str, group: str) -> str:
    """A group as people call it: codes of categories come with their names."""
    known = finding_tree().categories.get(group) if breakdown == "category" else None
    return f"{group} {known.name}" if known else group
