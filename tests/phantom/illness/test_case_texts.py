"""Cases as text: whole MedThinkVQA entries, and discussions of what was found."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from overread.benchmarks.medthinkvqa.release import read_row
from overread.benchmarks.medthinkvqa.write import row_of
from overread.benchmarks.row_fields import RowFields
from overread.core import Entry
from overread.core.verdicts import SECTIONS
from overread.ontology import modalities
from overread.phantom.illness.discussion import write_discussion
from overread.phantom.illness.draft import Draft
from overread.phantom.illness.entries import (
    case_split,
    describe_planned_changes,
    list_planned,
    list_planned_ever,
    make_case,
    make_statement,
    make_text_entry,
    make_truth,
)
from overread.phantom.illness.finding_phrases import (
    describe_finding,
    describe_findings,
    find_words,
    finding_name,
    finding_noun,
)
from overread.phantom.illness.model import load_diseases
from overread.phantom.illness.sampler import draw_draft
from overread.phantom.population import FindingPlan, split_of
from overread.phantom.statement import FindingStatement
from overread.phantom.visit import PatientSettings

SETTINGS = PatientSettings(seed=4)


@pytest.fixture(scope="module")
def cases() -> list[tuple[Draft, Entry]]:
    drafts = [draw_draft(n, SETTINGS) for n in range(1, 601)]
    return [(draft, make_text_entry(draft, SETTINGS)) for draft in drafts]


def sections(text: str) -> dict[str, str]:
    parts = [part.split("\n", 1) for part in text.split("\n\n")]
    return {heading.lower(): body for heading, body in parts}


def test_an_entry_is_a_row_without_defects(cases: list[tuple[Draft, Entry]]) -> None:
    """Written as a row and read again it is the same, and nothing is found wrong with it."""
    for _, entry in cases:
        reader = RowFields(row_of(entry), file="test.jsonl", number=1)
        again = read_row(reader, split=entry.case.split, place=1)
        assert again == entry
        assert not reader.defects


def test_an_entry_says_what_the_draft_says(cases: list[tuple[Draft, Entry]]) -> None:
    """Key, interval, time points, files and modalities are those of the draft."""
    for draft, entry in cases:
        truth = entry.truth
        assert truth is not None
        options = {option.letter: option.text for option in entry.case.options}
        assert truth.answer == draft.answer
        assert options[draft.answer] == truth.answer_text
        assert truth.longitudinal == draft.longitudinal
        assert truth.timepoints == 1 + draft.longitudinal
        assert truth.interval == draft.interval
        assert truth.image_count == len(draft.pictures) == len(entry.case.pictures)
        assert entry.case.history == draft.history
        for look, picture, note in zip(draft.pictures, entry.case.pictures, truth.notes, strict=True):
            assert picture.file == f"images/case{draft.patient:05d}/{look.id}.jpg"
            assert note.modality == ("X-ray" if look.view else "CT")
            assert modalities().has_sub_modality(note.sub_modality or "")
            assert picture.timepoint == (look.time + 1 if draft.longitudinal else None)


def test_title_and_files_tell_nothing(cases: list[tuple[Draft, Entry]]) -> None:
    """Neither the title nor the case's own dump holds a word of the truth."""
    for draft, entry in cases[:100]:
        assert entry.truth is not None
        assert entry.truth.title == f"Case number {draft.patient:05d}"
        assert entry.case == make_case(
            replace(draft, answer="A", plans=(), extrapulmonary=()), entry.case.split
        )


def test_patients_of_val_are_counted_to_train() -> None:
    """The split is that of the other exams; there is no val."""
    for number in range(1, 21):
        assert case_split(number) == ("test" if split_of(number) == "test" else "train")


def test_text_is_drawn_from_a_stream_of_its_own(cases: list[tuple[Draft, Entry]]) -> None:
    """The same draft gives the same entry, in any order."""
    for draft, entry in reversed(cases[:20]):
        assert make_text_entry(draft, SETTINGS) == entry


def test_a_discussion_has_six_sections(cases: list[tuple[Draft, Entry]]) -> None:
    """All six, in order, none of them empty, and it is said that the patient is synthetic."""
    for _, entry in cases:
        assert entry.truth is not None
        assert entry.truth.discussion is not None
        found = sections(entry.truth.discussion)
        assert tuple(found) == SECTIONS
        assert all(body.endswith(".") for body in found.values())
        assert "synthetic" in found["outcome"]


def test_the_other_options_are_weighed(cases: list[tuple[Draft, Entry]]) -> None:
    """Each of the other four is named once, with what it would show or would not explain."""
    for draft, entry in cases:
        assert entry.truth is not None
        imaging = sections(entry.truth.discussion or "")["imaging perspective"]
        for option in draft.options:
            if option.letter != draft.answer:
                after = imaging.split(f"{option.text} would", 1)[1].split(".")[0]
                assert "explain" in after or "seen here" in after


def test_nothing_that_was_found_is_said_to_be_absent(cases: list[tuple[Draft, Entry]]) -> None:
    """'No X is seen here' is said of nothing that the patient has."""
    denied = 0
    for draft, entry in cases:
        assert entry.truth is not None
        marks = {finding_name(one) for one in list_planned_ever(draft)}
        said = re.findall(r"but no ([^.]+?) (?:is|are) seen here", entry.truth.discussion or "")
        denied += len(said)
        for mark in marks:
            assert find_words(mark).bare not in said
    assert denied > len(cases)


def test_the_findings_are_told(cases: list[tuple[Draft, Entry]]) -> None:
    """Imaging findings and discussion name every finding; captions only those of their day."""
    for draft, entry in cases:
        truth = entry.truth
        assert truth is not None
        for one in list_planned(draft, 0):
            words = finding_noun(one)[0]
            assert words in (truth.report or "")
            assert words in (truth.discussion or "")
        for look, finding in zip(draft.pictures, truth.findings, strict=True):
            there = {finding_name(one) for one in list_planned(draft, look.time)}
            for mark in {finding_name(one) for one in list_planned_ever(draft)} - there:
                assert find_words(mark).one not in finding.text


def test_what_changed_is_told(cases: list[tuple[Draft, Entry]]) -> None:
    """With two days the text says what became of what, with one day nothing of the kind."""
    phrases = {"gone": "no longer seen", "smaller": "smaller", "larger": "larger", "new": "new"}
    for draft, entry in cases:
        changes = describe_planned_changes(draft)
        if changes is None:
            assert not draft.longitudinal
            continue
        assert entry.truth is not None
        assert changes in (entry.truth.report or "")
        assert changes in (entry.truth.discussion or "")
        turns = {*draft.turns, *draft.extrapulmonary_turns} - {"same"}
        for turn, phrase in phrases.items():
            assert (phrase in changes) == (turn in turns), changes


def test_only_a_certain_place_is_stated() -> None:
    """One lobe, both lower lobes or a side are stated; one lobe of several is not."""
    certain = make_statement(FindingPlan("2b", "consolidation", ("lobe",), ("RUL",)))
    assert (certain.lobes, certain.side) == (("RUL",), "right")
    both = make_statement(FindingPlan("1d", "reticulation", ("lower",)))
    assert (both.lobes, both.side) == (("RLL", "LLL"), "both")
    fluid = make_statement(FindingPlan("2e", "effusion", ("lung",), ("LUL", "LLL")))
    assert (fluid.lobes, fluid.side) == ((), "left")
    for plan in (
        FindingPlan("2b", "consolidation", ("lobe",), ("RUL", "LUL")),
        FindingPlan("2b", "consolidation", ("lobe", "lower"), ("RUL",)),
        FindingPlan("2e", "effusion", ("lung",)),
    ):
        assert (make_statement(plan).lobes, make_statement(plan).side) == ((), None)


def test_measured_findings_are_told_with_size_and_place() -> None:
    """The discussion of a drawn case speaks of what was measured, not of what was planned."""
    draft = next(d for n in range(1, 300) if (d := draw_draft(n, SETTINGS)).disease == "lung_carcinoma")
    mark = draft.plans[0].kind
    seen = FindingStatement(category="2d", kind=mark, side="right", lobes=("RUL",), size_mm=23, count=1)
    text = write_discussion(draft, [seen], "It has grown.", np.random.default_rng(0))
    assert f"{describe_finding(seen)}" in text
    assert "23 mm in the right upper lobe" in text
    assert "It has grown." in sections(text)["outcome"]
    truth = make_truth(draft, ["x"] * len(draft.pictures), "r", text)
    assert truth.icd_category is not None
    assert truth.icd_category.startswith(load_diseases()["lung_carcinoma"].icd)


def test_findings_at_one_place_share_its_words() -> None:
    """Two findings in one lobe are told together, and a measured one keeps words of its own."""
    one = FindingStatement(category="2h", kind="cavity", side="right", lobes=("RUL",))
    two = FindingStatement(category="1e", kind="tree-in-bud", side="right", lobes=("RUL",))
    assert describe_findings([one, two]) == (
        "a thick-walled cavity and tree-in-bud nodules in the right upper lobe"
    )
    sized = one.model_copy(update={"size_mm": 31})
    assert "31 mm" in describe_findings([sized, two])


def test_wordings_vary(cases: list[tuple[Draft, Entry]]) -> None:
    """Discussions of one diagnosis are not all alike."""
    texts = [
        entry.truth.discussion for draft, entry in cases
        if draft.disease == "lobar_pneumonia" and entry.truth is not None
    ]  # fmt: skip
    assert len(texts) > 10
    assert len({sections(text or "")["background"] for text in texts}) >= 2
    assert len(set(texts)) == len(texts)
