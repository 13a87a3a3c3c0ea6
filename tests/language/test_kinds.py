"""The kinds of things that films show besides the lungs: devices, contours, volumes, diseases.

Every kind is told in several orders and forms, and also denied, doubted and called normal.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from overread.language.compare import compare_reports
from overread.language.labels import chexpert_labels
from overread.language.regions import xray_regions_of
from overread.language.statements import Statement, find_statements
from overread.language.vocabulary import vocabulary


def read(text: str) -> dict[str, Statement]:
    """What a text states, by observation."""
    return {one.observation: one for one in find_statements(text)}


# An adjective or noun, a place, and what both say together.
SIGNS = [
    (("elevated", "raised"), "hemidiaphragm", "elevated hemidiaphragm"),
    (("flattened",), "hemidiaphragm", "flattened diaphragm"),
    (("blunted",), "costophrenic angle", "blunted costophrenic angle"),
    (("blunted",), "costophrenic sulcus", "blunted costophrenic angle"),
    (("obscured", "indistinct", "silhouetted"), "heart border", "obscured contour"),
    (("obscured",), "hemidiaphragm", "obscured contour"),
    (("prominent", "enlarged"), "hilum", "hilar enlargement"),
    (("tortuous", "unfolded", "uncoiled", "prominent"), "aorta", "tortuous aorta"),
    (("dilated", "enlarged", "prominent"), "pulmonary artery", "enlarged pulmonary artery"),
    (
        ("enlarged", "prominent", "widened"),
        "cardiomediastinal silhouette",
        "enlarged cardiomediastinal silhouette",
    ),
    (("widened", "enlarged", "prominent"), "mediastinum", "mediastinal widening"),
    (("engorged", "prominent"), "pulmonary vasculature", "pulmonary vascular congestion"),
    (("low", "reduced", "diminished"), "lung volume", "low lung volume"),
    (("deviated", "displaced"), "trachea", "tracheal deviation"),
    (("shifted",), "mediastinum", "mediastinal shift"),
    (("deformed",), "rib", "bone deformity"),
]
FORMS = [
    ("{word} {place}.", "present"),
    ("There is a mildly {word} {place}.", "present"),
    ("The {place} is {word}.", "present"),
    ("The {place} remains mildly {word}.", "present"),
    ("Possibly {word} {place}.", "uncertain"),
    ("The {place} may be {word}.", "uncertain"),
    ("No {word} {place}.", "absent"),
    ("The {place} is not {word}.", "absent"),
]


@pytest.mark.parametrize(("words", "place", "name"), SIGNS, ids=lambda value: str(value)[:40])
def test_a_sign_is_read_in_any_order(words: tuple[str, ...], place: str, name: str) -> None:
    for word, (form, presence) in product(words, FORMS):
        text = form.format(word=word, place=place)
        found = read(text)
        assert name in found, text
        assert found[name].presence == presence, text


@pytest.mark.parametrize(
    ("noun", "places", "name"),
    [
        ("elevation", ("right hemidiaphragm", "diaphragm"), "elevated hemidiaphragm"),
        ("flattening", ("diaphragms",), "flattened diaphragm"),
        ("eventration", ("left hemidiaphragm",), "diaphragm contour change"),
        ("tenting", ("left hemidiaphragm",), "diaphragm contour change"),
        ("blunting", ("left costophrenic angle", "costophrenic sulci"), "blunted costophrenic angle"),
        ("obscuration", ("right heart border",), "obscured contour"),
        ("prominence", ("right hilum", "hila"), "hilar enlargement"),
        ("tortuosity", ("thoracic aorta",), "tortuous aorta"),
        ("unfolding", ("aorta",), "tortuous aorta"),
        ("shift", ("mediastinum", "mediastinal structures"), "mediastinal shift"),
        ("deviation", ("trachea",), "tracheal deviation"),
        ("widening", ("superior mediastinum",), "mediastinal widening"),
        ("enlargement", ("cardiomediastinal silhouette",), "enlarged cardiomediastinal silhouette"),
        ("engorgement", ("pulmonary vasculature",), "pulmonary vascular congestion"),
    ],
)
def test_a_sign_is_read_as_a_noun(noun: str, places: tuple[str, ...], name: str) -> None:
    for place in places:
        for form, presence in (
            ("Mild {noun} of the {place}.", "present"),
            ("There is {noun} of the {place} again.", "present"),
            ("Suspected {noun} of the {place}.", "uncertain"),
            ("Without {noun} of the {place}.", "absent"),
        ):
            text = form.format(noun=noun, place=place)
            found = read(text)
            assert name in found, text
            assert found[name].presence == presence, text


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("The mediastinum is midline.", {"mediastinal shift"}),
        ("Trachea is midline.", {"tracheal deviation"}),
        ("The trachea is central.", {"tracheal deviation"}),
        ("The hemidiaphragms are well defined.", {"obscured contour"}),
        ("The diaphragm is unremarkable.", {"elevated hemidiaphragm"}),
        ("Costophrenic angles are sharp.", {"blunted costophrenic angle"}),
        ("Cardiomediastinal silhouette is within normal limits.", {"enlarged cardiomediastinal silhouette"}),
        ("Heart size and mediastinal contours are normal.", {"cardiomegaly", "mediastinal widening"}),
        ("Normal heart size and pulmonary vascularity.", {"cardiomegaly", "pulmonary vascular congestion"}),
        ("The hila are unremarkable.", {"hilar enlargement"}),
        ("Hilar lymph nodes are not enlarged.", {"lymph node"}),
        ("Lungs are well expanded.", {"low lung volume"}),
        ("Lung volumes are normal.", {"low lung volume"}),
        ("Both lungs are clear.", {"lung abnormality"}),
        ("The osseous structures are intact.", {"bone abnormality"}),
        ("No acute cardiopulmonary disease.", {"cardiopulmonary abnormality"}),
        ("No acute bony findings.", {"bone abnormality"}),
        ("No free air below the diaphragm.", {"pneumoperitoneum"}),
        ("No pneumomediastinum or subcutaneous emphysema.", {"pneumomediastinum", "subcutaneous emphysema"}),
    ],
)
def test_what_is_normal_is_absent(text: str, denied: set[str]) -> None:
    found = find_statements(text)
    assert {one.observation for one in found} == denied
    assert {one.presence for one in found} == {"absent"}


@pytest.mark.parametrize(
    "text",
    [
        "Displaced rib fracture beside the mediastinum.",
        "A well-defined rounded opacity in the left lung.",
        "Nodes with a prominent hilar fat.",
        "A mass to the right of the midline.",
        "The lungs are clear of consolidation.",
        "Heart size is enlarged, pulmonary vascularity within normal limits.",
        "Chronic emphysematous lung disease.",
    ],
)
def test_nothing_is_made_of_words_that_belong_elsewhere(text: str) -> None:
    wrong = {
        "mediastinal shift", "obscured contour", "hilar enlargement", "lung abnormality",
        "cardiopulmonary abnormality",
    }  # fmt: skip
    found = find_statements(text)
    assert not wrong & {one.observation for one in found}
    congested = [one for one in found if one.observation == "pulmonary vascular congestion"]
    assert all(one.presence == "absent" for one in congested)


@pytest.mark.parametrize(
    ("text", "side"),
    [
        ("Rightward shift of the mediastinum.", "right"),
        ("Mediastinal shift towards the left.", "left"),
        ("Right-to-left mediastinal shift.", "left"),
        ("The trachea is deviated to the right.", "right"),
        ("Elevation of the left hemidiaphragm.", "left"),
        ("Blunting of both costophrenic angles.", "both"),
        ("The right lung is clear.", "right"),
    ],
)
def test_sides_and_directions(text: str, side: str) -> None:
    (one,) = find_statements(text)
    assert one.side == side


@pytest.mark.parametrize(
    ("names", "name"),
    [
        (("COPD", "Chronic obstructive pulmonary disease", "Obstructive lung disease"), "COPD"),
        (("CHF", "Congestive heart failure", "Heart failure", "Fluid overload", "Volume overload"), "heart failure"),
        (("Vascular congestion", "Cephalization", "Pulmonary venous hypertension"), "pulmonary vascular congestion"),
        (("Pneumonia", "Bronchopneumonia", "Aspiration pneumonia", "Pulmonary infection"), "pneumonia"),
        (("Tuberculosis", "TB", "Tuberculous infection"), "tuberculosis"),
        (("ILD", "Interstitial lung disease", "Interstitial fibrosis"), "interstitial disease"),
        (("Sarcoidosis", "Sarcoid"), "sarcoidosis"),
        (("Metastatic disease", "Metastases"), "metastasis"),
        (("ARDS", "Acute respiratory distress syndrome"), "ARDS"),
        (("Aspiration",), "aspiration"),
        (("Bronchitis", "Small airways disease", "Reactive airways disease"), "airway disease"),
        (("Hiatal hernia", "Hiatus hernia"), "hiatal hernia"),
        (("Pneumomediastinum", "Mediastinal air"), "pneumomediastinum"),
        (("Pneumoperitoneum", "Free air", "Subdiaphragmatic free air"), "pneumoperitoneum"),
        (("Subcutaneous emphysema", "Soft tissue gas"), "subcutaneous emphysema"),
        (("Hyperinflation", "Hyperexpanded lungs", "Overinflated lungs", "Hyperaerated lungs"), "hyperinflation"),
        (("Poor inspiration", "Limited inspiratory effort", "Low lung volumes", "Under-expanded lungs"), "low lung volume"),
        (("Enlarged lymph nodes", "Lymphadenopathy", "Enlarged bilateral hilar lymph nodes"), "lymph node"),
    ],
)  # fmt: skip
def test_diseases_and_synonyms(names: tuple[str, ...], name: str) -> None:
    for words in names:
        for form, presence in (
            ("{}.", "present"),
            ("Findings are consistent with {}.", "present"),
            ("Possible {}.", "uncertain"),
            ("No evidence of {}.", "absent"),
        ):
            text = form.format(words)
            assert [(one.observation, one.presence) for one in find_statements(text)] == [(name, presence)], (
                text
            )


DEVICES = {
    "endotracheal tube": ("endotracheal tube", "ETT", "ET tube"),
    "enteric tube": ("enteric tube", "NG tube", "Dobhoff tube", "nasogastric tube", "feeding tube"),
    "central line": ("central venous catheter", "PICC line", "right IJ catheter", "Port-A-Cath", "dialysis catheter"),
    "chest tube": ("chest tube", "pigtail catheter", "pleural drain"),
    "pacemaker": ("pacemaker", "ICD", "pacing leads"),
    "balloon pump": ("intra-aortic balloon pump", "IABP"),
    "pulmonary artery catheter": ("Swan-Ganz catheter", "pulmonary artery catheter"),
    "tracheostomy tube": ("tracheostomy tube",),
    "valve prosthesis": ("prosthetic aortic valve", "valve replacement"),
    "stent": ("coronary stent",),
    "sternotomy wires": ("sternotomy wires", "median sternotomy wires"),
    "surgical clips": ("surgical clips",),
}  # fmt: skip


@pytest.mark.parametrize("name", DEVICES)
def test_devices_and_how_they_lie(name: str) -> None:
    for device in DEVICES[name]:
        for form, presence, position in (
            ("{}.", "present", None),
            ("{} in good position.", "present", "satisfactory"),
            ("{} in satisfactory position.", "present", "satisfactory"),
            ("Well-positioned {}.", "present", "satisfactory"),
            ("{} is malpositioned.", "present", "malpositioned"),
            ("Mispositioned {}.", "present", "malpositioned"),
            ("{} is not in satisfactory position.", "present", "malpositioned"),
            ("{} without malposition.", "present", "satisfactory"),
            ("{} is too low.", "present", "too low"),
            ("{} should be advanced by 3 cm.", "present", "too high"),
            ("{} is coiled.", "present", "coiled"),
            ("No {}.", "absent", None),
            ("{} has been removed.", "absent", None),
        ):
            text = form.format(device)
            (one,) = find_statements(text)
            assert (one.observation, one.presence, one.position) == (name, presence, position), text
            assert one.size_mm is None, text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ETT tip 4 cm above the carina.", {"tip": ("trachea",), "above_carina_mm": 40, "position": "satisfactory"}),
        ("The tip of the ETT lies 9 cm above the carina.", {"above_carina_mm": 90, "position": "too high"}),
        ("ETT tip is 8 mm above the carina.", {"above_carina_mm": 8, "position": "too low"}),
        ("ETT tip is 2.5 cm above the carina.", {"above_carina_mm": 25, "position": None}),
        ("ETT terminates in the right main bronchus.", {"tip": ("right main bronchus",), "position": "too low"}),
        ("NG tube courses below the diaphragm with tip in the stomach.", {"tip": ("stomach",), "position": "satisfactory"}),
        ("NG tube tip in the stomach, side port at the GE junction.", {"tip": ("stomach",)}),
        ("Enteric tube ends at the gastroesophageal junction.", {"tip": ("gastroesophageal junction",), "position": "too high"}),
        ("PICC with tip in the lower SVC.", {"tip": ("svc",), "position": "satisfactory"}),
        ("Catheter via the jugular vein ends at the cavoatrial junction.", {"tip": ("cavoatrial junction",)}),
        ("PICC tip in the right atrium.", {"tip": ("right atrium",), "position": None}),
        ("Pacemaker leads in the right atrium and right ventricle.", {"tip": ("right atrium", "right ventricle")}),
    ],
)  # fmt: skip
def test_tips(text: str, told: dict[str, Any]) -> None:
    found = find_statements(text)
    for name, value in told.items():
        assert getattr(found[0], name) == value, name
        if value is not None:
            assert name in found[0].evidence


def test_a_list_of_devices_shares_what_is_said_of_it() -> None:
    found = find_statements("Endotracheal and enteric tubes are in standard position.")
    assert [(one.observation, one.position) for one in found] == [
        ("endotracheal tube", "satisfactory"),
        ("enteric tube", "satisfactory"),
    ]


@pytest.mark.parametrize(
    ("one", "other", "names"),
    [
        ("Mispositioned ETT.", "ETT in good position.", ["position"]),
        ("ETT too high.", "Mispositioned ETT.", []),
        ("ETT tip 4 cm above the carina.", "ETT in the right main bronchus.", ["position", "tip"]),
        ("NG tube below the diaphragm.", "NG tube in the stomach.", []),
        ("Bilateral hilar lymphadenopathy.", "Enlarged bilateral hilar lymph nodes.", []),
        ("Pulmonary edema.", "Congestive heart failure.", []),
        ("Blunted left costophrenic angle.", "Small left pleural effusion.", []),
        ("Enlarged cardiomediastinal silhouette.", "Cardiomegaly.", []),
        ("Mediastinal shift to the right.", "Mediastinal shift to the left.", ["side"]),
    ],
)
def test_two_reports(one: str, other: str, names: list[str]) -> None:
    compared = compare_reports(one, other)
    assert not compared.omissions
    assert not compared.additions
    assert [conflict.name for match in compared.conflicts for conflict in match.conflicts] == names


def test_two_kinds_of_device_are_two_things() -> None:
    compared = compare_reports("Right chest tube.", "Right central venous catheter.")
    assert [found.statement.observation for found in compared.omissions] == ["chest tube"]
    assert [found.statement.observation for found in compared.additions] == ["central line"]
    # A device that is not named further may be any of them.
    assert not compare_reports("Right central venous catheter.", "Right catheter.").omissions


def test_a_bare_mention_joins_the_device_that_it_speaks_of() -> None:
    whole = "Right PICC with tip in the SVC. The catheter is unchanged."
    assert not compare_reports(whole, "Right PICC with tip in the SVC.").omissions


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("Enlarged cardiomediastinal silhouette.", {"Enlarged Cardiomediastinum"}),
        ("Prominent right hilum.", {"Enlarged Cardiomediastinum"}),
        ("Pulmonary vascular engorgement.", {"Edema"}),
        ("Congestive heart failure.", {"Edema"}),
        ("Blunted right costophrenic angle.", {"Pleural Effusion"}),
        ("Dobhoff tube in the stomach.", {"Support Devices", "No Finding"}),
        ("A bullet in the chest wall.", {"No Finding"}),
        ("The mediastinum is midline and the lungs are clear.", {"No Finding"}),
    ],
)
def test_chexpert_labels_of_the_kinds(text: str, labels: set[str]) -> None:
    marks = chexpert_labels(find_statements(text))
    assert {label for label, mark in marks.items() if mark} == labels


@pytest.mark.parametrize(
    ("text", "regions"),
    [
        ("Elevated left hemidiaphragm.", ("left hemidiaphragm",)),
        ("Blunting of the right costophrenic angle.", ("right costophrenic angle",)),
        ("Tortuous aorta.", ("aortic arch",)),
        ("Prominent left hilum.", ("left hilar structures",)),
        ("The trachea is deviated.", ("trachea",)),
        ("Mediastinal shift.", ("mediastinum",)),
        ("Enlarged cardiomediastinal silhouette.", ("right cardiac silhouette", "left cardiac silhouette", "cardiac silhouette")),
    ],
)  # fmt: skip
def test_regions_of_the_kinds(text: str, regions: tuple[str, ...]) -> None:
    (one,) = find_statements(text)
    assert set(xray_regions_of(one)) <= set(regions)
    assert xray_regions_of(one)


def test_kinds_and_tips_are_of_known_things() -> None:
    words = vocabulary()
    known = set(words.observations)
    assert {item.kind_of for item in words.observations.values()} <= {None, *known}
    assert set(words.device_tips) <= known
    for rule in words.device_tips.values():
        assert set(rule.tips) <= set(words.modifiers.tip)
        assert set(rule.tips.values()) <= set(words.modifiers.position)
