"""A sample of what the steps of a build made, for people to mark as right or wrong.

The questions lie beside the build in BUILD-quality, and are read as all others are: at the
terminal, on the page or in a sheet, by two people who do not see each other's verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from overread.build.adjudication.error_rates import RIGHT, WRONG
from overread.build.adjudication.question_file import has_questions, load_questions, write_questions
from overread.build.item import Question
from overread.build.ledger.queries import load_item_data, load_summary
from overread.build.rexgroundingct.phrase_step import parse_codes
from overread.core.seeded import hash_share
from overread.errors import UsageError
from overread.ontology import finding_tree, report_regions

RECIPE_NAME = "rexgroundingct"
ItemData = Mapping[str, Any]


def quality_folder(build: Path) -> Path:
    """Where the sample of a build, and what people say of it, lies."""
    return build.with_name(f"{build.resolve().name}-quality")


def draw_sample(build: Path, cases: int, *, seed: int = 0) -> dict[str, int]:
    """Draw so many units of each step by lot and write their questions; step → how many there are.

    A larger sample of the same seed holds the smaller one. Questions that were asked before stay.
    """
    recipe = load_summary(build).recipe
    if recipe != RECIPE_NAME:
        raise UsageError(
            f"this is a build of {recipe or 'nothing'}",
            where=str(build),
            remedy=f"quality sheets are for builds of {RECIPE_NAME}",
        )
    items = load_item_data(build)
    folder = quality_folder(build)
    chosen: dict[str, Question] = {}
    counts: dict[str, int] = {}
    for step, units in _STEPS.items():
        every = [question for item, data in items.items() for question in units(item, data)]
        every.sort(key=lambda question: hash_share(seed, question.id))
        counts[step] = len(every)
        chosen |= {question.id: question for question in every[:cases]}
    if not chosen:
        told = "no step of this build has made anything yet"
        raise UsageError(told, where=str(build), remedy="build first")
    folder.mkdir(exist_ok=True)
    earlier = load_questions(folder) if has_questions(folder) else []
    kept = [question for question in earlier if question.id not in chosen]
    write_questions(folder, [*kept, *chosen.values()])
    return counts


def _ask(item: str, step: str, unit: str, text: str, shown: dict[str, Any]) -> Question:
    return Question(
        id=f"{item}/{step}/{unit}",
        item=item,
        kind=f"quality-{step}",
        text=text,
        shown=shown,
        choices=(RIGHT, WRONG),
    )


def rewrite_units(item: str, data: ItemData) -> Iterator[Question]:
    """Each rewritten sentence beside what it came from, and each sentence that was left out."""
    names = {region.code: region.name for region in report_regions().item} | {"I": "Impression"}
    sentences = data.get("sentences", {})
    for code, text in data.get("coded", {}).items():
        before = [sentences.get(origin, "") for origin in data["origins"][code]]
        asked = "Does the rewrite say what the report says, no more and no less, in the right region?"
        shown = {"report": before, "rewrite": text, "region": names[code[0]]}
        yield _ask(item, "rewrite", code, asked, shown)
    for code, reason in data.get("left_out", {}).items():
        asked = "May this sentence of the report be left out?"
        yield _ask(item, "rewrite", code, asked, {"report": [sentences[code]], "left out": reason})


def extraction_units(item: str, data: ItemData) -> Iterator[Question]:
    """Each sentence with the phrases that name it."""
    phrases: dict[str, list[str]] = {}
    for text, codes, abnormal, prior in data.get("phrases", {}).values():
        flags = "abnormal" if abnormal == "Y" else "normal"
        flags += ", refers to a prior" if prior == "Y" else ""
        for code in parse_codes(codes):
            phrases.setdefault(code, []).append(f"{text} ({flags})")
    for code, text in data.get("coded", {}).items() if "phrases" in data else ():
        asked = "Do the phrases tell every finding of the sentence with every detail, and nothing else?"
        shown = {"sentence": text, "phrases": phrases.get(code, [])}
        yield _ask(item, "extraction", code, asked, shown)


def category_units(item: str, data: ItemData) -> Iterator[Question]:
    """Each positive phrase with its category."""
    tree = finding_tree().categories
    for key, code in data.get("categories", {}).items():
        asked = "Is this the category of the finding?"
        shown = {"phrase": data["positives"][key], "category": code, "category name": tree[code].name}
        yield _ask(item, "category", key, asked, shown)


_STEPS: dict[str, Callable[[str, ItemData], Iterator[Question]]] = {
    "rewrite": rewrite_units,
    "extraction": extraction_units,
    "category": category_units,
}
