"""What a copy of MedThinkVQA holds: its data card's table and figure, and what the rows tell beside."""

from __future__ import annotations

from collections.abc import Sequence

from overread.benchmarks.description.collecting import Part
from overread.benchmarks.description.reading import (
    Published,
    RowReader,
    count_of,
    describe_releases,
    mean_of,
    total_of,
)
from overread.core import Entry, Image, Progress, Release, Truth
from overread.core.case import captions_of
from overread.core.description import Description
from overread.metrics.choice import length_ranks
from overread.ontology import modalities

BODY_COLUMNS = ("body_region", "Body Region", "body region", "anatomical_region", "location_category")
"""Columns that copies carry beside the benchmark's own: it has none for the part of the body."""
_YES, _NO = "more than one time", "one time"

PARTS = (
    Part("numbers", "pictures", "Pictures a case", "cases", "filled picture slots of the row"),
    Part(
        "numbers",
        "modalities",
        "Modalities a case",
        "cases",
        "different level-1 modalities among the pictures of a case",
        absent="no picture has an image_NN_modality",
    ),
    Part(
        "counts",
        "picture_modality",
        "Pictures by modality",
        "pictures",
        "level-1 modality; other names than the nine published ones stand as they are",
        absent="no picture has an image_NN_modality",
    ),
    Part(
        "counts",
        "case_modality",
        "Cases by modality",
        "cases",
        "cases with at least one picture of the modality",
        several=True,
    ),
    Part(
        "counts",
        "sub_modality",
        "Pictures by sub-modality",
        "pictures",
        "level-2 modality, in the row's words",
        absent="no picture has an image_NN_sub_modality",
    ),
    Part(
        "counts",
        "longitudinal",
        "Longitudinal cases",
        "cases",
        "whether the pictures show the patient at more than one time (is_longitudinal)",
        absent="no row has is_longitudinal",
        order=lambda: (_YES, _NO),
    ),
    Part(
        "numbers",
        "timepoints",
        "Time points a case",
        "cases",
        "timepoint_count of the row",
        absent="no row has a timepoint_count",
    ),
    Part(
        "counts",
        "icd_chapter",
        "ICD-10 chapters",
        "cases",
        "chapter of the right diagnosis, in the row's words",
        absent="no row has an ICD Chapter; `overread build medthinkvqa` gives its cases one",
    ),
    Part(
        "counts",
        "icd_block",
        "ICD-10 blocks",
        "cases",
        "block of the right diagnosis, in the row's words",
        absent="no row has an ICD Block",
    ),
    Part(
        "counts",
        "icd_category",
        "ICD-10 categories",
        "cases",
        "three-character category of the right diagnosis, in the row's words",
        absent="no row has an ICD Category",
    ),
    Part(
        "counts",
        "body_region",
        "Body regions",
        "cases",
        "from a column that is no part of the benchmark, in its own words",
        absent="the benchmark's rows have no column for the part of the body, and this copy has none of "
        f"its own called {', '.join(BODY_COLUMNS[:-1])} or {BODY_COLUMNS[-1]}; --column names another",
    ),
    Part(
        "counts",
        "right_letter",
        "Letter of the right option",
        "cases",
        "correct_answer of the row",
        absent="the answers are withheld",
        order=lambda: "ABCDE",
    ),
    Part(
        "counts",
        "longest_option",
        "The longest option",
        "cases",
        "whether the right option is the longest of the five, which would give it away",
        order=lambda: ("is right", "is wrong"),
    ),
    Part("numbers", "history_words", "Words of the history", "cases", "CLINICAL_HISTORY"),
    Part(
        "numbers",
        "caption_words",
        "Words of a caption",
        "captions",
        "the expert's findings of one picture (Step 1)",
        absent="no picture has an image_NN_caption",
    ),
    Part(
        "numbers",
        "summary_words",
        "Words of the integrated findings",
        "cases",
        "IMAGING_FINDINGS (Step 2)",
        absent="no row has IMAGING_FINDINGS",
    ),
    Part(
        "numbers",
        "discussion_words",
        "Words of the discussion",
        "cases",
        "the Medical Education Case Discussion",
        absent="no row has a discussion",
    ),
    Part("numbers", "option_words", "Words of an option", "options", "the five candidate diagnoses"),
    Part("numbers", "picture_width", "Width of a picture", "pictures", "pixels, from the header"),
    Part("numbers", "picture_height", "Height of a picture", "pictures", "pixels, from the header"),
)

_CARD = "data card of MedThinkVQA"
PUBLISHED = (
    Published("cases", "train", 7347, _CARD, total_of("cases")),
    Published("cases", "test", 720, _CARD, total_of("cases")),
    Published("cases", "all", 8067, _CARD, total_of("cases")),
    Published("pictures", "test", 5845, _CARD, total_of("pictures")),
    Published("pictures a case", "all", 6.62, _CARD, mean_of("pictures")),
    Published("pictures a case", "test", 8.12, _CARD, mean_of("pictures")),
    Published("modalities a case", "test", 2.30, _CARD, mean_of("modalities")),
    Published(
        "share of longitudinal cases", "test", 0.304, _CARD, count_of("longitudinal", _YES, share=True)
    ),
)


def describe(
    releases: Sequence[Release],
    *,
    headers: bool = False,
    column: str | None = None,
    progress: Progress | None = None,
) -> Description:
    """Everything that the data card's table and figure show, by split."""
    return describe_releases(
        releases,
        _collect,
        PARTS,
        totals=("cases", "pictures", "cases whose truth is withheld"),
        headers=headers,
        column=column,
        progress=progress,
        published=PUBLISHED,
    )


def _collect(entry: Entry, row: RowReader) -> None:
    case, found = entry.case, row.found
    found.total("cases")
    found.total("pictures", len(case.pictures))
    found.total("cases whose truth is withheld", entry.truth is None)
    found.number("pictures", len(case.pictures))
    found.number("history_words", len(case.history.split()) if case.history else None)
    for option in case.options:
        found.number("option_words", len(option.text.split()))
    body = row.column or next((name for name in BODY_COLUMNS if name in entry.extra), "")
    value = entry.extra.get(body)
    found.word("body_region", str(value) if isinstance(value, str | bool | int) else None)
    for picture in case.pictures:
        size = row.size(picture) if isinstance(picture, Image) else None
        found.number("picture_width", size[0] if size else None)
        found.number("picture_height", size[1] if size else None)
    if entry.truth is not None:
        _collect_truth(entry, entry.truth, row)


def _collect_truth(entry: Entry, truth: Truth, row: RowReader) -> None:
    case, found = entry.case, row.found
    notes = {note.picture: note for note in truth.notes}
    kinds: list[str | None] = []
    for picture in case.pictures:
        note = notes.get(picture.name)
        kinds.append(_modality(note.modality) if note else None)
        found.word("picture_modality", kinds[-1])
        found.word("sub_modality", note.sub_modality if note else None)
    found.word("case_modality", *kinds)
    known = {kind for kind in kinds if kind}
    found.number("modalities", len(known) or None)
    longitudinal = {True: _YES, False: _NO, None: None}[truth.longitudinal]
    found.word("longitudinal", longitudinal)
    found.number("timepoints", truth.timepoints)
    found.word("icd_chapter", truth.icd_chapter)
    found.word("icd_block", truth.icd_block)
    found.word("icd_category", truth.icd_category)
    found.word("right_letter", truth.answer)
    if truth.answer is not None and case.options:
        longest = length_ranks(case.options).get(truth.answer) == 1
        found.word("longest_option", "is right" if longest else "is wrong")
    for words in captions_of(truth).values():
        found.number("caption_words", len(words.split()))
    found.number("summary_words", len(truth.report.split()) if truth.report else None)
    found.number("discussion_words", len(truth.discussion.split()) if truth.discussion else None)


def _modality(text: str | None) -> str | None:
    """The published name of a modality, or the row's own where it is none of the nine."""
    known = modalities().find(text) if text else None
    return known.name if known else text
