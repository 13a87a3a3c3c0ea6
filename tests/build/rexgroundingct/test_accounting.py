"""Nothing is lost on the way: the checks find every loss that is planted, and no other."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.build.rexgroundingct.categories import category_problems
from overread.build.rexgroundingct.completeness import join_problems, number_problems, rewrite_problems
from overread.build.rexgroundingct.left_out import (
    ADMINISTRATIVE,
    EMPTY,
    QUALITY,
    SPECULATION,
    reason_to_leave_out,
)
from overread.build.rexgroundingct.phrase_step import phrase_problems
from overread.build.rexgroundingct.regions import Rewrite, left_out_reasons, reply_problems, sort_by_rules
from overread.build.rexgroundingct.sentences import sentence_spans
from overread.language.numerals import find_numerals

SENTENCES = {
    "F0": "The trachea and main bronchi are patent.",
    "F1": "A 6 mm nodule is seen in the right upper lobe.",
    "F2": "There is no pleural effusion.",
    "F3": "Atherosclerotic calcification of the aorta, 38 mm in diameter.",
    "F4": "Compared with the CT dated 12.03.2021.",
    "I0": "Right upper lobe nodule.",
}
REGIONS = "LHMCNBA"


def reply(**other: list[tuple[list[str], str]]) -> Rewrite:
    """A good answer, with some of its regions replaced."""
    parts = {
        "L": [
            (["F0"], "Patent trachea and main bronchi."),
            (["F1"], "6 mm right upper lobe nodule."),
            (["F2"], "No pleural effusion."),
        ],
        "H": [(["F3"], "Aortic atherosclerotic calcification; diameter 38 mm.")],
        "I": [(["I0"], "Nodule in the right upper lobe.")],
    }
    parts |= other
    told = {
        code: [{"from": origin, "text": text} for origin, text in parts.get(code, [])] for code in REGIONS
    }
    summed = [{"from": origin, "text": text} for origin, text in parts["I"]]
    made = {"findings": told, "impressions": summed, "left_out": ["F4"]}
    return Rewrite.model_validate(made)


def test_a_faithful_rewrite_passes() -> None:
    """Other words, dates left out: nothing is wrong."""
    assert reply_problems(SENTENCES, reply()) == []


@pytest.mark.parametrize(
    ("other", "problem"),
    [
        ({"H": []}, "F3 is missing"),
        (
            {"H": [(["F3"], "Atherosclerotic calcification of the aorta, 83 mm in diameter.")]},
            "F3: 38 mm became 83 mm",
        ),
        ({"H": [(["F3"], "Atherosclerotic calcification of the aorta.")]}, "38 mm is lost"),
        (
            {"L": [(["F0"], "Patent trachea."), (["F1"], "6 mm left upper lobe nodule."),
                   (["F2"], "No pleural effusion.")]},
            "right became left",
        ),
        (
            {"L": [(["F0"], "Patent trachea."), (["F1"], "6 mm right upper lobe nodule."),
                   (["F2"], "Pleural effusion.")]},
            "absent of 'pleural effusion' became present",
        ),
        (
            {"L": [(["F0"], "Patent trachea."), (["F1", "F2"], "6 mm right upper lobe nodule.")]},
            "'pleural effusion' is lost",
        ),
        ({"I": [(["I0"], "Nodule in the right upper lobe and emphysema.")]}, "'emphysema' was not"),
        ({"I": [(["I7"], "Nodule.")]}, "there is no sentence I7"),
        ({"I": [(["F3"], "Calcification of the aorta, 38 mm."), (["I0"], "Nodule in the right "
          "upper lobe.")]}, "F3 is a finding and stands in the impressions"),
    ],
)  # fmt: skip
def test_planted_losses_of_a_rewrite_are_found(
    other: dict[str, list[tuple[list[str], str]]], problem: str
) -> None:
    """A sentence, a number, a side, a denial that is lost, changed or made up is named."""
    problems = reply_problems(SENTENCES, reply(**other))
    assert any(problem in told for told in problems), problems


def test_a_region_that_is_left_out_or_made_up_is_found() -> None:
    """All seven regions must be there, and no others."""
    made = reply()
    part = {code: rows for code, rows in made.findings.items() if code != "N"} | {"X": []}
    problems = reply_problems(SENTENCES, made.model_copy(update={"findings": part}))
    assert "the region N is missing" in problems
    assert "there is no region X" in problems


def test_what_tells_or_denies_something_may_not_be_left_out() -> None:
    """A sentence with a finding cannot be put aside, whatever reason is given."""
    made = reply(H=[]).model_copy(update={"left_out": {"F3": "empty of findings", "F4": ""}})
    (problem,) = reply_problems(SENTENCES, made)
    assert problem.startswith("F3 was left out")


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("Patient name: A. B., accession 12345.", ADMINISTRATIVE),
        ("Compared with the CT dated 12.03.2021.", ADMINISTRATIVE),
        ("Evaluation is suboptimal because of motion artifacts.", QUALITY),
        (
            "Mediastinal structures cannot be evaluated optimally since no contrast material was given.",
            QUALITY,
        ),
        ("Clinical and laboratory correlation is recommended.", SPECULATION),
        ("Metastasis cannot be excluded.", SPECULATION),
        ("Not given.", EMPTY),
        ("There is no pericardial effusion.", None),
        ("A 6 mm nodule, not seen on the CT dated 12.03.2021.", None),
        ("There is a faint finding of 8 mm in the middle lobe (nodule?)", None),
        ("Findings are in favor of atelectasis.", None),
        ("It contains calcifications.", None),
    ],
)
def test_reasons_for_leaving_out(sentence: str, reason: str | None) -> None:
    """Administrative, quality, speculation or empty; never what is seen, denied or measured."""
    assert reason_to_leave_out(sentence) == reason
    told = SENTENCES | {"F4": sentence}
    problems = reply_problems(told, reply())
    assert [problem.startswith("F4 was left out") for problem in problems] == ([] if reason else [True])


def test_a_repetition_may_be_left_out_and_something_new_may_not() -> None:
    """ "Told again" holds where another sentence tells all of it, numbers and sides included."""
    again = SENTENCES | {"F4": "Nodule of 6 mm, right upper lobe."}
    assert reply_problems(again, reply()) == []
    assert left_out_reasons(again, reply()) == {"F4": "told again: F1 tells all of it"}
    for other in ("Nodule of 7 mm, right upper lobe.", "Nodule of 6 mm, left upper lobe."):
        (problem,) = reply_problems(SENTENCES | {"F4": other}, reply())
        assert problem.startswith("F4 was left out")


def test_speculation_may_go_from_a_sentence_and_what_is_seen_may_not() -> None:
    """A supposed metastasis is no loss; a nodule "in favor of" which something speaks is."""
    told = {"F0": "A 6 mm nodule in the left lung; metastasis cannot be excluded."}
    assert rewrite_problems(told, [(["F0"], "6 mm left lung nodule.")]) == []
    shown = {"F0": "A 6 mm nodule in the left lung and an appearance in favor of atelectasis."}
    assert rewrite_problems(shown, [(["F0"], "6 mm left lung nodule.")]) == ["F0: 'atelectasis' is lost"]


def test_a_sentence_may_be_parted_and_two_may_be_joined() -> None:
    """What one part does not tell the other may; codes say what belongs together."""
    told = {"F0": "A 6 mm nodule in the left lung and a 9 mm lymph node in the mediastinum."}
    parts = [(["F0"], "6 mm nodule in the left lung."), (["F0"], "9 mm mediastinal lymph node.")]
    assert rewrite_problems(told, parts) == []
    assert rewrite_problems(told, parts[:1]) != []


NUMBERS = st.lists(st.integers(2, 40), min_size=1, max_size=6, unique=True)


@given(NUMBERS, st.data())
def test_every_single_number_that_is_dropped_or_altered_is_found(
    sizes: list[int], data: st.DataObject
) -> None:
    """Whatever number of whatever sentence goes or changes, the check says so."""
    told = {f"F{n}": f"A {size} mm nodule in the right lung." for n, size in enumerate(sizes)}
    at = data.draw(st.integers(0, len(sizes) - 1))
    same = [([code], text) for code, text in told.items()]
    assert rewrite_problems(told, same) == []
    size = sizes[at]
    for worse in (f"A {size + 50} mm nodule in the right lung.", "A nodule in the right lung."):
        changed = [row if n != at else (row[0], worse) for n, row in enumerate(same)]
        assert any(f"F{at}" in problem for problem in rewrite_problems(told, changed))


@given(st.text(alphabet='a1. \n;:?x5mA(),-"', max_size=60))
def test_no_number_falls_between_two_sentences(text: str) -> None:
    """However a text is built, every number of it lies inside one sentence, and none overlap."""
    spans, _ = sentence_spans(text)
    assert all(one[1] <= two[0] for one, two in itertools.pairwise(spans))
    if spans:
        for number in find_numerals(text):
            assert any(a <= number.span.start and number.span.end <= b for a, b in spans)


CODED = {
    "L0": "A 6.4 mm nodule in the right upper lobe.",
    "L1": "No pleural effusion.",
    "L2": "Two areas of consolidation in the left lower lobe.",
    "I0": "Nodule and consolidation.",
}
GOOD = {
    "S1": ("6 mm nodule in the right upper lobe", "L0,I0", "Y", "N"),
    "S2": ("No pleural effusion", "L1", "N", "N"),
    "S3": ("Two areas of consolidation in the left lower lobe", "L2,I0", "Y", "N"),
}


def test_good_phrases_pass_with_sizes_rounded_as_published() -> None:
    """6.4 mm may become 6 mm."""
    assert phrase_problems(CODED, GOOD) == []


@pytest.mark.parametrize(
    ("key", "row", "problem"),
    [
        ("S3", None, "L2 tells a finding, and no abnormal phrase names it"),
        ("S3", ("Consolidation in the left lower lobe", "L2,I0", "Y", "N"), "2 of L2 is in no"),
        ("S1", ("8 mm nodule in the right upper lobe", "L0,I0", "Y", "N"), "S1 tells 8 mm"),
        ("S2", ("Pleural effusion", "L1", "Y", "N"), "its sentences deny it"),
        ("S2", ("No effusion", "L9", "N", "N"), "S2 names L9"),
        ("S2", ("No effusion", "L1", "no", "N"), "S2 says neither Y nor N"),
        ("S2", (" ", "L1", "N", "N"), "S2 is empty"),
        ("first", ("No effusion", "L1", "N", "N"), "'first' is no phrase number"),
    ],
)
def test_planted_losses_of_phrases_are_found(
    key: str, row: tuple[str, str, str, str] | None, problem: str
) -> None:
    """A finding, a number, a code or a flag that is missing or wrong is named."""
    rows = {name: told for name, told in GOOD.items() if name != key or row is not None}
    rows |= {key: row} if row is not None else {}
    problems = phrase_problems(CODED, rows)
    assert any(problem in told for told in problems), problems


def test_categories_must_be_complete_and_known() -> None:
    """A phrase without a category, one too many and a code of nothing are named."""
    problems = category_problems({"P1": "a", "P2": "b"}, {"P1": "2z", "P3": "2d"})
    assert problems[0] == "P2 has no category"
    assert problems[1] == "there is no phrase P3"
    assert "'2z' of P1 is no category" in problems[2]
    assert category_problems({"P1": "a"}, {"P1": "12"}) == []


def test_rules_pass_the_checks_they_put_to_models() -> None:
    """What the rules make of the sentences is accounted for in the same way."""
    assert sort_by_rules(SENTENCES).left_out == {"F4": ""}
    assert reply_problems(SENTENCES, sort_by_rules(SENTENCES)) == []
    assert reply_problems(SENTENCES, sort_by_rules(SENTENCES, wording="american")) == []


def test_dates_and_image_numbers_need_not_be_in_a_phrase() -> None:
    """What speaks of the examination is no number of a finding."""
    coded = {"L0": "A nodule (series 3, image 20) unchanged since 12.03.2021."}
    assert number_problems(coded, [("S1", ["L0"], "Nodule")], ["L0"]) == []


def test_many_problems_are_told_in_brief() -> None:
    """Six are named, the rest are counted."""
    told = join_problems([f"problem {n}" for n in range(9)])
    assert told is not None
    assert told.endswith("problem 5; and 3 more")
    assert join_problems([]) is None
