"""What sentences mean as other people's labels, and that the vocabulary is sound."""

from __future__ import annotations

from collections import defaultdict

import pytest

from overread.errors import UnknownName
from overread.language.labels import (
    CHEXPERT,
    CTRATE,
    chexpert_labels,
    compute_labels,
    ctrate_labels,
    main_category,
)
from overread.language.phrases import drop_joiners
from overread.language.statements import find_statements
from overread.language.tokens import tokenise
from overread.language.vocabulary import vocabulary
from overread.ontology import finding_tree, report_regions


def given(marks: dict[str, int]) -> set[str]:
    """Names of the labels that are on."""
    return {label for label, mark in marks.items() if mark}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A 6 mm nodule in the right upper lobe.", {"Lung nodule"}),
        ("Spiculated mass of 5 cm in the left lower lobe.", set()),
        ("Nodule in the left lobe of the thyroid gland.", set()),
        ("Hypodense lesion in the right lobe of the liver.", set()),
        ("Hypodense nodules are seen.", set()),
        ("Nodular consolidation in the right lung.", {"Consolidation"}),
        ("Calcified lymph nodes in the right hilum.", {"Lymphadenopathy"}),
        ("No lymph nodes at any mediastinal lymph node station.", set()),
        ("Intrapulmonary lymph node in the middle lobe.", {"Lung nodule"}),
        ("Ground-glass opacities in both lungs.", {"Lung opacity"}),
        ("Dependent density increases in both lower lobes.", {"Lung opacity"}),
        ("Increased density in the left lung consistent with consolidation.", {"Consolidation"}),
        ("Fibroatelectatic changes in the lingula.", {"Pulmonary fibrotic sequela"}),
        ("Sequelae of an old fracture of the rib.", set()),
        ("Volume loss of the right lung.", set()),
        ("Linear atelectasis in the lingula.", {"Atelectasis"}),
        ("Collapse of the T8 vertebra.", set()),
        ("Collapsed left lower lobe.", {"Atelectasis"}),
        ("Peribronchial thickening in both lungs.", {"Peribronchial thickening"}),
        ("Bronchial wall thickening in both lungs.", set()),
        ("Thickening of the interlobular septa.", {"Interlobular septal thickening"}),
        ("The cardiothoracic ratio is increased.", {"Cardiomegaly"}),
        ("The heart is enlarged.", {"Cardiomegaly"}),
        ("The heart is of normal size.", set()),
        ("The right atrium is dilated.", set()),
        ("Minimal pericardial effusion.", {"Pericardial effusion"}),
        ("Pleural and pericardial effusion.", {"Pleural effusion", "Pericardial effusion"}),
        ("Free fluid around the liver.", set()),
        ("A cyst of fluid density in the left kidney.", set()),
        ("Sliding hiatal hernia.", {"Hiatal hernia"}),
        ("Left inguinal hernia.", set()),
        ("Calcific plaques in the coronary arteries.", {"Coronary artery wall calcification"}),
        ("Atherosclerosis of the thoracic aorta.", {"Arterial wall calcification"}),
        ("A port catheter ends in the right atrium.", {"Medical material"}),
        ("Mosaic attenuation in both lungs.", {"Mosaic attenuation pattern"}),
        ("Traction bronchiectasis and paraseptal emphysema.", {"Bronchiectasis", "Emphysema"}),
        ("No nodule, consolidation or pleural effusion.", set()),
    ],
)
def test_ctrate(text: str, expected: set[str]) -> None:
    assert given(ctrate_labels(find_statements(text))) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Clear lungs. Normal heart size.", {"No Finding"}),
        ("Right-sided chest tube. No pneumothorax.", {"No Finding", "Support Devices"}),
        ("Small left apical pneumothorax.", {"Pneumothorax"}),
        ("The cardiac silhouette is enlarged.", {"Cardiomegaly"}),
        ("Widened mediastinum.", {"Enlarged Cardiomediastinum"}),
        ("Left basilar opacity.", {"Lung Opacity"}),
        ("A coin lesion in the right upper lobe.", {"Lung Lesion"}),
        ("Interstitial edema.", {"Edema"}),
        ("Right lower lobe pneumonia.", {"Pneumonia"}),
        ("Bibasilar atelectasis.", {"Atelectasis"}),
        ("Lobar consolidation in the left lower lobe.", {"Consolidation"}),
        ("Blunting of the costophrenic angle.", {"Pleural Effusion"}),
        ("Apical pleural thickening.", {"Pleural Other"}),
        ("Healed fracture of the sixth rib.", {"Fracture"}),
    ],
)
def test_chexpert(text: str, expected: set[str]) -> None:
    assert given(chexpert_labels(find_statements(text))) == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Honeycombing in both lower lobes", "2f"),
        ("Reticular scarring at the right apex", "2a"),
        ("Tree-in-bud pattern in the middle lobe", "1e"),
        ("Thin-walled air cyst in the lingula", "2h"),
        ("No pneumothorax", None),
    ],
)
def test_category_of_one_finding(text: str, code: str | None) -> None:
    assert main_category(find_statements(text)) == code


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Oesophageal wall thickening", "Esophageal wall thickening"),
        ("Pulmonary oedema", "Pulmonary edema"),
        ("Haemothorax on the left", "Hemothorax on the left"),
        ("A pulmonary tumour", "A pulmonary tumor"),
        ("Pulmonary nodule", "Pulmonary nodules"),
        ("Emphysematous lungs", "Emphysema of the lungs"),
        ("A bulla at the apex", "Bullae at the apex"),
        ("Bronchiectatic airways", "Bronchiectasis"),
        ("A calcified granuloma", "Calcified granulomata"),
        ("Consolidative changes", "Consolidation"),
        ("Atelectatic lung", "Atelectasis"),
        ("Ground-glass", "ground glass"),
        ("GGO in the lingula", "Ground-glass opacity in the lingula"),
        ("Pleural effusions", "A pleural effusion"),
    ],
)
def test_spellings_and_forms(one: str, other: str) -> None:
    first, second = ({s.observation for s in find_statements(f"{text}.")} for text in (one, other))
    assert first == second != set()


def test_gaps_of_anonymised_reports_are_read_over() -> None:
    text = "XXXX XXXX nodule in the XXXX lobe. Heart size XXXX normal. No XXXX of effusion."
    assert given(ctrate_labels(find_statements(text))) == {"Lung nodule"}


def test_label_sets_by_name() -> None:
    found = find_statements("A nodule in the right lung.")
    assert compute_labels(found, "ctrate") == ctrate_labels(found)
    assert tuple(compute_labels(found, "chexpert")) == CHEXPERT
    assert given(compute_labels(found, "rexgroundingct")) == {"2d"}
    with pytest.raises(UnknownName, match="label set"):
        compute_labels(found, "ctrat")


def test_every_category_and_label_has_an_observation() -> None:
    known = vocabulary().observations.values()
    assert {item.category for item in known} == set(finding_tree().categories)
    assert {label for item in known for label in item.ctrate} == set(CTRATE)
    assert {label for item in known for label in item.chexpert} == set(CHEXPERT[1:])
    assert {item.region for item in known} <= {item.code for item in report_regions().item}


def test_every_observation_can_be_said() -> None:
    """Each term of its own is understood as its observation."""
    for item in vocabulary().observations.values():
        for term in item.terms:
            found = {s.observation for s in find_statements(f"There is {term}.")}
            assert item.name in found, term


def test_no_term_means_two_things() -> None:
    words = vocabulary()
    meanings: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for item in words.observations.values():
        for term in item.terms:
            meanings[_key(term)].append(item.name)
    for n, head in enumerate(words.heads):
        for term in head.terms:
            meanings[_key(term)].append(f"head {n}")
    assert [(key, names) for key, names in meanings.items() if len(set(names)) > 1] == []
    places: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for place in words.places:
        for term in place.terms:
            places[_key(term)].add(place.group)
    assert [(key, groups) for key, groups in places.items() if len(groups) > 1] == []


def test_heads_speak_of_known_places_and_observations() -> None:
    words = vocabulary()
    for head in words.heads:
        assert set(head.by) <= {*words.regions, *words.qualities}
        assert {*head.by.values(), head.otherwise} - {None} <= set(words.observations)


def _key(term: str) -> tuple[str, ...]:
    return tuple(word.word for word in drop_joiners(tokenise(term)))
