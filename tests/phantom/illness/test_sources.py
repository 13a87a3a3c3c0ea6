"""Raw cases: more differentials than options, and what is planted is where it is said to be."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from overread.phantom.illness.draft import Draft
from overread.phantom.illness.entries import make_text_entry
from overread.phantom.illness.model import are_distinguishable, load_diseases, load_diseases_by_option
from overread.phantom.illness.raw_cases import KIND_SHARES, PlantedHint, make_raw_case
from overread.phantom.illness.sampler import draw_draft
from overread.phantom.visit import PatientSettings

SETTINGS = PatientSettings(seed=9)
NUMBER = 1500
Row = tuple[Draft, dict[str, Any], PlantedHint]


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    found = []
    for number in range(1, NUMBER + 1):
        draft = draw_draft(number, SETTINGS)
        found.append((draft, *make_raw_case(draft, make_text_entry(draft, SETTINGS), SETTINGS)))
    return found


def test_kinds_have_the_stated_shares(rows: list[Row]) -> None:
    """Each kind is as frequent as stated, within chance."""
    assert sum(KIND_SHARES.values()) == pytest.approx(1)
    seen = Counter(planted.kind for _, _, planted in rows)
    for kind, share in KIND_SHARES.items():
        assert abs(seen[kind] / NUMBER - share) < 4 * (share * (1 - share) / NUMBER) ** 0.5


def test_eligible_cases_have_more_than_five_differentials(rows: list[Row]) -> None:
    """Six to nine with all five options, or three to four and not eligible; the key among them."""
    for draft, row, planted in rows:
        listed = row["differential"]
        assert len(set(listed)) == len(listed)
        assert row["final_diagnosis"] in listed
        texts = {option.text for option in draft.options}
        if planted.eligible:
            assert 6 <= len(listed) <= 9
            assert texts <= set(listed)
        else:
            assert planted.kind == "few"
            assert 3 <= len(listed) <= 4
            assert set(listed) <= texts


def test_any_differential_is_told_from_the_key_by_findings(rows: list[Row]) -> None:
    """Whichever four a builder keeps, the findings decide."""
    for _, row, _ in rows:
        right = load_diseases_by_option()[row["final_diagnosis"]]
        others = [load_diseases_by_option()[text] for text in row["differential"]]
        assert len({other.code for other in others}) == len(others)
        assert all(are_distinguishable(right, other) for other in others if other != right)


def test_spans_are_exact(rows: list[Row]) -> None:
    """What is planted stands at its span; without it the history is that of the case."""
    for draft, row, planted in rows:
        if planted.span is None:
            assert row["history"] == draft.history
            assert planted.kind in ("clean", "few")
            continue
        start, end = planted.span
        assert row["history"][start:end] == planted.evidence
        assert planted.diagnosis in row["differential"]
        assert planted.is_key == (planted.diagnosis == row["final_diagnosis"])
        for sentence in re.split(r"(?<=\.) ", draft.history):
            assert sentence in row["history"]


def test_levels_are_what_they_are_called(rows: list[Row]) -> None:
    """L3 and L1 say the name, L1 with a hedge; L2 says another name of the same diagnosis."""
    hedges = re.compile(r"(?:\? |rule out |uspected |possibly consistent with |r/o )$")
    keys = Counter[bool | None]()
    for _, row, planted in rows:
        if planted.level is None or planted.diagnosis is None or planted.span is None:
            continue
        keys[planted.is_key] += 1
        before = row["history"][: planted.span[0]]
        if planted.level == "L2":
            assert planted.evidence in load_diseases_by_option()[planted.diagnosis].also
            assert planted.evidence not in load_diseases_by_option()
        else:
            assert (planted.evidence or "").lower() == planted.diagnosis.lower()
            assert bool(hedges.search(before)) == (planted.level == "L1")
    assert 0.6 < keys[True] / sum(keys.values()) < 0.8


def test_clues_name_no_diagnosis(rows: list[Row]) -> None:
    """What is solvable from text is so without a name, and the clue is that of the key."""
    names = {name.lower() for d in load_diseases().values() for name in (*d.options, *d.also)}
    clues = [(row, planted) for _, row, planted in rows if planted.kind == "clue"]
    assert len({planted.diagnosis for _, planted in clues}) > 20
    for row, planted in clues:
        assert planted.is_key
        text = (planted.evidence or "").lower()
        assert not any(re.search(rf"\b{re.escape(name)}\b", text) for name in names)
        assert "{" not in row["history"]


def test_the_discussion_speaks_of_all_differentials(rows: list[Row]) -> None:
    """A builder who drops a differential has something to prune."""
    for _, row, _ in rows[:200]:
        for text in row["differential"]:
            assert text == row["final_diagnosis"] or f"{text} would" in row["discussion"]


def test_a_raw_case_is_drawn_from_its_own_stream(rows: list[Row]) -> None:
    """Drawn alone it is the same, and planting changes nothing of the case."""
    draft, row, planted = rows[17]
    entry = make_text_entry(draft, SETTINGS)
    assert make_raw_case(draft, entry, SETTINGS) == (row, planted)
    assert [image["file"] for image in row["images"]] == [p.file for p in entry.case.pictures]
    assert all(image["caption"] for image in row["images"])
