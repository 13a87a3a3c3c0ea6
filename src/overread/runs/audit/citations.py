"""What a reading cites: the regions that it says its answer rests on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from overread.core import Case, Mask, Reading, Region, Whole

Regions = tuple[Region, ...]

_NUMBERS = r"\d{1,2}\b(?:(?:, | and |, and | & )\d{1,2}\b)*"
_PICTURE_NUMBERS = re.compile(rf"\b(?:pictures?|images?|figures?|figs?\.?)[ -]({_NUMBERS})", re.IGNORECASE)


def cited_regions(case: Case, reading: Reading) -> tuple[Regions, ...]:
    """What a reading cites, best first; what comes later counts where nothing is marked before it.

    For sentences to be found these are the masks that were marked for them, and then, where all of
    them are empty, the parts of pictures that other steps name. Else what stands nearest to the
    answer counts: regions of the last concluding step that has any, then those of findings that
    say something is there, then those of all findings (a denial cites all that was searched), then
    those of all other steps. Of these the first that name a part of a picture are taken; where
    none does, the first that name fewer pictures than the case has; where they name all of them,
    the pictures that the reasons for the answer name by number, or else all.
    """
    findings = reading.findings or ()
    steps = reading.trace.steps if reading.trace else ()
    concluded = [step.regions for step in steps if step.kind == "conclude" and step.regions]
    levels: list[Sequence[Region]] = [
        concluded[-1] if concluded else (),
        [region for finding in findings if _asserts_finding(finding.text) for region in finding.regions],
        [region for finding in findings for region in finding.regions],
        [region for step in steps if step.kind != "conclude" for region in step.regions],
    ]
    if case.queries:
        marked = (region for f in findings if f.query is not None for region in f.regions)
        looked = (region for level in levels for region in level if not isinstance(region, Mask))
        return _nonempty(_picture_parts(marked), _picture_parts(looked))
    for level in levels:
        if parts := _picture_parts(level):
            return (parts,)
    every = {picture.name for picture in case.pictures}
    for level in levels:
        if level and {region.picture for region in level} < every:
            return (_dedupe_regions(level),)
    said = (reading.rationale, *(step.text for step in steps if step.kind == "conclude"))
    for words in said:
        named = find_picture_numbers(words or "", len(case.pictures))
        if named and len(named) < len(case.pictures):
            return (tuple(Whole(picture=case.pictures[n - 1].name) for n in named),)
    return _nonempty(_dedupe_regions(next((level for level in levels if level), ())))


def find_picture_numbers(words: str, count: int) -> tuple[int, ...]:
    """The pictures that a text names by number, of so many that were shown.

    >>> find_picture_numbers("Picture 2 shows it, images 3 and 5 as well; 4 cm on picture 20.", 6)
    (2, 3, 5)
    """
    found = {
        int(number)
        for named in _PICTURE_NUMBERS.finditer(words)
        for number in re.findall(r"\d+", named[1])
        if 1 <= int(number) <= count
    }
    return tuple(sorted(found))


def cites_all(case: Case, regions: Regions) -> bool:
    """Whether nothing of the case is left beside what is cited."""
    whole = {region.picture for region in regions if isinstance(region, Whole)}
    return whole >= {picture.name for picture in case.pictures}


def _asserts_finding(text: str) -> bool:
    """Whether a finding says that something is there, and does not only deny."""
    from overread.language.findings import is_there
    from overread.language.statements import find_statements

    return any(is_there(statement) for statement in find_statements(text))


def _nonempty(*levels: Regions) -> tuple[Regions, ...]:
    return tuple(level for level in levels if level)


def _picture_parts(regions: Iterable[Region]) -> Regions:
    return _dedupe_regions(region for region in regions if not isinstance(region, Whole))


def _dedupe_regions(regions: Iterable[Region]) -> Regions:
    """Each region once, whatever its label."""
    found: dict[Region, Region] = {}
    for region in regions:
        plain = region.model_copy(update={"label": None}) if region.kind == "box" else region
        found.setdefault(plain, plain)
    return tuple(found)
