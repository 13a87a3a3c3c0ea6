"""Keys of decisions: hashes of item fields, prompts, models, settings and step version."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from overread.build.item import Item
from overread.build.step import AUDITOR, READER, BatchStep, ItemStep, Recipe
from overread.prompts import find_prompt

Identities = Mapping[str, Mapping[str, JsonValue]]
"""Role → everything that changes its reader's answers."""


def restrict_item(step: ItemStep | BatchStep, item: Item) -> Item:
    """The item as a step is shown it: with the fields that it reads, and no others."""
    if step.reads is None:
        return item
    kept = {name: item.data[name] for name in step.reads if name in item.data}
    return item.model_copy(update={"data": kept})


def restrict_settings(step: ItemStep | BatchStep, settings: Mapping[str, str]) -> dict[str, str]:
    """The settings that a step looks at."""
    return {name: value for name, value in settings.items() if step.settings is None or name in step.settings}


def declares_role(step: ItemStep | BatchStep, role: str) -> bool:
    """Whether a step declares a role.

    >>> step = ItemStep("probe", run=None, roles=("reader", "probe-*"))
    >>> [declares_role(step, role) for role in ("reader", "auditor", "probe-2")]
    [True, False, True]
    """
    return any(fnmatchcase(role, declared) for declared in step.roles)


def own_role(step: ItemStep | BatchStep) -> str | None:
    """The role that a step's own reader takes in it; None where it asks nobody but probes.

    >>> own_role(ItemStep("audit", run=None, roles=("reader", "auditor")))
    'auditor'
    """
    return next((role for role in (AUDITOR, READER) if declares_role(step, role)), None)


def filled_role(step: ItemStep | BatchStep | None, role: str, filled: Container[str]) -> str:
    """Under which name a role is filled in a step: a step's own reader is named by the step.

    >>> step = ItemStep("sort", run=None)
    >>> filled_role(step, "reader", {"reader", "sort"}), filled_role(step, "reader", {"reader"})
    ('sort', 'reader')
    """
    return step.name if step is not None and step.name in filled and role == own_role(step) else role


def step_key(
    step: ItemStep | BatchStep,
    *,
    settings: Mapping[str, str],
    seed: int,
    identities: Identities,
    repairs: int,
    prompts: Path | None,
) -> str:
    """The hash of what all items of a step share; raises where a prompt is unknown."""
    return _hash(
        "overread step 1",
        step.name,
        step.version,
        restrict_settings(step, settings),
        seed,
        _step_identities(step, identities),
        {name: find_prompt(name, prompts).digest for name in step.prompts},
        repairs if step.prompts else 0,
    )


def _step_identities(step: ItemStep | BatchStep, identities: Identities) -> Identities:
    """Whom a step may ask, by its own names for them: who has a role counts, not how that was said."""
    roles = {role for role in identities if declares_role(step, role)}
    own = own_role(step)
    if own is not None and step.name in identities:
        roles.add(own)
    return {role: identities[filled_role(step, role, identities)] for role in sorted(roles)}


def item_key(rule: str, shown: Item, outside: JsonValue = None) -> str:
    """The key of one item in a step."""
    return _hash(rule, shown.id, shown.patient, shown.data, outside)


def batch_key(rule: str, shown: Iterable[tuple[Item, JsonValue]]) -> str:
    """The key of all items in a step that takes them together; their order counts."""
    return _hash(rule, [item_key("", item, outside) for item, outside in shown])


def release_key(recipe: Recipe, items: Sequence[Item], settings: Mapping[str, str], seed: int) -> str:
    """The key of a release: the hash of everything that its content depends on."""
    return _hash(
        "overread release 1",
        recipe.name,
        recipe.version,
        dict(settings),
        seed,
        [item_key("", item) for item in items],
    )


def _hash(*parts: Any) -> str:
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
