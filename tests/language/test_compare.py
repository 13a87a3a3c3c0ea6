"""Two reports side by side."""

from __future__ import annotations

import random
from functools import partial
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.language import statements
from overread.language.compare import ReportComparison, compare_reports, compare_statements
from overread.language.findings import merge_statements
from overread.language.statements import Statement, find_statements
from overread.language.text import Span
from tests.timing import count_calls, cpu_seconds

SENTENCES = [
    "A 7 mm nodule is seen in the right upper lobe.",
    "There is a 15 mm nodule in the left lower lobe.",
    "Small left pleural effusion.",
    "No pericardial effusion.",
    "Linear atelectasis in the left lower lobe.",
    "Consolidation in the right lower lobe.",
    "Emphysema in both upper lobes.",
    "No pneumothorax.",
    "Possible pneumonia in the right middle lobe.",
    "Mild cardiomegaly.",
    "Calcified plaques in the aorta and the coronary arteries.",
    "Hiatal hernia.",
]


def names(told: ReportComparison) -> dict[str, list[str]]:
    """Observations of every list, and the fields of the conflicts."""
    return {
        "agreements": [m.reference.statement.observation for m in told.agreements],
        "conflicts": [f"{m.reference.statement.observation}: {c.name}" for m in told.conflicts for c in m.conflicts],
        "omissions": [f.statement.observation for f in told.omissions],
        "additions": [f.statement.observation for f in told.additions],
        "minor": [f.statement.observation for f in (*told.minor_omissions, *told.minor_additions)],
    }  # fmt: skip


def alone(told: ReportComparison) -> int:
    """How many findings disagree in any way that counts."""
    return len(told.conflicts) + len(told.omissions) + len(told.additions)


def test_a_report_agrees_with_itself() -> None:
    """Nothing is left over, whatever the order."""
    text = " ".join(SENTENCES)
    for other in (text, " ".join(reversed(SENTENCES))):
        told = compare_reports(text, other)
        assert not alone(told)
        assert not told.minor_omissions + told.minor_additions
        assert (told.precision, told.recall, told.f1) == (1, 1, 1)


def test_omissions_additions_and_denials() -> None:
    """What one says is there counts; what one denies and the other passes over does not."""
    told = compare_reports(
        "Emphysema. Hiatal hernia. No pleural effusion. No pneumothorax.",
        "Emphysema. Cardiomegaly. No pneumothorax. No pericardial effusion.",
    )
    assert names(told) == {
        "agreements": ["emphysema", "pneumothorax"],
        "conflicts": [],
        "omissions": ["hiatal hernia"],
        "additions": ["cardiomegaly"],
        "minor": ["pleural effusion", "pericardial effusion"],
    }
    assert (told.found_count, told.reference_count, told.other_count) == (1, 2, 2)
    assert (told.precision, told.recall, told.f1) == (0.5, 0.5, 0.5)


@pytest.mark.parametrize(
    ("reference", "other", "conflict", "words"),
    [
        ("Right pleural effusion.", "Left pleural effusion.", "side", ("Right", "Left")),
        ("Bilateral pleural effusion.", "Right pleural effusion.", "side", ("Bilateral", "Right")),
        ("Nodule in the right upper lobe.", "Nodule in the right lower lobe.", "lobes", ("right upper lobe", "right lower lobe")),
        ("A 5 mm nodule.", "A 9 mm nodule.", "size", ("5 mm", "9 mm")),
        ("Pleural effusion.", "No pleural effusion.", "presence", ("Pleural effusion", "No")),
        ("Possible pneumonia.", "Pneumonia.", "presence", ("Possible", "Pneumonia")),
        ("Mild emphysema.", "Severe emphysema.", "severity", ("Mild", "Severe")),
        ("Two nodules in the right lung.", "Three nodules in the right lung.", "count", ("Two", "Three")),
        ("Stable nodule.", "New nodule.", "comparison", ("Stable", "New")),
    ],
)  # fmt: skip
def test_conflicts(reference: str, other: str, conflict: str, words: tuple[str, str]) -> None:
    """Each field that both tell differently, with the words in both texts."""
    told = compare_reports(reference, other)
    (match,) = told.conflicts
    (found,) = match.conflicts
    assert found.name == conflict
    assert (found.reference_span.extract(reference), found.other_span.extract(other)) == words
    assert not told.omissions + told.additions


@pytest.mark.parametrize(
    ("reference", "other"),
    [
        ("A 10 mm nodule.", "An 11 mm nodule."),  # one millimetre
        ("A 50 mm mass.", "A 46 mm mass."),  # a tenth
        ("A 1.2 cm nodule.", "A nodule of 12 mm."),
        ("Atelectasis in the left lower lobe.", "Linear atelectasis in the left lower lobe."),
        ("Nodule in the right upper lobe.", "Nodule in the right lung."),  # told less closely
        ("Small pleural effusion.", "Pleural effusion."),
    ],
)
def test_no_conflicts(reference: str, other: str) -> None:
    """Tolerances, kinds of the same thing, and what only one of them tells."""
    told = compare_reports(reference, other)
    assert len(told.agreements) == 1
    assert not alone(told)


def test_another_observation_of_the_category_is_a_conflict() -> None:
    """It is shown side by side and counts as not found; at another place it is no partner."""
    told = compare_reports("Consolidation in the right lower lobe.", "Atelectasis in the right lower lobe.")
    assert names(told)["conflicts"] == ["consolidation: observation"]
    assert told.f1 == 0
    told = compare_reports("Consolidation in the right lower lobe.", "Atelectasis in the left lower lobe.")
    assert (len(told.omissions), len(told.additions)) == (1, 1)


def test_mentions_are_merged() -> None:
    """The impression repeats findings, with less detail; other places and sizes are others."""
    text = (
        "Findings: A 7 mm nodule in the right upper lobe. A 15 mm nodule in the left lower lobe. "
        "Linear atelectasis in the left lower lobe. No pleural effusion.\n"
        "Impression: Nodules. Atelectasis. No effusion."
    )
    found = merge_statements(find_statements(text))
    assert [finding.statement.observation for finding in found] == [
        "nodule",
        "nodule",
        "linear atelectasis",
        "pleural effusion",
    ]
    assert sorted(len(finding.mentions) for finding in found) == [1, 2, 2, 2]
    assert [finding.statement.size_mm for finding in found[:2]] == [7, 15]
    assert compare_reports(text, text.split("Impression")[0]).f1 == 1


def test_denied_here_and_there_elsewhere() -> None:
    """What is there on the right is not contradicted by what is denied on the left."""
    told = compare_reports("No left pneumothorax.", "Right pneumothorax.")
    assert names(told) | {"agreements": []} == {
        "agreements": [], "conflicts": [], "omissions": [],
        "additions": ["pneumothorax"], "minor": ["pneumothorax"],
    }  # fmt: skip
    told = compare_reports("No new nodule.", "A 5 mm nodule, unchanged.")
    assert not told.conflicts


def test_matching_is_the_best_one() -> None:
    """Nodules find their own by place and size, in any order."""
    nodules = [
        "A 4 mm nodule in the right upper lobe.",
        "A 9 mm nodule in the right lower lobe.",
        "A 14 mm nodule in the left upper lobe.",
        "A 20 mm nodule in the left lower lobe.",
    ]
    text = " ".join(nodules)
    for order in permutations(nodules):
        assert len(compare_reports(text, " ".join(order)).agreements) == 4
    told = compare_reports(text, " ".join(nodules[1:]))
    assert [f.statement.size_mm for f in told.omissions] == [4]


def test_empty_reports() -> None:
    """Two reports that state nothing agree; one that states something does not."""
    assert compare_reports("", "").f1 == 1
    told = compare_reports("Emphysema.", "")
    assert (told.precision, told.recall, told.f1) == (1, 0, 0)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(SENTENCES), max_size=14), st.lists(st.sampled_from(SENTENCES), max_size=14))  # fmt: skip
def test_whatever_the_reports(one: list[str], two: list[str]) -> None:
    """Everything is in one list, spans are real, and swapping the reports swaps the lists."""
    a, b = " ".join(one), " ".join(two)
    told, back = compare_reports(a, b), compare_reports(b, a)
    ours, theirs = merge_statements(find_statements(a)), merge_statements(find_statements(b))
    assert len(told.matches) + len(told.omissions) + len(told.minor_omissions) == len(ours)
    assert len(told.matches) + len(told.additions) + len(told.minor_additions) == len(theirs)
    assert (len(told.omissions), len(told.additions)) == (len(back.additions), len(back.omissions))
    assert told.f1 == back.f1
    assert 0 <= told.f1 <= 1
    assert told == compare_reports(a, b)
    assert type(told).model_validate_json(told.model_dump_json()) == told


def test_comparing_costs_little_beside_reading() -> None:
    """Two reports of 60 sentences not seen before: comparing makes less than half of the calls."""
    picks = random.Random(1)
    one, two = (" ".join(picks.choices(SENTENCES, k=60)) for _ in range(2))
    read = find_statements(one), find_statements(two)
    compare_statements(*read)  # Loads what every comparison needs.
    comparing = count_calls(lambda: compare_statements(*read))
    statements._read_remembered.cache_clear()
    assert comparing < count_calls(lambda: compare_reports(one, two)) / 2


def test_more_findings_than_any_report_has() -> None:
    """Hundreds of nodules that cannot be merged find their own; twice as many take no ages."""
    places = [
        (lobe, zone) for lobe in ("RUL", "RML", "RLL", "LUL", "LLL") for zone in ("upper", "mid", "lower")
    ]
    found = [
        Statement(
            observation="nodule", category="2d", region="L", presence="present",
            span=Span(start=n, end=n + 1), sentence=Span(start=n, end=n + 1),
            size_mm=round(5 * 1.25 ** (n // 15), 1), lobes=(places[n % 15][0],), zones=(places[n % 15][1],),
        )
        for n in range(450)
    ]  # fmt: skip
    assert len(compare_statements(found, found).agreements) == 450
    half, whole = (cpu_seconds(partial(compare_statements, found[:n], found[:n])) for n in (225, 450))
    assert whole < 10 * half + 0.1
