"""One finding in other words: verbs for nouns, other orders, lists, headings; told, denied, normal."""

from __future__ import annotations

import pytest

from overread.language.compare import compare_reports
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
        "I cannot see any pneumothorax.",
        "We are unable to identify a pneumothorax.",
        "Other findings of the chest: No pneumothorax on either of the two sides.",
    ],
)
def test_a_denial_may_come_before_what_it_denies(text: str) -> None:
    assert read(text) == {("pneumothorax", "absent")}


@pytest.mark.parametrize(
    "text",
    [
        "A pneumothorax, not observed on the earlier film.",
        "It is observed a pneumothorax.",
        "The pneumothorax has partially resolved.",
        "Pneumothorax, largely resolved since yesterday.",
    ],
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


# A sentence that tells a sign with a verb or another noun, one that denies it, and what it is.
SAME = [
    (
        "The left lower lobe is moderately compressed.",
        "The lobe of the lung is not compressed.",
        "atelectasis",
    ),
    ("Rib 7 is destroyed.", "The ribs show no destruction.", "bone lesion"),
    ("Erosion of the fourth rib.", "The ribs are not eroded.", "bone lesion"),
    ("The pleura is thickened to 12 mm.", "The pleura is not thickened.", "pleural thickening"),
    ("Calcified diaphragmatic plaques.", "No diaphragmatic plaque.", "pleural thickening"),
    (
        "The right hemidiaphragm sits 40 mm higher than the left.",
        "The right hemidiaphragm is not pushed up.",
        "elevated hemidiaphragm",
    ),
    ("The left hilum is pulled up.", "The hilum is not pulled up.", "volume loss"),
    ("Aortic elongation.", "No elongation of the aorta.", "tortuous aorta"),
    ("T8 shows mild loss of vertebral height.", "No loss of vertebral body height.", "fracture"),
    ("The height of the vertebral body is reduced.", "No reduced vertebral height.", "fracture"),
    ("Liquid in the right pleural space.", "No free liquid in the pleural cavity.", "pleural effusion"),
    ("Patchy contusion in the left mid zone.", "No contusion of the lung.", "pulmonary hemorrhage"),
    ("Laceration of the left lower lobe.", "The lung is not lacerated.", "pulmonary hemorrhage"),
    ("The lungs show severe granularity.", "No granularity of the lungs.", "lung opacity"),
    ("Reticulogranular pattern of both lungs.", "No reticulogranular opacities.", "lung opacity"),
    ("Mid zones show a fine nodular pattern.", "No nodular shadowing in the lungs.", "lung opacity"),
    (
        "The right paratracheal stripe is thickened.",
        "Paratracheal stripe not widened.",
        "mediastinal widening",
    ),
    ("The aorta is dissected.", "The aorta is not dissected.", "stenosis"),
    ("The left main bronchus is narrowed.", "The trachea is not narrowed.", "stenosis"),
    ("A UVC ends over the liver.", "The umbilical venous catheter has been removed.", "central line"),
    ("Bronchial arteries are enlarged.", "No hypertrophied bronchial arteries.", "enlarged bronchial artery"),
    ("A cavity with an air crescent.", "No air crescent.", "cavity"),
    ("Strain of the right ventricle.", "No right ventricular strain.", "chamber enlargement"),
    (
        "Occupation of the left costophrenic sinus.",
        "Costophrenic sinuses are free.",
        "blunted costophrenic angle",
    ),
    ("The left dome of the diaphragm is high.", "The diaphragm is not pushed up.", "elevated hemidiaphragm"),
    ("The mediastinum is abnormally wide.", "The mediastinum is not widened.", "mediastinal widening"),
    ("The liver is diffusely fatty.", "The liver is not fatty.", "hepatic steatosis"),
    ("The lungs are poorly inflated.", "The lungs are well inflated.", "low lung volume"),
    ("The spine curves mildly to the right.", "The spine is not curved.", "spinal curvature"),
    ("The bones are demineralised.", "The bones are not demineralised.", "osteopenia"),
    ("The right lung is reduced in volume.", "The right lung is not shrunken.", "volume loss"),
    ("Deposits in both lungs.", "No pleural deposits.", "metastasis"),
    ("Gas is trapped on expiration.", "No trapped air.", "air trapping"),
    ("An opacity hides the diaphragm.", "The diaphragm is not hidden.", "obscured contour"),
    ("The oesophagus is distended.", "The oesophagus is not distended.", "dilated esophagus"),
    ("The heart and mediastinum are shifted.", "The mediastinum is central.", "mediastinal shift"),
    ("The aortic valve has been replaced.", "The mitral valve is not replaced.", "valve prosthesis"),
    (
        "The ascending aorta measures 4.5 cm and is dilated.",
        "The aorta has smooth walls and is not dilated.",
        "aneurysm",
    ),
    (
        "The left hemidiaphragm, which is elevated, is smooth.",
        "There is no elevation of the hemidiaphragm.",
        "elevated hemidiaphragm",
    ),
    ("The heart shows enlargement.", "There is no enlargement of the heart.", "cardiomegaly"),
    ("Nodules: Solid nodule of 18 mm.", "Nodules: No nodule.", "nodule"),
    (
        "A right paratracheal stripe that is prominent.",
        "No prominent paratracheal stripe.",
        "mediastinal widening",
    ),
    ("Phrenic nerve palsy.", "No phrenic nerve paralysis.", "diaphragm contour change"),
]


@pytest.mark.parametrize(("told", "denied", "name"), SAME, ids=lambda value: str(value)[:40])
def test_a_finding_in_other_words(told: str, denied: str, name: str) -> None:
    assert (name, "present") in read(told)
    assert read(denied) == {(name, "absent")}


@pytest.mark.parametrize(
    "text",
    [
        "Lung cancer screening CT, low dose.",
        "Vertebral heights are preserved.",
        "Soft tissue ball within it.",
    ],
)
def test_words_that_hold_no_finding(text: str) -> None:
    assert not read(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("PLEURA: Dry.", {("pleural effusion", "absent")}),
        ("HEART: Enlarged.", {("cardiomegaly", "present")}),
        ("BONES: Intact.", {("bone abnormality", "absent")}),
        ("UPPER ABDOMEN: Free fluid.", {("ascites", "present")}),
        ("MEDIASTINUM: Not widened.", {("mediastinal widening", "absent")}),
        ("LUNGS: The liver is enlarged.", {("splenomegaly", "present")}),
        ("FINDINGS: Dry.", set()),
    ],
)
def test_a_heading_is_the_place_where_the_sentence_names_none(text: str, found: set[tuple[str, str]]) -> None:
    assert read(text) == found


@pytest.mark.parametrize(
    ("text", "side"),
    [
        ("The left hemidiaphragm stands higher than the right.", "left"),
        ("Elevation of the right hemidiaphragm relative to the left.", "right"),
        ("On the right the effusion is moderate and the left lung is free.", "right"),
        ("The left lung is free of nodules.", "left"),
        ("Effusions, larger on the right than on the left.", "both"),
    ],
)
def test_a_side_that_is_only_compared_with_is_no_side_of_the_finding(text: str, side: str) -> None:
    assert find_statements(text)[0].side == side


def test_one_word_for_two_things() -> None:
    assert read("Left hydropneumothorax.") == {("pleural effusion", "present"), ("pneumothorax", "present")}
    assert read("No haemopneumothorax.") == {("pleural effusion", "absent"), ("pneumothorax", "absent")}


def test_what_happened_before_is_not_denied_with_what_came_of_it() -> None:
    found = read("No pneumothorax after port placement.")
    assert ("pneumothorax", "absent") in found
    assert ("central line", "present") in found


def test_what_is_to_be_removed_is_there() -> None:
    assert read("The nasogastric tube is misplaced and must be taken out.") == {("enteric tube", "present")}
    assert read("The chest drain has been removed.") == {("chest tube", "absent")}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Two foci of dense consolidation in the left lower lobe.", {"consolidation"}),
        ("Hepatic metastases, three in number, of low attenuation.", {"liver lesion"}),
        ("The liver is of low attenuation.", {"hepatic steatosis"}),
        ("Bulky paratracheal and subcarinal adenopathy.", {"lymph node"}),
        ("Enlarged heart and lymph nodes.", {"cardiomegaly", "lymph node"}),
    ],
)
def test_a_word_said_of_another_finding_is_none_of_its_own(text: str, names: set[str]) -> None:
    assert {name for name, _ in read(text)} == names


def test_nodes_that_are_calcified_are_nodes() -> None:
    assert read("Hilar nodes are small and calcified.") == {("lymph node", "present")}


def test_the_walls_of_airways_have_two_names() -> None:
    found = compare_reports("Moderate peribronchial thickening.", "Moderate bronchial wall thickening.")
    assert len(found.agreements) == 1
