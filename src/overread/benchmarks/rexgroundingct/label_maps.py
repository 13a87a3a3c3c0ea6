"""Predictions of nnU-Net as they lie in its folder: one label map a scan, a label a category.

`nnUNetv2_predict` copies the dataset's `dataset.json` beside its predictions, so that what a number
means is told there. A finding is given the label of its category. Which category that is, is read
by rules in the sentence that was asked for, never in the truth.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overread.benchmarks.intake import Intake
from overread.benchmarks.rexgroundingct.release import CT
from overread.benchmarks.submitted_files import FolderFiles, Member, ZipFiles
from overread.core import Case, Finding, Mask, Reading
from overread.errors import PictureError, SubmissionError
from overread.ontology import finding_tree

if TYPE_CHECKING:
    from overread.core import Query

DATASET = "dataset.json"
OWN_FILES = frozenset({DATASET, "plans.json", "predict_from_raw_data_args.json", "postprocessing.pkl"})
"""What nnU-Net writes beside its predictions."""
_MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class LabelNumbers:
    """What the numbers of label maps mean."""

    by_category: dict[str, int]
    unused: int
    """A number that no label has: what nothing was marked with."""


def read_label_numbers(
    files: FolderFiles | ZipFiles, members: list[Member], intake: Intake
) -> LabelNumbers | None:
    """The labels of the categories, where label maps were handed in; None where masks were.

    Told by a `dataset.json` beside the files that names labels.
    """
    pages = [m for m in members if m.base == DATASET and not m.refusal and m.name.count("/") <= 1]
    if not pages:
        return None
    where = f"{intake.file}/{pages[0].name}"
    labels = _read_labels(files, pages[0], where)
    if labels is None:
        return None
    known = finding_tree().categories
    found: dict[str, int] = {}
    for name, number in labels.items():
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise SubmissionError(
                f"the label '{name}' has no number of its own",
                where=where,
                remedy="nnU-Net's labels by regions are not read; train on one number a category",
            )
        category = name.split(" ", 1)[0]
        if number and category in known:
            found[category] = number
    if not found:
        raise SubmissionError(
            "none of its labels begins with a category of ReXGroundingCT",
            where=where,
            remedy="train on what `overread export nnunet` wrote, or hand in one channel a finding",
        )
    return LabelNumbers(found, max(labels.values()) + 1)


def _read_labels(files: FolderFiles | ZipFiles, page: Member, where: str) -> dict[str, Any] | None:
    """The labels that a page names; None where it is the page of something else."""
    remedy = "copy it from the folder of nnU-Net's raw data, or take it away where these are no label maps"
    if page.size > _MAX_BYTES:
        raise SubmissionError(f"it has {page.size:,} bytes", where=where, remedy=remedy)
    try:
        source = files.source(page.name)
        told = json.loads(source.read_bytes() if isinstance(source, Path) else source)
    except PictureError as error:
        raise SubmissionError(error.what, where=where, remedy=error.remedy) from None
    except (OSError, ValueError, RecursionError):
        raise SubmissionError("this is no JSON", where=where, remedy=remedy) from None
    labels = told.get("labels") if isinstance(told, dict) else None
    return labels if isinstance(labels, dict) else None


def label_reading(case: Case, file: str, reader: str, numbers: LabelNumbers, intake: Intake) -> Reading:
    """The findings of a case, each with the label of its category; nothing is marked where it has none."""
    findings = []
    for query in case.queries:
        category = read_category(query)
        number = numbers.by_category.get(category or "", numbers.unused)
        if category is None:
            what = "the category of a finding could not be read in its sentence: nothing is marked for it"
            intake.warn(what, "hand in one channel a finding", case=case.id)
        elif number == numbers.unused:
            what = f"no label is for category {category}: nothing is marked for findings of it"
            intake.warn(what, "train on cases that have it", case=case.id)
        region = Mask(picture=CT, file=file, entity=number)
        findings.append(Finding(text=query.text, query=query.id, regions=(region,)))
    return Reading(case_id=case.id, reader=reader, findings=tuple(findings))


def read_category(query: Query) -> str | None:
    """The category of the finding that a sentence speaks of, by rules."""
    from overread.language.labels import main_category
    from overread.language.statements import find_statements

    return main_category(find_statements(query.text))
