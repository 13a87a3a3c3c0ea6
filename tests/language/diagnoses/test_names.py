"""Names of diagnoses: which one an option means, and what is no name of it."""

from __future__ import annotations

import pytest

from overread.language.diagnoses.names import DiagnosisNames, bundled_names
from overread.language.diagnoses.words import WordIndex
from overread.ontology.diagnoses import Diagnosis


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ("Osler-Weber-Rendu disease", "hereditary haemorrhagic telangiectasia"),
        ("Bechterew's disease", "ankylosing spondylitis"),
        ("XGP", "xanthogranulomatous pyelonephritis"),
        ("Pott disease", "tuberculous spondylitis"),
        ("Osteogenic sarcoma", "osteosarcoma"),
        ("Acute ruptured abdominal aortic aneurysm", "abdominal aortic aneurysm"),
        ("Valley fever", "coccidioidomycosis"),
    ],
)
def test_eponyms_and_acronyms_are_known(option: str, name: str) -> None:
    """Of the whole body, not of the phantom's chest alone."""
    known = bundled_names().find(option)
    assert known is not None
    assert known.names[0] == name


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Tuberous sclerosis", "Neurofibromatosis"),
        ("Osteosarcoma", "Ewing sarcoma"),
        ("Volvulus", "Intussusception"),
        ("Glioblastoma", "Medulloblastoma"),
        ("Oncocytoma", "Angiomyolipoma"),
        ("Takayasu arteritis", "Granulomatosis with polyangiitis"),
    ],
)
def test_unlike_diseases_of_one_category_are_no_names_of_each_other(one: str, other: str) -> None:
    """They stood in one entry of the list, and each counted as a synonym of the other."""
    assert bundled_names().find_mentions(WordIndex(f"Treated for {other} in May."), [one]) == []


def test_the_name_of_one_option_is_no_synonym_of_another() -> None:
    """Where a list takes two options for one disease, each is named by its own words alone."""
    names = DiagnosisNames([Diagnosis(names=("alpha disease", "beta disease"), also=("gammosis",))])
    text = WordIndex("Beta disease, also called gammosis.")
    found = names.find_mentions(text, ["Alpha disease", "Beta disease"])
    assert [(one.about, one.way) for one in found] == [
        ("Beta disease", "name"),
        ("Alpha disease", "synonym"),
        ("Beta disease", "synonym"),
    ]
    assert [one.way for one in names.find_mentions(text, ["Alpha disease"])] == ["synonym", "synonym"]


def test_an_acronym_within_an_option_needs_its_capitals() -> None:
    """`find_within` takes PE for an embolism and no part of a word, nor a small word, for it."""
    names = bundled_names()
    meant = names.find_within("Massive PE of both lungs")
    assert meant is not None
    assert meant.key == "pulmonary-embolism"
    assert names.find_within("pe of peas") is None
