"""RadGraph F1 in its three variants, and the RadGraph score inside RadCliQ.

All take annotations in RadGraph's own form: entities by their number, each with `tokens`, `label`
and `relations`, a list of [type, number of the other entity].
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeAlias

from overread.errors import UsageError

Entities: TypeAlias = Mapping[str, Any]
"""{"1": {"tokens": "effusion", "label": "Observation::definitely present", "relations": …}, …}"""


def entities_of(annotation: Mapping[str, Any]) -> Entities:
    """The entities of an annotation, whether it is given whole or as its entities alone."""
    inner = annotation.get("entities", annotation)
    if not isinstance(inner, Mapping):
        raise UsageError("the entities of a RadGraph annotation are a table, number → entity")
    return inner


def radgraph_e(reference: Entities, other: Entities) -> float:
    """RG_E: F1 over the sets of (tokens, label).

    >>> ours = {"1": {"tokens": "effusion", "label": "OBS-DP", "relations": [["located_at", "2"]]},
    ...         "2": {"tokens": "pleural", "label": "ANAT-DP", "relations": []}}
    >>> theirs = {"1": {"tokens": "effusion", "label": "OBS-DP", "relations": []},
    ...           "2": {"tokens": "left", "label": "ANAT-DP", "relations": []}}
    >>> radgraph_e(ours, theirs), radgraph_er(ours, theirs), radgraph_bar_er(ours, theirs)
    (0.5, 0.0, 0.0)
    """
    return _f1(_names, reference, other)


def radgraph_er(reference: Entities, other: Entities) -> float:
    """RG_ER: F1 over the sets of (tokens, label, whether it has a relation)."""
    return _f1(_names_and_ties, reference, other)


def radgraph_bar_er(reference: Entities, other: Entities) -> float:
    """RG_bar_ER: F1 over (tokens, label, relation, tokens of its target), each relation one item.

    An entity without relation is (tokens, label). As in the package radgraph 0.1.18, the tokens of
    relations are compared in lower case, those of lone entities as they stand.
    """
    return _f1(_names_and_targets, reference, other)


def radgraph_combined(reference: Entities, other: Entities) -> float:
    """RadCliQ's own: the mean of entity F1 and relation F1; 0 where a side has neither.

    A relation is (tokens and label, tokens and label of its target, type). A report whose entities
    have no relation gets at most a half.
    """
    return (_f1(_names, reference, other) + _f1(_relations, reference, other)) / 2


def _f1(items: Callable[[Entities], set[Hashable]], reference: Entities, other: Entities) -> float:
    """F1 of two sets; 0 where one of them is empty."""
    ours, theirs = items(entities_of(reference)), items(entities_of(other))
    if not ours or not theirs:
        return 0.0
    return 2 * len(ours & theirs) / (len(ours) + len(theirs))


def _names(entities: Entities) -> set[Hashable]:
    return {(entity["tokens"], entity["label"]) for entity in entities.values()}


def _names_and_ties(entities: Entities) -> set[Hashable]:
    return {(e["tokens"], e["label"], bool(e["relations"])) for e in entities.values()}


def _names_and_targets(entities: Entities) -> set[Hashable]:
    found: set[Hashable] = set()
    for number, entity in entities.items():
        if not entity["relations"]:
            found.add((entity["tokens"], entity["label"]))
        for kind, to in entity["relations"]:
            target = _target(entities, number, to)["tokens"].lower()
            found.add((entity["tokens"].lower(), entity["label"], kind, target))
    return found


def _relations(entities: Entities) -> set[Hashable]:
    found: set[Hashable] = set()
    for number, entity in entities.items():
        for kind, to in entity["relations"]:
            target = _target(entities, number, to)
            ends = (entity["tokens"], entity["label"]), (target["tokens"], target["label"])
            found.add((*ends, kind))
    return found


def _target(entities: Entities, number: str, to: str) -> Mapping[str, Any]:
    if to not in entities:
        raise UsageError(
            f"entity {number} of a RadGraph annotation has a relation to {to}, which is not there"
        )
    found: Mapping[str, Any] = entities[to]
    return found
