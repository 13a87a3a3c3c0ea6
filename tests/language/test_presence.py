"""Whether something is there: sentences from radiology practice, all right or known limits."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from overread.language.statements import Statement, find_statements
from overread.language.vocabulary import vocabulary

FILE = tomllib.loads((Path(__file__).parent / "presence_cases.toml").read_text("utf-8"))

# Their plain names → ours; what is not listed is called the same.
NAMES: dict[str, tuple[str, ...]] = {
    "pleural plaque": ("pleural thickening",),
    "mass": ("lung mass", "other lesion", "mediastinal widening"),
    "malignancy": ("lung mass", "metastasis"),
    "atelectasis": ("atelectasis", "linear atelectasis"),
    "opacity": ("lung opacity", "consolidation"),
    "infiltrate/pneumonia": ("infiltrate", "pneumonia"),
    "bulla": ("emphysema",),
    "bronchial wall thickening": ("bronchial wall thickening", "peribronchial thickening"),
    "fibrosis": ("fibrotic sequela", "interstitial disease"),
    "scar": ("fibrotic sequela",),
    "granuloma": ("nodule", "calcified granuloma"),
    "cyst": ("lung cyst", "renal lesion", "liver lesion", "other lesion"),
    "lesion": ("nodule", "bone lesion", "liver lesion", "other lesion", "adrenal lesion"),
    "embolism": ("pulmonary embolism",),
    "thrombus": ("pulmonary embolism",),
    "lymphadenopathy": ("lymph node",),
    "aortic calcification": ("arterial calcification",),
    "dissection": ("stenosis",),
    "catheter/device": tuple(
        item.name for item in vocabulary().observations.values() if "device" in (item.name, item.kind_of)
    ),
    "scoliosis": ("spinal curvature",),
    "osteophyte": ("degenerative change",),
    "nodule": ("nodule", "micronodules", "thyroid nodule"),
}
# Texts that the rules do not get right, and why.
LIMITS: dict[str, str] = {
    "The heart is enlarged with no effusion in the pericardium and calcification of the coronary "
    "arteries.": "'no A and B' denies both, unless B has a verb of its own",
    "Pulmonary nodules and masses are absent, as are pleural effusions.": "'as are' is not resolved",
    "No drainage catheter is seen within the loculated effusion.": "a place may be a finding",
    "Blunted left costophrenic angle due to effusion or pleural thickening.": "'or' is no doubt",
    "Probably a cyst rather than a solid lesion.": "a lesion without a place is nothing",
    "Cardiothoracic ratio is less than 50 percent.": "no arithmetic",
    "Nodule in the lingula, formerly 6 mm, now 10 mm.": "no arithmetic",
    "Cavity in the right upper lobe, 22 mm on the current study and 35 mm before.": "no arithmetic",
    "A significant pathology was not detected in the upper abdominal sections entering the "
    "examination area.": "pathology as such is no observation",
    "Interval ↑ L effusion, PTX gone.": "two clauses without a verb",
    "Pleural effusion? None seen.": "an answer in the next sentence",
    "Is the opacity at the left base atelectasis or pneumonia?": "a question asks of all it names",
}


def found_at(text: str, expected: dict[str, Any], found: list[Statement]) -> Statement | None:
    """The statement about those words."""
    start = -1
    for _ in range(expected.get("nth", 1)):
        start = text.index(expected["words"], start + 1)
    end = start + len(expected["words"])
    names = NAMES.get(expected["observation"], (expected["observation"],))
    of_it = [s for s in found if s.observation in names]
    near = [s for s in of_it if s.span.start < end and start < s.span.end]
    if not near:
        # A shared noun, or the structure that is called normal: the evidence lies in the words.
        near = [s for s in of_it if s.sentence.start <= start < s.sentence.end]
    return near[0] if near else None


def wrong(case: dict[str, Any]) -> list[str]:
    """What is read otherwise than expected."""
    found = find_statements(case["text"])
    problems = []
    for expected in case["expect"]:
        statement = found_at(case["text"], expected, found)
        if statement is None:
            # Nothing said of it is as good as absent only where absence was to be told.
            problems.append(f"{expected['words']}: nothing, not {expected['presence']}")
        elif statement.presence != expected["presence"]:
            problems.append(f"{expected['words']}: {statement.presence}, not {expected['presence']}")
        elif expected.get("comparison") not in (None, statement.comparison):
            problems.append(f"{expected['words']}: {statement.comparison}, not {expected['comparison']}")
    return problems


@pytest.mark.parametrize("case", FILE["case"], ids=lambda case: case["text"][:50])
def test_presence(case: dict[str, Any]) -> None:
    problems = wrong(case)
    if case["text"] in LIMITS:
        assert problems, "this is no limit any more: take it off the list"
    else:
        assert not problems


def test_there_are_enough_of_them() -> None:
    assert len(FILE["case"]) >= 150
    assert len(LIMITS) <= 0.05 * len(FILE["case"])
