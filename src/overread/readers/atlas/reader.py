"""The embedded reader: it measures CTs, films and slices, with no network and no weights.

It sees what is asked of it and hands the case to the part that can read it: sentences to be found
in a CT to `ct`, options to be weighed to `cases`, and everything else, a radiograph, to `film`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from overread.core import Case, Pictures, Reading, ReleaseRef
from overread.ontology.diagnoses import diagnoses_digest
from overread.readers.arguments import settings_from
from overread.readers.atlas.identity import NAME, VERSION
from overread.readers.whole_case import WholeCaseBase


@dataclass(frozen=True)
class AtlasSettings:
    """The reader `atlas` has no arguments."""


def make(arguments: Mapping[str, str], *, place: ReleaseRef | None = None) -> AtlasReader:
    """The embedded reader; it needs no release, since it learns nothing from one."""
    settings_from(AtlasSettings, arguments)
    return AtlasReader()


class AtlasReader(WholeCaseBase):
    """Reads whole cases by measuring their pictures."""

    computes = True

    def __init__(self) -> None:
        """The version tells one atlas from another, and a list of diagnoses of somebody's own."""
        identity: dict[str, JsonValue] = {"reader": NAME, "version": VERSION}
        own = diagnoses_digest()
        super().__init__(NAME, identity if own is None else identity | {"diagnoses": own})

    def compute_reading(self, case: Case, pictures: Pictures, *, seed: int) -> tuple[Reading, list[Any]]:
        """The reading of one case, and the masks of its sentences where it has any.

        Nothing in it is random, so the seed is not used.
        """
        if case.queries:
            from overread.readers.atlas.ct.reading import read_scan

            return read_scan(case, pictures)
        if case.options:
            from overread.readers.atlas.case.reading import read_case

            return read_case(case, pictures), []
        from overread.readers.atlas.film.reading import read_film

        return read_film(case, pictures), []
