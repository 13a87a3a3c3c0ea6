"""What the rules make of reports: regions, phrases, categories, the choice of scans."""

from __future__ import annotations

import asyncio
import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.build.item import Drop, Item, Keep, StepResult
from overread.build.rexgroundingct.categories import assign_split, category_of, select_scan
from overread.build.rexgroundingct.phrase_step import phrase_problems
from overread.build.rexgroundingct.phrases import phrases_by_rules, strip_question
from overread.build.rexgroundingct.regions import find_region, reply_problems, to_american
from overread.build.rexgroundingct.regions import sort_by_rules as sorted_by_rules
from overread.build.rexgroundingct.sentences import sentence_spans
from overread.build.step import StepFunction
from overread.build.step_context import LiveStepContext
from overread.errors import UsageError
from overread.phantom.statement import FindingStatement
from overread.phantom.words.ct_report import write_ct_report
from overread.phantom.words.lexicon import STYLES, Style
from overread.phantom.words.sentences import write_sentence
from tests.phantom.statement_strategies import statements, statements_beyond


def coded_of(findings: str, impressions: str = "") -> dict[str, str]:
    """The sorted sentences of a report."""
    told = {
        f"{letter}{n}": " ".join(text[a:b].split())
        for letter, text in (("F", findings), ("I", impressions))
        for n, (a, b) in enumerate(sentence_spans(text)[0])
    }
    made = sorted_by_rules(told)
    assert reply_problems(told, made) == []
    parts = (*made.findings.items(), ("I", made.impressions))
    return {f"{code}{n}": one.text for code, rows in parts for n, one in enumerate(rows)}


def positives(findings: str, impressions: str = "") -> list[tuple[str, str]]:
    """Abnormal phrases and their codes."""
    rows = phrases_by_rules(coded_of(findings, impressions)).phrases.values()
    return [(row[0], row[1]) for row in rows if row[2] == "Y"]


def test_a_measured_finding_that_is_told_again_is_merged() -> None:
    """The same thing in the same lobe of the same size is one; another size is another nodule."""
    once = "A 6 mm nodule is seen in the right upper lobe."
    assert positives(f"{once} There is a nodule of 6 mm in the right upper lobe.") == [
        ("A 6 mm nodule is seen in the right upper lobe", "L0,L1")
    ]
    assert len(positives(f"{once} There is a nodule of 8 mm in the right upper lobe.")) == 2
    assert len(positives(f"{once} There is a nodule of 6 mm in the left upper lobe.")) == 2


@pytest.mark.parametrize(
    ("said", "region"),
    [
        ("The trachea is open.", "L"),
        ("No stenosis is seen in the trachea.", "L"),
        ("Small left pleural effusion.", "L"),
        ("Minimal pericardial effusion.", "H"),
        ("A stent is seen in the left anterior descending artery.", "H"),
        ("No enlarged lymph nodes in the mediastinum.", "M"),
        ("Enlarged lymph node in the left axilla.", "C"),
        ("A nodule in the thyroid gland.", "N"),
        ("Old rib fracture on the right.", "B"),
        ("Gallstones.", "A"),
    ],
)
def test_sentences_go_to_their_region(said: str, region: str) -> None:
    """A sentence is sorted by what it states, or by the place it looks at."""
    assert find_region(said) == region


def test_a_sentence_that_names_nothing_stays_with_the_one_before() -> None:
    """Context decides where words do not."""
    assert find_region("This is unchanged.", "B") == "B"


def test_american_words_replace_a_translators_and_never_a_fact() -> None:
    """Words change, numbers and sides do not, and an unfaithful rewording is taken back."""
    said = to_american("Oesophagus calibration is natural, 12 mm on the left.")
    assert said == "Esophagus caliber is normal, 12 mm on the left."


def test_two_findings_of_a_sentence_are_two_phrases_with_the_shared_place() -> None:
    """Each phrase has its own name, and the place that is told of both."""
    told = positives("Ground-glass opacities and bronchiectasis are seen in the right lower lobe.")
    assert [code for _, code in told] == ["L0", "L0"]
    assert [category_of(text) for text, _ in told] == ["2c", "1b"]
    assert all("right lower lobe" in text for text, _ in told)


def test_a_denied_part_of_a_sentence_is_no_part_of_the_phrase() -> None:
    """What is absent is left to the negatives."""
    ((text, _),) = positives("A 7 mm nodule in the left upper lobe, without pleural effusion.")
    assert "7 mm nodule" in text
    assert "effusion" not in text


def test_an_impression_joins_the_finding_it_repeats_and_adds_its_number() -> None:
    """One finding, both codes; a number that only the impression tells is kept."""
    told = positives("Nodules in the right lung.", "Four nodules in the right lung.")
    assert told == [("Nodules in the right lung (four nodules in the right lung)", "L0,I0")]


def test_an_impression_on_the_other_side_is_a_finding_of_its_own() -> None:
    """Right and left are two."""
    told = positives("Nodule in the right lung.", "Nodule in the left lung.")
    assert [code for _, code in told] == ["L0", "I0"]


def test_questions_and_advice_are_left_out_and_told() -> None:
    """Speculation makes no phrase; a question in brackets does not unmake the finding before it."""
    coded = coded_of("Pneumonia cannot be excluded. A nodule in the left lung (hamartoma?).")
    told = phrases_by_rules(coded)
    assert list(told.left_out) == ["L0"]
    ((text, codes, abnormal, _),) = told.phrases.values()
    assert (text, codes, abnormal) == ("A nodule in the left lung", "L1", "Y")
    assert strip_question("Nodule (5 mm?)") == "Nodule (5 mm?)"


@pytest.mark.parametrize("said", ["unchanged since the prior CT", "compared with the previous CT"])
def test_phrases_that_speak_of_an_earlier_scan_say_so(said: str) -> None:
    """The fourth field is Y."""
    (row,) = phrases_by_rules({"L0": f"A 5 mm nodule in the left lung, {said}."}).phrases.values()
    assert row[3] == "Y"


@settings(max_examples=60)
@given(
    st.lists(statements(), min_size=1, max_size=3, unique_by=lambda one: one.category),
    st.lists(statements_beyond(), max_size=2, unique_by=lambda one: one.kind),
    st.integers(0, 10_000),
    st.sampled_from(STYLES),
)
def test_no_number_and_no_finding_of_a_synthetic_report_is_lost(
    lung: list[FindingStatement], beyond: list[FindingStatement], seed: int, style: Style
) -> None:
    """The rules' own phrases pass the check that is put to models, report after report."""
    rng = np.random.default_rng(seed)
    made = [write_sentence(one, rng, style=style) for one in lung]
    text = write_ct_report([*lung, *beyond], [one.text for one in made], rng, style=style)
    coded = coded_of(text.findings, text.impression)
    rows = phrases_by_rules(coded).phrases
    assert phrase_problems(coded, {key: (r[0], r[1], r[2], r[3]) for key, r in rows.items()}) == []


def decided(function: StepFunction, data: dict[str, object], **more: str) -> StepResult:
    """What a step decides on an item with these fields."""
    item = Item.model_validate({"id": "train_1_a_1", "patient": "train_1", "data": data})

    async def deciding() -> StepResult:
        return await function(item, LiveStepContext(Path(), settings=more))

    return asyncio.run(deciding())


def chosen(codes: str, **more: str) -> StepResult:
    """What the choice of scans makes of a scan with these categories."""
    told = {f"P{n}": code for n, code in enumerate(codes.split(), 1)}
    return decided(select_scan, {"positives": told, "categories": told}, **more)


@pytest.mark.parametrize(
    ("codes", "reason"),
    [
        ("2d 8a", None),
        ("2d 3a 1c", None),
        ("2d 3b", "something-else"),
        ("3b 4a", "nothing-in-scope"),
        ("8a 3a", "nothing-to-annotate"),
    ],
)
def test_scans_are_chosen_as_published(codes: str, reason: str | None) -> None:
    """Something of 1, 2, 3a or 8 and nothing else; only 1 and 2 are annotated."""
    found = chosen(codes)
    assert (found.reason if isinstance(found, Drop) else None) == reason


def test_the_choice_is_a_setting() -> None:
    """Other findings may be let in, and other parents annotated."""
    found = chosen("2d 3b 8a", others="keep", annotate="2,8")
    assert isinstance(found, Keep)
    targets = found.data["targets"]
    assert isinstance(targets, dict)
    assert [t["category"] for t in targets.values() if isinstance(t, dict)] == ["2d", "8a"]
    with pytest.raises(UsageError, match="scope names '2z'"):
        chosen("2d", scope="2z")
    with pytest.raises(UsageError, match="others is 'maybe'"):
        chosen("2d 3b", others="maybe")


async def _split_of(item: Item, context: LiveStepContext) -> StepResult:
    return await assign_split(item, context)


def test_splits_go_by_name_or_by_lot_and_a_patient_is_in_one() -> None:
    """The name tells; else shares do, from the patient alone."""
    found = decided(assign_split, {})
    assert isinstance(found, Keep)
    assert found.data == {"split": "train"}
    lots = []
    for number in range(400):
        item = Item(id=f"x{number}_a_1", patient=f"x{number}")
        again = Item(id=f"x{number}_b_1", patient=f"x{number}")
        context = LiveStepContext(Path(), settings={"splits": "50/20/30"})
        one, two = (asyncio.run(_split_of(i, context)) for i in (item, again))
        assert one == two
        assert isinstance(one, Keep)
        lots.append(one.data["split"])
    assert [round(lots.count(name) / 400, 1) for name in ("train", "val", "test")] == [0.5, 0.2, 0.3]
    with pytest.raises(UsageError, match="three percentages"):
        decided(assign_split, {}, splits="50/50/50")


def test_real_findings_get_the_category_that_was_published(shared: Path) -> None:
    """At least nine of ten real finding sentences get their own category."""
    import json

    told = json.loads((shared / "reports" / "rexgroundingct_val_findings.json").read_text())
    rows = [
        (text, scan["categories"][key]) for scan in told["test"] for key, text in scan["findings"].items()
    ]
    right = sum(category_of(text) == code for text, code in rows)
    assert right >= 0.9 * len(rows)


def test_two_hundred_real_reports_lose_nothing(shared: Path) -> None:
    """Every sentence and every number of real reports is accounted for."""
    with (shared / "reports" / "ctrate_validation_reports.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))[::5]
    for row in rows:
        coded = coded_of(row["Findings_EN"], row["Impressions_EN"])
        made = {key: (r[0], r[1], r[2], r[3]) for key, r in phrases_by_rules(coded).phrases.items()}
        assert phrase_problems(coded, made) == []
