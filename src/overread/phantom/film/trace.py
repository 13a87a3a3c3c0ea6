"""The interleaved record of a film: looks at major regions with their words, then the report.

Each round names a major region, shows its crop, gives its box and says what is found there. The box
is the union of the boxes of all regions that the words are about and of those that whoever looks
there looks at, as MMRad's aggregation makes it; the frame is the film's own pixels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from overread.benchmarks.mmrad.release import read_trace
from overread.benchmarks.row_fields import RowFields
from overread.core import Entry, Record
from overread.errors import OverreadError
from overread.ontology import xray_regions
from overread.phantom.film.report import GROUPS, XrayReport, base_regions, major_region
from overread.phantom.film.sign import FilmBox, FilmContents
from overread.phantom.words.place_phrases import pick
from overread.prompts.interleaved import ANALYZE, BOX_SENTENCE, HIGHLIGHT, IMAGE, REPORT_CUE, ordinal

MAX_SENTENCES = 3
"""Sentences of one round; a region of which more is said is looked at again."""

_INSTRUCTIONS = (
    "Write the report of this chest X-ray, with its significant findings.",
    "Read this chest radiograph region by region and write a report.",
    "Please analyze this chest X-ray step by step and give the radiology report.",
    "Look at the regions of this chest X-ray one after the other, then report the findings.",
    "Generate a structured radiology report for this frontal chest X-ray.",
)
_ANNOUNCEMENTS = (
    f"{ANALYZE}{HIGHLIGHT}",
    "{ordinal}, I will analyze the {region}. I will highlight the {region} in this X-ray. ",
    "{ordinal}, I need to analyze the {region}. I will now highlight the {region} on this image. ",
)
_BOX_SENTENCES = (BOX_SENTENCE, " This region lies in the box [{box}]. ", " Its bounding box is [{box}]. ")
_CUES = (
    REPORT_CUE,
    "In summary, these findings lead to the following report: ",
    "Summarizing what was seen in each region, the report reads as follows: ",
)


class TraceRound(Record):
    """One look at a major region."""

    region: str
    """The major region."""
    members: tuple[str, ...]
    """The regions whose boxes make its box."""
    box: FilmBox
    """Where it is on the film."""
    words: str
    """What is said of it."""


class FilmTrace(Record):
    """The record before it is written: rounds, and the texts around them."""

    instruction: str
    """What the reader is asked to do."""
    rounds: tuple[TraceRound, ...]
    """The looks, in order."""
    response: str
    """Everything that the record says, with a mark for each crop."""

    def to_row(self, folder: str) -> dict[str, object]:
        """The row of the layout; pictures lie in the folder."""
        return {
            "prompt": f"{self.instruction} {IMAGE}",
            "response": self.response,
            "images": [film_path(folder), *crop_paths(folder, len(self.rounds))],
        }


def film_path(folder: str) -> str:
    """The file of a film.

    >>> film_path("IVLImage/p90000001_1")
    'IVLImage/p90000001_1/problem_image_1.jpg'
    """
    return f"{folder}/problem_image_1.jpg"


def crop_paths(folder: str, many: int) -> list[str]:
    """The files of the crops of a film."""
    return [f"{folder}/reasoning_image_{number}.jpg" for number in range(1, many + 1)]


def draw_film_trace(sight: FilmContents, report: XrayReport, rng: np.random.Generator) -> FilmTrace:
    """The record of a film: its regions in some order, what the report says of each, the report."""
    rounds: list[TraceRound] = []
    groups = [group for group in GROUPS if report.group_sentences(group)]
    for at in rng.permutation(len(groups)):
        group = groups[int(at)]
        own = report.group_sentences(group)
        for first in range(0, len(own), MAX_SENTENCES):
            some = own[first : first + MAX_SENTENCES]
            named = {name for one in some for name in one.regions} | set(base_regions(group))
            members = tuple(name for name in xray_regions().names if name in named)
            rounds.append(
                TraceRound(
                    region=major_region(group),
                    members=members,
                    box=union_of_regions(sight, members),
                    words=" ".join(one.text for one in some),
                )
            )
    return FilmTrace(
        instruction=pick(rng, _INSTRUCTIONS),
        rounds=tuple(rounds),
        response=_write_response(rounds, report.text, rng),
    )


def union_of_regions(sight: FilmContents, names: Iterable[str]) -> FilmBox:
    """The smallest box that holds the boxes of some regions; the film where it shows none."""
    boxes = [sight.regions[name] for name in names if name in sight.regions]
    if not boxes:
        return (0, 0, sight.columns, sight.rows)
    left, top, right, bottom = zip(*boxes, strict=True)
    return (min(left), min(top), max(right), max(bottom))


def read_trace_entry(row: dict[str, object], *, split: str, place: int) -> Entry:
    """The row of a film as the loader reads it."""
    reader = RowFields(dict(row), file=f"{split}.jsonl", number=place)
    entry = read_trace(reader, split=split, place=place)
    if entry is None or reader.defects:
        raise OverreadError(f"film {place} of {split} gives no valid row: {reader.defects[0]}")
    return entry


def _write_response(rounds: Sequence[TraceRound], report: str, rng: np.random.Generator) -> str:
    announced, boxed = pick(rng, _ANNOUNCEMENTS), pick(rng, _BOX_SENTENCES)
    parts: list[str] = []
    for number, look in enumerate(rounds):
        box = ", ".join(str(edge) for edge in look.box)
        parts += [announced.format(ordinal=ordinal(number), region=look.region), IMAGE]
        parts += [boxed.format(box=box), f"{look.words}\n\n"]
    return "".join([*parts, pick(rng, _CUES), report])
