"""The shared words, against what is published of them."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from overread.errors import UsageError
from overread.ontology import (
    education_dimensions,
    finding_tree,
    modalities,
    report_regions,
    step_errors,
    use_regions,
    xray_regions,
)
from overread.ontology.diagnoses import diagnoses, diagnoses_digest
from overread.ontology.icd10 import icd10_blocks, icd10_chapters, icd10_terms, icd10_titles

# Children of each parent, as ReXGroundingCT lists them.
CHILDREN = {"1": "abcdef", "2": "abcdefgh", "3": "abcdefghijk", "4": "abcd", "5": "abc"}
CHILDREN |= {"6": "abcde", "7": "abcde", "8": "abcdefg", "9": "abcdef", "10": "abc", "11": "abc"}
IMAGENOME = """right lung,right apical zone,right upper lung zone,right mid lung zone,
right lower lung zone,right hilar structures,right costophrenic angle,right hemidiaphragm,
right clavicle,left lung,left apical zone,left upper lung zone,left mid lung zone,
left lower lung zone,left hilar structures,left costophrenic angle,left hemidiaphragm,
left clavicle,trachea,spine,aortic arch,mediastinum,upper mediastinum,svc,cardiac silhouette,
cavoatrial junction,right atrium,carina,abdomen"""
SEVEN = """left cardiac silhouette,right cardiac silhouette,left cardiophrenic angle,
right cardiophrenic angle,descending aorta,left upper abdomen,right upper abdomen"""


def names(text: str) -> set[str]:
    return {name.strip() for name in text.replace("\n", "").split(",")}


def test_the_tree_has_twelve_parents_and_all_children() -> None:
    """Codes are those of the release; bone lesions are 3j, and 'other' is a category itself."""
    tree = finding_tree()
    assert [parent.code for parent in tree.parents] == [str(n) for n in range(1, 13)]
    expected = {f"{parent}{child}" for parent, letters in CHILDREN.items() for child in letters}
    assert set(tree.categories) == expected | {"12"}
    assert tree.categories["3j"].name == "bone lesion"
    for code in expected:
        assert tree.parent_of(code).code == code.rstrip("abcdefghijk")


def test_parent_one_is_not_focal_and_parent_two_is() -> None:
    """The two annotated parents have the authors' flag, and every category has one."""
    categories = finding_tree().categories
    assert {code for code, c in categories.items() if c.focal and code[:-1] == "1"} == set()
    assert all(c.focal for code, c in categories.items() if code[:-1] == "2")
    assert all(isinstance(c.focal, bool) for c in categories.values())


def test_thirty_five_regions_are_the_29_and_six_of_seven() -> None:
    """Our choice is what the docs say it is."""
    chosen = set(xray_regions().names)
    assert len(xray_regions().names) == len(chosen) == 35
    assert names(IMAGENOME) <= chosen
    assert len(chosen & names(SEVEN)) == 6
    assert xray_regions().ours


def test_bilateral_names_mean_both_sides() -> None:
    """GEMeX speaks of pairs; each pair becomes its right and its left."""
    regions = xray_regions()
    assert regions.find("bilateral lungs") == ("right lung", "left lung")
    assert regions.find("Bilateral Costophrenic Angles")[1] == "left costophrenic angle"
    assert regions.find("both hila") == ("right hilar structures", "left hilar structures")
    assert regions.find("cardiac silhouette") == ("cardiac silhouette",)
    assert len(regions.find("lung region")) == 10


def test_the_user_can_bring_other_regions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of the same shape replaces ours, by argument or by the environment."""
    file = tmp_path / "regions.toml"
    file.write_text('title="t"\nsource="s"\n[[group]]\nname="all"\nsingle=["thorax"]\n')
    assert xray_regions(file).names == ("thorax",)
    monkeypatch.setenv("OVERREAD_REGIONS", "")
    use_regions(file)
    assert xray_regions().names == ("thorax",)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"title = ", "not a TOML file"),
        (b"\xff\xfe", "not a TOML file"),
        (b"title = " + b"[" * 20_000, "nested too deeply"),
        (b'title = "t"\nsource = "s"\n', "group"),
        (b'title = "t"\nsource = "s"\ngroup = [{nom = "x"}]\n', "group.0"),
    ],
)
def test_a_bad_region_file_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    """What is wrong with the user's file is one sentence with its path."""
    file = tmp_path / "bad.toml"
    file.write_bytes(content)
    with pytest.raises(UsageError, match=said) as caught:
        xray_regions(file)
    assert str(file) in str(caught.value)
    with pytest.raises(UsageError, match="no such"):
        xray_regions(tmp_path / "none.toml")


def test_modalities_errors_dimensions_and_report_regions() -> None:
    """Nine modalities, four step errors, five dimensions of 0 to 2, seven report regions."""
    assert len(modalities().items) == 9
    assert modalities().find("mr") is modalities().find("MRI")
    assert modalities().find("tea leaves") is None
    assert modalities().has_sub_modality("HRCT / Thin-slice CT")
    assert len(step_errors().item) == 4
    assert (
        len(education_dimensions().item),
        education_dimensions().lowest,
        education_dimensions().highest,
    ) == (5, 0, 2)
    assert "".join(term.code for term in report_regions().item) == "LHMCNBA"


def test_icd10_is_whole() -> None:
    """22 chapters, 263 blocks without overlap, 2,050 categories, each in one block and one chapter."""
    assert (len(icd10_chapters()), len(icd10_blocks()), len(icd10_titles())) == (22, 263, 2050)
    for ranges in (icd10_chapters(), icd10_blocks()):
        spans = sorted((one.first, one.last) for one in ranges)
        assert all(one[1] < other[0] for one, other in itertools.pairwise(spans))
        for code, title in icd10_titles().items():
            assert title == title.strip() != ""
            assert sum(first <= code <= last for first, last in spans) == 1, code


def test_every_term_of_icd10_stands_in_a_category_and_only_once() -> None:
    """No name leads to two categories, and none to one that is not there."""
    assert len({name for _, name in icd10_terms()}) == len(icd10_terms()) > 10_000
    assert {code for code, _ in icd10_terms()} <= set(icd10_titles())


def test_no_name_is_of_two_diagnoses() -> None:
    """A list in which a name meant two things would take one diagnosis for another."""
    owners: dict[str, str] = {}
    for one in diagnoses():
        for name in {name.casefold() for name in (*one.names, *one.also)}:
            assert owners.setdefault(name, one.names[0]) == one.names[0], name
    assert len(diagnoses()) > 700


def test_a_file_of_diagnoses_adds_or_replaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the house's list, or in its place where it says so; by argument or for the whole house."""
    file = tmp_path / "own.toml"
    file.write_text('[[diagnosis]]\nnames = ["quarrelsomeness"]\n')
    assert [one.names[0] for one in diagnoses(file)][-1] == "quarrelsomeness"
    assert len(diagnoses(file)) == len(diagnoses()) + 1
    assert diagnoses_digest() is None
    other = tmp_path / "other.toml"
    other.write_text('replaces = true\n[[diagnosis]]\nnames = ["quarrelsomeness"]\n')
    monkeypatch.setenv("OVERREAD_DIAGNOSES", str(other))
    assert [one.names for one in diagnoses()] == [("quarrelsomeness",)]
    assert diagnoses_digest() != diagnoses_digest(file)
    monkeypatch.setenv("OVERREAD_DIAGNOSES", str(tmp_path / "gone.toml"))
    with pytest.raises(UsageError, match=r"gone\.toml"):
        diagnoses()
