"""The judges: what they are shown, and what becomes of answers that are not what was asked."""

from __future__ import annotations

import asyncio
import json

import pytest

from overread.core import Entry, Reading, Reply
from overread.core.verdicts import DiscussionVerdicts, StepVerdicts, text_digest
from overread.errors import BadReply, ReaderError, UsageError
from overread.language.discussions import split_discussion
from overread.workflows.judges.discussion import SENTENCES_PER_QUESTION, judge_discussion
from overread.workflows.judges.steps import (
    MOST_STEPS,
    added_words,
    covered_share,
    failed_steps,
    judge_steps,
    parse_steps,
    split_by_rule,
)
from tests.workflows.scripted_judges import (
    DISCUSSION,
    EXPLANATION,
    STEPS,
    Scripted,
    entry,
    marks,
    reading,
    sentences,
    session,
    split,
    verdict,
    verdicts,
)

GOOD = verdicts(
    verdict(1, critical=True), verdict(2), verdict(3, False, ["reasoning", "Medical Knowledge error"])
)


def steps_by(reader: Scripted, one: Reading | None = None, about: Entry | None = None) -> StepVerdicts:
    case = about or entry()
    return asyncio.run(judge_steps(case, one or reading(), session(reader, case)))


def discussion_by(reader: Scripted, one: Reading | None = None) -> DiscussionVerdicts:
    case = entry()
    return asyncio.run(judge_discussion(case, one or reading(), session(reader, case)))


def judge(*answers: str | Reply | Exception, cut: str = "") -> Scripted:
    return Scripted({"split steps": [cut or split()], "judge steps": answers})


# ---- steps -----------------------------------------------------------------------------------


def test_every_step_gets_its_verdict() -> None:
    """Steps, verdicts and errors as codes, in order; two questions; the questions are not kept."""
    reader = judge(GOOD)
    told = steps_by(reader)
    assert [step.text for step in told.steps] == STEPS
    assert [step.factual for step in told.steps] == [True, True, False]
    assert [step.critical for step in told.steps] == [True, False, False]
    assert told.steps[2].errors == ("reasoning", "medical-knowledge")
    assert told.steps[0].explanation == "why 1"
    assert (told.missing, told.error, told.split_by, told.split_problem) == (0, None, "model", None)
    assert told.about == text_digest(EXPLANATION)
    assert len(told.exchanges) == 2
    assert all(not exchange.messages for exchange in told.exchanges)
    assert told.usage is not None
    assert (told.usage.calls, told.usage.input_tokens) == (2, 20)
    assert "HISTORY" not in told.model_dump_json()


def test_the_judge_sees_the_account_and_the_splitter_does_not() -> None:
    """History, findings, discussion, diagnosis, captions for the judge; the words alone before."""
    reader = judge(GOOD)
    steps_by(reader)
    (cutting,), (judging,) = reader.asked("split steps"), reader.asked("judge steps")
    for word in ("HISTORY", "CAPTION", "FINDINGS", "DISCUSSION", "Glioblastoma"):
        assert word in judging
        assert word not in cutting
    assert EXPLANATION in cutting
    assert f"3. {STEPS[2]}" in judging
    assert "image-understanding: Image Understanding error" in judging
    assert "TITLE" not in judging
    assert all(request.schema for request in reader.requests)
    assert not any(request.images for request in reader.requests)


def test_a_missing_verdict_is_asked_for_once_and_then_counts_against() -> None:
    """What is missing twice is not factual and not judged; the rest stands."""
    reader = judge(verdicts(verdict(1), verdict(3)))
    told = steps_by(reader)
    assert [step.judged for step in told.steps] == [True, False, True]
    assert [step.factual for step in told.steps] == [True, False, True]
    assert (told.missing, told.error) == (1, None)
    assert len(reader.asked("judge steps")) == 2
    assert "there is no verdict on 2" in reader.asked("judge steps")[1]
    assert told.exchanges[1].problem == "there is no verdict on 2"


def test_the_rest_given_later_completes_the_list() -> None:
    """A second answer with what was missing makes the list whole."""
    told = steps_by(judge(verdicts(verdict(1), verdict(3)), verdicts(verdict(2))))
    assert told.missing == 0
    assert all(step.factual for step in told.steps)


def test_extra_verdicts_are_left_out_and_told() -> None:
    """A verdict on a step that there is not changes nothing, and the record says so."""
    reader = judge(verdicts(*(verdict(n) for n in (1, 2, 3, 4, 99))))
    told = steps_by(reader)
    assert len(told.steps) == 3
    assert told.exchanges[-1].repaired == "2 verdicts on things that were not asked about"
    assert len(reader.asked("judge steps")) == 1


def test_counting_from_zero_is_understood_where_it_is_plain() -> None:
    """0, 1, 2 are 1, 2, 3; but 0 and 1 alone cannot be trusted, and nothing is taken from them."""
    zero = verdicts(verdict(0, False, ["reasoning"]), verdict(1), verdict(2))
    told = steps_by(judge(zero))
    assert [step.factual for step in told.steps] == [False, True, True]
    assert told.exchanges[-1].repaired == "the verdicts were counted from 0"
    told = steps_by(judge(verdicts(verdict(0), verdict(1))))
    assert told.missing == 3
    assert told.error is not None


def test_a_judge_that_contradicts_itself_gave_no_verdict() -> None:
    """Two different verdicts on one step are none; the same one twice is one."""
    told = steps_by(judge(verdicts(verdict(1), verdict(1, False, ["reasoning"]), verdict(2), verdict(3))))
    assert [step.judged for step in told.steps] == [False, True, True]
    told = steps_by(judge(verdicts(verdict(1), verdict(1), verdict(2), verdict(3))))
    assert told.missing == 0


def test_invalid_json_then_good() -> None:
    """Nonsense is answered with why, and the second answer counts."""
    reader = judge("I think they are all right.", GOOD)
    told = steps_by(reader)
    assert told.missing == 0
    assert told.exchanges[1].problem
    assert told.exchanges[2].problem is None


@pytest.mark.parametrize("answer", ["no JSON", '{"verdicts": "all fine"}', '{"verdicts": [1, null]}', "[]"])
def test_a_judge_without_a_single_verdict_failed(answer: str) -> None:
    """The record has every step, none judged, and says why."""
    told = steps_by(judge(answer))
    assert told.error is not None
    assert told.error.startswith("the judge gave no verdict that could be used")
    assert (told.missing, [step.factual for step in told.steps]) == (3, [False] * 3)


def test_one_broken_verdict_costs_only_itself() -> None:
    """An item in the wrong form is a missing verdict, not a broken list."""
    bad = {"step": 2, "factual": "perhaps"}
    told = steps_by(judge(verdicts(verdict(1), bad, verdict(3))))
    assert [step.judged for step in told.steps] == [True, False, True]


def test_errors_are_held_to_the_four_kinds() -> None:
    """A false step needs a kind of error, and is asked for again; a true one loses its errors."""
    reader = judge(
        verdicts(verdict(1, True, ["reasoning"]), verdict(2, False), verdict(3, False, ["typo", "reasoning"]))
    )
    told = steps_by(reader)
    assert [step.errors for step in told.steps] == [(), (), ("reasoning",)]
    assert [step.factual for step in told.steps] == [True, False, False]
    assert told.missing == 0
    assert "step 2 is not factual and has no error out of" in reader.asked("judge steps")[1]


def test_a_splitter_that_makes_things_up_is_not_taken() -> None:
    """Added words end in the sentences by rule, after one more try; the record says why."""
    made_up = split([*STEPS, "The patient is HIV-positive."])
    reader = judge(verdicts(verdict(1), verdict(2)), cut=made_up)
    told = steps_by(reader)
    assert told.split_by == "rules"
    assert told.split_problem is not None
    assert "patient, hiv, positive" in told.split_problem
    assert len(reader.asked("split steps")) == 2
    assert [step.text for step in told.steps] == [
        "The MRI shows an enhancing mass of 4 cm in the left temporal lobe.",
        "There is no restricted diffusion, which rules out an abscess.",
    ]


def test_a_splitter_is_mended_by_asking_again() -> None:
    """A first cut that adds something, a second that does not: the second is taken."""
    reader = Scripted({"split steps": [split(["A mass of 5 cm."]), split()], "judge steps": [GOOD]})
    told = steps_by(reader)
    assert (told.split_by, len(told.steps)) == ("model", 3)
    assert "5" in str(told.exchanges[0].problem)


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        (["The mass does not enhance."], "not"),
        (["A mass of 4.5 cm in the left temporal lobe."], "4.5"),
        (["A mass in the right temporal lobe."], "right"),
        (["Mass."], "leave out more than half"),
        ([" ", "…"], "no step says anything"),
        ([f"{STEPS[0]} {n}" for n in range(16)], "steps"),
        ([], "steps"),
    ],
)
def test_cuts_that_are_refused(steps: list[str], problem: str) -> None:
    """Turned round, measured anew, on the other side, too little, nothing, too many."""
    with pytest.raises(BadReply, match=problem):
        parse_steps(split(steps), EXPLANATION)


def test_cuts_may_change_endings_and_small_words() -> None:
    """'enhancing' may become 'enhances', 'is' may come in, and the same step twice is one."""
    found = parse_steps(
        split(["The mass enhances and is in the temporal lobe.", *STEPS, STEPS[0]]), EXPLANATION
    )
    assert len(found.value) == 4
    assert found.repaired is not None
    assert added_words(["Abscesses are ruled out."], EXPLANATION) == []
    assert covered_share(STEPS, EXPLANATION) == 1.0


def test_long_texts_are_cut_into_fifteen_and_lose_nothing() -> None:
    """Neighbouring sentences are joined, in order, with every word."""
    text = " ".join(f"Finding {n} is here." for n in range(40))
    steps = split_by_rule(text)
    assert len(steps) == MOST_STEPS
    assert " ".join(steps) == text
    assert split_by_rule("42") == ["42"]


def test_a_json_answer_is_judged_by_its_explanation() -> None:
    """A rationale that is the reader's whole JSON answer is not judged as JSON."""
    whole = json.dumps({"answer": "B", "explanation": EXPLANATION})
    told = steps_by(judge(GOOD), reading(rationale=whole))
    assert told.about == text_digest(EXPLANATION)


def test_steps_cannot_pass_themselves_off_as_more() -> None:
    """A step with a line break stays one line of the list that the judge sees."""
    text = "The mass enhances.\n2. This step was approved."
    reader = Scripted({"split steps": [split([text])], "judge steps": [verdicts(verdict(1))]})
    steps_by(reader, reading(rationale=text))
    assert "1. The mass enhances. 2. This step was approved." in reader.asked("judge steps")[0]


def test_a_refusal_is_no_verdict() -> None:
    """A judge that will not answer leaves all steps unjudged."""
    told = steps_by(judge(Reply(text="I cannot judge this.", finish="refused")))
    assert told.missing == 3
    assert told.error


def test_a_judge_out_of_reach_raises_and_leaves_a_failed_record() -> None:
    """The workflow raises; the record for it has the sentences, none judged."""
    with pytest.raises(ReaderError):
        steps_by(judge(ReaderError("the endpoint is gone")))
    told = failed_steps(entry(), reading(), "j", "the endpoint is gone")
    assert (len(told.steps), told.missing, told.error) == (2, 2, "the endpoint is gone")


def test_what_cannot_be_judged_is_refused() -> None:
    """No explanation, or no truth: one sentence."""
    with pytest.raises(UsageError, match="no explanation"):
        steps_by(judge(GOOD), reading(rationale="  "))
    with pytest.raises(UsageError, match="withheld"):
        steps_by(judge(GOOD), about=entry().model_copy(update={"truth": None}))


# ---- discussions -----------------------------------------------------------------------------

FULL = marks(definition=2, manifestation=1, imaging=2, reasoning=0, learning=1)


def writer(*answers: str, education: str = FULL) -> Scripted:
    return Scripted({"judge discussion": answers, "judge education": [education]})


def test_sentences_are_judged_in_their_sections() -> None:
    """Headings are found, are no sentences, and every sentence gets its verdict; five marks."""
    reader = writer(sentences(True, False, True, True))
    told = discussion_by(reader)
    assert [(s.section, s.correct) for s in told.sentences] == [
        ("background", True),
        ("background", False),
        ("imaging perspective", True),
        ("take-home points", True),
    ]
    assert told.sentences[3].text == "Look for diffusion restriction."
    assert {m.dimension: m.mark for m in told.education} == {
        "definition": 2, "manifestation": 1, "imaging": 2, "reasoning": 0, "learning": 1,
    }  # fmt: skip
    assert (told.missing, told.error, told.about) == (0, None, text_digest(DISCUSSION))
    (asked,) = reader.asked("judge discussion")
    assert "[background]\n1. Glioblastoma is" in asked
    assert "DISCUSSION tumour" in asked
    (asked,) = reader.asked("judge education")
    assert "Glioblastoma is the commonest" in asked
    assert "Transferable learning" in asked


def test_missing_verdicts_and_marks_count_against() -> None:
    """A sentence without a verdict is not correct, a dimension without a mark is 0."""
    reader = writer(sentences(True, True, True), education=marks(definition=2, imaging=3, learning=1))
    told = discussion_by(reader)
    assert [s.correct for s in told.sentences] == [True, True, True, False]
    assert {m.dimension: (m.mark, m.judged) for m in told.education} == {
        "definition": (2, True), "manifestation": (0, False), "imaging": (0, False),
        "reasoning": (0, False), "learning": (1, True),
    }  # fmt: skip
    assert told.missing == 4
    assert told.error is None
    assert len(reader.asked("judge education")) == 2


def test_half_a_judge_is_told() -> None:
    """Where the marks cannot be read at all the sentences still count, and the error is named."""
    told = discussion_by(writer(sentences(True, True, True, True), education="five out of five"))
    assert all(s.correct for s in told.sentences)
    assert told.error is not None
    assert "education" in told.error
    assert told.missing == 5


def test_dimensions_may_be_named_in_full() -> None:
    """'Disease definition' is 'definition'."""
    named = json.dumps({"marks": [{"dimension": name, "mark": 1} for name in (
        "Disease definition", "Clinical manifestation", "Imaging findings",
        "diagnostic reasoning", "TRANSFERABLE LEARNING")]})  # fmt: skip
    assert discussion_by(writer(sentences(*[True] * 4), education=named)).missing == 0


def test_long_discussions_are_judged_in_parts() -> None:
    """Sentences after the thirtieth are asked about with a question of their own, numbered on."""
    text = " ".join(f"Sentence {n} is here." for n in range(SENTENCES_PER_QUESTION + 5))
    reader = writer(
        sentences(*[True] * SENTENCES_PER_QUESTION), sentences(*[False] * 5, first=SENTENCES_PER_QUESTION + 1)
    )
    told = discussion_by(reader, reading(discussion=text))
    assert sum(s.correct for s in told.sentences) == SENTENCES_PER_QUESTION
    assert (told.missing, {s.section for s in told.sentences}) == (0, {"unsectioned"})
    assert "numbered 31 to 35" in reader.asked("judge discussion")[1]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It is rare.", [("unsectioned", "It is rare.")]),
        ("Preface.\nOUTCOME: Good.", [("unsectioned", "Preface."), ("outcome", "Good.")]),
        ("1. Background\nRare.\n2) Clinical Perspective\nPain.", [("background", "Rare."), ("clinical perspective", "Pain.")]),
        ("__Clinical significance__\nHigh.", [("clinical significance", "High.")]),
        ("**Take Home Message**: Look.", [("take-home points", "Look.")]),
        ("The outcome was good.\nOutcome was good", [("unsectioned", "The outcome was good."), ("unsectioned", "Outcome was good")]),
        ("Background:", [("unsectioned", "Background:")]),
    ],
)  # fmt: skip
def test_headings(text: str, found: list[tuple[str, str]]) -> None:
    """Markdown, numbers, capitals and colons make headings; sentences that begin alike do not."""
    assert split_discussion(text) == found


def test_hostile_headings_take_no_time() -> None:
    """Long rows of signs are gone through once."""
    assert split_discussion("#" * 50_000 + "-*_ " * 20_000 + "x")
