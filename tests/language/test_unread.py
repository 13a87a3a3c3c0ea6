"""Which sentences were not read, and which say nothing that could be missed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.language.compare import compare_statements
from overread.language.statements import find_statements
from overread.language.text import split_sentences
from overread.language.unread import read_statements, unlike
from overread.metrics.clinical.errors import count_errors

ORDINARY = [
    "The lungs are clear.",
    "The visualized bony structures, including the ribs, appear intact.",
    "The cardiomediastinal silhouette is within normal limits.",
    "Trachea is midline.",
    "Mediastinal contours are unchanged.",
    "No acute osseous abnormality is identified.",
    "There is no frobnitz.",
    "PA and lateral views of the chest were obtained.",
    "The patient is a 72-year-old male.",
    "Clinical correlation is recommended.",
    "TECHNIQUE: Axial slices were frobnicated.",
]
UNREAD = [
    "The frobnitz is elevated.",
    "Mild midline frobnication.",
    "Stable frobnitz.",
    "No change of the frobnitz.",
    "The chest radiograph shows a frobnitz.",
    "Stable disease of the left lung.",
    "The frobnitz is not midline.",
    "The frobnitz is normal except for a gribble.",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_sentences_hide_nothing(text: str) -> None:
    assert read_statements(text).unread == []


@pytest.mark.parametrize("text", UNREAD)
def test_what_has_an_unknown_word_was_not_read(text: str) -> None:
    assert find_statements(text) == []
    assert len(read_statements(text).unread) == 1


@pytest.mark.parametrize(
    ("text", "sides"),
    [
        ("The lungs are clear.", {"right", "left"}),
        ("Both lungs appear clear.", {"right", "left"}),
        ("Clear lungs.", {"right", "left"}),
        ("The left lung is clear.", {"left"}),
        ("The right lung remains clear. Left lung is clear.", {"right", "left"}),
        ("The lungs are otherwise clear.", set()),
        ("The lungs are clear except for a nodule.", set()),
        ("The lung bases are clear.", set()),
        ("It is clear that the lungs are abnormal.", set()),
    ],
)
def test_lungs_that_are_called_clear(text: str, sides: set[str]) -> None:
    assert read_statements(text).clear == sides


WORDS = st.sampled_from(
    "the lungs are clear frobnitz no normal elevated right left nodule . unchanged".split()
)


@settings(max_examples=80, deadline=None)
@given(st.lists(WORDS, max_size=40), st.lists(WORDS, max_size=40))
def test_whatever_the_texts(one: list[str], two: list[str]) -> None:
    """Every sentence is read, ordinary or unread; a text lacks nothing of itself; no sentence costs over 1."""
    a, b = (read_statements(" ".join(words)) for words in (one, two))
    assert a.statements == find_statements(" ".join(one))
    assert a.sentences == len(split_sentences(" ".join(one)))
    assert len(a.unread) <= a.sentences
    assert unlike(a.unread, a.unread) == 0
    assert 0 <= unlike(a.unread, b.unread) <= len(a.unread)
    assert not count_errors(compare_statements(a.statements, a.statements), a, a)["errors"]


@pytest.mark.shared
def test_most_real_sentences_are_read_or_ordinary(shared: Path) -> None:
    """1,000 reports of Open-i: at most one sentence in ten is not read, and some are."""
    rows = (shared / "reports" / "openi_reports.jsonl").read_text("utf-8").splitlines()[::4][:1000]
    told = [
        read_statements(f"{row['findings'] or ''} {row['impression'] or ''}") for row in map(json.loads, rows)
    ]
    share = sum(len(one.unread) for one in told) / sum(one.sentences for one in told)
    assert 0.005 < share < 0.10
