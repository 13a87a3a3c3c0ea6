"""`…/own`: a person reads a case on the page, and the reading is kept as a run of that person.

The run is one like any other: `overread score`, `show` and `compare` take it. Its folder is chosen
here, from the person's name and the dataset, and never given from outside. Each save opens the
run, appends one line and lets go, so that two windows lose nothing; the last line of a case counts.
"""

from __future__ import annotations

import hashlib
import re
import time
from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query
from pydantic import Field

from overread.core import Box, Case, Finding, Reading, Record, Slices, Step, Trace, Whole
from overread.errors import OverreadError, UsageError
from overread.runs.spec import (
    ReaderSpec,
    RunSpec,
    WorkflowSpec,
    current_versions,
    read_spec,
    refuse_secrets,
    write_spec,
)
from overread.runs.store import ReadingStore, iter_readings, scan_readings
from overread.site.dependencies import CurrentUser, OneDataset, OneSplit, PathId, ShelfDep, require_write
from overread.site.shelf import Dataset, Shelf, Split

router = APIRouter(tags=["cases"])

_LOCK_TIMEOUT = 5.0
"""Seconds to wait for another window that is saving."""
_MAX_COORDINATE = 1_000_000.0
SAW_TRUTH = "The truth had been shown before this reading was saved."
"""Said in the trace of such a reading: whoever counts it should know."""

Name = Annotated[str, Field(min_length=1, max_length=60, pattern=r"^[^\x00-\x1f\x7f/\\]+$")]
NameQuery = Annotated[str, Query(min_length=1, max_length=60)]
Text = Annotated[str, Field(max_length=50_000)]
Coordinate = Annotated[float, Field(ge=-_MAX_COORDINATE, le=_MAX_COORDINATE)]


class OwnPlace(Record):
    """Where a person saw something: a box in a flat picture, some slices, or all of a picture."""

    kind: Literal["box", "slices", "whole"]
    picture: Annotated[str, Field(max_length=200)]
    x1: Coordinate = 0
    y1: Coordinate = 0
    x2: Coordinate = 0
    y2: Coordinate = 0
    label: Annotated[str, Field(max_length=200)] | None = None
    """What the place is called ('left lung')."""
    axis: Literal["sagittal", "coronal", "axial"] = "axial"
    first: Annotated[int, Field(ge=0, le=100_000)] = 0
    last: Annotated[int, Field(ge=0, le=100_000)] = 0


class OwnFinding(Record):
    """What a person saw."""

    text: Annotated[str, Field(max_length=4000)]
    places: Annotated[list[OwnPlace], Field(max_length=50)] = Field(default_factory=list)
    query: Annotated[str, Field(max_length=200)] | None = None
    """The query of the case that it answers."""


class OwnReading(Record):
    """What a person makes of a case."""

    name: Name = "person"
    """Who reads; a user who logged in reads under the name of the login."""
    choice: Annotated[str, Field(max_length=4000)] | None = None
    """Letter of the chosen option; where there are none, the answer in words."""
    confidence: Annotated[float, Field(ge=0, le=1)] | None = None
    """How sure the person is of the choice, 0 to 1; the rest is shared by the other options."""
    rationale: Text | None = None
    findings: Annotated[list[OwnFinding], Field(max_length=200)] = Field(default_factory=list)
    report: Text | None = None
    """The report, or a summary of the pictures."""
    discussion: Text | None = None
    saw_truth: bool = False
    """Whether the truth was shown before this was saved."""


class OwnReadingState(Record):
    """Where a person's reading is kept."""

    run: str | None
    """Id of the run; absent where the person has saved nothing yet."""
    name: str
    """Who read."""
    count: int
    """Cases of this split that the person has read."""
    reading: OwnReading | None
    """The reading of this case, where there is one."""


@router.get("/cases/{dataset}/{split}/{case}/own")
def get_own(
    one: OneDataset,
    split: OneSplit,
    case: PathId,
    shelf: ShelfDep,
    user: CurrentUser,
    *,
    name: NameQuery = "person",
) -> OwnReadingState:
    """What a person saved of this case before."""
    seen = split.case(case)
    who = user or name
    folder = _folder(shelf, one, split, who)
    found: Reading | None = None
    cases: set[str] = set()
    for reading in iter_readings(folder):
        cases.add(reading.case_id)
        found = reading if reading.case_id == seen.id else found
    own = _as_own(found, who) if found is not None else None
    return OwnReadingState(run=_run_in(shelf, folder), name=who, count=len(cases), reading=own)


@router.post("/cases/{dataset}/{split}/{case}/own", dependencies=[Depends(require_write)])
def save_own(
    one: OneDataset, split: OneSplit, case: PathId, own: OwnReading, shelf: ShelfDep, user: CurrentUser
) -> OwnReadingState:
    """Keep a person's reading of a case; one of the same person and case is replaced."""
    seen = split.case(case)
    who = user or own.name.strip() or "person"
    refuse_secrets({"name": who})
    reading = _as_reading(own, seen, who)
    folder = _folder(shelf, one, split, who)
    _refuse_links(folder, shelf.own_readings)
    count = _save(folder, reading, _spec(one, split, who), list(split.entries))
    shelf.rescan()
    return OwnReadingState(run=_run_in(shelf, folder), name=who, count=count, reading=_as_own(reading, who))


def _run_in(shelf: Shelf, folder: Path) -> str | None:
    """The id that the run in a folder has on the shelf."""
    return next((run.id for run in shelf.runs.values() if run.folder == folder), None)


def _folder(shelf: Shelf, dataset: Dataset, split: Split, who: str) -> Path:
    """The run of one person on one split; two names never share one."""
    plain = re.sub(r"[^a-z0-9]+", "-", who.lower()).strip("-")[:40]
    if plain != who:
        plain = f"{plain or 'reader'}-{hashlib.sha256(who.encode()).hexdigest()[:6]}"
    return shelf.own_readings / f"readings-by-{plain}" / f"{dataset.id}-{split.release.split}"


def _refuse_links(folder: Path, home: Path) -> None:
    """Nothing is written through a link that came with somebody's data: it may lead anywhere."""
    files = (folder / name for name in ("readings.jsonl", "spec.json"))
    inside = folder.resolve().is_relative_to(home.resolve())
    if not inside or any(file.is_symlink() for file in files):
        raise UsageError(
            "the folder of this person's readings is a link", remedy="put the folder itself there"
        )


def _spec(dataset: Dataset, split: Split, who: str) -> RunSpec:
    place = dataset.release_ref(split.release.split)
    return RunSpec(
        benchmark=place.benchmark,
        root=str(place.root),
        split=place.split,
        form=place.form,
        pictures=str(place.pictures) if place.pictures else None,
        reader=ReaderSpec(
            name="person", arguments={"name": who}, identity={"reader": "person", "name": who, "on": "page"}
        ),
        workflow=WorkflowSpec(name=None),
        versions=current_versions(),
    )


def _save(folder: Path, reading: Reading, spec: RunSpec, order: list[str]) -> int:
    """Append the reading, and have the spec name exactly the cases that were read."""
    with _open_store(folder) as store:
        begun = (folder / "spec.json").exists()
        before = read_spec(folder) if begun else spec
        if before.reader.identity != spec.reader.identity or before.root != spec.root:
            raise UsageError("the folder of this person's readings holds another run")
        read = {case for case, _ in scan_readings(folder).done} | {reading.case_id}
        # A person reads what they like: only what they read is scored.
        cases = tuple(case for case in order if case in read)
        now = before.model_copy(update={"cases": cases})
        if not begun:
            write_spec(folder, now)
            store.append(reading)
        else:
            store.append(reading)
            write_spec(folder, now)
        return len(cases)


def _open_store(folder: Path) -> ReadingStore:
    """The run, open for appending, as soon as no other window is saving."""
    until = time.monotonic() + _LOCK_TIMEOUT
    while True:
        try:
            return ReadingStore(folder)
        except UsageError:
            if time.monotonic() > until:
                raise OverreadError(
                    "another process is writing this person's readings", remedy="save again"
                ) from None
            time.sleep(0.02)


def _as_reading(own: OwnReading, case: Case, who: str) -> Reading:
    choice = (own.choice or "").strip() or None
    letters = [option.letter for option in case.options]
    if choice is not None and letters and choice not in letters:
        raise UsageError(f"'{choice}' is none of the options", remedy=f"give {', '.join(letters)}")
    findings = tuple(_finding(one, case) for one in own.findings if one.text.strip() or one.places)
    if not (choice or findings or _strip_or_none(own.report) or _strip_or_none(own.discussion)):
        raise UsageError("there is nothing to save", remedy="choose, or write a finding or a report")
    return Reading(
        case_id=case.id,
        reader=who,
        choice=choice,
        probabilities=_probabilities(choice, own.confidence, letters),
        rationale=_strip_or_none(own.rationale),
        findings=findings,
        report=_strip_or_none(own.report),
        discussion=_strip_or_none(own.discussion),
        trace=_trace(findings, own),
    )


def _strip_or_none(text: str | None) -> str | None:
    return (text or "").strip() or None


def _probabilities(choice: str | None, sure: float | None, letters: list[str]) -> dict[str, float] | None:
    if choice not in letters or sure is None:
        return None
    others = (1 - sure) / (len(letters) - 1) if len(letters) > 1 else 0.0
    return {letter: sure if letter == choice else others for letter in letters}


def _finding(own: OwnFinding, case: Case) -> Finding:
    if own.query is not None and own.query not in {query.id for query in case.queries}:
        raise UsageError(f"the case has no query '{own.query}'")
    regions = tuple(_region(place, case) for place in own.places)
    return Finding(text=own.text.strip(), regions=regions, query=own.query)


def _region(place: OwnPlace, case: Case) -> Box | Slices | Whole:
    picture = case.picture(place.picture)
    if place.kind == "whole":
        return Whole(picture=picture.name)
    if (place.kind == "box") != (picture.kind == "image"):
        raise UsageError("flat pictures have boxes, and volumes have slices")
    if place.kind == "slices":
        first, last = sorted((place.first, place.last))
        return Slices(picture=picture.name, axis=place.axis, first=first, last=last)
    x1, x2 = sorted((place.x1, place.x2))
    y1, y2 = sorted((place.y1, place.y2))
    box = Box(picture=picture.name, x1=x1, y1=y1, x2=x2, y2=y2, label=_strip_or_none(place.label))
    if not box.is_proper:
        raise UsageError("a box has no size", remedy="draw it again")
    return box


def _trace(findings: tuple[Finding, ...], own: OwnReading) -> Trace:
    """The findings as steps: a look at each place, then what was seen there."""
    steps = [Step(kind="say", text=SAW_TRUTH)] if own.saw_truth else []
    for finding in findings:
        if finding.regions:
            steps.append(Step(kind="look", regions=finding.regions))
        steps.append(Step(kind="say", text=finding.text, regions=finding.regions))
    said = _strip_or_none(own.report) or _strip_or_none(own.discussion) or _strip_or_none(own.choice)
    if said:
        steps.append(Step(kind="conclude", text=said))
    return Trace(steps=tuple(steps))


def _as_own(reading: Reading, who: str) -> OwnReading:
    """A kept reading as the page edits it."""
    sure = (reading.probabilities or {}).get(reading.choice or "")
    findings = []
    for finding in reading.findings or ():
        places = [
            OwnPlace(**region.model_dump(exclude_none=True))
            for region in finding.regions
            if isinstance(region, Box | Slices | Whole)
        ]
        findings.append(OwnFinding(text=finding.text, places=places, query=finding.query))
    steps = reading.trace.steps if reading.trace else ()
    return OwnReading(
        name=who,
        choice=reading.choice,
        confidence=sure,
        rationale=reading.rationale,
        findings=findings,
        report=reading.report,
        discussion=reading.discussion,
        saw_truth=any(step.text == SAW_TRUTH for step in steps),
    )
