"""A report has everything that is there, denies nothing of it, and keeps its order."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.errors import UsageError
from overread.ontology import report_regions
from overread.phantom.statement import EXTRAPULMONARY, KINDS, FindingStatement
from overread.phantom.words.ct_report import CtReport, write_ct_report
from overread.phantom.words.sentences import STYLES, Style, write_sentence
from tests.phantom.statement_strategies import ALL_KINDS, statements, statements_beyond

DENIED = {
    "2e:effusion": r"no pleural effusion|pleural spaces are clear|pleural effusion( and pneumothorax)? (was|were) not|(?<!pericardial )effusion was not detected",
    "2e:thickening": r"pleural spaces are clear|pleural thickening or effusion was not",
    "2g:": r"\bno pneumothorax|or pneumothorax|pleural spaces are clear|pneumothorax (was|were) not",
    "2d:": r"no (focal consolidation or |suspicious )?(pulmonary )?nodule|nodule or mass|nodule was not|nodule, mass|space-occupying lesion was not observed in the lungs",
    "1e:": r"no (focal consolidation or |suspicious )?(pulmonary )?nodule|nodule or mass|nodule was not|nodule, mass",
    "2h:": r"no suspicious (pulmonary )?nodule|nodule or mass|space-occupying lesion was not (observed|detected) in the lung",
    "2b:": r"no focal (airspace|consolidation)|no airspace consolidation|consolidation (area )?was not|infiltration was not",
    "2c:": r"infiltration was not",
    "cardiomegaly": r"heart size is normal|normal in size|normal cardiac|not enlarged\. (?=The (thoracic|great))|dimensions are (natural|within)",
    "pericardial effusion": r"(no|without) pericardial effusion|pericardium is unremarkable|pericardial effusion was not",
    "aortic ectasia": r"aorta is normal|great vessels are normal|no aneurysm|aorta is natural|mediastinal vascular structures is natural",
    "lymph nodes": r"no (mediastinal|enlarged|axillary)|no [^.]{0,30}(lymph|adenopathy)|lymph nodes? [^.]{0,40}not\b",
    "hiatal hernia": r"esophagus is (unremarkable|normal|natural)|esophagus calibration|upper abdom\w+ [^.]{0,30}(unremarkable|natural)",
    "rib fracture": r"no (acute )?(fracture|osseous)|fracture [^.]{0,30}not\b|osseous structures are unremarkable|bone structures [^.]{0,30}natural",
    "osteophytes": r"osseous structures are unremarkable|no acute osseous|bone structures [^.]{0,30}natural",
    "steatosis": r"upper abdom\w+ [^.]{0,30}(unremarkable|natural)|no (acute abnormality|pathology) [^.]{0,30}upper abdom",
}  # fmt: skip
"""Whatever is there (category and kind), and what a report must then not say."""
CLEAR = r"lungs are clear|lung parenchyma is (unremarkable|natural)|no pathology was observed in the lung parenchyma"
ABSENT = r"\b[Nn]o \w+|\bnot (observed|detected|enlarged)|normal|natural|unremarkable|clear|patent|open"


def make(
    listed: list[FindingStatement], seed: int, style: Style = "radiologist", *, held: bool = False
) -> tuple[CtReport, list[str]]:
    """A report, and the sentences of lung and pleura in it."""
    rng = np.random.default_rng(seed)
    lung = [s for s in listed if s.kind not in EXTRAPULMONARY]
    texts = [write_sentence(s, rng, style=style, held_out=held).text for s in lung]
    return write_ct_report(listed, texts, rng, style=style, held_out=held), texts


PATIENTS = st.lists(statements(), max_size=5).flatmap(
    lambda lung: st.lists(statements_beyond(), max_size=3, unique_by=lambda s: s.kind).map(
        lambda beyond: lung + beyond
    )
)


@given(PATIENTS, st.integers(0, 2**32 - 1), st.sampled_from(STYLES), st.booleans())
def test_a_report_contradicts_nothing(
    listed: list[FindingStatement], seed: int, style: Style, held: bool
) -> None:
    """Nothing that is there is denied, neither in the findings nor in the impression."""
    made, texts = make(listed, seed, style, held=held)
    around = made.findings
    for text in texts:
        assert text in around
        around = around.replace(text, "", 1)
    for statement in listed:
        mark = (
            statement.kind if statement.kind in EXTRAPULMONARY else f"{statement.category}:{statement.kind}"
        )
        for there, denied in DENIED.items():
            if mark.startswith(there):
                assert not re.search(denied, around, re.IGNORECASE), (mark, around)
        if statement.category in KINDS and statement.category not in ("2e", "2g"):
            assert not re.search(CLEAR, around, re.IGNORECASE), (mark, around)
            assert not re.search("Normal CT|normal limits|No pathology|No significant", made.impression)
        assert not re.search("Normal CT|normal limits", made.impression)


@given(PATIENTS, st.integers(0, 2**32 - 1), st.sampled_from(STYLES))
def test_a_report_is_well_formed(listed: list[FindingStatement], seed: int, style: Style) -> None:
    """Whole sentences, single spaces, one to five lines of impression, the same by the same chance."""
    made, _ = make(listed, seed, style)
    for text in (made.technique, made.findings, *made.impression.split("\n")):
        assert text.endswith(".")
        assert not re.search(r"  | [,.]|\.\.|[{}\[\]|]", text), text
        for one in re.split(r"(?<=[a-z)])\. ", text):
            assert one[0].isupper() or one[0].isdigit(), one
    lines = made.impression.split("\n")
    assert 1 <= len(lines) <= 5
    assert len(set(lines)) == len(lines)
    assert make(listed, seed, style)[0] == made


@given(PATIENTS, st.integers(0, 2**32 - 1), st.sampled_from(STYLES))
def test_an_impression_keeps_to_the_statements(
    listed: list[FindingStatement], seed: int, style: Style
) -> None:
    """Sides and sizes in the impression belong to some finding."""
    made, _ = make(listed, seed, style)
    sides = {s.side for s in listed}
    for side in ("right", "left"):
        if re.search(rf"\b{side}\b", made.impression.lower()):
            assert sides & {side, "both"}
    if re.search(r"\b(both|bilateral|bilaterally)\b", made.impression.lower()):
        assert "both" in sides
    sizes = {s.size_mm for s in listed}
    for millimetres in re.findall(r"\b(\d+) mm\b", made.impression):
        assert int(millimetres) in sizes


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(("category", "kind"), [*ALL_KINDS, *((c, k) for k, c in EXTRAPULMONARY.items())])
def test_every_kind_can_be_reported(category: str, kind: str, style: Style) -> None:
    """Alone, each kind is in the findings; what is important is in the impression."""
    statement = FindingStatement(
        category=category, kind=kind, side=None if kind in EXTRAPULMONARY else "right"
    )
    impressions = set()
    for seed in range(12):
        made, _ = make([statement], seed, style)
        rest = make([], seed, style)[0]
        assert made.findings != rest.findings
        impressions.add(made.impression)
    assert len(impressions) > 1
    assert not any("Normal" in text or "normal limits" in text for text in impressions)


def test_regions_come_in_their_order() -> None:
    """Lungs, heart, mediastinum, chest wall, neck, bones, abdomen."""
    listed = [
        FindingStatement(category=code, kind=kind)
        for kind, code in EXTRAPULMONARY.items()
        if kind in ("steatosis", "rib fracture", "lymph nodes", "cardiomegaly")
    ]
    order = (
        r"pleural",
        r"heart|cardi",
        r"lymph|adenopathy",
        r"chest wall",
        r"thyroid",
        r"\brib|costal",
        r"liver|steatosis",
    )
    assert len(order) == len(report_regions().item)
    for seed in range(40):
        text = make(listed, seed)[0].findings.lower()
        at = [found.start() for word in order if (found := re.search(word, text))]
        assert at == sorted(at), text


@pytest.mark.parametrize("style", STYLES)
def test_a_normal_report(style: Style) -> None:
    """Nothing found: everything is denied, and the impression says so in one line."""
    texts = [make([], seed, style)[0] for seed in range(30)]
    assert len({made.findings for made in texts}) > 20
    for made in texts:
        assert "\n" not in made.impression
        assert len(re.findall(ABSENT, made.findings)) >= 5


def test_contrast_is_said() -> None:
    """The technique tells whether contrast was given."""
    for style in STYLES:
        for seed in range(10):
            rng = np.random.default_rng(seed)
            without = write_ct_report([], [], rng, style=style).technique.lower()
            given_ = write_ct_report([], [], rng, style=style, contrast=True).technique.lower()
            assert re.search("without|noncontrast|no intravenous|unenhanced|not used", without)
            assert re.search("with intravenous|contrast-enhanced|after", given_)


def test_a_row_of_the_table() -> None:
    """A report is a row of CT-RATE's table."""
    made = make([], 0)[0]
    row = made.to_row("valid_1_a")
    assert list(row) == [
        "VolumeName",
        "ClinicalInformation_EN",
        "Technique_EN",
        "Findings_EN",
        "Impressions_EN",
    ]
    assert (row["VolumeName"], row["Findings_EN"]) == ("valid_1_a", made.findings)


def test_a_style_that_is_none() -> None:
    """A style that nobody has words for is refused."""
    with pytest.raises(UsageError, match="no style 'shouted'"):
        write_ct_report([], [], np.random.default_rng(0), style="shouted")  # type: ignore[arg-type]
