"""ICD-10: one three-character category a case; block and chapter are always looked up."""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from overread.build.item import Change, Item, Kept, Outcome
from overread.build.medthinkvqa.asking import no_answer
from overread.build.medthinkvqa.fields import text_of
from overread.build.medthinkvqa.names import names_with
from overread.build.medthinkvqa.settings import file_of
from overread.build.step import Desk
from overread.core import Record
from overread.errors import BadReply, UsageError
from overread.prompts.replies import json_object, normalised

_CATEGORY = re.compile(r"\s*([A-Za-z][0-9][0-9A-Za-z])(?:[.\-]?[0-9A-Za-z]{1,4})?(?:\s|$)")


class Placed(Record):
    """A category with its block and chapter, in the release's words."""

    category: str
    """'J18 - Pneumonia, organism unspecified'."""
    block: str
    """'J09-J18 - Influenza and pneumonia'."""
    chapter: str
    """'Chapter X - Diseases of the respiratory system'."""


@cache
def _tables() -> dict[str, Any]:
    file = files("overread.build.medthinkvqa") / "icd10.toml"
    return tomllib.loads(file.read_text("utf-8"))


@lru_cache(maxsize=4)
def code_list(file: str) -> dict[str, str]:
    """Category → title: the house's, and over them those of a CSV or TSV of codes and titles."""
    titles: dict[str, str] = dict(_tables()["category"])
    if not file:
        return titles
    path = Path(file)
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"the list of codes cannot be read ({why})", where=file) from None
    mark = "\t" if path.suffix == ".tsv" or "\t" in text.partition("\n")[0] else ","
    found = {}
    for row in csv.reader(text.splitlines(), delimiter=mark):
        code = category_in(row[0]) if len(row) >= 2 and row[1].strip() else None
        # A four-character code has a title of its own, which is not its category's.
        if code is not None and len(re.sub(r"\W", "", row[0])) == 3:
            found[code] = row[1].strip()
    if not found:
        raise UsageError(
            "the list of codes holds no three-character category",
            where=file,
            remedy="give a CSV or TSV with the columns code and title",
        )
    return titles | found


def category_in(text: str) -> str | None:
    """The three-character category that a text begins with.

    >>> category_in("j18.9"), category_in("J18 - Pneumonia"), category_in("pneumonia")
    ('J18', 'J18', None)
    """
    match = _CATEGORY.match(text)
    return match[1].upper() if match else None


def placed(
    category: str, titles: Mapping[str, str] | None = None, *, listed: bool = False
) -> Placed | None:
    """A category with its block and chapter; None where no block has it, or a whole list does not.

    The house's short table lacks the titles of most categories: such a one stands by its code
    alone, unless it must be `listed`.

    >>> placed("J18").chapter
    'Chapter X - Diseases of the respiratory system'
    >>> placed("B37").category, placed("B37", listed=True), placed("J19")
    ('B37', None, None)
    """
    title = (code_list("") if titles is None else titles).get(category)
    tables = _tables()
    block = next((name for name in tables["block"] if _within(category, name)), None)
    chapter = next(
        (name for name, told in tables["chapter"].items() if _within(category, told["range"])), None
    )
    if block is None or chapter is None or (listed and title is None):
        return None
    return Placed(
        category=category if title is None else f"{category} - {title}",
        block=f"{block} - {tables['block'][block]}",
        chapter=f"Chapter {chapter} - {tables['chapter'][chapter]['title']}",
    )


def _within(category: str, span: str) -> bool:
    first, _, last = span.partition("-")
    return first <= category <= last


class SaidCategory(BaseModel):
    """What a model says."""

    category: str


@dataclass(frozen=True)
class _List:
    """The list of codes in use; one of somebody's own is whole, so what it lacks is no code."""

    titles: Mapping[str, str]
    whole: bool

    def place(self, category: str | None) -> Placed | None:
        if category is None:
            return None
        return placed(category, self.titles, listed=self.whole)


async def classify(item: Item, desk: Desk) -> Outcome:
    """Give a case its category: the source's, by the diagnosis' name, by a title, by a model."""
    file = file_of(desk, "icd")
    codes = _List(code_list(file), whole=bool(file))
    answer = text_of(item, "final_diagnosis")
    given = codes.place(category_in(text_of(item, "icd")))
    if given is not None:
        return _classified(given, "rules", "the source gives the category")
    known = names_with(file_of(desk, "synonyms")).of(answer)
    found = codes.place(known.icd) if known is not None else None
    if known is not None and found is not None:
        return _classified(found, "rules", f"it is known as '{known.names[0]}'")
    wanted = normalised(answer)
    for code, title in codes.titles.items():
        found = codes.place(code) if normalised(title) == wanted else None
        if found is not None:
            return _classified(found, "rules", "a category has this title")
    unsaid: tuple[Change, ...] = ()
    if desk.has("reader"):
        found = await _asked(answer, item, codes, desk)
        if found is not None:
            return _classified(found, desk.name("reader"), "the model chose it")
        unsaid = (no_answer(desk, "icd"),)
    why = "no category is known for it; give a longer list by the setting 'icd', or a model"
    return Kept(data={}, changes=(*unsaid, Change(what="icd", before=answer, why=why)))


def _classified(found: Placed, by: str, why: str) -> Kept:
    told = found.model_dump(mode="json")
    change = Change(what="icd", after=told, by=by, why=f"{why}; block and chapter are looked up")
    return Kept(data={"icd_placed": told}, changes=(change,))


async def _asked(answer: str, item: Item, codes: _List, desk: Desk) -> Placed | None:
    def wrong(said: SaidCategory) -> str | None:
        if codes.place(category_in(said.category)) is None:
            return f"'{said.category[:20]}' is no category of ICD-10"
        return None

    try:
        said = await desk.ask(
            "build-med-icd",
            {"diagnosis": answer, "findings": text_of(item, "imaging_findings") or "(none given)"},
            json_object(SaidCategory),
            check=wrong,
        )
    except BadReply:
        return None
    return codes.place(category_in(said.category))
