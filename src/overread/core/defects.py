"""Defects: what can be wrong with a copy of a release, each with one name."""

from __future__ import annotations

from typing import Literal

from pydantic import field_validator

from overread.core.record import Record

Severity = Literal["error", "warning"]

ERRORS: dict[str, str] = {
    "missing-file": "a file that the release names is not there",
    "unreadable-file": "a file is there and cannot be read as what it should be",
    "changed-file": "a file is not the one that the release's checksums name",
    "truncated-file": "a file ends before it should",
    "refused-file": "a path leaves the release, or a file would use up the memory",
    "bad-row": "a row is not the record it should be",
    "missing-field": "a field that every row needs is absent or empty",
    "wrong-type": "a field holds another kind of value than it should",
    "wrong-encoding": "text or voxels are stored in another encoding than the release's",
    "duplicate-id": "two rows have the same id",
    "count-mismatch": "a stated count disagrees with what is there",
    "shape-mismatch": "a stated shape, or that of a mask, disagrees with the CT",
    "answer-not-an-option": "the right answer is not among the options",
    "bad-options": "the options are not five distinct texts A to E",
    "unknown-category": "a category code is not in the ontology",
    "inverted-box": "a box ends before it begins",
    "bad-box": "something that should be a box is not four numbers",
    "twin-mismatch": "two forms of one split tell different things of a case",
    "keys-mismatch": "two parts of a row that must speak of the same things do not",
    "bad-chain": "a chain of thought is damaged, and was left out",
    "missing-slice": "slices are missing between two others of a series",
    "uneven-slices": "slices of a series do not lie at even distances on one line",
    "mixed-slices": "a slice differs from its series in size, spacing or turn; it was left out",
    "conflicting-slice": "two different slices of a series lie at one place; one was left out",
}

WARNINGS: dict[str, str] = {
    "patient-in-two-splits": "cases of one patient are in two splits",
    "box-outside-picture": "a box leaves the picture (the frame of the boxes is not published)",
    "unknown-modality": "a modality is not in the ontology",
    "unknown-sub-modality": "a sub-modality is not in the ontology",
    "unknown-region": "a region is not among the regions in use",
    "mask-header": "the header of a mask disagrees with its CT; the CT's geometry is used",
    "surplus-bytes": "a volume's file goes on after its last voxel",
    "mask-variant": "a mask is not stored as (findings, H, W, D); it was understood all the same",
    "empty-mask": "a finding has no voxel",
    "empty-split": "a split has no cases",
    "withheld-truth": "the truth of this split is not in the release",
    "no-box": "a look says nowhere where it looked",
    "no-answer": "a response gives no answer",
    "no-report": "no report could be told from the reasoning that leads to it",
    "missing-value": "a value that other rows have is absent here",
    "timepoint-mismatch": "the number of time points and the longitudinal flag disagree",
    "doubled-picture": "a case shows the same file twice",
    "picture-id-mismatch": "a picture's id and its file name disagree",
    "unknown-key": "a list of cases has a part that is no split; it is kept and not read",
    "unread-chain": "a chain of thought has a layout that is not known; it is kept and not read",
    "unused-chain": "a chain of thought belongs to no scan of the list; it is not read",
    "gantry-tilt": "the slices of a series drift sideways; its affine carries the shear",
    "doubled-slice": "a slice of a series is there twice; one copy was left out",
    "foreign-file": "a file among the slices of a series is none of them; it was left out",
    "rounded-values": "values of a series have no whole HU; they were rounded",
    "no-pictures": "the pictures of this benchmark come from elsewhere and are not here",
}

KINDS: dict[str, str] = {**ERRORS, **WARNINGS}


class Defect(Record):
    """One thing that is wrong with a release, and where.

    Other packages name kinds of their own after themselves, 'mine:lost-page'; these are errors.
    """

    code: str
    """Name of the kind of defect, one of `KINDS`."""
    file: str
    """File it stands in, relative to the release."""
    row: int | None = None
    """Line of a jsonl file or entry of a list, counted from 1."""
    case: str | None = None
    """Id of the case, when the row got far enough to have one."""
    field: str | None = None
    """Field or column."""
    expected: str = ""
    """What should have been there."""
    found: str = ""
    """What was there."""

    @field_validator("code")
    @classmethod
    def _check_code(cls, code: str) -> str:
        if code not in KINDS and ":" not in code:
            raise ValueError(f"'{code}' is no kind of defect; the kinds are in core/defects.py")
        return code

    @property
    def severity(self) -> Severity:
        """Errors make a check fail; warnings do not."""
        return "warning" if self.code in WARNINGS else "error"

    @property
    def where(self) -> str:
        """File, row and field in one phrase."""
        row = f", row {self.row}" if self.row is not None else ""
        case = f" ({self.case})" if self.case else ""
        field = f", {self.field}" if self.field else ""
        return f"{self.file}{row}{case}{field}"

    def __str__(self) -> str:
        """One sentence.

        >>> print(Defect(code="count-mismatch", file="test.jsonl", row=3, field="image_count",
        ...              expected="4", found="3"))
        count-mismatch in test.jsonl, row 3, image_count: expected 4, found 3
        """
        return f"{self.code} in {self.where}: expected {self.expected}, found {self.found}"
