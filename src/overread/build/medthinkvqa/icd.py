"""ICD-10: one three-character category a case; block and chapter are always looked up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from pydantic import BaseModel

from overread.build.item import Change, Item, Keep, StepResult
from overread.build.medthinkvqa.fields import text_of
from overread.build.medthinkvqa.missing_answer import missing_answer
from overread.build.medthinkvqa.settings import setting_file
from overread.build.step import StepContext, answer_or_note
from overread.core import Record
from overread.errors import OverreadError, UsageError
from overread.language.diagnoses.names import load_names
from overread.language.diagnoses.words import content_of, join_words
from overread.ontology.icd10 import Icd10Range, icd10_blocks, icd10_chapters, icd10_terms, icd10_titles
from overread.prompts.replies import json_parser, normalise_text
from overread.storage.tables import read_csv, read_user_file

_CATEGORY = re.compile(r"\s*([A-Za-z][0-9][0-9A-Za-z])(?:[.\-]?[0-9A-Za-z]{1,4})?(?:\s|$)")


class IcdPlace(Record):
    """A category with its block and chapter, in the release's words."""

    category: str
    """'J18 - Pneumonia, organism unspecified'."""
    block: str
    """'J09-J18 - Influenza and pneumonia'."""
    chapter: str
    """'Chapter X - Diseases of the respiratory system'."""


@lru_cache(maxsize=4)
def code_list(file: str) -> dict[str, str]:
    """Category → title: the house's, or in their place those of a CSV or TSV of codes and titles."""
    if not file:
        return icd10_titles()
    try:
        text = read_user_file(Path(file), "list of codes")
        # Titles hold commas and semicolons: the delimiter is what ends the first cell.
        first = re.split(r"[,;\t|]", text.lstrip(), maxsplit=1)[0].strip('"')
        rows = [cells for _, cells in read_csv(text, file, known=(first,))]
    except OverreadError as error:
        raise UsageError(error.what, where=error.where, remedy=error.remedy) from None
    found = {}
    for row in rows:
        code = parse_category(row[0]) if len(row) >= 2 and row[1].strip() else None
        # A four-character code has a title of its own, which is not its category's.
        if code is not None and len(re.sub(r"\W", "", row[0])) == 3:
            found[code] = row[1].strip()
    if not found:
        raise UsageError(
            "the list of codes holds no three-character category",
            where=file,
            remedy="give a CSV or TSV with the columns code and title",
        )
    return found


def parse_category(text: str) -> str | None:
    """The three-character category that a text begins with.

    >>> parse_category("j18.9"), parse_category("J18 - Pneumonia"), parse_category("pneumonia")
    ('J18', 'J18', None)
    """
    match = _CATEGORY.match(text)
    return match[1].upper() if match else None


def place_category(category: str, titles: Mapping[str, str] | None = None) -> IcdPlace | None:
    """A category with its block and chapter; None where the list of titles does not have it.

    >>> place_category("J18").chapter
    'Chapter X - Diseases of the respiratory system'
    >>> place_category("B37").category, place_category("J19")
    ('B37 - Candidiasis', None)
    """
    title = (icd10_titles() if titles is None else titles).get(category)
    block, chapter = _find_range(category, icd10_blocks()), _find_range(category, icd10_chapters())
    if block is None or chapter is None or title is None:
        return None
    return IcdPlace(category=f"{category} - {title}", block=block, chapter=chapter)


def _find_range(category: str, ranges: Iterable[Icd10Range]) -> str | None:
    return next((one.name for one in ranges if one.first <= category <= one.last), None)


@cache
def _category_of_term() -> Mapping[str, str]:
    """A name, its words run together → the category that holds it."""
    return {join_words(content_of(name)): code for code, name in icd10_terms()}


class SaidCategory(BaseModel):
    """What a model says."""

    category: str


@dataclass(frozen=True)
class _CodeList:
    """The list of codes in use: what it lacks is no code."""

    titles: Mapping[str, str]

    def place(self, category: str | None) -> IcdPlace | None:
        return None if category is None else place_category(category, self.titles)


async def classify(item: Item, context: StepContext) -> StepResult:
    """Give a case its category: the source's, by the diagnosis' name, by a title, by a model."""
    codes = _CodeList(code_list(setting_file(context, "icd")))
    answer = text_of(item, "final_diagnosis")
    given = codes.place(parse_category(text_of(item, "icd")))
    if given is not None:
        return _keep_category(given, "rules", "the source gives the category")
    known = load_names(setting_file(context, "synonyms")).find(answer)
    found = codes.place(known.icd) if known is not None else None
    if known is not None and found is not None:
        return _keep_category(found, "rules", f"it is known as '{known.names[0]}'")
    wanted = normalise_text(answer)
    for code, title in codes.titles.items():
        found = codes.place(code) if normalise_text(title) == wanted else None
        if found is not None:
            return _keep_category(found, "rules", "a category has this title")
    found = codes.place(_category_of_term().get(join_words(content_of(answer))))
    if found is not None:
        return _keep_category(found, "rules", "the category holds a diagnosis of this name")
    changes: list[Change] = []
    if context.has("reader"):
        asking = _ask_model(answer, item, codes, context)
        found = await answer_or_note(asking, changes, missing_answer(context, "icd"))
        if found is not None:
            return _keep_category(found, context.name("reader"), "the model chose it")
    why = "no category is known for it; give a list of diagnoses by the setting 'synonyms', or a model"
    return Keep(data={}, changes=(*changes, Change(what="icd", before=answer, why=why)))


def _keep_category(found: IcdPlace, by: str, why: str) -> Keep:
    told = found.model_dump(mode="json")
    change = Change(what="icd", after=told, by=by, why=f"{why}; block and chapter are looked up")
    return Keep(data={"icd_placed": told}, changes=(change,))


async def _ask_model(answer: str, item: Item, codes: _CodeList, context: StepContext) -> IcdPlace | None:
    def wrong(said: SaidCategory) -> str | None:
        if codes.place(parse_category(said.category)) is None:
            return f"'{said.category[:20]}' is no category of ICD-10"
        return None

    said = await context.ask(
        "build-med-icd",
        {"diagnosis": answer, "findings": text_of(item, "imaging_findings") or "(none given)"},
        json_parser(SaidCategory),
        check=wrong,
    )
    return codes.place(parse_category(said.category))
