"""The case a reader may see, and its truth: two objects, and neither refers to the other.

A reader, a workflow or a prompt is handed a `Case`. Only code that scores, checks, writes or
shows the truth on purpose asks the release for an `Entry`, the pair of both.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, JsonValue, PlainSerializer

from overread.catalog import unknown_name
from overread.core.pictures import Picture
from overread.core.record import WITH_HANDLES, Record, RecordWithHandles
from overread.core.regions import Whole
from overread.core.trace import Finding, Step, Trace


class Option(Record):
    """One answer to choose from."""

    letter: str
    """How it is chosen: 'A' to 'E'."""
    text: str
    """What it says."""


class Query(Record):
    """One question about the pictures: a sentence to be found in them."""

    id: str
    """Key within the case, as the release numbers them."""
    text: str
    """The sentence."""


class Case(RecordWithHandles):
    """What a reader may see of one patient problem, and nothing else.

    `id`, `patient` and the pictures' `file` are handles, for the record and for opening pixels.
    They may hint at the truth, so `case.model_dump()` leaves them out;
    `context=WITH_HANDLES` keeps them.
    """

    handles: ClassVar[tuple[str, ...]] = ("id", "patient")

    id: str = Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,119}$")
    """Handle: key of the case within its benchmark and split; good as a file name."""
    benchmark: str
    """Catalog name of the benchmark."""
    split: str
    """Which part of the release it belongs to."""
    patient: str | None = Field(default=None, repr=False)
    """Handle: whose case it is, where the release tells; cases of one patient go together."""
    pictures: tuple[Picture, ...] = ()
    """The pictures in the order they are shown."""
    history: str | None = None
    """Clinical history."""
    instruction: str | None = None
    """What the reader is asked to do, where the release words it."""
    asks: Literal["answer", "report"] | None = None
    """What the instruction asks for: an answer in a few words, or a report; absent, a report."""
    options: tuple[Option, ...] = ()
    """The diagnoses to choose from."""
    queries: tuple[Query, ...] = ()
    """Sentences to be found in the pictures."""

    def picture(self, name: str) -> Picture:
        """The picture of that name."""
        for picture in self.pictures:
            if picture.name == name:
                return picture
        raise unknown_name("picture", name, (picture.name for picture in self.pictures))


class PictureNote(Record):
    """What the release says about one picture and a reader may not see."""

    picture: str
    """Name of the picture."""
    id: str | None = None
    """The release's own id of the picture."""
    modality: str | None = None
    """Level-1 modality in the release's words ('CT')."""
    sub_modality: str | None = None
    """Level-2 modality in the release's words ('HRCT / Thin-slice CT')."""


class Truth(Record):
    """What is true of a case, and every hint of it. Absent fields were not released."""

    title: str | None = None
    """Title of the case."""
    answer: str | None = None
    """Letter of the right option."""
    answer_text: str | None = None
    """Text of the right option, or the right answer in words where there are no options."""
    findings: tuple[Finding, ...] = ()
    """The findings, with their places where these are known."""
    report: str | None = None
    """The report, or the integrated imaging findings."""
    discussion: str | None = None
    """The teaching discussion."""
    trace: Trace | None = None
    """The reference reading, step by step."""
    notes: tuple[PictureNote, ...] = ()
    """What is known of each picture."""
    longitudinal: bool | None = None
    """Whether the pictures show the patient at more than one time."""
    timepoints: int | None = None
    """How many times the patient was examined."""
    interval: str | None = None
    """Time between the examinations, in words."""
    image_count: int | None = None
    """How many pictures the release says the case has."""
    icd_chapter: str | None = None
    """ICD-10 chapter of the diagnosis."""
    icd_block: str | None = None
    """ICD-10 block of the diagnosis."""
    icd_category: str | None = None
    """ICD-10 three-character category of the diagnosis."""
    protocol: str | None = None
    """How the case was annotated."""


def captions_of(truth: Truth) -> dict[str, str]:
    """Picture → what the experts say of it as a whole; several sentences in a row."""
    found: dict[str, str] = {}
    for finding in truth.findings:
        for region in finding.regions:
            if isinstance(region, Whole) and finding.text.strip():
                before = found.get(region.picture)
                found[region.picture] = f"{before} {finding.text}" if before else finding.text
    return found


def reference_steps(truth: Truth) -> tuple[Step, ...]:
    """The steps of the reference trace; where these are chains, each ends with the finding it leads to."""
    steps = truth.trace.steps if truth.trace is not None else ()
    if not any(step.link for step in steps):
        return steps
    found = [step for step in steps if step.link is None]
    for finding in truth.findings:
        found += [step for step in steps if step.link and step.link.query == finding.query]
        found.append(Step(kind="conclude", text=finding.text, regions=finding.regions))
    return tuple(found)


def _dump_with_handles(case: Case) -> dict[str, Any]:
    return case.model_dump(mode="json", context=WITH_HANDLES)


class Entry(Record):
    """One row of a release, whole: for those who score, check and write, never for readers."""

    case: Annotated[Case, PlainSerializer(_dump_with_handles)]
    """What a reader may see; its handles are kept when an entry is stored."""
    truth: Truth | None = None
    """What is true; absent when the release withholds it."""
    extra: dict[str, JsonValue] = Field(default_factory=dict)
    """Columns that are no part of the benchmark; kept, and written back."""
