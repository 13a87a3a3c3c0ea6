"""The disease model: what each diagnosis looks like, whom it befalls, what becomes of it.

All of it is data: `diseases/*.toml` (one table a diagnosis), `courses.toml`, `icd.toml` and
`presentations.toml`. What is said of a diagnosis for teaching is in `teaching/*.toml`.
"""

from __future__ import annotations

import tomllib
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, Literal

from pydantic import Field

from overread.core import Record
from overread.errors import UsageError
from overread.phantom.illness.draft import Turn
from overread.phantom.statement import EXTRAPULMONARY, KINDS

IntervalUnit = Literal["weeks", "months"]
FindingName = str
"""A finding by category and kind ('2b consolidation'), or one beyond the lung ('lymph nodes')."""

BUILD_FINDINGS = ("cardiomegaly", "aortic ectasia", "steatosis", "osteophytes")
"""What is the body's own build: it stays the same over time."""


class DiseaseSign(Record):
    """One finding of a diagnosis in lung or pleura: with which chance, where, how large."""

    marks: tuple[FindingName, ...] = Field(alias="is")
    """What it may look like, each as likely; a patient has one of them."""
    chance: float = 1.0
    """How often the diagnosis comes with it."""
    needed: bool = False
    """Whether nobody has the diagnosis without it."""
    places: tuple[str, ...] = ()
    """Kinds of place, as in a `Plan`."""
    lobes: tuple[str, ...] = ()
    """Lobes of which a lobe or a segment is chosen; empty for all."""
    focus: bool = False
    """Whether it lies in the one lobe that the illness has chosen, or on its side."""
    scale: tuple[float, float] = (1.0, 1.0)
    """Range of the scale of its size."""
    count: tuple[int, int] | None = None
    """Fewest and most entities."""
    course: str | None = None
    """What becomes of it; absent, as the disease has."""


class ExtrapulmonarySign(Record):
    """One finding of a diagnosis beyond the lung."""

    mark: FindingName = Field(alias="is")
    """Its name, of `EXTRAPULMONARY`."""
    chance: float = 1.0
    """How often the diagnosis comes with it."""
    needed: bool = False
    """Whether nobody has the diagnosis without it."""
    course: str = "lasts"
    """What becomes of it."""


class Disease(Record):
    """One diagnosis."""

    code: str
    """Its key in the model."""
    options: tuple[str, ...]
    """Its name as an option, in several spellings of similar length."""
    also: tuple[str, ...]
    """Synonyms, acronyms, eponyms and foreign forms; never in a history, unless as a leak."""
    icd: str
    """ICD-10 category."""
    sex: Literal["female", "male"] | None = None
    """The sex that has it, if only one has."""
    ages: tuple[int, int] = (0, 120)
    """Youngest and oldest who have it."""
    course: str
    """What becomes of its findings, of `courses.toml`."""
    focus: tuple[str, ...] = ()
    """Lobes of which one is chosen for all signs that are said to be in focus."""
    windows: tuple[str, ...] = ()
    """Windows of CT that it needs besides lung and mediastinum."""
    confused: tuple[FindingName, ...] = ()
    """Chance findings that would be taken for it: nobody has them where it is an option."""
    signs: tuple[DiseaseSign, ...]
    """Findings of lung and pleura."""
    beyond: tuple[ExtrapulmonarySign, ...] = ()
    """Findings beyond the lung."""

    @cached_property
    def needed(self) -> tuple[frozenset[FindingName], ...]:
        """What everybody with it has: of each set one mark."""
        inside = [frozenset(sign.marks) for sign in self.signs if sign.needed]
        return (*inside, *(frozenset((one.mark,)) for one in self.beyond if one.needed))

    @cached_property
    def possible(self) -> frozenset[FindingName]:
        """Everything that it may come with."""
        inside = {mark for sign in self.signs for mark in sign.marks}
        return frozenset(inside | {one.mark for one in self.beyond})

    def may_affect(self, age: int, sex: str) -> bool:
        """Whether somebody of that age and sex may have it."""
        return self.ages[0] <= age <= self.ages[1] and self.sex in (None, sex)


class Icd(Record):
    """An ICD-10 category with its block and chapter, in the release's words."""

    category: str
    """'J18 - Pneumonia, organism unspecified'."""
    block: str
    """'J09-J18 - Influenza and pneumonia'."""
    chapter: str
    """'Chapter X - Diseases of the respiratory system'."""


class Presentation(Record):
    """What brings a patient to the scanner: a history that fits all of its diagnoses."""

    code: str
    """Its key."""
    about: str
    """What it is, in a few words."""
    diseases: tuple[str, ...]
    """Codes of the diagnoses that are plausible for it."""
    weeks: tuple[str, ...]
    """Intervals between two examinations within which little has time to happen."""
    months: tuple[str, ...]
    """Longer intervals."""
    opening: tuple[str, ...]
    """Who comes with what; templates, as explained in presentations.toml."""
    symptom: tuple[str, ...]
    """More of the complaints."""
    risk: tuple[str, ...]
    """Habits, work and earlier illness."""
    exam: tuple[str, ...]
    """Physical examination."""
    laboratory: tuple[str, ...]
    """Values from the laboratory."""
    closing: tuple[str, ...]
    """What was planned."""


def read_tables(*parts: str) -> dict[str, Any]:
    """One of the model's data files."""
    file = files("overread.phantom.illness").joinpath(*parts)
    return tomllib.loads(file.read_text("utf-8"))


@cache
def load_diseases() -> dict[str, Disease]:
    """Code → diagnosis."""
    found: dict[str, Disease] = {}
    names = ("infections", "interstitial", "airways", "tumours", "chest")
    for name in names:
        for code, table in read_tables("diseases", f"{name}.toml").items():
            found[code] = Disease(code=code, **table)
    for disease in found.values():
        _check_names(disease)
    return found


def _check_names(disease: Disease) -> None:
    """Raise an error where the data names a finding or a course that does not exist."""
    marks = {f"{category} {kind}" for category, kinds in KINDS.items() for kind in kinds}
    wrong = disease.possible - marks - set(EXTRAPULMONARY)
    named = {disease.course, *(sign.course or disease.course for sign in disease.signs)}
    wrong |= (named | {one.course for one in disease.beyond}) - set(load_courses())
    if wrong:
        raise UsageError(f"{disease.code} names unknown findings or courses: {', '.join(sorted(wrong))}")


@cache
def load_diseases_by_option() -> dict[str, Disease]:
    """Text of an option → the diagnosis that it names; no two share a text."""
    return {text: disease for disease in load_diseases().values() for text in disease.options}


@cache
def load_courses() -> dict[str, dict[IntervalUnit, dict[Turn, float]]]:
    """Name → for weeks and for months, the chances of each turn."""
    return read_tables("courses.toml")


@cache
def find_icd(category: str) -> Icd:
    """The category with its block and chapter, which are looked up and never stated elsewhere.

    >>> find_icd("J18").block
    'J09-J18 - Influenza and pneumonia'
    """
    tables = read_tables("icd.toml")
    block = next(name for name in tables["block"] if name.split("-")[0] <= category <= name.split("-")[1])
    chapter = tables["block"][block]["chapter"]
    return Icd(
        category=f"{category} - {tables['category'][category]}",
        block=f"{block} - {tables['block'][block]['title']}",
        chapter=f"Chapter {chapter} - {tables['chapter'][chapter]}",
    )


@cache
def load_presentations() -> dict[str, Presentation]:
    """Code → presentation."""
    tables = read_tables("presentations.toml")["presentation"]
    return {code: Presentation(code=code, **table) for code, table in tables.items()}


@cache
def load_confusable_pairs() -> frozenset[frozenset[str]]:
    """Pairs of codes that are never offered together."""
    return frozenset(frozenset(pair) for pair in read_tables("presentations.toml")["too_alike"])


def are_distinguishable(one: Disease, other: Disease) -> bool:
    """Whether the findings always tell two diagnoses apart.

    They do if one of them needs something that the other never has.
    """
    return any(
        not marks & apart.possible
        for having, apart in ((one, other), (other, one))
        for marks in having.needed
    )
