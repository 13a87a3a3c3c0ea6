"""The category of each positive phrase, and which scans are taken for what they have."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel

from overread.build.item import Change, Drop, Item, Keep, StepResult
from overread.build.rexgroundingct.completeness import join_problems
from overread.build.rexgroundingct.settings import by_rules, codes_of, is_covered, parse_shares, read_setting
from overread.build.rexgroundingct.statement_cache import cached_statements
from overread.build.step import StepContext, answer_or_note
from overread.core.seeded import draw_split, hash_share
from overread.language.labels import main_category
from overread.ontology import finding_tree
from overread.prompts.replies import json_parser

PROMPT = "build-rex-categories"
OTHER_CATEGORY = "12"
"""What is none of the named categories."""
_TRAITS = ("5c", OTHER_CATEGORY)
_SPLITS = {"train": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}


class Categories(BaseModel):
    """P1 → code."""

    categories: dict[str, str]


async def categorise(item: Item, context: StepContext) -> StepResult:
    """Give each positive phrase one code of the ontology."""
    told = positives_of(item)
    changes: list[Change] = []
    if context.has():
        listed = "\n".join(f"{key}: {phrase}" for key, phrase in told.items())
        asking = context.ask(
            PROMPT,
            {"phrases": listed, "categories": category_list()},
            json_parser(Categories),
            check=lambda reply: join_problems(category_problems(told, reply.categories)),
        )
        made = await answer_or_note(asking, changes, by_rules(context, "categories"))
        if made is not None:
            own = {key: made.categories[key] for key in told}
            return Keep.model_validate({"data": {"categories": own}})
    found = {key: category_of(phrase) for key, phrase in told.items()}
    return Keep.model_validate({"data": {"categories": found}, "changes": tuple(changes)})


def positives_of(item: Item) -> dict[str, str]:
    """The positive phrases of an item: P1 → phrase."""
    found = item.data["positives"]
    assert isinstance(found, dict)
    return {key: str(phrase) for key, phrase in found.items()}


def category_of(phrase: str) -> str:
    """The category of a phrase by rules; 12 where the words are not known.

    >>> category_of("A 5 mm nodule in the left lung"), category_of("Something odd")
    ('2d', '12')
    """
    told = cached_statements(phrase)
    # "Calcified" is what another finding is like, unless nothing else is named.
    return main_category(s for s in told if s.category not in _TRAITS) or (
        main_category(told) or OTHER_CATEGORY
    )


def category_list() -> str:
    """All categories, one a line, for a prompt."""
    lines = []
    for parent in finding_tree().parents:
        lines.append(f"{parent.code} {parent.name}" + ("" if parent.children else " (a code itself)"))
        for child in parent.children:
            more = f" ({', '.join(child.includes)})" if child.includes else ""
            lines.append(f"  {child.code} {child.name}{more}")
    return "\n".join(lines)


def category_problems(told: Mapping[str, str], given: Mapping[str, str]) -> list[str]:
    """What is wrong with categories: phrases without one, keys of nothing, codes of nothing."""
    known = finding_tree().categories
    found = [f"{key} has no category" for key in told if key not in given]
    found += [f"there is no phrase {key[:20]}" for key in given if key not in told]
    found += [
        f"'{code[:20]}' of {key[:20]} is no category; use a code of the list"
        for key, code in given.items()
        if code not in known
    ]
    return found


async def select_scan(item: Item, context: StepContext) -> StepResult:
    """Keep the scan if it has what is sought and, as published, nothing else."""
    told = positives_of(item)
    codes = item.data["categories"]
    assert isinstance(codes, dict)
    scope, wanted = codes_of(context.settings, "scope"), codes_of(context.settings, "annotate")
    inside = [key for key in told if is_covered(str(codes[key]), scope)]
    beyond = sorted({str(codes[key]) for key in told if key not in inside})
    if not inside:
        why = f"it has {', '.join(beyond)} and nothing of {', '.join(scope)}"
        return Drop(reason="nothing-in-scope", why=why)
    if beyond and read_setting(context.settings, "others") == "drop":
        why = f"it has {', '.join(beyond)}, which is outside {', '.join(scope)}"
        return Drop(reason="something-else", why=why)
    chosen = [key for key in inside if is_covered(str(codes[key]), wanted)]
    if not chosen:
        why = f"nothing of it is of {', '.join(wanted)}, which alone is annotated"
        return Drop(reason="nothing-to-annotate", why=why)
    targets = {
        str(n): {"from": key, "text": told[key], "category": str(codes[key])} for n, key in enumerate(chosen)
    }
    return Keep.model_validate({"data": {"targets": targets}})


async def assign_split(item: Item, context: StepContext) -> StepResult:
    """Put a patient's scans into one split: by the name, or drawn by lot from the patient alone."""
    shares = parse_shares(context.settings)
    patient = item.patient or item.id
    prefix = item.id.partition("_")[0].lower()
    if shares is None and prefix in _SPLITS:
        return Keep(data={"split": _SPLITS[prefix]})
    named = dict(zip(("train", "val", "test"), shares or (0.8, 0.1, 0.1), strict=True))
    return Keep(data={"split": draw_split(hash_share(context.seed, patient), named)})
