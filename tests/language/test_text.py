"""Text into sentences and sections: each is a piece of the original."""

from __future__ import annotations

import itertools
import tomllib
from pathlib import Path
from typing import Any

import pytest

from overread.language.text import split_sections, split_sentences

FILE = tomllib.loads((Path(__file__).parent / "sentence_cases.toml").read_text("utf-8"))


def told(text: str) -> list[str]:
    return [" ".join(s.extract(text).split()) for s in split_sentences(text)]


@pytest.mark.parametrize("case", FILE["case"], ids=lambda case: repr(case["text"][:40]))
def test_sentences(case: dict[str, Any]) -> None:
    wanted = [case["sentences"], *case.get("also", [])]
    plain = [[" ".join(line.split()) for line in option] for option in wanted]
    assert told(case["text"]) in plain


def test_sections_cover_the_text_under_their_headings() -> None:
    text = "CT of the chest.\nFINDINGS: A nodule. No effusion.\nImpression:\n1. Nodule.\n"
    found = [(name, span.extract(text).strip()) for name, span in split_sections(text)]
    assert found == [
        ("", "CT of the chest."),
        ("findings", "A nodule. No effusion."),
        ("impression", "1. Nodule."),
    ]
    assert {s.section for s in split_sentences(text)} == {"", "findings", "impression"}


def test_sentences_are_ordered_and_do_not_overlap() -> None:
    text = "A nodule of 4.5 mm is seen. No effusion; Heart size is normal."
    found = split_sentences(text)
    assert all(one.end <= two.start for one, two in itertools.pairwise(found))
    assert [s.extract(text) for s in found][1] == "No effusion;"
