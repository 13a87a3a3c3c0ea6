"""Ordinary wording of reports that a hostile reader once found misread."""

from __future__ import annotations

from typing import Any

import pytest

from overread.language.statements import find_statements

READ: list[tuple[str, dict[str, Any]]] = [
    ("Lungs/Pleura: No effusion or pneumothorax.", {"pneumothorax": {"presence": "absent"}}),
    ("Two views of the chest: no pneumonia.", {"pneumonia": {"presence": "absent"}}),
    ("Coronary arteries: No calcification.", {"coronary calcification": {"presence": "absent"}}),
    ("Pneumothorax: none.", {"pneumothorax": {"presence": "absent"}}),
    ("Pleural effusion - none.", {"pleural effusion": {"presence": "absent"}}),
    ("Heart: mildly enlarged.", {"cardiomegaly": {"presence": "present", "severity": "mild"}}),
    ("Resolved pneumothorax.", {"pneumothorax": {"presence": "absent", "comparison": "resolved"}}),
    ("Pneumothorax not definitely seen.", {"pneumothorax": {"presence": "uncertain"}}),
    ("Nodule measures 8 mm (previously 11 mm).", {"nodule": {"size_mm": 8.0}}),
    ("2 cm nodule, previously 3 cm, in the LUL.", {"nodule": {"size_mm": 20.0}}),
    ("Opacity was 1.1 cm, now 0.8 cm.", {"lung opacity": {"size_mm": 8.0}}),
    ("12 mm nodule has decreased from 20 mm.", {"nodule": {"size_mm": 12.0}}),
    ("Nodule decreased from 11 to 8 mm.", {"nodule": {"size_mm": 8.0}}),
    ("Enteric tube below the diaphragm, tip not visualized.", {"enteric tube": {"presence": "present"}}),
    ("Effusion on the left but not on the right.", {"pleural effusion": {"side": "left"}}),
    ("Pleural effusion on the right, none on the left.", {"pleural effusion": {"side": "right"}}),
    ("Right lung clear, left effusion.", {"pleural effusion": {"side": "left"}}),
    ("All lobes except the lingula show GGO.", {"ground-glass opacity": {"lobes": ()}}),
    ("No interval growth of the nodule.", {"nodule": {"presence": "present", "comparison": "stable"}}),
    ("3 x 2 cm mass abutting the left hilum.", {"lung mass": {"size_mm": 30.0, "side": "left"}}),
    ("Nodule without calcification in the RUL.", {"nodule": {"traits": ()}}),
    ("Left pneumothorax is slightly larger.", {"pneumothorax": {"comparison": "increased"}}),
    (
        "COMPARISON: CT showing effusion.\nFINDINGS: Normal heart size.",
        {"pleural effusion": {"presence": "historical"}},
    ),
]


@pytest.mark.parametrize(("text", "expected"), READ, ids=[text[:40] for text, _ in READ])
def test_it_is_read_as_it_is_meant(text: str, expected: dict[str, dict[str, Any]]) -> None:
    found = {one.observation: one for one in find_statements(text)}
    for name, fields in expected.items():
        assert {field: getattr(found[name], field) for field in fields} == fields


def test_words_that_only_hold_a_name_mean_nothing() -> None:
    assert find_statements("Mass effect on the trachea.") == []
    (air,) = find_statements("Surgical emphysema noted on the right.")
    assert air.category != "1c"
