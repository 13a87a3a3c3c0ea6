"""What a decision rests on, as one hash: the item's fields, prompts, models, settings, version."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from overread.build.item import Item
from overread.build.step import Gather, Recipe, Step
from overread.prompts import find_prompt

Identities = Mapping[str, Mapping[str, JsonValue]]
"""Role → everything that changes the answers of who has it."""


def shown_item(step: Step | Gather, item: Item) -> Item:
    """The item as a step is shown it: with the fields that it reads, and no others."""
    if step.reads is None:
        return item
    kept = {name: item.data[name] for name in step.reads if name in item.data}
    return item.model_copy(update={"data": kept})


def shown_settings(step: Step | Gather, settings: Mapping[str, str]) -> dict[str, str]:
    """The settings that a step looks at."""
    return {
        name: value
        for name, value in settings.items()
        if step.settings is None or name in step.settings
    }


def may_ask(step: Step | Gather, role: str) -> bool:
    """Whether a step declares a role.

    >>> step = Step("probe", run=None, roles=("reader", "probe-*"))
    >>> [may_ask(step, role) for role in ("reader", "auditor", "probe-2")]
    [True, False, True]
    """
    return any(fnmatchcase(role, declared) for declared in step.roles)


def step_rule(
    step: Step | Gather,
    *,
    settings: Mapping[str, str],
    seed: int,
    identities: Identities,
    repairs: int,
    prompts: Path | None,
) -> str:
    """What is the same for all items of a step, as a hash; a prompt that is unknown raises."""
    return _hash(
        "overread step 1",
        step.name,
        step.version,
        shown_settings(step, settings),
        seed,
        {role: identities[role] for role in sorted(identities) if may_ask(step, role)},
        {name: find_prompt(name, prompts).digest for name in step.prompts},
        repairs if step.prompts else 0,
    )


def item_key(rule: str, shown: Item, outside: JsonValue = None) -> str:
    """The key of one item in a step."""
    return _hash(rule, shown.id, shown.patient, shown.data, outside)


def gather_key(rule: str, shown: Iterable[tuple[Item, JsonValue]]) -> str:
    """The key of all items in a step that takes them together; their order counts."""
    return _hash(rule, [item_key("", item, outside) for item, outside in shown])


def release_key(
    recipe: Recipe, items: Sequence[Item], settings: Mapping[str, str], seed: int
) -> str:
    """The key of a release: what is written hangs on these alone."""
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
