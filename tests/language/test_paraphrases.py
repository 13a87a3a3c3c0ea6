"""One finding in other words: verbs for nouns, other orders, lists, headings; told, denied, normal."""

from __future__ import annotations

import pytest

from overread.language.statements import find_statements


def read(text: str) -> set[tuple[str, str]]:
    """What a text states: observations and whether each is there."""
    return {(one.observation, one.presence) for one in find_statements(text)}


@pytest.mark.parametrize(
    "text",
    [
        "It is not observed pneumothorax.",
        "It was not detected any pneumothorax.",
        "There is not seen pneumothorax.",
        "Not identified: pneumothorax.",
        "Pneumothorax is not observed.",
        "Other findings of the chest: No pneumothorax on either of the two sides.",
    ],
)
def test_a_denial_may_come_before_what_it_denies(text: str) -> None:
    assert read(text) == {("pneumothorax", "absent")}


@pytest.mark.parametrize(
    "text", ["A pneumothorax, not observed on the earlier film.", "It is observed a pneumothorax."]
)
def test_what_is_told_stays_told(text: str) -> None:
    assert ("pneumothorax", "present") in read(text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("The aorta is calcified and tortuous.", {"arterial calcification", "tortuous aorta"}),
        ("Tortuous, calcified aorta.", {"arterial calcification", "tortuous aorta"}),
        ("Tortuous and mildly calcified aorta.", {"arterial calcification", "tortuous aorta"}),
        ("The left hilum is enlarged and elevated.", {"hilar enlargement", "volume loss"}),
        ("Left hemidiaphragm elevated and indistinct.", {"elevated hemidiaphragm", "obscured contour"}),
        ("Blood and air in the right pleural cavity.", {"pleural effusion", "pneumothorax"}),
        ("Behind the heart lies a big hiatus hernia.", {"hiatal hernia"}),
        ("Elevated and fractured right sixth rib beside the hemidiaphragm.", {"fracture"}),
    ],
)
def test_words_of_a_list_share_their_place(text: str, names: set[str]) -> None:
    assert {name for name, _ in read(text)} == names
